/* io.h - qnnrt-run: values in files, what inferences read and write, and files that carry contexts

   Needs:   base cli model

   UNITS    guard.c: >>guard                        values.c: >>values
            value_files.c: >>value_files            list.c: >>lists
            inputs.c: >>inputs >>selections         feed.c: >>feed
            digest.c: >>digest >>watch              run.c: >>outputs >>run
            span.c: >>span                          inflate.c: >>inflate
            zip.c: >>zip                            pieces.c: >>pieces
            flatbuffer.c: >>flatbuffer              pte.c: >>pte
            onnx.c: >>epcontext                     dlc.c: >>dlc
            archive.c: >>archive                    extract.c: >>extract
            config.c: >>config_file                 checks.c: >>checks
            states.c: >>run_states */
#ifndef RUN_IO_IO_H
#define RUN_IO_IO_H

#include "run/base/base.h"
#include "qnnrt_weights.h"

/* ---- guard.c: --guard names the tensor whose bounds a backend violates ---- */

/* Watch the tensors of a run. */
void guard_begin(const job *j, qnnrt_run *run);

void guard_end(void);

/* ---- values.c: values of tensors in memory, and random ones ---- */

/* Find the type with a name of qnnrt_dtype_name(). Return 0 if there is none. */
int dtype_of(const char *name, qnnrt_dtype *out);

int value_is_float(qnnrt_dtype dtype);

/* Return the integer type in which a quantized type is stored; any other type as it is. */
qnnrt_dtype value_stored(qnnrt_dtype dtype);

/* Return the bytes of an element, 0 for types that do not fill bytes. */
size_t value_size(qnnrt_dtype dtype);

/* Convert elements between two types of the same kind, or a number type and bool; count in *lost
   those that did not fit. */
int value_convert_counted(qnnrt_dtype from, const void *data, qnnrt_dtype to, void *out,
                          uint64_t count, uint64_t *lost);

/* Read elements of any type. Return 0 for a type that graphs do not have. */
int value_get(qnnrt_dtype dtype, const void *data, double *out, uint64_t count);

/* Write elements of any type; those of integers and bools are whole. */
int value_put(qnnrt_dtype dtype, const double *from, void *data, uint64_t count);

/* Return the next of a sequence of random numbers: SplitMix64. */
uint64_t value_random(uint64_t *state);

/* Read "random:SEED". */
int value_seed(const char *text, uint64_t *seed);

/* Fill a tensor with random values: floats from -1 to below 1, all bits if quantized, bools, and
   integers of 0 and 1, or from low to high. The sequence begins with the sum of the seed and the
   64-bit FNV-1a hash of the tensor's name; each element takes one number of it. Return 0 for a type
   of another kind. */
int value_fill(const qnnrt_tensor_info *tensor, uint64_t seed, int32_t low, int32_t high,
               void *out);

/* ---- value_files.c: files of values: raw, .npy and .safetensors ---- */

enum { VALUE_RANK = 32, VALUE_BYTES = 1 << 30 };     /* VALUE_BYTES: most of a file that is read */

typedef struct value_file {
    qnnrt_dtype          dtype;        /* UNDEFINED: the file does not say it                  */
    uint32_t             rank;         /* 0 with UNDEFINED                                     */
    uint64_t             dims[VALUE_RANK], count;
    const void          *data;         /* [bytes], with any alignment                          */
    size_t               bytes;
    char                *room;         /* owned                                                */
    qnnrt_weights       *weights;      /* owned                                                */
} value_file;

int value_suffix(const char *path, const char *suffix);

/* Fill an error. Return 0. */
CLI_FORMAT(3, 4) int value_fail(qnnrt_error *err, const char *hint, const char *format, ...);

/* Read the head of an .npy file in file->room. Return NULL, or why it cannot be read. */
const char *npy_read(value_file *file);

void value_close(value_file *file);

/* Find a tensor in an open .safetensors file: the one with this name, or the only one. */
int value_find(const qnnrt_weights *weights, const char *name, value_file *file, qnnrt_error *err);

/* Open a file of values. name: of the tensor in a .safetensors file; most: bytes to read, at most
   VALUE_BYTES. Return 0 with an error, which does not name the file; the caller says value_close()
   in both cases. */
int value_open(const char *path, const char *name, size_t most, value_file *file, qnnrt_error *err);

/* Return 1 if the dims of a file are those of a tensor, apart from dims of 1. */
int value_fits(const value_file *file, uint32_t rank, const uint32_t *dims);

/* Return "[2,3]" for a file. The caller frees it. */
char *value_dims(const value_file *file);

/* Decide what so many raw bytes are for a tensor: *real: 1 float32 values, 0 its own bytes. Return
   0 with an error if they are neither. */
int value_raw_fits(uint64_t bytes, const qnnrt_tensor_info *tensor, number_form form,
                   int *real, qnnrt_error *err);

/* True for types of whole numbers, which a float32 file must hold exactly. */
int takes_whole_numbers(const qnnrt_tensor_info *tensor);

/* Take the values of a file for a tensor, whose dims and bytes are those of now. out has room for
   tensor->bytes and for tensor->count floats. *real: 1: it received float32 values; 0: the bytes of
   the tensor. form: FORM_FLOAT: raw bytes are float32, and the values of a file of integers are
   real numbers; else integers are what a quantized tensor stores. Return 0 with an error. */
int value_take(const value_file *file, const qnnrt_tensor_info *tensor, number_form form,
               void *out, int *real, qnnrt_error *err);

typedef struct value_out {             /* a tensor that is written                             */
    const char     *name;              /* in a .safetensors file; each name once               */
    qnnrt_dtype     dtype;             /* a quantized one is written as integers               */
    uint32_t        rank;
    const uint32_t *dims;              /* [rank]                                               */
    const void     *data;              /* [bytes]                                              */
    uint64_t        bytes;
} value_out;

/* Write tensors to a file, in the form that its name says; all but .safetensors take one. j may be
   NULL. Return 0 after a message. */
int value_write(tool *t, job *j, const char *path, const value_out *list, size_t count);

/* ---- list.c: lists of input files, one line for each inference ---- */

typedef struct list_line {
    size_t number;                     /* in the file, from 1                              */
    size_t first, count;               /* of its words                                     */
} list_line;

typedef struct input_list {
    char       *path;                  /* NULL: "__", the pipeline does not run            */
    char       *text;
    char      **words;                 /* [word_count], in .text                           */
    size_t      word_count, word_room;
    list_line  *lines;                 /* [line_count]: not empty, and not a comment       */
    size_t      line_count, line_room;
} input_list;

void list_free(input_list *list);

/* Read a list. Return 0 with an error; the caller frees the list in any case. */
int list_read(const char *path, input_list *list, qnnrt_error *err);

/* Find the files of a line: files[i] is for the input names[i], and NULL before. Return 0 with an
   error. */
int list_place(const input_list *list, const list_line *line, const char *const *names,
               size_t count, const char *graph, const char **files, qnnrt_error *err);

/* Report that an input of a line has no file. Return 0. */
int list_lacks(const input_list *list, const list_line *line, const char *name, qnnrt_error *err);

/* ---- inputs.c: what the command line says about inputs, and which tensors are written ---- */

/* Check how --input, --op_package and --dims are written. Returns STATUS_OK, or STATUS_USAGE after
   a message. */
int check_feed(settings *set);

void place_input(tool *t, const input_option *input);

/* Return the facts of a tensor with the dims that it has now. */
qnnrt_tensor_info tensor_now(qnnrt_run *run, const qnnrt_slot *slot);

/* Put values into an input: float32, or the bytes of the tensor. Return 0 after a message. */
int put_input(tool *t, job *j, qnnrt_run *run, const qnnrt_slot *slot, const char *from,
              const qnnrt_tensor_info *tensor, const void *values, int real);

/* Take "first:a,b;second:c" apart, and mark the tensors. */
void select_by_text(tool *t, const char *option, const char *text, qnnrt_role role);

/* ---- feed.c: the values that each inference reads ---- */

void free_lists(tool *t);

/* Read the lists of --input_list, which are separated by commas. Return 0 after a message. */
int read_lists(tool *t);

/* Where the values of an inference come from. */
typedef struct feed_at {
    size_t   line;                     /* of the list, from 0                              */
    uint32_t part;                     /* of --batch_multiplier                            */
    uint64_t lines;                    /* that fill the tensors together; 0: not yet known */
} feed_at;

/* Find the slots of all options that name tensors. Return 0 after a message. */
int place_feed(tool *t);

/* Check all that is given for the inputs, before a backend gets anything: names, files and sizes.
   Return 0 after a message; 1 also if the model cannot be looked at without its backend. */
int check_before_loading(tool *t);

/* Load the inputs of one inference, or of part at->part of it. Return 0 after a message. */
int load_line(tool *t, job *j, qnnrt_run *run, feed_at *at);

/* Load the files of --input, and say so. Return 0 after a message. */
int load_inputs(tool *t, job *j, qnnrt_run *run);

/* ---- digest.c: what the outputs of a run hold, and its times as it runs ---- */

/* Sum up the outputs of the last inference. */
void take_digests(job *j, qnnrt_run *run);

void say_digests(const tool *t, const job *j);

void report_digests(json *j, const job *from);

/* Show where a run is. last: it ends here. */
void show_watch(const tool *t, job *j, int last);

/* ---- run.c: inferences and outputs of each pipeline ---- */

/* Choose the names of folders and output files before any is written. */
void name_files(tool *t);

void min_and_median(const job *j, uint64_t *min, uint64_t *median);

/* Make the memory and the run of a planned job. Return 0 after a message; the caller destroys what
   was made in any case. */
int start_run(tool *t, job *j, qnnrt_mem **mem, qnnrt_run **run);

/* Place the inputs and run every pipeline that has a plan. */
void run_jobs(tool *t);

/* ---- states.c: states of a pipeline ---- */

/* Check that options of states are for a pipeline that has some. Return 0 after a message. */
int states_check(tool *t);

/* Let the states of a run begin, and write them to --state_out. Return 0 after a message. */
int states_begin(tool *t, job *j, qnnrt_run *run);
int states_end(tool *t, job *j, qnnrt_run *run);

/* ---- span.c: bytes that are read in place, of a file that may be hostile ---- */

typedef struct span {
    const unsigned char *data;
    uint64_t             bytes;
} span;

/* Cut a piece out. Return 0 if it is not all within. */
int span_cut(span from, uint64_t at, uint64_t bytes, span *out);

/* Read a little-endian number. Return 0 if it is not all within. */
int span_number(span from, uint64_t at, unsigned bytes, uint64_t *out);

int span_begins(span s, const void *head, size_t bytes);

/* Return the bytes as a text. The caller frees it. */
char *span_text(span s);

/* Map a file. follow: whether it may be a link. Return NULL, or why it cannot be read. */
const char *span_map(const char *path, int follow, span *out);

void span_unmap(span s);

/* ---- inflate.c: bytes that were packed by deflate, unpacked piece by piece ---- */

/* Take decompressed bytes. Return 0 to stop. */
typedef int inflate_take(void *user, const unsigned char *data, size_t bytes);
extern const char inflate_costs[];

/* Add bytes to a CRC-32, which begins with 0. */
uint32_t crc_add(uint32_t crc, const unsigned char *data, size_t bytes);

/* Decompress at most `most` bytes and give them to `take`, which may stop before the end. *work is
   what may be done, and receives what is left of it. Return NULL, or what is wrong. *made (may be
   NULL) receives how many bytes there were. */
const char *inflate(span in, uint64_t most, uint64_t *work, inflate_take *take, void *user,
                    uint64_t *made);

/* ---- zip.c: members of a zip archive ---- */

typedef struct zip_member {
    char    *name;
    span     packed;                   /* as it is in the archive                              */
    uint64_t bytes;                    /* when it is unpacked                                  */
    uint64_t at;                       /* of its header in the archive                         */
    uint32_t crc;                      /* 0: the archive does not state it, as .dlc do         */
    unsigned method;                   /* 0: stored, 8: deflated                               */
    const char *problem;               /* why it cannot be unpacked, or NULL                   */
} zip_member;

typedef struct zip_list {
    zip_member *members;               /* [count], in the order of the archive                 */
    size_t      count;
    const char *problem;               /* why there are no more, or NULL                       */
} zip_list;

/* Read the list of members. The caller says zip_free(). */
void zip_read(span all, zip_list *list);

void zip_free(zip_list *list);

/* Unpack a member and give its bytes to `take`. work: see inflate(). Return NULL, or what is
   wrong. */
const char *zip_unpack(const zip_member *m, uint64_t *work, inflate_take *take, void *user);

/* ---- pieces.c: what was found in files of others that carry context binaries ---- */

/* What bytes are, by their head. */
typedef enum head_kind {
    HEAD_OTHER = 0, HEAD_CONTEXT, HEAD_REF, HEAD_WRAPPED, HEAD_PTE, HEAD_ONNX, HEAD_ZIP
} head_kind;

extern const char *const head_names[];

typedef struct carried {
    char       *where;                 /* "delegate 0 of method forward"                       */
    char       *owner;                 /* "QnnBackend", or ""                                  */
    char       *problem;               /* why it cannot be taken, or NULL                      */
    char       *stem;                  /* its file name without .bin, NULL: of the file        */
    uint64_t    group;                 /* pieces of one file have the same                     */
    head_kind   kind;
    int         is_dlc;
    uint64_t    bytes;
    span        data;                  /* NULL: .packed                                        */
    zip_member  packed;                /* .name is not owned                                   */
    char       *file;                  /* the name it is written as, or NULL: it is not        */
    int         written;
} carried;

typedef struct graph_tensor {
    char    *name;
    uint32_t dtype, rank;
    uint32_t dims[8];                  /* [rank]                                               */
    int      output;
} graph_tensor;

typedef struct graph_listing {         /* a graph of a .dlc                                    */
    char         *name;
    uint64_t      node_count, tensor_count;
    graph_tensor *tensors;             /* [count] inputs and outputs                           */
    size_t        count, room;
} graph_listing;

typedef struct pieces {
    const char    *path;               /* of the file, to look beside it                       */
    carried       *list;               /* [count]                                              */
    size_t         count, room;
    graph_listing *graphs;             /* [graph_count]                                        */
    size_t         graph_count, graph_room, tensor_count;
    char          *problem;            /* why not all of the file was read, or NULL            */
    int            is_dlc;             /* the archive is a .dlc                                */
    uint64_t       groups;             /* the highest .group                                   */
    uint64_t       unpacked;           /* bytes of packed members that were held in memory     */
    uint64_t       work;               /* of unpacking that may still be done                  */
    uint64_t       others;             /* members of an archive that are of no concern         */
    span          *maps;               /* [map_count] of files beside                          */
    size_t         map_count, map_room;
    void         **owned;              /* [owned_count] members that were unpacked             */
    size_t         owned_count, owned_room;
} pieces;

enum { PIECES_MOST = 4096, PIECES_TEXT = 1024 };

head_kind head_of(span s);

/* Note why the file was not read to the end. The first reason stays. */
CLI_FORMAT(2, 3) void pieces_problem(pieces *p, const char *format, ...);

/* Add a piece; `where` becomes its own. Return NULL when there are too many. */
carried *pieces_add(pieces *p, char *where, const char *owner, span data);

/* Leave out the head that ExecuTorch puts before a context binary: a magic number, a signature, and
   the size. Up to 2026 the binary followed at byte 20, now at byte 256.
   Source: QnnCustomProtocol.h of pytorch/executorch. */
void piece_unwrap(carried *p);

/* True if a piece can be written as a context binary. */
int piece_is_context(const carried *p);

void pieces_free(pieces *p);

/* ---- flatbuffer.c: tables of FlatBuffers, of a file that may be hostile ---- */

typedef struct flat {
    span        all;                   /* offsets count from its beginning                     */
    uint64_t    left;                  /* tables and texts that may still be read              */
    const char *wrong;                 /* the first fault, or NULL                             */
    uint64_t    wrong_at;
} flat;

typedef struct flat_table {
    uint64_t at, fields;               /* of the table, and of its list of fields; 0: none     */
    unsigned count;                    /* fields in that list                                  */
} flat_table;

typedef struct flat_list {
    uint64_t at, count;                /* of the first item                                    */
} flat_list;

void flat_fail(flat *f, const char *wrong, uint64_t at);

uint64_t flat_number(flat *f, uint64_t at, unsigned bytes);

/* Begin. A root offset is the first number. */
flat_table flat_root(flat *f, span all);

uint64_t flat_field(flat *f, flat_table t, unsigned field, unsigned bytes);

flat_table flat_child(flat *f, flat_table t, unsigned field);

/* Return a list whose items have so many bytes. */
flat_list flat_items(flat *f, flat_table t, unsigned field, unsigned item_bytes);

flat_table flat_item(flat *f, flat_list list, uint64_t i);

span flat_bytes(flat *f, flat_table t, unsigned field);

/* Return a text, up to its first zero byte, and not all of a very long one: many places may refer
   to the same. The caller frees it. */
char *flat_text(flat *f, flat_table t, unsigned field);

/* ---- pte.c: context binaries in ExecuTorch's .pte ---- */

void pte_read(span file, pieces *out);

/* ---- onnx.c: context binaries in .onnx with EPContext nodes, and beside them ---- */

void onnx_read(span file, pieces *out);

/* ---- dlc.c: the graphs that a .dlc container holds ---- */

/* Read the member "model" of a .dlc. */
void dlc_read(span model, pieces *out);

/* ---- archive.c: containers in archives, and in archives within them ---- */

/* An archive in an archive can be a thousand times as large, and the next one again. All that is
   unpacked to look into a file of so many bytes may cost so much; see inflate(). */
#define ARCHIVE_WORK(bytes) (((uint64_t)64 << 20) + 64 * (bytes))

/* Return the name of a file without folders and ending. The caller frees it. */
char *stem_of(const char *path);

/* Read a file that carries contexts. */
void container_read(span file, head_kind kind, pieces *out, unsigned depth);

/* True if a file is none that is compiled, because it carries context binaries. A .dlc may have
   both graphs and contexts. */
int carries_contexts(const char *path);

/* ---- extract.c: the verb extract: takes context binaries out of the files of others ---- */

typedef struct extract {               /* one file of the command line                         */
    const char *path;
    span        all;
    head_kind   kind;
    pieces      found;
    char       *problem;               /* why nothing could be read, or NULL                   */
} extract;

/* Give names to the pieces that are written: STEM.bin, or STEM_1_of_2.bin as qnnrt orders the parts
   of a model. */
void name_pieces(extract *list, size_t count);

int verb_extract(void *user);

extern const cli_table extract_table;

/* ---- config.c: the SDK's configuration files of the HTP backend ---- */

/* Read --config_file, in the outer form, which names a second file, or in the inner one. Paths in a
   file are not followed: the second one lies beside the first. Return 0 after a message. */
int read_config(tool *t, graph_choices *graph);

/* ---- checks.c: options that exclude or need each other, and what no document may replace ---- */

/* Check that no document is written over a model, a library, an input, or another document. */
int check_written(const settings *set, const cli_parsed *parsed);

/* Check options that depend on each other, for run, inspect and plan. */
int check_model(settings *set, const cli_parsed *parsed);

#endif /* RUN_IO_IO_H */
