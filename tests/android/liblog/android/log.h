/* log.h - what the Android layer uses of Android's liblog, for builds without an NDK; ../log.c has the function */
enum { ANDROID_LOG_VERBOSE = 2, ANDROID_LOG_DEBUG, ANDROID_LOG_INFO, ANDROID_LOG_WARN, ANDROID_LOG_ERROR };
int __android_log_write(int level, const char *tag, const char *text);
