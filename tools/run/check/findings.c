/* findings.c - what was looked at, what was found, and what to do

   ROOMS     >>findings >>child */
#include "run/check/check.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

/* =====================================================================================
   FINDINGS                                                                     >>findings
   One list for all checks. Each finding is printed when it is added, if the list has a tool.
   ===================================================================================== */

const char *const finding_areas[] = {
    "folders", "libraries", "device", "backend", "model", "run"};
const char *const finding_levels[] = {"ok", "note", "warning", "fault"};

#define FINDING_MARGIN "           "

/* Return a text whose later lines stand below the first one. The caller frees it. */
static char *finding_lines(const char *text)
{
    OWNED char *shown = cli_shown_text(text, 1);
    page p = {NULL, 0, 0};
    for (const char *at = shown; at != NULL;) {
        const char *end = strchr(at, '\n');
        page_add(&p, "%s%.*s", at != shown ? "\n" FINDING_MARGIN : "",
                 (int)(end != NULL ? end - at : (ptrdiff_t)strlen(at)), at);
        at = end != NULL ? end + 1 : NULL;
    }
    return p.data;
}

/* Return a text for a reader: 106,290,201 bytes as 101.4 MiB, and the first eight digits of a build
   id. The caller frees it. */
static char *finding_brief(const char *text)
{
    enum { ID_SHOWN = 8 };
    static const char id[] = "build id ", digits[] = "0123456789", unit[] = " bytes";
    page p = {NULL, 0, 0};
    int inside = 0;                    /* the byte before this one is of a word */
    page_text(&p, "");
    while (*text != '\0') {
        size_t used = 1, number = inside ? 0 : strspn(text, "0123456789,");
        OWNED char *bytes = NULL;
        if (number > 5 && number < 27 && strncmp(text + number, unit, sizeof(unit) - 1) == 0) {
            uint64_t value = 0;
            for (size_t i = 0; i < number; ++i)
                if (strchr(digits, text[i]) != NULL) value = 10 * value + (uint64_t)(text[i] - '0');
            bytes = cli_bytes_text(value);
            page_text(&p, bytes);
            used = number + sizeof(unit) - 1;
        } else if (!inside && strncmp(text, id, sizeof(id) - 1) == 0) {
            const char *at = text + sizeof(id) - 1;
            const size_t hex = strspn(at, "0123456789abcdef");
            page_add(&p, "%s%.*s", id, (int)(hex < ID_SHOWN ? hex : ID_SHOWN), at);
            used = sizeof(id) - 1 + hex;
        } else {
            page_bytes(&p, text, 1);
        }
        inside = text[used - 1] != ' ' && text[used - 1] != '\n';
        text += used;
    }
    return p.data;
}

char *finding_text(const finding *one, int heading, int brief)
{
    enum { COLUMNS_MOST = 100 };
    const int plain = brief && one->level < FOUND_WARNING;
    OWNED char *told = !plain ? cli_text("%s", one->found) : finding_brief(one->found);
    OWNED char *what = cli_shown(one->what), *found = finding_lines(told);
    OWNED char *fix = cli_shown(one->fix);
    const size_t first = strlen(FINDING_MARGIN ": ") + strlen(what) + strcspn(found, "\n");
    const int apart = plain && first > COLUMNS_MOST;
    return cli_text("%s%s  %-8s %s:%s%s\n%s%s%s", heading ? finding_areas[one->area] : "",
                    heading ? "\n" : "", finding_levels[one->level], what,
                    apart ? "\n" FINDING_MARGIN : " ", found,
                    fix[0] != '\0' ? FINDING_MARGIN "hint: " : "", fix,
                    fix[0] != '\0' ? "\n" : "");
}

static void pipe_text(FILE *pipe, const char *text)
{
    const uint32_t bytes = (uint32_t)strlen(text);
    fwrite(&bytes, sizeof(bytes), 1, pipe);
    fwrite(text, 1, bytes, pipe);
}

/* Send a message of a child: a finding; or, as AREA_COUNT, a stage or what it tells besides. */
static void pipe_send(FILE *pipe, int area, int level, const char *what, const char *found,
                      const char *fix)
{
    fputc(area, pipe);
    fputc(level, pipe);
    pipe_text(pipe, what);
    pipe_text(pipe, found);
    pipe_text(pipe, fix);
    fflush(pipe);                      /* a crash must not lose it */
}

void take_finding(findings *f, finding_area area, finding_level level, char *what,
                  char *found, char *fix)
{
    f->items = cli_grow(f->items, f->count, &f->room, sizeof(*f->items));
    finding *one = &f->items[f->count++];
    one->area = area;
    one->level = level;
    one->what = what;
    one->found = found;
    one->fix = fix;
    ++f->levels[level];
    if (f->pipe != NULL) pipe_send(f->pipe, (int)area, (int)level, what, found, fix);
    if (f->shown == NULL) return;
    OWNED char *text = finding_text(one, f->count < 2 || f->items[f->count - 2].area != area,
                                    1);
    static const cli_tone tones[] = {CLI_GREEN, CLI_PLAIN, CLI_YELLOW, CLI_RED};
    say_marked(f->shown, tones[level], finding_levels[level], text);
    fflush(f->shown->out);
}

void add_finding(findings *f, finding_area area, finding_level level, const char *what,
                 const char *fix, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    char *found = cli_text_list(format, list);
    va_end(list);
    take_finding(f, area, level, cli_text("%s", what), found, cli_text("%s", fix != NULL ? fix
                                                                                         : ""));
}

void free_findings(findings *f)
{
    for (size_t i = 0; i < f->count; ++i) {
        free(f->items[i].what);
        free(f->items[i].found);
        free(f->items[i].fix);
    }
    free(f->items);
    for (size_t i = 0; i < 3; ++i) free(f->told[i]);
    memset(f, 0, sizeof(*f));
}

/* =====================================================================================
   CHILD                                                                           >>child
   A vendor library may crash, hang, or end the program. What loads one is done in a child, which
   sends its findings; the parent adds what became of the child.
   ===================================================================================== */

enum { CHILD_LONGEST = 1 << 20 };

typedef struct child {
    findings   *f;                     /* of the parent                                        */
    finding_area area;
    const char *what;                  /* that the child is about                              */
    char       *stage;                 /* what it does now                                     */
    pid_t       id;
    int         fd;
    int64_t     end_ms;                /* when it is too late                                  */
    int         late;
} child;

void child_stage(findings *f, const char *doing)
{
    if (f->pipe != NULL) pipe_send(f->pipe, AREA_COUNT, 0, "", doing, "");
}

void child_tell(findings *f, const char *first, const char *second, const char *third)
{
    if (f->pipe != NULL) pipe_send(f->pipe, AREA_COUNT, 1, first, second, third);
}

/* Read so many bytes that the child sends. Return 0 at the end, or when it is too late. */
static int child_read(child *c, void *to, size_t bytes)
{
    char *data = to;
    while (bytes > 0) {
        struct pollfd waiting = {c->fd, POLLIN, 0};
        const int64_t left = c->end_ms - (int64_t)(cli_now_ns() / 1000000);
        const int ready = left > 0 ? poll(&waiting, 1, left < 60000 ? (int)left : 60000) : 0;
        if ((ready < 0 && errno == EINTR) || (ready == 0 && left > 60000)) continue;
        if (ready <= 0) {
            c->late = 1;
            return 0;
        }
        const ssize_t got = read(c->fd, data, bytes);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return 0;
        data += got;
        bytes -= (size_t)got;
    }
    return 1;
}

/* Read a text that the child sends. NULL at the end. */
static char *child_text(child *c)
{
    uint32_t bytes = 0;
    if (!child_read(c, &bytes, sizeof(bytes)) || bytes > CHILD_LONGEST) return NULL;
    char *text = cli_alloc((size_t)bytes + 1, 1);
    if (child_read(c, text, bytes)) return text;
    free(text);
    return NULL;
}

/* Take one message of the child. Return 0 at the end. */
static int child_take(child *c)
{
    unsigned char head[2];
    if (!child_read(c, head, sizeof(head)) || head[0] > AREA_COUNT || head[1] >= FOUND_LEVELS)
        return 0;
    char *what = child_text(c), *found = what != NULL ? child_text(c) : NULL;
    char *fix = found != NULL ? child_text(c) : NULL;
    if (fix != NULL && head[0] < AREA_COUNT) {
        take_finding(c->f, (finding_area)head[0], (finding_level)head[1], what, found, fix);
        return 1;
    }
    char *texts[3] = {what, found, fix};
    for (size_t i = 0; fix != NULL && head[1] == 1 && i < 3; ++i) {
        free(c->f->told[i]);
        c->f->told[i] = texts[i];
    }
    if (fix != NULL && head[1] == 1) return 1;
    if (fix != NULL) {
        free(c->stage);
        c->stage = found;
        found = NULL;
    }
    const int good = fix != NULL;
    free(what);
    free(found);
    free(fix);
    return good;
}

/* Add what became of a child, unless it did all that it should. */
static void child_end(child *c, uint32_t limit_s)
{
    const char *hint = c->area == AREA_MODEL || c->area == AREA_RUN
                       ? "Copy the context binaries again: a library may not survive a damaged one."
                       : "Take the library from its release again, for this machine, and report it"
                         " to its maker if that does not help.";
    int status = 0;
    if (c->late) kill(c->id, SIGKILL);
    while (waitpid(c->id, &status, 0) < 0 && errno == EINTR) continue;
    if (c->late)
        add_finding(c->f, c->area, FOUND_FAULT, c->what, hint,
                    "it did not answer within %lu s while %s", (unsigned long)limit_s, c->stage);
    else if (WIFSIGNALED(status))
        add_finding(c->f, c->area, FOUND_FAULT, c->what, hint, "it crashed (signal %d) while %s",
                    WTERMSIG(status), c->stage);
    else if (WIFEXITED(status) && WEXITSTATUS(status) != STATUS_OK)
        add_finding(c->f, c->area, FOUND_FAULT, c->what, hint,
                    "it ended the program (status %d) while %s", WEXITSTATUS(status), c->stage);
}

void in_child(findings *f, finding_area area, const char *what, uint32_t limit_s,
              void (*work)(void *user, findings *f), void *user)
{
    child c = {.f = f, .area = area, .what = what, .stage = cli_text("starting")};
    int ends[2];
    c.end_ms = (int64_t)(cli_now_ns() / 1000000) + (int64_t)limit_s * 1000;
    if (f->shown != NULL) fflush(f->shown->out);
    fflush(stderr);
    if (pipe(ends) != 0 || (c.id = fork()) < 0) {
        add_finding(f, area, FOUND_NOTE, what, NULL, "not looked at: cannot start a process: %s",
                    strerror(errno));
        free(c.stage);
        return;
    }
    if (c.id == 0) {
        findings sent = {.pipe = fdopen(ends[1], "wb")};
        close(ends[0]);
        if (sent.pipe == NULL) _exit(STATUS_FAILED);
        work(user, &sent);
        _exit(STATUS_OK);              /* without the library's own end, which may crash */
    }
    close(ends[1]);
    c.fd = ends[0];
    while (child_take(&c)) continue;
    close(c.fd);
    child_end(&c, limit_s);
    free(c.stage);
}
