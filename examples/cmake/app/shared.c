/* Open a folder with libqnnrt.so and run its pipeline once: shared_c FOLDER [BACKEND_LIBRARY]
   No implementation is defined here: the library has it. */
#include <stdio.h>

#include "qnnrt.h"

int main(int argc, char **argv)
{
    qnnrt *model;
    qnnrt_run *run;
    qnnrt_error err;
    qnnrt_desc desc = {0};
    const qnnrt_pipeline_info *info;
    int ok;
    size_t i;

    if (argc < 2) {
        fprintf(stderr, "usage: shared_c FOLDER [BACKEND_LIBRARY]\n");
        return 2;
    }
    /* Before 1.0 a program and its library must have the same major and minor version. */
    printf("libqnnrt.so %s\n", qnnrt_version());
    desc.backend_desc.path = argc > 2 ? argv[2] : NULL;
    if (qnnrt_open(argv[1], &desc, &model, &err) != QNNRT_OK) {
        fprintf(stderr, "%s\nhint: %s\n", err.text, err.hint);
        return 1;
    }
    if (qnnrt_prepare(model, NULL, &run, &err) != QNNRT_OK) {
        fprintf(stderr, "%s\n", err.text);
        qnnrt_close(model);
        return 1;
    }
    ok = qnnrt_exec(run) == QNNRT_OK;
    if (!ok)
        fprintf(stderr, "%s\n", qnnrt_run_error(run)->text);
    info = qnnrt_pipeline_get_info(qnnrt_run_pipeline(run));
    for (i = 0; ok && i < info->slot_count; ++i) {
        float first;
        if (info->slots[i].role == QNNRT_ROLE_OUTPUT &&
            qnnrt_read_f32(run, &info->slots[i], 0, &first, 1) == QNNRT_OK)
            printf("%s: %g ...\n", info->slots[i].address, (double)first);
    }
    qnnrt_run_destroy(run);
    qnnrt_close(model);
    return ok ? 0 : 1;
}
