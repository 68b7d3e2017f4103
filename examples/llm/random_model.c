/* Write a Llama with random weights, for tests of models that are deeper than the trained one.

       random_model OUT_DIR LAYERS SEED [KV_HEADS [tied]]

   OUT_DIR, which must exist, gets config.json and model.safetensors for export.c: 64 wide, 4 heads
   of 16 for KV_HEADS (default 2) of keys and values, 256 tokens, a context of 136. "tied": the
   table of embeddings is the head, too. The same arguments make the same bytes on every machine.
   The model writes noise, but its most probable token is clear. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 64, HEADS = 4, HEAD_DIM = 16, INNER = 160, VOCABULARY = 256,
       CONTEXT = 136, MOST_LAYERS = 128 };

typedef struct writer {
    FILE    *file;
    char     path[512];
    uint32_t layers, kv_heads;
    int      tied;
    int      body;                      /* 0: write the header, 1: write the values     */
    uint64_t bytes;                     /* of values so far                             */
    uint64_t state;                     /* of the random numbers                        */
} writer;

static void stop(const char *text)
{
    fprintf(stderr, "random_model: %s\n", text);
    exit(1);
}

static void create(writer *w, const char *folder, const char *name)
{
    snprintf(w->path, sizeof w->path, "%s/%s", folder, name);
    if ((w->file = fopen(w->path, "wb")) != NULL) return;
    fprintf(stderr, "random_model: cannot write %s\n", w->path);
    exit(1);
}

/* Close the file, or remove it when it is not whole. */
static void finish(writer *w, int good)
{
    good = good && !ferror(w->file);
    if (fclose(w->file) == 0 && good) return;
    remove(w->path);
    fprintf(stderr, "random_model: cannot write %s\n", w->path);
    exit(1);
}

/* Return a number from -1 to 1, by the generator splitmix64. */
static float uniform(writer *w)
{
    uint64_t z = w->state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    z ^= z >> 31;
    return (float)(int32_t)(z >> 40) / 8388608.0f - 1;
}

/* Write a matrix (columns > 0) or a vector of numbers from middle - by to middle + by. */
static void tensor(writer *w, const char *name, uint32_t rows, uint32_t columns, float middle,
                   float by)
{
    const uint64_t count = (uint64_t)rows * (columns > 0 ? columns : 1);
    uint64_t i;
    if (!w->body) {
        fprintf(w->file, "%s\"%s\":{\"dtype\":\"F32\",\"shape\":[%u", w->bytes == 0 ? "{" : ",",
                name, (unsigned)rows);
        if (columns > 0) fprintf(w->file, ",%u", (unsigned)columns);
        fprintf(w->file, "],\"data_offsets\":[%llu,%llu]}", (unsigned long long)w->bytes,
                (unsigned long long)(w->bytes + count * sizeof(float)));
    } else {
        for (i = 0; i < count; ++i) {
            const float value = middle + by * uniform(w);
            fwrite(&value, sizeof value, 1, w->file);
        }
    }
    w->bytes += count * sizeof(float);
}

/* Write a layer. Uniform numbers up to 1.7 / sqrt(columns) keep the size of a row that is
   multiplied by them: 0.22 for 64 columns, 0.14 for 160. */
static void layer(writer *w, uint32_t number)
{
    const struct { const char *name; uint32_t rows, columns; float middle, by; } parts[] = {
        { "input_layernorm", WIDTH, 0, 1, 0.3f },
        { "self_attn.q_proj", HEADS * HEAD_DIM, WIDTH, 0, 0.4f },
        { "self_attn.k_proj", w->kv_heads * HEAD_DIM, WIDTH, 0, 0.4f },
        { "self_attn.v_proj", w->kv_heads * HEAD_DIM, WIDTH, 0, 0.22f },
        { "self_attn.o_proj", WIDTH, HEADS * HEAD_DIM, 0, 0.3f },
        { "post_attention_layernorm", WIDTH, 0, 1, 0.3f },
        { "mlp.gate_proj", INNER, WIDTH, 0, 0.22f },
        { "mlp.up_proj", INNER, WIDTH, 0, 0.22f },
        { "mlp.down_proj", WIDTH, INNER, 0, 0.14f },
    };
    char name[96];
    size_t i;
    for (i = 0; i < sizeof parts / sizeof parts[0]; ++i) {
        snprintf(name, sizeof name, "model.layers.%u.%s.weight", (unsigned)number,
                 parts[i].name);
        tensor(w, name, parts[i].rows, parts[i].columns, parts[i].middle, parts[i].by);
    }
}

static void model(writer *w)
{
    uint32_t i;
    w->bytes = 0;
    tensor(w, "model.embed_tokens.weight", VOCABULARY, WIDTH, 0, w->tied ? 0.6f : 1.7f);
    for (i = 0; i < w->layers; ++i) layer(w, i);
    tensor(w, "model.norm.weight", WIDTH, 0, 1, 0.3f);
    if (!w->tied) tensor(w, "lm_head.weight", VOCABULARY, WIDTH, 0, 0.6f);
}

int main(int argc, char **argv)
{
    char *ends[3];
    unsigned long layers, seed, kv_heads = 2;
    unsigned char size[8];
    writer w = {0};
    uint64_t header;
    long at;
    int i;

    if (argc < 4 || argc > 6 || (argc == 6 && strcmp(argv[5], "tied") != 0)) {
        fprintf(stderr, "usage: random_model OUT_DIR LAYERS SEED [KV_HEADS [tied]]\n");
        return 2;
    }
    layers = strtoul(argv[2], &ends[0], 10);
    seed = strtoul(argv[3], &ends[1], 10);
    ends[2] = ends[1];
    if (argc > 4) kv_heads = strtoul(argv[4], &ends[2], 10);
    if (*ends[0] != '\0' || *ends[1] != '\0' || *ends[2] != '\0' || layers < 1 ||
        layers > MOST_LAYERS || kv_heads < 1 || kv_heads > HEADS || HEADS % kv_heads != 0)
        stop("LAYERS must be a number from 1 to 128, SEED a number, and KV_HEADS 1, 2 or 4");
    w.layers = (uint32_t)layers;
    w.kv_heads = (uint32_t)kv_heads;
    w.tied = argc == 6;
    w.state = seed;

    create(&w, argv[1], "config.json");
    fprintf(w.file, "{\n \"model_type\": \"llama\",\n \"vocab_size\": %d,\n \"hidden_size\": %d,\n"
            " \"num_hidden_layers\": %lu,\n \"num_attention_heads\": %d,\n"
            " \"num_key_value_heads\": %lu,\n \"head_dim\": %d,\n \"intermediate_size\": %d,\n"
            " \"rms_norm_eps\": 1e-05,\n \"rope_theta\": 50000.0,\n"
            " \"max_position_embeddings\": %d,\n \"tie_word_embeddings\": %s\n}\n",
            VOCABULARY, WIDTH, layers, HEADS, kv_heads, HEAD_DIM, INNER, CONTEXT,
            w.tied ? "true" : "false");
    finish(&w, 1);

    create(&w, argv[1], "model.safetensors");
    memset(size, 0, sizeof size);
    fwrite(size, 1, sizeof size, w.file);           /* known after the header is written */
    model(&w);
    fprintf(w.file, "}");
    if ((at = ftell(w.file)) < 0) finish(&w, 0);
    header = (uint64_t)at - sizeof size;
    for (; header % 8 != 0; ++header) fputc(' ', w.file);
    w.body = 1;
    model(&w);
    for (i = 0; i < 8; ++i) size[i] = (unsigned char)(header >> 8 * i);
    if (fseek(w.file, 0, SEEK_SET) != 0) finish(&w, 0);
    fwrite(size, 1, sizeof size, w.file);
    finish(&w, 1);
    return 0;
}
