/* log.c - a liblog of one function, which reads what it gets */
#include "android/log.h"

int __android_log_write(int level, const char *tag, const char *text)
{
    return level + *tag + *text;
}
