/* llm_naive.h - a slow and simple cache, and a game that compares a real one with it

   naive_*: a cache of qnnrt_llm.h, written from its documentation alone. Cells are structs with a
   list of sequences each; every query reads all of them; keys and values are bytes of their cell.
   It uses no code of the header's rooms.

   game_*: two real caches of one model and two naive ones. Every move is drawn from a source (random
   numbers, or the bytes of a fuzzer), made on both sides and compared: every query about cells, and
   every byte of keys and values at the place that the address formula gives. game_play() returns
   NULL, or a text about the first difference. The test and the fuzzer share it.

   Include after the implementation of qnnrt_llm.h.                                               */
#ifndef LLM_NAIVE_H
#define LLM_NAIVE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAIVE_CELLS = 24, NAIVE_SEQUENCES = 64, NAIVE_TENSORS = 4, NAIVE_ROWS = 6, NAIVE_PIECE = 20 };

typedef struct naive_cell {
    int           used;
    int64_t       position;
    int           sequences[NAIVE_SEQUENCES];   /* a set; the first `sequence_count` items */
    int           sequence_count;
    int           known;                        /* 1: its bytes were written, and not lost since */
    unsigned char bytes[NAIVE_TENSORS][NAIVE_ROWS][NAIVE_PIECE];
} naive_cell;

typedef struct naive_cache {
    int        count;
    naive_cell cells[NAIVE_CELLS];
} naive_cache;

typedef struct naive_shape { int tensors, rows[NAIVE_TENSORS], inner[NAIVE_TENSORS], element[NAIVE_TENSORS]; } naive_shape;

/* ---- sets of sequences ------------------------------------------------------------------------- */

static int naive_has(const naive_cell *cell, int sequence)
{
    int i;
    if (!cell->used) return 0;
    for (i = 0; i < cell->sequence_count; ++i)
        if (cell->sequences[i] == sequence) return 1;
    return 0;
}

static void naive_add(naive_cell *cell, int sequence)
{
    if (!naive_has(cell, sequence)) cell->sequences[cell->sequence_count++] = sequence;
}

static void naive_drop(naive_cell *cell, int sequence)
{
    int i, kept = 0;
    if (!cell->used) return;
    for (i = 0; i < cell->sequence_count; ++i)
        if (cell->sequences[i] != sequence) cell->sequences[kept++] = cell->sequences[i];
    cell->sequence_count = kept;
    if (kept == 0) cell->used = 0;
}

static int naive_between(const naive_cell *cell, int64_t begin, int64_t end)
{
    if (begin < 0) begin = 0;
    return cell->used && cell->position >= begin && (end < 0 || cell->position < end);
}

/* ---- operations, as llama.cpp's llama_memory_seq_* --------------------------------------------- */

static void naive_clear(naive_cache *n)
{
    int i;
    for (i = 0; i < n->count; ++i) n->cells[i].used = 0;
}

static void naive_set(naive_cache *n, int cell, int64_t position, uint64_t sequences)
{
    int s;
    naive_cell *c = &n->cells[cell];
    c->used = 1;
    c->position = position;
    c->sequence_count = 0;
    for (s = 0; s < NAIVE_SEQUENCES; ++s)
        if (sequences >> s & 1) naive_add(c, s);
}

static void naive_remove(naive_cache *n, int sequence, int64_t begin, int64_t end)
{
    int i, s;
    for (i = 0; i < n->count; ++i) {
        if (!naive_between(&n->cells[i], begin, end)) continue;
        for (s = 0; s < NAIVE_SEQUENCES; ++s)
            if (s == sequence || sequence == -1) naive_drop(&n->cells[i], s);
    }
}

static void naive_copy(naive_cache *n, int from, int to, int64_t begin, int64_t end)
{
    int i;
    for (i = 0; i < n->count; ++i)
        if (naive_has(&n->cells[i], from) && naive_between(&n->cells[i], begin, end)) naive_add(&n->cells[i], to);
}

static void naive_keep(naive_cache *n, int sequence)
{
    int i, s;
    for (i = 0; i < n->count; ++i)
        for (s = 0; s < NAIVE_SEQUENCES; ++s)
            if (s != sequence) naive_drop(&n->cells[i], s);
}

/* Add delta to positions, or change nothing when one of them would be out of range. */
static qnnrt_result naive_turn(naive_cache *n, int sequence, int64_t begin, int64_t end, int64_t delta, int turned)
{
    static naive_cache then;
    int i, changes = 0;
    then = *n;
    for (i = 0; i < n->count; ++i) {
        naive_cell *c = &then.cells[i];
        int64_t old = c->position;
        if (!naive_has(c, sequence) || !naive_between(c, begin, end)) continue;
        c->position += delta;
        if (c->position != old) changes = 1;
        if (c->position > 2147483647) return turned ? QNNRT_E_UNSUPPORTED : QNNRT_E_ARG;
        if (c->position < 0) c->used = 0;
    }
    if (changes && turned) return QNNRT_E_UNSUPPORTED;
    *n = then;
    return QNNRT_OK;
}

/* Close holes: cells keep their order. The bytes of cells after the last one stay. */
static void naive_close(naive_cache *n)
{
    static naive_cache then;
    int i, to = 0;
    then = *n;
    for (i = 0; i < n->count; ++i) {
        then.cells[i].used = 0;
        if (n->cells[i].used) then.cells[to++] = n->cells[i];
    }
    for (i = 0; i < to; ++i) then.cells[i].used = 1;
    *n = then;
}

/* ---- queries ----------------------------------------------------------------------------------- */

static int64_t naive_last(const naive_cache *n, int sequence)
{
    int64_t last = -1;
    int i;
    for (i = 0; i < n->count; ++i)
        if (naive_has(&n->cells[i], sequence) && n->cells[i].position > last) last = n->cells[i].position;
    return last;
}

static int naive_used(const naive_cache *n)
{
    int i, used = 0;
    for (i = 0; i < n->count; ++i) used += n->cells[i].used;
    return used;
}

static int naive_end(const naive_cache *n)
{
    int i, end = 0;
    for (i = 0; i < n->count; ++i)
        if (n->cells[i].used) end = i + 1;
    return end;
}

/* ---- states: read by the description in room >>state ---------------------------------------------- */

static uint64_t naive_number(const unsigned char *at, int bytes)
{
    uint64_t value = 0;
    while (bytes-- > 0) value = value << 8 | at[bytes];
    return value;
}

static uint64_t naive_step(uint64_t sum, uint64_t word)
{
    sum = (sum ^ word) * 11400714819323198485u;
    return sum ^ sum / 4294967296u;
}

static uint64_t naive_sum(const unsigned char *data, size_t bytes)
{
    uint64_t sums[4];
    size_t words = (bytes / 32 + 1) * 4, i, k;
    for (i = 0; i < 4; ++i) sums[i] = 14695981039346656037u + i;
    for (i = 0; i < words; ++i) {
        unsigned char word[8];
        for (k = 0; k < 8; ++k) word[k] = i * 8 + k < bytes ? data[i * 8 + k] : (unsigned char)0;
        sums[i % 4] = naive_step(sums[i % 4], naive_number(word, 8));
    }
    return naive_step(naive_step(naive_step(naive_step(sums[0], bytes), sums[1]), sums[2]), sums[3]);
}

/* Load a state into n. Return 1 if it fits; otherwise n is unchanged. */
static int naive_restore_all(naive_cache *n, const naive_shape *shape, uint64_t fingerprint, int64_t positions,
                             const unsigned char *data, size_t bytes)
{
    static naive_cache then;
    uint64_t cells, size = 48;
    const unsigned char *at = data + 40;
    int k, row;
    uint64_t i;
    if (bytes < 48 || memcmp(data, "qnnrt-kv", 8) != 0 || naive_number(data + 8, 4) != 1) return 0;
    cells = naive_number(data + 12, 4);
    if (naive_number(data + 16, 8) != fingerprint || naive_number(data + 24, 8) != bytes) return 0;
    if (naive_number(data + 32, 4) != 0 || naive_number(data + 36, 4) != (uint64_t)shape->tensors) return 0;
    if (cells > (uint64_t)n->count) return 0;
    for (k = 0; k < shape->tensors; ++k)
        size += 12 + cells * (uint64_t)(shape->rows[k] * shape->inner[k] * shape->element[k]);
    if (size + cells * 12 != bytes || naive_sum(data, bytes - 8) != naive_number(data + bytes - 8, 8)) return 0;
    for (k = 0; k < shape->tensors; ++k, at += 12)
        if (naive_number(at, 4) != (uint64_t)shape->rows[k] || naive_number(at + 4, 4) != (uint64_t)shape->inner[k] ||
            naive_number(at + 8, 4) != (uint64_t)shape->element[k]) return 0;
    memset(&then, 0, sizeof(then));
    then.count = n->count;
    for (i = 0; i < cells; ++i) {
        uint64_t position = naive_number(at + i * 4, 4), sequences = naive_number(at + cells * 4 + i * 8, 8);
        if (position >= (uint64_t)positions || position > 2147483647u || sequences == 0) return 0;
        naive_set(&then, (int)i, (int64_t)position, sequences);
        then.cells[i].known = 1;
    }
    at += cells * 12;
    for (k = 0; k < shape->tensors; ++k)
        for (row = 0; row < shape->rows[k]; ++row)
            for (i = 0; i < cells; ++i, at += shape->inner[k] * shape->element[k])
                memcpy(then.cells[i].bytes[k][row], at, (size_t)(shape->inner[k] * shape->element[k]));
    *n = then;
    return 1;
}

/* Replace one sequence of n by a state of one sequence, or all of them (-1). The bytes of rows are
   lost from the end on if they need more than `stride` cells. Return 1 if it fits; otherwise n is
   unchanged. */
static int naive_restore(naive_cache *n, const naive_shape *shape, int sequence, int stride, uint64_t fingerprint,
                         int64_t positions, const unsigned char *data, size_t bytes)
{
    static naive_cache all, then;
    int from, to, last = -1, i, end;
    if (sequence < 0) return naive_restore_all(n, shape, fingerprint, positions, data, bytes);
    memset(&all, 0, sizeof(all));
    all.count = n->count;
    if (!naive_restore_all(&all, shape, fingerprint, positions, data, bytes)) return 0;
    then = *n;
    naive_remove(&then, sequence, -1, -1);
    end = naive_end(&then);
    for (from = to = 0; from < naive_used(&all); ++from, ++to) {
        if (all.cells[from].sequence_count != 1 || all.cells[from].sequences[0] != all.cells[0].sequences[0]) return 0;
        while (to < then.count && then.cells[to].used) ++to;
        if (to >= then.count) return 0;
        then.cells[to] = all.cells[from];
        then.cells[to].sequences[0] = sequence;
        last = to;
    }
    for (i = end; last >= stride && i < then.count; ++i)
        if (!then.cells[i].used) then.cells[i].known = 0;
    *n = then;
    return 1;
}

/* Return 1 if `saved` holds the cells of a sequence of n (-1: all), in their order. */
static int naive_saved(const naive_cache *saved, const naive_cache *n, const naive_shape *shape, int sequence)
{
    int i, k, row, s, at = 0;
    for (i = 0; i < n->count; ++i) {
        const naive_cell *from = &n->cells[i], *to = &saved->cells[at];
        if (!from->used || (sequence >= 0 && !naive_has(from, sequence))) continue;
        if (!to->used || to->position != from->position) return 0;
        for (s = 0; s < NAIVE_SEQUENCES; ++s)
            if (naive_has(to, s) != (naive_has(from, s) && (sequence < 0 || s == sequence))) return 0;
        for (k = 0; k < shape->tensors; ++k)
            for (row = 0; row < shape->rows[k]; ++row)
                if (memcmp(from->bytes[k][row], to->bytes[k][row], (size_t)(shape->inner[k] * shape->element[k])) != 0) return 0;
        ++at;
    }
    return naive_used(saved) == at;
}

/* ---- the game --------------------------------------------------------------------------------------- */

enum { GAME_GUARD = 24, GAME_AR = 5, GAME_GUARD_BYTE = 0xA5 };

typedef struct game_source {           /* bytes, or random numbers where data is NULL */
    const unsigned char *data;
    size_t               size, at;
    uint32_t             random;
} game_source;

typedef struct game_side {
    qnnrt_llm__cells cells;
    qnnrt_llm__store store;
    naive_cache      naive;
    size_t           bytes;
    uint64_t         ranges[NAIVE_TENSORS];
    qnnrt_arena      arena;
} game_side;

typedef struct game {
    game_source   source;
    naive_shape   shape;
    qnnrt_llm__kv kv[NAIVE_TENSORS];
    game_side     sides[2];
    uint64_t      moves[16];           /* number of moves of each kind that had an effect */
    unsigned char fresh;               /* the next new byte */
    char          text[512];
} game;

#define GAME_SAME(g, cond) \
    do { \
        if (!(cond)) { \
            snprintf((g)->text, sizeof((g)->text), "llm_naive.h:%d: not so: %s", __LINE__, #cond); \
            return (g)->text; \
        } \
    } while (0)
#define GAME_TRY(call) do { const char *game_why_ = (call); if (game_why_ != NULL) return game_why_; } while (0)

static int game_over(const game *g) { return g->source.data != NULL && g->source.at >= g->source.size; }

static int game_draw(game *g, int below)             /* 0 .. below - 1, below <= 256 */
{
    game_source *s = &g->source;
    if (s->data != NULL) return s->at < s->size ? s->data[s->at++] % below : 0;
    s->random ^= s->random << 13;
    s->random ^= s->random >> 17;
    s->random ^= s->random << 5;
    return (int)(s->random >> 3) % below;
}

static int game_sequence(game *g)
{
    static const int some[8] = { 0, 0, 0, 1, 1, 2, 31, 63 };
    return some[game_draw(g, 8)];
}

/* Draw an end of a range: near existing values, or outside of them. */
static int32_t game_position(game *g)
{
    static const int32_t odd[6] = { -1, INT32_MAX, INT32_MAX - 1, INT32_MAX - 3, -7, INT32_MIN };
    int which = game_draw(g, 24);
    return which < 18 ? (int32_t)game_draw(g, 30) : odd[which - 18];
}

static unsigned char *game_at(game_side *side, const naive_shape *shape, int k, int row, int cell)
{
    size_t rows_before = (size_t)side->store.lead + (size_t)row;
    size_t cells_before = rows_before * side->store.stride + (size_t)cell;
    return side->store.data + side->ranges[k] + cells_before * (size_t)(shape->inner[k] * shape->element[k]);
}

/* Compare the result of every query, and every defined byte. */
static const char *game_compare(game *g, game_side *side)
{
    const naive_cache *n = &side->naive;
    uint32_t members[NAIVE_SEQUENCES] = { 0 };
    int64_t first[NAIVE_SEQUENCES], last[NAIVE_SEQUENCES];
    size_t at = 0, end;
    int i, s, k, row;
    for (s = 0; s < NAIVE_SEQUENCES; ++s) first[s] = last[s] = -1;
    GAME_SAME(g, side->cells.count == (uint32_t)n->count);
    GAME_SAME(g, side->cells.used == (uint32_t)naive_used(n));
    GAME_SAME(g, side->cells.end == (uint32_t)naive_end(n));
    GAME_SAME(g, side->cells.end <= side->store.stride);
    for (i = 0; i < n->count; ++i) {
        const naive_cell *c = &n->cells[i];
        uint64_t bits = 0;
        for (k = 0; c->used && k < c->sequence_count; ++k) {
            s = c->sequences[k];
            bits |= (uint64_t)1 << s;
            ++members[s];
            if (first[s] == -1 || c->position < first[s]) first[s] = c->position;
            if (c->position > last[s]) last[s] = c->position;
        }
        GAME_SAME(g, side->cells.sequences[i] == bits);
        GAME_SAME(g, bits == 0 || side->cells.positions[i] == n->cells[i].position);
    }
    for (s = 0; s < NAIVE_SEQUENCES; ++s) {
        GAME_SAME(g, side->cells.members[s] == members[s]);
        GAME_SAME(g, side->cells.last[s] == last[s]);
        GAME_SAME(g, qnnrt_llm__cells_last(&side->cells, s) == last[s]);
        GAME_SAME(g, qnnrt_llm__cells_first(&side->cells, s) == first[s]);
    }
    for (i = 0; i < n->count; ++i) {
        GAME_SAME(g, !n->cells[i].used || n->cells[i].known);
        if (!n->cells[i].known || i >= (int)side->store.stride) continue;
        for (k = 0; k < g->shape.tensors; ++k)
            for (row = 0; row < g->shape.rows[k]; ++row)
                GAME_SAME(g, memcmp(game_at(side, &g->shape, k, row, i), n->cells[i].bytes[k][row],
                                    (size_t)(g->shape.inner[k] * g->shape.element[k])) == 0);
    }
    for (k = 0; k <= g->shape.tensors; ++k) {                     /* bytes between the ranges are unchanged */
        end = k < g->shape.tensors ? (size_t)side->ranges[k] : side->bytes;
        for (; at < end; ++at) GAME_SAME(g, side->store.data[at] == GAME_GUARD_BYTE);
        if (k < g->shape.tensors)
            at = end + (size_t)qnnrt_llm__rows_bytes(&g->kv[k], side->cells.count, GAME_AR, side->store.lead);
    }
    return NULL;
}

static const char *game_side_begin(game *g, game_side *side)
{
    int k;
    memset(side, 0, sizeof(*side));
    side->naive.count = 1 + game_draw(g, NAIVE_CELLS);
    side->store.kv = g->kv;
    side->store.kv_count = (size_t)g->shape.tensors;
    side->store.lead = (uint32_t)game_draw(g, 2);
    side->store.stride = 1 + (uint32_t)game_draw(g, side->naive.count);
    side->store.ranges = side->ranges;
    GAME_SAME(g, qnnrt_llm__cells_make(&side->cells, &side->arena, (uint32_t)side->naive.count));
    for (k = 0; k < g->shape.tensors; ++k) {
        size_t rows = (size_t)side->store.lead + (size_t)g->shape.rows[k];
        size_t piece = (size_t)(g->shape.inner[k] * g->shape.element[k]);
        side->bytes += GAME_GUARD;
        side->ranges[k] = side->bytes;
        side->bytes += (rows * (size_t)side->naive.count + GAME_AR) * piece;
        GAME_SAME(g, qnnrt_llm__rows_bytes(&g->kv[k], side->cells.count, GAME_AR, side->store.lead) ==
                     side->bytes - side->ranges[k]);
    }
    /* The block has exactly this size, so that a read past it is detected. */
    side->store.data = (unsigned char *)malloc(side->bytes > 0 ? side->bytes : 1);
    GAME_SAME(g, side->store.data != NULL);
    memset(side->store.data, GAME_GUARD_BYTE, side->bytes);
    return game_compare(g, side);
}

static void game_side_end(game_side *side)
{
    qnnrt_arena_free(&side->arena);
    free(side->store.data);
}

static void game_arrange(game_side *side, uint32_t stride)
{
    int i, end = naive_end(&side->naive);
    if (stride != side->store.stride)
        for (i = end; i < side->naive.count; ++i) side->naive.cells[i].known = 0;
    qnnrt_llm__rows_arrange(&side->store, stride, side->cells.end);
}

/* Add tokens: find cells, write keys and values into them, run by run or one by one. Sometimes
   undo everything. */
static const char *game_append(game *g, game_side *side)
{
    naive_cache *n = &side->naive;
    const int count = game_draw(g, GAME_AR + 1), extra = game_draw(g, 3), from = extra > 0 ? game_draw(g, extra + 1) : 0;
    const int how = game_draw(g, 8), sequence = game_sequence(g);
    const uint64_t sequences = (uint64_t)1 << sequence | (how >= 6 ? (uint64_t)1 << game_sequence(g) : 0);
    int64_t position = naive_last(n, sequence) + 1;
    uint32_t cells[GAME_AR + 1], last, run;
    const int out_cells = count + extra;
    int i, k, row, found = 0;
    for (i = 0; i < n->count && found < count; ++i)
        if (!n->cells[i].used) ++found;
    GAME_SAME(g, qnnrt_llm__cells_find(&side->cells, (uint32_t)count, cells) == (found == count));
    if (found < count || count == 0) return NULL;
    for (i = 0, found = 0; found < count; ++i)
        if (!n->cells[i].used) GAME_SAME(g, cells[found++] == (uint32_t)i);
    if (how == 5) position = game_position(g);
    if (position < 0 || position > (int64_t)INT32_MAX - count) position = (int64_t)INT32_MAX - count;
    for (i = 0; i < count; ++i) qnnrt_llm__cells_set(&side->cells, cells[i], (int32_t)(position + i), sequences);
    last = cells[count - 1];
    if (how == 4) {                                                  /* undone, in any order */
        for (i = 0; i < count; ++i) qnnrt_llm__cells_unset(&side->cells, cells[extra > 1 ? i : count - 1 - i]);
        return NULL;
    }
    /* Cells are past the end of the rows. */
    if (last >= side->store.stride) {
        uint32_t end = side->cells.end;
        side->cells.end = (uint32_t)naive_end(n);
        game_arrange(side, last + 1 + (uint32_t)game_draw(g, n->count - (int)last));
        side->cells.end = end;
    }
    for (i = 0; i < count; ++i) naive_set(n, (int)cells[i], position + i, sequences);
    for (k = 0; k < g->shape.tensors; ++k) {
        const size_t piece = (size_t)(g->shape.inner[k] * g->shape.element[k]);
        const size_t bytes = (size_t)(g->shape.rows[k] * out_cells) * piece;
        unsigned char *out = (unsigned char *)malloc(bytes);
        size_t b;
        GAME_SAME(g, out != NULL);
        for (b = 0; b < bytes; ++b) out[b] = g->fresh = (unsigned char)(g->fresh * 5 + 29);
        for (i = 0; i < count; ++i)
            for (row = 0; row < g->shape.rows[k]; ++row)
                memcpy(n->cells[cells[i]].bytes[k][row], out + (size_t)(row * out_cells + from + i) * piece, piece);
        for (i = 0; i < count; i += (int)run) {
            for (run = 1; how < 3 && i + (int)run < count && cells[i + (int)run] == cells[i] + run;) ++run;
            qnnrt_llm__rows_put(&side->store, (size_t)k, out, (uint32_t)out_cells, (uint32_t)(from + i), cells[i], run);
        }
        free(out);
    }
    for (i = 0; i < count; ++i) n->cells[cells[i]].known = 1;
    return NULL;
}

/* Move cells, also to ranges that overlap. */
static void game_move(game *g, game_side *side)
{
    static naive_cache old;
    naive_cache *n = &side->naive;
    const int stride = (int)side->store.stride, from = game_draw(g, stride), to = game_draw(g, stride);
    const int room = stride - (from > to ? from : to), count = game_draw(g, room + 1);
    int i;
    old = *n;
    qnnrt_llm__rows_move(&side->store, (uint32_t)from, (uint32_t)to, (uint32_t)count);
    for (i = 0; i < count; ++i) {
        memcpy(n->cells[to + i].bytes, old.cells[from + i].bytes, sizeof(old.cells[0].bytes));
        n->cells[to + i].known = old.cells[from + i].known;
        /* A cell whose bytes are no longer defined must not be in use. */
        if (n->cells[to + i].known || !n->cells[to + i].used) continue;
        n->cells[to + i].used = 0;
        qnnrt_llm__cells_unset(&side->cells, (uint32_t)(to + i));
    }
}

/* Read bytes of a run of cells. */
static const char *game_get(game *g, game_side *side)
{
    const int stride = (int)side->store.stride, cell = game_draw(g, stride), count = 1 + game_draw(g, stride - cell);
    const int extra = game_draw(g, 3), from = extra > 0 ? game_draw(g, extra + 1) : 0, out_cells = count + extra;
    int i, k, row;
    for (k = 0; k < g->shape.tensors; ++k) {
        const size_t piece = (size_t)(g->shape.inner[k] * g->shape.element[k]);
        unsigned char *out = (unsigned char *)malloc((size_t)(g->shape.rows[k] * out_cells) * piece);
        int good = out != NULL;
        if (good) qnnrt_llm__rows_get(&side->store, (size_t)k, out, (uint32_t)out_cells, (uint32_t)from, (uint32_t)cell, (uint32_t)count);
        for (i = 0; i < count && good; ++i)
            for (row = 0; row < g->shape.rows[k] && good; ++row)
                good = !side->naive.cells[cell + i].known ||
                       memcmp(out + (size_t)(row * out_cells + from + i) * piece, side->naive.cells[cell + i].bytes[k][row], piece) == 0;
        free(out);
        GAME_SAME(g, good);
    }
    return NULL;
}

/* Save one side or a sequence of it, maybe damage the state, restore it into one of both or into a
   sequence of it, and compare with naive_restore(). */
static const char *game_state(game *g, game_side *from, game_side *to)
{
    const uint64_t fingerprint = 0x0123456789ABCDEFu;
    const int only = game_draw(g, 2) > 0 ? game_sequence(g) : -1, as = game_draw(g, 3) > 0 ? game_sequence(g) : -1;
    const uint64_t bits = only < 0 ? UINT64_MAX : (uint64_t)1 << only;
    const size_t bytes = qnnrt_llm__state_bytes(&from->cells, &from->store, bits);
    const int how = game_draw(g, 8), flips = how < 3 ? 0 : 1 + game_draw(g, 3);
    const uint32_t positions = how == 1 ? 30 : (uint32_t)1 << 31;
    static naive_cache clean;
    unsigned char *data = (unsigned char *)malloc(bytes), *copy;
    uint32_t stride = to->store.stride, places[NAIVE_CELLS];
    size_t used = bytes, i;
    qnnrt_result result;
    qnnrt_error err;
    int good, damaged = 0;
    GAME_SAME(g, data != NULL && bytes >= 48);
    qnnrt_llm__state_save(&from->cells, &from->store, bits, fingerprint, data);
    clean.count = NAIVE_CELLS;
    good = naive_restore_all(&clean, &g->shape, fingerprint, (int64_t)1 << 31, data, bytes) &&
           naive_saved(&clean, &from->naive, &g->shape, only);
    if (!good) { free(data); GAME_SAME(g, good); }
    for (i = 0; i < (size_t)flips; ++i) {
        /* Half of the changes hit the first parts: the head, the tensors, the positions. */
        size_t at = (size_t)game_draw(g, 256) * 256 + (size_t)game_draw(g, 256);
        int bit = game_draw(g, 8);
        at %= at & 1 && bytes > 96 ? 96 : bytes;
        data[at] = (unsigned char)(data[at] ^ 1 << bit);
    }
    if (how == 3) used = (size_t)(game_draw(g, 256) * 256 + game_draw(g, 256)) % (bytes + 1);      /* cut short */
    if (how >= 5 && used > 8) {                              /* damage on purpose corrects the checksum */
        uint64_t sum;
        if (how == 7)
            for (i = 0; i < 8; ++i) data[24 + i] = (unsigned char)((uint64_t)used >> 8 * i);
        sum = naive_sum(data, used - 8);
        for (i = 0; i < 8; ++i) data[used - 8 + i] = (unsigned char)(sum >> 8 * i);
    }
    /* The block has exactly this size, so that a read past it is detected. */
    copy = (unsigned char *)malloc(used > 0 ? used : 1);
    if (copy != NULL) memcpy(copy, data, used);
    free(data);
    GAME_SAME(g, copy != NULL);
    memset(&err, 0xFF, sizeof(err));
    qnnrt_error_clear(&err);
    result = qnnrt_llm__state_restore(&to->cells, &to->store, as, fingerprint, positions, places, copy, used, &err);
    good = naive_restore(&to->naive, &g->shape, as, (int)stride, fingerprint, (int64_t)positions, copy, used);
    if (result != QNNRT_OK && flips == 0)                    /* these are never damaged */
        damaged = result != QNNRT_E_LIMIT && !(result == QNNRT_E_MISMATCH && only < 0 && as >= 0);
    free(copy);
    GAME_SAME(g, good == (result == QNNRT_OK) && !damaged);
    GAME_SAME(g, good || ((result == QNNRT_E_FORMAT || result == QNNRT_E_MISMATCH || result == QNNRT_E_LIMIT) &&
                          err.code == result && err.text[0] != '\0'));
    GAME_SAME(g, good || to->store.stride == stride);
    GAME_SAME(g, !good || to->store.stride == (to->cells.end > stride ? to->cells.count : stride));
    ++g->moves[good ? as < 0 ? 14 : 13 : 15];
    return NULL;
}

static const char *game_copy(game *g, game_side *from, game_side *to)
{
    const int end = naive_end(&from->naive), count = to->naive.count;
    uint32_t stride = to->store.stride;
    qnnrt_error err;
    int i;
    qnnrt_result result = qnnrt_llm__state_copy(&to->cells, &to->store, &from->cells, &from->store, &err);
    GAME_SAME(g, result == (end > count && from != to ? QNNRT_E_LIMIT : QNNRT_OK));
    if (result != QNNRT_OK || from == to) return NULL;
    GAME_SAME(g, to->store.stride == ((uint32_t)end > stride ? (uint32_t)count : stride));
    memset(&to->naive, 0, sizeof(to->naive));
    to->naive.count = count;
    for (i = 0; i < end; ++i) to->naive.cells[i] = from->naive.cells[i];
    return NULL;
}

/* Fill all ranges with an element. */
static void game_fill(game *g, game_side *side)
{
    naive_cache *n = &side->naive;
    unsigned char zero[4];
    int i, k, row, b;
    for (k = 0; k < g->shape.tensors; ++k) {
        for (b = 0; b < 4; ++b) zero[b] = g->fresh = (unsigned char)(g->fresh * 5 + 29);
        qnnrt_llm__rows_fill(&side->store, (size_t)k, qnnrt_llm__rows_bytes(&g->kv[k], side->cells.count, GAME_AR, side->store.lead), zero);
        for (i = 0; i < n->count; ++i)
            for (row = 0; row < g->shape.rows[k]; ++row)
                for (b = 0; b < NAIVE_PIECE; ++b) n->cells[i].bytes[k][row][b] = zero[b % g->shape.element[k]];
    }
    for (i = 0; i < n->count; ++i) n->cells[i].known = 1;
}

static const char *game_step(game *g)
{
    game_side *side = &g->sides[game_draw(g, 2)], *other = &g->sides[game_draw(g, 2)];
    const int move = game_draw(g, 32);
    const int sequence = move >= 12 && move < 25 ? game_sequence(g) : 0;
    const int32_t begin = move >= 12 && move < 25 ? game_position(g) : 0;
    const int32_t end = move >= 12 && move < 25 ? game_position(g) : 0;
    int32_t by;
    int to, turned;
    if (move < 12) { ++g->moves[0]; GAME_TRY(game_append(g, side)); }
    else if (move < 16) {
        to = move == 12 ? -1 : sequence;
        qnnrt_llm__cells_remove(&side->cells, to, begin, end);
        naive_remove(&side->naive, to, begin, end);
        ++g->moves[1];
    } else if (move < 19) {
        to = game_sequence(g);
        qnnrt_llm__cells_copy(&side->cells, sequence, to, begin, end);
        naive_copy(&side->naive, sequence, to, begin, end);
        ++g->moves[2];
    } else if (move < 20) {
        qnnrt_llm__cells_keep(&side->cells, sequence);
        naive_keep(&side->naive, sequence);
        ++g->moves[3];
    } else if (move < 25) {
        by = game_position(g);
        if (game_draw(g, 2)) by = by > 0 ? -by : 0;
        turned = game_draw(g, 3) == 0;
        GAME_SAME(g, qnnrt_llm__cells_shift(&side->cells, sequence, begin, end, by, turned) ==
                     naive_turn(&side->naive, sequence, begin, end, by, turned));
        ++g->moves[4];
    } else if (move < 27) {
        to = side->naive.count - naive_end(&side->naive);
        by = naive_end(&side->naive) + game_draw(g, to + 1);
        if (by > 0) { game_arrange(side, (uint32_t)by); ++g->moves[5]; }
    } else if (move < 28 && game_draw(g, 2) > 0) { game_move(g, side); ++g->moves[6]; }
    else if (move < 28) {
        g->moves[12] += naive_used(&side->naive) < naive_end(&side->naive);
        qnnrt_llm__defragment(&side->cells, &side->store);
        naive_close(&side->naive);
    }
    else if (move < 29) { GAME_TRY(game_get(g, side)); ++g->moves[7]; }
    else if (move < 31) { GAME_TRY(game_state(g, side, other)); ++g->moves[8]; }
    else if (game_draw(g, 2) > 0) { GAME_TRY(game_copy(g, side, other)); ++g->moves[9]; }
    else if (game_draw(g, 2) > 0) {
        qnnrt_llm__cells_clear(&side->cells);
        naive_clear(&side->naive);
        ++g->moves[10];
    } else { game_fill(g, side); ++g->moves[11]; }
    GAME_TRY(game_compare(g, &g->sides[0]));
    return game_compare(g, &g->sides[1]);
}

/* Draw a model and two caches, then make this many moves. */
static const char *game_play(game *g, const unsigned char *data, size_t size, uint32_t seed, int moves)
{
    static const int elements[3] = { 1, 2, 4 }, inners[4] = { 1, 3, 4, 5 };
    const char *why = NULL;
    int k;
    memset(g->sides, 0, sizeof(g->sides));
    memset(&g->source, 0, sizeof(g->source));
    g->source.data = data;
    g->source.size = size;
    g->source.random = seed * 2654435761u | 1;
    g->fresh = 1;
    memset(&g->shape, 0, sizeof(g->shape));
    memset(g->kv, 0, sizeof(g->kv));
    g->shape.tensors = 1 + game_draw(g, NAIVE_TENSORS);
    for (k = 0; k < g->shape.tensors; ++k) {
        g->shape.rows[k] = 1 + game_draw(g, NAIVE_ROWS);
        g->shape.inner[k] = k % 2 == 0 ? 1 : inners[game_draw(g, 4)];
        g->shape.element[k] = elements[game_draw(g, 3)];
        g->kv[k].role = k % 2 == 0 ? QNNRT_LLM_ROLE_KEY_IN : QNNRT_LLM_ROLE_VALUE_IN;
        g->kv[k].outer = (uint32_t)g->shape.rows[k];
        g->kv[k].inner = (uint32_t)g->shape.inner[k];
        g->kv[k].element = (uint32_t)g->shape.element[k];
    }
    for (k = 0; k < 2 && why == NULL; ++k) why = game_side_begin(g, &g->sides[k]);
    while (why == NULL && moves-- > 0 && !game_over(g)) why = game_step(g);
    for (k = 0; k < 2; ++k) game_side_end(&g->sides[k]);
    return why;
}

#endif /* LLM_NAIVE_H */
