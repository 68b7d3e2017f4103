/* Open a folder of context binaries and run it once: the least that an app needs.

       01_hello FOLDER [BACKEND_LIBRARY [SYSTEM_LIBRARY]]

   such as, after `make run BACKEND=htp`,

       build/examples/01_hello tests/data/ctx/qairt2.51/chain_of_three build/qnn/2.51/onnxruntime_qnn/libQnnHtp.so

   FOLDER holds one pipeline; of several, qnnrt_prepare() would need the name.
   Inputs stay at real zero; a real program would qnnrt_bind() its own memory, or write values as below. */
#include <stdio.h>
#include <stdlib.h>

#define QNNRT_IMPLEMENTATION
#include "qnnrt.h"

int main(int argc, char **argv)
{
    qnnrt *model;
    qnnrt_run *run;
    qnnrt_error err;
    qnnrt_desc desc = {0};
    const qnnrt_pipeline_info *info;
    size_t i;
    int ok;

    if (argc < 2) { fprintf(stderr, "usage: 01_hello FOLDER [BACKEND_LIBRARY [SYSTEM_LIBRARY]]\n"); return 2; }
    desc.backend_desc.path = argc > 2 ? argv[2] : NULL;
    desc.system_path = argc > 3 ? argv[3] : NULL;

    if (qnnrt_open(argv[1], &desc, &model, &err) != QNNRT_OK) {
        fprintf(stderr, "%s\n%s\n", err.text, err.hint);
        return 1;
    }
    if (qnnrt_prepare(model, NULL, &run, &err) != QNNRT_OK) {
        fprintf(stderr, "%s\n%s\n", err.text, err.hint);
        qnnrt_close(model);
        return 1;
    }
    ok = qnnrt_exec(run) == QNNRT_OK;
    if (!ok) fprintf(stderr, "%s\n%s\n", qnnrt_run_error(run)->text, qnnrt_run_error(run)->hint);

    /* What came out, as numbers: the first of every output. */
    info = qnnrt_pipeline_get_info(qnnrt_run_pipeline(run));
    for (i = 0; ok && i < info->slot_count; ++i) {
        float first;
        if (info->slots[i].role != QNNRT_ROLE_OUTPUT) continue;
        if (qnnrt_read_f32(run, &info->slots[i], 0, &first, 1) == QNNRT_OK)
            printf("%s (%s, %llu elements): %g ...\n", info->slots[i].address, qnnrt_dtype_name(info->slots[i].tensor->dtype),
                   (unsigned long long)info->slots[i].tensor->count, (double)first);
    }
    qnnrt_run_destroy(run);
    qnnrt_close(model);
    return ok ? 0 : 1;
}
