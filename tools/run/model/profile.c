/* profile.c - power presets, and what the library measures

   ROOMS     >>power >>profile */
#include "run/model/model.h"

#include <math.h>
#include <sys/stat.h>

/* =====================================================================================
   POWER                                                                         >>power
   --perf_profile: the preset, and the backend's answer to each of its settings.
   ===================================================================================== */

static const char *answer_name(qnnrt_power_answer answer)
{
    switch (answer) {
    case QNNRT_POWER_APPLIED:       return "applied";
    case QNNRT_POWER_REFUSED:       return "refused";
    case QNNRT_POWER_NOT_AVAILABLE: return "not available";
    case QNNRT_POWER_NOT_ASKED:     break;
    }
    return "not asked for";
}

int wants_power(const settings *set)
{
    return set->power != QNNRT_POWER_CUSTOM || set->run.rpc_latency_us != 0 ||
           set->run.rpc_polling_us != 0;
}

/* Return the name of the preset; "custom" for single settings of --config_file. */
static const char *power_name(const settings *set)
{
    const char *name = qnnrt_power_preset_name(set->power);
    return name != NULL ? name : "custom";
}

int set_power(tool *t, qnnrt_backend *backend)
{
    qnnrt_power_desc desc = {0};
    qnnrt_error err;
    int refused = 0;
    desc.preset = t->set.power;
    desc.rpc_latency_us = t->set.run.rpc_latency_us;
    desc.rpc_polling_us = t->set.run.rpc_polling_us;
    if (qnnrt_power_set(backend, &desc, &t->power, &err) != QNNRT_OK) {
        fail(t, NULL, cli_hint(&err), "%s", cli_told(&err));
        return 0;
    }
    say(t, "power     %s:", power_name(&t->set));
    for (int i = 0, said = 0; i < QNNRT_POWER_SETTINGS; ++i) {
        const qnnrt_power_setting *setting = &t->power.settings[i];
        if (setting->answer == QNNRT_POWER_NOT_ASKED) continue;
        say(t, "%s %s %s", said++ > 0 ? "," : "", setting->name, answer_name(setting->answer));
        if (setting->answer == QNNRT_POWER_REFUSED) refused = 1;
        if (setting->vendor_code != 0)
            say(t, " (0x%llx)", (unsigned long long)(setting->vendor_code & 0xFFFF));
    }
    say(t, "\n");
    for (int i = 0; refused && i < QNNRT_POWER_SETTINGS; ++i) {
        const qnnrt_power_setting *setting = &t->power.settings[i];
        if (setting->answer != QNNRT_POWER_REFUSED) continue;
        char symbol[80];
        qnnrt_vendor_code_name(setting->vendor_code, symbol, sizeof symbol);
        fail(t, NULL, "Use another profile, or none.",
             "--perf_profile %s: the backend refused %s with 0x%llx (%s)",
             power_name(&t->set), setting->name,
             (unsigned long long)(setting->vendor_code & 0xFFFF), symbol[0] != '\0' ? symbol
             : "no symbol known");
    }
    return !refused || t->set.keep_going;
}

void report_power(const tool *t, json *j)
{
    if (!wants_power(&t->set)) {
        json_string(j, "power", NULL);
        return;
    }
    json_open(j, "power", '{', 0);
    json_string(j, "perf_profile", power_name(&t->set));
    json_open(j, "settings", '[', 0);
    for (int i = 0; i < QNNRT_POWER_SETTINGS; ++i) {
        json_open(j, NULL, '{', 1);
        json_string(j, "name", t->power.settings[i].name);
        json_string(j, "answer", answer_name(t->power.settings[i].answer));
        json_count(j, "vendor_code", t->power.settings[i].vendor_code);
        json_close(j);
    }
    json_close(j);
    json_close(j);
}

/* =====================================================================================
   PROFILE                                                                     >>profile
   --profiling_level: a table for people, JSON for --json, a trace for browsers.
   ===================================================================================== */

const char *const profile_words[] = {"off", "basic", "detailed", "optrace", NULL};

static int is_whole(double value)
{
    return fabs(value) < 9e15 && (double)(int64_t)value >= value && (double)(int64_t)value <= value;
}

/* Print a whole number without a point. The caller frees it. */
static char *value_text(double value)
{
    return cli_text(is_whole(value) ? "%.0f" : "%.9g", value);
}

void json_value(json *j, const char *key, double value)
{
    json_key(j, key);
    if (!isfinite(value)) qnnrt_json_write_null(j);
    else if (is_whole(value)) qnnrt_json_write_i64(j, (int64_t)value);
    else qnnrt_json_write_f64(j, value);
}

/* Return the node of an event; for the time of a step without a backend, what the step does. info:
   of the pipeline, or NULL while contexts are loaded. The caller frees it. */
static char *event_node(const qnnrt_profile_event *e, const qnnrt_pipeline_info *info)
{
    if (info == NULL || info->steps[e->step].kind == QNNRT_STEP_GRAPH) return cli_shown(e->node);
    return step_text(&info->steps[e->step], "\xE2\x86\x92");
}

void say_events(const tool *t, const char *title, const qnnrt_pipeline_info *info,
                const qnnrt_profile_event *events, size_t count)
{
    size_t width = strlen("name");
    if (count == 0) {
        say(t, "  profile   %s: the library returned no events\n", title);
        return;
    }
    for (size_t i = 0; i < count; ++i) {
        OWNED char *name = cli_shown(events[i].name);
        const size_t length = strlen(name) + 2 * events[i].depth;
        if (length > width) width = length < 60 ? length : 60;
    }
    say(t, "  profile   %s\n    %-7s %16s %-6s  %-*s  node\n", title,
        info != NULL ? "step" : "context", "value", "unit",
        (int)width, "name");
    for (size_t i = 0; i < count; ++i) {
        const qnnrt_profile_event *e = &events[i];
        OWNED char *name = cli_shown(e->name), *node = event_node(e, info);
        OWNED char *value = value_text(e->value);
        const size_t indent = 2 * e->depth, left = width > indent ? width - indent : 0;
        if (e->vendor_code != 0) {
            free(name);
            name = cli_text("(not available: 0x%lx)", (unsigned long)e->vendor_code);
        }
        say(t, "    %-7lu %16s %-6s  %*s%-*s", (unsigned long)e->step, value, e->unit_name,
            (int)indent, "",
            node[0] != '\0' ? (int)left : 0, name);
        say(t, node[0] != '\0' ? "  %s\n" : "\n", node);
    }
}

/* Keep the values of an inference, for the costs of all inferences. Return 0 after a message. */
static int keep_sample(tool *t, job *j, const qnnrt_profile_event *events, size_t count)
{
    if (j->sample_count > 0 && count != j->event_count) {
        fail(t, j, "Profile it with the level basic.", "pipeline %s: the library returned %lu"
             " events, and %lu for an inference before", j->title, (unsigned long)count,
             (unsigned long)j->event_count);
        return 0;
    }
    if (j->samples == NULL) j->samples = cli_alloc(count, t->set.inferences * sizeof(double));
    for (size_t i = 0; i < count; ++i)
        j->samples[j->sample_count * count + i] = events[i].value;
    ++j->sample_count;
    return 1;
}

/* Copy the events of the last inference, which are printed after its run has ended. */
static void keep_events(job *j, const qnnrt_profile_event *events, size_t count)
{
    j->events = cli_alloc(count, sizeof(*j->events));
    for (size_t i = 0; i < count; ++i) {
        j->events[i] = events[i];
        j->events[i].name = cli_text("%s", events[i].name);
        j->events[i].node = cli_text("%s", events[i].node);
    }
    j->event_count = count;
}

void free_events(job *j)
{
    for (size_t i = 0; i < j->event_count; ++i) {
        free((void *)(uintptr_t)j->events[i].name);
        free((void *)(uintptr_t)j->events[i].node);
    }
    free(j->events);
    j->events = NULL;
    j->event_count = 0;
}

void report_events(json *j, const char *what, const qnnrt_profile_event *events, size_t count)
{
    json_open(j, "events", '[', 0);
    for (size_t i = 0; i < count; ++i) {
        const qnnrt_profile_event *e = &events[i];
        json_open(j, NULL, '{', 1);
        json_count(j, what, e->step);
        json_count(j, "depth", e->depth);
        json_string(j, "name", e->name);
        json_string(j, "node", e->node);
        json_value(j, "value", e->value);
        json_string(j, "unit", e->unit_name);
        json_count(j, "vendor_type", e->type);
        json_count(j, "vendor_unit", e->unit);
        json_count(j, "time", e->time);
        if (e->vendor_code != 0) json_count(j, "vendor_code", e->vendor_code);
        json_close(j);
    }
    json_close(j);
}

/* ---- the trace: the format that chrome://tracing and Perfetto read ---- */

enum { TRACK_INFERENCES = 1, TRACK_STEPS, TRACK_NODES, TRACK_LOADING };

/* True if --profile_out asks for a trace; any other name is for the vendor's log. */
static int is_trace(const char *path)
{
    const size_t length = path != NULL ? strlen(path) : 0;
    return is_stdout(path) || (length > 5 && strcmp(path + length - 5, ".json") == 0);
}

static void trace_track(json *j, int track, const char *name)
{
    json_open(j, NULL, '{', 1);
    json_string(j, "name", "thread_name");
    json_string(j, "ph", "M");
    json_count(j, "pid", 1);
    json_int(j, "tid", track);
    json_open(j, "args", '{', 1);
    json_string(j, "name", name);
    json_close(j);
    json_close(j);
}

/* Open a bar and its args. */
static void trace_bar(json *j, int track, const char *name, double begin_us, double us)
{
    json_open(j, NULL, '{', 1);
    json_string(j, "name", name);
    json_string(j, "ph", "X");
    json_count(j, "pid", 1);
    json_int(j, "tid", track);
    json_value(j, "ts", begin_us);
    json_value(j, "dur", us);
    json_open(j, "args", '{', 1);
}

static void trace_bar_end(json *j)
{
    json_close(j);
    json_close(j);
}

/* One step: its bar has the length of the event of the whole execute (type 400), and nodes that
   were measured in cycles share it in proportion. The library does not report where they begin, so
   they follow its order. */
static double trace_step(json *j, const job *of, const qnnrt_profile_event *events, size_t count,
                         double begin_us)
{
    double whole = 0, all = 0, at = begin_us;
    const qnnrt_step_info *step = &of->info->steps[events[0].step];
    for (size_t i = 0; i < count; ++i) {
        if ((events[i].type == EVENT_EXECUTE || step->kind != QNNRT_STEP_GRAPH) &&
            strcmp(events[i].unit_name, "us") == 0)
            whole = events[i].value;
        if (events[i].type == EVENT_NODE && events[i].value > 0) all += events[i].value;
    }
    OWNED char *text = step_text(step, "\xE2\x86\x92");
    OWNED char *name = cli_text("step %lu, %s", (unsigned long)events[0].step,
                                step->kind == QNNRT_STEP_GRAPH ? step->graph->name : text);
    trace_bar(j, TRACK_STEPS, name, begin_us, whole);
    for (size_t i = 0; i < count; ++i) {
        if (events[i].type == EVENT_NODE) continue;
        OWNED char *key = cli_text("%lu %s, %s", (unsigned long)i, events[i].name,
                                   events[i].unit_name);
        json_value(j, key, events[i].value);
    }
    trace_bar_end(j);
    for (size_t i = 0; i < count; ++i) {
        if (events[i].type != EVENT_NODE || !(events[i].value >= 0)) continue;
        const double us = strcmp(events[i].unit_name, "us") == 0 ? events[i].value
                          : all > 0 ? whole * events[i].value / all : 0;
        trace_bar(j, TRACK_NODES, events[i].node, at, us);
        json_value(j, events[i].unit_name, events[i].value);
        json_string(j, "event", events[i].name);
        trace_bar_end(j);
        at += us;
    }
    return begin_us + whole;
}

/* Write what was loaded until now. */
static void trace_loading(tool *t)
{
    json *j = &t->trace_writer;
    const qnnrt_manifest_info *info = qnnrt_manifest_get_info(t->model);
    const qnnrt_backend_info *backend = qnnrt_backend_get_info(t->backend);
    const qnnrt_profile_event *events;
    size_t count;
    double at = 0;
    qnnrt_profile_events(t->loading, &events, &count);
    trace_bar(j, TRACK_LOADING, "loading", 0, (double)(cli_now_ns() - t->trace_begin_ns) / 1e3);
    json_count(j, "contexts", info->context_count);
    trace_bar_end(j);
    if (backend != NULL) {
        trace_bar(j, TRACK_LOADING, "open the backend", at, (double)backend->open_ns / 1e3);
        json_string(j, "path", backend->path);
        trace_bar_end(j);
        at += (double)backend->open_ns / 1e3;
    }
    for (size_t i = 0; i < info->context_count; ++i) {
        const qnnrt_context_info *c = info->contexts[i].info;
        const double us = (double)(c->metadata_ns + c->create_ns) / 1e3;
        trace_bar(j, TRACK_LOADING, info->contexts[i].file, at, us);
        json_value(j, "metadata_us", (double)c->metadata_ns / 1e3);
        json_value(j, "create_us", (double)c->create_ns / 1e3);
        json_count(j, "bytes", c->file_bytes);
        for (size_t e = 0; e < count; ++e) {
            if (events[e].step != i) continue;
            OWNED char *key = cli_text("%lu %s, %s", (unsigned long)e, events[e].name,
                                       events[e].unit_name);
            json_value(j, key, events[e].value);
        }
        trace_bar_end(j);
        at += us;
    }
}

static void trace_begin(tool *t)
{
    json *j = &t->trace_writer;
    qnnrt_json_write_begin(j, json_to_page, &t->trace, 1);
    json_open(j, NULL, '{', 0);
    json_string(j, "displayTimeUnit", "ns");
    json_open(j, "otherData", '{', 0);
    json_string(j, "qnnrt", qnnrt_version());
    json_string(j, "note", "Times of inferences are measured, and the lengths of what is loaded."
                           " Contexts follow one after the other, and so do steps, which have the"
                           " library's lengths; nodes measured in cycles share them in proportion,"
                           " in the library's order.");
    json_close(j);
    json_open(j, "traceEvents", '[', 0);
    trace_track(j, TRACK_INFERENCES, "inferences");
    trace_track(j, TRACK_STEPS, "steps");
    trace_track(j, TRACK_NODES, "nodes");
    trace_track(j, TRACK_LOADING, "loading");
    trace_loading(t);
}

static void trace_inference(tool *t, const job *of, uint32_t inference, uint64_t begin_ns,
                            uint64_t ns,
                            const qnnrt_profile_event *events, size_t count)
{
    json *j = &t->trace_writer;
    double at = (double)(begin_ns - t->trace_begin_ns) / 1e3;
    trace_bar(j, TRACK_INFERENCES, of->info->name, at, (double)ns / 1e3);
    json_count(j, "inference", inference);
    trace_bar_end(j);
    for (size_t i = 0, next; i < count; i = next) {
        for (next = i; next < count && events[next].step == events[i].step;) ++next;
        at = trace_step(j, of, events + i, next - i, at);
    }
}

static void write_trace(tool *t)
{
    json *j = &t->trace_writer;
    json_close(j);
    json_close(j);
    qnnrt_json_write_end(j);
    write_named(t, t->set.profile_out, &t->trace, 0);
    free(t->trace.data);
    memset(&t->trace, 0, sizeof(t->trace));
}

/* ---- the profile of an inference -------------------------------------- */

void fail_run(tool *t, job *j, const qnnrt_run *run)
{
    const qnnrt_error *err = qnnrt_run_error(run);
    fail(t, j, cli_hint(err), "pipeline %s: %s", j->title, cli_told(err));
}

/* Return the path where the library writes its log: a temporary file, or the special file that was
   named. */
static const char *log_path(const tool *t)
{
    return t->log.aside != NULL ? t->log.aside : t->set.profile_out;
}

static uint64_t log_bytes(const tool *t)
{
    struct stat status;
    return stat(log_path(t), &status) == 0 && S_ISREG(status.st_mode) ? (uint64_t)status.st_size
        : 0;
}

void begin_profile(tool *t)
{
    const char *path = t->set.profile_out;
    if (path == NULL) return;
    if (is_trace(path)) trace_begin(t);
    else if (!cli_create(&t->log, path, 0))
        fail(t, NULL, CLI_WRITE_HINT, "cannot write %s: %s", path, strerror(errno));
}

void end_profile(tool *t)
{
    const char *path = t->set.profile_out;
    if (path == NULL) return;
    if (is_trace(path)) {
        write_trace(t);
    } else if (t->log.file != NULL) {
        const int written = t->log.aside == NULL || log_bytes(t) > 0;
        if (cli_finish(&t->log, written)) say(t, "wrote     %s\n", path);
        else if (written)
            fail(t, NULL, CLI_WRITE_HINT, "cannot write %s: %s", path, strerror(errno));
    }
}

/* Let the library add an inference to its log. Return 0 after printing an error. */
static int write_log(tool *t, job *j, qnnrt_run *run)
{
    if (t->log.file == NULL) return 1;           /* reported */
    if (qnnrt_run_profile_log(run, log_path(t)) == QNNRT_OK) return 1;
    fail(t, j, cli_hint(qnnrt_run_error(run)), "cannot write %s: %s", t->set.profile_out,
         cli_told(qnnrt_run_error(run)));
    return 0;
}

int take_events(tool *t, job *j, qnnrt_run *run, uint32_t inference, uint64_t begin_ns, uint64_t ns)
{
    const qnnrt_profile_event *events = NULL;
    size_t count = 0;
    if (qnnrt_run_events(run, &events, &count) != QNNRT_OK) {
        fail_run(t, j, run);
        return 0;
    }
    if (t->set.profile_out != NULL && !is_trace(t->set.profile_out) && !write_log(t, j, run))
        return 0;
    if (is_trace(t->set.profile_out)) trace_inference(t, j, inference, begin_ns, ns, events, count);
    if (t->sampling && !keep_sample(t, j, events, count)) return 0;
    free_events(j);
    keep_events(j, events, count);
    return 1;
}
const int profile_levels[] = {QNNRT_PROFILE_DETAILED, QNNRT_PROFILE_BASIC,
                                     QNNRT_PROFILE_OPTRACE};
