# Android: the build, and the sample app on a desk.

.PHONY: android-check
## android-check: build for Android at API 21, 24, 28, 31 and run that under qemu (BIONIC=folder or ANDROID_NDK=folder)
android-check: $(TOOLS) $(B)/libQnnRef.so $(B)/examples/05_make_model $(B)/examples/llm/export $(B)/data/.made
	@BIONIC='$(BIONIC)' ANDROID_NDK='$(ANDROID_NDK)' ANDROID_QNN='$(ANDROID_QNN)' LEVELS='$(LEVELS)' sh tests/android/android.sh

.PHONY: mac-check
## mac-check: compile and link the headers and the tools for macOS with zig (fetches 100 MB once); nothing of it is run
mac-check:
	@sh tests/project/mac.sh $(B)

.PHONY: app-check
## app-check: the screen of the Android sample app on a desk, with Robolectric (needs a JDK and mvn, which fetches 460 MB)
app-check: $(B)/libQnnRef.so $(B)/examples/03_compose $(B)/examples/llm/export $(B)/data/.made
	@CC='$(CC)' sh tests/jni/screen.sh $(B)

.PHONY: stop-check
## stop-check: stop 100,000 answers and 10,000 openings at random moments, through the Java layer (needs a JDK; 3 min)
stop-check: $(B)/libQnnRef.so $(B)/examples/03_compose $(B)/examples/llm/export $(B)/examples/llm/random_model $(B)/qnnrt-run $(B)/data/.made
	@CC='$(CC)' STOPS=100000 OPENINGS=10000 sh tests/jni/test_jni.sh $(B)

.PHONY: kotlin-check
## kotlin-check: the coroutines of the Android layer, 10,000 cancelled (needs a JDK and mvn, which fetches 460 MB)
kotlin-check: $(B)/libQnnRef.so $(B)/examples/llm/export $(B)/data/.made
	@CC='$(CC)' sh tests/jni/kotlin.sh $(B)
