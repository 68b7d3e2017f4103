/* headers.c - the headers that qnnrt-run uses, compiled once

   The Makefile has compiled them before, for all programs, and says so by the macros that end in
   _IMPL_ONCE.                                                                                   */
#define _POSIX_C_SOURCE 200809L
#define _DARWIN_C_SOURCE
#define QNNRT_IMPLEMENTATION
#define QNNRT_EXPLAIN_IMPLEMENTATION
#define QNNRT_BUILDER_IMPLEMENTATION
#define QNNRT_PROFILE_IMPLEMENTATION
#define QNNRT_DEVICE_IMPLEMENTATION
#define QNNRT_WEIGHTS_IMPLEMENTATION
#define QNNRT_IR_IMPLEMENTATION
#define QNNRT_IR_PASSES_IMPLEMENTATION
#define QNNRT_ONNX_IMPLEMENTATION
#define QNNRT_ONNX_GRAPH_IMPLEMENTATION
#define QNNRT_LOWER_IMPLEMENTATION
#define QNNRT_LLM_GRAPH_IMPLEMENTATION
#define QNNRT_CACHE_IMPLEMENTATION
#define QNNRT_CONVERT_IMPLEMENTATION
#define QNNRT_MANIFEST_IMPLEMENTATION
#define QNNRT_SHA256_IMPLEMENTATION
#define QNNRT_PARTITION_IMPLEMENTATION
#define QNNRT_CPU_FALLBACK_IMPLEMENTATION
#define QNNRT_COMPILE_IMPLEMENTATION
#include "qnnrt.h"
#include "qnnrt_builder.h"
#include "qnnrt_profile.h"
#include "qnnrt_device.h"
#include "qnnrt_convert.h"
#include "qnnrt_explain.h"
#include "qnnrt_manifest.h"
#include "qnnrt_sha256.h"
#include "qnnrt_compile.h"
#include "qnnrt_llm_graph.h"
#include "qnnrt_onnx_graph.h"
#include "qnnrt_cache.h"
