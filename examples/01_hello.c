/* Open a folder of context binaries and run its pipeline once: the minimum that an app needs.

       01_hello FOLDER [BACKEND_LIBRARY [SYSTEM_LIBRARY]]

   For example, after `make run BACKEND=htp`:

       build/examples/01_hello tests/data/ctx/qairt2.51/chain_of_three \
           build/qnn/2.51/onnxruntime_qnn/libQnnHtp.so

   FOLDER holds one pipeline; if there are several, pass the name of one to qnnrt_prepare().
   All inputs keep the real value zero. A real program writes values with qnnrt_write_f32(), or
   binds its own memory with qnnrt_bind(). */
#include <stdio.h>
#include <stdlib.h>

#define QNNRT_IMPLEMENTATION
#include "qnnrt.h"

static void print_error(const qnnrt_error *err)
{
    fprintf(stderr, "%s\n", err->text);
    if (err->cause != NULL)
        fprintf(stderr, "likely cause: %s\n", err->cause);
    if (err->hint[0] != '\0')
        fprintf(stderr, "hint: %s\n", err->hint);
}

/* Print the first value of each output. */
static void print_outputs(qnnrt_run *run)
{
    const qnnrt_pipeline_info *info = qnnrt_pipeline_get_info(qnnrt_run_pipeline(run));
    for (size_t i = 0; i < info->slot_count; ++i) {
        const qnnrt_slot *slot = &info->slots[i];
        float first;
        if (slot->role != QNNRT_ROLE_OUTPUT)
            continue;
        if (qnnrt_read_f32(run, slot, 0, &first, 1) == QNNRT_OK)
            printf("%s (%s, %llu elements): %g ...\n", slot->address,
                   qnnrt_dtype_name(slot->tensor->dtype),
                   (unsigned long long)slot->tensor->count, (double)first);
    }
}

int main(int argc, char **argv)
{
    qnnrt *model;
    qnnrt_run *run;
    qnnrt_error err;
    qnnrt_desc desc = {0};
    int ok;

    if (argc < 2) {
        fprintf(stderr, "usage: 01_hello FOLDER [BACKEND_LIBRARY [SYSTEM_LIBRARY]]\n");
        return 2;
    }
    desc.backend_desc.path = argc > 2 ? argv[2] : NULL;
    desc.system_path = argc > 3 ? argv[3] : NULL;

    if (qnnrt_open(argv[1], &desc, &model, &err) != QNNRT_OK) {
        print_error(&err);
        return 1;
    }
    if (qnnrt_prepare(model, NULL, &run, &err) != QNNRT_OK) {
        print_error(&err);
        qnnrt_close(model);
        return 1;
    }
    ok = qnnrt_exec(run) == QNNRT_OK;
    if (ok)
        print_outputs(run);
    else
        print_error(qnnrt_run_error(run));
    qnnrt_run_destroy(run);
    qnnrt_close(model);
    return ok ? 0 : 1;
}
