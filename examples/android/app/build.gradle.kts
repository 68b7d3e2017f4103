// The sample app: one module, one screen, coroutines for Qnnrt.kt. It needs Gradle 9.1 or newer, JDK 17, and the SDK's
// platform 36, CMake and NDK; this plugin compiles Kotlin without a plugin for Kotlin.
plugins {
    id("com.android.application") version "9.0.1"
}

android {
    namespace = "qnnrt.sample"
    compileSdk = 36

    defaultConfig {
        applicationId = "qnnrt.sample"
        minSdk = 24
        targetSdk = 36
        versionCode = 1
        versionName = "1.0"
        ndk {
            // A phone; and the emulator of a desk, where libQnnRef.so is the only backend.
            abiFilters += listOf("arm64-v8a", "x86_64")
        }
        externalNativeBuild {
            cmake {
                targets("qnnrt_jni", "QnnRef")
            }
        }
    }

    buildFeatures {
        aidl = true
    }

    externalNativeBuild {
        cmake {
            path = file("src/main/cpp/CMakeLists.txt")
        }
    }

    packaging {
        jniLibs {
            // Unpack the libraries at install: the backend opens its stub, and the DSP its skel, as files.
            useLegacyPackaging = true
            // Qualcomm's files stay as they are; the skel is a Hexagon file that strip does not know.
            keepDebugSymbols += listOf("**/libQnnHtp*.so", "**/libQnnSystem.so")
        }
    }
}

dependencies {
    implementation("org.jetbrains.kotlinx:kotlinx-coroutines-android:1.10.2")
}
