/* signals.c - files that a signal removes, and what a crash interrupted

   ROOM     >>signals */
#include "cli/text.h"

#include <signal.h>

/* =====================================================================================
   SIGNALS                                                                     >>signals
   SIGINT, SIGTERM, SIGHUP and SIGPIPE remove files that are incomplete; so does a crash, which is
   said before the program ends by it.
   ===================================================================================== */

char *volatile        cli_asides[CLI_ASIDES];       /* paths to remove, or NULL */
static volatile sig_atomic_t cli_held;                     /* depth of cli_hold()         */
volatile sig_atomic_t cli_signal;                   /* signal that came since, or 0 */
static pid_t                 cli_process;                  /* the program, not a child of it */

void cli_remove_asides(void)
{
    for (size_t i = 0; i < CLI_ASIDES; ++i)
        if (cli_asides[i] != NULL) unlink(cli_asides[i]);
}

void cli_end(int number)
{
    cli_remove_asides();
    signal(number, SIG_DFL);
    raise(number);
}

void cli_on_signal(int number)
{
    if (cli_held > 0) cli_signal = number;
    else cli_end(number);
}

enum { CLI_STAGES = 8 };

static const cli_stage *volatile cli_stages[CLI_STAGES];  /* the last one is the inner one     */
static volatile sig_atomic_t     cli_stage_depth;

void cli_begin(const cli_stage *stage)
{
    if (cli_stage_depth < CLI_STAGES) cli_stages[cli_stage_depth] = stage;
    cli_stage_depth = cli_stage_depth + 1;
}

qnnrt_result cli_after(qnnrt_result result)
{
    cli_stage_depth = cli_stage_depth - 1;
    return result;
}

const cli_stage *cli_stage_now(void)
{
    static const cli_stage own = {"files were read or written", 0};
    const int depth = (int)cli_stage_depth;
    return depth == 0 ? &own : cli_stages[(depth < CLI_STAGES ? depth : CLI_STAGES) - 1];
}

const cli_stage cli_stage_backend = {"a backend library was opened or closed", 1},
                cli_stage_build = {"the library compiled", 1},
                cli_stage_exec = {"the library executed a pipeline", 1},
                cli_stage_end = {"libraries ended", 1},
                cli_stage_model = {"a model was opened, saved or closed", 2},
                cli_stage_split = {"graphs were split and compiled", 2},
                cli_stage_llm = {"a language model ran", 2},
                cli_stage_read = {"a graph was read", 0},
                cli_stage_lower = {"graphs were translated to operators of QNN", 0};

static void cli_on_crash_say(const char *text)
{
    if (write(STDERR_FILENO, text, strlen(text)) < 0) errno = 0;
}

void cli_on_crash(int number)
{
    static const char *const where[] = {", in this program", ", probably within a library",
                                        ", within a library or this program"};
    const cli_stage *stage = cli_stage_now();
    if (getpid() == cli_process) {
        cli_on_crash_say("\n");
        cli_on_crash_say(cli_name);
        cli_on_crash_say(": crashed while ");
        cli_on_crash_say(stage->doing);
        cli_on_crash_say(where[stage->library]);
        cli_on_crash_say(stage->library > 0
            ? "\nhint: Run qnnrt-run doctor with this model and --run: it names what crashes.\n"
            : "\nhint: Report it with this command and its files: it is a fault of qnnrt.\n");
    }
    cli_end(number);
}

void cli_catch(int number, void (*handler)(int))
{
    struct sigaction action;
    memset(&action, 0, sizeof(action));
    action.sa_handler = handler;
    action.sa_flags = SA_NODEFER;
    sigemptyset(&action.sa_mask);
    sigaction(number, &action, NULL);
}

void cli_catch_signals(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
    static const int crashes[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
    struct sigaction before;
    cli_catch(SIGXFSZ, SIG_IGN);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); ++i)
        if (sigaction(numbers[i], NULL, &before) != 0 || before.sa_handler != SIG_IGN)
            cli_catch(numbers[i], cli_on_signal);
    cli_process = getpid();
    /* A sanitizer has handlers of its own, which say more. */
    for (size_t i = 0; i < sizeof(crashes) / sizeof(crashes[0]); ++i)
        if (sigaction(crashes[i], NULL, &before) == 0 && before.sa_handler == SIG_DFL)
            cli_catch(crashes[i], cli_on_crash);
}

void cli_hold(void) { cli_held = cli_held + 1; }

void cli_release(void)
{
    cli_held = cli_held - 1;
    if (cli_held == 0 && cli_signal != 0) cli_end(cli_signal);
}
