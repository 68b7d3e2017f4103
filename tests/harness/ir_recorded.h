/* ir_recorded.h - graphs of tests/data/ir, and which of them tests/ir/record_ir.py recorded */
#ifndef IR_RECORDED_H
#define IR_RECORDED_H

#include "test.h"

/* The decoders of pytorch-ir among the tests' graphs have plain rotary embeddings. */
static inline qnnrt_ir_desc ir_plain_rope(void)
{
    qnnrt_ir_desc desc;
    memset(&desc, 0, sizeof(desc));
    desc.plain_rope = 1;
    return desc;
}

/* Read tests/data/ir/STEM.json. Return NULL after printing an error. */
static inline qnnrt_ir *ir_file(const char *stem, qnnrt_error *why)
{
    char path[200];
    size_t bytes = 0;
    qnnrt_ir *ir = NULL;
    const qnnrt_ir_desc desc = ir_plain_rope();
    void *text;
    snprintf(path, sizeof path, "tests/data/ir/%s.json", stem);
    text = test_read_file(path, &bytes);
    if (text == NULL) printf("    %s cannot be read\n", path);
    else if (qnnrt_ir_read((const char *)text, bytes, &desc, &ir, why) != QNNRT_OK) printf("    %s: %s\n", path, why->text);
    free(text);
    return ir;
}

/* Return the stem of file i of those that tests/ir/record_ir.py recorded, or NULL. */
static inline const char *ir_recorded(size_t i)
{
    static const char *const stems[] = { "ops", "net", "seq", "random", "elem", "edges", "index" };
    return i < sizeof(stems) / sizeof(stems[0]) ? stems[i] : NULL;
}

#endif
