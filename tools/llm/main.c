/* qnnrt-llm - let a language model that was compiled for QNN write text

       cc -std=c99 -O2 -I. -Itools -o qnnrt-llm $(find tools/llm tools/cli -name '*.c') \
          -ldl -lm -pthread
       qnnrt-llm --ctx_dir DIR --backend_so libQnnHtp.so --prompt "Once upon a time" --max_gen 100
       qnnrt-llm --ctx_dir DIR --system_so libQnnSystem.so --describe

   Everything about the model goes through the public functions of qnnrt_llm.h. `qnnrt-llm --help`
   lists the options.

   Standard output gets the text, piece by piece as it is written, and nothing else. Warnings,
   errors and the figures at the end go to standard error.

   ROOM     >>main                                                                               */
#include "llm/llm.h"

#include <signal.h>

#include "cli/stages.h"

const char cli_name[] = CLI_NAME;

/* =====================================================================================
   MAIN                                                                           >>main
   ===================================================================================== */

static void run(tool *t)
{
    OWNED token_list prompt = {NULL, 0, 0};
    const settings *set = &t->set;
    t->pending = -1;
    t->load_begin = clock_ns(NULL);
    if (!open_model(t)) return;
    if (set->describe) {
        qnnrt_llm_describe(t->llm, describe_line, t->out);
        return;
    }
    if (!set_power(t) || !open_session(t) || !open_files(t) || !adapter_open(t)) return;
    t->load_end = clock_ns(NULL);
    cli_catch(SIGINT, on_interrupt);
    if (set->embedding != NULL) {
        embed(t);
        return;
    }
    if (set->perplexity != NULL) {
        if (take_text(t, &prompt)) perplexity_text(t, &prompt);
        return;
    }
    if (set->prompt == NULL && set->prompt_file == NULL && set->tokens_file == NULL) talk(t);
    else if (take_prompt(t, &prompt) && prompt_fits(t, prompt.count, 0)) answer(t, &prompt, 0);
    if (t->inference_begin == 0) return;
    if (t->latency_count > 1)
        qsort(t->latencies, t->latency_count, sizeof(*t->latencies), by_size);
    say_stats(t);
}

static void close_all(tool *t)
{
    if (t->stats.file != NULL) close_file(t, &t->stats, t->set.stats, write_stats(t));
    close_file(t, &t->dump, t->set.dump_logits, 1);
    qnnrt_llm_sampler_destroy(t->sampler);
    qnnrt_llm_session_destroy(t->session);
    adapter_close(t);
    qnnrt_llm_close(t->llm);
    cli_free_choice(&t->choice);
    if (qnnrt_manifest_close(t->model) != QNNRT_OK)
        fail(t, "Add --log_level error for the library's messages.", "closing the model failed");
    qnnrt_cpu_fallback_close(t->host);
    free(t->functions);
    free(t->said.items);
    free(t->turns);
    free(t->rows);
    free(t->latencies);
}

int main(int argc, char **argv)
{
    tool t;
    cli_parsed parsed;
    memset(&t, 0, sizeof(t));
    t.out = cli_take_stdout();
    cli_catch_signals();
    t.terminal = isatty(fileno(t.out));
    t.set.max_gen = UINT64_MAX;
    t.set.power = QNNRT_POWER_CUSTOM;
    int status = cli_parse(&program, argc, argv, &t.set, t.out, &parsed);
    if (status == STATUS_OK && !parsed.answered) status = check_options(&t.set);
    cli_free(&program, &t.set, &parsed);
    if (status == STATUS_OK && !parsed.answered) {
        run(&t);
        close_all(&t);
    }
    cli_begin(&cli_stage_end);                  /* their destructors */
    if (!cli_close_stdout(t.out)) t.failed = 1;
    if (status != STATUS_OK) return status;
    return t.failed ? STATUS_FAILED : interrupted ? STATUS_INTERRUPTED : STATUS_OK;
}
