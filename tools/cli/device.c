/* device.c - what contexts take on the device, and which of them exist

   ROOM     >>device */
#include "cli/cli.h"
#include "qnnrt_device.h"

#include "cli/stages.h"

/* =====================================================================================
   DEVICE                                                                       >>device
   --resident, --share_spill_fill and --progress, and the figures of the contexts of a model.
   ===================================================================================== */

int cli_resident(const cli_option *o, const char *value, qnnrt_residency *residency,
                 uint64_t *bytes)
{
    static const char *const words[] = {"all", "one", NULL};
    const int word = cli_word(value, words);
    *bytes = 0;
    *residency = word == 0 ? QNNRT_RESIDENT_ALL : QNNRT_RESIDENT_CALLER;
    if (word >= 0 || (cli_number(value, UINT64_MAX, bytes) && *bytes > 0)) return STATUS_OK;
    return cli_wrong_value(o, value, "all, one or a number of bytes");
}

int cli_share(int asked, qnnrt_desc *desc)
{
    if (!asked || desc->inspect || desc->residency != QNNRT_RESIDENT_ALL) return 0;
    desc->residency = QNNRT_RESIDENT_CALLER;
    return 1;
}

void cli_settle(qnnrt_manifest **model, int share, int swap, uint64_t bytes, qnnrt_error *err)
{
    const qnnrt_manifest_info *info = qnnrt_manifest_get_info(*model);
    qnnrt_result result = QNNRT_OK;
    for (size_t i = 0; info != NULL && i < info->model_count && result == QNNRT_OK; ++i) {
        if (share) result = qnnrt_model_load_shared(info->models[i], err);
        if (swap) result = qnnrt_model_swap(info->models[i], bytes, err);
    }
    if (result == QNNRT_OK) return;
    qnnrt_manifest_close(*model);
    *model = NULL;
}

int cli_progress(void *user, size_t done, size_t count, const char *file)
{
    OWNED char *shown = cli_shown(file);
    OWNED char *text = cli_text("loading %lu of %lu: %s", (unsigned long)done + 1,
                                (unsigned long)count, shown);
    if (done == count) cli_busy_end();
    else if (*(const int *)user) fprintf(stderr, "%s: %s\n", cli_name, text);
    else cli_busy(1, "%s", text);
    return 1;
}

cli_device cli_device_of(const qnnrt_manifest *model)
{
    const qnnrt_manifest_info *info = qnnrt_manifest_get_info(model);
    cli_device device = {0, 0, 0, 0};
    for (size_t i = 0; i < info->context_count; ++i) {
        if (info->contexts[i].failure != NULL) continue;
        ++device.contexts;
        device.creates += info->contexts[i].info->creates;
        device.all += info->contexts[i].info->device_bytes;
    }
    for (size_t i = 0; i < info->model_count; ++i)
        device.peak += qnnrt_get_info(info->models[i])->device_peak;
    return device;
}

char *cli_device_text(const qnnrt_manifest *model)
{
    const cli_device device = cli_device_of(model);
    OWNED char *peak = cli_bytes_text(device.peak), *all = cli_bytes_text(device.all);
    return cli_text("%llu context%s, loaded %llu time%s: at most %s of about %s on the"
                    " device", (unsigned long long)device.contexts,
                    cli_plural(device.contexts), (unsigned long long)device.creates,
                    cli_plural(device.creates), peak, all);
}
