/* cli_device.h - a part of cli.h: what contexts take on the device, and which of them exist

   ROOM     >>device                                                                             */
#ifndef CLI_DEVICE_H
#define CLI_DEVICE_H

/* =====================================================================================
   DEVICE                                                                       >>device
   --resident, --share_spill_fill and --progress, and the figures of the contexts of a model.
   ===================================================================================== */

#define CLI_RESIDENT_HELP \
    "contexts that exist on the backend at a time: all (default), one, or as many as fit into " \
    "BYTES of the device's memory, estimated from what the files state. A context that is needed " \
    "again is loaded again"

#define CLI_SHARE_HELP \
    "HTP: contexts that need spill-fill memory share one, if all are resident and the library can"

/* Read --resident: all, one or a number of bytes, for cli_settle(). Returns STATUS_OK, or
   STATUS_USAGE after a message. */
static inline int cli_resident(const cli_option *o, const char *value, qnnrt_residency *residency,
                               uint64_t *bytes)
{
    static const char *const words[] = {"all", "one", NULL};
    const int word = cli_word(value, words);
    *bytes = 0;
    *residency = word == 0 ? QNNRT_RESIDENT_ALL : QNNRT_RESIDENT_CALLER;
    if (word >= 0 || (cli_number(value, UINT64_MAX, bytes) && *bytes > 0)) return STATUS_OK;
    return cli_wrong_value(o, value, "all, one or a number of bytes");
}

/* Prepare --share_spill_fill: contexts are then created by cli_settle(). Return 1 if they are. */
static inline int cli_share(int asked, qnnrt_desc *desc)
{
    if (!asked || desc->inspect || desc->residency != QNNRT_RESIDENT_ALL) return 0;
    desc->residency = QNNRT_RESIDENT_CALLER;
    return 1;
}

/* Create the contexts of a program that was opened, so that those of a model share spill-fill
   memory; or with swap let those of each model come and go, within so many bytes (0: one). On
   failure it is closed. */
static inline void cli_settle(qnnrt_manifest **model, int share, int swap, uint64_t bytes,
                              qnnrt_error *err)
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

/* Say which file is loaded next: desc.progress. user: an int, 1: print a line for each, 0: say it
   on a terminal as long as it lasts. */
static inline int cli_progress(void *user, size_t done, size_t count, const char *file)
{
    char *shown = cli_shown(file);
    char *text = cli_text("loading %lu of %lu: %s", (unsigned long)done + 1, (unsigned long)count,
                          shown);
    if (done == count) cli_busy_end();
    else if (*(const int *)user) fprintf(stderr, "%s: %s\n", cli_name, text);
    else cli_busy(1, "%s", text);
    free(text);
    free(shown);
    return 1;
}

typedef struct cli_device {
    uint64_t contexts, creates;        /* contexts that could be opened, and how often any of them
                                          was created */
    uint64_t all, peak;                /* bytes of all of them, and the most that existed at a
                                          time */
} cli_device;

/* Add up what the contexts of a model take on the device. */
static inline cli_device cli_device_of(const qnnrt_manifest *model)
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

/* Return a line about what the contexts took. The caller frees it. */
static inline char *cli_device_text(const qnnrt_manifest *model)
{
    const cli_device device = cli_device_of(model);
    char *peak = cli_bytes_text(device.peak), *all = cli_bytes_text(device.all);
    char *made = cli_text("%llu context%s, loaded %llu time%s: at most %s of about %s on the"
                          " device", (unsigned long long)device.contexts,
                          cli_plural(device.contexts), (unsigned long long)device.creates,
                          cli_plural(device.creates), peak, all);
    free(peak);
    free(all);
    return made;
}

#endif
