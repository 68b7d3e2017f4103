/* terminal.c - what a terminal can show, and lines that fit it

   ROOMS     >>terminal >>lines >>busy */
#include "cli/text.h"

#include <limits.h>
#include <sys/ioctl.h>
#include <time.h>

/* =====================================================================================
   TERMINAL                                                                     >>terminal
   Its width and its colours. A file and a pipe have neither.
   ===================================================================================== */

int cli_is_terminal(FILE *out)
{
    return isatty(fileno(out));
}

int cli_columns(FILE *out, int otherwise)
{
    int columns = 0;
    if (!cli_is_terminal(out)) return otherwise;
    const char *given = getenv("COLUMNS");
    if (given != NULL) columns = (int)strtol(given, NULL, 10);
#ifdef TIOCGWINSZ
    struct winsize size;
    memset(&size, 0, sizeof(size));
    if (columns <= 0 && ioctl(fileno(out), TIOCGWINSZ, &size) == 0) columns = size.ws_col;
#endif
    if (columns <= 0) return CLI_HELP_WIDTH;
    return columns < CLI_LEAST_WIDTH ? CLI_LEAST_WIDTH : columns;
}

/* True if colours are wanted: on a terminal that knows them, unless NO_COLOR says no. */
static int cli_is_coloured(FILE *out)
{
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
    return cli_is_terminal(out) && (no == NULL || no[0] == '\0') && term != NULL &&
           term[0] != '\0' && strcmp(term, "dumb") != 0;
}

const char *cli_tone_text(FILE *out, cli_tone tone)
{
    static const char *const codes[] = {"\033[0m", "\033[1m", "\033[1;31m", "\033[33m", "\033[32m"};
    return cli_is_coloured(out) ? codes[tone] : "";
}

/* =====================================================================================
   LINES                                                                           >>lines
   Lines that are too wide for the terminal are broken at blanks. Other files get them whole.
   ===================================================================================== */

/* Return the bytes of the escape sequence at the beginning of a text; 0: there is none. */
static size_t cli_escape(const char *s)
{
    if (s[0] != '\033' || s[1] != '[') return 0;
    const size_t bytes = 2 + strspn(s + 2, "0123456789;");
    return bytes + (s[bytes] != '\0');
}

int cli_width_of(const char *s, size_t bytes)
{
    int width = 0;
    for (const char *end = s + bytes; s < end;) {
        const size_t escape = cli_escape(s);
        if (escape == 0 && ((unsigned char)*s & 0xC0) != 0x80) ++width;
        s += escape != 0 ? escape : 1;
    }
    return width;
}

/* Return the column where the rest of a broken line begins: below the second part of a line whose
   parts are two blanks apart, or else a little to the right of the first one. */
static int cli_hang(const char *line, size_t bytes, int columns)
{
    const size_t lead = strspn(line, " ");
    size_t at = lead;
    while (at + 1 < bytes && !(line[at] == ' ' && line[at + 1] == ' ')) ++at;
    while (at < bytes && line[at] == ' ') ++at;
    const int second = cli_width_of(line, at), least = (int)lead + 2;
    if (at < bytes && second <= columns / 3) return second;
    return least < columns / 2 ? least : columns / 4;
}

typedef struct cli_text_room {         /* text that grows                                 */
    char  *text;                       /* [used]                                          */
    size_t used, room;
} cli_text_room;

static void cli_room_add(cli_text_room *to, const char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes; ++i) {
        to->text = (char *)cli_grow(to->text, to->used, &to->room, 1);
        to->text[to->used++] = text[i];
    }
}

static void cli_room_blanks(cli_text_room *to, int count)
{
    while (count-- > 0) cli_room_add(to, " ", 1);
}

/* Add a line of `bytes` without its end, in lines of at most `columns`. A longer word is not
   broken. end: what comes before the end of a line that goes on, "" or " \\". */
static void cli_fold_into(cli_text_room *to, const char *line, size_t bytes, int columns,
                          const char *end)
{
    const int whole = cli_width_of(line, bytes), hang = cli_hang(line, bytes, columns);
    const int most = columns - (int)strlen(end);
    if (whole <= columns) {
        cli_room_add(to, line, bytes);
        return;
    }
    int column = 0, begun = 0;                   /* begun: a word stands in this line */
    for (size_t at = 0; at < bytes;) {
        size_t blanks = 0, word = 0;
        while (at + blanks < bytes && line[at + blanks] == ' ') ++blanks;
        while (at + blanks + word < bytes && line[at + blanks + word] != ' ') ++word;
        if (word == 0) break;
        const int width = cli_width_of(line + at + blanks, word);
        if (begun && column + (int)blanks + width > most) {
            cli_room_add(to, end, strlen(end));
            cli_room_add(to, "\n", 1);
            cli_room_blanks(to, hang);
            column = hang;
        } else {
            cli_room_blanks(to, (int)blanks);
            column += (int)blanks;
        }
        cli_room_add(to, line + at + blanks, word);
        column += width;
        begun = 1;
        at += blanks + word;
    }
}

void cli_fold(FILE *out, const char *line, size_t bytes, int columns, const char *end)
{
    cli_text_room to = {NULL, 0, 0};
    cli_fold_into(&to, line, bytes, columns, end);
    if (to.used > 0) fwrite(to.text, 1, to.used, out);
    free(to.text);
}

void cli_print(FILE *out, const char *text)
{
    const int columns = cli_columns(out, INT_MAX);
    cli_text_room to = {NULL, 0, 0};
    for (const char *end; *text != '\0'; text = end + (*end == '\n')) {
        end = text + strcspn(text, "\n");
        cli_fold_into(&to, text, (size_t)(end - text), columns, "");
        cli_room_add(&to, "\n", 1);
    }
    if (to.used > 0) fwrite(to.text, 1, to.used, out);
    free(to.text);
}

static cli_text_room cli_pending;      /* the beginning of a line for a terminal          */

void cli_put(FILE *out, const char *text)
{
    cli_text_room *p = &cli_pending;
    if (!cli_is_terminal(out)) {
        fputs(text, out);
        return;
    }
    cli_busy_end();
    for (; *text != '\0'; ++text) {
        if (*text != '\n') {
            cli_room_add(p, text, 1);
            continue;
        }
        if (p->used > 0) cli_fold(out, p->text, p->used, cli_columns(out, INT_MAX), "");
        fputc('\n', out);
        p->used = 0;
    }
}

void cli_put_end(FILE *out)
{
    if (cli_pending.used > 0)
        cli_fold(out, cli_pending.text, cli_pending.used, cli_columns(out, INT_MAX), "");
    free(cli_pending.text);
    memset(&cli_pending, 0, sizeof(cli_pending));
    fflush(out);
}

/* =====================================================================================
   BUSY                                                                             >>busy
   A line on the terminal that says what a program is doing, and is gone when it has done it.
   ===================================================================================== */

static struct cli_busy_line {
    int      shown;
    uint64_t begin_ns, last_ns;        /* of the work, and of the last line               */
} cli_busy_line;

uint64_t cli_now_ns(void)
{
    struct timespec now = {0, 0};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void cli_busy_end(void)
{
    if (!cli_busy_line.shown) return;
    fputs("\r\033[K", stderr);
    fflush(stderr);
    cli_busy_line.shown = 0;
}

void cli_busy_begin(void)
{
    cli_busy_line.begin_ns = cli_now_ns();
}

void cli_busy(int at_once, const char *format, ...)
{
    va_list list;
    const uint64_t now = cli_now_ns();
    const int columns = cli_columns(stderr, 0) - 1;
    const char *term = getenv("TERM");
    if (columns < 0 || term == NULL || strcmp(term, "dumb") == 0) return;
    if (!at_once && (now - cli_busy_line.begin_ns < 1000000000u ||
                     now - cli_busy_line.last_ns < 100000000u)) return;
    va_start(list, format);
    OWNED char *text = cli_text_list(format, list), *shown = cli_shown(text);
    va_end(list);
    size_t bytes = strlen(shown);
    while (bytes > 0 && (cli_width_of(shown, bytes) > columns ||
                         ((unsigned char)shown[bytes] & 0xC0) == 0x80)) --bytes;
    fprintf(stderr, "\r\033[K%.*s", (int)bytes, shown);
    fflush(stderr);
    cli_busy_line.shown = 1;
    cli_busy_line.last_ns = now;
}
