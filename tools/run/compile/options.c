/* options.c - the options of compile

   ROOM     >>compile_options */
#include "run/compile/compile.h"

/* =====================================================================================
   COMPILE OPTIONS                                                     >>compile_options
   ===================================================================================== */

static const char *const io_words[] = {"float", "native", NULL};
static const char *const embedding_words[] = {"graph", "host", NULL};
static const char *const output_words[] = {"logits", "hidden", "both", NULL};
static const char *const node_words[] = {"none", "first", "all", NULL};
static const char *const method_words[] = {"default", "minmax", "mse", NULL};
static const char *const state_words[] = {"host", "error", NULL};

/* Read a number, the first `bytes` bytes of a text. Return 0 if it is none, or above `most`. */
static int part_number(const char *text, size_t bytes, uint64_t most, uint64_t *number)
{
    OWNED char *part = cli_text("%.*s", (int)bytes, text);
    return cli_number(part, most, number);
}

/* Read up to `room` numbers, joined by commas. Return how many, 0: the text is something else. */
static size_t list_numbers(const char *text, uint64_t most, uint64_t *numbers, size_t room)
{
    for (size_t count = 0;; ++text) {
        const size_t bytes = strcspn(text, ",");
        if (count == room || !part_number(text, bytes, most, &numbers[count])) return 0;
        ++count;
        text += bytes;
        if (*text == '\0') return count;
    }
}

/* Read --eos: tokens, joined by commas. */
static int take_eos(void *at, const cli_option *o, const char *value)
{
    compile_settings *set = at;
    uint64_t tokens[COMPILE_EOS];
    set->eos_count = list_numbers(value, INT32_MAX, tokens, COMPILE_EOS);
    if (set->eos_count == 0) return cli_wrong_value(o, value, "tokens, joined by commas");
    for (size_t i = 0; i < set->eos_count; ++i) set->eos[i] = (int32_t)tokens[i];
    return STATUS_OK;
}

/* Read --context_lengths: lengths, joined by commas. */
static int take_lengths(void *at, const cli_option *o, const char *value)
{
    compile_settings *set = at;
    uint64_t lengths[COMPILE_LENGTHS];
    set->length_count = list_numbers(value, 1 << 24, lengths, COMPILE_LENGTHS);
    int good = set->length_count > 0;
    for (size_t i = 0; i < set->length_count; ++i) {
        good &= lengths[i] >= 2;
        for (size_t k = 0; k < i; ++k) good &= lengths[k] != lengths[i];
        set->lengths[i] = (uint32_t)lengths[i];
    }
    return good ? STATUS_OK : cli_wrong_value(o, value, "up to 8 different numbers from 2 to"
                                                        " 16777216, joined by commas");
}

/* Read --lora: a rank, or a rank and projections. */
static int take_lora(void *at, const cli_option *o, const char *value)
{
    compile_settings *set = at;
    const size_t bytes = strcspn(value, ":");
    uint64_t rank = 0;
    const int good = part_number(value, bytes, 65536, &rank) && rank > 0 &&
                     (value[bytes] == '\0' || value[bytes + 1] != '\0');
    if (!good) return cli_wrong_value(o, value, "a rank from 1 to 65536, then perhaps a colon and"
                                                " projections, joined by commas");
    set->lora_rank = (uint32_t)rank;
    set->lora = value[bytes] == ':' ? value + bytes + 1 : NULL;
    return STATUS_OK;
}

/* An option of this verb alone. */
#define COMPILE(member) OWN(compile_settings, member), .verbs = VERB_COMPILE

static const cli_option compile_options[] = {
    {.name = "output_dir", .value = "DIR", .kind = CLI_TEXT, FIELD(output_dir),
     .verbs = VERB_COMPILE, .key = CLI_KEY_NONE,
     .help = "folder for the files; it is created if it does not exist"},
    {.name = "json", .kind = CLI_FLAG, FIELD(json), .verbs = VERB_COMPILE, .key = CLI_KEY_NONE,
     .help = "print the files that were written as JSON instead of text"},
    {.name = "graph_name", .value = "N1,N2", .kind = CLI_TEXT, COMPILE(names), .key = CLI_KEY_NONE,
     .help = "names of the graphs, in the order of the files (default: the names in the "
             "containers, or of the .json files); an empty name keeps the default: N1,,N3"},
    {.name = "binary_file", .value = "NAME", .kind = CLI_TEXT, COMPILE(binary_file),
     .key = CLI_KEY_NONE,
     .help = "name of the binary without .bin (default: the name of the first file)"},
    {.name = "weights", .value = "PATH", .kind = CLI_LIST, COMPILE(weights), .key = CLI_KEY_NONE,
     .help = ".json: weights of the graphs: a .safetensors file, the .index.json of several, or a "
             "folder with either. Name it once for all graphs, or once for each graph"},
    {.name = "dim", .value = "NAME=N", .kind = CLI_LIST, COMPILE(onnx_dims), .repeat = 1,
     .help = ".onnx: size of a dimension that has a name, such as batch=1"},
    {.name = "shape", .value = "INPUT=1x3x8x8", .kind = CLI_LIST, COMPILE(onnx_shapes),
     .repeat = 1, .help = ".onnx: shape of an input, in place of that in the file"},
    {.name = "bind", .value = "INPUT=N1,N2", .kind = CLI_LIST, COMPILE(onnx_binds), .repeat = 1,
     .help = ".onnx: elements of an input, which the graph then does not have, such as sr=16000: "
             "numbers, true or false, one for all elements; or @FILE, as --calibrate reads files"},
    {.name = "io", .value = "float|native", .kind = CLI_WORD, .words = io_words, COMPILE(io),
     .help = ".json, folders: type of float inputs and outputs: float is float32, native is the "
             "type that the graphs compute in (default: float for .json, native for folders)"},
    {.name = "fp32", .kind = CLI_FLAG, COMPILE(fp32),
     .help = ".json, folders: make all float tensors float32 (default: float16 on HTP, float32 on "
             "other libraries). With libQnnHtp.so 2.51 the results are not more exact"},
    {.name = "shards", .old = "contexts", .value = "N", .kind = CLI_U32, .least = 1, .most = 1000,
     COMPILE(shards),
     .help = ".json, folders: binaries to make, NAME_1_of_N.bin and so on (default 1: NAME.bin). "
             "Graphs are cut into equal shares of the weights, language models between layers"},
    {.name = "weight_bits", .value = "8|4|16", .kind = CLI_U32, .least = 4, .most = 16,
     COMPILE(weight_bits),
     .help = ".json, folders: bits of the weights that operators multiply with: 8 or 4, with one "
             "scale per output channel, beside activations in floating point (default 16: "
             "floating point)"},
    {.name = "weight_block", .value = "N", .kind = CLI_U32, .least = 2, .most = 1 << 20,
     COMPILE(weight_block),
     .help = ".json, folders: with --weight_bits 4 a scale for each N inputs of a channel, where "
             "the library computes that right; 32 keeps the blocks of Q4_0 in GGUF as they are"},
    {.name = "weight_method", .value = "minmax|mse", .kind = CLI_WORD, .words = method_words,
     COMPILE(weight_method),
     .help = ".json, folders: scales of quantized weights: from the largest value, or with the "
             "least square error (default: minmax for 8 bits, mse for 4)"},
    {.name = "keep_weight", .value = "PATTERN", .kind = CLI_LIST, COMPILE(keep_weights),
     .help = ".json, folders: keep the weights with this name in floating point; * is any text"},
    {.name = "weight_emulate", .kind = CLI_FLAG, COMPILE(weight_emulate),
     .help = ".json, folders: where the library does not take quantized weights, round their "
             "values in the same way, and store these in floating point"},
    {.name = "rope_positions", .old = "positions", .value = "N", .kind = CLI_U32, .least = 1,
     .most = 1 << 24, COMPILE(rope_positions),
     .help = ".json: number of positions in the tables of rotary embeddings (default 4096)"},
    {.name = "rope_base", .value = "X", .kind = CLI_REAL, .bottom = 0, .top = 1e30, .above = 1,
     COMPILE(rope_base),
     .help = ".json: base of rotary embeddings, from which \"inv_freq\" is computed where no file "
             "has it, such as 10000; without it, such a weight is missing"},
    {.name = "rope_plain", .kind = CLI_FLAG, COMPILE(rope_plain),
     .help = ".json: state that blocks under torch.no_grad(), which files of pytorch-ir have "
             "without a body, are plain rotary embeddings: unscaled, halves side by side"},
    {.name = "prefill", .value = "N", .kind = CLI_U32, .most = 1 << 14, COMPILE(prefill),
     .help = "folders: tokens that the graph for prompts takes in a call (default 32; 0: no such "
             "graph)"},
    {.name = "decode", .value = "N", .kind = CLI_U32, .most = 1 << 14, COMPILE(decode),
     .help = "folders: tokens that the graph for answers takes in a call (default 1; 0: no such "
             "graph)"},
    {.name = "context_lengths", .old = "context", .value = "N1,N2", .kind = CLI_OWN,
     .take = take_lengths, .own = 1, .verbs = VERB_COMPILE,
     .help = "folders: tokens that the model remembers, the new ones included (default: as "
             "config.json says, at most 4096). With several lengths there are graphs for each: "
             "short texts run in the faster ones"},
    {.name = "embedding", .value = "graph|host", .kind = CLI_WORD, .words = embedding_words,
     COMPILE(embedding),
     .help = "folders: where rows of the table of embeddings are looked up: in the first graph, "
             "or on the host, in a file that is mapped (default graph)"},
    {.name = "outputs", .value = "logits|hidden|both", .kind = CLI_WORD, .words = output_words,
     COMPILE(outputs),
     .help = "folders: what the model computes: logits to write text (default), the last hidden "
             "state for embeddings of texts, or both"},
    {.name = "lora", .value = "RANK[:P1,P2]", .kind = CLI_OWN, .take = take_lora, .own = 1,
     .verbs = VERB_COMPILE,
     .help = "folders: leave room for adapters (LoRA) up to this rank, on the projections q_proj, "
             "v_proj and so on (default: all). They are 0 until qnnrt-llm --lora, which needs a "
             "library with updates"},
    {.name = "kv_rows", .kind = CLI_FLAG, COMPILE(kv_rows),
     .help = ".json: the graphs are the steps of one language model, for prompts and for single "
             "tokens. A cache that a graph updates becomes an input with the past rows and an "
             "output with the new rows, and inputs and outputs get the names that qnnrt-llm knows. "
             "In the mask, the columns of the new tokens come last"},
    {.name = "eos", .value = "T1,T2", .kind = CLI_OWN, .take = take_eos, .own = 1,
     .verbs = VERB_COMPILE,
     .help = "with --kv_rows: numbers of the tokens that end a text, for qnnrt-llm (default: those "
             "of config.json in the folder of the first graph, if it is there)"},
    {.name = "backends", .value = "A,B,host", .kind = CLI_TEXT, COMPILE(backends),
     .help = ".json, folders: roles of several backends, the preferred one first, such as "
             "npu,cpu,host. Each node is computed by one that can; host is this project's own "
             "evaluator, for what no library has. The folder opens as one program"},
    {.name = "pin", .value = "NODE=ROLE", .kind = CLI_LIST, COMPILE(pins), .repeat = 1,
     .help = "with --backends: let this backend compute the node, or fail"},
    {.name = "pin_inputs", .value = "NODE=ROLE", .kind = CLI_LIST, COMPILE(pins_inputs),
     .repeat = 1,
     .help = "with --backends: let this backend compute the node and all nodes that it is computed "
             "from, except those of --pin, or fail"},
    {.name = "host_op", .value = "OPERATOR", .kind = CLI_LIST, COMPILE(host_ops), .repeat = 1,
     .help = "with --backends that have host: a function of who opens the folder computes this "
             "operator, such as mylib.line.default, as desc.host_functions of qnnrt_manifest.h "
             "and host_functions of qnnrt.open() give it. Each node with it becomes a host step "
             "of this name; qnnrt-run compiles it, and does not run it"},
    {.name = "speed", .value = "ROLE=N[,BYTES,NODE,STEP]", .kind = CLI_LIST, COMPILE(speeds),
     .repeat = 1,
     .help = "with --backends, what the plan is made by: operations and bytes in a microsecond, "
             "microseconds of a node and of a step (default 1000000,40000,2,50 for libQnnHtp.so, "
             "20000,10000,1,10 for other libraries, 4000,1200,1,10 for the host)"},
    {.name = "state_policy", .value = "host|error", .kind = CLI_WORD, .words = state_words,
     COMPILE(state_policy),
     .help = "with --backends: where a cache that index_copy updates lives if no backend can "
             "compute all nodes that touch it: on the host (default), or nowhere: an error with "
             "the reasons"},
    {.name = "no_ask", .kind = CLI_FLAG, COMPILE(no_ask),
     .help = "with --backends: do not ask the library about each operator, and do not avoid its "
             "known errors, except those that end the process: only what fails to compile moves to "
             "another backend"},
    {.name = "no_validate", .kind = CLI_FLAG, COMPILE(no_validate),
     .help = "as --no_ask, and the library is not asked about nodes that are added, either: only "
             "those move whose finalize fails"},
    {.name = "explain_plan", .kind = CLI_FLAG, COMPILE(explain), .key = CLI_KEY_NONE,
     .help = "with --backends: print for each node which backends can compute it, which one does, "
             "and why"},
    {.name = "backend_so", .alias = "backend", .value = "[ROLE=]FILE", .kind = CLI_OWN,
     .take = take_backend, .repeat = 1, .verbs = VERB_COMPILE, .key = CLI_KEY_NONE,
     .help = "library that compiles, and that will run the binary (default: QNNRT_BACKEND of the "
             "environment, or libQnnHtp.so beside this program, in the newest release of its "
             "clone's build/qnn, or by the system's search). With --backends, cpu=FILE is the "
             "library of the role cpu"},
    {.name = "system_so", .value = "FILE", .kind = CLI_TEXT, FIELD(system), .verbs = VERB_COMPILE,
     .key = CLI_KEY_FILE,
     .help = "libQnnSystem.so, which reads .dlc (default: the one beside the backend library). "
             "With libQnnRef.so it must be named"},
    {.name = "soc_model", .value = "CHIP", .kind = CLI_CHIP, FIELD(soc_model),
     .verbs = VERB_COMPILE,
     .help = "HTP: chip to compile for: SM8650, \"8 Gen 3\" or 57; help lists all (default on "
             "x86-64: 57)"},
    {.name = "dsp_arch", .value = "N", .kind = CLI_U32, .least = 1, .most = 65535,
     COMPILE(graph.arch),
     .help = "HTP: NPU generation, such as 75 (default: the chip's)"},
    {.name = "fp16", .kind = CLI_FLAG, COMPILE(graph.fp16),
     .help = "HTP: compute float32 graphs of containers in half precision; .json, folders: make "
             "all float tensors float16, on every library"},
    {.name = "optimization_level", .value = "N", .kind = CLI_U32, .least = 1, .most = 3,
     COMPILE(graph.level),
     .help = "HTP: 1 to 3 (default: the library's choice)"},
    {.name = "vtcm_mib", .value = "N", .kind = CLI_U32, .least = 1, .most = 1024,
     COMPILE(graph.vtcm),
     .help = "HTP: fast memory that a graph may use, in MiB (default: the library's choice)"},
    {.name = "hvx_threads", .value = "N", .kind = CLI_U32, .least = 1, .most = 64,
     COMPILE(graph.hvx),
     .help = "HTP: vector threads of a graph (default: the library's choice)"},
    {.name = "fast_activations", .kind = CLI_FLAG, COMPILE(graph.fast),
     .help = "HTP: read Sigmoid, Tanh and Gelu of floats from tables of 8 bits, fused with what is "
             "before them: faster, errors up to 7e-3 (default: exact)"},
    {.name = "weight_sharing", .kind = CLI_FLAG, COMPILE(graph.share),
     .help = "HTP: store weights that graphs have in common once. Such a file runs on a device, "
             "but not on the x86-64 emulator"},
    {.name = "progress", .kind = CLI_FLAG, FIELD(progress), .verbs = VERB_COMPILE,
     .key = CLI_KEY_NONE,
     .help = "print the progress of the compilation to standard error: nodes, bytes of weights "
             "and seconds (default: only on a terminal)"},
    {.name = "report", .value = "FILE", .kind = CLI_TEXT, COMPILE(report), .key = CLI_KEY_NONE,
     .help = ".json, folders: write what became of each node, the passes, the operators by type, "
             "the static tensors by size, the sizes of the files and the times, also when "
             "compiling fails; - for standard output"},
    {.name = "svg", .value = "FILE", .kind = CLI_TEXT, FIELD(svg), .verbs = VERB_COMPILE,
     .key = CLI_KEY_NONE,
     .help = ".json, folders: draw the graphs after the passes, with the operators of each node "
             "and repeated layers once, and before the passes in X.before.svg for X.svg, coloured "
             "by what became of each node; - writes the drawing after the passes to standard "
             "output"},
    {.name = "dot", .value = "FILE", .kind = CLI_TEXT, FIELD(dot), .verbs = VERB_COMPILE,
     .key = CLI_KEY_NONE,
     .help = ".json, folders: write the same drawings for Graphviz, with all nodes: FILE, and "
             "X.before.dot for X.dot"},
    {.name = "verify", .value = "N", .kind = CLI_U32, .least = 1, .most = 1000000, COMPILE(verify),
     .key = CLI_KEY_NONE,
     .help = ".json, folders: open the written files, run each graph with N samples of "
             "qnnrt.export(), and print the largest differences from torch's results; without "
             "samples, N times with random inputs, and from what qnnrt computes from the graph. "
             "Exit status 1 if one is too large"},
    {.name = "verify_tolerance", .value = "T", .kind = CLI_REAL, .bottom = 0, .top = 1e6,
     .above = 1, COMPILE(tolerance), .key = CLI_KEY_NONE,
     .help = "largest difference that --verify allows, as a part of the largest value (default "
             "0.0001; 0.02 on HTP, with float16, and with activations of 16 bits; 0.2 with 8 bits; "
             "of --verify_nodes 0.1 with weights of 8 bits, and 0.5 with 4)"},
    {.name = "verify_nodes", .value = "first|all", .kind = CLI_WORD, .words = node_words,
     COMPILE(verify_nodes), .key = CLI_KEY_NONE,
     .help = ".json, folders: build each graph again with every value as an output, run it once, "
             "and print the first node that differs from torch (qnnrt.export() with inner=True) or "
             "from the host, or all nodes"},
    {.name = "cache", .value = "DIR", .kind = CLI_TEXT, COMPILE(cache), .key = CLI_KEY_NONE,
     .help = "folder that keeps what was compiled. If graphs, weights, options, library and "
             "program are those of an entry, its files are copied; a damaged entry is compiled "
             "again. Weights are read for that, 0.6 GB each second"},
    {.name = "cache_limit", .value = "MIB", .kind = CLI_U64, .least = 1, .most = 1 << 30,
     COMPILE(cache_limit), .key = CLI_KEY_NONE,
     .help = "most that the entries of --cache may have, in MiB: those unused for longest are "
             "removed (default 10240)"},
    {.name = "cache_list", .kind = CLI_FLAG, COMPILE(cache_list), .key = CLI_KEY_NONE,
     .help = "list the entries of --cache, and compile nothing"},
    {.name = "cache_clear", .kind = CLI_FLAG, COMPILE(cache_clear), .key = CLI_KEY_NONE,
     .help = "remove the entries of --cache, and compile nothing"},
    {.name = "op_package", .value = "[ROLE=]PATH:PROVIDER[:TARGET]", .kind = CLI_LIST,
     FIELD(packages), .verbs = VERBS_OPEN | VERB_COMPILE, .key = CLI_KEY_NONE,
     .help = "register an op package of the backend before anything else: its library, the "
             "function that it exports as its entry, and for HTP the target CPU (x86-64) or HTP. "
             "With several backends cpu=PATH... is for the role cpu, and PATH... for the first "
             "one. Repeat the option for several"},
    {.name = "op_map", .value = "FILE", .kind = CLI_TEXT, COMPILE(op_map), .key = CLI_KEY_FILE,
     .help = ".json, folders: table of operators of graphs that become operators of op packages: "
             "{\"mylib.line.default\": {\"package\": \"my.package\", \"type\": \"LineOf\", "
             "\"inputs\": [0], \"params\": {\"slope\": {\"attr\": \"slope\", \"dtype\": "
             "\"float32\", \"default\": 1}}}}. inputs, attr and default may be left out. "
             "\"role\": \"npu\" makes it a row of one of the --backends"},

    {.name = "calibrate", .value = "LIST", .kind = CLI_LIST, COMPILE(calibrate),
     .key = CLI_KEY_NONE,
     .help = ".json, folders: quantize activations, with ranges that samples show. LIST is a "
             "text file with a line for each sample: the files of the inputs in their order, or "
             "as INPUT:=FILE; a file is .npy, .safetensors, or raw bytes of the input's type, and "
             "is found from the current folder. LIST may be an exported folder: its samples. Name "
             "LIST once for all graphs, or once for each graph"},
    {.name = "calibrate_so", .value = "FILE", .kind = CLI_TEXT, COMPILE(calibrate_so),
     .key = CLI_KEY_NONE,
     .help = ".json, folders: library that runs the samples (default: the one that compiles)"},
    {.name = "calibrate_method", .value = "minmax|percentile[:P]|mse", .kind = CLI_TEXT,
     COMPILE(calibrate_method), .key = CLI_KEY_NONE,
     .help = ".json, folders: range of a tensor with --calibrate: all that samples show "
             "(default); without the highest and the lowest 100 - P percent of the values (P: "
             "99.99 if it is left out); or with the least square error. The last two run the "
             "samples twice"},
    {.name = "activation_bits", .value = "16|8", .kind = CLI_U32, .least = 8, .most = 16,
     COMPILE(act_bits),
     .help = ".json, folders: bits of activations with --calibrate (default 16)"},
    {.name = "encodings", .value = "FILE", .kind = CLI_TEXT, COMPILE(encodings),
     .key = CLI_KEY_FILE,
     .help = ".json: quantize activations, with scales and offsets from a file that AIMET wrote; "
             "with --calibrate, the tensors that it names get these, the others what samples show"},
    {.name = "write_encodings", .value = "FILE", .kind = CLI_TEXT, COMPILE(write_encodings),
     .key = CLI_KEY_NONE,
     .help = ".json, folders: write the scales and offsets of activations and weights, as AIMET "
             "does"}
};

static const compile_settings compile_defaults = {
    .io = -1, .prefill = UINT32_MAX, .decode = UINT32_MAX};

const cli_table compile_table =
    CLI_TABLE_OF(compile_options, compile_settings, offsetof(settings, compile), &compile_defaults);

graph_choices *compile_graph(tool *t)
{
    compile_settings *set = t->set.compile;
    set->graph.one_file = set->cache != NULL;
    return &set->graph;
}
