/* fake_ort.h - what tests tell the fake of ONNX Runtime, and what it counts; fake_ort_control() returns it */
#ifndef FAKE_ORT_H
#define FAKE_ORT_H

#include <stddef.h>
#include <stdint.h>

/* Kinds of handles. */
enum {
    FAKE_STATUS = 1, FAKE_ENV, FAKE_OPTIONS, FAKE_SESSION, FAKE_VALUE, FAKE_MEMORY, FAKE_RUN_OPTIONS, FAKE_TYPE,
    FAKE_SHAPE, FAKE_IO, FAKE_PROVIDER, FAKE_TEXT, FAKE_PLUGIN, FAKE_KINDS
};

/* The model: y = x + w, where w is an initializer that may be replaced; label is the text of each x. */
typedef struct fake_ort {
    /* set by tests; fake_ort_reset() sets all of it to a library that works */
    const char *version;
    int      no_base, no_get_api, no_version, no_table;
    int      null_slot;                  /* this slot is NULL; -1: none */
    size_t   fail_at;                    /* this call that returns a status fails; 0: none */
    int      fail_code;
    const char *fail_text;
    int      kind, element;              /* of input x: ONNX type and element type */
    size_t   rank, inputs;               /* of x; how many the session says that it has */
    int      no_shape;                   /* 1: output y has no shape */
    int      strings;                    /* 1: the inputs and outputs are strings */
    int      bad_offsets;                /* 1: strings lie outside of their memory */
    int      outputs_missing;            /* 1: GetBoundOutputValues() returns one output less */
    int      cpu_nodes;                  /* how many nodes other providers do not take */
    int      slow;                       /* 1: a run waits until it is told to end */
    int      plugin_type, plugin_devices;
    /* counted */
    size_t   calls;                      /* that return a status */
    long     live[FAKE_KINDS];
    int      wrong;                      /* handles that were of another kind, or released twice */
    int      running;
    char     journal[4096];              /* what the options of sessions were told */
} fake_ort;

#endif
