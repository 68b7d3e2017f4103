/* compile.h - qnnrt-run: graphs of PyTorch, language models and containers become context binaries

   Needs:   base cli model show

   UNITS    tokens.c: >>tokens                      tokenizer.c: >>tokenizer
            decoder.c: >>decoder                    folder.c: >>folder
            cache.c: >>cache                        options.c: >>compile_options
            compile.c: >>compile */
#ifndef RUN_COMPILE_COMPILE_H
#define RUN_COMPILE_COMPILE_H

#include "run/compile/aten.h"

/* ---- tokens.c: the tokens of a GGUF file, and their merges ---- */

/* Types of tokens in GGUF. */
enum { TOKEN_NORMAL = 1, TOKEN_UNKNOWN, TOKEN_CONTROL, TOKEN_USER };

typedef struct vocab_token {
    const char *text;
    size_t      bytes;
    uint32_t    id;
    int         type;
    double      score;
} vocab_token;

typedef struct tokenizer {
    tool        *t;
    const qnnrt_weights *weights;
    vocab_token *tokens;               /* [count], by number                            */
    const vocab_token **sorted;        /* [count], by text                              */
    size_t       count;
    const char  *pattern;              /* that cuts a text into words                   */
    int          sentences;            /* 1: SentencePiece                              */
    int          ignore_merges;        /* 1: a word that is a token needs no merges     */
    int32_t      bos;                  /* -1: texts begin without one                   */
    page         word;                 /* of >>tokenizer_text()                         */
} tokenizer;

/* Return a copy of a text with a NUL, until the next call. */
const char *tokenizer_text(tokenizer *k, const char *text, size_t bytes);

/* Find out which kind of tokenizer it is. Return 0 after saying that it is none of those known. */
int tokenizer_kind(tokenizer *k);

/* Read the tokens. Return 0 after saying what is wrong. */
int tokenizer_read(tokenizer *k);

/* Write the merges that the file lists, except those that lead to no token. */
void merges_listed(tokenizer *k, json *j);

/* Write the merges that SentencePiece does: two neighbours become the token with the best score. */
void merges_of_scores(tokenizer *k, json *j);

/* ---- tokenizer.c: the tokenizer of a GGUF file as tokenizer.json ---- */

/* Write the tokenizer of a GGUF file beside the model; a kind that is not known is only said. */
void tokenizer_write(tool *t, const qnnrt_weights *weights, int32_t bos);

/* ---- decoder.c: compile language models, from config.json or GGUF ---- */

enum { DECODER_TEXT_BYTES = 1 << 26, DECODER_CONTEXT = 4096,
       DECODER_GRAPHS = 2 * COMPILE_LENGTHS };

typedef struct decoder_shape {
    uint32_t              tokens, context;       /* of a call                           */
    int                   prompt;                /* 0: for answers                      */
} decoder_shape;

typedef struct decoder {
    qnnrt_llm_graph         model;
    const char           *folder;                /* of the model, or its GGUF file      */
    int                   gguf;                  /* 1: it is a GGUF file                */
    char                 *config;                /* path of config.json, or of GGUF     */
    decoder_shape         shapes[DECODER_GRAPHS];        /* [shape_count] a graph for each  */
    size_t                shape_count;
    uint32_t              context, shards;       /* context: the longest                */
    const qnnrt_weight   *table;                 /* on the host, or NULL                */
    qnnrt_weight          halves;                /* .table, if it was made of blocks    */
    void                 *room;                  /* its data                            */
} decoder;

/* Return true for a GGUF file, by its name. */
int decoder_is_gguf(const char *path);

/* Return true for a model: its folder, or its GGUF file. */
int decoder_is_model(const char *path);

/* Check options that depend on each other. Returns STATUS_OK, or STATUS_USAGE after a message. */
int decoder_check(const settings *set);

/* Read the model and make all graphs. Return 0 after printing all that is wrong. */
int decoder_read(aten *a);

void decoder_settings(void *user, json *j);

/* Files that were written: binaries, then others. */
typedef struct compile_files {
    char **paths;                      /* [count]                                       */
    size_t count, room, binaries;
} compile_files;

/* Complete a program, whose contexts are described, with the pipelines of the model and with what
   qnnrt-llm has to know. write: receives it. Return 0 after printing an error. */
int decoder_program(const aten *a, qnnrt_manifest_desc *desc, compile_files *out,
                    int (*write)(const aten *a, const qnnrt_manifest_desc *desc,
                                 compile_files *out));

/* Write the tokenizer of a GGUF file beside the binaries. */
void decoder_tokenizer(const aten *a);

void decoder_free(decoder *d);

/* ---- folder.c: the folder that compile writes: its lock, names, and program ---- */

/* The value of --graph_name. */
typedef struct compile_names {
    char        *words;                /* the text of all names, cut into words          */
    const char **names;                /* [number of files], NULL: the default           */
} compile_names;

/* Split "N1,N2". Returns STATUS_OK, or STATUS_USAGE after a message. */
int compile_split(const settings *set, compile_names *out);

/* Return DIR/NAME, without ".bin". The caller frees it. */
char *compile_path(const settings *set);

/* Let other compilations write into the folder. */
void compile_unlock(tool *t);

/* Make the folder for the files, and lock it until compile_unlock(); or only try whether it can be
   made: then a folder that did not exist is removed again, and no signal finds it. *missing
   receives what cli_missing_folder() returns. Return 0 after printing an error. */
int compile_folder(tool *t, int try_only, char **missing);

/* Free the list of files. remove: 1 removes them, too. */
void compile_free(compile_files *out, int remove);

/* Check that DIR/qnnrt.json, if it exists, has nothing but what is written anew: a program, and
   with llm the settings of a language model. Return 0 after printing an error. */
int compile_replaces(tool *t, int llm);

/* Check that DIR has no qnnrt.json: another program would run there. Return 0 after printing an
   error. */
int compile_alone(tool *t);

/* Remove the host.json of a program that was there before, unless it is one of the files. */
void compile_clean(const tool *t, const compile_files *files);

/* Save the contexts of a built model, or the program of graphs (a: NULL: there is none). Return 0
   after printing an error: then none of the files exists, and a folder that was made for them
   neither. */
int compile_save(tool *t, qnnrt *model, const aten *a, const char *path, compile_files *out);

/* ---- cache.c: a cache of what compile has written ---- */

typedef struct compile_cache {
    qnnrt_cache *cache;                /* NULL: there is none                 */
    char         key[QNNRT_CACHE_KEY_BYTES];
    int          hit;                  /* 1: the files are from the cache     */
} compile_cache;

/* Open the cache of --cache, and make the key. */
void cache_begin(compile_cache *c, const tool *t, const compile_names *names, const aten *a,
                 const char *path);

/* Copy the files from the cache, and list the binaries. Return 0: compile. */
int cache_take(compile_cache *c, tool *t, compile_files *out);

/* Keep the files that were compiled: the binaries, and of graphs the program, what it names, and
   their steps on the host. */
void cache_keep(const compile_cache *c, const tool *t, const aten *a, const compile_files *files);

/* Do what --cache_list and --cache_clear say. */
void cache_manage(tool *t);

/* Check the options of the cache. Returns STATUS_OK, or STATUS_USAGE after a message. */
int check_cache(const settings *set);

/* ---- options.c: the options of compile ---- */

extern const cli_table compile_table;

/* Return what --config_file may say about graphs, too. */
graph_choices *compile_graph(tool *t);

/* ---- compile.c: the verb compile ---- */

int verb_compile(void *user);

#endif /* RUN_COMPILE_COMPILE_H */
