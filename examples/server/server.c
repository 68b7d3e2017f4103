/* A small inference server on qnnrt_llm.h, without sockets: requests come as lines of standard
   input, answers go to standard output as they are written.

       server [OPTION ...] FOLDER [BACKEND_LIBRARY [DRAFT_FOLDER]]

   FOLDER holds a language model whose tokens are bytes: build/data/llm/w8a16_one for libQnnHtp.so
   of 2.51, or what examples/llm/export.c makes. DRAFT_FOLDER is a second one, to draft for it.
   Without BACKEND_LIBRARY the graphs run on libQnnRef.so, the reference backend.

       --slots N      texts that are written at the same time (default 4)
       --chunk N      tokens of a step while prompts are read (default: as many as a call takes)
       --shift        let texts outgrow the context: their older half goes, and the keys of the rest
                      are turned to their new positions, where the model allows it
       --by_cost      measure the graphs, and run those that cost the least time
       --store DIR    keep texts on disk, and find the beginnings of prompts there
       --check        no server: show and check what an engine promises; status 1 if one is broken

   A line is one of these. Prompts and words have \n, \t, \\ and \xHH for other bytes.

       ask NAME [OPTION=VALUE ...] : PROMPT      write=N  drafts=N  save=1  stop=WORD (up to 4)
                                                 temperature=X  top_k=N  top_p=X  min_p=X  seed=N
                                                 penalty=X  keep=N (tokens that no shift removes)
       cancel NAME     end a request; the others do not notice
       step N          compute so many steps before the next line is read
       wait            compute until no request is left, before the next line is read
       stats           print counts

   Without "step" and "wait" lines are read while the engine computes. An answer's lines begin with
   its name and slot:

       NAME SLOT begin memory=N disk=N           tokens of the prompt that need not be computed
       NAME SLOT text BYTES                      a piece of the answer
       NAME SLOT end REASON written=N computed=N steps=N drafted=N accepted=N shifts=N
       NAME - error CODE TEXT                    with llama_decode()'s codes; - - for a wrong line

   The program consists of these files, read in this order:

       model.h     models, their tokens, batches
       store.h     texts on disk
       engine.h    requests, slots, steps: continuous batching
       server.c    lines in, lines out
       check.h     what must be true, as a program that uses the engine

   Link with -ldl -lm. */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include <ctype.h>
#include <math.h>
#include <poll.h>

#define QNNRT_IMPLEMENTATION
#define QNNRT_CONVERT_IMPLEMENTATION
#define QNNRT_MANIFEST_IMPLEMENTATION
#define QNNRT_SAMPLE_IMPLEMENTATION
#define QNNRT_LLM_IMPLEMENTATION
#define QNNRT_CACHE_IMPLEMENTATION
#include "qnnrt.h"
#include "tools/qnnrt_manifest.h"
#include "tools/qnnrt_llm.h"

#include "engine.h"
#include "check.h"

enum { LINE_BYTES = 65536, MOST_COUNT = 1000000 };

/* ---- text with escapes >>text ---------------------------------------------------------------- */

/* Print bytes so that a line stays a line. */
static void print_bytes(FILE *to, const char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes; ++i) {
        const unsigned char c = (unsigned char)text[i];
        if (c == '\\' || c == '\n' || c == '\t')
            fprintf(to, "\\%c", c == '\n' ? 'n' : c == '\t' ? 't' : c);
        else if (c < ' ' || c > '~')
            fprintf(to, "\\x%02x", c);
        else
            putc(c, to);
    }
}

/* Replace escapes in place. Return the number of bytes, or -1 for a wrong escape. */
static long unescape(char *text)
{
    const char *from = text;
    char *to = text;
    for (; *from != '\0'; ++from) {
        if (*from != '\\') {
            *to++ = *from;
            continue;
        }
        ++from;
        if (*from == 'n' || *from == 't' || *from == '\\') {
            *to++ = (char)(*from == 'n' ? '\n' : *from == 't' ? '\t' : '\\');
        } else if (*from == 'x' && isxdigit((unsigned char)from[1]) &&
                   isxdigit((unsigned char)from[2])) {
            const char digits[3] = { from[1], from[2], '\0' };
            *to++ = (char)strtoul(digits, NULL, 16);
            from += 2;
        } else {
            return -1;
        }
    }
    *to = '\0';
    return (long)(to - text);
}

/* ---- lines in >>lines ------------------------------------------------------------------------ */

typedef struct input {
    char   data[LINE_BYTES + 1];
    size_t begin, end;                      /* what was read and not yet taken */
    int    ended, skips;                    /* skips: the rest of a line that is too long */
    unsigned long line;                     /* number of the last line */
} input;

/* Read more bytes; with `wait` 0 only those that are there. Return 0 if there are none. The last
   line gets an end if it has none. */
static int input_read(input *in, int wait)
{
    struct pollfd from = { STDIN_FILENO, POLLIN, 0 };
    ssize_t n;
    if (in->ended || in->end - in->begin >= LINE_BYTES || (!wait && poll(&from, 1, 0) <= 0))
        return 0;
    memmove(in->data, in->data + in->begin, in->end - in->begin);
    in->end -= in->begin;
    in->begin = 0;
    do {
        n = read(STDIN_FILENO, in->data + in->end, LINE_BYTES - in->end);
    } while (n < 0 && errno == EINTR);
    if (n > 0) {
        in->end += (size_t)n;
        return 1;
    }
    in->ended = 1;
    if (in->end == 0 && !in->skips)
        return 0;
    in->data[in->end++] = '\n';
    return 1;
}

/* Take the next line, as a string without its end, valid until the next call. Return NULL if there
   is none: with `wait` only at the end of the input. *why receives why a line is refused. */
static char *input_line(input *in, int wait, const char **why)
{
    char *line, *end;
    for (;;) {
        line = in->data + in->begin;
        end = (char *)memchr(line, '\n', in->end - in->begin);
        if (end != NULL)
            break;
        if (in->end - in->begin >= LINE_BYTES) {
            in->begin = in->end = 0;        /* drop it as it comes */
            in->skips = 1;
        }
        if (!input_read(in, wait))
            return NULL;
    }
    *end = '\0';
    in->begin = (size_t)(end - in->data) + 1;
    ++in->line;
    *why = in->skips ? "the line is too long"
         : strlen(line) != (size_t)(end - line) ? "the line holds a zero byte" : NULL;
    in->skips = 0;
    return line;
}

/* ---- answers out >>answers ------------------------------------------------------------------- */

typedef struct server {
    engine engine;
    input  in;
    int    scripted;                        /* 1: "step" or "wait" computes, lines are not read */
} server;

static void print_error(const char *name, const qnnrt_error *err)
{
    printf("%s - error %d ", name, code_of(err->code));
    print_bytes(stdout, err->text, strlen(err->text));
    putchar('\n');
}

/* Print what is new of a request. */
static void print_news(request *r)
{
    const char *name = r->name;
    char place[16] = "-";                   /* it has never had one */
    if (r->computed > 0)
        snprintf(place, sizeof(place), "%u", (unsigned)r->slot);
    if (r->computed > 0 && !r->told) {
        printf("%s %s begin memory=%lu disk=%lu\n", name, place, (unsigned long)r->memory,
               (unsigned long)r->disk);
        r->told = 1;
    }
    if (r->shown < r->ready) {
        printf("%s %s text ", name, place);
        for (; r->shown < r->ready; ++r->shown) {
            const char byte = decode(r->token[r->prompt + r->shown]);
            print_bytes(stdout, &byte, 1);
        }
        putchar('\n');
    }
    if (r->phase == ENDED && r->error.code != QNNRT_OK)
        print_error(name, &r->error);
    else if (r->phase == ENDED)
        printf("%s %s end %s written=%lu computed=%lu steps=%lu drafted=%lu accepted=%lu"
               " shifts=%lu\n", name, place, r->reason, (unsigned long)(r->count - r->prompt),
               (unsigned long)r->computed, (unsigned long)r->steps, (unsigned long)r->drafted,
               (unsigned long)r->accepted, (unsigned long)r->shifts);
}

/* Compute a step and print what it gave. Return 0 if there was nothing to do. */
static int serve_step(server *s)
{
    const int worked = engine_step(&s->engine);
    request *r, *next;
    for (r = s->engine.first; r != NULL; r = next) {
        next = r->next;
        print_news(r);
        if (r->phase == ENDED)
            engine_drop(&s->engine, r);
    }
    fflush(stdout);
    return worked;
}

/* ---- what a line asks for >>commands --------------------------------------------------------- */

/* Cut the next word off a line. Return "" at its end. */
static char *next_word(char **line)
{
    char *word = *line + strspn(*line, " \t");
    *line = word + strcspn(word, " \t");
    if (**line != '\0')
        *(*line)++ = '\0';
    return word;
}

static int read_count(const char *text, uint64_t most, uint64_t *value)
{
    char *end;
    errno = 0;
    *value = strtoull(text, &end, 10);
    return isdigit((unsigned char)*text) && *end == '\0' && errno == 0 && *value <= most;
}

static int read_number(const char *text, float *value)
{
    char *end;
    *value = strtof(text, &end);
    return (isdigit((unsigned char)*text) || *text == '.') && *end == '\0';
}

/* Read OPTION=VALUE. Return 0 if it is something else. */
static int read_option(options *to, char *word)
{
    char *value = strchr(word, '=');
    uint64_t n = 0;
    if (value == NULL)
        return 0;
    *value++ = '\0';
    if (strcmp(word, "temperature") == 0)
        return read_number(value, &to->how.temperature);
    if (strcmp(word, "top_p") == 0)
        return read_number(value, &to->how.top_p);
    if (strcmp(word, "min_p") == 0)
        return read_number(value, &to->how.min_p);
    if (strcmp(word, "penalty") == 0)
        return read_number(value, &to->how.repetition_penalty);
    if (strcmp(word, "seed") == 0)
        return read_count(value, UINT64_MAX, &to->how.seed);
    if (strcmp(word, "stop") == 0) {
        const long bytes = unescape(value);
        if (to->stop_count == MOST_STOPS || bytes <= 0 || bytes >= STOP_BYTES ||
            strlen(value) != (size_t)bytes)
            return 0;
        strcpy(to->stops[to->stop_count++], value);
        return 1;
    }
    if (!read_count(value, MOST_COUNT, &n))
        return 0;
    if (strcmp(word, "write") == 0 && n > 0)
        to->write = (size_t)n;
    else if (strcmp(word, "drafts") == 0 && n <= MOST_DRAFTS)
        to->drafts = (size_t)n;
    else if (strcmp(word, "keep") == 0)
        to->keep = (size_t)n;
    else if (strcmp(word, "save") == 0 && n <= 1)
        to->save = (int)n;
    else if (strcmp(word, "top_k") == 0)
        to->how.top_k = (uint32_t)n;
    else
        return 0;
    return 1;
}

/* Return 1 for a name of letters, digits and "_.-". */
static int is_name(const char *text)
{
    const size_t length = strlen(text);
    size_t i = 0;
    while (isalnum((unsigned char)text[i]) || (text[i] != '\0' && strchr("_.", text[i]) != NULL) ||
           (i > 0 && text[i] == '-'))
        ++i;
    return length > 0 && length < NAME_BYTES && i == length;
}

/* Add the request of an "ask" line. */
static qnnrt_result ask(server *s, char *line, qnnrt_error *err)
{
    const char *name = next_word(&line);
    options wants = {0};
    char *word;
    long bytes;
    if (!is_name(name))
        return refuse(err, QNNRT_E_ARG, "expected a name of 1 to %d letters and digits after ask",
                      NAME_BYTES - 1);
    while (strcmp(word = next_word(&line), ":") != 0) {
        if (*word == '\0')
            return refuse(err, QNNRT_E_ARG, "expected ' : ' and a prompt after the options");
        if (!read_option(&wants, word))
            return refuse(err, QNNRT_E_ARG, "the option %s has no such value, or does not exist",
                          word);
    }
    bytes = unescape(line);
    if (bytes < 0)
        return refuse(err, QNNRT_E_ARG, "expected n, t, a backslash, or x and two digits"
                      " after a backslash");
    return engine_ask(&s->engine, name, &wants, line, (size_t)bytes, NULL, err);
}

/* Do what a line asks for. */
static void command(server *s, char *line)
{
    const qnnrt_llm_cache_info has = qnnrt_llm_cache_get_info(s->engine.target.cache);
    const char *verb = next_word(&line), *name;
    qnnrt_error err = {0};
    uint64_t count = 0;
    request *r;
    if (*verb == '\0' || *verb == '#')
        return;
    if (strcmp(verb, "ask") == 0) {
        char copy[NAME_BYTES];              /* the line is cut into words */
        snprintf(copy, sizeof(copy), "%.*s", (int)strcspn(line, " \t"), line);
        if (ask(s, line, &err) != QNNRT_OK)
            print_error(is_name(copy) ? copy : "-", &err);
    } else if (strcmp(verb, "cancel") == 0) {
        name = next_word(&line);
        r = engine_find(&s->engine, name);
        if (r != NULL)
            engine_cancel(r);
    } else if (strcmp(verb, "stats") == 0) {
        printf("stats steps=%llu tokens=%llu cells=%lu used=%lu\n",
               (unsigned long long)s->engine.steps, (unsigned long long)s->engine.tokens,
               (unsigned long)has.cells, (unsigned long)has.used);
    } else if (strcmp(verb, "wait") == 0 ||
               (strcmp(verb, "step") == 0 && read_count(next_word(&line), UINT32_MAX, &count))) {
        s->scripted = 1;
        for (; (*verb == 'w' || count > 0) && serve_step(s); --count) {}
        s->scripted = 0;
    } else {
        refuse(&err, QNNRT_E_ARG, "line %lu: expected ask, cancel, step, wait or stats",
               s->in.line);
        print_error("-", &err);
    }
    fflush(stdout);
}

/* Called before each graph of a step: return 1 if a cancel has come in. The step is dropped then,
   so that a long one does not delay it, and the line is read in its turn. */
static int cancel_waits(void *user)
{
    server *s = (server *)user;
    const char *at, *end;
    if (s->scripted)
        return 0;
    input_read(&s->in, 0);
    for (at = s->in.data + s->in.begin;; at = end + 1) {
        end = (const char *)memchr(at, '\n', (size_t)(s->in.data + s->in.end - at));
        if (end == NULL)
            return 0;
        if (end - at > 7 && memcmp(at, "cancel ", 7) == 0)
            return 1;
    }
}

/* Answer requests until the input ends. */
static void serve(server *s)
{
    qnnrt_error err;
    const char *why;
    char *line;
    int works = 0;
    s->engine.stop = cancel_waits;
    s->engine.stop_user = s;
    for (;;) {
        while ((line = input_line(&s->in, !works, &why)) != NULL) {
            if (why == NULL) {
                command(s, line);
            } else {
                refuse(&err, QNNRT_E_ARG, "line %lu: %s", s->in.line, why);
                print_error("-", &err);
            }
            works = s->engine.first != NULL;
        }
        works = serve_step(s);
        if (!works && s->in.ended && s->in.begin == s->in.end)
            return;
    }
}

/* ---- begin and end >>main -------------------------------------------------------------------- */

static void complain(const qnnrt_error *err)
{
    fputs("server: ", stderr);
    print_bytes(stderr, err->text, strlen(err->text));
    putc('\n', stderr);
    if (err->cause != NULL)
        fprintf(stderr, "likely cause: %s\n", err->cause);
    if (err->hint[0] != '\0')
        fprintf(stderr, "hint: %s\n", err->hint);
}

static int usage(void)
{
    fputs("usage: host [--slots N] [--chunk N] [--shift] [--by_cost] [--store DIR] [--check] FOLDER"
          " [BACKEND_LIBRARY [DRAFT_FOLDER]]\n", stderr);
    return 2;
}

int main(int argc, char **argv)
{
    static server s;
    const char *names[3] = { NULL, "libQnnRef.so", NULL }, *folder = NULL;
    uint64_t slots = 4, chunk = 0;
    int i, count = 0, checks = 0, broken = 0;
    engine_desc how = {0};
    qnnrt_error err;

    for (i = 1; i < argc; ++i) {
        if (strcmp(argv[i], "--check") == 0)
            checks = 1;
        else if (strcmp(argv[i], "--shift") == 0)
            how.shift = 1;
        else if (strcmp(argv[i], "--by_cost") == 0)
            how.by_cost = 1;
        else if (strcmp(argv[i], "--store") == 0 && i + 1 < argc)
            folder = argv[++i];
        else if (strcmp(argv[i], "--slots") == 0 && i + 1 < argc) {
            if (!read_count(argv[++i], MOST_SLOTS, &slots) || slots == 0)
                return usage();
        } else if (strcmp(argv[i], "--chunk") == 0 && i + 1 < argc) {
            if (!read_count(argv[++i], MOST_COUNT, &chunk) || chunk == 0)
                return usage();
        } else if (argv[i][0] == '-' || count == 3)
            return usage();
        else
            names[count++] = argv[i];
    }
    if (count == 0)
        return usage();
    if (count == 1)
        fputs("server: no backend was named: using libQnnRef.so, the reference backend\n", stderr);
    how.folder = names[0];
    how.library = names[1];
    how.draft = names[2];
    how.slots = (size_t)slots;
    how.chunk = (size_t)chunk;
    how.complain = complain;
    if (engine_open(&s.engine, &how, &err) != QNNRT_OK) {
        complain(&err);
        return 1;
    }
    if (folder != NULL && store_open(&s.engine.texts, folder, &s.engine.target, complain,
                                     &err) != QNNRT_OK) {
        complain(&err);
        engine_close(&s.engine);
        return 1;
    }
    if (checks)
        broken = check_all(&s.engine);
    else
        serve(&s);
    engine_close(&s.engine);
    return broken;
}
