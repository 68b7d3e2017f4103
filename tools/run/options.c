/* options.c - the options of run, inspect and plan, and those of all verbs

   ROOM     >>options */
#include "run/run.h"
#include "run/compile/aten.h"
#include "run/model/model.h"

/* =====================================================================================
   OPTIONS                                                                     >>options
   A table for each part of the program. A verb lists some of them in its help.
   ===================================================================================== */

static const char *const metadata_words[] = {"all", "system", "json", NULL};
/* The last three are qnn-net-run's words for the first three. */
static const char *const form_words[] = {"native", "float", "both", "native_only", "float_only",
                                         "float_and_native", NULL};
static const char *const layout_words[] = {"down", "right", NULL};
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
     FIELD(system), .verbs = VERBS_MODEL | VERBS_OPEN,
     .help = "libQnnSystem.so, which reads context binaries (default: QNNRT_SYSTEM of the "
             "environment, or the one beside the backend library, or by the system's search). It "
             "is not needed when every binary has its JSON, nor with libQnnRef.so"},
    {.name = "soc_model", .value = "CHIP", .kind = CLI_CHIP, FIELD(soc_model), .verbs = VERBS_OPEN,
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
             "floats from -1 to 1, all bits if quantized, integers and bools of 0 and 1. Without "
             "GRAPH: it is for every pipeline that has this input; FILE alone is for the only "
             "input. Inputs without a file are zero, or with random:SEED alone random"},
    {.name = "input_data_type", .value = "native|float", .kind = CLI_WORD,
     .words = input_form_words, FIELD(input_form), .verbs = VERBS_FEED,
     .help = "what input files hold: the tensor's own type, or float32 values (default native, "
             "with --input_list float; a native quantized or half-precision tensor takes a float32 "
             "file too, if the sizes differ)"},
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
    {.name = "reset", .kind = CLI_FLAG, FIELD(run.reset), .verbs = VERB_RUN,
     .help = "begin each inference with the first values of the states, or those of --state_in "
             "(default: with what the inference before left)"},
    {.name = "state_in", .value = "FILE", .kind = CLI_TEXT, FIELD(run.state_in), .verbs = VERB_RUN,
     .help = "values that the states of a pipeline begin with: a file of --state_out"},
    {.name = "state_out", .value = "FILE", .kind = CLI_TEXT, FIELD(run.state_out),
     .verbs = VERB_RUN,
     .help = "write the states after the last inference, as a .safetensors file with the names "
             "that they have in the model"},
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
     .words = form_words, FIELD(output_form), .verbs = VERB_RUN,
     .help = "what output files hold: the tensor's own type, float32 values, or both as "
             "TENSOR_native.raw and TENSOR.raw (default native, with --input_list float). "
             "qnn-net-run's words native_only, float_only and float_and_native mean the same"},
    {.name = "output_file_type", .value = "raw|npy|safetensors", .kind = CLI_WORD,
     .words = file_words, FIELD(output_file), .verbs = VERB_RUN,
     .help = "form of output files: raw bytes, TENSOR.npy, or outputs.safetensors with all "
             "tensors (default raw). Quantized values are integers"},
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

const cli_table model_table = CLI_TABLE(model_options);

static const cli_option common_options[] = {
    {.name = "log_level", .value = "LEVEL", .kind = CLI_LEVEL, FIELD(log_level),
     .verbs = VERBS_MODEL | VERBS_OPEN | VERB_COMPILE | VERB_DOCTOR, .key = CLI_KEY_NONE,
     .help = "print log lines up to this level to standard error: 0 off, 1 error, 2 warn, "
             "3 info, 4 verbose, 5 debug; by number or name (default off)"},
    CLI_COMMON
};

const cli_table common_table = CLI_TABLE(common_options);
