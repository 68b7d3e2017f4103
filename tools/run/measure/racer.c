/* racer.c - a side of a race: a process with a model of its own

   ROOM     >>racer */
#include "run/measure/measure.h"
#include "run/model/model.h"
#include "run/io/io.h"

#include <sys/socket.h>
#include <sys/wait.h>

/* =====================================================================================
   RACER                                                                          >>racer
   A side of a race: a child process with a model of its own. Two releases of one library may not
   share a process, each side may have its own environment, and a device gives each process its own
   memory. The parent loads nothing. It asks for one round at a time; the other side sleeps.
   ===================================================================================== */

typedef struct race_order { uint64_t job, calls; } race_order;      /* calls 0: end            */

/* Send or receive all bytes. Return 0 if the other end is gone. */
static int wire_put(int wire, const void *data, size_t bytes)
{
    const char *at = data;
    while (bytes > 0) {
        const ssize_t done = send(wire, at, bytes, MSG_NOSIGNAL);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return 0;
        at += done;
        bytes -= (size_t)done;
    }
    return 1;
}

static int wire_get(int wire, void *data, size_t bytes)
{
    char *at = data;
    while (bytes > 0) {
        const ssize_t done = recv(wire, at, bytes, 0);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return 0;
        at += done;
        bytes -= (size_t)done;
    }
    return 1;
}

/* In the child: execute rounds until the order to end. A round is answered with the median of its
   calls, 0 after a message. */
static int racer_serve(int wire, lane *lanes, size_t count)
{
    race_order order;
    OWNED samples calls = {NULL, 0, 0};
    int good = 1;
    while (good && wire_get(wire, &order, sizeof(order)) && order.calls > 0 && order.job < count) {
        lane *l = &lanes[order.job];
        double median = 0;
        calls.count = 0;
        for (uint64_t i = 0; i < order.calls && good; ++i) {
            const uint64_t took = lane_call(l);
            good = took > 0;
            if (good) add_sample(&calls, (double)took);
            else lane_fail(l);
        }
        if (good) median = sum_up(&calls).median;
        good = wire_put(wire, &median, sizeof(median)) && good;
    }
    return good;
}

/* In the child: load the model, say what it has, and serve. Returns the exit status. */
static int racer_run(tool *t, int wire, char letter)
{
    const uint64_t begin = cli_now_ns();
    say(t, "%sside %c\n", letter == 'A' ? "" : "\n", letter);
    int good = open_model(t) && select_jobs(t);
    double numbers[2] = {(double)(cli_now_ns() - begin), 0};
    for (size_t i = 0; i < t->job_count && good; ++i) plan_job(t, &t->jobs[i]);
    for (size_t i = 0; i < t->set.input_count && good; ++i) place_input(t, &t->set.inputs[i]);
    if (good) place_changes(t);
    good = good && !t->failed;
    lane *lanes = cli_alloc(t->job_count, sizeof(*lanes));
    for (size_t i = 0; i < t->job_count && good; ++i) good = lane_begin(&lanes[i], t, &t->jobs[i]);
    cli_put_end(t->out);
    fflush(t->out);
    uint64_t count = good ? t->job_count : 0;
    good = wire_put(wire, &count, sizeof(count)) && good;
    for (size_t i = 0; i < t->job_count && good; ++i) {
        const uint64_t bytes = strlen(t->jobs[i].info->name);
        good = wire_put(wire, &bytes, sizeof(bytes)) &&
            wire_put(wire, t->jobs[i].info->name, (size_t)bytes);
    }
    good = good && racer_serve(wire, lanes, t->job_count);
    numbers[1] = (double)process_bytes("VmHWM:");
    wire_put(wire, numbers, sizeof(numbers));
    for (size_t i = 0; i < t->job_count; ++i) lane_end(&lanes[i]);
    free(lanes);
    close_all(t);
    fflush(t->out);
    return good && !t->failed ? STATUS_OK : STATUS_FAILED;
}

/* Set the variables of --other_env. */
static void racer_environment(const cli_list *list)
{
    for (size_t i = 0; i < list->count; ++i) {
        const char *value = strchr(list->items[i], '=');
        OWNED char *name = cli_text("%.*s", (int)(value - list->items[i]), list->items[i]);
        setenv(name, value + 1, 1);
    }
}

int racer_start(racer *r, tool *t, const cli_list *environment, char letter)
{
    int ends[2];
    memset(r, 0, sizeof(*r));
    r->wire = -1;
    cli_put_end(t->out);
    fflush(t->out);
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0 || (r->id = fork()) < 0) {
        r->id = 0;
        fail(t, NULL, NULL, "cannot start a process: %s", strerror(errno));
        return 0;
    }
    if (r->id == 0) {
        close(ends[0]);
        if (environment != NULL) racer_environment(environment);
        _exit(racer_run(t, ends[1], letter));
    }
    close(ends[1]);
    r->wire = ends[0];
    int good = wire_get(r->wire, &r->count, sizeof(r->count)) && r->count > 0 &&
        r->count < 1000000;
    if (!good) r->count = 0;
    r->names = cli_alloc((size_t)r->count, sizeof(*r->names));
    for (uint64_t i = 0; i < r->count && good; ++i) {
        uint64_t bytes = 0;
        good = wire_get(r->wire, &bytes, sizeof(bytes)) && bytes < (1u << 20);
        r->names[i] = cli_alloc(good ? (size_t)bytes + 1 : 1, 1);
        good = good && wire_get(r->wire, r->names[i], (size_t)bytes);
    }
    if (!good) fail(t, NULL, NULL, "side %c cannot be measured", letter);
    return good;
}

int racer_stop(racer *r)
{
    const race_order over = {0, 0};
    double numbers[2] = {0, 0};
    int status = 0, good = 1;
    if (r->id == 0) return 1;
    if (wire_put(r->wire, &over, sizeof(over)) && wire_get(r->wire, numbers, sizeof(numbers))) {
        r->load_ns = numbers[0];
        r->peak = numbers[1];
    }
    close(r->wire);
    while (waitpid(r->id, &status, 0) < 0 && errno == EINTR) continue;
    good = WIFEXITED(status) && WEXITSTATUS(status) == STATUS_OK;
    for (uint64_t i = 0; i < r->count; ++i) free(r->names[i]);
    free(r->names);
    r->id = 0;
    r->names = NULL;
    return good;
}

double racer_round(const racer *r, uint64_t at, uint64_t calls)
{
    const race_order order = {at, calls};
    double median = 0;
    if (!wire_put(r->wire, &order, sizeof(order)) || !wire_get(r->wire, &median, sizeof(median)))
        return 0;
    return median;
}
