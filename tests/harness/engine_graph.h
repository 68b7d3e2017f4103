/* engine_graph.h - a graph in ATen operators with its weights, as files, and what it computes

   neg = -(table[ids] * matrix + bias), and sum = -neg: see graph_expected(). Include test.h and <stdint.h> first. */
#ifndef ENGINE_GRAPH_H
#define ENGINE_GRAPH_H

/* ---- files ----------------------------------------------------------------------------------- */

static inline char *path_of(const char *folder, const char *name)
{
    static char paths[16][1400];
    static unsigned next;
    char *path = paths[next++ % 16];
    snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
    return path;
}

static inline void write_text(const char *folder, const char *name, const char *text)
{
    test_write_file(path_of(folder, name), text, strlen(text));
}

/* A graph: the rows of a table, times a matrix, negated. A second output has the product. */
enum { VOCABULARY = 5, WIDTH = 4, IDS = 3 };

static float table[VOCABULARY * WIDTH], matrix[WIDTH * WIDTH];

#define F(name, dims) "{\"name\":\"" name "\",\"shape\":[" dims "],\"dtype\":\"float32\"}"
#define I(name, dims) "{\"name\":\"" name "\",\"shape\":[" dims "],\"dtype\":\"int64\"}"
static const char graph_text[] =
    "{\"model_name\":\"m\",\"graph_inputs\":[" F("bias", "3,4") "," I("ids", "3") "],"
    "\"graph_outputs\":[" F("neg", "3,4") "," F("sum", "3,4") "],"
    "\"weights\":[" F("table", "5,4") "," F("matrix", "4,4") "],"
    "\"weight_name_mapping\":{\"p_table\":\"table\",\"p_matrix\":\"matrix\"},\"nodes\":["
    "{\"name\":\"rows\",\"op_type\":\"aten.embedding.default\",\"inputs\":[" F("p_table", "5,4") "," I("ids", "3") "],\"outputs\":["
    F("rows", "3,4") "]},"
    "{\"name\":\"product\",\"op_type\":\"aten.linear.default\",\"inputs\":[" F("rows", "3,4") "," F("p_matrix", "4,4") "],\"outputs\":["
    F("product", "3,4") "]},"
    "{\"name\":\"sum\",\"op_type\":\"aten.add.Tensor\",\"inputs\":[" F("product", "3,4") "," F("bias", "3,4") "],\"outputs\":["
    F("sum", "3,4") "]},"
    "{\"name\":\"neg\",\"op_type\":\"aten.neg.default\",\"inputs\":[" F("sum", "3,4") "],\"outputs\":[" F("neg", "3,4") "]}]}";

/* Write a file of weights: those of the graph, or with `less` one of them alone. */
static inline void write_weights(const char *folder, const char *name, int less)
{
    unsigned char file[1024];
    char head[256];
    uint64_t bytes;
    size_t used, i;
    for (i = 0; i < VOCABULARY * WIDTH; ++i) table[i] = (float)((i * 7) % 11) / 4.0f - 1.0f;
    for (i = 0; i < WIDTH * WIDTH; ++i) matrix[i] = (float)((i * 5) % 9) / 8.0f - 0.5f;
    bytes = (uint64_t)snprintf(head, sizeof(head), less ? "{\"table\":{\"dtype\":\"F32\",\"shape\":[5,4],\"data_offsets\":[0,80]}}" :
                               "{\"table\":{\"dtype\":\"F32\",\"shape\":[5,4],\"data_offsets\":[0,80]},"
                               "\"matrix\":{\"dtype\":\"F32\",\"shape\":[4,4],\"data_offsets\":[80,144]}}");
    for (i = 0; i < 8; ++i) file[i] = (unsigned char)(bytes >> (8 * i));
    memcpy(file + 8, head, (size_t)bytes);
    used = 8 + (size_t)bytes;
    memcpy(file + used, table, sizeof(table));
    used += sizeof(table);
    if (!less) memcpy(file + used, matrix, sizeof(matrix));
    if (!less) used += sizeof(matrix);
    test_write_file(path_of(folder, name), file, used);
}

/* Write the graph with its weights, and return its path. */
static inline const char *graph_file(void)
{
    const char *folder = test_tmpdir();
    write_text(folder, "m.json", graph_text);
    write_weights(folder, "m.safetensors", 0);
    return path_of(folder, "m.json");
}

static inline float graph_expected(const int32_t *ids, const float *bias, int row, int column)
{
    float sum = bias[row * WIDTH + column];
    int k;
    for (k = 0; k < WIDTH; ++k) sum += table[ids[row] * WIDTH + k] * matrix[column * WIDTH + k];
    return sum;
}

#undef I

#endif
