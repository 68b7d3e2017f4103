/* run_options.h - a part of qnnrt-run.c: the options of all verbs, and which exclude each other

   ROOM     >>options                                                                            */

/* =====================================================================================
   OPTIONS                                                                     >>options
   A table for each part of the program. A verb lists some of them in its help.
   ===================================================================================== */

static const char *const metadata_words[] = {"all", "system", "json", NULL};
/* The last three are qnn-net-run's words for the first three. */
static const char *const form_words[] = {"native", "float", "both", "native_only", "float_only",
                                         "float_and_native", NULL};
static const char *const platform_words[] = {"any", "android", "linux", "x86_64", NULL};
static const char *const io_words[] = {"float", "native", NULL};
static const char *const embedding_words[] = {"graph", "host", NULL};
static const char *const output_words[] = {"logits", "hidden", "both", NULL};
static const char *const layout_words[] = {"down", "right", NULL};
static const char *const node_words[] = {"none", "first", "all", NULL};
static const char *const method_words[] = {"default", "minmax", "mse", NULL};
static const char *const state_words[] = {"host", "error", NULL};
static const char *const file_words[] = {"raw", "npy", "safetensors", NULL};
static const char *const input_form_words[] = {"native", "float", NULL};

/* Read --align: a power of two. */
static int take_align(void *at, const cli_option *o, const char *value)
{
    uint64_t number = 0;
    settings *set = at;
    if (!cli_number(value, 1u << 20, &number) || number == 0 || (number & (number - 1)) != 0)
        return cli_wrong_value(o, value, "a power of two from 1 to 1048576");
    set->align = (uint32_t)number;
    return STATUS_OK;
}

static int take_backend(void *at, const cli_option *o, const char *value)
{
    settings *set = at;
    return cli_take_backend(o, value, &set->backend, set->roles, &set->role_count);
}

/* Read a number, the first `bytes` bytes of a text. Return 0 if it is none, or above `most`. */
static int part_number(const char *text, size_t bytes, uint64_t most, uint64_t *number)
{
    char *part = cli_text("%.*s", (int)bytes, text);
    const int good = cli_number(part, most, number);
    free(part);
    return good;
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
    compile_settings *set = &((settings *)at)->compile;
    uint64_t tokens[QNNRT_LLM_GRAPH_EOS];
    set->eos_count = list_numbers(value, INT32_MAX, tokens, QNNRT_LLM_GRAPH_EOS);
    if (set->eos_count == 0) return cli_wrong_value(o, value, "tokens, joined by commas");
    for (size_t i = 0; i < set->eos_count; ++i) set->eos[i] = (int32_t)tokens[i];
    return STATUS_OK;
}

/* Read --context: lengths, joined by commas. */
static int take_lengths(void *at, const cli_option *o, const char *value)
{
    compile_settings *set = &((settings *)at)->compile;
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
    compile_settings *set = &((settings *)at)->compile;
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

static int take_resident(void *at, const cli_option *o, const char *value)
{
    settings *set = at;
    set->resident_given = 1;
    return cli_resident(o, value, &set->residency, &set->resident_bytes);
}

static const cli_option model_options[] = {
    {.name = "ctx_dir", .value = "DIR", .kind = CLI_TEXT, FIELD(ctx_dir),
     .verbs = VERB_RUN | VERB_PROFILE | VERB_REPORT,
     .help = "folder of context binaries"},
    {.name = "retrieve_context", .value = "FILE", .kind = CLI_LIST, FIELD(files),
     .verbs = VERB_RUN | VERB_PROFILE | VERB_REPORT,
     .help = "a context binary, instead of --ctx_dir; repeat the option for shards, in their "
             "order"},
    {.name = "backend_so", .alias = "backend", .value = "[ROLE=]FILE", .kind = CLI_OWN,
     .take = take_backend, .repeat = 1, .verbs = VERBS_OPEN,
     .help = "backend library that the binaries were made for: libQnnHtp.so, or libQnnRef.so for "
             "binaries made with it (default: " CLI_BACKEND_DEFAULT "). The first lines of the "
             "output name the library that was loaded, and why. "
             "For a folder whose qnnrt.json names several backends, cpu=FILE is the library of "
             "the role cpu; repeat the option for others. FILE alone is that of the first role"},
    {.name = "system_so", .alias = "system_library", .value = "FILE", .kind = CLI_TEXT,
     FIELD(system),
     .verbs = VERBS_MODEL | VERBS_OPEN,
     .help = "libQnnSystem.so, which reads context binaries (default: QNNRT_SYSTEM of the "
             "environment, or the one beside the backend library, or by the system's search). It "
             "is not needed when every binary has its JSON, nor with libQnnRef.so"},
    {.name = "soc_model", .value = "CHIP", .kind = CLI_CHIP, FIELD(soc_model),
     .verbs = VERBS_OPEN,
     .help = "chip that the HTP device is created for: SM8650, \"8 Gen 3\" or 57; help lists all "
             "(default: the library's choice)"},
    {.name = "graph", .value = "NAME", .kind = CLI_LIST, FIELD(graphs),
     .verbs = VERBS_MODEL | VERBS_OPEN,
     .help = "take only this pipeline; a graph alone is named GRAPH or CONTEXT/GRAPH, such as "
             "0/prefill (default: all pipelines). Repeat the option for several"},
    {.name = "input", .value = "[[GRAPH:]NAME=]FILE", .kind = CLI_LIST, FIELD(input_texts),
     .verbs = VERBS_FEED,
     .help = "content of an input; FILE is the part after the last '=': raw bytes, .npy, or "
             ".safetensors with a tensor of this name. random:SEED instead of a file makes values: "
             "floats from -1 to 1, codes of all bits, integers and bools of 0 and 1. Without "
             "GRAPH: it is for every pipeline that has this input; FILE alone is for the only "
             "input. Inputs without a file are zero, or with random:SEED alone random"},
    {.name = "input_data_type", .value = "native|float", .kind = CLI_WORD,
     .words = input_form_words,
     FIELD(input_form), .verbs = VERBS_FEED,
     .help = "what input files hold: the tensor's own type, or float32 values (default native; a "
             "quantized or half-precision tensor then takes a float32 file too, if the sizes "
             "differ)"},
    {.name = "use_native_input_files", .kind = CLI_FLAG, FIELD(run.native_in), .verbs = VERB_RUN,
     .help = "the same as --input_data_type native"},
    {.name = "native_input_tensor_names", .value = "T1,T2", .kind = CLI_TEXT,
     FIELD(run.native_inputs), .verbs = VERB_RUN,
     .help = "inputs whose files hold the tensor's own type, while all others hold float32: T1,T2 "
             "for a lone pipeline, else GRAPH1:T1,T2;GRAPH2:T3"},
    {.name = "input_list", .value = "FILE,FILE", .kind = CLI_TEXT, FIELD(run.lists),
     .verbs = VERB_RUN,
     .help = "text file with a line for each inference, as for qnn-net-run: the files of the "
             "inputs in their order, or as INPUT:=FILE, separated by blanks. Lines with # or % at "
             "their beginning are comments. One list for each pipeline, and __ for one that does "
             "not run. If files hold equal parts of the tensors, as many lines make one inference. "
             "Files then hold float32 values unless an option says native, and outputs are written "
             "to DIR/Result_N, or DIR/GRAPH/Result_N for several lists"},
    {.name = "dims", .value = "NAME=1x5x8", .kind = CLI_LIST, FIELD(dims_texts),
     .verbs = VERBS_FEED,
     .help = "dims of a dynamic tensor, at most those that inspect shows behind \"<=\" (default: "
             "those); repeat the option for several. Its input file then has that many values"},
    {.name = "omit", .value = "NAME", .kind = CLI_LIST, FIELD(omits), .verbs = VERBS_FEED,
     .help = "leave an optional tensor out; repeat the option for several"},
    {.name = "num_inferences", .value = "N", .kind = CLI_U32, .most = 1000000, FIELD(inferences),
     .verbs = VERB_RUN,
     .help = "how often to run each pipeline (default 1, or once for each line of --input_list, "
             "which is read again as often as necessary; 0: only show and plan)"},
    {.name = "duration", .value = "SECONDS", .kind = CLI_REAL, .bottom = 0, .top = 1e6, .above = 1,
     FIELD(run.duration), .verbs = VERB_RUN,
     .help = "run each pipeline again until so many seconds are over, instead of "
             "--num_inferences; at least once"},
    {.name = "batch_multiplier", .value = "N", .kind = CLI_U32, .least = 1, .most = 65536,
     FIELD(run.batch), .verbs = VERB_RUN,
     .help = "files of inputs hold N times the values, along the first axis: each part is executed "
             "alone, and files of outputs hold all parts"},
    {.name = "synchronous", .kind = CLI_FLAG, FIELD(run.synchronous), .verbs = VERB_RUN,
     .help = "execute one inference after the other. It is always so; the option is known because "
             "command lines of qnn-net-run have it"},
    {.name = "validate_binary", .kind = CLI_FLAG, FIELD(run.validate), .verbs = VERB_RUN,
     .help = "print for each binary that the backend has created its context and has its graphs. "
             "With --num_inferences 0 nothing else is done"},
    {.name = "output_dir", .value = "DIR", .kind = CLI_TEXT, FIELD(output_dir), .verbs = VERB_RUN,
     .help = "write outputs to DIR/GRAPH/TENSOR.raw, or with several inferences to "
             "DIR/Result_N/GRAPH/TENSOR.raw (default: outputs are not written)"},
    {.name = "keep_num_outputs", .value = "N", .kind = CLI_U32, .most = 1000000,
     FIELD(run.keep_outputs), .verbs = VERB_RUN,
     .help = "write the outputs of the first N inferences alone (default: of all)"},
    {.name = "set_output_tensors", .value = "T1,T2", .kind = CLI_TEXT, FIELD(run.output_tensors),
     .verbs = VERB_RUN,
     .help = "write these tensors between steps as well as the outputs: T1,T2 for a lone pipeline, "
             "else GRAPH1:T1,T2;GRAPH2:T3"},
    {.name = "use_native_output_files", .kind = CLI_FLAG, FIELD(run.native_out), .verbs = VERB_RUN,
     .help = "the same as --output_data_type native"},
    {.name = "output_data_type", .value = "native|float|both", .kind = CLI_WORD,
     .words = form_words,
     FIELD(output_form), .verbs = VERB_RUN,
     .help = "what output files hold: the tensor's own type, float32 values, or both as "
             "TENSOR_native.raw and TENSOR.raw (default native). qnn-net-run's words native_only, "
             "float_only and float_and_native mean the same"},
    {.name = "output_file_type", .value = "raw|npy|safetensors", .kind = CLI_WORD,
     .words = file_words, FIELD(output_file), .verbs = VERB_RUN,
     .help = "form of output files: raw bytes, TENSOR.npy, or outputs.safetensors with all "
             "tensors (default raw). Codes are stored as integers"},
    {.name = "bind_plan_out", .value = "FILE", .kind = CLI_TEXT, FIELD(plan_out),
     .verbs = VERBS_MODEL,
     .help = "write steps, slots, edges and the memory plan as JSON; - for standard output, which "
             "then holds nothing else"},
    {.name = "json", .kind = CLI_FLAG, FIELD(json), .verbs = VERBS_MODEL,
     .help = "print the result as JSON instead of tables: the document of --bind_plan_out with "
             "times and files"},
    {.name = "profiling_level", .value = "off|basic|detailed|optrace", .kind = CLI_WORD,
     .words = profile_words, FIELD(profile), .verbs = VERB_RUN,
     .help = "print what the library measures while it loads and in the last inference: totals "
             "with basic, every node too with detailed; optrace (HTP) adds its trace to "
             "--profile_out (default off)"},
    {.name = "profile_out", .value = "FILE", .kind = CLI_TEXT, FIELD(profile_out),
     .verbs = VERB_RUN | VERB_PROFILE,
     .help = "write the profile of every inference: FILE.json for chrome://tracing and Perfetto, "
             "- for standard output, any other name for the log that the SDK's qnn-profile-viewer "
             "reads"},
    {.name = "perf_profile", .value = "NAME", .kind = CLI_POWER, FIELD(power),
     .verbs = VERB_RUN | VERB_PROFILE | VERB_REPORT | VERB_BENCH,
     .help = "power preset of the NPU: burst, sustained_high_performance, high_performance, "
             "balanced, low_balanced, high_power_saver, power_saver or low_power_saver (default: "
             "no preset is set)"},
    {.name = "config_file", .value = "FILE", .kind = CLI_TEXT, FIELD(run.config),
     .verbs = VERB_RUN | VERB_COMPILE | VERB_PROFILE | VERB_BENCH, .key = CLI_KEY_FILE,
     .help = "the SDK's JSON of the HTP backend: the file that qnn-net-run takes, whose second "
             "file must lie beside it, or that second file. run takes chip, power, memory and "
             "shared buffers, compile takes what a graph is compiled for; any other key is named "
             "in the output, or refused"},
    {.name = "align", .value = "N", .kind = CLI_OWN, .take = take_align,
     .verbs = VERB_RUN | VERB_PLAN | VERB_PROFILE | VERB_REPORT,
     .help = "alignment of tensors in bytes, a power of two (default 64)"},
    {.name = "memory", .value = "heap|shared|rpcmem|dmabuf|memfd", .kind = CLI_WORD,
     .words = memory_words, FIELD(memory),
     .verbs = VERB_RUN | VERB_PROFILE | VERB_REPORT | VERB_BENCH,
     .help = "memory of the tensors: heap (default) is plain; shared is used in place by the "
             "device: rpcmem of libcdsprpc.so, a kernel's heap, or with libQnnRef.so an anonymous "
             "file, whichever works first, else plain memory; the others are one of them. "
             "The output says what it is and which tensors are registered"},
    {.name = "guard", .kind = CLI_FLAG, FIELD(guard), .verbs = VERB_RUN,
     .help = "put inaccessible pages around every tensor; when the backend reads or writes there, "
             "a message names the tensor and the program ends"},
    {.name = "no_zero", .kind = CLI_FLAG, FIELD(no_zero), .verbs = VERB_RUN,
     .help = "leave the memory of the tensors unfilled: inputs without a file then hold whatever "
             "the memory held (default: zero)"},
    {.name = "per_tensor", .kind = CLI_FLAG, FIELD(per_tensor), .verbs = VERB_RUN | VERB_PLAN,
     .help = "give every tensor a block of its own, which shares no bytes with another (default: "
             "tensors share memory over time)"},
    {.name = "read", .kind = CLI_FLAG, FIELD(read), .verbs = VERBS_MODEL | VERBS_OPEN,
     .help = "read files into memory instead of mapping them"},
    {.name = "resident", .value = "all|one|BYTES", .kind = CLI_OWN, .take = take_resident,
     .verbs = VERBS_OPEN, .help = CLI_RESIDENT_HELP},
    {.name = "share_spill_fill", .kind = CLI_FLAG, FIELD(share_spill_fill), .verbs = VERBS_OPEN,
     .help = CLI_SHARE_HELP},
    {.name = "progress", .kind = CLI_FLAG, FIELD(progress), .verbs = VERB_RUN,
     .help = "print a line for each file that is loaded to standard error"},
    {.name = "watch", .kind = CLI_FLAG, FIELD(run.watch), .verbs = VERB_RUN,
     .help = "while it runs, print the times of the last inference and of its steps to standard "
             "error: one line that changes on a terminal, a line every second elsewhere"},
    {.name = "quiet", .kind = CLI_FLAG, FIELD(run.quiet), .verbs = VERBS_MODEL,
     .help = "print nothing to standard output except documents; errors are printed as ever"},
    {.name = "inspect", .kind = CLI_FLAG, FIELD(inspect), .verbs = VERB_RUN,
     .help = "open no backend and run nothing: show the files, their wiring and the memory plan; "
             "see also qnnrt-run inspect"},
    {.name = "metadata", .value = "all|system|json", .kind = CLI_WORD, .words = metadata_words,
     FIELD(metadata), .verbs = VERBS_MODEL | VERBS_OPEN,
     .help = "where to read graphs and tensors from: libQnnSystem.so, the JSON beside the "
             "binaries, or both where both exist; then they must agree (default all)"},
    {.name = "json_file", .value = "FILE", .kind = CLI_TEXT, FIELD(json_file), .verbs = VERBS_MODEL,
     .help = "write the metadata as JSON, in the form of the SDK's qnn-context-binary-utility; - "
             "for standard output. For several binaries, FILE is a folder, which gets one file for "
             "each"},
    {.name = "unified", .kind = CLI_FLAG, FIELD(unified), .verbs = VERBS_MODEL,
     .help = "write --json_file in the flat form that the SDK's tool calls unified"},
    {.name = "manifest", .kind = CLI_FLAG, FIELD(manifest), .verbs = VERB_INSPECT,
     .help = "print the model as a program: contexts with roles and hashes, and pipelines with "
             "their edges. As DIR/qnnrt.json it opens as the same pipelines. Other parts of a "
             "qnnrt.json are not printed"},
    {.name = "no_manifest", .kind = CLI_FLAG, FIELD(no_manifest), .verbs = VERBS_MODEL | VERBS_OPEN,
     .help = "ignore the program in the folder's qnnrt.json"},
    {.name = "diff", .kind = CLI_FLAG, FIELD(diff), .verbs = VERB_INSPECT,
     .help = "compare two models, each a folder or a file, with all bytes of their binaries, and "
             "print a line for each difference, and for what was not compared; "
             "exit status 0: equal, 1: different, 2: a model could not be opened"},
    {.name = "svg", .value = "FILE", .kind = CLI_TEXT, FIELD(svg), .verbs = VERBS_MODEL,
     .help = "draw the pipelines, or with plan the memory, as a picture for a browser; - for "
             "standard output"},
    {.name = "svg_layout", .value = "down|right", .kind = CLI_WORD, .words = layout_words,
     FIELD(svg_layout), .verbs = VERB_RUN | VERB_INSPECT,
     .help = "draw the steps of --svg below each other (default), or beside each other"},
    {.name = "dot", .value = "FILE", .kind = CLI_TEXT, FIELD(dot), .verbs = VERB_RUN | VERB_INSPECT,
     .help = "draw the pipelines for Graphviz; - for standard output"},
    {.name = "keep_going", .kind = CLI_FLAG, FIELD(keep_going),
     .verbs = VERBS_MODEL | VERB_PROFILE | VERB_REPORT,
     .help = "continue after a shard, a pipeline or an inference has failed. A pipeline that lacks "
             "a shard is left out, and its other graphs run alone; the end of the output and "
             "\"left_out\" of --json say what is missing and why, and the exit status is 1"}
};

static const cli_table model_table = CLI_TABLE(model_options);

static const cli_option compile_options[] = {
    {.name = "output_dir", .value = "DIR", .kind = CLI_TEXT, FIELD(output_dir),
     .verbs = VERB_COMPILE, .key = CLI_KEY_NONE,
     .help = "folder for the files; it is created if it does not exist"},
    {.name = "json", .kind = CLI_FLAG, FIELD(json), .verbs = VERB_COMPILE, .key = CLI_KEY_NONE,
     .help = "print the files that were written as JSON instead of text"},
    {.name = "graph_name", .value = "N1,N2", .kind = CLI_TEXT, FIELD(compile.names),
     .verbs = VERB_COMPILE, .key = CLI_KEY_NONE,
     .help = "names of the graphs, in the order of the files (default: the names in the "
             "containers, or of the .json files); an empty name keeps the default: N1,,N3"},
    {.name = "binary_file", .value = "NAME", .kind = CLI_TEXT, FIELD(compile.binary_file),
     .verbs = VERB_COMPILE, .key = CLI_KEY_NONE,
     .help = "name of the binary without .bin (default: the name of the first file)"},
    {.name = "weights", .value = "PATH", .kind = CLI_LIST, FIELD(compile.weights),
     .verbs = VERB_COMPILE, .key = CLI_KEY_NONE,
     .help = ".json: weights of the graphs: a .safetensors file, the .index.json of several, or a "
             "folder with either. Name it once for all graphs, or once for each graph"},
    {.name = "io", .value = "float|native", .kind = CLI_WORD, .words = io_words, FIELD(compile.io),
     .verbs = VERB_COMPILE,
     .help = ".json, folders: type of float inputs and outputs: float is float32, native is the "
             "type that the graphs compute in (default: float for .json, native for folders)"},
    {.name = "fp32", .kind = CLI_FLAG, FIELD(compile.fp32), .verbs = VERB_COMPILE,
     .help = ".json, folders: make all float tensors float32 (default: float16 on HTP, float32 on "
             "other libraries). With libQnnHtp.so 2.51 the results are not more exact"},
    {.name = "contexts", .value = "N", .kind = CLI_U32, .least = 1, .most = 1000,
     FIELD(compile.contexts), .verbs = VERB_COMPILE,
     .help = ".json: number of binaries to cut the graphs into, with equal shares of the weights: "
             "NAME_1_of_N.bin and so on (default 1: NAME.bin)"},
    {.name = "weight_bits", .value = "8|4|16", .kind = CLI_U32, .least = 4, .most = 16,
     FIELD(compile.weight_bits), .verbs = VERB_COMPILE,
     .help = ".json, folders: bits of the weights that operators multiply with: 8 or 4, with one "
             "scale per output channel, beside activations in floating point (default 16: "
             "floating point)"},
    {.name = "weight_block", .value = "N", .kind = CLI_U32, .least = 2, .most = 1 << 20,
     FIELD(compile.weight_block), .verbs = VERB_COMPILE,
     .help = ".json, folders: with --weight_bits 4 a scale for each N inputs of a channel, where "
             "the library computes that right; 32 keeps the blocks of Q4_0 in GGUF as they are"},
    {.name = "weight_method", .value = "minmax|mse", .kind = CLI_WORD, .words = method_words,
     FIELD(compile.weight_method), .verbs = VERB_COMPILE,
     .help = ".json, folders: scales of small weights: from the largest value, or with the least "
             "square error (default: minmax for 8 bits, mse for 4)"},
    {.name = "keep_weight", .value = "PATTERN", .kind = CLI_LIST, FIELD(compile.keep_weights),
     .verbs = VERB_COMPILE,
     .help = ".json, folders: keep the weights with this name in floating point; * is any text"},
    {.name = "weight_emulate", .kind = CLI_FLAG, FIELD(compile.weight_emulate),
     .verbs = VERB_COMPILE,
     .help = ".json, folders: where the library does not take small weights, round their values "
             "to the same codes, and store these in floating point"},
    {.name = "positions", .value = "N", .kind = CLI_U32, .least = 1, .most = 1 << 24,
     FIELD(compile.positions), .verbs = VERB_COMPILE,
     .help = ".json: number of positions in the tables of rotary embeddings (default 4096)"},
    {.name = "rope_base", .value = "X", .kind = CLI_REAL, .bottom = 0, .top = 1e30, .above = 1,
     FIELD(compile.rope_base), .verbs = VERB_COMPILE,
     .help = ".json: base of rotary embeddings, from which \"inv_freq\" is computed where no file "
             "has it, such as 10000; without it, such a weight is missing"},
    {.name = "prefill", .value = "N", .kind = CLI_U32, .most = 1 << 14, FIELD(compile.prefill),
     .verbs = VERB_COMPILE,
     .help = "folders: tokens that the graph for prompts takes in a call (default 32; 0: no such "
             "graph)"},
    {.name = "decode", .value = "N", .kind = CLI_U32, .most = 1 << 14, FIELD(compile.decode),
     .verbs = VERB_COMPILE,
     .help = "folders: tokens that the graph for answers takes in a call (default 1; 0: no such "
             "graph)"},
    {.name = "context", .value = "N1,N2", .kind = CLI_OWN, .take = take_lengths,
     .verbs = VERB_COMPILE,
     .help = "folders: tokens that the model remembers, the new ones included (default: as "
             "config.json says, at most 4096). With several lengths there are graphs for each: "
             "short texts run in the faster ones"},
    {.name = "shards", .value = "N", .kind = CLI_U32, .least = 1, .most = 1000,
     FIELD(compile.shards), .verbs = VERB_COMPILE,
     .help = "folders: binaries to make, with equal numbers of layers: model_1_of_N.bin and so on "
             "(default 1: model.bin)"},
    {.name = "embedding", .value = "graph|host", .kind = CLI_WORD, .words = embedding_words,
     FIELD(compile.embedding), .verbs = VERB_COMPILE,
     .help = "folders: where rows of the table of embeddings are looked up: in the first graph, "
             "or on the host, in a file that is mapped (default graph)"},
    {.name = "outputs", .value = "logits|hidden|both", .kind = CLI_WORD, .words = output_words,
     FIELD(compile.outputs), .verbs = VERB_COMPILE,
     .help = "folders: what the model computes: logits to write text (default), the last hidden "
             "state for embeddings of texts, or both"},
    {.name = "lora", .value = "RANK[:P1,P2]", .kind = CLI_OWN, .take = take_lora,
     .verbs = VERB_COMPILE,
     .help = "folders: leave room for adapters (LoRA) up to this rank, on the projections q_proj, "
             "v_proj and so on (default: all). They are 0 until qnnrt-llm --lora, which needs a "
             "library with updates"},
    {.name = "kv_rows", .kind = CLI_FLAG, FIELD(compile.kv_rows), .verbs = VERB_COMPILE,
     .help = ".json: the graphs are the steps of one language model, for prompts and for single "
             "tokens. A cache that a graph updates becomes an input with the past rows and an "
             "output with the new rows, and inputs and outputs get the names that qnnrt-llm knows. "
             "In the mask, the columns of the new tokens come last"},
    {.name = "eos", .value = "T1,T2", .kind = CLI_OWN, .take = take_eos, .verbs = VERB_COMPILE,
     .help = "with --kv_rows: numbers of the tokens that end a text, for qnnrt-llm (default: those "
             "of config.json in the folder of the first graph, if it is there)"},
    {.name = "backends", .value = "A,B,host", .kind = CLI_TEXT, FIELD(compile.backends),
     .verbs = VERB_COMPILE,
     .help = ".json, folders: roles of several backends, the preferred one first, such as "
             "npu,cpu,host. Each node is computed by one that can; host is this project's own "
             "evaluator, for what no library has. The folder opens as one program"},
    {.name = "pin", .value = "NODE=ROLE", .kind = CLI_LIST, FIELD(compile.pins), .repeat = 1,
     .verbs = VERB_COMPILE,
     .help = "with --backends: let this backend compute the node, or fail"},
    {.name = "speed", .value = "ROLE=N", .kind = CLI_LIST, FIELD(compile.speeds), .repeat = 1,
     .verbs = VERB_COMPILE,
     .help = "with --backends: operations in a microsecond, to compare backends (default 1000000 "
             "for libQnnHtp.so, 20000 for other libraries, 500 for the host)"},
    {.name = "state_policy", .value = "host|error", .kind = CLI_WORD, .words = state_words,
     FIELD(compile.state_policy), .verbs = VERB_COMPILE,
     .help = "with --backends: where a cache that index_copy updates lives if no backend can "
             "compute all nodes that touch it: on the host (default), or nowhere: an error with "
             "the reasons"},
    {.name = "no_ask", .kind = CLI_FLAG, FIELD(compile.no_ask), .verbs = VERB_COMPILE,
     .help = "with --backends: do not ask the library about each operator, and do not avoid its "
             "known errors, except those that end the process: only what fails to compile moves to "
             "another backend"},
    {.name = "no_validate", .kind = CLI_FLAG, FIELD(compile.no_validate), .verbs = VERB_COMPILE,
     .help = "as --no_ask, and the library is not asked about nodes that are added, either: only "
             "those move whose finalize fails"},
    {.name = "explain_plan", .kind = CLI_FLAG, FIELD(compile.explain), .verbs = VERB_COMPILE,
     .key = CLI_KEY_NONE,
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
     FIELD(compile.arch), .verbs = VERB_COMPILE,
     .help = "HTP: NPU generation, such as 75 (default: the chip's)"},
    {.name = "fp16", .kind = CLI_FLAG, FIELD(compile.fp16), .verbs = VERB_COMPILE,
     .help = "HTP: compute float32 graphs of containers in half precision; .json, folders: make "
             "all float tensors float16, on every library"},
    {.name = "optimization_level", .value = "N", .kind = CLI_U32, .least = 1, .most = 3,
     FIELD(compile.level), .verbs = VERB_COMPILE,
     .help = "HTP: 1 to 3 (default: the library's choice)"},
    {.name = "vtcm_mib", .value = "N", .kind = CLI_U32, .least = 1, .most = 1024,
     FIELD(compile.vtcm), .verbs = VERB_COMPILE,
     .help = "HTP: fast memory that a graph may use, in MiB (default: the library's choice)"},
    {.name = "hvx_threads", .value = "N", .kind = CLI_U32, .least = 1, .most = 64,
     FIELD(compile.hvx), .verbs = VERB_COMPILE,
     .help = "HTP: vector threads of a graph (default: the library's choice)"},
    {.name = "weight_sharing", .kind = CLI_FLAG, FIELD(compile.share), .verbs = VERB_COMPILE,
     .help = "HTP: store weights that graphs have in common once. Such a file runs on a device, "
             "but not on the x86-64 emulator"},
    {.name = "progress", .kind = CLI_FLAG, FIELD(progress), .verbs = VERB_COMPILE,
     .key = CLI_KEY_NONE,
     .help = "print the progress of the compilation to standard error: nodes, bytes of weights "
             "and seconds (default: only on a terminal)"},
    {.name = "report", .value = "FILE", .kind = CLI_TEXT, FIELD(compile.report),
     .verbs = VERB_COMPILE, .key = CLI_KEY_NONE,
     .help = ".json, folders: write what became of each node, the passes, the operators by type, "
             "the static tensors by size, the sizes of the files and the times, also when "
             "compiling fails; - for standard output"},
    {.name = "svg", .value = "FILE", .kind = CLI_TEXT, FIELD(svg), .verbs = VERB_COMPILE,
     .key = CLI_KEY_NONE,
     .help = ".json, folders: draw the graphs after the passes, with the operators of each node, "
             "and before the passes in X.before.svg for X.svg, coloured by what became of each "
             "node; - writes the drawing after the passes to standard output"},
    {.name = "dot", .value = "FILE", .kind = CLI_TEXT, FIELD(dot), .verbs = VERB_COMPILE,
     .key = CLI_KEY_NONE,
     .help = ".json, folders: write the same drawings for Graphviz: FILE, and X.before.dot for "
             "X.dot"},
    {.name = "verify", .value = "N", .kind = CLI_U32, .least = 1, .most = 1000000,
     FIELD(compile.verify), .verbs = VERB_COMPILE, .key = CLI_KEY_NONE,
     .help = ".json, folders: open the written files, run each graph N times with random inputs, "
             "and print the largest differences from what qnnrt computes from the .json file; "
             "exit status 1 if one is too large"},
    {.name = "verify_tolerance", .value = "T", .kind = CLI_REAL, .bottom = 0, .top = 1e6,
     .above = 1, FIELD(compile.tolerance), .verbs = VERB_COMPILE, .key = CLI_KEY_NONE,
     .help = "largest difference that --verify allows, as a part of the largest value (default "
             "0.0001; 0.02 on HTP, with float16, and with activations of 16 bits; 0.2 with 8 bits; "
             "of --verify_nodes 0.1 with weights of 8 bits, and 0.5 with 4)"},
    {.name = "verify_nodes", .value = "first|all", .kind = CLI_WORD, .words = node_words,
     FIELD(compile.verify_nodes), .verbs = VERB_COMPILE, .key = CLI_KEY_NONE,
     .help = ".json, folders: build each graph again with every value as an output, run it once, "
             "and print the first node that differs, or all nodes"},
    {.name = "cache", .value = "DIR", .kind = CLI_TEXT, FIELD(compile.cache),
     .verbs = VERB_COMPILE, .key = CLI_KEY_NONE,
     .help = "folder that keeps what was compiled. If graphs, weights, options, library and "
             "program are those of an entry, its files are copied; a damaged entry is compiled "
             "again. Weights are read for that, 0.6 GB each second"},
    {.name = "cache_limit", .value = "MIB", .kind = CLI_U64, .least = 1, .most = 1 << 30,
     FIELD(compile.cache_limit), .verbs = VERB_COMPILE, .key = CLI_KEY_NONE,
     .help = "most that the entries of --cache may have, in MiB: those unused for longest are "
             "removed (default 10240)"},
    {.name = "cache_list", .kind = CLI_FLAG, FIELD(compile.cache_list), .verbs = VERB_COMPILE,
     .key = CLI_KEY_NONE,
     .help = "list the entries of --cache, and compile nothing"},
    {.name = "cache_clear", .kind = CLI_FLAG, FIELD(compile.cache_clear), .verbs = VERB_COMPILE,
     .key = CLI_KEY_NONE,
     .help = "remove the entries of --cache, and compile nothing"},
    {.name = "op_package", .value = "[ROLE=]PATH:PROVIDER[:TARGET]", .kind = CLI_LIST,
     FIELD(packages), .verbs = VERBS_OPEN | VERB_COMPILE, .key = CLI_KEY_NONE,
     .help = "register an op package of the backend before anything else: its library, the "
             "function that it exports as its entry, and for HTP the target CPU (x86-64) or HTP. "
             "With several backends cpu=PATH... is for the role cpu, and PATH... for the first "
             "one. Repeat the option for several"},
    {.name = "op_map", .value = "FILE", .kind = CLI_TEXT, FIELD(compile.op_map),
     .verbs = VERB_COMPILE, .key = CLI_KEY_FILE,
     .help = ".json, folders: table of operators of graphs that become operators of op packages: "
             "{\"mylib.line.default\": {\"package\": \"my.package\", \"type\": \"LineOf\", "
             "\"inputs\": [0], \"params\": {\"slope\": {\"attr\": \"slope\", \"dtype\": "
             "\"float32\", \"default\": 1}}}}. inputs, attr and default may be left out. "
             "\"role\": \"npu\" makes it a row of one of the --backends"},

    {.name = "calibrate", .value = "LIST", .kind = CLI_LIST, FIELD(compile.calibrate),
     .verbs = VERB_COMPILE, .key = CLI_KEY_NONE,
     .help = ".json, folders: make activations codes, with ranges that samples show. LIST is a "
             "text file with a line for each sample: the files of the inputs in their order, or "
             "as INPUT:=FILE; a file is .npy, .safetensors, or raw bytes of the input's type, and "
             "is found from the current folder. Name LIST once for all graphs, or once for each "
             "graph"},
    {.name = "calibrate_so", .value = "FILE", .kind = CLI_TEXT, FIELD(compile.calibrate_so),
     .verbs = VERB_COMPILE, .key = CLI_KEY_NONE,
     .help = ".json, folders: library that runs the samples (default: the one that compiles)"},
    {.name = "calibrate_method", .value = "minmax|percentile[:P]|mse", .kind = CLI_TEXT,
     FIELD(compile.calibrate_method), .verbs = VERB_COMPILE, .key = CLI_KEY_NONE,
     .help = ".json, folders: range of a tensor with --calibrate: all that samples show "
             "(default); without the highest and the lowest 100 - P percent of the values (P: "
             "99.99 if it is left out); or with the least square error. The last two run the "
             "samples twice"},
    {.name = "activation_bits", .value = "16|8", .kind = CLI_U32, .least = 8, .most = 16,
     FIELD(compile.act_bits), .verbs = VERB_COMPILE,
     .help = ".json, folders: bits of activations with --calibrate (default 16)"},
    {.name = "encodings", .value = "FILE", .kind = CLI_TEXT, FIELD(compile.encodings),
     .verbs = VERB_COMPILE, .key = CLI_KEY_FILE,
     .help = ".json: make activations codes, with scales and offsets from a file that AIMET wrote; "
             "with --calibrate, the tensors that it names get these, the others what samples show"},
    {.name = "write_encodings", .value = "FILE", .kind = CLI_TEXT,
     FIELD(compile.write_encodings), .verbs = VERB_COMPILE, .key = CLI_KEY_NONE,
     .help = ".json, folders: write the scales and offsets of activations and weights, as AIMET "
             "does"}
};

static const cli_table compile_table = CLI_TABLE(compile_options);

static const cli_option doctor_options[] = {
    {.name = "backend_so", .alias = "backend", .value = "[ROLE=]FILE", .kind = CLI_OWN,
     .take = take_backend, .repeat = 1, .verbs = VERB_DOCTOR,
     .help = "backend library to load and look at, in a process of its own (default: "
             CLI_BACKEND_DEFAULT "; none if a folder of libraries is checked: they are only read, "
             "unless one of them is named here)"},
    {.name = "system_so", .alias = "system_library", .value = "FILE", .kind = CLI_TEXT,
     FIELD(system), .verbs = VERB_DOCTOR,
     .help = "libQnnSystem.so of this computer, which reads context binaries (default: the one "
             "beside the backend library, else by the system's search). Without it, their JSON is "
             "read, or else texts in them that the vendor does not document"},
    {.name = "no_load", .kind = CLI_FLAG, FIELD(doctor.no_load), .verbs = VERB_DOCTOR,
     .help = "load no library at all: files are only read"},
    {.name = "run", .kind = CLI_FLAG, FIELD(doctor.run), .verbs = VERB_DOCTOR,
     .help = "execute every pipeline of a model without faults once, with inputs of zeros"},
    {.name = "platform", .value = "any|android|linux|x86_64", .kind = CLI_WORD,
     .words = platform_words, FIELD(doctor.platform), .verbs = VERB_DOCTOR,
     .help = "what the libraries must be made for; linux is arm64 with glibc (default any: that of "
             "libQnnHtp.so)"},
    {.name = "dsp_arch", .value = "N", .kind = CLI_U32, .least = 10, .most = 99,
     FIELD(doctor.arch), .verbs = VERB_DOCTOR,
     .help = "NPU generation of the device, such as 75: its stub and skel must be there, and those "
             "of other generations are not checked (default: that of this device's chip, if it has "
             "one; else every stub needs its skel)"},
    {.name = "page_size", .value = "BYTES", .kind = CLI_U32, .least = 4096, .most = 65536,
     FIELD(doctor.page_size), .verbs = VERB_DOCTOR,
     .help = "page size of the device, such as 16384 (default: not known)"},
    {.name = "root", .value = "DIR", .kind = CLI_TEXT, FIELD(doctor.root), .verbs = VERB_DOCTOR,
     .help = "look at the device whose /sys, /dev and /vendor are copied below DIR (default: at "
             "this machine, if the program is for Arm)"},
    {.name = "timeout", .value = "SECONDS", .kind = CLI_U32, .least = 1, .most = 86400,
     FIELD(doctor.limit_s), .verbs = VERB_DOCTOR,
     .help = "how long a library may take before it counts as hanging (default 120, and 3600 for "
             "--run)"},
    {.name = "report", .value = "FILE", .kind = CLI_TEXT, FIELD(doctor.report),
     .verbs = VERB_DOCTOR,
     .help = "also write all of it to a text file for a bug report, without the home folder, names "
             "of users, and weights; names of files and tensors are in it"},
    {.name = "json", .kind = CLI_FLAG, FIELD(json), .verbs = VERB_DOCTOR,
     .help = "print the findings as a JSON document instead of text"}
};

static const cli_table doctor_table = CLI_TABLE(doctor_options);

static const cli_option common_options[] = {
    {.name = "log_level", .value = "LEVEL", .kind = CLI_LEVEL, FIELD(log_level),
     .verbs = VERBS_MODEL | VERBS_OPEN | VERB_COMPILE | VERB_DOCTOR, .key = CLI_KEY_NONE,
     .help = "print log lines up to this level to standard error: 0 off, 1 error, 2 warn, "
             "3 info, 4 verbose, 5 debug; by number or name (default off)"},
    CLI_COMMON
};

static const cli_table common_table = CLI_TABLE(common_options);

/* True if the verb only looks at models. */
static int only_looks(const settings *set)
{
    return set->command != COMMAND_RUN || set->inspect;
}

static int check_diff(const settings *set)
{
    if (set->command == COMMAND_PLAN)
        return cli_usage("Use qnnrt-run inspect --diff A B.", "--diff is not an option of plan");
    if (set->ctx_dir != NULL || set->files.count != 2)
        return cli_usage("Use qnnrt-run inspect --diff A B.",
                         "--diff takes two models, each a folder or a file");
    if (documents_on_stdout(set, NULL) > 0 || set->json_file != NULL || set->plan_out != NULL ||
        set->dot != NULL || set->svg != NULL)
        return cli_usage("Leave out the options that write documents.",
                         "--diff prints differences and nothing else");
    return STATUS_OK;
}

static int is_given(const cli_parsed *parsed, const char *name)
{
    for (size_t i = 0; i < parsed->given_count; ++i)
        if (strcmp(parsed->given[i].option->name, name) == 0) return 1;
    return 0;
}

/* True if both words name one plain file, or are one name of a file that does not exist yet. */
static int is_same_file(const char *a, const char *b)
{
    struct stat status;
    if (stat(a, &status) != 0) return strcmp(a, b) == 0 && strcmp(a, "-") != 0;
    return S_ISREG(status.st_mode) && cli_is_same(a, b);
}

/* Return what a plain file is when no document may take its place: a model or a library. NULL if
   it is nothing of that kind or is not there. */
static const char *precious(const char *path)
{
    unsigned char head[64];
    size_t bytes = 0;
    struct stat status;
    const int plain = stat(path, &status) == 0 && S_ISREG(status.st_mode);
    const int fd = plain ? cli_open(path) : -1;
    if (fd < 0) return NULL;
    if (cli_read(fd, (char *)head, sizeof(head), &bytes) != 0) bytes = 0;
    close(fd);
    if (bytes >= 4 && memcmp(head, "\177ELF", 4) == 0) return "library or program";
    const head_kind kind = head_of((span){head, bytes});
    return kind != HEAD_OTHER ? head_names[kind] : NULL;
}

/* Check that no document is written over a model, a library, an input, or another document. */
static int check_written(const settings *set, const cli_parsed *parsed)
{
    static const char *const documents[] = {"bind_plan_out", "csv", "dot", "json_file", "output",
        "profile_out", "report", "save", "svg", NULL};
    for (size_t i = 0; i < parsed->given_count; ++i) {
        const char *name = parsed->given[i].option->name, *path = parsed->given[i].value;
        const char *other = NULL, *what = NULL;
        if (path == NULL || cli_word(name, documents) < 0) continue;
        for (size_t k = 0; k < parsed->given_count && other == NULL; ++k) {
            const cli_option *o = parsed->given[k].option;
            const char *value = parsed->given[k].value;
            const char *tail = value != NULL ? strrchr(value, '=') : NULL;
            /* a saved profile may be replaced by the one that was compared with it */
            if (k != i && value != NULL && strstr(o->value, "FILE") != NULL &&
                strcmp(o->name, "against") != 0 &&
                (is_same_file(path, value) || (tail != NULL && is_same_file(path, tail + 1))))
                other = o->name;
        }
        if (other != NULL)
            return cli_usage("Name another file.", "--%s and --%s name one file", name, other);
        for (size_t k = 0; k < set->files.count; ++k)
            if (is_same_file(path, set->files.items[k])) what = "file that this command reads";
        if (what == NULL) what = precious(path);
        if (what == NULL) continue;
        char *shown = cli_shown(path);
        const int status = cli_usage("Name another file.", "--%s would replace %s, a %s", name,
                                     shown, what);
        free(shown);
        return status;
    }
    return STATUS_OK;
}

/* Check options of run that exclude or need each other, and resolve what they mean together. */
static int check_run(settings *set, const cli_parsed *parsed)
{
    static const struct { const char *first, *second; } exclude[] = {
        {"duration", "num_inferences"}, {"use_native_input_files", "native_input_tensor_names"},
        {"use_native_input_files", "input_data_type"},
        {"native_input_tensor_names", "input_data_type"},
        {"use_native_output_files", "output_data_type"}
    }, need[] = {
        {"keep_num_outputs", "output_dir"}, {"set_output_tensors", "output_dir"},
        {"use_native_output_files", "output_dir"}, {"output_data_type", "output_dir"},
        {"output_file_type", "output_dir"}
    };
    for (size_t i = 0; i < sizeof(exclude) / sizeof(exclude[0]); ++i)
        if (is_given(parsed, exclude[i].first) && is_given(parsed, exclude[i].second))
            return cli_usage("Use one of them.", "--%s and --%s exclude each other",
                             exclude[i].first, exclude[i].second);
    for (size_t i = 0; i < sizeof(need) / sizeof(need[0]); ++i)
        if (is_given(parsed, need[i].first) && !is_given(parsed, need[i].second))
            return cli_usage("Add --output_dir DIR.", "--%s has no effect without --%s",
                             need[i].first, need[i].second);
    set->run.inferences_given = is_given(parsed, "num_inferences");
    if (set->run.output_tensors != NULL) set->per_tensor = 1;
    if (set->run.watch && set->profile == QNNRT_PROFILE_OFF) set->profile = QNNRT_PROFILE_BASIC;
    set->output_form %= 3;
    if (set->run.lists == NULL) return STATUS_OK;
    if (!set->run.native_in && !is_given(parsed, "input_data_type")) set->input_form = FORM_FLOAT;
    if (!set->run.native_out && !is_given(parsed, "output_data_type"))
        set->output_form = FORM_FLOAT;
    return STATUS_OK;
}

/* Check options that depend on each other, for run, inspect and plan. */
static int check_model(settings *set, const cli_parsed *parsed)
{
    static const char *const words[] = {"--inspect", "inspect", "plan"};
    const char *word = words[set->command], *documents[DOCUMENTS];
    int status = check_feed(set);
    if (status == STATUS_OK) status = check_run(set, parsed);
    if (status != STATUS_OK) return status;
    const char *roles[ROLES_MOST];
    for (size_t i = 0; i < set->role_count; ++i) roles[i] = set->roles[i].role;
    status = check_package_roles(set, roles, set->role_count,
                                 "Name the library of the role with --backend_so ROLE=FILE.");
    if (status == STATUS_OK && set->diff) status = check_diff(set);
    if (status != STATUS_OK) return status;
    if (set->ctx_dir != NULL && set->files.count > 0)
        return cli_usage("Name the model once.",
                         "--ctx_dir excludes --retrieve_context and other files");
    if (set->ctx_dir == NULL && set->files.count == 0)
        return set->command != COMMAND_RUN ? cli_usage(set->command == COMMAND_PLAN
                             ? "Write qnnrt-run plan DIR, or run qnnrt-run plan --help."
                             : "Write qnnrt-run inspect DIR, or run qnnrt-run inspect --help.",
                         "%s takes a folder or files", word)
               : cli_usage("Name a folder of context binaries, or one of them, behind the verb.",
                           "the model is missing: expected a folder, or context binaries");
    if (only_looks(set)) {
        const char *given = set->input_texts.count > 0                 ? "--input"
                            : set->run.lists != NULL                   ? "--input_list"
                            : set->run.duration > 0                    ? "--duration"
                            : set->run.batch > 0                       ? "--batch_multiplier"
                            : set->run.validate                        ? "--validate_binary"
                            : set->run.watch                           ? "--watch"
                            : set->dims_count > 0                      ? "--dims"
                            : set->omits.count > 0                     ? "--omit"
                            : set->output_dir != NULL                  ? "--output_dir"
                            : set->profile != QNNRT_PROFILE_OFF        ? "--profiling_level"
                            : set->power != QNNRT_POWER_CUSTOM         ? "--perf_profile"
                            : set->resident_given                      ? "--resident"
                            : set->no_zero                             ? "--no_zero"
                                                                       : NULL;
        if (given != NULL)
            return cli_usage("Use it with qnnrt-run run.", "%s runs nothing: it does not take %s",
                             word,
                             given);
    }
    if (set->profile_out != NULL && set->profile == QNNRT_PROFILE_OFF)
        return cli_usage("Add --profiling_level basic, detailed or optrace.",
                         "--profile_out needs --profiling_level");
    if (only_looks(set) || set->diff) set->inspect = 1;
    if (set->inspect) set->inferences = 0;
    if (set->svg == NULL && is_given(parsed, "svg_layout"))
        return cli_usage("Add --svg FILE.", "--svg_layout has no effect without --svg");
    if (set->unified && set->json_file == NULL)
        return cli_usage("Add --json_file FILE.", "--unified needs --json_file");
    if (set->manifest && set->command != COMMAND_INSPECT)
        return cli_usage("Use qnnrt-run inspect DIR --manifest.",
                         "--manifest is an option of inspect");
    if (set->dot != NULL && set->command == COMMAND_PLAN)
        return cli_usage("Use --svg.", "--dot is not an option of plan");
    if (documents_on_stdout(set, documents) > 1)
        return cli_usage("Write one of them to a file.", "%s and %s both write to standard output",
                         documents[0], documents[1]);
    if (parsed->operand != NULL && set->files.count == 1 && cli_is_folder(set->files.items[0])) {
        set->ctx_dir = set->files.items[0];
        set->files.count = 0;
    }
    return STATUS_OK;
}
