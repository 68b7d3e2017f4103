/* onnx_bytes.h - write any message of protobuf, right or wrong, for tests of qnnrt_onnx.h

       onnx_bytes b = { { 0 }, 0 };
       size_t graph, node;
       put_int(&b, 1, 8);                     ModelProto.ir_version
       graph = put_begin(&b, 7);              a message within: its length is filled in by put_end()
           node = put_begin(&b, 1);
               put_text(&b, 4, "Relu");
           put_end(&b, node);
       put_end(&b, graph);                                                                                       */
#ifndef ONNX_BYTES_H
#define ONNX_BYTES_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct onnx_bytes {
    unsigned char data[1 << 20];
    size_t        bytes;
} onnx_bytes;

static inline void put_raw(onnx_bytes *b, const void *data, size_t bytes)
{
    if (bytes > sizeof b->data - b->bytes) { printf("onnx_bytes.h: too large\n"); exit(2); }
    if (bytes > 0) memcpy(b->data + b->bytes, data, bytes);
    b->bytes += bytes;
}

static inline void put_varint(onnx_bytes *b, uint64_t value)
{
    do {
        unsigned char byte = (unsigned char)(value & 127);
        value >>= 7;
        if (value != 0) byte |= 128;
        put_raw(b, &byte, 1);
    } while (value != 0);
}

static inline void put_int(onnx_bytes *b, unsigned field, int64_t value)
{
    put_varint(b, field << 3);
    put_varint(b, (uint64_t)value);
}

static inline void put_float(onnx_bytes *b, unsigned field, float value)
{
    put_varint(b, field << 3 | 5);
    put_raw(b, &value, 4);
}

static inline void put_bytes(onnx_bytes *b, unsigned field, const void *data, size_t bytes)
{
    put_varint(b, field << 3 | 2);
    put_varint(b, bytes);
    put_raw(b, data, bytes);
}

static inline void put_text(onnx_bytes *b, unsigned field, const char *text) { put_bytes(b, field, text, strlen(text)); }

/* Texts apart by blanks: one field each. "-" is an empty text. */
static inline void put_words(onnx_bytes *b, unsigned field, const char *words)
{
    while (*words != '\0') {
        const size_t length = strcspn(words, " ");
        put_bytes(b, field, words, length == 1 && *words == '-' ? 0 : length);
        words += length + (words[length] == ' ');
    }
}

static inline size_t put_begin(onnx_bytes *b, unsigned field)
{
    put_varint(b, field << 3 | 2);
    put_raw(b, "\200\200\200\200", 5);
    return b->bytes;
}

static inline void put_end(onnx_bytes *b, size_t begin)
{
    size_t length = b->bytes - begin;
    int i;
    for (i = 0; i < 5; ++i, length >>= 7) b->data[begin - 5 + (size_t)i] = (unsigned char)((length & 127) | (i < 4 ? 128 : 0));
}

/* ---- what models have ------------------------------------------------------------------------------ */

/* Dims as text: "2 batch ? -1". */
static inline void put_shape(onnx_bytes *b, unsigned field, const char *dims)
{
    const size_t shape = put_begin(b, field);
    while (*dims != '\0') {
        const size_t length = strcspn(dims, " "), dim = put_begin(b, 1);
        if ((*dims >= '0' && *dims <= '9') || *dims == '-') put_int(b, 1, atoll(dims));
        else if (*dims != '?') put_bytes(b, 2, dims, length);
        put_end(b, dim);
        dims += length + (dims[length] == ' ');
    }
    put_end(b, shape);
}

/* A value; dims NULL: of unknown rank, type 0: without a type. */
static inline void put_value(onnx_bytes *b, unsigned field, const char *name, int type, const char *dims)
{
    const size_t value = put_begin(b, field);
    put_text(b, 1, name);
    if (type != 0) {
        const size_t outer = put_begin(b, 2), tensor = put_begin(b, 1);
        put_int(b, 1, type);
        if (dims != NULL) put_shape(b, 2, dims);
        put_end(b, tensor);
        put_end(b, outer);
    }
    put_end(b, value);
}

/* The beginning of a tensor; dims: "2 3". */
static inline size_t put_tensor(onnx_bytes *b, unsigned field, const char *name, int type, const char *dims)
{
    const size_t tensor = put_begin(b, field);
    while (*dims != '\0') {
        put_int(b, 1, atoll(dims));
        dims += strcspn(dims, " ");
        dims += *dims == ' ';
    }
    put_int(b, 2, type);
    if (name[0] != '\0') put_text(b, 8, name);
    return tensor;
}

static inline void put_pair(onnx_bytes *b, unsigned field, const char *key, const char *value)
{
    const size_t pair = put_begin(b, field);
    put_text(b, 1, key);
    put_text(b, 2, value);
    put_end(b, pair);
}

static inline size_t put_node_begin(onnx_bytes *b, unsigned field, const char *op, const char *name, const char *inputs, const char *outputs)
{
    const size_t node = put_begin(b, field);
    put_words(b, 1, inputs);
    put_words(b, 2, outputs);
    put_text(b, 3, name);
    put_text(b, 4, op);
    return node;
}

static inline void put_node(onnx_bytes *b, unsigned field, const char *op, const char *name, const char *inputs, const char *outputs)
{
    put_end(b, put_node_begin(b, field, op, name, inputs, outputs));
}

static inline void put_opset(onnx_bytes *b, unsigned field, const char *domain, int version)
{
    const size_t opset = put_begin(b, field);
    if (domain[0] != '\0') put_text(b, 1, domain);
    put_int(b, 2, version);
    put_end(b, opset);
}

/* The beginning of a model and of its graph. */
static inline size_t put_model(onnx_bytes *b)
{
    size_t graph;
    b->bytes = 0;
    put_int(b, 1, 8);
    put_opset(b, 8, "", 17);
    graph = put_begin(b, 7);
    put_text(b, 2, "graph");
    return graph;
}

#endif
