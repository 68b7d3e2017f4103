/* headers.c - the headers that qnnrt-llm uses, compiled once

   The Makefile has compiled them before, for all programs, and says so by the macros that end in
   _IMPL_ONCE.                                                                                   */
#define _POSIX_C_SOURCE 200809L
#define _DARWIN_C_SOURCE
#define QNNRT_IMPLEMENTATION
#define QNNRT_EXPLAIN_IMPLEMENTATION
#define QNNRT_DEVICE_IMPLEMENTATION
#define QNNRT_CONVERT_IMPLEMENTATION
#define QNNRT_MANIFEST_IMPLEMENTATION
#define QNNRT_SAMPLE_IMPLEMENTATION
#define QNNRT_LLM_IMPLEMENTATION
#define QNNRT_IR_IMPLEMENTATION
#define QNNRT_CPU_FALLBACK_IMPLEMENTATION
#define QNNRT_WEIGHTS_IMPLEMENTATION
#define QNNRT_CACHE_IMPLEMENTATION
#include "qnnrt.h"
#include "qnnrt_device.h"
#include "qnnrt_manifest.h"
#include "qnnrt_explain.h"
#include "qnnrt_llm.h"
#include "qnnrt_cpu_fallback.h"
#include "qnnrt_weights.h"
#include "qnnrt_cache.h"
