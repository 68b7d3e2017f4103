/* open.c - the model, its session, and the files that are written

   ROOM     >>open */
#include "llm/llm.h"
#include "qnnrt_device.h"

#include "cli/stages.h"

/* =====================================================================================
   OPEN                                                                           >>open
   Open the model, its session and its cache.
   ===================================================================================== */

int set_power(tool *t)
{
    qnnrt_power_desc desc;
    qnnrt_power_report report;
    qnnrt_error err;
    memset(&desc, 0, sizeof(desc));
    if (t->set.power == QNNRT_POWER_CUSTOM) return 1;
    desc.preset = t->set.power;
    if (qnnrt_power_set(qnnrt_manifest_get_info(t->model)->backend, &desc, &report, &err) !=
        QNNRT_OK)
        return fail_error(t, &err);
    for (int i = 0; i < QNNRT_POWER_SETTINGS; ++i) {
        if (report.settings[i].answer == QNNRT_POWER_REFUSED)
            return fail(t, "Use another profile, or none.",
                        "--perf_profile %s: the backend refused %s"
                        " with 0x%llx", qnnrt_power_preset_name(desc.preset),
                        report.settings[i].name,
                        (unsigned long long)(report.settings[i].vendor_code & 0xFFFF));
        if (report.settings[i].answer == QNNRT_POWER_NOT_AVAILABLE)
            warn("--perf_profile %s: this backend has no %s to set",
                 qnnrt_power_preset_name(desc.preset), report.settings[i].name);
    }
    return 1;
}

/* Give the functions that host steps call: those of the folder's host.json, then "embedding" for
   models whose table of embeddings is on the host. */
static int open_host(tool *t, qnnrt_manifest_open_desc *desc)
{
    static const qnnrt_host_step embedding = { .name = "embedding", .exec = qnnrt_llm_embedding };
    qnnrt_error err;
    size_t count = 0;
    if (t->set.ctx_dir != NULL &&
        qnnrt_cpu_fallback_open(t->set.ctx_dir, NULL, &t->host, &err) != QNNRT_OK)
        return fail_error(t, &err);
    const qnnrt_host_step *functions = qnnrt_cpu_fallback_functions(t->host, &count);
    t->functions = cli_alloc(count + 1, sizeof(*t->functions));
    if (count > 0) memcpy(t->functions, functions, count * sizeof(*t->functions));
    t->functions[count] = embedding;
    desc->host_functions = t->functions;
    desc->host_function_count = count + 1;
    return 1;
}

/* Choose the libraries that no option names, and say which ones. */
static void choose_libraries(tool *t)
{
    settings *set = &t->set;
    const int named = set->backend != NULL;
    const char *none = "";
    if (set->role_count > 0) return;
    cli_choose(&t->choice, set->ctx_dir, set->describe ? &none : &set->backend, &set->system);
    if (!set->describe && !named) {
        OWNED char *path = cli_shown(set->backend);
        fprintf(stderr, CLI_NAME ": backend %s: %s\n", path, t->choice.why);
    }
}

int open_model(tool *t)
{
    settings *set = &t->set;
    qnnrt_manifest_role roles[CLI_ROLES];
    size_t named, at;
    qnnrt_manifest_open_desc desc;
    qnnrt_llm_desc llm;
    qnnrt_error err, first;
    memset(&desc, 0, sizeof(desc));
    memset(&llm, 0, sizeof(llm));
    memset(roles, 0, sizeof(roles));
    memset(&first, 0, sizeof(first));
    choose_libraries(t);
    desc.model.backend_desc.path = set->backend;
    desc.model.backend_desc.soc_model = set->soc_model;
    desc.model.system_path = set->system;
    desc.model.inspect = set->describe;
    desc.model.residency = set->residency;
    const int swap = !set->describe && set->residency == QNNRT_RESIDENT_CALLER;
    const int share = cli_share(set->share_spill_fill, &desc.model);
    desc.model.progress = cli_progress;
    desc.model.progress_user = &t->set.progress;
    desc.model.backend_desc.log_level = set->log_level;
    if (set->log_level != QNNRT_LOG_DEFAULT) {
        desc.model.backend_desc.hooks.log = cli_log;
        desc.model.backend_desc.hooks.log_user = &t->set.log_level;
    }
    if (!open_host(t, &desc)) return 0;
    do {
        named = set->role_count;
        for (size_t i = 0; i < named; ++i) {
            roles[i].role = set->roles[i].role;
            roles[i].backend = NULL;
            roles[i].desc = desc.model.backend_desc;
            roles[i].desc.path = set->roles[i].file;
        }
        desc.backends = named > 0 ? roles : NULL;
        desc.backend_count = named;
        if (qnnrt_manifest_open(set->ctx_dir, &desc, &t->model, &err) == QNNRT_OK) {
            cli_settle(&t->model, share, swap, set->resident_bytes, &err);
            break;
        }
        OWNED char *note = cli_leave_role(&err, set->roles, &set->role_count, set->backend, &at);
        if (note != NULL) fprintf(stderr, CLI_NAME ": %s\n", note);
        if (first.text[0] == '\0') first = err;
        else err = first;                        /* the role may be misspelt */
    } while (set->role_count < named);
    if (t->model == NULL)
        return fail(t, err.code != QNNRT_E_LIBRARY ? cli_hint(&err) : cli_library_hint(&err,
                           set->describe ? set->system : set->backend, set->describe
                       ? "Name libQnnSystem.so with --system_so FILE; for binaries made with"
                         " libQnnRef.so, name that library."
                       : "Name the library that the binaries were made for with --backend_so FILE,"
                         " libQnnHtp.so or libQnnRef.so."), "%s", cli_told(&err));
    llm.rope.theta = set->rope_theta;
    llm.update = qnnrt_update;
    const qnnrt_manifest_info *info = qnnrt_manifest_get_info(t->model);
    llm.folder = info->folder;
    llm.made = info->pipelines;
    llm.made_count = info->pipeline_count;
    llm.models = info->models;
    llm.model_count = info->model_count;
    if (qnnrt_llm_open(NULL, &llm, &t->llm, &err) != QNNRT_OK) return fail_error(t, &err);
    t->info = qnnrt_llm_get_info(t->llm);
    return 1;
}

/* Choose the maximum length of a text. Its last token is written but not read, so it needs no
   cell. */
static void choose_limit(tool *t)
{
    const settings *set = &t->set;
    const uint32_t most = t->info->cells < t->info->context ? t->info->cells + 1 : t->info->context;
    t->limit = most;
    if (!set->seq_len_given) return;
    if (set->seq_len > 0 && set->seq_len <= (int64_t)most) {
        t->limit = (uint32_t)set->seq_len;
        return;
    }
    warn("--seq_len %lld is %s: using %lu, the maximum of this model", (long long)set->seq_len,
         set->seq_len <= 0 ? "not above 0" : "too large", (unsigned long)most);
}

int open_file(tool *t, cli_file *file, const char *path)
{
    if (path == NULL || cli_create(file, path, 0)) return 1;
    return fail(t, CLI_WRITE_HINT, "cannot write %s: %s", path,
                strerror(errno));
}

int open_files(tool *t)
{
    const settings *set = &t->set;
    if (!open_file(t, &t->stats, set->stats) || !open_file(t, &t->dump, set->dump_logits)) return 0;
    if (set->dump_logits == NULL && set->perplexity == NULL) return 1;
    t->rows = calloc((size_t)t->info->ar * t->info->vocabulary, sizeof(*t->rows));
    return t->rows != NULL || fail(t, NULL, "no memory for logits");
}

void close_file(tool *t, cli_file *file, const char *path, int good)
{
    if (file->file != NULL && !cli_finish(file, good))
        fail(t, CLI_WRITE_HINT, "cannot write %s: %s", path,
                strerror(errno));
}

int open_session(tool *t)
{
    qnnrt_llm_session_desc desc;
    qnnrt_llm_sampler_desc sampling;
    qnnrt_mem_desc memory = {0};
    qnnrt_error err;
    memset(&desc, 0, sizeof(desc));
    memset(&sampling, 0, sizeof(sampling));
    desc.kv = (qnnrt_llm_kv)t->set.kv;
    qnnrt_device_memory(memory_words[t->set.memory], &memory);
    desc.mem_kind = memory.kind;
    desc.mem_provider = memory.provider;
    desc.clock_ns = clock_ns;
    if (qnnrt_llm_session_create(&t->llm, 1, &desc, &t->session, &err) != QNNRT_OK)
        return fail(t, err.code == QNNRT_E_NOT_FOUND ? "Look at each tensor with --describe."
                    : cli_hint(&err),
                    "%s", cli_told(&err));
    t->cache = qnnrt_llm_cache_get(t->session, 0, 0);
    sampling.temperature = (float)t->set.temperature;
    sampling.top_k = t->set.top_k;
    sampling.top_p = (float)t->set.top_p;
    sampling.min_p = (float)t->set.min_p;
    sampling.repetition_penalty = (float)t->set.penalty;
    sampling.seed = t->set.seed;
    if (t->info->embeddings != NULL)
        return fail(t, "Open all shards, and the table of embeddings if it is on the host; look at"
                       " each tensor with --describe.", "the graphs take a hidden state"
                       " (embeddings), and nothing looks tokens up");
    if (t->set.embedding != NULL && t->info->hidden == NULL)
        return fail(t, "Compile the model with --outputs hidden or both.", "the model does not give"
                    " its last hidden state, which --embedding needs");
    if (t->set.embedding == NULL && t->info->logits == NULL)
        return fail(t, "Use --embedding FILE, or compile the model with --outputs both.",
                    "the model has no logits: it writes no text");
    if (t->set.embedding == NULL &&
        qnnrt_llm_sampler_create(t->info->logits, &sampling, &t->sampler, &err) != QNNRT_OK)
        return fail_error(t, &err);
    if (unused_option(&t->set) != NULL)
        warn("%s has no effect with --temperature 0, which always takes the most probable token",
             unused_option(&t->set));
    if (t->info->rope.theta != 0 && strcmp(t->info->rope_source, "the default") == 0)
        warn("no file gives the RoPE theta of this model: using %g; --rope_theta sets another one",
             t->info->rope.theta);
    if (t->set.rope_theta != 0 && t->info->rope.theta == 0)
        warn("--rope_theta has no effect: the angles of positions are in this model's graphs");
    t->bytes = t->info->words == 256 && t->set.tokens_file == NULL && !t->set.numbers;
    choose_limit(t);
    return 1;
}

void describe_line(void *user, const char *text)
{
    fprintf((FILE *)user, "%s\n", text);
}
