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
       The options of qnnrt.h work here too: QNNRT_STATIC, QNNRT_API. With QNNRT_NO_ERROR_TEXT only
       lines are known.

   MANUAL

   Lines and codes
       A code says little: 5000 has five causes. The first line that the library logged tells which
       one applies. qnnrt.h knows the codes (qnnrt_explain_code()); this header knows the lines, and
       finds codes and symbols in a text that a person pasted.

   ROOMS (search for the tag)
       >>config >>word >>line >>error >>public >>lines
*/
#ifndef QNNRT_EXPLAIN_H
#define QNNRT_EXPLAIN_H

#include "qnnrt.h"

#if QNNRT_VERSION_MAJOR != 0 || QNNRT_VERSION_MINOR < 5
#error "this qnnrt_explain.h needs qnnrt.h 0.5 or newer, below 1.0"
#endif

#ifndef QNNRT_EXPLAIN_API
#define QNNRT_EXPLAIN_API QNNRT_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Return what is known about a text: a decimal or hexadecimal code ("5000", "0x1388"), a symbol, or
   lines of a log, pasted as they are: the first known line is used. Case is ignored. NULL: nothing
   is known. */
QNNRT_EXPLAIN_API const qnnrt_explanation *qnnrt_explain(const char *text);

/* Return all entries: those of codes in ascending order, then those of lines, then NULL. */
QNNRT_EXPLAIN_API const qnnrt_explanation *qnnrt_explain_get(size_t index);

/* Look for known lines among those that an error's text has from the library. The line that tells
   the cause is the first error, because later ones follow from it, or a known warning before it,
   because the libraries only warn of a missing stub. If it is known, set err->cause and err->hint
   to what it means. err may be NULL. */
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
    const qnnrt_explanation *entry = qnnrt_explain_code(code);
    return entry != NULL && entry->code == code ? entry : NULL;
}

/* Return the entry of a symbol, or of another name for it, or NULL. */
static const qnnrt_explanation *qnnrt_explain__word_symbol(const char *word, size_t length)
{
    const qnnrt_explain__data *data = qnnrt_explain__get_data();
    const qnnrt_explanation *entry;
    size_t i;
    /* All names begin with QNN_. */
    if (length == 0 || qnnrt_explain__word_lower(word[0]) != 'q') return NULL;
    for (i = 0; (entry = qnnrt_explanation_get(i)) != NULL; ++i)
        if (qnnrt_explain__word_among(word, length, entry->symbol)) return entry;
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
    size_t codes = 0;
    while (codes <= index && qnnrt_explanation_get(codes) != NULL) ++codes;
    if (index < codes) return qnnrt_explanation_get(index);
    return index - codes < data->line_count ? &data->lines[index - codes] : NULL;
}

QNNRT_EXPLAIN_API void qnnrt_explain_error(qnnrt_error *err)
{
    const qnnrt_explanation *line = err != NULL ? qnnrt_explain__error_line(err->text) : NULL;
    const qnnrt_explanation *code = line != NULL ? qnnrt_explain_code(err->vendor_code) : NULL;
    /* A cause that is not the code's own stays: it comes from a function that knew more. */
    if (line == NULL || (err->cause != NULL && (code == NULL || err->cause != code->causes[0])))
        return;
    if (err->cause != NULL)
        qnnrt_error_add(err, "\n  another cause of this code: %s; in that case: %s", err->cause,
                        err->hint);
    err->cause = line->causes[0];
    err->hint[0] = '\0';
    qnnrt_error_hint(err, err->code, "%s", line->fix);
}

/* ---- vendor data: `make vendor` writes all from here to its end, see tools/vendor ---- */

/* =====================================================================================
   KNOWN LINES                                                                   >>lines
   Lines that the vendor's libraries log, and other symbols of codes.
   Needs: >>config     Knows nothing of: callers
   ===================================================================================== */

/* Texts of several entries. */
static const char qnnrt_explain__text_cdsprpc[] = "Declare <uses-native-library"
      " android:name=\"libcdsprpc.so\"/> in the app's manifest, and never ship a copy of it.";
static const char qnnrt_explain__text_check_the[] = "Check the path, and read the loader's reason"
      " at the end of the line.";
static const char qnnrt_explain__text_code_1000[] = "QNN_COMMON_ERROR_NOT_SUPPORTED";
static const char qnnrt_explain__text_code_14001[] = "QNN_DEVICE_ERROR_INVALID_CONFIG";
static const char qnnrt_explain__text_code_4000[] = "QNN_BACKEND_ERROR_CANNOT_INITIALIZE";
static const char qnnrt_explain__text_code_4005[] = "QNN_BACKEND_ERROR_OP_PACKAGE_NOT_FOUND";
static const char qnnrt_explain__text_code_5000[] = "QNN_CONTEXT_ERROR_INVALID_ARGUMENT";
static const char qnnrt_explain__text_code_5005[] = "QNN_CONTEXT_ERROR_CREATE_FROM_BINARY";
static const char qnnrt_explain__text_code_6000[] = "QNN_GRAPH_ERROR_INVALID_ARGUMENT";
static const char qnnrt_explain__text_code_6004[] = "QNN_GRAPH_ERROR_INVALID_TENSOR";
static const char qnnrt_explain__text_its_folder[] = "its folder is not in ADSP_LIBRARY_PATH, or"
      " the folders are separated by ':'";
static const char qnnrt_explain__text_its_size[] = "its size is 0: a dimension is 0 or dynamic, or"
      " the element type has no known size";
static const char qnnrt_explain__text_no_chip[] = "no chip was set, and the x86-64 library then"
      " compiles for v68, which lacks float kernels";
static const char qnnrt_explain__text_on_android[] = "on Android the app cannot see it, because its"
      " manifest does not declare it";
static const char qnnrt_explain__text_onerelease[] = "Ship backend, stub and skel of one release,"
      " and put their folder first in ADSP_LIBRARY_PATH.";
static const char qnnrt_explain__text_open_it[] = "Open it with the backend it was compiled for, or"
      " compare its size with the original.";
static const char qnnrt_explain__text_release[] = "Ship the libraries of the binary's release or"
      " newer, or compile the model with the older release.";
static const char qnnrt_explain__text_set_a[] = "Set a chip (soc_model 57, or the device's), or use"
      " a newer release or another form of the operation.";
static const char qnnrt_explain__text_skel[] = "Put libQnnHtpV<arch>Skel.so into a folder of"
      " ADSP_LIBRARY_PATH (separate folders by ';', not by ':').";
static const char qnnrt_explain__text_the_dimensions[] = "The dimensions of a tensor differ from"
      " those the graph was built with.";
static const char qnnrt_explain__text_the_model[] = "the model was compiled with a QAIRT release"
      " newer than the shipped libraries";
static const char qnnrt_explain__text_the_path[] = "the path is wrong, the package is for another"
      " machine, or it needs a library that is missing";
static const char qnnrt_explain__text_the_release[] = "the release lacks the kernel: 2.47 and 2.48"
      " lack the kernel for RmsNorm without beta";
static const char qnnrt_explain__text_the_shape[] = "the shape belongs to another build, batch or"
      " sequence length";
static const char qnnrt_explain__text_the_system[] = "The system's library that connects to the DSP"
      " cannot be opened.";

static const qnnrt_explain__alias qnnrt_explain__lines_aliases[] = {
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

static const qnnrt_explanation qnnrt_explain__lines_known[] = {
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
      " was passed does not exist.", { "it was freed, or it belongs to another backend" },
      "Create a profile on this backend, or pass none." },
    { 9000, "QNN_SIGNAL_ERROR_SIGNAL_IN_USE", "signal[ ... doesn't exist", "The signal handle that"
      " was passed does not exist.", { "it was freed, or it belongs to another backend" },
      "Create a signal on this backend, or pass none." },
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
    { 1100, "QNN_COMMON_ERROR_GENERAL", "match allocated VTCM pointer", "The x86-64 emulator is set"
      " up for an NPU generation other than this graph's.", { "contexts for two NPU generations"
      " (v68, v75) are loaded in this process, and the x86-64 emulator runs only those loaded"
      " last" }, "Close one model before you open the other; a device does not need this." },
    { 6023, "QNN_GRAPH_ERROR_GRAPH_NOT_FINALIZED", "was not finalized", "The graph is not"
      " finalized.", { "finalize was not called, or it failed and the result was ignored" },
      "Finalize the graph first and check the result." },
    { 5000, qnnrt_explain__text_code_5000, "Using newer context binary", "A release newer than the"
      " library made the binary.", { qnnrt_explain__text_the_model, "an older copy of the library"
      " was found first, such as the phone's own" }, qnnrt_explain__text_release },
    { 5004, "QNN_CONTEXT_ERROR_BINARY_VERSION", "Can't read future blob", "The inner format of the"
      " binary is newer than the library.", { qnnrt_explain__text_the_model },
      qnnrt_explain__text_release },
    { 5004, "QNN_CONTEXT_ERROR_BINARY_VERSION", "Versioning error found in Context Blob",
      "The library does not read the inner format of the binary.", { "another release made it",
      "the file is damaged" }, "Compare the binary's release with the library's, or copy the file"
      " again." },
    { 1000, qnnrt_explain__text_code_1000, "Shared weights buffer isn't supported",
      "Graphs of this binary share their weights, and the x86-64 emulator cannot load that.",
      { "it was compiled with weight sharing; releases 2.50 and 2.51 crash after this line" },
      "Run it on a device, or compile it without weight sharing." },
    { 30010, "QNN_SYSTEM_CONTEXT_ERROR_MALFORMED_BINARY", "Serializer failed to get context blob",
      "The file is not a complete context binary.", { "it was cut short while it was copied or"
      " downloaded", "it is something else: a Git LFS pointer, a JSON file, a library" },
      "Compare its size with the original and copy it again." },
    { 30010, "QNN_SYSTEM_CONTEXT_ERROR_MALFORMED_BINARY", "Malformed context blob",
      "The content of the file is damaged.", { "it was changed or cut short while it was copied or"
      " downloaded" }, "Compare its size and hash with the original, and copy it again." },
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
    { 1002, "QNN_COMMON_ERROR_MEM_ALLOC", "Failed to find available PD", "The NPU has no process"
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
    { 1100, "QNN_COMMON_ERROR_GENERAL", "a deserialized context cannot be modified",
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
    { 1008, "QNN_COMMON_ERROR_INCOMPATIBLE_BINARIES", "Failed to reset stub artifact load status",
      "The stub is of another release than the backend.", { "an older stub was found first, such as"
      " the phone's own copy" }, qnnrt_explain__text_onerelease },
    { 1008, "QNN_COMMON_ERROR_INCOMPATIBLE_BINARIES", "lib id mismatch", "Backend, stub and skel"
      " are not of one release.", { "an older stub or skel was found first, such as the copy in the"
      " phone's system image" }, qnnrt_explain__text_onerelease },
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
    { 1100, "QNN_COMMON_ERROR_GENERAL", "Unable to initialize device backend",
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
    { 1002, "QNN_COMMON_ERROR_MEM_ALLOC", "no properties registered for", "The target NPU"
      " generation has no kernel for this operation.", { qnnrt_explain__text_no_chip,
      qnnrt_explain__text_the_release, "there is no operation of this name" },
      qnnrt_explain__text_set_a },
    { 1002, "QNN_COMMON_ERROR_MEM_ALLOC", "could not create op", "The target NPU generation has no"
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
    { 7004, "QNN_TENSOR_ERROR_INVALID_TENSOR_PARAM", "tensor datatype ... not supported",
      "The library does not accept a tensor of this element type.", { "4-bit weights were passed as"
      " a 4-bit type" }, "Pass 4-bit weights one per byte, in an 8-bit type with a 4-bit"
      " encoding." },
    { 7004, "QNN_TENSOR_ERROR_INVALID_TENSOR_PARAM", "client buffer should be nullptr",
      "An input or output was created with memory of its own.", { "only static tensors have data"
      " when they are created" }, "Pass the memory to execute." },
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
      "The op package does not export the function that was given as its entry.",
      { "the name is misspelled, or the symbol is hidden" }, "List the symbols of the package (nm"
      " -D) and pass the right name." },
    { 4005, qnnrt_explain__text_code_4005, "[QNN_CPU] Failed to open library",
      "The op package cannot be opened.", { qnnrt_explain__text_the_path },
      qnnrt_explain__text_check_the },
    { 4005, qnnrt_explain__text_code_4005, "Error attempting to load dynamic library",
      "The op package cannot be opened.", { qnnrt_explain__text_the_path },
      qnnrt_explain__text_check_the },
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
        qnnrt_explain__lines_known,
        sizeof(qnnrt_explain__lines_known) / sizeof(qnnrt_explain__lines_known[0]),
        qnnrt_explain__lines_aliases,
        sizeof(qnnrt_explain__lines_aliases) / sizeof(qnnrt_explain__lines_aliases[0])
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
