/* guard.c - --guard names the tensor whose bounds a backend violates

   ROOM     >>guard */
#include "run/io/io.h"

#include <signal.h>

/* =====================================================================================
   GUARD                                                                           >>guard
   A backend that reads or writes beside a tensor hits an inaccessible page. The signal's handler
   finds the tensor in a table that was made before, and calls nothing that is not safe there.
   ===================================================================================== */

typedef struct guarded_tensor {
    uintptr_t begin, end;
    char     *name;                    /* "output \"y\" of pipeline \"first\"" */
} guarded_tensor;

typedef struct guard_table {
    guarded_tensor *tensors;           /* [count]                               */
    size_t          count;
    char           *pipeline;
    uintptr_t       reach;             /* bytes of a page                       */
    struct sigaction before[2];        /* handlers of SIGSEGV and SIGBUS before */
} guard_table;

static guard_table guard;              /* global, because a signal handler gets no pointer */

static void guard_print(const char *text)
{
    size_t left = strlen(text);
    while (left > 0) {
        const ssize_t put = write(STDERR_FILENO, text, left);
        if (put <= 0) return;
        text += put;
        left -= (size_t)put;
    }
}

static void guard_print_number(uintptr_t value)
{
    char digits[24];
    size_t at = sizeof(digits) - 1;
    digits[at] = '\0';
    do digits[--at] = (char)('0' + value % 10);
    while ((value /= 10) != 0);
    guard_print(digits + at);
}

/* Return the tensor nearest to an address, at most a page away, or NULL. */
static const guarded_tensor *guard_find(uintptr_t address, uintptr_t *distance)
{
    const guarded_tensor *found = NULL;
    for (size_t i = 0; i < guard.count; ++i) {
        const guarded_tensor *tensor = &guard.tensors[i];
        if (address >= tensor->begin && address < tensor->end) continue;
        const uintptr_t away = address >= tensor->end ? address - tensor->end
            : tensor->begin - 1 - address;
        if (away >= guard.reach || (found != NULL && away >= *distance)) continue;
        found = tensor;
        *distance = away;
    }
    return found;
}

static void guard_on_fault(int number, siginfo_t *info, void *context)
{
    const uintptr_t address = (uintptr_t)info->si_addr;
    uintptr_t distance = 0;
    const guarded_tensor *tensor = guard_find(address, &distance);
    (void)context;
    if (tensor == NULL && cli_stage_now()->library == 0) cli_on_crash(number);
    if (tensor == NULL) {
        guard_print(CLI_NAME ": the backend crashed while it ran pipeline ");
        guard_print(guard.pipeline);
        guard_print(", at an address that is not beside a tensor\n");
        cli_end(number);
    }
    guard_print(CLI_NAME ": --guard: the backend reads or writes byte ");
    guard_print_number(distance);
    guard_print(address >= tensor->end ? " after the end of " : " before the beginning of ");
    guard_print(tensor->name);
    guard_print("\nhint: Report it to the maker of the backend library, with the build id.\n");
    cli_remove_asides();
    _exit(STATUS_FAILED);
}

void guard_begin(const job *j, qnnrt_run *run)
{
    static const int numbers[2] = {SIGSEGV, SIGBUS};
    struct sigaction action;
    guard.tensors = cli_alloc(j->info->slot_count, sizeof(*guard.tensors));
    guard.pipeline = cli_text("%s", j->title);
    guard.reach = (uintptr_t)sysconf(_SC_PAGESIZE);
    for (size_t i = 0; i < j->info->slot_count; ++i) {
        size_t bytes = 0;
        if (j->info->slots[i].role == QNNRT_ROLE_CONSTANT) continue;     /* no pages of ours */
        const void *data = qnnrt_data_slot(run, &j->info->slots[i], &bytes);
        if (data == NULL) continue;
        guarded_tensor *tensor = &guard.tensors[guard.count++];
        OWNED char *name = cli_shown(j->info->slots[i].address);
        tensor->begin = (uintptr_t)data;
        tensor->end = tensor->begin + bytes;
        tensor->name = cli_text("%s \"%s\" (%lu bytes) of pipeline %s",
                                qnnrt_role_name(j->info->slots[i].role), name,
                                (unsigned long)bytes, j->title);
    }
    memset(&action, 0, sizeof(action));
    action.sa_sigaction = guard_on_fault;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < 2; ++i) sigaction(numbers[i], &action, &guard.before[i]);
}

void guard_end(void)
{
    if (guard.tensors == NULL) return;
    sigaction(SIGSEGV, &guard.before[0], NULL);
    sigaction(SIGBUS, &guard.before[1], NULL);
    for (size_t i = 0; i < guard.count; ++i) free(guard.tensors[i].name);
    free(guard.tensors);
    free(guard.pipeline);
    memset(&guard, 0, sizeof(guard));
}
