/* stats.c - times, Ctrl-C, and the figures at the end

   ROOMS     >>clock >>stats */
#include "llm/llm.h"

#include <signal.h>
#include <time.h>

/* =====================================================================================
   CLOCK                                                                         >>clock
   Time, and Ctrl-C.
   ===================================================================================== */

uint64_t clock_ns(void *user)
{
    struct timespec now = {0, 0};
    (void)user;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

double ms(uint64_t ns) { return (double)ns / 1e6; }

volatile sig_atomic_t interrupted;

void on_interrupt(int number)
{
    if (interrupted) cli_on_signal(number);
    interrupted = 1;
}

/* =====================================================================================
   STATS                                                                         >>stats
   Times and counts, for people and as JSON.
   ===================================================================================== */

int by_size(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Return the smallest latency that `percent` of all latencies do not exceed. */
static double percentile(const tool *t, size_t percent)
{
    const size_t rank = (t->latency_count * percent + 99) / 100;
    return t->latency_count != 0 ? ms(t->latencies[rank > 0 ? rank - 1 : 0]) : 0;
}

void say_stats(const tool *t)
{
    const qnnrt_llm_session_info info = qnnrt_llm_session_get_info(t->session);
    const double total = ms(info.exec_ns + info.host_ns);
    char latency[96] = "";
    double writing = 0;
    for (size_t i = 0; i < t->latency_count; ++i) writing += ms(t->latencies[i]);
    if (t->latency_count != 0)
        snprintf(latency, sizeof(latency),
                 ", each after the first in %.3f ms, 99 %% of them within"
                 " %.3f ms", writing / (double)t->latency_count, percentile(t, 99));
    warn("loaded in %.1f ms; prompts of %llu token%s, %s %.1f ms",
         ms(t->load_end - t->load_begin), (unsigned long long)t->prompt_tokens,
         cli_plural(t->prompt_tokens),
         t->first_token != 0 ? "the first answer began after" : "the first was read in",
         ms((t->first_token != 0 ? t->first_token : t->prompt_end) - t->inference_begin));
    warn("%llu token%s written%s; %.1f %% of the time in the backend",
         (unsigned long long)t->generated, cli_plural(t->generated), latency,
         total > 0 ? 100 * ms(info.exec_ns) / total : 0.0);
    if (t->set.memory != 0)
        warn("memory: %s, %llu of %llu tensors registered with the device%s%s",
             info.mem_name, (unsigned long long)info.registered,
             (unsigned long long)info.tensors, info.mem_reason[0] != '\0' ? "; " : "",
             info.mem_reason);
    if (t->set.resident_given) {
        OWNED char *device = cli_device_text(t->model);
        warn("%s", device);
    }
}

static int write_piece(void *user, const char *text, size_t bytes)
{
    return fwrite(text, 1, bytes, (FILE *)user) == bytes;
}

static void stat_count(qnnrt_json_writer *j, const char *key, uint64_t value)
{
    qnnrt_json_write_key(j, key);
    qnnrt_json_write_u64(j, value);
}

static void stat_real(qnnrt_json_writer *j, const char *key, double value)
{
    qnnrt_json_write_key(j, key);
    qnnrt_json_write_f64(j, value);
}

int write_rows(tool *t, size_t count)
{
    const size_t values = count * t->info->vocabulary;
    if (fwrite(t->rows, sizeof(*t->rows), values, t->dump.file) == values) return 1;
    fail(t, CLI_WRITE_HINT, "cannot write %s: %s", t->set.dump_logits, strerror(errno));
    cli_finish(&t->dump, 0);
    return 0;
}

void add_latency(tool *t, uint64_t ns)
{
    t->latencies = (uint64_t *)cli_grow(t->latencies, t->latency_count, &t->latency_room,
                                        sizeof(*t->latencies));
    t->latencies[t->latency_count++] = ns;
}

int write_stats(tool *t)
{
    const qnnrt_llm_session_info info = qnnrt_llm_session_get_info(t->session);
    const cli_device device = cli_device_of(t->model);
    const uint64_t now = clock_ns(NULL);
    uint64_t wall_ns;
    struct timespec wall = {0, 0};
    qnnrt_json_writer j;
    struct { const char *key; uint64_t ns; } times[] = {
        {"model_load_start_ms", t->load_begin}, {"model_load_end_ms", t->load_end},
        {"inference_start_ms", t->inference_begin}, {"inference_end_ms", t->inference_end},
        {"prompt_eval_end_ms", t->prompt_end}, {"first_token_ms", t->first_token}
    };

    clock_gettime(CLOCK_REALTIME, &wall);
    wall_ns = (uint64_t)wall.tv_sec * 1000000000u + (uint64_t)wall.tv_nsec;
    qnnrt_json_write_begin(&j, write_piece, t->stats.file, 2);
    qnnrt_json_write_object(&j, 0);
    /* ExecuTorch's keys, in its order: times are in ms since 1970, or 0 for events that did not
       happen. */
    stat_count(&j, "prompt_tokens", t->prompt_tokens);
    stat_count(&j, "generated_tokens", t->generated);
    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); ++i) {
        const uint64_t ns = wall_ns - (now - times[i].ns);
        stat_count(&j, times[i].key, times[i].ns != 0 ? ns / 1000000u : 0);
    }
    stat_count(&j, "aggregate_sampling_time_ms", t->sampling / 1000000u);
    stat_count(&j, "SCALING_FACTOR_UNITS_PER_SECOND", 1000);
    /* Our own keys. */
    qnnrt_json_write_key(&j, "stopped");
    qnnrt_json_write_string(&j, t->stopped);
    qnnrt_json_write_key(&j, "token_latency_ms");
    qnnrt_json_write_object(&j, 1);
    stat_count(&j, "count", t->latency_count);
    stat_real(&j, "p50", percentile(t, 50));
    stat_real(&j, "p90", percentile(t, 90));
    stat_real(&j, "p99", percentile(t, 99));
    stat_real(&j, "max", percentile(t, 100));
    qnnrt_json_write_close(&j);
    stat_real(&j, "load_ms", ms(t->load_end - t->load_begin));
    stat_real(&j, "prompt_ms", ms(t->prompt_end - t->inference_begin));
    stat_real(&j, "sampling_ms", ms(t->sampling));
    stat_real(&j, "backend_ms", ms(info.exec_ns));
    stat_real(&j, "host_ms", ms(info.host_ns));
    stat_count(&j, "steps", info.steps);
    stat_count(&j, "executes", info.executes);
    stat_count(&j, "arena_bytes", info.arena_bytes);
    stat_count(&j, "naive_bytes", info.naive_bytes);
    stat_count(&j, "cache_bytes", info.cache_bytes);
    stat_count(&j, "seq_len", t->limit);
    stat_count(&j, "device_bytes", device.all);
    stat_count(&j, "device_peak_bytes", device.peak);
    stat_count(&j, "context_loads", device.creates);
    qnnrt_json_write_close(&j);
    return qnnrt_json_write_end(&j);
}
