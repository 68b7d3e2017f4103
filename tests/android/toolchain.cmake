# For CMake: QNNRT_CC, a command line that compiles for Android, in place of the NDK's own toolchain file.
# QNNRT_TOP: the folder from which its relative paths count.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(ANDROID TRUE)
separate_arguments(words UNIX_COMMAND "${QNNRT_CC}")
list(POP_FRONT words compiler)
list(TRANSFORM words REPLACE "^--sysroot=([^/])" "--sysroot=${QNNRT_TOP}/\\1")
list(JOIN words " " flags)
set(CMAKE_C_COMPILER "${compiler}")
set(CMAKE_C_FLAGS_INIT "${flags}")
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES QNNRT_CC QNNRT_TOP)
