/* bench_simdjson.cpp - simdjson On Demand for bench_json.c */
#include "bench_json.h"
#include <cstdlib>
#include <new>
#include <simdjson.h>

using simdjson::ondemand::object;
using simdjson::ondemand::value;

static long   allocations;
static double allocated;

void *operator new(std::size_t bytes)
{
    ++allocations;
    allocated += static_cast<double>(bytes);
    if (void *data = std::malloc(bytes)) return data;
    throw std::bad_alloc();
}
void *operator new[](std::size_t bytes) { return operator new(bytes); }
void *operator new(std::size_t bytes, const std::nothrow_t &) noexcept
{
    ++allocations;
    allocated += static_cast<double>(bytes);
    return std::malloc(bytes);
}
void *operator new[](std::size_t bytes, const std::nothrow_t &tag) noexcept { return operator new(bytes, tag); }
void operator delete(void *data) noexcept { std::free(data); }
void operator delete[](void *data) noexcept { std::free(data); }
void operator delete(void *data, std::size_t) noexcept { std::free(data); }
void operator delete[](void *data, std::size_t) noexcept { std::free(data); }

static peer_text text_of(std::string_view view)
{
    peer_text text = { view.data(), view.size() };
    return text;
}

static peer_text text_at(object &from, const char *key)
{
    return text_of(from[key].get_string());
}

static uint64_t number_at(object &from, const char *key) { return from[key].get_uint64(); }

/* Members of a record are read in the order of the file, which is fast in simdjson. */
static bool read_tensor(peer_build *build, value at)
{
    peer_tensor t;
    object record = at.get_object();
    t.version = text_at(record, "version");
    object info = record["info"].get_object();
    t.id = number_at(info, "id");
    t.name = text_at(info, "name");
    t.type = text_at(info, "type");
    t.format = text_at(info, "dataFormat");
    t.dtype = text_at(info, "dataType");
    t.rank = number_at(info, "rank");
    t.count = 0;
    for (auto dimension : info["dimensions"].get_array()) {
        if (t.count == 32) return false;
        t.dims[t.count++] = static_cast<uint32_t>(uint64_t(dimension.get_uint64()));
    }
    object quant = info["quantizeParams"].get_object();
    t.definition = text_at(quant, "definition");
    t.encoding = text_at(quant, "quantizationEncoding");
    object pair;
    t.has_scale = quant["scaleOffset"].get_object().get(pair) == simdjson::SUCCESS;
    if (t.has_scale) {
        t.scale = pair["scale"].get_double();
        t.offset = pair["offset"].get_int64();
    }
    return peer_tensor_add(build, &t) != 0;
}

static bool read_graph(peer_build *build, value at)
{
    static const char *const counts[PEER_LISTS] = { "numGraphInputs", "numGraphOutputs", "numUpdateableTensors" };
    static const char *const lists[PEER_LISTS] = { "graphInputs", "graphOutputs", "updateableTensors" };
    static const char *const facts[] = { "spillFillBufferSize", "optimizationLevel", "vtcmSize", "htpDlbc", "numHvxThreads",
                                         "nativeKChannelSize", "nativeVChannelSize", "isSafeShareIO", "ioTensorSize",
                                         "opDataSize", "constSize", "ddrTensorSize", "sharedWeightsSize" };
    peer_graph graph = {};
    object record = at.get_object(), info = record["info"].get_object();
    if (!peer_graph_begin(build)) return false;
    graph.name = text_at(info, "graphName");
    for (int list = 0; list < PEER_LISTS; ++list) {
        graph.stated[list] = number_at(info, counts[list]);
        if (!peer_list_begin(build, list, graph.stated[list])) return false;
        for (auto tensor : info[lists[list]].get_array())
            if (!read_tensor(build, tensor.value())) return false;
    }
    object blob;
    if (info["graphBlobInfo"].get_object().get(blob) == simdjson::SUCCESS) {
        object inner = blob["info"].get_object();
        for (int fact = 0; fact < PEER_K; ++fact) graph.facts[fact] = number_at(inner, facts[fact]);
    }
    if (info["graphBlobInfoV2"].get_object().get(blob) == simdjson::SUCCESS)
        for (int fact = PEER_K; fact < PEER_FACTS; ++fact) graph.facts[fact] = number_at(blob, facts[fact]);
    return peer_graph_end(build, &graph) != 0;
}

int simdjson_read(peer_build *build, const char *text, size_t bytes, size_t room)
{
    try {
        simdjson::ondemand::parser parser;
        auto document = parser.iterate(text, bytes, room);
        object root = document.get_object(), header = root["header"].get_object();
        peer_context context = {};
        context.artifact = text_at(header, "artifact_type");
        object info = root["info"].get_object();
        context.backend_id = number_at(info, "backendId");
        context.build_id = text_at(info, "buildId");
        context.core_api = text_at(info, "coreApiVersion");
        context.backend_api = text_at(info, "backendApiVersion");
        context.blob_version = text_at(info, "contextBlobVersion");
        context.blob_bytes = number_at(info, "contextBlobSize");
        context.tensors = number_at(info, "numContextTensors");
        context.graphs = number_at(info, "numGraphs");
        if (!peer_graphs_begin(build, context.graphs)) return 0;
        for (auto graph : info["graphs"].get_array())
            if (!read_graph(build, graph.value())) return 0;
        object metadata = info["contextMetadata"].get_object(), inner = metadata["info"].get_object();
        context.dsp_arch = number_at(inner, "dspArch");
        context.soc_model = number_at(info, "socModel");
        return peer_context_end(build, &context);
    } catch (const simdjson::simdjson_error &) {
        return 0;
    }
}

int simdjson_skip(const char *text, size_t bytes, size_t room)
{
    simdjson::dom::parser parser;
    (void)room;
    /* The argument false says that the text is already padded. */
    return parser.parse(text, bytes, false).error() == simdjson::SUCCESS;
}

size_t simdjson_padding(void) { return simdjson::SIMDJSON_PADDING; }

void simdjson_counters(long *count, double *bytes)
{
    *count = allocations;
    *bytes = allocated;
    allocations = 0;
    allocated = 0;
}
