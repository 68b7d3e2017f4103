/* qnnrt-run - show, run, measure, compare and compile QNN models, and find what is wrong with them

       cc -std=c99 -O2 -I. -Itools -o qnnrt-run $(find tools/run tools/cli -name '*.c') \
          -ldl -lm -pthread
       qnnrt-run inspect DIR --svg pipeline.svg
       qnnrt-run plan DIR --svg memory.svg
       qnnrt-run run DIR --backend_so libQnnHtp.so --input x=x.raw --output_dir OUT
       qnnrt-run compile A.dlc --output_dir OUT
       qnnrt-run compile model.json --weights model.safetensors --output_dir OUT
       qnnrt-run doctor libs/arm64-v8a model_dir
       qnnrt-run bench DIR OTHER_DIR --backend_so libQnnHtp.so
       qnnrt-run explain 0x1388
       qnnrt-run extract model.pte --output_dir OUT
       qnnrt-run ops Conv2d

   It uses only public functions of the headers. `qnnrt-run --help` lists the verbs; each verb has
   its own --help with its options.

   Names in context binaries may be hostile: cli_shown() turns control characters into \xNN, JSON is
   escaped, and a name becomes a file name only after safe_name().

   Each folder has a header of its name, which says what the folder needs: base is below all,
   then come model, io and show, check and draw, then compile and measure, and this unit uses all.
   A verb has its options and its settings in its own folder. A new verb needs rows in verbs[] and
   tables[] below, a VERB_ bit in base.h, and there a pointer to its settings, if it has some.

   ROOMS    >>verbs >>main                                                                       */
#include "run/run.h"
#include "run/compile/compile.h"
#include "run/model/model.h"
#include "run/io/io.h"
#include "run/measure/measure.h"
#include "run/draw/draw.h"
#include "run/check/check.h"

const char cli_name[] = CLI_NAME;

/* =====================================================================================
   VERBS                                                                         >>verbs
   What each verb does. Each returns the exit status; t->failed counts as well.
   ===================================================================================== */

static int verb_run(void *user)
{
    tool *t = user;
    if (t->set.diff) return run_diff(t);
    if (!read_lists(t) || !check_before_loading(t)) return STATUS_OK;
    if (!open_model(t) || !select_jobs(t) || !states_check(t)) return STATUS_OK;
    if (t->set.run.validate) say_valid(t);
    for (size_t i = 0; i < t->job_count; ++i) {
        plan_job(t, &t->jobs[i]);
        say_job(t, &t->jobs[i]);
    }
    write_report(t, t->set.plan_out, 0);
    write_dumps(t);
    write_flow(t);
    write_dot(t);
    if (t->failed && !t->set.keep_going) return STATUS_OK;

    run_jobs(t);
    if (t->set.resident_given) say_device(t);
    return STATUS_OK;
}

static int verb_profile(void *user)
{
    return run_profile(user);
}

static int verb_inspect(void *user)
{
    tool *t = user;
    if (t->set.diff) return run_diff(t);
    if (!open_model(t)) return STATUS_OK;
    say_model(t);
    if (select_jobs(t))
        for (size_t i = 0; i < t->job_count; ++i) say_job(t, &t->jobs[i]);
    if (t->set.manifest) write_manifest(t);
    write_report(t, t->set.plan_out, 0);
    write_dumps(t);
    write_flow(t);
    write_dot(t);
    return STATUS_OK;
}

static int verb_plan(void *user)
{
    tool *t = user;
    if (!open_model(t) || !select_jobs(t)) return STATUS_OK;
    for (size_t i = 0; i < t->job_count; ++i) {
        plan_job(t, &t->jobs[i]);
        say_job(t, &t->jobs[i]);
        say_blocks(t, &t->jobs[i]);
    }
    write_report(t, t->set.plan_out, 0);
    write_dumps(t);
    write_arena(t);
    return STATUS_OK;
}

static const char *const run_examples[] = {
    "run model_dir --backend_so libQnnHtp.so --input x=x.raw --output_dir out",
    "--ctx_dir model_dir --input x=x.raw --output_dir out", NULL};
static const char *const inspect_examples[] = {
    "inspect model_dir --svg pipeline.svg", "inspect model_dir --json_file metadata/",
    "inspect --diff old_dir new_dir", "inspect model_dir --manifest >program.json", NULL};
static const char *const plan_examples[] = {"plan model_dir --svg memory.svg", NULL};
static const char *const compile_examples[] = {
    "compile prompt.dlc token.dlc --graph_name prompt,token --output_dir out --soc_model 57",
    "compile model.json --weights model.safetensors --backend_so libQnnHtp.so --output_dir out",
    "compile model.onnx --dim batch=1 --backend_so libQnnHtp.so --output_dir out",
    "compile Qwen3-0.6B --context_lengths 1024 --shards 2 --output_dir out",
    NULL};
static const char *const report_examples[] = {
    "report model_dir --output report.html",
    "report model_dir --output report.html --run --backend_so libQnnHtp.so", NULL};
static const char *const profile_examples[] = {
    "profile model_dir --backend_so libQnnHtp.so --save before.json --svg costs.svg",
    "profile model_dir --against before.json", "profile before.json after.json", NULL};
static const char *const doctor_examples[] = {
    "doctor model_dir --backend_so libs/libQnnHtp.so --report doctor.txt",
    "doctor app/src/main/jniLibs/arm64-v8a model_dir --platform android", NULL};
static const char *const compare_examples[] = {
    "compare old_dir new_dir --backend_so libQnnHtp.so --input x=x.raw --tolerance 0.01",
    "compare model_dir --backend_so 2.47/libQnnHtp.so --other_backend_so 2.51/libQnnHtp.so",
    "compare out_dir expected_dir --ctx_dir model_dir", NULL};
static const char *const capture_examples[] = {
    "capture model_dir --backend_so libQnnHtp.so --input x=x.raw --output_dir captured", NULL};
static const char *const replay_examples[] = {
    "replay captured model_dir --backend_so libQnnRef.so --tolerance 0.02", NULL};
static const char *const ops_examples[] = {"ops", "ops Conv2d", NULL};
static const char *const extract_examples[] = {
    "extract model.pte", "extract model_ctx.onnx --output_dir model_dir", NULL};
static const char *const explain_examples[] = {"explain 0x1388", "explain --json", NULL};

#define LOOK_NOTES \
    "It takes one folder, or context binaries, or the JSON that qnn-context-binary-utility makes " \
    "of them (X_json.json belongs to X.bin). It opens no backend; with JSON for every binary it " \
    "needs no library at all."

static const cli_verb verbs[] = {
    {.name = "run", .usage = "DIR|FILE ... [options]", .examples = run_examples,
     .summary = "Run the pipelines of a model. The word run may be left out when --ctx_dir or "
                "--retrieve_context names the model.",
     .lists = VERB_RUN, .takes = VERBS_MODEL, .run = verb_run},
    {.name = "inspect", .usage = "FILE|DIR ... [options]", .examples = inspect_examples,
     .summary = "Show contexts, graphs, tensors, and how the graphs are wired.",
     .notes = LOOK_NOTES, .lists = VERB_INSPECT, .takes = VERBS_MODEL, .run = verb_inspect},
    {.name = "plan", .usage = "FILE|DIR ... [options]", .examples = plan_examples,
     .summary = "Show how much memory the tensors take, and where each one lies.",
     .notes = LOOK_NOTES, .lists = VERB_PLAN, .takes = VERBS_MODEL, .run = verb_plan},
    {.name = "compile",
     .usage = "A.dlc|A.json|A.onnx ...|MODEL_DIR|MODEL.gguf --output_dir DIR [options]",
     .examples = compile_examples,
     .summary = "Compile .dlc containers, .onnx files, or graphs of PyTorch in .json files with "
                "their weights, into one context binary with all their graphs, DIR/A.bin, and "
                "write its metadata to DIR/A_json.json.",
     .notes = "A .json file, or a folder of qnnrt.export(), is a graph in ATen operators from "
              "torch.export. All graphs are .dlc containers, or none is. What is said here about "
              ".json is true of .onnx, too, except that it has its weights. MODEL_DIR is "
              "the folder of a language model, with config.json and .safetensors; MODEL.gguf is a "
              "file of llama.cpp (llama, qwen2, qwen3; F32, F16, BF16, Q4_0, Q4_1, Q5_0, Q5_1, "
              "Q8_0, Q4_K, Q5_K, Q6_K): DIR is then a model for qnnrt-llm, with the tokenizer of a "
              "GGUF file as tokenizer.json. What is said here about folders is true of GGUF files. "
              "Blocks of quantized weights become floats; --weight_bits quantizes them again.",
     .lists = VERB_COMPILE, .takes = VERB_COMPILE, .run = verb_compile},
    {.name = "doctor", .usage = "[DIR ...] [options]", .examples = doctor_examples,
     .summary = "Look for what keeps a model from running: in folders of Qualcomm's libraries and "
                "of context binaries, in the backend library as it is loaded, and in the device. "
                "Each finding says what was looked at, what was found, and what to do.",
     .notes = "Each DIR is taken by what it holds: libraries, a model, or both; libraries of "
              "several folders are taken together. Nothing is executed without --run. Findings are "
              "ok, note (a fact, or a check that could not be made), warning (it may be intended) "
              "or fault (it keeps the model from running). Exit status: 0 no fault and no warning, "
              "1 a fault, 3 warnings only, 2 wrong usage.",
     .lists = VERB_DOCTOR, .takes = VERB_DOCTOR, .run = verb_doctor},
    {.name = "bench", .usage = "A [B] [options]", .examples = bench_examples,
     .summary = "Measure how long a model takes: each call, where its time goes, loading, memory. "
                "With two models, or one on two libraries, say whether B is faster, slower, or "
                "there is no difference.",
     .notes = "Times are those of qnnrt_exec(): all steps of a pipeline with conversions and host "
              "steps, but not reading inputs or writing outputs. A quantile is the least time that "
              "so many percent of the calls do not exceed, so p99.9 of fewer than 1,000 calls is "
              "their maximum; the median of an even number is between the two in the middle. Two "
              "sides are processes of their own and take turns in random order, in rounds of about "
              "5 ms whose median counts. The change is the Hodges-Lehmann estimate of the ratios, "
              "its interval that of the Wilcoxon signed-rank test with 99 percent confidence. "
              "\"No difference\" means: the interval has 0 percent, or the change is below "
              "--threshold.",
     .lists = VERB_BENCH, .takes = VERB_BENCH, .run = verb_bench},
    {.name = "profile", .usage = "DIR|FILE ... [options]", .examples = profile_examples,
     .summary = "Show what a model costs: what is loaded, and each pipeline with its steps, "
                "operators and nodes, sorted by time; or compare two such profiles.",
     .notes = "FILE.json is a saved profile: one is shown again, two are compared. Operators are "
              "read from the names of nodes. Nodes that the library measures in cycles share the "
              "time that the step took on the device.",
     .lists = VERB_PROFILE, .takes = VERB_PROFILE, .run = verb_profile},
    {.name = "compare", .usage = "A [B] [options]", .examples = compare_examples,
     .summary = "Execute two models, or one on two libraries, with equal inputs, and print how far "
                "each tensor of B is from that of A. Or compare two folders of values, or two "
                "captures.",
     .notes = "Pipelines and tensors are paired by name; one that is alone on both sides is paired "
              "whatever its name is. Inputs without a file are zero. The sums leave out pairs in "
              "which a value is NaN or infinite: they are equal if both are NaN or the same "
              "infinity, else beyond every tolerance. Without --resident the contexts of one side "
              "are freed before those of the other are created.",
     .lists = VERB_COMPARE, .takes = VERB_COMPARE, .run = verb_compare},
    {.name = "capture", .usage = "DIR|FILE --output_dir OUT [options]",
     .examples = capture_examples,
     .summary = "Execute each pipeline once, and write the inputs and outputs of every step, as "
                "files of raw bytes with a capture.json that describes them.",
     .notes = "When a step fails, its inputs and all that came before are written, and the exit "
              "status is 1. Constants of the model are not written.",
     .lists = VERB_CAPTURE, .takes = VERB_CAPTURE, .run = verb_capture},
    {.name = "replay", .usage = "CAPTURE [DIR|FILE] [options]", .examples = replay_examples,
     .summary = "Execute each captured graph alone with its captured inputs, on any backend that "
                "has a graph of this name, and name the first step that differs.",
     .notes = "The model is CAPTURE/model unless another is named. Where types differ, real "
              "values are compared. Without --tolerance nothing may differ on the library that "
              "was captured, and on another one 2 percent of the largest value of a tensor.",
     .lists = VERB_REPLAY, .takes = VERB_REPLAY, .run = verb_replay},
    {.name = "report", .usage = "DIR|FILE ... --output FILE [options]",
     .examples = report_examples,
     .summary = "Write a report of a model as one page of HTML: findings, contexts, wiring, "
                "tensors and memory of each pipeline, and with --run or --costs its times.",
     .notes = "The page has no scripts and loads nothing. Without --run no backend is opened.",
     .lists = VERB_REPORT, .takes = VERB_REPORT, .run = verb_report},
    {.name = "extract", .usage = "FILE ... [options]", .examples = extract_examples,
     .summary = "List the context binaries that a file carries, and write them with --output_dir: "
                "ExecuTorch's .pte, .onnx with EPContext nodes, and apk, aar, zip or .dlc with "
                "such files in them. Of a .dlc it lists the graphs.",
     .notes = "The parts of a model are named so that qnnrt-run run DIR takes them in their order. "
              "A file that an .onnx names must lie beside it. No file that exists is replaced.",
     .lists = VERB_EXTRACT, .takes = VERB_EXTRACT, .run = verb_extract},
    {.name = "ops", .usage = "[NAME ...] [options]", .examples = ops_examples,
     .summary = "Show operators: inputs, outputs and parameters with their types, which libraries "
                "compute them right for which types, and which nodes are known to go wrong. "
                "Without a name it lists all.",
     .lists = VERB_OPS, .takes = VERB_OPS, .run = verb_ops},
    {.name = "explain", .usage = "[CODE|SYMBOL|LINE]", .examples = explain_examples,
     .summary = "Explain an error: a code, its symbol, or a pasted line of a log, with likely "
                "causes and a remedy. Without a word it lists all that it knows.",
     .lists = VERB_EXPLAIN, .takes = VERB_EXPLAIN, .raw = 1, .run = verb_explain}
};

static const cli_table *const tables[] = {
    &model_table, &compile_table, &doctor_table, &pair_table, &compare_table, &explain_table,
    &profile_table, &html_report_table, &bench_table, &capture_table, &extract_table, &ops_table,
    &common_table
};

static const char *const program_examples[] = {
    "inspect model_dir", "run model_dir --input x=random:7", "doctor model_dir", NULL};

static const cli_program program = {
    .summary = "Show, run, measure, compare and compile models for QNN, and find what keeps them "
               "from running.",
    .examples = program_examples,
    .notes = "Each verb has its own options and examples: qnnrt-run VERB --help.",
    .statuses = "Exit status: 0 everything succeeded, 1 something failed, 2 wrong usage. A "
                "pipeline that cannot be wired is a failure for run and plan, and a finding for "
                "inspect.",
    .verbs = verbs, .verb_count = sizeof(verbs) / sizeof(verbs[0]),
    .tables = tables, .table_count = sizeof(tables) / sizeof(tables[0]),
    .operands = 1, .operand_field = offsetof(settings, files)
};

/* =====================================================================================
   MAIN                                                                           >>main
   ===================================================================================== */

/* Report a word where the program expects a verb or an option. Returns STATUS_USAGE. */
static int wrong_operand(const char *word, int first)
{
    if (strcmp(word, "libs") == 0)
        return cli_usage("Use qnnrt-run doctor DIR.", "unknown verb \"libs\"");
    if (access(word, F_OK) != 0 || cli_is_verb(&program, word))
        return cli_unknown_verb(&program, word, first);
    OWNED char *shown = cli_shown(word);
    OWNED char *hint = cli_text("Run it with qnnrt-run run %s, or look at it with qnnrt-run"
                                " inspect %s.", shown, shown);
    cli_usage(hint, "unexpected argument \"%s\"", shown);
    return STATUS_USAGE;
}

/* Choose the libraries that no option names, for the model of the command line. */
static void choose_for_verb(tool *t, unsigned lists)
{
    const settings *set = &t->set;
    const size_t at = lists == VERB_REPLAY && set->files.count > 1;
    const char *word = set->ctx_dir != NULL ? set->ctx_dir
                       : set->files.count > at ? set->files.items[at] : NULL;
    OWNED char *model = lists == VERB_REPLAY && at == 0 && word != NULL ? cli_text("%s/model", word)
                        : word != NULL ? cli_text("%s", word) : NULL;
    const char *none = "";
    if (lists == VERB_COMPILE ? set->compile->backends == NULL
                              : (lists & VERBS_OPEN) != 0 && !set->inspect)
        choose_libraries(t, lists == VERB_COMPILE ? NULL : model);
    else if ((lists & VERBS_MODEL) != 0) cli_choose(&t->choice, NULL, &none, &t->set.system);
}

/* Check the options and do what the verb says. Returns the exit status; t->failed counts as
   well. */
static int perform(tool *t, const cli_parsed *parsed, int first)
{
    int status = STATUS_OK;
    const unsigned lists = parsed->verb->lists;
    const int model = (lists & VERBS_MODEL) != 0;
    if (parsed->operand != NULL && !parsed->named && !t->set.diff)
        return wrong_operand(parsed->operand, first);
    if (!parsed->named && parsed->given_count == 0)
        return cli_usage("Look at a model with qnnrt-run inspect DIR, or run qnnrt-run --help.",
                         "a verb and a model are missing");
    t->set.command = lists == VERB_INSPECT ? COMMAND_INSPECT : lists == VERB_PLAN ? COMMAND_PLAN
        : COMMAND_RUN;
    if (model) status = check_model(&t->set, parsed);
    if (status == STATUS_OK) status = check_written(&t->set, parsed);
    if (status != STATUS_OK) return status;
    if (read_config(t, lists == VERB_COMPILE ? compile_graph(t) : NULL)) {
        choose_for_verb(t, lists);
        status = parsed->verb->run(t);
    }
    say_left(t);
    if (model && !t->set.diff) write_report(t, t->set.json ? "-" : NULL, 1);
    close_all(t);
    free_lists(t);
    cli_free_choice(&t->choice);
    return status;
}

int main(int argc, char **argv)
{
    tool t;
    cli_parsed parsed;
    memset(&t, 0, sizeof(t));
    t.out = cli_take_stdout();
    cli_catch_signals();
    t.trace_begin_ns = cli_now_ns();
    t.set.inferences = 1;
    t.set.run.keep_outputs = UINT32_MAX;
    int status = cli_parse(&program, argc, argv, &t.set, t.out, &parsed);
    t.parsed = &parsed;
    t.given = parsed.given;
    t.given_count = parsed.given_count;
    note_documents(&t.set, &parsed);
    if (status == STATUS_OK && !parsed.answered)
        status = perform(&t, &parsed, parsed.operand != NULL && parsed.operand == argv[1]);
    for (size_t i = 0; i < t.set.input_count; ++i) free(t.set.inputs[i].name);
    free(t.set.inputs);
    for (size_t i = 0; i < t.set.dims_count; ++i) free(t.set.dims[i].name);
    free(t.set.dims);
    cli_free(&program, &t.set, &parsed);
    for (size_t i = 0; i < t.left_count; ++i) {
        free(t.left[i].file);
        free(t.left[i].pipeline);
        free(t.left[i].reason);
    }
    free(t.left);
    for (size_t i = 0; i < t.wrote_count; ++i) free(t.wrote[i]);
    free(t.wrote);
    free(t.error);
    free(t.error_hint);
    cli_begin(&cli_stage_end);                  /* their destructors */
    if (!cli_close_stdout(t.out) && status != STATUS_USAGE) status = STATUS_FAILED;
    return status != STATUS_OK ? status : t.failed ? STATUS_FAILED : STATUS_OK;
}
