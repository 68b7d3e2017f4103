/* compared.c - tensors that were compared, as a table and as JSON

   ROOM     >>compared */
#include "run/measure/measure.h"
#include "run/model/model.h"

#include <math.h>

/* =====================================================================================
   COMPARED                                                                     >>compared
   A list of tensors that were compared, with what is allowed, as a table and as JSON.
   ===================================================================================== */

int compare_begin(comparison *c, tool *t, double otherwise)
{
    const cli_list *texts = &t->set.compare->tolerances;
    memset(c, 0, sizeof(*c));
    c->t = t;
    c->limits = cli_alloc(texts->count + 1, sizeof(*c->limits));
    c->limits_used = cli_alloc(texts->count + 1, sizeof(*c->limits_used));
    c->limits[c->limit_count++].value = otherwise;
    c->limits_used[0] = 1;
    for (size_t i = 0; i < texts->count; ++i) {
        limit one;
        if (!limit_read(texts->items[i], &one))
            return cli_usage("Write --tolerance 0.01, 0.5:abs or 2:quantized, or NAME=0.01.",
                             "--tolerance takes [NAME=]T[:abs|:quantized], not \"%s\"",
                             texts->items[i]);
        if (one.tensor == NULL) {
            c->limits[0] = one;
            c->given = 1;
        } else c->limits[c->limit_count++] = one;
    }
    return STATUS_OK;
}

void compare_end(comparison *c)
{
    for (size_t i = 0; i < c->limit_count; ++i) free(c->limits[i].tensor);
    for (size_t i = 0; i < c->count; ++i) {
        free(c->rows[i].where);
        free(c->rows[i].name);
        free(c->rows[i].problem);
    }
    for (size_t i = 0; i < 2; ++i) {
        free(c->sides[i].model);
        free(c->sides[i].backend);
        free(c->sides[i].build);
    }
    free(c->first);
    free(c->limits);
    free(c->limits_used);
    free(c->rows);
}

void compare_side(comparison *c, size_t which, const char *model, const char *backend,
                  const char *build)
{
    c->sides[which].model = cli_text("%s", model);
    c->sides[which].backend = backend != NULL ? cli_text("%s", backend) : NULL;
    c->sides[which].build = build != NULL ? cli_text("%s", build) : NULL;
}

void compare_model(comparison *c, size_t which, const tool *t)
{
    const qnnrt_manifest_info *info = qnnrt_manifest_get_info(t->model);
    const qnnrt_backend_info *backend = info != NULL ? qnnrt_backend_get_info(info->backend) : NULL;
    compare_side(c, which, model_name(t),
                 backend != NULL ? cli_backend_name(backend->id) : NULL,
                 backend != NULL ? backend->build_id : NULL);
}

/* Return the limit of a tensor, which --tolerance names as the table does, or without what is
   before the last slash. */
static const limit *compare_limit(comparison *c, const char *name)
{
    const char *slash = strrchr(name, '/'), *stem = slash != NULL ? slash + 1 : name;
    size_t found = 0;
    for (size_t i = 1; i < c->limit_count; ++i)
        if (strcmp(c->limits[i].tensor, name) == 0 || strcmp(c->limits[i].tensor, stem) == 0)
            found = i;
    c->limits_used[found] = 1;
    return &c->limits[found];
}

static compared *compare_row(comparison *c, const char *where, uint32_t step, const char *name)
{
    c->rows = cli_grow(c->rows, c->count, &c->room, sizeof(*c->rows));
    compared *row = &c->rows[c->count++];
    memset(row, 0, sizeof(*row));
    row->where = cli_text("%s", where);
    row->name = cli_text("%s", name);
    row->step = step;
    return row;
}

void compare_problem(comparison *c, const char *where, uint32_t step, const char *name,
                     const char *problem)
{
    compare_row(c, where, step, name)->problem = cli_text("%s", problem);
    ++c->bad;
}

static int compare_is_bad(const compared *row)
{
    return row->problem != NULL || row->m.first_bad != UINT64_MAX;
}

void compare_tensors(comparison *c, const char *where, uint32_t step, const char *name,
                     const qnnrt_tensor_info *a, const void *a_data,
                     const qnnrt_tensor_info *b, const void *b_data)
{
    if (a->count != b->count) {
        char text[2][256], *why;
        why = cli_text("%s on side A, %s on side B", qnnrt_tensor_text(a, text[0], 256),
                       qnnrt_tensor_text(b, text[1], 256));
        compare_problem(c, where, step, name, why);
        free(why);
        return;
    }
    OWNED double *x = cli_alloc((size_t)a->count, sizeof(*x)), *y = cli_alloc((size_t)a->count,
                                                                              sizeof(*y));
    const limit *most = compare_limit(c, name);
    const char *why = !numbers_of(a, a_data, a->count, x)   ? "its type on side A has no numbers"
                      : !numbers_of(b, b_data, a->count, y) ? "its type on side B has no numbers"
                      : most->kind == LIMIT_QUANTIZED && !same_encoding(a, b)
                          ? "a :quantized tolerance needs equal encodings on both sides" : NULL;
    if (why != NULL) compare_problem(c, where, step, name, why);
    else {
        compared *row = compare_row(c, where, step, name);
        row->dtypes[0] = a->dtype;
        row->dtypes[1] = b->dtype;
        row->rank = a->rank < DIMS_MOST ? a->rank : DIMS_MOST;
        for (uint32_t d = 0; d < row->rank; ++d) row->dims[d] = a->dims[d];
        measure_numbers(&row->m, x, y, a->count);
        if (same_encoding(a, b)) measure_quantized(&row->m, a, a_data, b_data);
        row->most = *most;
        limit_apply(most, &row->m, x, y, a, a_data, b_data);
        const uint64_t at = row->m.first_bad;
        if (at != UINT64_MAX) {
            row->bad[0] = x[at];
            row->bad[1] = y[at];
            for (size_t i = 0; i < 2 && row->m.quantized; ++i)
                row->bad_quantized[i] = integer_at(a->dtype, i == 0 ? a_data : b_data, at);
            ++c->bad;
        }
    }
}

void compare_first(comparison *c, const compared *row, const char *step)
{
    if (c->first == NULL && compare_is_bad(row))
        c->first = cli_text("step %lu of pipeline \"%s\", %s: tensor \"%s\"",
                            (unsigned long)row->step, row->where, step, row->name);
}

/* Return "[0,3,5]", the index of an element. The caller frees it. */
static char *compare_index(const compared *row, uint64_t at)
{
    int64_t index[DIMS_MOST];
    page p = {NULL, 0, 0};
    for (uint32_t d = row->rank; d > 0; --d) {
        const uint64_t dim = row->dims[d - 1] != 0 ? row->dims[d - 1] : 1;
        index[d - 1] = (int64_t)(at % dim);
        at /= dim;
    }
    page_dims(&p, row->rank, index);
    return p.data;
}

static char *compare_sqnr(double sqnr_db)
{
    return isinf(sqnr_db) ? cli_text(sqnr_db > 0 ? "exact" : "-inf") : cli_text("%.1f", sqnr_db);
}

static const char *const compare_bins[MEASURE_BINS] = {
    "0", "<1e-6", "<1e-5", "<1e-4", "<0.001", "<0.01", "<0.1", "<1", ">=1", "NaN or infinite"};

/* Say more about a tensor that differs. */
static void compare_details(const comparison *c, const compared *row)
{
    const tool *t = c->t;
    const measure *m = &row->m;
    OWNED char *name = cli_shown(row->name);
    if (row->problem != NULL) {
        OWNED char *problem = cli_shown_text(row->problem, 1);
        say(t, "  %s: %s\n", name, problem);
        return;
    }
    OWNED char *index = compare_index(row, compare_is_bad(row) ? m->first_bad : m->worst);
    if (compare_is_bad(row)) {
        say(t, "  %s: the first beyond the tolerance is %s: %.9g and %.9g", name, index,
            row->bad[0], row->bad[1]);
        if (m->quantized)
            say(t, " (quantized %lld and %lld)", (long long)row->bad_quantized[0],
                (long long)row->bad_quantized[1]);
        say(t, "\n");
    } else {
        say(t, "  %s: the largest difference is at %s\n", name, index);
    }
    OWNED char *unequal = cli_grouped(m->unequal), *count = cli_grouped(m->count);
    say(t, "    %s of %s values differ", unequal, count);
    if (m->wild > 0) say(t, ", %llu where one is NaN or infinite", (unsigned long long)m->wild);
    if (m->quantized)
        say(t, "; quantized by %llu at most, %.3g on average", (unsigned long long)m->quantized_max,
            m->quantized_mean);
    say(t, "\n    differences as parts of %.4g, the largest value:", m->largest);
    for (size_t i = 0; i < MEASURE_BINS; ++i)
        if (m->bins[i] > 0) say(t, "  %s: %llu", compare_bins[i], (unsigned long long)m->bins[i]);
    say(t, "\n");
}

void compare_say(const comparison *c, size_t first)
{
    static const char *const titles[COLUMNS] = {"tensor", "type", "max abs", "mean abs", "RMSE",
                                                "cosine", "SQNR dB", ""};
    OWNED char *(*cells)[COLUMNS] = cli_alloc(c->count - first, sizeof(*cells));
    for (size_t i = first; i < c->count; ++i) {
        const compared *row = &c->rows[i];
        const measure *m = &row->m;
        char **cell = cells[i - first];
        const char *says = row->problem != NULL ? "not comparable" : compare_is_bad(row)
                              ? "differs" : m->unequal > 0 ? "within" : "equal";
        cell[0] = cli_shown(row->name);
        cell[1] = row->problem != NULL ? cli_text("-") : row->dtypes[0] == row->dtypes[1]
                  ? cli_text("%s", qnnrt_dtype_name(row->dtypes[0]))
                  : cli_text("%s, %s", qnnrt_dtype_name(row->dtypes[0]),
                             qnnrt_dtype_name(row->dtypes[1]));
        const double values[] = {m->max_abs, m->mean_abs, m->rmse};
        for (size_t k = 0; k < 3; ++k)
            cell[2 + k] = row->problem != NULL ? cli_text("-") : cli_text("%.4g", values[k]);
        cell[5] = row->problem != NULL ? cli_text("-") : cli_text("%.7f", m->cosine);
        cell[6] = row->problem != NULL ? cli_text("-") : compare_sqnr(m->sqnr_db);
        cell[7] = row->m.quantized && m->unequal > 0
            ? cli_text("%s, %llu step%s", says, (unsigned long long)m->quantized_max,
                       cli_plural(m->quantized_max)) : cli_text("%s", says);
    }
    say_table(c->t, titles, "llrrrrrl", cells, c->count - first);
    for (size_t i = first; i < c->count; ++i)
        if (compare_is_bad(&c->rows[i]) ||
            (c->t->set.compare->histogram && c->rows[i].m.unequal > 0))
            compare_details(c, &c->rows[i]);
}

static void compare_index_json(json *j, const char *key, const compared *row, uint64_t at)
{
    uint64_t index[DIMS_MOST];
    if (at == UINT64_MAX) {
        json_string(j, key, NULL);
        return;
    }
    for (uint32_t d = row->rank; d > 0; --d) {
        const uint64_t dim = row->dims[d - 1] != 0 ? row->dims[d - 1] : 1;
        index[d - 1] = at % dim;
        at /= dim;
    }
    json_open(j, key, '[', 1);
    for (uint32_t d = 0; d < row->rank; ++d) json_count(j, NULL, index[d]);
    json_close(j);
}

/* Write a row as an object. */
static void compare_row_json(json *j, const compared *row)
{
    static const char *const kinds[] = {"relative", "abs", "quantized"};
    const measure *m = &row->m;
    json_open(j, NULL, '{', 0);
    json_string(j, "where", row->where);
    json_string(j, "tensor", row->name);
    if (row->step == NO_STEP) json_string(j, "step", NULL);
    else json_count(j, "step", row->step);
    json_string(j, "problem", row->problem);
    json_bool(j, "good", !compare_is_bad(row));
    if (row->problem == NULL) {
        json_open(j, "dtypes", '[', 1);
        for (size_t i = 0; i < 2; ++i) json_string(j, NULL, qnnrt_dtype_name(row->dtypes[i]));
        json_close(j);
        json_open(j, "dims", '[', 1);
        for (uint32_t d = 0; d < row->rank; ++d) json_count(j, NULL, row->dims[d]);
        json_close(j);
        json_count(j, "count", m->count);
        json_count(j, "unequal", m->unequal);
        json_count(j, "not_finite", m->wild);
        json_count(j, "nans", m->nans);
        json_number(j, "largest", m->largest);
        json_number(j, "max_abs", m->max_abs);
        json_number(j, "mean_abs", m->mean_abs);
        json_number(j, "rmse", m->rmse);
        json_number(j, "cosine", m->cosine);
        json_number(j, "sqnr_db", m->sqnr_db);
        if (m->quantized) {
            json_count(j, "quantized_max", m->quantized_max);
            json_number(j, "quantized_mean", m->quantized_mean);
        }
        json_number(j, "tolerance", row->most.value);
        json_string(j, "tolerance_kind", kinds[row->most.kind]);
        compare_index_json(j, "worst", row, m->worst);
        compare_index_json(j, "first_bad", row, m->first_bad);
        json_open(j, "histogram", '[', 1);
        for (size_t i = 0; i < MEASURE_BINS; ++i) json_count(j, NULL, m->bins[i]);
        json_close(j);
    }
    json_close(j);
}

/* Write --json. */
static void compare_write(comparison *c, const char *format)
{
    document d;
    if (!c->t->set.json) return;
    json *j = document_result(&d, format, c->t, !c->t->failed && c->bad == 0);
    json_string(j, "first", c->first);
    json_open(j, "sides", '[', 0);
    for (size_t i = 0; i < 2; ++i) {
        if (c->sides[i].model == NULL) continue;
        json_open(j, NULL, '{', 1);
        json_string(j, "model", c->sides[i].model);
        json_string(j, "backend", c->sides[i].backend);
        json_string(j, "build", c->sides[i].build);
        json_close(j);
    }
    json_close(j);
    json_open(j, "tensors", '[', 0);
    for (size_t i = 0; i < c->count; ++i) compare_row_json(j, &c->rows[i]);
    json_close(j);
    document_write(&d, c->t, "-");
}

int compare_verdict(comparison *c, const char *format)
{
    tool *t = c->t;
    for (size_t i = 1; i < c->limit_count; ++i) {
        if (c->limits_used[i] || t->failed) continue;
        cli_near near = {c->limits[i].tensor, strlen(c->limits[i].tensor), NULL, 0};
        for (size_t k = 0; k < c->count; ++k) cli_near_try(&near, c->rows[k].name);
        OWNED char *hint = cli_near_hint(&near);
        fail(t, NULL, hint != NULL ? hint : "Name a tensor as the table does.",
             "--tolerance: no tensor \"%s\" was compared", c->limits[i].tensor);
    }
    if (c->count == 0 && !t->failed)
        fail(t, NULL, "Name two models, two captures, or two folders of values.",
             "there is nothing to compare");
    if (!t->failed || c->count > 0)
        say(t, "\n%lu tensor%s compared, %lu beyond the tolerance\n", (unsigned long)c->count,
            cli_plural(c->count), (unsigned long)c->bad);
    OWNED char *first = c->first != NULL ? cli_shown(c->first) : NULL;
    if (first != NULL) say(t, "the first that differs is %s\n", first);
    compare_write(c, format);
    return c->bad > 0 || t->failed ? STATUS_FAILED : STATUS_OK;
}
