/* qnnrt_explain.h - v0.5.0 - what lines mean that Qualcomm's libraries log, and pasted codes

   In one C or C++ file:                        Everywhere else:
       #define QNNRT_IMPLEMENTATION                 #include "qnnrt.h"
       #include "qnnrt.h"                           #include "qnnrt_explain.h"
       #define QNNRT_EXPLAIN_IMPLEMENTATION
       #include "qnnrt_explain.h"
   qnnrt.h lies beside this file or is found by the compiler.

       if (qnnrt_open("model", NULL, &model, &err) != QNNRT_OK) {
           qnnrt_explain_error(&err);               // takes the library's lines into account
           puts(err.text);
           if (err.cause != NULL) printf("likely cause: %s\n", err.cause);
           puts(err.hint);
       }
       const qnnrt_explanation *known = qnnrt_explain("<E> Tensor ID 24 clientBuf is null");
       if (known != NULL) puts(known->fix);

   Uses     Public names of qnnrt.h, and libc
   Trust    Texts may be hostile: each is read once, and no part of one is ever returned
   Memory   Nothing is allocated: all that is returned is constant
   Threads  All functions may be called on any thread at any time
   Globals  Constant tables only. The header prints nothing and never aborts.

   BUILD OPTIONS, to define before the header is first included
       QNNRT_EXPLAIN_API  replaces the storage and export prefix of all functions (default:
                          QNNRT_API)
       The options of qnnrt.h work here too: QNNRT_STATIC, QNNRT_API.

   MANUAL

   Lines and codes
       A code says little: 5000 has many causes. The first line that the library logged tells which
       one applies. qnnrt.h knows the symbols of codes, and the likeliest cause of those that a
       phone meets; this header knows all causes and the lines, and finds codes and symbols in a
       text that a person pasted.

   ROOMS (search for the tag)
       >>config >>word >>line >>error >>public
       >>known_codes >>known_lines
*/
#ifndef QNNRT_EXPLAIN_H
#define QNNRT_EXPLAIN_H

#include "qnnrt.h"

#if QNNRT_VERSION_NUMBER != 5000
#error "qnnrt_explain.h 0.5.0 needs qnnrt.h of the same version"
#endif

#ifndef QNNRT_EXPLAIN_API
#define QNNRT_EXPLAIN_API QNNRT_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* What is known about a code that the vendor's libraries return, or about a line that they log. All
   of it is constant. */
typedef struct qnnrt_explanation {
    uint32_t    code;        /* its low 16 bits; all 32 for FastRPC, such as 0x80000406. Of a line:
                                the code that comes with it, or 0 */
    const char *symbol;      /* "QNN_CONTEXT_ERROR_INVALID_ARGUMENT", or "" */
    const char *text;        /* the pieces of a line that are recognized, joined by " ... "; NULL:
                                this is the entry of a code */
    const char *meaning;     /* one sentence */
    const char *causes[4];   /* at most three, the most likely first, then NULL */
    const char *fix;         /* what to do: one imperative sentence */
} qnnrt_explanation;

/* Return what is known about a vendor code, by all 32 bits for codes of FastRPC and by the low 16
   bits for others; NULL if nothing is known. */
QNNRT_EXPLAIN_API const qnnrt_explanation *qnnrt_explain_code(uint64_t vendor_code);

/* Return what is known about a text: a decimal or hexadecimal code ("5000", "0x1388"), a symbol, or
   lines of a log, pasted as they are: the first known line is used. Case is ignored. NULL: nothing
   is known. */
QNNRT_EXPLAIN_API const qnnrt_explanation *qnnrt_explain(const char *text);

/* Return entry `index`: codes in ascending order, then lines; NULL after the last. */
QNNRT_EXPLAIN_API const qnnrt_explanation *qnnrt_explain_get(size_t index);

/* Look for known lines among those that an error's text has from the library. The line that tells
   the cause is the first error, because later ones follow from it, or a known warning before it,
   because the libraries only warn of a missing stub. If it is known, set err->cause and err->hint
   to what it means; otherwise set those of a code that qnnrt.h has only the symbol of. err may be
   NULL. */
QNNRT_EXPLAIN_API void qnnrt_explain_error(qnnrt_error *err);

#ifdef __cplusplus
}
#endif
#endif /* QNNRT_EXPLAIN_H, end of the declarations */

#ifdef QNNRT_EXPLAIN_IMPLEMENTATION
#ifndef QNNRT_EXPLAIN__IMPL_ONCE
#define QNNRT_EXPLAIN__IMPL_ONCE

/* =====================================================================================
   CONFIGURATION                                                                 >>config
   System headers, and the shape of the data at the end of this file.
   Needs: nothing     Knows nothing of: everything below
   ===================================================================================== */

#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Other symbols of a code, with a blank between them. */
typedef struct qnnrt_explain__alias { uint32_t code; const char *symbols; } qnnrt_explain__alias;

typedef struct qnnrt_explain__data {
    const qnnrt_explanation    *codes;    size_t code_count;    /* ascending */
    const qnnrt_explanation    *lines;    size_t line_count;    /* the first match is used */
    const qnnrt_explain__alias *aliases;  size_t alias_count;
} qnnrt_explain__data;

/* Return the data at the end of this file. */
static const qnnrt_explain__data *qnnrt_explain__get_data(void);

/* =====================================================================================
   WORDS                                                                           >>word
   Finds codes and symbols among the words of a text.
   Needs: >>config     Knows nothing of: known lines
   ===================================================================================== */

static char qnnrt_explain__word_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Return 1 for letters, digits and underscores. */
static int qnnrt_explain__word_within(char c)
{
    c = qnnrt_explain__word_lower(c);
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

/* Return the length of the word that begins at `text`; 0 when none begins there. */
static size_t qnnrt_explain__word_length(const char *text)
{
    size_t length = 0;
    while (qnnrt_explain__word_within(text[length])) ++length;
    return length;
}

static int qnnrt_explain__word_is_hex(const char *word, size_t length)
{
    return length > 2 && word[0] == '0' && qnnrt_explain__word_lower(word[1]) == 'x';
}

/* Read a word of decimal digits, or of 0x and hexadecimal digits. Return 0 for any other word. */
static int qnnrt_explain__word_number(const char *word, size_t length, uint64_t *value)
{
    const int hex = qnnrt_explain__word_is_hex(word, length);
    size_t i = hex ? 2 : 0;
    *value = 0;
    if (length == 0 || length - i > 16) return 0;
    for (; i < length; ++i) {
        const char c = qnnrt_explain__word_lower(word[i]);
        if (c >= '0' && c <= '9') *value = *value * (hex ? 16 : 10) + (uint64_t)(c - '0');
        else if (hex && c >= 'a' && c <= 'f') *value = *value * 16 + (uint64_t)(c - 'a') + 10;
        else return 0;
    }
    return 1;
}

/* Return 1 if a word is one of the words in a text, in upper or lower case. */
static int qnnrt_explain__word_among(const char *word, size_t length, const char *words)
{
    while (*words != '\0') {
        const size_t next = qnnrt_explain__word_length(words);
        size_t i = 0;
        while (i < length && i < next &&
               qnnrt_explain__word_lower(word[i]) == qnnrt_explain__word_lower(words[i])) ++i;
        if (i == length && i == next) return 1;
        words += next + (words[next] == ' ');
    }
    return 0;
}

/* Return the entry of exactly this number, or NULL. */
static const qnnrt_explanation *qnnrt_explain__word_code(uint32_t code)
{
    const qnnrt_explain__data *data = qnnrt_explain__get_data();
    size_t i = 0;
    while (i < data->code_count && data->codes[i].code != code) ++i;
    return i < data->code_count ? &data->codes[i] : NULL;
}

/* Return the entry of a symbol, or of another name for it, or NULL. */
static const qnnrt_explanation *qnnrt_explain__word_symbol(const char *word, size_t length)
{
    const qnnrt_explain__data *data = qnnrt_explain__get_data();
    size_t i;
    /* All names begin with QNN_. */
    if (length == 0 || qnnrt_explain__word_lower(word[0]) != 'q') return NULL;
    for (i = 0; i < data->code_count; ++i)
        if (qnnrt_explain__word_among(word, length, data->codes[i].symbol)) return &data->codes[i];
    for (i = 0; i < data->alias_count; ++i)
        if (qnnrt_explain__word_among(word, length, data->aliases[i].symbols))
            return qnnrt_explain__word_code(data->aliases[i].code);
    return NULL;
}

/* Return 1 if the word before a number says that it is a code, and not a time or an id. */
static int qnnrt_explain__word_is_named(const char *line, const char *number)
{
    const char *end = number, *word;
    while (end > line && strchr(" :=(", end[-1]) != NULL) --end;
    for (word = end; word > line && qnnrt_explain__word_within(word[-1]); --word) {}
    return qnnrt_explain__word_among(word, (size_t)(end - word), "err error code status failed"
                                     " answered initialize with result");
}

/* The kinds of words that are searched in a line, in this order. A number of more than 32 bits is a
   pointer and is skipped. */
enum { QNNRT_EXPLAIN__RPC, QNNRT_EXPLAIN__SYMBOL, QNNRT_EXPLAIN__HEX, QNNRT_EXPLAIN__DECIMAL,
       QNNRT_EXPLAIN__KINDS };

/* Return the entry of the first word of a line that is a code of this kind, or NULL. */
static const qnnrt_explanation *qnnrt_explain__word_find(const char *line, int kind)
{
    const char *at = line;
    while (*at != '\0' && *at != '\n') {
        const size_t length = qnnrt_explain__word_length(at);
        const int hex = qnnrt_explain__word_is_hex(at, length);
        const qnnrt_explanation *found = NULL;
        uint64_t value;
        if (kind == QNNRT_EXPLAIN__SYMBOL) found = qnnrt_explain__word_symbol(at, length);
        else if (qnnrt_explain__word_number(at, length, &value) && value != 0 &&
                 value <= 0xFFFFFFFFu && (value > 0xFFFF) == (kind == QNNRT_EXPLAIN__RPC) &&
                 hex == (kind != QNNRT_EXPLAIN__DECIMAL) &&
                 (hex || qnnrt_explain__word_is_named(line, at)))
            found = qnnrt_explain__word_code((uint32_t)value);
        if (found != NULL) return found;
        at += length > 0 ? length : 1;
    }
    return NULL;
}

static const char *qnnrt_explain__word_after_blanks(const char *text)
{
    while (*text == ' ' || *text == '\t' || *text == '\r' || *text == '\n') ++text;
    return text;
}

static const char *qnnrt_explain__word_next(const char *text)
{
    while (*text != '\0' && *text != '\n') ++text;
    return *text == '\n' ? text + 1 : text;
}

/* =====================================================================================
   LINES                                                                           >>line
   Finds lines that are known.
   Needs: >>config >>word     Knows nothing of: errors
   ===================================================================================== */

/* Find `length` characters of `piece`, in either case, in the line at `text`. Return where they
   begin, or NULL. */
static const char *qnnrt_explain__line_find(const char *text, const char *piece, size_t length)
{
    for (; *text != '\0' && *text != '\n'; ++text) {
        size_t i = 0;
        while (i < length && text[i] != '\0' &&
               qnnrt_explain__word_lower(text[i]) == qnnrt_explain__word_lower(piece[i])) ++i;
        if (i == length) return text;
    }
    return NULL;
}

/* Return 1 if the line at `text` has all pieces of a pattern, in this order. */
static int qnnrt_explain__line_match(const char *text, const char *pattern)
{
    static const char gap[] = " ... ";
    for (;;) {
        const char *end = qnnrt_explain__line_find(pattern, gap, sizeof(gap) - 1);
        const size_t length = end != NULL ? (size_t)(end - pattern) : strlen(pattern);
        text = qnnrt_explain__line_find(text, pattern, length);
        if (text == NULL) return 0;
        if (end == NULL) return 1;
        text += length;
        pattern = end + sizeof(gap) - 1;
    }
}

/* Return the entry of a line that was logged, or NULL. A code of FastRPC says more than the line
   around it. */
static const qnnrt_explanation *qnnrt_explain__line_entry(const char *line)
{
    const qnnrt_explain__data *data = qnnrt_explain__get_data();
    const qnnrt_explanation *found = qnnrt_explain__word_find(line, QNNRT_EXPLAIN__RPC);
    size_t i;
    for (i = 0; i < data->line_count && found == NULL; ++i)
        if (qnnrt_explain__line_match(line, data->lines[i].text)) found = &data->lines[i];
    return found;
}

/* =====================================================================================
   ERRORS                                                                         >>error
   Finds the line in an error's text that tells the cause.
   Needs: >>word >>line     Knows nothing of: how the error came about
   ===================================================================================== */

/* Return the entry of the line that tells the cause, or NULL. Lines are looked at in the order in
   which they were logged, and only an error can end the search, because only errors have causes
   that nothing is known of. Harmless lines have an entry without causes. */
static const qnnrt_explanation *qnnrt_explain__error_line(const char *text)
{
    static const char *const begins[] = {
        "  and before: ", "  the library logged first, an error: ",
        "  the library logged first, a warning: ", "  and then: "
    };
    size_t i;
    for (i = 0; i < sizeof(begins) / sizeof(begins[0]); ++i) {
        const char *line = text;
        for (; *line != '\0'; line = qnnrt_explain__word_next(line)) {
            const size_t length = strlen(begins[i]);
            const qnnrt_explanation *entry;
            if (strncmp(line, begins[i], length) != 0) continue;
            entry = qnnrt_explain__line_entry(line + length);
            if (entry != NULL && entry->causes[0] != NULL) return entry;
            if (entry == NULL && i == 1) return NULL;
        }
    }
    return NULL;
}

/* =====================================================================================
   PUBLIC                                                                        >>public
   The functions that are declared above.
   Needs: >>config >>word >>line >>error     Knows nothing of: callers
   ===================================================================================== */

/* Success has no bit set. */
QNNRT_EXPLAIN_API const qnnrt_explanation *qnnrt_explain_code(uint64_t vendor_code)
{
    const uint32_t full = (uint32_t)(vendor_code & 0xFFFFFFFFu), low = full & 0xFFFFu;
    const qnnrt_explanation *found = full > low ? qnnrt_explain__word_code(full) : NULL;
    return found != NULL || (low == 0 && vendor_code != 0) ? found : qnnrt_explain__word_code(low);
}

QNNRT_EXPLAIN_API const qnnrt_explanation *qnnrt_explain(const char *text)
{
    const qnnrt_explanation *found = NULL;
    const char *line;
    uint64_t value;
    size_t length;
    int kind;
    if (text == NULL) return NULL;
    text = qnnrt_explain__word_after_blanks(text);
    length = qnnrt_explain__word_length(text);
    if (*qnnrt_explain__word_after_blanks(text + length) == '\0' &&
        qnnrt_explain__word_number(text, length, &value)) return qnnrt_explain_code(value);
    for (line = text; *line != '\0' && found == NULL; line = qnnrt_explain__word_next(line))
        found = qnnrt_explain__line_entry(line);
    for (kind = QNNRT_EXPLAIN__SYMBOL; kind < QNNRT_EXPLAIN__KINDS && found == NULL; ++kind)
        for (line = text; *line != '\0' && found == NULL; line = qnnrt_explain__word_next(line))
            found = qnnrt_explain__word_find(line, kind);
    return found;
}

QNNRT_EXPLAIN_API const qnnrt_explanation *qnnrt_explain_get(size_t index)
{
    const qnnrt_explain__data *data = qnnrt_explain__get_data();
    if (index < data->code_count) return &data->codes[index];
    index -= data->code_count;
    return index < data->line_count ? &data->lines[index] : NULL;
}

QNNRT_EXPLAIN_API void qnnrt_explain_error(qnnrt_error *err)
{
    const qnnrt_explanation *line, *code;
    if (err == NULL) return;
    line = qnnrt_explain__error_line(err->text);
    code = err->vendor_code != 0 ? qnnrt_explain_code(err->vendor_code) : NULL;
    /* A cause that is not the code's own stays: it comes from a function that knew more. */
    if (err->cause != NULL && (code == NULL || code->causes[0] == NULL ||
                               strcmp(err->cause, code->causes[0]) != 0)) return;
    /* The code says nothing new to an error that has its cause or its fix, nor to one that was made
       for a code: its hint is of a function that knew more. */
    if (line == NULL && (code == NULL || err->cause != NULL || strcmp(err->hint, code->fix) == 0 ||
                         (err->code != QNNRT_E_BACKEND && err->hint[0] != '\0'))) return;
    if (line != NULL && code != NULL && code->causes[0] != NULL)
        qnnrt_error_add(err, "\n  another cause of this code: %s; in that case: %s",
                        code->causes[0], code->fix);
    if (line == NULL && code->causes[0] == NULL)
        qnnrt_error_add(err, "\n  meaning: %s", code->meaning);
    if (line == NULL) line = code;
    err->cause = line->causes[0];
    err->hint[0] = '\0';
    qnnrt_error_hint(err, err->code, "%s", line->fix);
}

/* ---- vendor data: `make vendor` writes all from here to its end, see tools/vendor ---- */

/* =====================================================================================
   KNOWN CODES                                                             >>known_codes
   Codes that the vendor's libraries return, and other symbols of them.
   Needs: >>config     Knows nothing of: callers
   ===================================================================================== */

/* Texts of several entries. */
static const char qnnrt_explain__text_cdsprpc[] = "Declare <uses-native-library"
      " android:name=\"libcdsprpc.so\"/> in the app's manifest, and never ship a copy of it.";
static const char qnnrt_explain__text_check_the[] = "Check the path, and read the loader's reason"
      " at the end of the line.";
static const char qnnrt_explain__text_code_1000[] = "QNN_COMMON_ERROR_NOT_SUPPORTED";
static const char qnnrt_explain__text_code_1002[] = "QNN_COMMON_ERROR_MEM_ALLOC";
static const char qnnrt_explain__text_code_1008[] = "QNN_COMMON_ERROR_INCOMPATIBLE_BINARIES";
static const char qnnrt_explain__text_code_1100[] = "QNN_COMMON_ERROR_GENERAL";
static const char qnnrt_explain__text_code_14001[] = "QNN_DEVICE_ERROR_INVALID_CONFIG";
static const char qnnrt_explain__text_code_30010[] = "QNN_SYSTEM_CONTEXT_ERROR_MALFORMED_BINARY";
static const char qnnrt_explain__text_code_4000[] = "QNN_BACKEND_ERROR_CANNOT_INITIALIZE";
static const char qnnrt_explain__text_code_4005[] = "QNN_BACKEND_ERROR_OP_PACKAGE_NOT_FOUND";
static const char qnnrt_explain__text_code_5000[] = "QNN_CONTEXT_ERROR_INVALID_ARGUMENT";
static const char qnnrt_explain__text_code_5004[] = "QNN_CONTEXT_ERROR_BINARY_VERSION";
static const char qnnrt_explain__text_code_5005[] = "QNN_CONTEXT_ERROR_CREATE_FROM_BINARY";
static const char qnnrt_explain__text_code_6000[] = "QNN_GRAPH_ERROR_INVALID_ARGUMENT";
static const char qnnrt_explain__text_code_6004[] = "QNN_GRAPH_ERROR_INVALID_TENSOR";
static const char qnnrt_explain__text_code_7004[] = "QNN_TENSOR_ERROR_INVALID_TENSOR_PARAM";
static const char qnnrt_explain__text_entry[] = "List the symbols of the package (nm -D) and pass"
      " the right name.";
static const char qnnrt_explain__text_freed[] = "it was freed earlier, or it was never created";
static const char qnnrt_explain__text_freedorother[] = "it was freed, or it belongs to another"
      " backend";
static const char qnnrt_explain__text_generations[] = "contexts for two NPU generations (v68, v75)"
      " are loaded in this process, and the x86-64 emulator runs only those loaded last";
static const char qnnrt_explain__text_its_folder[] = "its folder is not in ADSP_LIBRARY_PATH, or"
      " the folders are separated by ':'";
static const char qnnrt_explain__text_its_size[] = "its size is 0: a dimension is 0 or dynamic, or"
      " the element type has no known size";
static const char qnnrt_explain__text_log[] = "Read the first line that the library logged: it"
      " gives the reason.";
static const char qnnrt_explain__text_metadata[] = "Take names, ids, dims and types from the"
      " metadata of the binary itself.";
static const char qnnrt_explain__text_no_chip[] = "no chip was set, and the x86-64 library then"
      " compiles for v68, which lacks float kernels";
static const char qnnrt_explain__text_nullpointer[] = "a null pointer was passed";
static const char qnnrt_explain__text_on_android[] = "on Android the app cannot see it, because its"
      " manifest does not declare it";
static const char qnnrt_explain__text_onerelease[] = "Ship backend, stub and skel of one release,"
      " and put their folder first in ADSP_LIBRARY_PATH.";
static const char qnnrt_explain__text_open_it[] = "Open it with the backend it was compiled for, or"
      " compare its size with the original.";
static const char qnnrt_explain__text_options[] = "Leave out the options one by one, and read the"
      " first line that the library logged.";
static const char qnnrt_explain__text_recover[] = "Call qnnrt_model_recover() of qnnrt_device.h, or"
      " close everything on this backend and open it again.";
static const char qnnrt_explain__text_release[] = "Ship the libraries of the binary's release or"
      " newer, or compile the model with the older release.";
static const char qnnrt_explain__text_reopen[] = "Close everything on this backend and open it"
      " again.";
static const char qnnrt_explain__text_set_a[] = "Set a chip (soc_model 57, or the device's), or use"
      " a newer release or another form of the operation.";
static const char qnnrt_explain__text_skel[] = "Put libQnnHtpV<arch>Skel.so into a folder of"
      " ADSP_LIBRARY_PATH (separate folders by ';', not by ':').";
static const char qnnrt_explain__text_the_dimensions[] = "The dimensions of a tensor differ from"
      " those the graph was built with.";
static const char qnnrt_explain__text_the_dsp[] = "The DSP does not allow this process an unsigned"
      " process domain.";
static const char qnnrt_explain__text_the_model[] = "the model was compiled with a QAIRT release"
      " newer than the shipped libraries";
static const char qnnrt_explain__text_the_op[] = "The op package cannot be opened.";
static const char qnnrt_explain__text_the_op_package[] = "The op package does not export the"
      " function that was given as its entry.";
static const char qnnrt_explain__text_the_path[] = "the path is wrong, the package is for another"
      " machine, or it needs a library that is missing";
static const char qnnrt_explain__text_the_release[] = "the release lacks the kernel: 2.47 and 2.48"
      " lack the kernel for RmsNorm without beta";
static const char qnnrt_explain__text_the_shape[] = "the shape belongs to another build, batch or"
      " sequence length";
static const char qnnrt_explain__text_the_system[] = "The system's library that connects to the DSP"
      " cannot be opened.";
static const char qnnrt_explain__text_unsignedpd[] = "the system does not allow it (SELinux), or"
      " the chip is a mid-range one that does not offer it";
static const char qnnrt_explain__text_use_a[] = "Use a signed process domain, or ask the vendor for"
      " permission.";

static const qnnrt_explain__alias qnnrt_explain__known_aliases[] = {
    { 0, "QNN_PROPERTY_NO_ERROR QNN_PROPERTY_SUPPORTED QNN_OP_PACKAGE_NO_ERROR"
      " QNN_BACKEND_NO_ERROR QNN_CONTEXT_NO_ERROR QNN_GRAPH_NO_ERROR QNN_TENSOR_NO_ERROR"
      " QNN_MEM_NO_ERROR QNN_SIGNAL_NO_ERROR QNN_ERROR_NO_ERROR QNN_LOG_NO_ERROR"
      " QNN_PROFILE_NO_ERROR QNN_HTP_PERF_INFRASTRUCTURE_NO_ERROR QNN_DEVICE_NO_ERROR"
      " QNN_GLOBAL_CONFIG_NO_ERROR QNN_SYSTEM_COMMON_NO_ERROR QNN_SYSTEM_CONTEXT_NO_ERROR"
      " QNN_SYSTEM_DLC_NO_ERROR QNN_SYSTEM_TENSOR_NO_ERROR QNN_SYSTEM_PROFILE_NO_ERROR"
      " QNN_INTERFACE_NO_ERROR QNN_SYSTEM_INTERFACE_NO_ERROR" },
    { 1000, "QNN_PROPERTY_NOT_SUPPORTED QNN_OP_PACKAGE_ERROR_UNSUPPORTED_FEATURE"
      " QNN_CONTEXT_ERROR_UNSUPPORTED_FEATURE QNN_GRAPH_ERROR_UNSUPPORTED_FEATURE"
      " QNN_TENSOR_ERROR_UNSUPPORTED_FEATURE QNN_MEM_ERROR_NOT_SUPPORTED"
      " QNN_SIGNAL_ERROR_UNSUPPORTED QNN_PROFILE_ERROR_UNSUPPORTED"
      " QNN_DEVICE_ERROR_UNSUPPORTED_FEATURE QNN_SYSTEM_COMMON_ERROR_UNSUPPORTED_FEATURE"
      " QNN_SYSTEM_CONTEXT_ERROR_UNSUPPORTED_FEATURE QNN_SYSTEM_DLC_ERROR_UNSUPPORTED_FEATURE"
      " QNN_SYSTEM_TENSOR_ERROR_UNSUPPORTED_FEATURE QNN_SYSTEM_PROFILE_ERROR_UNSUPPORTED_FEATURE"
      " QNN_INTERFACE_ERROR_NOT_SUPPORTED QNN_SYSTEM_INTERFACE_ERROR_NOT_SUPPORTED" },
    { 1002, "QNN_BACKEND_ERROR_MEM_ALLOC QNN_CONTEXT_ERROR_MEM_ALLOC QNN_GRAPH_ERROR_MEM_ALLOC"
      " QNN_SIGNAL_ERROR_MEM_ALLOC QNN_LOG_ERROR_MEM_ALLOC QNN_PROFILE_ERROR_MEM_ALLOC"
      " QNN_DEVICE_ERROR_MEM_ALLOC" },
    { 1004, "QNN_PROFILE_ERROR_INVALID_ARGUMENT QNN_DEVICE_ERROR_INVALID_ARGUMENT"
      " QNN_INTERFACE_ERROR_INVALID_PARAMETER QNN_SYSTEM_INTERFACE_ERROR_INVALID_PARAMETER" },
    { 1006, "QNN_BACKEND_ERROR_UNSUPPORTED_PLATFORM" },
    { 1100, "QNN_OP_PACKAGE_ERROR_GENERAL QNN_GRAPH_ERROR_GENERAL" },
    { 30000, "QNN_SYSTEM_CONTEXT_ERROR_INVALID_HANDLE QNN_SYSTEM_DLC_ERROR_INVALID_HANDLE"
      " QNN_SYSTEM_PROFILE_ERROR_INVALID_HANDLE" },
    { 30001, "QNN_SYSTEM_CONTEXT_ERROR_INVALID_ARGUMENT QNN_SYSTEM_DLC_ERROR_INVALID_ARGUMENT"
      " QNN_SYSTEM_TENSOR_ERROR_INVALID_ARGUMENT QNN_SYSTEM_PROFILE_ERROR_INVALID_ARGUMENT" },
    { 30002, "QNN_SYSTEM_DLC_ERROR_OPERATION_FAILED QNN_SYSTEM_TENSOR_ERROR_INVALID_TENSOR" },
    { 30010, "QNN_SYSTEM_DLC_ERROR_MALFORMED_BINARY" },
};

static const qnnrt_explanation qnnrt_explain__known_codes[] = {
    { 0, "QNN_SUCCESS", NULL, "The call succeeded.", { NULL }, "Go on: nothing is wrong." },
    { 1000, qnnrt_explain__text_code_1000, NULL, "The library does not offer this call, option or"
      " feature here.", { "the x86-64 emulator lacks it: weight-shared contexts, registered memory,"
      " signals", "this backend or release does not know the option, even if its properties list"
      " it" }, "Go on without it, or use a binary that does not need it; the first line that was"
      " logged names what is missing." },
    { 1002, qnnrt_explain__text_code_1002, NULL, "An allocation failed, usually in the NPU's"
      " process domain and not in the phone's memory.", { "the NPU's process domain is full: one"
      " context needs more than about 3.6 GB, or there are too many", "on x86-64, a float graph is"
      " finalized without a chip to compile for", "the process itself is out of memory" },
      "Split the model into shards, load fewer of them, or free contexts first; on x86-64 set"
      " soc_model (57)." },
    { 1003, "QNN_COMMON_ERROR_SYSTEM", NULL, "A service of the operating system failed.",
      { NULL }, qnnrt_explain__text_log },
    { 1004, "QNN_COMMON_ERROR_INVALID_ARGUMENT", NULL, "An argument is wrong.",
      { qnnrt_explain__text_nullpointer, "the library does not know this version of a struct" },
      "Check pointers, and compare struct versions with the library's interface version." },
    { 1005, "QNN_COMMON_ERROR_OPERATION_NOT_PERMITTED", NULL, "The call is not allowed in this"
      " state.", { "the binary was requested of a context that was itself loaded from a binary" },
      "Keep the file that the context was loaded from, or check the order of the calls." },
    { 1006, "QNN_COMMON_ERROR_PLATFORM_NOT_SUPPORTED", NULL, "The library does not run on this"
      " machine.", { "the machine has no chip or driver that the library can use",
      "the GPU library found no OpenCL driver" }, "Use the backend and the libraries of this"
      " platform." },
    { 1007, "QNN_COMMON_ERROR_SYSTEM_COMMUNICATION", NULL, "The connection to the DSP broke; it can"
      " be opened again.", { "the DSP restarted, and all handles became invalid" },
      qnnrt_explain__text_recover },
    { 1008, qnnrt_explain__text_code_1008, NULL, "The libraries that were loaded do not belong"
      " together.", { "stub and skel are of different releases; often the older one is in the"
      " phone's system image", "the skel was not found" }, qnnrt_explain__text_onerelease },
    { 1009, "QNN_COMMON_ERROR_LOADING_BINARIES", NULL, "A library that the backend needs was not"
      " loaded.", { "the skel for this NPU is missing, or its folder is not on the DSP's search"
      " path", "the folders of ADSP_LIBRARY_PATH are separated by ':'" },
      qnnrt_explain__text_skel },
    { 1010, "QNN_COMMON_ERROR_RESOURCE_UNAVAILABLE", NULL, "A resource of the device is in use.",
      { "other contexts hold it, perhaps in another process" }, "Free the contexts that are not"
      " needed and try again." },
    { 1011, "QNN_COMMON_ERROR_SYSTEM_COMMUNICATION_FATAL", NULL, "The connection to the DSP broke,"
      " and everything that used it is lost.", { "the DSP restarted, and all handles became"
      " invalid" }, qnnrt_explain__text_recover },
    { 1100, qnnrt_explain__text_code_1100, NULL, "The call failed inside the library.",
      { "an earlier call failed, such as backendCreate before deviceCreate",
      qnnrt_explain__text_generations }, "Read the first line that was logged; on x86-64 close one"
      " model before you open another." },
    { 2000, "QNN_PROPERTY_ERROR_UNKNOWN_KEY", NULL, "The library does not know this property.",
      { "the key is newer than the library, or it names a group" }, "Assume that the feature does"
      " not exist." },
    { 3000, "QNN_OP_PACKAGE_ERROR_LIBRARY_ALREADY_INITIALIZED", NULL, "The op package was"
      " initialized before.", { "it is registered twice" }, "Register it once per process." },
    { 3001, "QNN_OP_PACKAGE_ERROR_LIBRARY_NOT_INITIALIZED", NULL, "The op package was called before"
      " it was initialized.", { NULL }, qnnrt_explain__text_log },
    { 3002, "QNN_OP_PACKAGE_ERROR_INVALID_HANDLE", NULL, "The op package does not know this"
      " handle.", { NULL }, qnnrt_explain__text_log },
    { 3100, "QNN_OP_PACKAGE_ERROR_INVALID_INFRASTRUCTURE", NULL, "The op package cannot use the"
      " infrastructure that the backend gave it.", { "it was built for another backend or release;"
      " the CPU backend passes a null pointer" }, "Build the package for this backend and"
      " release." },
    { 3101, "QNN_OP_PACKAGE_ERROR_INVALID_INFO", NULL, "The op package describes itself with an"
      " invalid info structure.", { NULL }, "Check the package's info structure, and read the first"
      " line that the library logged." },
    { 3110, "QNN_OP_PACKAGE_ERROR_VALIDATION_FAILURE", NULL, "The operation is not valid with these"
      " parameters and element types.", { "the backend or the chip does not offer it with these"
      " types", "the DSP part was not loaded; the first line that was logged says so" },
      "Use types that the operation has on this chip, and validate it before you add it." },
    { 3200, "QNN_OP_PACKAGE_ERROR_INVALID_ARGUMENT", NULL, "A function of the op package got a"
      " wrong argument.", { NULL }, qnnrt_explain__text_log },
    { 4000, qnnrt_explain__text_code_4000, NULL, "The backend cannot start.",
      { "there is no NPU: the machine has no Snapdragon, or one that the library does not know",
      "the app cannot see libcdsprpc.so (Android)", "this process may not open the device node" },
      "Run it on the device; on Android declare <uses-native-library"
      " android:name=\"libcdsprpc.so\"/> in the manifest." },
    { 4002, "QNN_BACKEND_ERROR_TERMINATE_FAILED", NULL, "The backend could not free what it held.",
      { NULL }, qnnrt_explain__text_log },
    { 4003, "QNN_BACKEND_ERROR_NOT_SUPPORTED", NULL, "The backend does not offer this.",
      { NULL }, "Go on without it, or read the first line that the library logged." },
    { 4004, "QNN_BACKEND_ERROR_INVALID_ARGUMENT", NULL, "An argument for the backend is wrong.",
      { "a log handle was freed, or it comes from another library",
      qnnrt_explain__text_nullpointer }, "Pass handles that this library made, and keep them until"
      " the backend is freed." },
    { 4005, qnnrt_explain__text_code_4005, NULL, qnnrt_explain__text_the_op,
      { "the path is wrong, or the package needs a library that is missing", "the HTP needs the"
      " symbol op_pkg_init, and the package does not export it" }, "Check its path, and check that"
      " it was built for this backend." },
    { 4006, "QNN_BACKEND_ERROR_OP_PACKAGE_IF_PROVIDER_NOT_FOUND",
      NULL, qnnrt_explain__text_the_op_package, { "the name is misspelled, or the symbol is"
      " hidden" }, qnnrt_explain__text_entry },
    { 4007, "QNN_BACKEND_ERROR_OP_PACKAGE_REGISTRATION_FAILED", NULL, "The op package could not be"
      " registered.", { "it is registered already", "its initialization failed" },
      "Register it once, or read the first line that the library logged." },
    { 4008, "QNN_BACKEND_ERROR_OP_PACKAGE_UNSUPPORTED_VERSION", NULL, "The backend does not support"
      " the interface version of the op package.", { "it was built with headers of another"
      " release" }, "Build it with the headers of the library's release." },
    { 4009, "QNN_BACKEND_ERROR_OP_PACKAGE_DUPLICATE", NULL, "An operation with this package and"
      " name is registered already.", { "two packages have the same name" }, "Register one of them,"
      " or rename it." },
    { 4010, "QNN_BACKEND_ERROR_INCONSISTENT_CONFIG", NULL, "Options of the backend contradict each"
      " other or earlier ones.", { NULL }, qnnrt_explain__text_options },
    { 4011, "QNN_BACKEND_ERROR_INVALID_HANDLE", NULL, "There is no such backend.",
      { qnnrt_explain__text_freed }, "Free it once, after everything else." },
    { 4012, "QNN_BACKEND_ERROR_INVALID_CONFIG", NULL, "An option of the backend is not valid.",
      { NULL }, qnnrt_explain__text_options },
    { 4013, "QNN_BACKEND_ERROR_OP_PACKAGE_LOAD_FROM_BUFFER_FAILED", NULL, "An op package that was"
      " passed as bytes cannot be opened.", { "the bytes are not a complete library, or it is for"
      " another architecture" }, "Pass a complete library that was built for this machine." },
    { 4950, "QNN_SAVER_ERROR_DUMMY_RETVALUE", NULL, "libQnnSaver.so only records calls, and it has"
      " no real answer to this one.", { "the program asked the recorder for a size, a binary or"
      " facts about the device" }, "Use a real backend to get results." },
    { 4951, "QNN_SAVER_ERROR_ALREADY_INSTANTIATED", NULL, "libQnnSaver.so is recording already.",
      { "it was configured after its first use, or twice" }, "Configure it once, before"
      " backendCreate." },
    { 5000, qnnrt_explain__text_code_5000, NULL, "The library refused the context.",
      { "made by a newer release than the library, for another chip, or cut short",
      "a null pointer or a size of 0 was passed" }, "Build it with the library's release or ship"
      " newer libraries, or copy the file again." },
    { 5001, "QNN_CONTEXT_ERROR_CTX_DOES_NOT_EXIST", NULL, "There is no such context in this"
      " backend.", { qnnrt_explain__text_freed }, qnnrt_explain__text_reopen },
    { 5002, "QNN_CONTEXT_ERROR_INVALID_HANDLE", NULL, "The handle does not belong to a living"
      " context or backend.", { "it was freed, or its backend was", "the call that should have"
      " created it failed" }, "Check the result of the call that made it, and free each handle"
      " once, in reverse order." },
    { 5003, "QNN_CONTEXT_ERROR_NOT_FINALIZED", NULL, "The context has a graph that is not"
      " finalized.", { "the binary was requested too early" }, "Finalize every graph first." },
    { 5004, qnnrt_explain__text_code_5004, NULL, "The library does not read binaries of this"
      " version.", { "made by a newer release than the library, or by a very old one" },
      "Build it with the library's release, or ship newer libraries." },
    { 5005, qnnrt_explain__text_code_5005, NULL, "The library cannot create a context from this"
      " binary here.", { "it was compiled for another backend or chip", "it needs more VTCM than"
      " the chip has: 8 MB on a chip with 4 MB", "it is damaged or cut short (the CPU backend gives"
      " this code for that)" }, "Compile it for this chip and backend, with a vtcm_mb that the chip"
      " has." },
    { 5006, "QNN_CONTEXT_ERROR_GET_BINARY_SIZE_FAILED", NULL, "The library could not compute the"
      " size of the context's binary.", { NULL }, qnnrt_explain__text_log },
    { 5007, "QNN_CONTEXT_ERROR_GET_BINARY_FAILED", NULL, "The library could not write the context's"
      " binary.", { "the memory passed for it is too small", "the context does not hold what was"
      " requested" }, "Ask for the size right before, and pass that much memory." },
    { 5008, "QNN_CONTEXT_ERROR_BINARY_CONFIGURATION", NULL, "The options inside the binary are not"
      " valid here.", { "it was compiled with options that this chip or release lacks" },
      "Compile it for this chip with the library's release." },
    { 5009, "QNN_CONTEXT_ERROR_SET_PROFILE", NULL, "The library could not attach the profile to the"
      " context.", { NULL }, qnnrt_explain__text_log },
    { 5010, "QNN_CONTEXT_ERROR_INVALID_CONFIG", NULL, "An option of the context is not valid here.",
      { "this library or platform refuses the option, as x86-64 refuses shared buffers",
      "a value is out of range, such as a priority that does not exist" }, "Try again without the"
      " option, or read the first line that the library logged." },
    { 5011, "QNN_CONTEXT_ERROR_BINARY_SUBOPTIMAL", NULL, "The binary would run, but slower than"
      " this chip can.", { "it was compiled for another chip or by an older release, and strict"
      " checking is on" }, "Compile it for this chip, or allow binaries that are not optimal." },
    { 5012, "QNN_CONTEXT_ERROR_ABORTED", NULL, "The program itself stopped this call through a"
      " signal.", { "the program called signalTrigger" }, "Call again: nothing is broken." },
    { 5013, "QNN_CONTEXT_ERROR_TIMED_OUT", NULL, "The call did not finish within the time of its"
      " signal.", { "the time-out is too short for a context of this size" }, "Raise the"
      " time-out." },
    { 5014, "QNN_CONTEXT_ERROR_INCREMENT_INVALID_BUFFER", NULL, "The memory that was released is"
      " not a piece of a binary that the library gave out.", { "it was released twice, or the"
      " library never gave it out" }, "Release exactly what the library gave out, and release it"
      " once." },
    { 6000, qnnrt_explain__text_code_6000, NULL, "An argument for the graph is wrong.",
      { "the list of inputs or of outputs is empty", "a profile or a context does not exist",
      "a parameter of an operation is missing" }, "Check the arguments, and take names, ids, dims"
      " and types from the metadata of the binary itself." },
    { 6001, "QNN_GRAPH_ERROR_INVALID_HANDLE", NULL, "There is no such graph.",
      { "the context of this graph was freed, or was lost with its backend or the DSP",
      "graphRetrieve failed earlier" }, qnnrt_explain__text_reopen },
    { 6002, "QNN_GRAPH_ERROR_GRAPH_DOES_NOT_EXIST", NULL, "The context has no graph of this name.",
      { "the name is misspelled, or it is from another build" }, qnnrt_explain__text_metadata },
    { 6003, "QNN_GRAPH_ERROR_INVALID_NAME", NULL, "The name is empty, unknown, or in use.",
      { "in graphRetrieve: the context has no graph of this name", "in graphCreate: the context has"
      " a graph of this name already" }, "Take the names from the metadata (qnnrt-run inspect), and"
      " give new graphs new names." },
    { 6004, qnnrt_explain__text_code_6004, NULL, "A tensor that was passed does not fit the graph.",
      { "the tensors differ from those the graph was built with, in ids, number or dims",
      "a tensor has no memory, or 0 bytes of it" }, "Bind every tensor, with names, ids, dims and"
      " types from the metadata of the binary itself." },
    { 6005, "QNN_GRAPH_ERROR_INVALID_OP_CONFIG", NULL, "The description of a node does not fit its"
      " operation.", { "the operation does not have these inputs, parameters or element types on"
      " this chip" }, "Compare it with the operation's definition, and validate it before you add"
      " it." },
    { 6006, "QNN_GRAPH_ERROR_SET_PROFILE", NULL, "The library could not attach the profile to the"
      " graph.", { NULL }, qnnrt_explain__text_log },
    { 6007, "QNN_GRAPH_ERROR_UNCONNECTED_NODE", NULL, "A node was added before the nodes that it"
      " depends on.", { "the nodes are in the wrong order" }, "Add the nodes in the order of the"
      " data." },
    { 6020, "QNN_GRAPH_ERROR_CREATE_FAILED", NULL, "The library could not create the graph with"
      " these options.", { NULL }, qnnrt_explain__text_options },
    { 6021, "QNN_GRAPH_ERROR_OPTIMIZATION_FAILED", NULL, "The compiler could not optimize the"
      " graph.", { NULL }, "Lower the optimization level, or read the first line that the library"
      " logged." },
    { 6022, "QNN_GRAPH_ERROR_FINALIZE_FAILED", NULL, "The library could not compile the graph.",
      { "it has no nodes", "an operation has no kernel on the chip" }, "Check the results of adding"
      " nodes, and set the chip (soc_model)." },
    { 6023, "QNN_GRAPH_ERROR_GRAPH_NOT_FINALIZED", NULL, "The graph was executed before it was"
      " finalized.", { "finalize was not called, or it failed" }, "Finalize it first and check the"
      " result." },
    { 6024, "QNN_GRAPH_ERROR_GRAPH_FINALIZED", NULL, "The graph is finalized and can no longer be"
      " changed.", { "a tensor, node or option was added too late, or to a graph of a binary" },
      "Add everything before finalize." },
    { 6025, "QNN_GRAPH_ERROR_EXECUTION_ASYNC_FIFO_FULL", NULL, "Too many asynchronous executes are"
      " waiting.", { "they are queued faster than the NPU finishes them" }, "Wait for one, or"
      " create the context with a deeper queue." },
    { 6030, "QNN_GRAPH_ERROR_SIGNAL_IN_USE", NULL, "Another call uses the signal.",
      { "one signal is passed to two calls at a time" }, "Use one signal per call." },
    { 6031, "QNN_GRAPH_ERROR_ABORTED", NULL, "The execute was stopped before it finished.",
      { "the program triggered its signal", "a graph of higher priority took its memory (VTCM)" },
      "Execute again." },
    { 6032, "QNN_GRAPH_ERROR_PROFILE_IN_USE", NULL, "The profile belongs to another graph.",
      { "one profile is bound to two graphs" }, "Use one profile per graph." },
    { 6033, "QNN_GRAPH_ERROR_TIMED_OUT", NULL, "The graph did not finish within its time-out.",
      { "the NPU is busy, or runs at a low clock", "the time-out is shorter than one run" },
      "Raise the time-out, the priority or the power settings." },
    { 6034, "QNN_GRAPH_ERROR_SUBGRAPH", NULL, "The call is for graphs, and this one is a subgraph.",
      { "the program executed or retrieved a subgraph by itself" }, "Use the graph that it belongs"
      " to." },
    { 6035, "QNN_GRAPH_ERROR_DISABLED", NULL, "The graph was left out when its context was loaded.",
      { "the option that enables graphs does not name it" }, "Name it when you load the context, or"
      " leave the option out." },
    { 6036, "QNN_GRAPH_ERROR_DYNAMIC_TENSOR_SHAPE", NULL, "A dynamic dimension has no valid value,"
      " or the graph has no dynamic dimension.", { "the dims that were passed are not those the"
      " graph was built for" }, "Change only those dims that the metadata marks as dynamic." },
    { 6037, "QNN_GRAPH_ERROR_TENSOR_SPARSITY", NULL, "The description of a sparse tensor does not"
      " fit the graph.", { NULL }, qnnrt_explain__text_log },
    { 6038, "QNN_GRAPH_ERROR_EARLY_TERMINATION", NULL, "An operation stopped the execute early, and"
      " the outputs are incomplete.", { "the graph has an operation that may stop it, and it did" },
      "Treat the outputs as not computed." },
    { 6039, "QNN_GRAPH_ERROR_INVALID_CONTEXT", NULL, "The context of this graph no longer exists.",
      { "it was freed, or was lost when the DSP restarted" }, qnnrt_explain__text_reopen },
    { 6040, "QNN_GRAPH_ERROR_CYCLE_DETECTED", NULL, "The nodes of the graph form a cycle.",
      { "an output feeds a node that it depends on" }, "Check the tensors that join the nodes." },
    { 6999, "QNN_GRAPH_MAX_ERROR", NULL, "The highest number for graphs; it was seen when an"
      " execute failed for a reason without a code.", { "the DSP crashed or timed out during the"
      " execute" }, qnnrt_explain__text_reopen },
    { 7001, "QNN_TENSOR_ERROR_INVALID_HANDLE", NULL, "The tensor does not exist, or its graph or"
      " context does not.", { "a null pointer, or a graph that was freed, was passed" },
      "Check the results of the calls before." },
    { 7002, "QNN_TENSOR_ERROR_DOES_NOT_EXIST", NULL, "The graph or context has no such tensor.",
      { "the id or name is from another graph" }, qnnrt_explain__text_metadata },
    { 7003, "QNN_TENSOR_ERROR_ALREADY_EXISTS", NULL, "The graph has a tensor of this name already.",
      { "the program creates it once for each node that uses it" }, "Create it once." },
    { 7004, qnnrt_explain__text_code_7004, NULL, "A field of the tensor is not valid.",
      { "the library does not accept the element type, such as a 4-bit one", "a tensor that is not"
      " static has data" }, "Pass 4-bit weights one per byte, and create inputs and outputs without"
      " memory." },
    { 7005, "QNN_TENSOR_ERROR_UNSUPPORTED_TENSOR_PARAM", NULL, "A field of the tensor is valid, but"
      " this backend does not support it.", { "this backend lacks the element type or the"
      " encoding" }, "Use a type that it supports, or another backend." },
    { 7006, "QNN_TENSOR_ERROR_NAME_HASH_COLLISION", NULL, "The library cannot tell the names of two"
      " tensors apart.", { "the hashes of the two names are equal" }, "Rename one of them." },
    { 7007, "QNN_TENSOR_ERROR_INCOMPATIBLE_TENSOR_UPDATE", NULL, "This tensor cannot replace the"
      " other one.", { "it was not compiled as updateable", "dims, type or encoding differ" },
      "Compile it as updateable, and keep its dims, type and encoding." },
    { 8000, "QNN_MEM_ERROR_INVALID_ARGUMENT", NULL, "An argument for registering memory is wrong.",
      { "a null pointer, an invalid file descriptor, or no descriptor at all was passed" },
      "Check the descriptor, the shape and the context." },
    { 8001, "QNN_MEM_ERROR_INVALID_HANDLE", NULL, "There is no such registered memory.",
      { "it was released, or its context was freed" }, "Register it again in this context." },
    { 8002, "QNN_MEM_ERROR_ALREADY_REGISTERED", NULL, "This memory is registered already.",
      { "two graphs, such as prefill and decode, share a buffer and each registers it" },
      "Register it once and share the handle." },
    { 8003, "QNN_MEM_ERROR_MAPPING", NULL, "The library could not map the memory for the device.",
      { "it does not come from the device's allocator (rpcmem, dma-buf)", "the address space of the"
      " NPU's process domain is full" }, "Allocate it with rpcmem, or register less of it." },
    { 8004, "QNN_MEM_ERROR_INVALID_SHAPE", NULL, "The shape or the alignment of the memory does not"
      " fit the backend.", { "the offset or the size is not aligned as the backend needs it" },
      "Align it to pages, or at least to 64 bytes." },
    { 8005, "QNN_MEM_ERROR_UNSUPPORTED_MEMTYPE", NULL, "The backend does not accept memory of this"
      " kind.", { "this platform lacks DMA-BUF, ION or custom memory" }, "Use another kind, or"
      " plain memory." },
    { 9000, "QNN_SIGNAL_ERROR_SIGNAL_IN_USE", NULL, "Another call uses the signal, or it does not"
      " exist.", { "one signal is passed to two calls at a time", "the handle does not belong to a"
      " signal" }, "Use one signal per call, and free it after the call." },
    { 9001, "QNN_SIGNAL_ERROR_SIGNAL_IDLE", NULL, "No call uses the signal.",
      { "it was triggered before the call began, or after it ended" }, "Ignore it: there was"
      " nothing to stop." },
    { 9002, "QNN_SIGNAL_ERROR_INVALID_ARGUMENT", NULL, "An option of the signal is not valid.",
      { NULL }, qnnrt_explain__text_log },
    { 9003, "QNN_SIGNAL_ERROR_INVALID_HANDLE", NULL, "There is no such signal.",
      { qnnrt_explain__text_freedorother }, "Create it on this backend." },
    { 9004, "QNN_SIGNAL_ERROR_TIMEOUT", NULL, "The time-out of the signal passed.",
      { "the call takes longer" }, "Raise the time-out." },
    { 9005, "QNN_SIGNAL_ERROR_INCOMPATIBLE_SIGNAL_TYPE", NULL, "The call does not accept a signal"
      " of this kind.", { "a time-out signal was passed instead of an abort signal, or the"
      " reverse" }, "Pass the other kind." },
    { 10000, "QNN_ERROR_INVALID_ARGUMENT", NULL, "An argument of a call for error texts is wrong.",
      { qnnrt_explain__text_nullpointer }, "Pass a pointer that receives the text." },
    { 10001, "QNN_ERROR_INVALID_ERROR_HANDLE", NULL, "The library does not know an error of this"
      " number.", { "the number is of a newer release, or it is not a QNN error" },
      "Look it up by the line that was logged." },
    { 11002, "QNN_LOG_ERROR_INITIALIZATION", NULL, "The log could not start.",
      { NULL }, "Go on without a log handle." },
    { 11003, "QNN_LOG_ERROR_INVALID_ARGUMENT", NULL, "An argument for the log is wrong.",
      { "the level does not exist" }, "Pass a level from 1 (error) to 5 (debug)." },
    { 11004, "QNN_LOG_ERROR_INVALID_HANDLE", NULL, "There is no such log.", { "it was freed, or it"
      " comes from another library" }, "Free it once, after the backend." },
    { 12000, "QNN_PROFILE_ERROR_INVALID_HANDLE", NULL, "There is no such profile.",
      { qnnrt_explain__text_freed }, "Free it once." },
    { 12001, "QNN_PROFILE_ERROR_HANDLE_IN_USE", NULL, "The profile is in use.",
      { "a graph or a call still uses it" }, "Free the graph or the context first." },
    { 12002, "QNN_PROFILE_ERROR_INCOMPATIBLE_EVENT", NULL, "The event has no data of this form.",
      { "the CPU backend has extended events only" }, "Ask for the plain form first, then for the"
      " extended one." },
    { 13000, "QNN_HTP_PERF_INFRASTRUCTURE_ERROR_INVALID_HANDLE_PTR", NULL, "A null pointer was"
      " passed for the handle of a power setting.", { qnnrt_explain__text_nullpointer },
      "Pass a pointer that receives the handle." },
    { 13001, "QNN_HTP_PERF_INFRASTRUCTURE_ERROR_INVALID_INPUT", NULL, "An argument for power"
      " settings is wrong.", { "the device or the core does not exist", "the id was never created,"
      " or it was destroyed" }, "Use device 0, core 0, and the id from createPowerConfigId." },
    { 13002, "QNN_HTP_PERF_INFRASTRUCTURE_ERROR_UNSUPPORTED_CONFIG", NULL, "This chip or release"
      " does not know this power setting.", { NULL }, "Leave it out." },
    { 13003, "QNN_HTP_PERF_INFRASTRUCTURE_ERROR_TRANSPORT", NULL, "A power setting did not reach"
      " the DSP.", { "the DSP restarted, or it was never reached" }, qnnrt_explain__text_reopen },
    { 13004, "QNN_HTP_PERF_INFRASTRUCTURE_ERROR_UNSUPPORTED", NULL, "This platform does not offer"
      " power settings.", { NULL }, "Go on without them." },
    { 13005, "QNN_HTP_PERF_INFRASTRUCTURE_ERROR_MEM_ALLOC", NULL, "The allocation of a power"
      " setting failed.", { "too many settings were created and not destroyed" },
      "Create one setting and keep it." },
    { 13006, "QNN_HTP_PERF_INFRASTRUCTURE_ERROR_FAILED", NULL, "A power setting failed on the DSP.",
      { NULL }, qnnrt_explain__text_log },
    { 14000, "QNN_DEVICE_ERROR_INVALID_HANDLE", NULL, "There is no such device.",
      { qnnrt_explain__text_freed }, "Free it once, before the backend." },
    { 14001, qnnrt_explain__text_code_14001, NULL, "The library could not create the device: an"
      " option is wrong or, far more often, it cannot reach the DSP.", { "no transport to the DSP:"
      " the stub or the skel is missing or not on the search path, or this process cannot open the"
      " driver", "the system does not allow an unsigned process domain", "the library does not know"
      " this soc_model" }, "Check that libQnnHtpV<arch>Stub.so is beside the backend and the Skel"
      " in ADSP_LIBRARY_PATH (separate folders by ';')." },
    { 14002, "QNN_DEVICE_ERROR_HARDWARE_UNAVAILABLE", NULL, "The device cannot be used.",
      { "the library does not support this chip", "it is switched off, is restarting, or another"
      " process holds it" }, "Use libraries of this platform, in a release that lists the chip, or"
      " try again later." },
    { 14003, "QNN_DEVICE_ERROR_ASSOCIATED_TO_CONTEXT", NULL, "Contexts still use the device.",
      { "the device was freed before its contexts" }, "Free the contexts first, then the device,"
      " then the backend." },
    { 14004, "QNN_DEVICE_ERROR_ACCESS_DENIED", NULL, "This process may not use the device.",
      { "the system's policy (SELinux, permissions) denies it" }, "Ask the vendor for permission,"
      " or run as an app that has it." },
    { 15000, "QNN_GLOBAL_CONFIG_ERROR_INVALID_CONFIG", NULL, "A setting for the whole library is"
      " not valid.", { NULL }, "Leave it out, or read the first line that the library logged." },
    { 30000, "QNN_SYSTEM_COMMON_ERROR_INVALID_HANDLE", NULL, "There is no such object of"
      " libQnnSystem.so.", { qnnrt_explain__text_freed }, "Check the results of the calls"
      " before." },
    { 30001, "QNN_SYSTEM_COMMON_ERROR_INVALID_ARGUMENT", NULL, "libQnnSystem.so refused its"
      " arguments.", { "the file is empty", "the file is something else: zeros, JSON, a library" },
      "Check that the file is a context binary and was read completely." },
    { 30002, "QNN_SYSTEM_CONTEXT_ERROR_OPERATION_FAILED", NULL, "libQnnSystem.so failed, or the"
      " binary is not for this chip.", { "the binary is for another chip", "the binary needs more"
      " VTCM than the chip has", "when the size of a tensor was requested: the tensor is not"
      " valid" }, "Compile it for this chip, or read the first line that the library logged." },
    { 30010, qnnrt_explain__text_code_30010, NULL, "The file is not a complete context binary that"
      " this release reads.", { "damaged or cut short, or made by a release that the library cannot"
      " read", "unrelated: this code was also seen for other reasons" }, "Copy the file again and"
      " compare its size, or use a newer libQnnSystem.so." },
    { 31000, "QNN_SYSTEM_PROFILE_ERROR_MEM_ALLOC", NULL, "An allocation for writing profile events"
      " failed.", { "the process is out of memory" }, "Write fewer events at a time." },
    { 0x80000406u, "", NULL, "The DSP did not find the library that it should open.",
      { "the skel's folder is not in ADSP_LIBRARY_PATH, or its folders are separated by ':'",
      "the skel for this NPU generation was not shipped" }, qnnrt_explain__text_skel },
    { 0x8000040Du, "", NULL, "The DSP did not open the skel library.", { "the skel is not on the"
      " DSP's search path, or it is not of the backend's release" }, qnnrt_explain__text_skel },
    { 0x80000414u, "", NULL, qnnrt_explain__text_the_dsp, { qnnrt_explain__text_unsignedpd },
      qnnrt_explain__text_use_a },
    { 0x80000580u, "", NULL, qnnrt_explain__text_the_dsp, { qnnrt_explain__text_unsignedpd },
      qnnrt_explain__text_use_a },
    { 0x80000600u, "", NULL, "The DSP did not open the skel library.", { "the skel's folder is not"
      " in ADSP_LIBRARY_PATH" }, qnnrt_explain__text_skel },
};

/* =====================================================================================
   KNOWN LINES                                                             >>known_lines
   Lines that the vendor's libraries log.
   Needs: >>config >>known_codes (texts)     Knows nothing of: callers
   ===================================================================================== */

static const qnnrt_explanation qnnrt_explain__known_lines[] = {
    { 6004, qnnrt_explain__text_code_6004, "Expected Tensor ID ... not found",
      "The graph has a tensor with this id, but it was not among those passed.",
      { "the ids or their number are from another build of the model, such as a JSON file beside a"
      " newer binary", "inputs and outputs are swapped, or one is left out" },
      "Take ids, dims and types from the metadata of the binary itself." },
    { 6004, qnnrt_explain__text_code_6004, "clientBuf is null", "A tensor was passed without"
      " memory.", { "the tensor was never bound", qnnrt_explain__text_its_size },
      "Bind every input and output, and check the tensor's dims and dtype." },
    { 6004, qnnrt_explain__text_code_6004, "dataSize == 0", "A tensor was passed with memory of 0"
      " bytes.", { qnnrt_explain__text_its_size }, "Check the tensor's dims and dtype: the size is"
      " the number of elements times the size of one." },
    { 6004, qnnrt_explain__text_code_6004, "Tensor ID ... incompatible",
      qnnrt_explain__text_the_dimensions, { qnnrt_explain__text_the_shape }, "Pass the dims that"
      " the metadata gives, or none at all." },
    { 6004, qnnrt_explain__text_code_6004, "Tensor ID ... mismatch",
      qnnrt_explain__text_the_dimensions, { qnnrt_explain__text_the_shape }, "Pass the dims that"
      " the metadata gives, or none at all." },
    { 6004, qnnrt_explain__text_code_6004, "Number of tensors mismatch", "The number of tensors"
      " that were passed differs from the graph's.", { "an input is given twice or left out, or the"
      " list belongs to another graph" }, "Pass each input and output of the metadata once." },
    { 6004, qnnrt_explain__text_code_6004, "No memHandle provided", "A tensor says that its memory"
      " is registered, but gives no handle.", { "its memType is MEMHANDLE, but memRegister failed"
      " or was never called" }, "Register the memory and check the result, or pass plain memory"
      " (memType RAW)." },
    { 6000, qnnrt_explain__text_code_6000, "No inputs provided", "Execute was called without"
      " inputs.", { "the list of inputs is empty: the metadata was not read, or it belongs to"
      " another graph" }, "Pass every input of the metadata." },
    { 6000, qnnrt_explain__text_code_6000, "No outputs provided", "Execute was called without"
      " outputs.", { "the list of outputs is empty: the metadata was not read, or belongs to"
      " another graph" }, "Pass every output of the metadata." },
    { 6000, qnnrt_explain__text_code_6000, "fail to find profile object", "The profile handle that"
      " was passed does not exist.", { qnnrt_explain__text_freedorother }, "Create a profile on"
      " this backend, or pass none." },
    { 9000, "QNN_SIGNAL_ERROR_SIGNAL_IN_USE", "signal[ ... doesn't exist", "The signal handle that"
      " was passed does not exist.", { qnnrt_explain__text_freedorother }, "Create a signal on this"
      " backend, or pass none." },
    { 6033, "QNN_GRAPH_ERROR_TIMED_OUT", "Execute Aborted due to timeout", "The graph did not"
      " finish within its time-out.", { "the NPU is busy with other work, or runs at a low clock",
      "the time-out is shorter than one run of the graph" }, "Raise the time-out, or the priority"
      " and the power settings." },
    { 6031, "QNN_GRAPH_ERROR_ABORTED", "Execute Aborted due to user triggered abort",
      "The program itself stopped this execute through a signal.", { "signalTrigger was called on"
      " the signal that was passed to execute" }, "Execute again: nothing is broken." },
    { 6031, "QNN_GRAPH_ERROR_ABORTED", "VTCM yield re-acquire failure", "The graph gave its fast"
      " memory (VTCM) to another graph and did not get it back.", { "a graph of higher priority,"
      " perhaps of another process, holds the VTCM" }, "Execute again, and give contexts that run"
      " side by side the same priority." },
    { 1100, qnnrt_explain__text_code_1100, "match allocated VTCM pointer", "The x86-64 emulator is"
      " set up for an NPU generation other than this graph's.", { qnnrt_explain__text_generations },
      "Close one model before you open the other; a device does not need this." },
    { 6023, "QNN_GRAPH_ERROR_GRAPH_NOT_FINALIZED", "was not finalized", "The graph is not"
      " finalized.", { "finalize was not called, or it failed and the result was ignored" },
      "Finalize the graph first and check the result." },
    { 5000, qnnrt_explain__text_code_5000, "Using newer context binary", "A release newer than the"
      " library made the binary.", { qnnrt_explain__text_the_model, "an older copy of the library"
      " was found first, such as the phone's own" }, qnnrt_explain__text_release },
    { 5004, qnnrt_explain__text_code_5004, "Can't read future blob", "The inner format of the"
      " binary is newer than the library.", { qnnrt_explain__text_the_model },
      qnnrt_explain__text_release },
    { 5004, qnnrt_explain__text_code_5004, "Versioning error found in Context Blob",
      "The library does not read the inner format of the binary.", { "another release made it",
      "the file is damaged" }, "Compare the binary's release with the library's, or copy the file"
      " again." },
    { 1000, qnnrt_explain__text_code_1000, "Shared weights buffer isn't supported",
      "Graphs of this binary share their weights, and the x86-64 emulator cannot load that.",
      { "it was compiled with weight sharing; releases 2.50 and 2.51 crash after this line" },
      "Run it on a device, or compile it without weight sharing." },
    { 30010, qnnrt_explain__text_code_30010, "Serializer failed to get context blob",
      "The file is not a complete context binary.", { "it was cut short while it was copied or"
      " downloaded", "it is something else: a Git LFS pointer, a JSON file, a library" },
      "Compare its size with the original and copy it again." },
    { 30010, qnnrt_explain__text_code_30010, "Malformed context blob", "The content of the file is"
      " damaged.", { "it was changed or cut short while it was copied or downloaded" },
      "Compare its size and hash with the original, and copy it again." },
    { 5005, qnnrt_explain__text_code_5005, "Failed to parse qnn htp context binary",
      "The file is not a context binary of the HTP.", { "it was compiled for another backend (CPU,"
      " GPU)", "it is damaged or cut short" }, qnnrt_explain__text_open_it },
    { 5005, qnnrt_explain__text_code_5005, "[QNN_CPU] Context de-serialization failed",
      "The file is not a context binary of the CPU backend.", { "it was compiled for another"
      " backend, such as the HTP", "it is damaged or cut short" }, qnnrt_explain__text_open_it },
    { 5000, qnnrt_explain__text_code_5000, "invalid binary buffer size passed",
      "A binary of 0 bytes was passed.", { "the file is empty, or reading it failed and nobody"
      " checked" }, "Check the file and the size that is passed." },
    { 5000, qnnrt_explain__text_code_5000, "nullptr input parameter", "A null pointer was passed"
      " where a value is needed.", { "the binary was not read, or a handle was not created" },
      "Check the pointers that are passed, and the results of the calls before." },
    { 5005, qnnrt_explain__text_code_5005, "VTCM size ... not supported", "The binary needs more"
      " fast memory (VTCM) than this chip has.", { "it was compiled for a larger chip: 8 MB of VTCM"
      " on a chip with 4 MB" }, "Compile it for this chip, or with a smaller vtcm_mb." },
    { 1002, qnnrt_explain__text_code_1002, "Failed to find available PD", "The NPU has no process"
      " domain with room for this context.", { "the contexts of this process together need more"
      " than about 3.6 GB", "many small contexts are loaded at the same time" },
      "Split the model into shards, load fewer at a time, or free contexts first." },
    { 6003, "QNN_GRAPH_ERROR_INVALID_NAME", "Failed to find graph ... in the context",
      "The context has no graph of this name.", { "the name is misspelled, or it is from another"
      " build" }, "Take the names from the metadata (qnnrt-run inspect)." },
    { 1005, "QNN_COMMON_ERROR_OPERATION_NOT_PERMITTED", "Querying binary size after de-serializing"
      " binary is illegal", "A context that was loaded from a binary cannot be written as one"
      " again.", { "the binary of a loaded context was requested" }, "Keep the file that it was"
      " loaded from." },
    { 1100, qnnrt_explain__text_code_1100, "a deserialized context cannot be modified",
      "A context that was loaded from a binary does not accept new graphs.",
      { "graphCreate was called on a loaded context" }, "Create an empty context for new graphs." },
    { 1000, qnnrt_explain__text_code_1000, "was finalized already", "The graph is finalized; graphs"
      " of a binary always are.", { "graphFinalize was called twice, or on a loaded graph" },
      "Leave the call out." },
    { 5010, "QNN_CONTEXT_ERROR_INVALID_CONFIG", "Passed invalid priority value",
      "The priority is outside the range that the line gives.", { "the number is not one of the"
      " vendor's priorities" }, "Pass one of these: 0 low, 100 normal, 150 normal high, 200"
      " high." },
    { 4000, qnnrt_explain__text_code_4000, "No Snapdragon SOC detected", "The library for real"
      " devices did not find a Qualcomm chip.", { "the aarch64 library runs on a machine without an"
      " NPU", "/sys/devices/soc0 cannot be read, or it names a chip that the library does not"
      " know" }, "Run it on the device, or use the x86-64 library, which emulates the NPU." },
    { 4000, qnnrt_explain__text_code_4000, "Unsupported SoC model", "The library does not support"
      " this chip.", { "the Linux libraries support fewer chips than those for Android" },
      "Use the libraries of this platform, in a release that lists the chip." },
    { 14001, qnnrt_explain__text_code_14001, "loading stub ... libcdsprpc.so",
      qnnrt_explain__text_the_system, { qnnrt_explain__text_on_android, "the machine has no such"
      " library, because it has no DSP" }, qnnrt_explain__text_cdsprpc },
    { 14001, qnnrt_explain__text_code_14001, "loading stub", "The stub library, the CPU's side of"
      " the connection to the DSP, cannot be opened.", { "libQnnHtpV<arch>Stub.so is not beside"
      " libQnnHtp.so", "it needs a library that is missing" }, "Ship the stub of the chip's NPU"
      " generation, of the same release, beside the backend." },
    { 1008, qnnrt_explain__text_code_1008, "Failed to reset stub artifact load status",
      "The stub is of another release than the backend.", { "an older stub was found first, such as"
      " the phone's own copy" }, qnnrt_explain__text_onerelease },
    { 1008, qnnrt_explain__text_code_1008, "lib id mismatch", "Backend, stub and skel are not of"
      " one release.", { "an older stub or skel was found first, such as the copy in the phone's"
      " system image" }, qnnrt_explain__text_onerelease },
    { 14001, qnnrt_explain__text_code_14001, "Unknown rpc status", "The DSP refused to open the"
      " skel library, which runs on it.", { "this app may not use an unsigned process domain"
      " (SELinux, mid-range chips)" }, "Ask the vendor for permission or a signed process"
      " domain." },
    { 14001, qnnrt_explain__text_code_14001, "crc32 failed in cpu", "The data that came back from"
      " the DSP is not what the stub expects.", { "stub and skel are not of one release" },
      qnnrt_explain__text_onerelease },
    { 14001, qnnrt_explain__text_code_14001, "qnn_open failed", "The DSP could not open the skel"
      " library, which runs on it.", { qnnrt_explain__text_its_folder, "the skel is of another"
      " release or NPU generation" }, qnnrt_explain__text_skel },
    { 1009, "QNN_COMMON_ERROR_LOADING_BINARIES", "Failed to load skel", "The DSP did not load the"
      " skel library, which runs on it.", { qnnrt_explain__text_its_folder, "the stub could not be"
      " opened; the line before says so" }, qnnrt_explain__text_skel },
    { 14001, qnnrt_explain__text_code_14001, "loadRemoteSymbols failed", "The library cannot reach"
      " the DSP.", { "the stub or libcdsprpc.so could not be opened; a warning before this line"
      " names it" }, "Set log_level to 2 (warnings) and read the first line." },
    { 14001, qnnrt_explain__text_code_14001, "Transport layer setup failed", "The library cannot"
      " reach the DSP.", { "the stub, the skel or libcdsprpc.so could not be opened; a line before"
      " this one names it" }, "Set log_level to 2 (warnings) and read the first line." },
    { 14001, qnnrt_explain__text_code_14001, "config socModel", "The library does not know the chip"
      " that was requested.", { "soc_model is misspelled, or newer than the library; release 2.49"
      " refuses every value" }, "Leave soc_model 0, or use a release that knows the chip." },
    { 14003, "QNN_DEVICE_ERROR_ASSOCIATED_TO_CONTEXT", "There are context still associated",
      "Contexts still use the device.", { "the device was freed before its contexts" },
      "Free the contexts first, then the device, then the backend." },
    { 1100, qnnrt_explain__text_code_1100, "Unable to initialize device backend",
      "The device cannot start, because the backend did not.", { "backendCreate or logCreate failed"
      " before" }, "Read the first line that the library logged, not this one." },
    { 5000, qnnrt_explain__text_code_5000, "provider isn't initialized", "The library cannot create"
      " the context, because the backend did not start.", { "backendCreate or logCreate failed"
      " before" }, "Read the first line that the library logged, not this one." },
    { 4000, qnnrt_explain__text_code_4000, "TuningMode must be enabled", "The GPU library does not"
      " run on x86-64.", { "there is no Adreno GPU in this machine" }, "Run it on a device, or use"
      " libQnnHtp.so or libQnnCpu.so." },
    { 1006, "QNN_COMMON_ERROR_PLATFORM_NOT_SUPPORTED", "Invalid OpenCL driver path",
      "The GPU library did not find an OpenCL driver.", { "there is no Adreno GPU, or the app"
      " cannot see libOpenCL.so" }, "Declare <uses-native-library android:name=\"libOpenCL.so\"/>"
      " in the app's manifest (Android)." },
    { 1000, qnnrt_explain__text_code_1000, "QnnMem API is not supported", "This library does not"
      " accept registered memory.", { "the x86-64 emulator does not support it, although its"
      " properties say so" }, "Pass plain memory." },
    { 1000, qnnrt_explain__text_code_1000, "API not supported", "The library does not implement"
      " this call.", { "only some backends or platforms have it" }, "Go on without it." },
    { 6000, qnnrt_explain__text_code_6000, "Unknown or unsupported backend ID",
      "libQnnSaver.so cannot check the options of the backend that it was told to record for.",
      { "the option is set while a graph has options of a vendor" }, "Leave out the option that"
      " sets the backend's id." },
    { 1002, qnnrt_explain__text_code_1002, "no properties registered for", "The target NPU"
      " generation has no kernel for this operation.", { qnnrt_explain__text_no_chip,
      qnnrt_explain__text_the_release, "there is no operation of this name" },
      qnnrt_explain__text_set_a },
    { 1002, qnnrt_explain__text_code_1002, "could not create op", "The target NPU generation has no"
      " kernel for this operation.", { qnnrt_explain__text_no_chip, qnnrt_explain__text_the_release,
      "there is no operation of this name" }, qnnrt_explain__text_set_a },
    { 3110, "QNN_OP_PACKAGE_ERROR_VALIDATION_FAILURE", "Unsupported input/output datatypes",
      "The operation exists, but not with these element types.", { "the types of inputs and outputs"
      " do not fit together, or the chip lacks one of them" }, "Use a combination that the"
      " operation's documentation lists for the chip." },
    { 6000, qnnrt_explain__text_code_6000, "Failed to set the params for the op",
      "A parameter of the operation is missing, or it has a wrong type.", { "a required parameter"
      " was left out" }, "Compare the parameters with the operation's definition." },
    { 6022, "QNN_GRAPH_ERROR_FINALIZE_FAILED", "Graph has zero node", "The graph is empty.",
      { "no node was added, or adding them failed and the results were ignored" },
      "Add the nodes first, and check each result." },
    { 6003, "QNN_GRAPH_ERROR_INVALID_NAME", "Graph name is a duplicate", "The context has a graph"
      " of this name already.", { "a graph was created twice" }, "Give every graph of a context its"
      " own name." },
    { 7003, "QNN_TENSOR_ERROR_ALREADY_EXISTS", "already exists in the graph", "The graph has a"
      " tensor of this name already.", { "a tensor that two nodes use was created for each of"
      " them" }, "Create it once and pass it to both nodes." },
    { 7007, "QNN_TENSOR_ERROR_INCOMPATIBLE_TENSOR_UPDATE", "not found in the updatable tensors",
      "The tensor cannot be replaced.", { "it was not compiled as updateable" },
      "Compile it as updateable; qnnrt-run inspect lists the updateable ones." },
    { 7001, "QNN_TENSOR_ERROR_INVALID_HANDLE", "No tensor provided", "A null pointer was passed for"
      " a tensor.", { "the tensor was not created" }, "Pass a tensor." },
    { 7004, qnnrt_explain__text_code_7004, "tensor datatype ... not supported",
      "The library does not accept a tensor of this element type.", { "4-bit weights were passed as"
      " a 4-bit type" }, "Pass 4-bit weights one per byte, in an 8-bit type with a 4-bit"
      " encoding." },
    { 7004, qnnrt_explain__text_code_7004, "client buffer should be nullptr", "An input or output"
      " was created with memory of its own.", { "only static tensors have data when they are"
      " created" }, "Pass the memory to execute." },
    { 6024, "QNN_GRAPH_ERROR_GRAPH_FINALIZED", "a finalized graph cannot be modified",
      "The graph is finalized and does not accept more tensors or nodes.", { "something was added"
      " after finalize, or to a graph of a binary" }, "Add everything before finalize." },
    { 5007, "QNN_CONTEXT_ERROR_GET_BINARY_FAILED", "buffer size provided is insufficient",
      "The memory passed for the binary is too small.", { "the context changed after its size was"
      " requested" }, "Ask for the size again, and pass that much memory." },
    { 4005, qnnrt_explain__text_code_4005, "Unable to find the op package init",
      "The library is not an op package for the HTP.", { "it lacks the function op_pkg_init, which"
      " the vendor's C++ template defines" }, "Build the package from the vendor's template, for"
      " this backend." },
    { 4006, "QNN_BACKEND_ERROR_OP_PACKAGE_IF_PROVIDER_NOT_FOUND", "Symbol lookup failed",
      qnnrt_explain__text_the_op_package, { "the name is misspelled, or the symbol is hidden" },
      qnnrt_explain__text_entry },
    { 4005, qnnrt_explain__text_code_4005, "[QNN_CPU] Failed to open library",
      qnnrt_explain__text_the_op, { qnnrt_explain__text_the_path }, qnnrt_explain__text_check_the },
    { 4005, qnnrt_explain__text_code_4005, "Error attempting to load dynamic library",
      qnnrt_explain__text_the_op, { qnnrt_explain__text_the_path }, qnnrt_explain__text_check_the },
    { 0, "", "unexpected GraphHtpSettings option", "Release 2.51 logs this whenever a graph is"
      " created; it is harmless.", { NULL }, "Ignore this line and read the others." },
    { 0, "", "LIBNATIVE: No alternate configuration", "The x86-64 library prints this when it is"
      " loaded; it is harmless.", { NULL }, "Ignore this line and read the others." },
    { 0, "", "libc++ ... cannot open shared object file", "The vendor's x86-64 library did not find"
      " a library that it needs.", { "libQnnHtp.so was copied without onnxruntime_qnn.libs, the"
      " folder beside its own" }, "Keep both folders of the wheel side by side." },
    { 0, "", "libcdsprpc.so ... not found", qnnrt_explain__text_the_system,
      { qnnrt_explain__text_on_android }, qnnrt_explain__text_cdsprpc },
    { 0, "", "libcdsprpc.so ... cannot open shared object file", qnnrt_explain__text_the_system,
      { "the machine has no such library, because it has no DSP" }, "Run it on the device." },
};

static const qnnrt_explain__data *qnnrt_explain__get_data(void)
{
    static const qnnrt_explain__data data = {
        qnnrt_explain__known_codes,
        sizeof(qnnrt_explain__known_codes) / sizeof(qnnrt_explain__known_codes[0]),
        qnnrt_explain__known_lines,
        sizeof(qnnrt_explain__known_lines) / sizeof(qnnrt_explain__known_lines[0]),
        qnnrt_explain__known_aliases,
        sizeof(qnnrt_explain__known_aliases) / sizeof(qnnrt_explain__known_aliases[0])
    };
    return &data;
}

/* ---- end of vendor data ---- */

#ifdef __cplusplus
}
#endif
#endif /* QNNRT_EXPLAIN__IMPL_ONCE */
#endif /* QNNRT_EXPLAIN_IMPLEMENTATION */

/* ------------------------------------------------------------------------------------------------
   LICENCE: public domain (unlicense.org) or MIT, at your choice; both texts are in the file
   LICENSE.

   HISTORY
   0.5.0   First version: qnnrt_explain() was in qnnrt.h.
   --------------------------------------------------------------------------------------------- */
