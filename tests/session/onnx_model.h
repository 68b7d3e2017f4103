/* onnx_model.h - write small .onnx files, field by field, for tests

       onnx m = {0};
       onnx_input(&m, "x", 1, 2, "batch", 4);       name, element type, rank, then a name (-1) or a number each
       onnx_floats(&m, "w", values, 2, 4, 3);       an initializer
       onnx_node(&m, "MatMul", "x w", "y");         names apart by blanks
       onnx_output(&m, "y", 1, 2, "batch", 3);
       onnx_write(&m, path, 17);                    with an opset

   Dimensions: a pointer to a name, or a number below 4096. */
#ifndef ONNX_MODEL_H
#define ONNX_MODEL_H

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef struct onnx { unsigned char graph[65536]; size_t bytes; } onnx;
typedef struct onnx_part { unsigned char data[16384]; size_t bytes; } onnx_part;

static inline void onnx_put(onnx_part *part, const void *data, size_t bytes)
{
    if (bytes > sizeof part->data - part->bytes) { printf("onnx_model.h: too large\n"); return; }
    memcpy(part->data + part->bytes, data, bytes);
    part->bytes += bytes;
}

static inline void onnx_varint(onnx_part *part, uint64_t value)
{
    do {
        unsigned char byte = (unsigned char)(value & 127);
        value >>= 7;
        if (value != 0) byte |= 128;
        onnx_put(part, &byte, 1);
    } while (value != 0);
}

static inline void onnx_number(onnx_part *part, unsigned field, uint64_t value)
{
    onnx_varint(part, field << 3);
    onnx_varint(part, value);
}

static inline void onnx_bytes(onnx_part *part, unsigned field, const void *data, size_t bytes)
{
    onnx_varint(part, field << 3 | 2);
    onnx_varint(part, bytes);
    onnx_put(part, data, bytes);
}

static inline void onnx_text(onnx_part *part, unsigned field, const char *text)
{
    onnx_bytes(part, field, text, strlen(text));
}

static inline void onnx_add(onnx *m, unsigned field, const onnx_part *what)
{
    onnx_part part;
    part.bytes = 0;
    onnx_bytes(&part, field, what->data, what->bytes);
    if (part.bytes > sizeof m->graph - m->bytes) { printf("onnx_model.h: too large\n"); return; }
    memcpy(m->graph + m->bytes, part.data, part.bytes);
    m->bytes += part.bytes;
}

static inline void onnx_side(onnx *m, unsigned field, const char *name, int element, int rank, va_list args)
{
    onnx_part info, type, tensor, shape, dim;
    info.bytes = type.bytes = tensor.bytes = shape.bytes = 0;
    for (; rank > 0; --rank) {
        const intptr_t size = va_arg(args, intptr_t);
        dim.bytes = 0;
        if (size >= 0 && size < 4096) onnx_number(&dim, 1, (uint64_t)size);
        else onnx_text(&dim, 2, (const char *)size);
        onnx_bytes(&shape, 1, dim.data, dim.bytes);
    }
    onnx_number(&tensor, 1, (uint64_t)element);
    onnx_bytes(&tensor, 2, shape.data, shape.bytes);
    onnx_bytes(&type, 1, tensor.data, tensor.bytes);
    onnx_text(&info, 1, name);
    onnx_bytes(&info, 2, type.data, type.bytes);
    onnx_add(m, field, &info);
}

static inline void onnx_input(onnx *m, const char *name, int element, int rank, ...)
{
    va_list args;
    va_start(args, rank);
    onnx_side(m, 11, name, element, rank, args);
    va_end(args);
}

static inline void onnx_output(onnx *m, const char *name, int element, int rank, ...)
{
    va_list args;
    va_start(args, rank);
    onnx_side(m, 12, name, element, rank, args);
    va_end(args);
}

/* Any element type: data is the raw bytes. */
static inline void onnx_raw(onnx *m, const char *name, int element, const void *data, size_t bytes, int rank, const int64_t *dims)
{
    onnx_part tensor;
    int i;
    tensor.bytes = 0;
    for (i = 0; i < rank; ++i) onnx_number(&tensor, 1, (uint64_t)dims[i]);
    onnx_number(&tensor, 2, (uint64_t)element);
    onnx_text(&tensor, 8, name);
    onnx_bytes(&tensor, 9, data, bytes);
    onnx_add(m, 5, &tensor);
}

static inline void onnx_floats(onnx *m, const char *name, const float *data, int64_t rows, int64_t columns)
{
    int64_t dims[2];
    dims[0] = rows;
    dims[1] = columns;
    onnx_raw(m, name, 1, data, (size_t)(rows * columns) * sizeof *data, 2, dims);
}

static inline void onnx_words(onnx_part *node, unsigned field, const char *words)
{
    while (*words != '\0') {
        const size_t length = strcspn(words, " ");
        onnx_bytes(node, field, words, length);
        words += length + (words[length] == ' ');
    }
}

/* attribute: NULL, or the name of an integer one */
static inline void onnx_node_with(onnx *m, const char *type, const char *inputs, const char *outputs, const char *attribute, int64_t value)
{
    onnx_part node, one;
    node.bytes = one.bytes = 0;
    onnx_words(&node, 1, inputs);
    onnx_words(&node, 2, outputs);
    onnx_text(&node, 4, type);
    if (attribute != NULL) {
        onnx_text(&one, 1, attribute);
        onnx_number(&one, 3, (uint64_t)value);
        onnx_number(&one, 20, 2);
        onnx_bytes(&node, 5, one.data, one.bytes);
    }
    onnx_add(m, 1, &node);
}

static inline void onnx_node(onnx *m, const char *type, const char *inputs, const char *outputs)
{
    onnx_node_with(m, type, inputs, outputs, NULL, 0);
}

/* Return 1 if the file was written. */
static inline int onnx_write(onnx *m, const char *path, int opset)
{
    onnx_part head, id, name;
    FILE *file = fopen(path, "wb");
    size_t done;
    head.bytes = id.bytes = name.bytes = 0;
    if (file == NULL) return 0;
    onnx_number(&head, 1, 8);            /* IR version */
    onnx_number(&id, 2, (uint64_t)opset);
    onnx_bytes(&head, 8, id.data, id.bytes);
    onnx_text(&name, 2, "graph");
    onnx_varint(&head, 7 << 3 | 2);
    onnx_varint(&head, m->bytes + name.bytes);
    onnx_put(&head, name.data, name.bytes);
    done = fwrite(head.data, 1, head.bytes, file) + fwrite(m->graph, 1, m->bytes, file);
    return fclose(file) == 0 && done == head.bytes + m->bytes;
}

#endif
