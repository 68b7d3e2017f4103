/* tensorrt.cpp - TensorRT as an engine of qnnrt_session.h: a shim in C++, not a header

   UNPROVEN: it compiles against the headers named below, and it was never linked or run. TensorRT
   builds and runs nothing without an NVIDIA GPU, and the project has none.

   Build, with the folders of TensorRT and of CUDA:
       c++ -std=c++14 -O2 -Wno-deprecated-declarations -I. -Itools -I$TENSORRT/include \
           -I$CUDA/include -c tools/engines/tensorrt.cpp
       c++ ... tensorrt.o -L$TENSORRT/lib -L$CUDA/lib64 -lnvinfer -lnvonnxparser -lcudart -ldl
   With -DQNNRT_TENSORRT_NO_PARSER it loads serialized engines alone, without -lnvonnxparser.
   Declare the function as extern "C" and put it into a list of engines:
       const qnnrt_engine *qnnrt_engine_tensorrt(void);

   What was compiled, by `make tensorrt-check` with g++ and clang++: TensorRT 11.1 and 10.13, and
   8.6 without the parser (headers of github.com/NVIDIA/TensorRT, branches main, release/10.13 and
   release/8.6; NvOnnxParser.h is in main alone and served for 10.13, too), CUDA 12.9 (from PyPI:
   nvidia-cuda-runtime-cu12 12.9.79 and nvidia-cuda-nvcc-cu12 12.9.86). No package on PyPI that was
   looked at has TensorRT's headers: tensorrt, tensorrt-cu12 and tensorrt-cu13 11.4.0.106,
   tensorrt-rtx and tensorrt-rtx-cu12 1.7.1.116 are Python code; tensorrt-lean-cu12-libs 11.4.0.106
   and tensorrt-rtx-cu12-libs 1.7.1.116 hold libraries.

   Models   .engine and .plan files as TensorRT serialized them, and .onnx files, which it builds.
            A model whose inputs have free dimensions gets one profile: the first dimension goes
            from 1 to max_batch, others need a shape.
   Memory   Values of the caller lie in host memory. Each run copies them to the device and back.
   Limits   No strings, no tensors of shapes, no outputs whose shape depends on what is computed.
            Limits of time are refused by name. A run cannot be cancelled.
   fp16     Up to TensorRT 10: where the GPU is fast with it. TensorRT 11 takes the types of the
            model and refuses fp16. int8 needs a model with QuantizeLinear nodes. */
#include <NvInfer.h>
#ifndef QNNRT_TENSORRT_NO_PARSER
#include <NvOnnxParser.h>
#endif
#include <cuda_runtime_api.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "qnnrt_session.h"

#if NV_TENSORRT_MAJOR < 8 || (NV_TENSORRT_MAJOR == 8 && NV_TENSORRT_MINOR < 6)
#error "tensorrt.cpp needs TensorRT 8.6 or newer"
#endif

extern "C" const qnnrt_engine *qnnrt_engine_tensorrt(void);

namespace {

enum { MOST_DEVICES = 16, MOST_TENSORS = 65536 };

__attribute__((cold, format(printf, 4, 5)))
qnnrt_result fail(qnnrt_error *err, qnnrt_result code, const char *hint, const char *format, ...)
{
    va_list args;
    if (err == nullptr) return code;
    err->code = code;
    err->vendor_code = 0;
    err->cause = nullptr;
    std::snprintf(err->hint, sizeof err->hint, "%s", hint);
    std::snprintf(err->text, sizeof err->text, "tensorrt: ");
    va_start(args, format);
    std::vsnprintf(err->text + 10, sizeof err->text - 10, format, args);
    va_end(args);
    return code;
}

/* Fill an error with CUDA's own code and text. */
qnnrt_result fail_cuda(qnnrt_error *err, cudaError_t status, const char *what)
{
    const qnnrt_result code =
        status == cudaErrorMemoryAllocation ? QNNRT_E_MEMORY : QNNRT_E_BACKEND;
    fail(err, code, "", "%s: %s", what, cudaGetErrorString(status));
    if (err != nullptr) err->vendor_code = static_cast<uint64_t>(status);
    return code;
}

qnnrt_result fail_room(qnnrt_error *err, std::size_t bytes)
{
    std::size_t available = 0, all = 0;
    if (cudaMemGetInfo(&available, &all) != cudaSuccess) available = 0;
    return fail(err, QNNRT_E_MEMORY, "Take a smaller batch.",
                "out of device memory: requested %lu bytes, %lu"
                " available",
                static_cast<unsigned long>(bytes), static_cast<unsigned long>(available));
}

void *take(const qnnrt_hooks &hooks, std::size_t count, std::size_t size)
{
    if (size != 0 && count > static_cast<std::size_t>(-1) / size) return nullptr;
    const std::size_t bytes = count == 0 ? size : count * size;
    void *data = hooks.alloc != nullptr ? hooks.alloc(hooks.alloc_user, bytes) : std::malloc(bytes);
    if (data != nullptr) std::memset(data, 0, bytes);
    return data;
}

void give(const qnnrt_hooks &hooks, void *data)
{
    if (data == nullptr) return;
    if (hooks.free != nullptr)
        hooks.free(hooks.alloc_user, data);
    else
        std::free(data);
}

/* TensorRT's log. The last error is kept for our texts. */
class Logger : public nvinfer1::ILogger {
public:
    qnnrt_hooks hooks;
    char last[600];

    explicit Logger(const qnnrt_hooks &given) : hooks(given)
    {
        last[0] = '\0';
    }

    void log(Severity severity, char const *text) noexcept override
    {
        const bool bad = severity == Severity::kERROR || severity == Severity::kINTERNAL_ERROR;
        if (bad) std::snprintf(last, sizeof last, "%s", text);
        if (hooks.log == nullptr || severity == Severity::kVERBOSE || severity == Severity::kINFO)
            return;
        hooks.log(hooks.log_user, bad ? QNNRT_LOG_ERROR : QNNRT_LOG_WARN, "tensorrt", 0, text);
    }
};

struct Library {
    Logger logger;
    char version[40], build[2048];
    char names[MOST_DEVICES][16];
    const char *list[MOST_DEVICES];
    std::size_t count;

    explicit Library(const qnnrt_hooks &hooks)
        : logger(hooks), version(), build(), names(), list(), count(0)
    {
    }
};

struct Model {
    Library *library;
    qnnrt_hooks hooks;
    int device;
    nvinfer1::IRuntime *runtime;
    nvinfer1::ICudaEngine *engine;
    std::size_t count[2];
    qnnrt_session_tensor *facts[2];
    const char *saved[1];
};

struct Slot {
    qnnrt_value value; /* of the caller; data NULL: not placed */
    void *device;      /* [device_room] */
    std::size_t device_room, bytes;
    void *host; /* an output: ours where the caller gave none */
    std::size_t host_room;
    qnnrt_value written;
};

struct Binding {
    Model *model;
    nvinfer1::IExecutionContext *context;
    cudaStream_t stream;
    Slot *slots[2];
    std::size_t missing;
    bool ready, ran; /* ready: shapes and addresses are those of the values */
};

qnnrt_dtype dtype_of(nvinfer1::DataType type)
{
    switch (static_cast<int>(type)) {
    case 0: return QNNRT_DTYPE_F32;
    case 1: return QNNRT_DTYPE_F16;
    case 2: return QNNRT_DTYPE_I8;
    case 3: return QNNRT_DTYPE_I32;
    case 4: return QNNRT_DTYPE_BOOL8;
    case 5: return QNNRT_DTYPE_U8;
    case 6: return QNNRT_DTYPE_F8;
    case 7: return QNNRT_DTYPE_BF16;
    case 8: return QNNRT_DTYPE_I64;
    case 9: return QNNRT_DTYPE_I4;
    case 10: return QNNRT_DTYPE_F4;
    default: return QNNRT_DTYPE_UNDEFINED;
    }
}

/* ---- the library ----------------------------------------------------------------------------- */

void close_library(void *object)
{
    Library *library = static_cast<Library *>(object);
    const qnnrt_hooks hooks = library->logger.hooks;
    library->~Library();
    give(hooks, library);
}

qnnrt_result open_library(const qnnrt_engine_open *desc, void **out, qnnrt_engine_library *facts,
                          qnnrt_error *err)
{
    const int number = getInferLibVersion(), scale = number >= 10000 ? 10000 : 1000;
    int devices = 0;
    *out = nullptr;
    std::memset(facts, 0, sizeof *facts);
    /* The tables of another major version have other slots. */
    if (number / scale != NV_TENSORRT_MAJOR)
        return fail(err, QNNRT_E_VERSION, "Compile tensorrt.cpp with the headers of the library.",
                    "libnvinfer is of version %d, this file was compiled for %d.%d", number / scale,
                    NV_TENSORRT_MAJOR, NV_TENSORRT_MINOR);
    const cudaError_t status = cudaGetDeviceCount(&devices);
    if (status != cudaSuccess || devices <= 0)
        return fail(err, QNNRT_E_UNSUPPORTED, "Install the driver of the GPU.",
                    "no CUDA device: %s",
                    status != cudaSuccess ? cudaGetErrorString(status) : "there is none");
    void *room = take(desc->hooks, 1, sizeof(Library));
    if (room == nullptr)
        return fail(err, QNNRT_E_MEMORY, "", "requested %lu bytes",
                    static_cast<unsigned long>(sizeof(Library)));
    Library *library = new (room) Library(desc->hooks);
    std::snprintf(library->version, sizeof library->version, "%d.%d.%d", number / scale,
                  number % scale / 100, number % 100);
    std::snprintf(library->build, sizeof library->build, "%d", number);
    for (int i = 0; i < devices && i < MOST_DEVICES; ++i) {
        cudaDeviceProp about;
        const std::size_t used = std::strlen(library->build);
        std::snprintf(library->names[i], sizeof library->names[i], "cuda:%d", i);
        library->list[library->count++] = library->names[i];
        if (cudaGetDeviceProperties(&about, i) == cudaSuccess)
            std::snprintf(library->build + used, sizeof library->build - used, "; %.100s %d.%d",
                          about.name, about.major, about.minor);
    }
    facts->version = library->version;
    facts->path = "";
    facts->build = library->build;
    facts->devices = library->list;
    facts->device_count = library->count;
    *out = library;
    return QNNRT_OK;
}

/* ---- models ---------------------------------------------------------------------------------- */

/* Read a file. The caller gives the memory back. */
void *read_file(const qnnrt_hooks &hooks, const char *path, std::size_t *bytes)
{
    std::FILE *file = std::fopen(path, "rb");
    long end = -1;
    void *data = nullptr;
    *bytes = 0;
    if (file == nullptr) return nullptr;
    if (std::fseek(file, 0, SEEK_END) == 0) end = std::ftell(file);
    if (end > 0 && std::fseek(file, 0, SEEK_SET) == 0)
        data = take(hooks, static_cast<std::size_t>(end), 1);
    if (data != nullptr) *bytes = std::fread(data, 1, static_cast<std::size_t>(end), file);
    std::fclose(file);
    if (data == nullptr || *bytes == static_cast<std::size_t>(end)) return data;
    give(hooks, data);
    return nullptr;
}

bool write_file(const char *path, const void *data, std::size_t bytes)
{
    std::FILE *file = std::fopen(path, "wb");
    bool good = file != nullptr && std::fwrite(data, 1, bytes, file) == bytes;
    if (file != nullptr && std::fclose(file) != 0) good = false;
    return good;
}

#ifndef QNNRT_TENSORRT_NO_PARSER
/* Return the size that was given for a free dimension, by its name or its input, or -1. */
int64_t shape_for(const qnnrt_engine_load *load, const nvinfer1::ITensor *input, int32_t axis,
                  int32_t rank)
{
    const char *name = input->getDimensionName(axis);
    for (std::size_t i = 0; i < load->shape_count; ++i) {
        const qnnrt_session_shape &shape = load->shapes[i];
        if (shape.rank == 0 && name != nullptr && std::strcmp(shape.name, name) == 0)
            return shape.dims[0];
        if (shape.rank == static_cast<uint32_t>(rank) &&
            std::strcmp(shape.name, input->getName()) == 0)
            return shape.dims[axis];
    }
    return -1;
}

/* Give free dimensions their range. */
qnnrt_result add_profile(nvinfer1::IBuilder *builder, nvinfer1::IBuilderConfig *config,
                         const nvinfer1::INetworkDefinition *network, const qnnrt_engine_load *load,
                         qnnrt_error *err)
{
    nvinfer1::IOptimizationProfile *profile = nullptr; /* the builder's */
    for (int32_t i = 0; i < network->getNbInputs(); ++i) {
        const nvinfer1::ITensor *input = network->getInput(i);
        const nvinfer1::Dims dims = input->getDimensions();
        nvinfer1::Dims least = dims, most = dims;
        bool free_one = false;
        for (int32_t k = 0; k < dims.nbDims; ++k) {
            if (dims.d[k] >= 0) continue;
            const int64_t fixed = shape_for(load, input, k, dims.nbDims);
            if (fixed < 0 && k > 0)
                return fail(err, QNNRT_E_ARG, "Give the shape of the input.",
                            "dimension %d of input \"%.200s\" is free", static_cast<int>(k),
                            input->getName());
            free_one = true;
            const int64_t top = fixed >= 0            ? fixed
                                : load->max_batch > 0 ? static_cast<int64_t>(load->max_batch)
                                                      : 1;
            if (top > INT32_MAX)
                return fail(err, QNNRT_E_LIMIT, "", "input \"%.200s\" is too large",
                            input->getName());
            least.d[k] = static_cast<int32_t>(fixed >= 0 ? fixed : 1);
            most.d[k] = static_cast<int32_t>(top);
        }
        if (!free_one) continue;
        if (profile == nullptr) profile = builder->createOptimizationProfile();
        if (profile == nullptr ||
            !profile->setDimensions(input->getName(), nvinfer1::OptProfileSelector::kMIN, least) ||
            !profile->setDimensions(input->getName(), nvinfer1::OptProfileSelector::kOPT, most) ||
            !profile->setDimensions(input->getName(), nvinfer1::OptProfileSelector::kMAX, most))
            return fail(err, QNNRT_E_MISMATCH, "", "TensorRT refuses the shape of input \"%.200s\"",
                        input->getName());
    }
    if (profile != nullptr && config->addOptimizationProfile(profile) < 0)
        return fail(err, QNNRT_E_MISMATCH, "", "TensorRT refuses the range of the free dimensions");
    return QNNRT_OK;
}

qnnrt_result set_precision(nvinfer1::IBuilder *builder, nvinfer1::IBuilderConfig *config,
                           const nvinfer1::INetworkDefinition *network, qnnrt_precision precision,
                           qnnrt_error *err)
{
    bool quantized = false;
    for (int32_t i = 0; i < network->getNbLayers(); ++i)
        if (network->getLayer(i)->getType() == nvinfer1::LayerType::kQUANTIZE) quantized = true;
    if (precision == QNNRT_PRECISION_INT8 && !quantized)
        return fail(err, QNNRT_E_UNSUPPORTED, "Take a model with QuantizeLinear nodes.",
                    "precision int8: the model has no scales");
    if (precision == QNNRT_PRECISION_FP32) config->clearFlag(nvinfer1::BuilderFlag::kTF32);
#if NV_TENSORRT_MAJOR >= 11
    (void)builder;
    if (precision == QNNRT_PRECISION_FP16)
        return fail(err, QNNRT_E_UNSUPPORTED, "Convert the model to float16.",
                    "precision fp16: TensorRT %d takes the types of the model", NV_TENSORRT_MAJOR);
#else
    if (precision == QNNRT_PRECISION_FP16) {
        if (!builder->platformHasFastFp16())
            return fail(err, QNNRT_E_UNSUPPORTED, "Take fp32.",
                        "precision fp16: this GPU has no fast float16");
        config->setFlag(nvinfer1::BuilderFlag::kFP16);
    }
    if (precision == QNNRT_PRECISION_INT8) {
        if (!builder->platformHasFastInt8())
            return fail(err, QNNRT_E_UNSUPPORTED, "Take fp32.",
                        "precision int8: this GPU has no fast int8");
        config->setFlag(nvinfer1::BuilderFlag::kINT8);
    }
#endif
    return QNNRT_OK;
}

/* Build an engine from ONNX. */
qnnrt_result build(Model *model, const qnnrt_engine_load *load, nvinfer1::IHostMemory **out,
                   qnnrt_error *err)
{
#if NV_TENSORRT_MAJOR >= 10
    const nvinfer1::NetworkDefinitionCreationFlags flags = 0; /* the batch is explicit */
#else
    const auto flags =
        1U << static_cast<uint32_t>(nvinfer1::NetworkDefinitionCreationFlag::kEXPLICIT_BATCH);
#endif
    Logger &logger = model->library->logger;
    nvinfer1::IBuilder *builder = nvinfer1::createInferBuilder(logger);
    nvinfer1::INetworkDefinition *network =
        builder != nullptr ? builder->createNetworkV2(flags) : nullptr;
    nvinfer1::IBuilderConfig *config =
        builder != nullptr ? builder->createBuilderConfig() : nullptr;
    nvonnxparser::IParser *parser =
        network != nullptr ? nvonnxparser::createParser(*network, logger) : nullptr;
    qnnrt_result result = QNNRT_OK;
    if (config == nullptr || parser == nullptr)
        result = fail(err, QNNRT_E_BACKEND, "", "cannot make a builder: %s", logger.last);
    else if (!parser->parseFromFile(load->path,
                                    static_cast<int>(nvinfer1::ILogger::Severity::kWARNING))) {
        const char *text = parser->getNbErrors() > 0 ? parser->getError(0)->desc() : logger.last;
        result = fail(err, QNNRT_E_FORMAT, "", "cannot read \"%.400s\": %.900s", load->path, text);
    } else {
        config->setMemoryPoolLimit(nvinfer1::MemoryPoolType::kWORKSPACE,
                                   static_cast<std::size_t>(load->workspace_bytes));
        if (load->optimize_level >= 0) config->setBuilderOptimizationLevel(load->optimize_level);
        result = set_precision(builder, config, network, load->precision, err);
        if (result == QNNRT_OK) result = add_profile(builder, config, network, load, err);
    }
    if (result == QNNRT_OK) {
        *out = builder->buildSerializedNetwork(*network, *config);
        if (*out == nullptr)
            result = fail(err, QNNRT_E_BACKEND, "", "cannot build \"%.400s\": %.900s", load->path,
                          logger.last);
    }
    delete parser;
    delete config;
    delete network;
    delete builder;
    return result;
}
#endif

qnnrt_result read_facts(Model *model, qnnrt_error *err)
{
    const int32_t all = model->engine->getNbIOTensors();
    if (all < 0 || all > MOST_TENSORS)
        return fail(err, QNNRT_E_LIMIT, "", "the engine has %d tensors", static_cast<int>(all));
    for (int side = 0; side < 2; ++side) {
        const auto mode =
            side != 0 ? nvinfer1::TensorIOMode::kOUTPUT : nvinfer1::TensorIOMode::kINPUT;
        model->facts[side] = static_cast<qnnrt_session_tensor *>(
            take(model->hooks, static_cast<std::size_t>(all), sizeof(qnnrt_session_tensor)));
        if (model->facts[side] == nullptr) return fail(err, QNNRT_E_MEMORY, "", "out of memory");
        for (int32_t i = 0; i < all; ++i) {
            const char *name = model->engine->getIOTensorName(i);
            if (name == nullptr || model->engine->getTensorIOMode(name) != mode) continue;
            const nvinfer1::Dims dims = model->engine->getTensorShape(name);
            qnnrt_session_tensor &fact = model->facts[side][model->count[side]++];
            fact.name = name;
            fact.dtype = dtype_of(model->engine->getTensorDataType(name));
            if (fact.dtype == QNNRT_DTYPE_UNDEFINED || model->engine->isShapeInferenceIO(name))
                return fail(err, QNNRT_E_UNSUPPORTED, "",
                            "tensor \"%.200s\" is a tensor of shapes, or of a type that qnnrt does "
                            "not have",
                            name);
            if (dims.nbDims < 0 || dims.nbDims > QNNRT_SESSION_RANK)
                return fail(err, QNNRT_E_LIMIT, "", "tensor \"%.200s\" has %d dimensions", name,
                            static_cast<int>(dims.nbDims));
            fact.rank = static_cast<uint32_t>(dims.nbDims);
            for (int32_t k = 0; k < dims.nbDims; ++k)
                fact.dims[k] = dims.d[k] >= 0 ? dims.d[k] : -1;
        }
    }
    return QNNRT_OK;
}

void unload(void *object)
{
    Model *model = static_cast<Model *>(object);
    const qnnrt_hooks hooks = model->hooks;
    delete model->engine;
    delete model->runtime;
    for (int side = 0; side < 2; ++side) give(hooks, model->facts[side]);
    give(hooks, model);
}

qnnrt_result refuse(const qnnrt_engine_load *load, qnnrt_error *err)
{
    if (load->compile_ms != 0)
        return fail(err, QNNRT_E_UNSUPPORTED, "Leave it out.",
                    "compile_timeout_ms: a build cannot be ended");
    if (load->run_ms != 0)
        return fail(err, QNNRT_E_UNSUPPORTED, "Leave it out.",
                    "execution_timeout_ms: a run cannot be ended");
    if (load->preference_count != 0)
        return fail(err, QNNRT_E_UNSUPPORTED, "Leave them out.",
                    "preferences: TensorRT chooses the kernel of \"%.200s\"",
                    load->preferences[0].key);
    for (std::size_t i = 0; i < load->option_count; ++i)
        if ((load->options[i].engine == nullptr ||
             std::strcmp(load->options[i].engine, "tensorrt") == 0) &&
            std::strcmp(load->options[i].key, "library_path") != 0)
            return fail(err, QNNRT_E_NOT_FOUND, "Leave it out.", "there is no option \"%.200s\"",
                        load->options[i].key);
    if (load->kind == QNNRT_MODEL_TENSORRT && (load->precision != QNNRT_PRECISION_DEFAULT ||
                                               load->shape_count != 0 || load->optimize_level >= 0))
        return fail(err, QNNRT_E_UNSUPPORTED, "Leave them out.",
                    "precision, shapes and optimize_level were fixed when the engine was built");
    return QNNRT_OK;
}

qnnrt_result load_model(void *object, const qnnrt_engine_load *load, void **out,
                        qnnrt_engine_model *facts, qnnrt_error *err)
{
    Library *library = static_cast<Library *>(object);
    nvinfer1::IHostMemory *built = nullptr;
    void *blob = nullptr;
    std::size_t bytes = 0;
    char path[4096];
    *out = nullptr;
    std::memset(facts, 0, sizeof *facts);
    qnnrt_result result = refuse(load, err);
    if (result != QNNRT_OK) return result;
    Model *model = static_cast<Model *>(take(load->hooks, 1, sizeof(Model)));
    if (model == nullptr) return fail(err, QNNRT_E_MEMORY, "", "out of memory");
    model->library = library;
    model->hooks = load->hooks;
    library->logger.last[0] = '\0';
    model->device = std::atoi(load->device + (std::strncmp(load->device, "cuda:", 5) == 0 ? 5 : 0));
    const cudaError_t status = cudaSetDevice(model->device);
    if (status != cudaSuccess) result = fail_cuda(err, status, "cannot use the device");
    if (result == QNNRT_OK && (load->cached != nullptr || load->kind == QNNRT_MODEL_TENSORRT)) {
        std::snprintf(path, sizeof path, load->cached != nullptr ? "%s/tensorrt.engine" : "%s",
                      load->cached != nullptr ? load->cached : load->path);
        blob = read_file(load->hooks, path, &bytes);
        if (blob == nullptr) result = fail(err, QNNRT_E_IO, "", "cannot read \"%.900s\"", path);
    } else if (result == QNNRT_OK) {
#ifdef QNNRT_TENSORRT_NO_PARSER
        result = fail(err, QNNRT_E_UNSUPPORTED, "Compile tensorrt.cpp with the parser.",
                      "this build loads .engine and .plan files alone");
#else
        result = build(model, load, &built, err);
#endif
    }
    if (result == QNNRT_OK) {
        model->runtime = nvinfer1::createInferRuntime(library->logger);
        if (model->runtime != nullptr)
            model->engine = model->runtime->deserializeCudaEngine(
                built != nullptr ? built->data() : blob, built != nullptr ? built->size() : bytes);
        if (model->engine == nullptr)
            result =
                fail(err, QNNRT_E_FORMAT, "Build the engine again with this release on this GPU.",
                     "cannot load the engine: %.900s", library->logger.last);
    }
    if (result == QNNRT_OK && built != nullptr && load->save != nullptr) {
        std::snprintf(path, sizeof path, "%s/tensorrt.engine", load->save);
        if (write_file(path, built->data(), built->size())) model->saved[0] = "tensorrt.engine";
    }
    delete built;
    give(load->hooks, blob);
    if (result == QNNRT_OK) result = read_facts(model, err);
    if (result != QNNRT_OK) {
        unload(model);
        return result;
    }
    facts->inputs = model->facts[0];
    facts->outputs = model->facts[1];
    facts->input_count = model->count[0];
    facts->output_count = model->count[1];
    facts->saved = model->saved;
    facts->saved_count = model->saved[0] != nullptr ? 1 : 0;
    *out = model;
    return QNNRT_OK;
}

/* ---- bindings -------------------------------------------------------------------------------- */

void binding_destroy(void *object)
{
    Binding *binding = static_cast<Binding *>(object);
    Model *model = binding->model;
    (void)cudaSetDevice(model->device);
    if (binding->stream != nullptr) (void)cudaStreamSynchronize(binding->stream);
    delete binding->context;
    for (int side = 0; side < 2; ++side) {
        for (std::size_t i = 0; i < model->count[side] && binding->slots[side] != nullptr; ++i) {
            if (binding->slots[side][i].device != nullptr)
                (void)cudaFree(binding->slots[side][i].device);
            give(model->hooks, binding->slots[side][i].host);
        }
        give(model->hooks, binding->slots[side]);
    }
    if (binding->stream != nullptr) (void)cudaStreamDestroy(binding->stream);
    give(model->hooks, binding);
}

qnnrt_result binding_create(void *object, void **out, qnnrt_error *err)
{
    Model *model = static_cast<Model *>(object);
    *out = nullptr;
    Binding *binding = static_cast<Binding *>(take(model->hooks, 1, sizeof(Binding)));
    if (binding == nullptr) return fail(err, QNNRT_E_MEMORY, "", "out of memory");
    qnnrt_result result = QNNRT_OK;
    binding->model = model;
    binding->missing = model->count[0];
    for (int side = 0; side < 2; ++side) {
        binding->slots[side] =
            static_cast<Slot *>(take(model->hooks, model->count[side], sizeof(Slot)));
        if (binding->slots[side] == nullptr)
            result = fail(err, QNNRT_E_MEMORY, "", "out of memory");
    }
    cudaError_t status = cudaSetDevice(model->device);
    if (status == cudaSuccess) status = cudaStreamCreate(&binding->stream);
    if (result == QNNRT_OK && status != cudaSuccess)
        result = fail_cuda(err, status, "cannot make a stream");
    if (result == QNNRT_OK) {
        binding->context = model->engine->createExecutionContext();
        if (binding->context == nullptr)
            result = fail(err, QNNRT_E_BACKEND, "", "cannot make a context: %.900s",
                          model->library->logger.last);
    }
    if (result != QNNRT_OK) {
        binding_destroy(binding);
        return result;
    }
    *out = binding;
    return QNNRT_OK;
}

qnnrt_result set_value(void *object, int output, size_t index, const qnnrt_value *value,
                       qnnrt_error *err)
{
    Binding *binding = static_cast<Binding *>(object);
    Slot &slot = binding->slots[output != 0][index];
    (void)err;
    if (output == 0 && (slot.value.data == nullptr) != (value->data == nullptr))
        binding->missing += value->data == nullptr ? 1 : static_cast<std::size_t>(-1);
    slot.value = *value;
    binding->ready = binding->ran = false;
    return QNNRT_OK;
}

/* Make room on the device, and tell the context where it is. Empty tensors need an address, too. */
qnnrt_result place(Binding *binding, const char *name, Slot *slot, std::size_t bytes,
                   qnnrt_error *err)
{
    slot->bytes = bytes;
    if (slot->device == nullptr || slot->device_room < bytes) {
        if (slot->device != nullptr) (void)cudaFree(slot->device);
        slot->device = nullptr;
        slot->device_room = 0;
        const cudaError_t status = cudaMalloc(&slot->device, bytes != 0 ? bytes : 1);
        if (status == cudaErrorMemoryAllocation) return fail_room(err, bytes);
        if (status != cudaSuccess) return fail_cuda(err, status, "cannot allocate on the device");
        slot->device_room = bytes;
    }
    if (binding->context->setTensorAddress(name, slot->device)) return QNNRT_OK;
    return fail(err, QNNRT_E_BACKEND, "", "TensorRT refuses the address of \"%.200s\": %.900s",
                name, binding->model->library->logger.last);
}

/* Set shapes and addresses. */
qnnrt_result prepare(Binding *binding, qnnrt_error *err)
{
    Model *model = binding->model;
    qnnrt_result result = QNNRT_OK;
    for (std::size_t i = 0; i < model->count[0] && result == QNNRT_OK; ++i) {
        Slot &slot = binding->slots[0][i];
        const char *name = model->facts[0][i].name;
        nvinfer1::Dims dims;
        std::memset(&dims, 0, sizeof dims);
        if (slot.value.rank > static_cast<uint32_t>(nvinfer1::Dims::MAX_DIMS))
            return fail(err, QNNRT_E_LIMIT, "", "\"%.200s\" has too many dimensions", name);
        dims.nbDims = static_cast<int32_t>(slot.value.rank);
        for (uint32_t k = 0; k < slot.value.rank; ++k) {
            if (slot.value.dims[k] > INT32_MAX)
                return fail(err, QNNRT_E_LIMIT, "", "input \"%.200s\" is too large", name);
            dims.d[k] = static_cast<int32_t>(slot.value.dims[k]);
        }
        if (!binding->context->setInputShape(name, dims))
            return fail(err, QNNRT_E_MISMATCH, "Keep to max_batch and the shapes that were given.",
                        "the shape of input \"%.200s\" is outside the"
                        " profile: %.900s",
                        name, model->library->logger.last);
        result = place(binding, name, &slot, slot.value.bytes, err);
    }
    for (std::size_t i = 0; i < model->count[1] && result == QNNRT_OK; ++i) {
        Slot &slot = binding->slots[1][i];
        const qnnrt_session_tensor &fact = model->facts[1][i];
        const nvinfer1::Dims dims = binding->context->getTensorShape(fact.name);
        qnnrt_value &to = slot.written;
        std::size_t bytes = 0;
        std::memset(&to, 0, sizeof to);
        to.name = fact.name;
        to.dtype = fact.dtype;
        to.rank = dims.nbDims < 0 || dims.nbDims > QNNRT_SESSION_RANK
                      ? 0
                      : static_cast<uint32_t>(dims.nbDims);
        for (uint32_t k = 0; k < to.rank; ++k) to.dims[k] = dims.d[k];
        if (dims.nbDims < 0 || dims.nbDims > QNNRT_SESSION_RANK ||
            !qnnrt_session_bytes(to.dtype, to.rank, to.dims, &bytes))
            return fail(err, QNNRT_E_UNSUPPORTED, "",
                        "the shape of output \"%.200s\" depends on what is computed", fact.name);
        to.bytes = bytes;
        to.data = slot.value.data;
        if (to.data != nullptr && slot.value.bytes < bytes)
            return fail(err, QNNRT_E_MISMATCH, "Give more room.",
                        "output \"%.200s\" has %lu bytes, and its room %lu", fact.name,
                        static_cast<unsigned long>(bytes),
                        static_cast<unsigned long>(slot.value.bytes));
        if (to.data == nullptr && (slot.host == nullptr || slot.host_room < bytes)) {
            give(model->hooks, slot.host);
            slot.host = take(model->hooks, bytes, 1);
            slot.host_room = slot.host != nullptr ? bytes : 0;
            if (slot.host == nullptr)
                return fail(err, QNNRT_E_MEMORY, "", "requested %lu bytes",
                            static_cast<unsigned long>(bytes));
        }
        if (to.data == nullptr) to.data = slot.host;
        result = place(binding, fact.name, &slot, bytes, err);
    }
    binding->ready = result == QNNRT_OK;
    return result;
}

qnnrt_result run(void *object, qnnrt_error *err)
{
    Binding *binding = static_cast<Binding *>(object);
    Model *model = binding->model;
    binding->ran = false;
    if (binding->missing > 0)
        return fail(err, QNNRT_E_STATE, "Place all inputs.", "%lu inputs are not placed",
                    static_cast<unsigned long>(binding->missing));
    cudaError_t status = cudaSetDevice(model->device);
    if (status != cudaSuccess) return fail_cuda(err, status, "cannot use the device");
    if (!binding->ready) {
        const qnnrt_result result = prepare(binding, err);
        if (result != QNNRT_OK) return result;
    }
    for (std::size_t i = 0; i < model->count[0] && status == cudaSuccess; ++i) {
        const Slot &slot = binding->slots[0][i];
        if (slot.bytes > 0)
            status = cudaMemcpyAsync(slot.device, slot.value.data, slot.bytes,
                                     cudaMemcpyHostToDevice, binding->stream);
    }
    bool queued = true;
    if (status == cudaSuccess) queued = binding->context->enqueueV3(binding->stream);
    for (std::size_t i = 0; i < model->count[1] && status == cudaSuccess && queued; ++i) {
        const Slot &slot = binding->slots[1][i];
        if (slot.bytes > 0)
            status = cudaMemcpyAsync(slot.written.data, slot.device, slot.bytes,
                                     cudaMemcpyDeviceToHost, binding->stream);
    }
    /* Nothing may still read or write memory of the caller after an error. */
    const cudaError_t ended = cudaStreamSynchronize(binding->stream);
    if (!queued)
        return fail(err, QNNRT_E_BACKEND, "", "the run failed: %.900s",
                    model->library->logger.last);
    if (status == cudaSuccess) status = ended;
    if (status != cudaSuccess) return fail_cuda(err, status, "the run failed");
    binding->ran = true;
    return QNNRT_OK;
}

qnnrt_result get_value(void *object, size_t output, qnnrt_value *value, qnnrt_error *err)
{
    Binding *binding = static_cast<Binding *>(object);
    if (!binding->ran)
        return fail(err, QNNRT_E_STATE, "Run the binding first.",
                    "output \"%.200s\" was not written", binding->model->facts[1][output].name);
    *value = binding->slots[1][output].written;
    return QNNRT_OK;
}

const qnnrt_engine table = {QNNRT_ENGINE_VERSION,
#ifdef QNNRT_TENSORRT_NO_PARSER
                            QNNRT_MODEL_TENSORRT,
#else
                            QNNRT_MODEL_TENSORRT | QNNRT_MODEL_ONNX,
#endif
                            "tensorrt",
                            "TensorRT on CUDA devices; compiled, but never run by its authors",
                            open_library,
                            close_library,
                            load_model,
                            unload,
                            binding_create,
                            binding_destroy,
                            set_value,
                            run,
                            get_value,
                            nullptr,
                            nullptr};

} /* namespace */

const qnnrt_engine *qnnrt_engine_tensorrt(void)
{
    return &table;
}
