/* ggml-qnnrt.cpp - part of qnnrt v0.5.0 - a loadable ggml backend on Qualcomm's QNN libraries

   An unchanged program of ggml loads it:
       export GGML_BACKEND_PATH=$PWD/libggml-qnnrt.so GGML_QNNRT_LIB=/path/libQnnHtp.so
       llama-cli -ngl 99 ...
   How to build it, the environment and what it does with weights: README.md beside this file.

   What a graph goes through: graph_compute() looks for a plan of that graph. A plan is a list of
   steps, each a node that is computed here or a segment of nodes that is one QNN graph. Without a
   plan the graph is cut into segments, and each segment that was not seen before is described
   (ggml-qnnrt-ops.h), built and kept. Then each step binds the addresses that changed, and runs.

   Errors   no exception and no abort leaves this file: each entry point catches std::bad_alloc,
            reports what failed in ggml's log and returns ggml's code of a failure
   Threads  any number of backends; one graph at a time is computed, the others wait
   ROOMS (search for the tag)
       >>say >>options >>device >>weights >>key >>segments >>files >>compile >>run >>supports
       >>buffer >>backend >>load */
#include "ggml.h"
#include "ggml-backend.h"
#include "ggml-backend-impl.h"
#include "ggml-impl.h"

#define QNNRT_IMPLEMENTATION
#define QNNRT_BUILDER_IMPLEMENTATION
#define QNNRT_CACHE_IMPLEMENTATION
#include "ggml-qnnrt-ops.h"
#include "tools/qnnrt_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <new>

#ifndef QG_GGML_VERSION
#error "define QG_GGML_VERSION, the version of ggml that is compiled against: CMakeLists.txt does"
#endif

namespace {

/* =====================================================================================
   SAY                                                                              >>say
   ggml's log, and the guard of each entry point.
   Knows nothing of: QNN
   ===================================================================================== */

/* Log a text. ggml allocates memory for texts of 128 bytes and more without looking whether it got
   any, so longer ones go in parts. */
__attribute__((format(printf, 2, 3)))
void say(ggml_log_level level, const char *format, ...)
{
    char text[2048] = "ggml-qnnrt: ";
    const size_t begin = strlen(text), piece = 120;
    va_list list;
    va_start(list, format);
    vsnprintf(text + begin, sizeof(text) - begin - 1, format, list);
    va_end(list);
    strcat(text, "\n");
    for (const char *at = text; *at != '\0'; at += std::min(strlen(at), piece)) {
        ggml_log_internal(level, "%.120s", at);
        level = GGML_LOG_LEVEL_CONT;
    }
}

/* Add formatted text. */
__attribute__((format(printf, 2, 3)))
void add_text(std::string *to, const char *format, ...)
{
    char text[512];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof(text), format, list);
    va_end(list);
    *to += text;
}

/* Call `call`, and return `failed` instead of letting an exception out. */
template <class R, class F>
R guarded(const char *what, R failed, F call) noexcept
{
    try {
        return call();
    } catch (const std::bad_alloc &) {
        say(GGML_LOG_LEVEL_ERROR, "out of memory for %s", what);
    } catch (...) {
        say(GGML_LOG_LEVEL_ERROR, "an exception in %s", what);
    }
    return failed;
}

uint64_t now_ns()
{
    return (uint64_t)std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch()).count();
}

/* =====================================================================================
   OPTIONS                                                                      >>options
   The environment, read once when the library is loaded.
   Needs: >>say     Knows nothing of: QNN, graphs
   ===================================================================================== */

struct environment {
    const char *lib = "libQnnHtp.so";
    uint32_t    soc = 0;
    bool        host = true, verbose = false;
    int         half = -1, statics = -1, blocks = -1;     /* -1: by the library */
    bool        set_rows = true;
    const char *stats = nullptr, *ops = nullptr, *caches = "cache_k_l,cache_v_l";
    enum ggml_backend_dev_type type = GGML_BACKEND_DEVICE_TYPE_IGPU;
    size_t      cache_graphs = 256, cache_mb = 0, segment = 8192;
    const char *cache_dir = nullptr;
};

const char *env_text(const char *name)
{
    const char *value = getenv(name);
    return value != nullptr && value[0] != '\0' ? value : nullptr;
}

/* Read a number; false when there is one that is not in [0, most]. */
bool env_number(const char *name, long most, long *to)
{
    const char *value = env_text(name);
    char *end;
    if (value == nullptr) return true;
    *to = strtol(value, &end, 10);
    if (*end == '\0' && *to >= 0 && *to <= most) return true;
    say(GGML_LOG_LEVEL_ERROR, "%s is \"%s\", expected a number from 0 to %ld", name, value, most);
    return false;
}

/* Refuse names of the environment that nothing reads, and operators that ggml does not have. */
bool env_known(const char *ops)
{
    static const char *const names[] = {
        "LIB", "SOC", "HALF", "STATIC", "BLOCKS", "HOST", "SET_ROWS", "TYPE", "OPS", "CACHE_GRAPHS",
        "CACHE_MB", "CACHE_DIR", "SEGMENT", "CACHES", "STATS", "VERBOSE"
    };
    static const char prefix[] = "GGML_QNNRT_";
    const size_t cut = sizeof prefix - 1;
    for (char **at = environ; at != nullptr && *at != nullptr; ++at) {
        const size_t length = strcspn(*at, "=");
        bool known = strncmp(*at, prefix, cut) != 0;
        for (const char *name : names)
            known |= length == cut + strlen(name) && memcmp(*at + cut, name, length - cut) == 0;
        if (known) continue;
        say(GGML_LOG_LEVEL_ERROR, "%.*s is not a name that this library knows: README.md has the"
            " list", (int)std::min(length, (size_t)100), *at);
        return false;
    }
    for (const char *at = ops; at != nullptr && *at != '\0';) {
        const size_t length = strcspn(at, ",");
        bool known = false;
        for (int op = 1; op < GGML_OP_COUNT; ++op) {
            const char *name = ggml_op_name((ggml_op)op);
            known |= strlen(name) == length && memcmp(at, name, length) == 0;
        }
        if (!known) {
            say(GGML_LOG_LEVEL_ERROR, "GGML_QNNRT_OPS is \"%s\", expected names of ggml's operators"
                " with commas between them, such as MUL_MAT,ADD", ops);
            return false;
        }
        at += length + (at[length] == ',');
    }
    return true;
}

bool env_read(environment *e)
{
    const char *type = env_text("GGML_QNNRT_TYPE"), *lib = env_text("GGML_QNNRT_LIB");
    long soc = 0, host = 1, verbose = 0, half = -1, statics = -1, blocks = -1, set_rows = 1;
    long graphs = (long)e->cache_graphs, megabytes = 0, segment = (long)e->segment;
    if (!env_number("GGML_QNNRT_SOC", 0xFFFF, &soc) || !env_number("GGML_QNNRT_HOST", 1, &host) ||
        !env_number("GGML_QNNRT_VERBOSE", 2, &verbose) ||
        !env_number("GGML_QNNRT_HALF", 1, &half) ||
        !env_number("GGML_QNNRT_STATIC", 1, &statics) ||
        !env_number("GGML_QNNRT_BLOCKS", 1, &blocks) ||
        !env_number("GGML_QNNRT_SET_ROWS", 1, &set_rows) ||
        !env_number("GGML_QNNRT_CACHE_GRAPHS", 1 << 20, &graphs) ||
        !env_number("GGML_QNNRT_CACHE_MB", 1 << 30, &megabytes) ||
        !env_number("GGML_QNNRT_SEGMENT", 1 << 20, &segment)) return false;
    if (lib != nullptr) e->lib = lib;
    e->soc = (uint32_t)soc;
    e->host = host != 0;
    e->verbose = verbose != 0;
    e->half = (int)half;
    e->statics = (int)statics;
    e->blocks = (int)blocks;
    e->set_rows = set_rows != 0;
    e->cache_graphs = (size_t)graphs;
    e->cache_mb = (size_t)megabytes;
    e->cache_dir = env_text("GGML_QNNRT_CACHE_DIR");
    e->segment = (size_t)std::max(segment, 1L);
    e->stats = env_text("GGML_QNNRT_STATS");
    e->ops = env_text("GGML_QNNRT_OPS");
    if (!env_known(e->ops)) return false;
    if (e->cache_dir != nullptr) {
        struct stat folder;
        if (stat(e->cache_dir, &folder) != 0 || !S_ISDIR(folder.st_mode)) {
            say(GGML_LOG_LEVEL_ERROR, "GGML_QNNRT_CACHE_DIR is \"%s\", expected a folder: make it",
                e->cache_dir);
            return false;
        }
        qnnrt_cache_sweep(e->cache_dir);
    }
    if (env_text("GGML_QNNRT_CACHES") != nullptr) e->caches = env_text("GGML_QNNRT_CACHES");
    if (type == nullptr || strcmp(type, "igpu") == 0) return true;
    e->type = strcmp(type, "gpu") == 0 ? GGML_BACKEND_DEVICE_TYPE_GPU
                                       : GGML_BACKEND_DEVICE_TYPE_ACCEL;
    if (strcmp(type, "gpu") == 0 || strcmp(type, "accel") == 0) return true;
    say(GGML_LOG_LEVEL_ERROR, "GGML_QNNRT_TYPE is \"%s\", expected gpu, igpu or accel", type);
    return false;
}

/* =====================================================================================
   DEVICE                                                                        >>device
   Everything that lives as long as the library: one object, made at load. Plans, graphs and the
   tables in which they are found.
   Needs: >>options     Knows nothing of: how they are made
   ===================================================================================== */

struct statistics {
    uint64_t computed, executed, hosted, compiled, qnn_nodes, binds, bounced, bounced_bytes;
    uint64_t plans, plan_hits, uid_hits, asked, supports, evicted, failed;
    uint64_t compile_ns, execute_ns, key_ns, bind_ns, host_ns, ask_ns, total_ns;
    uint64_t converted_bytes, stored, restored, halves, beyond;
    double   half_error, half_norm;              /* of weights that became FLOAT_16 */
    struct { uint64_t compiled, executed, host_ns, asked, refused; } ops[GGML_OP_COUNT];
};

/* A QNN graph that was built. */
struct compiled {
    std::vector<uint64_t> key;
    qnnrt    *model = nullptr;
    qnnrt_plan *plan = nullptr;
    qnnrt_mem  *mem = nullptr;
    std::vector<qg_input>   inputs;
    std::vector<const qnnrt_slot *> input_slots;
    std::vector<qg_output>  outputs;
    std::vector<const qnnrt_slot *> output_slots;
    std::vector<size_t>     by_node;             /* outputs in the order of their nodes */
    std::vector<std::pair<int, uint32_t>> ops;   /* ggml operators, and how many of each */
    std::vector<uint64_t>   serials;             /* of the buffers whose weights are in it */
    uint64_t                executed = 0, static_bytes = 0;
    ~compiled() { close(); }
    void close()
    {
        qnnrt_mem_destroy(mem);
        qnnrt_plan_destroy(plan);
        qnnrt_close(model);
        mem = nullptr;
        plan = nullptr;
        model = nullptr;
    }
};

struct bytes64 {                                 /* memory aligned to 64 bytes */
    char  *data = nullptr;
    size_t room = 0;
    bytes64() = default;
    bytes64(const bytes64 &) = delete;
    bytes64 &operator=(const bytes64 &) = delete;
    ~bytes64() { free(data); }
    char *get(size_t bytes)
    {
        if (bytes <= room) return data;
        void *more = nullptr;
        if (posix_memalign(&more, 64, bytes) != 0) throw std::bad_alloc();
        free(data);
        data = (char *)more;
        room = bytes;
        return data;
    }
};

/* Nodes [begin, end) of a graph, as one QNN graph; without `graph`: node `begin`, on the host. */
struct step {
    int begin = 0, end = 0;
    std::shared_ptr<compiled> graph;
    qnnrt_run *run = nullptr;
    std::vector<const void *> at;                /* inputs and outputs as they are bound now */
    std::vector<bytes64>      filled, bounce;    /* of inputs that are written here; of outputs */
    std::vector<uint64_t>     weights;           /* of inputs: the weight that `at` was made from */
    std::vector<char>         bounces;           /* of outputs: whether they go through bounce */
    bool                      bound = false;
    step() = default;
    step(const step &) = delete;
    step &operator=(const step &) = delete;
    ~step() { qnnrt_run_destroy(run); }
};

struct plan {
    std::vector<uint64_t> key;
    uint64_t uid = 0, used = 0;
    int      node_count = 0;
    std::deque<step> steps;
};

/* A key that is being written, and its look-up in a table by hash whose values have a .key. */
class key_words {
public:
    void clear() { count_ = 0; }
    /* Make room for so many words: put() does not check. */
    void room(size_t words)
    {
        if (words_.size() < count_ + words) words_.resize((count_ + words) * 2);
    }
    void put(uint64_t word) { words_[count_++] = word; }
    std::vector<uint64_t> copy() const
    {
        return std::vector<uint64_t>(words_.begin(), words_.begin() + (ptrdiff_t)count_);
    }
    uint64_t hash() const
    {
        const uint64_t *w = words_.data();
        uint64_t lane[4] = { 1, 2, 3, 4 }, h;
        size_t i = 0;
        for (; i + 4 <= count_; i += 4)
            for (size_t k = 0; k < 4; ++k) lane[k] = (lane[k] ^ w[i + k]) * 0x9E3779B97F4A7C15u;
        for (; i < count_; ++i) lane[i & 3] = (lane[i & 3] ^ w[i]) * 0x9E3779B97F4A7C15u;
        h = lane[0] ^ (lane[1] >> 17 | lane[1] << 47) ^ (lane[2] >> 31 | lane[2] << 33) ^
            (lane[3] >> 43 | lane[3] << 21);
        h = (h ^ h >> 32) * 0xD6E8FEB86659FD93u;
        return h ^ h >> 32;
    }
    template <class Table> typename Table::iterator find(Table &table, uint64_t hash) const
    {
        auto range = table.equal_range(hash);
        for (auto at = range.first; at != range.second; ++at)
            if (at->second->key.size() == count_ &&
                std::equal(at->second->key.begin(), at->second->key.end(), words_.begin()))
                return at;
        return table.end();
    }

private:
    std::vector<uint64_t> words_ = std::vector<uint64_t>(1024);
    size_t                count_ = 0;
};

/* Numbers of tensors, in the order in which they are met; cleared without touching the memory. */
class numbers {
public:
    void clear(size_t expected)
    {
        size_t room = 64;
        while (room < expected * 2) room *= 2;
        if (room > cells_.size()) cells_.assign(room, cell());
        if (++stamp_ == 0) {
            std::fill(cells_.begin(), cells_.end(), cell());
            stamp_ = 1;
        }
        count_ = 0;
    }
    /* Return the number of `t`, and whether it is new. */
    __attribute__((always_inline)) uint32_t of(const void *t, bool *is_new)
    {
        if ((count_ + 1) * 2 > cells_.size()) grow();
        cell &c = find(cells_, t);
        *is_new = c.stamp != stamp_;
        if (*is_new) c = { t, stamp_, count_++ };
        return c.number;
    }
    /* Return the number of `t`, or -1. */
    int64_t find(const void *t)
    {
        const cell &c = find(cells_, t);
        return c.stamp == stamp_ ? (int64_t)c.number : -1;
    }
    uint32_t count() const { return count_; }

private:
    struct cell { const void *t = nullptr; uint32_t stamp = 0, number = 0; };
    cell &find(std::vector<cell> &cells, const void *t)
    {
        const size_t mask = cells.size() - 1;
        size_t i = (size_t)(((uint64_t)(uintptr_t)t >> 4) * 0x9E3779B97F4A7C15u >> 32) & mask;
        while (cells[i].stamp == stamp_ && cells[i].t != t) i = (i + 1) & mask;
        return cells[i];
    }
    void grow()
    {
        std::vector<cell> more(cells_.size() * 2);
        for (const cell &c : cells_)
            if (c.stamp == stamp_) find(more, c.t) = c;
        cells_.swap(more);
    }
    std::vector<cell> cells_ = std::vector<cell>(64);
    uint32_t stamp_ = 0, count_ = 0;
};

/* Whether a kind of node is computed here. */
struct answer {
    std::vector<uint64_t> key;
    bool                  yes;
};

struct device {
    environment    env;
    qnnrt_backend *backend = nullptr;
    qg_options     options;
    std::string    description;
    std::mutex     lock;
    statistics     stats = {};
    uint64_t       clock = 0, serial = 0;        /* of use; of buffers */
    uint64_t       live = 0;                     /* backends and buffers */
    uint64_t       static_most = 0;              /* bytes of weights in graphs, at most */
    std::unordered_map<uint64_t, uint64_t> contents;   /* hashes of weights, by identity */

    std::unordered_multimap<uint64_t, std::shared_ptr<compiled>> graphs;
    std::unordered_multimap<uint64_t, std::unique_ptr<plan>>     plans;
    std::unordered_map<uint64_t, plan *>                         by_uid;
    std::unordered_multimap<uint64_t, std::unique_ptr<answer>>   answers;
    std::map<std::pair<uint64_t, size_t>, bytes64>       converted;  /* weights as floats, by
                                                                        identity and bytes */

    numbers               tensors, made;         /* scratch, for one call */
    key_words             key;
    std::vector<uint32_t> uses;
    std::vector<char>     leaves, seen;          /* of nodes: read outside; in the key already */
    std::vector<std::pair<const char *, size_t>> regions;

    ggml_backend_reg         reg = {};
    ggml_backend_device      dev = {};
    ggml_backend_buffer_type buft = {};
};

device *the_device = nullptr;

device *of(ggml_backend_dev_t dev) { return (device *)dev->context; }

/* =====================================================================================
   WEIGHTS                                                                      >>weights
   Which tensor is a weight, and which one; what was made of it, and when that is forgotten.
   Needs: >>device     Knows nothing of: operators
   ===================================================================================== */

struct buffer {
    device  *dev;
    void    *data;
    uint64_t serial;                             /* changes when its data changes */
    bool     used;                               /* since then a graph or a copy was made of it */
};

const ggml_backend_buffer_i *buffer_interface();

bool is_ours(ggml_backend_buffer_t b)
{
    return b != nullptr && b->iface.free_buffer == buffer_interface()->free_buffer;
}

ggml_backend_buffer_t buffer_of(const ggml_tensor *t)
{
    return t->view_src != nullptr ? t->view_src->buffer : t->buffer;
}

/* The identity of a weight: its buffer's number and its place. Only our own buffers tell when data
   changes, so data of other buffers is never a weight. */
uint64_t weight_of(const ggml_tensor *t)
{
    const ggml_backend_buffer_t at = buffer_of(t);
    if (t->data == nullptr || !is_ours(at) || at->usage != GGML_BACKEND_BUFFER_USAGE_WEIGHTS)
        return 0;
    const buffer *b = (const buffer *)at->context;
    return (b->serial << 40 ^ (uint64_t)((const char *)t->data - (const char *)b->data)) |
           (uint64_t)1 << 63;
}

uint64_t serial_of(uint64_t weight) { return weight << 1 >> 41; }

/* Forget everything that was made of a buffer's weights. The caller holds the lock. */
void forget(device *d, uint64_t serial)
{
    for (auto p = d->plans.begin(); p != d->plans.end();) {
        bool uses = false;
        for (const step &s : p->second->steps)
            uses |= s.graph != nullptr && std::count(s.graph->serials.begin(),
                                                     s.graph->serials.end(), serial) > 0;
        if (uses) p = d->plans.erase(p);
        else ++p;
    }
    for (auto g = d->graphs.begin(); g != d->graphs.end();)
        if (std::count(g->second->serials.begin(), g->second->serials.end(), serial) > 0)
            g = d->graphs.erase(g);
        else ++g;
    for (auto c = d->converted.begin(); c != d->converted.end();)
        if (serial_of(c->first.first) == serial) c = d->converted.erase(c);
        else ++c;
    for (auto c = d->contents.begin(); c != d->contents.end();)
        if (serial_of(c->first) == serial) c = d->contents.erase(c);
        else ++c;
}

/* Return a hash of bytes. Each step is one to one, so damage within 8 bytes changes it. */
uint64_t hash_of(const char *data, size_t bytes, uint64_t seed)
{
    uint64_t lane[4] = { seed, bytes, 3, 4 }, hash = 0, word;
    for (size_t i = 0; i < bytes; i += 8) {
        word = 0;
        memcpy(&word, data + i, std::min(bytes - i, (size_t)8));
        uint64_t &l = lane[i / 8 % 4];
        l = (l ^ word) * 0x9E3779B97F4A7C15u;
        l ^= l >> 29;
    }
    for (uint64_t l : lane) {
        hash = (hash ^ l) * 0xD6E8FEB86659FD93u;
        hash ^= hash >> 31;
    }
    return hash;
}

/* Return a hash of a weight's bytes and type, for the names of files: not 0. */
uint64_t content_of(const ggml_tensor *t)
{
    const uint64_t weight = weight_of(t);
    if (weight == 0) return 0;
    buffer *b = (buffer *)buffer_of(t)->context;
    uint64_t &hash = b->dev->contents[weight];
    if (hash != 0) return hash;
    b->used = true;
    hash = hash_of((const char *)t->data, ggml_nbytes(t), (uint64_t)t->type) | 1;
    return hash;
}

/* The data of a buffer changes, or its memory goes. */
void changed(ggml_backend_buffer_t b)
{
    buffer *of = (buffer *)b->context;
    if (b->usage != GGML_BACKEND_BUFFER_USAGE_WEIGHTS) return;
    std::lock_guard<std::mutex> hold(of->dev->lock);
    of->dev->by_uid.clear();
    if (of->used) forget(of->dev, of->serial);
    of->used = false;
    of->serial = ++of->dev->serial;
}

/* Count backends and buffers. With the last one everything that was compiled goes. */
void count_live(device *d, int change)
{
    std::lock_guard<std::mutex> hold(d->lock);
    d->live += (uint64_t)change;
    if (d->live != 0) return;
    d->by_uid.clear();
    d->plans.clear();
    d->graphs.clear();
    d->converted.clear();
    d->contents.clear();
}

/* =====================================================================================
   KEY                                                                              >>key
   A graph as a list of 64-bit words: operators, parameters, types, shapes, strides and who reads
   whom, without addresses. Equal words are equal graphs: keys are compared, not only their hashes.
   Needs: >>device >>weights
   ===================================================================================== */

/* Words of a tensor that is described, at most; with its base: twice as many. */
const size_t key_most = 16;

/* Add dims and strides: 4 words, or 9 if one of them needs more than 32 bits. */
inline void key_shape(key_words &key, const ggml_tensor *t)
{
    uint64_t large = 0;
    for (int i = 0; i < GGML_MAX_DIMS; ++i) large |= ((uint64_t)t->ne[i] | t->nb[i]) >> 32;
    if (large != 0) key.put(UINT64_MAX);
    for (int i = 0; i < GGML_MAX_DIMS && large != 0; ++i) {
        key.put((uint64_t)t->ne[i]);
        key.put((uint64_t)t->nb[i]);
    }
    for (int i = 0; i < GGML_MAX_DIMS && large == 0; ++i)
        key.put((uint64_t)t->ne[i] << 32 | (uint64_t)t->nb[i]);
}

/* Add what a tensor is that was met for the first time. kinds: that it is a weight counts, but not
   which one. */
void key_tensor(device *d, const ggml_tensor *t, bool kinds)
{
    bool is_new;
    const ggml_tensor *base = t->view_src;
    const uint64_t weight = d->options.statics ? weight_of(t) : 0;
    d->key.put((uint64_t)t->type | (uint64_t)(base != nullptr) << 32 |
               (uint64_t)(weight != 0) << 33);
    if (weight != 0 && !kinds) d->key.put(weight);
    key_shape(d->key, t);
    if (base == nullptr) return;                 /* (the base of a view is no view) */
    const bool known = d->tensors.find(base) >= 0;
    const uint32_t number = d->tensors.of(base, &is_new);
    d->key.put((uint64_t)number << 1 | is_new);
    if (is_new) key_tensor(d, base, kinds);
    if (known || !ggml_is_contiguous(t)) d->key.put((uint64_t)t->view_offs);
}

/* Add a tensor that a node reads. */
inline void key_source(device *d, const ggml_tensor *t, bool kinds)
{
    bool is_new;
    const uint32_t number = d->tensors.of(t, &is_new);
    if (number < d->seen.size()) {               /* a node of this graph */
        is_new = !d->seen[number] && qg_is_view(t);
        d->seen[number] = 1;
    }
    d->key.put((uint64_t)number << 1 | is_new);
    if (is_new) key_tensor(d, t, kinds);
}

bool is_skipped(const ggml_tensor *n)
{
    return qg_is_view(n) || (n->flags & GGML_TENSOR_FLAG_COMPUTE) == 0;
}

void key_node(device *d, const ggml_tensor *n, bool leaves, bool kinds)
{
    uint64_t words[GGML_MAX_OP_PARAMS / 8], present = 0;
    bool is_new;
    d->key.room((GGML_MAX_SRC + 2) * 2 * key_most + GGML_MAX_OP_PARAMS / 8);
    memcpy(words, n->op_params, sizeof(words));
    for (size_t i = 0; i < sizeof(words) / 8; ++i) present |= (uint64_t)(words[i] != 0) << i;
    for (int s = 0; s < GGML_MAX_SRC; ++s) present |= (uint64_t)(n->src[s] != nullptr) << (16 + s);
    d->key.put((uint64_t)n->op | (uint64_t)n->type << 16 | (uint64_t)leaves << 31 | present << 32);
    for (size_t i = 0; i < sizeof(words) / 8 && (present & 0xFFFF) >> i != 0; ++i)
        if (words[i] != 0) d->key.put(words[i]);
    for (int s = 0; s < GGML_MAX_SRC && present >> (16 + s) != 0; ++s)
        if (n->src[s] != nullptr) key_source(d, n->src[s], kinds);
    const uint32_t number = d->tensors.of(n, &is_new);
    if (number < d->seen.size()) d->seen[number] = 1;
    d->key.put(number);
    key_shape(d->key, n);
    if (n->view_src != nullptr) key_source(d, n->view_src, kinds);
}

/* Write d->leaves for nodes [begin, end): 1 where the value is read by somebody else, asked for as
   an output, or read by nobody at all. A view that is read elsewhere makes its source leave. */
void find_leaves(device *d, const ggml_cgraph *g, int begin, int end)
{
    bool is_new;
    d->tensors.clear((size_t)(end - begin) * 2);
    d->leaves.assign((size_t)(end - begin), 0);
    d->uses.assign((size_t)(end - begin), 0);
    for (int i = begin; i < end; ++i) {
        const ggml_tensor *n = g->nodes[i];
        for (int s = 0; s < GGML_MAX_SRC; ++s) {
            const int64_t number = n->src[s] != nullptr ? d->tensors.find(n->src[s]) : -1;
            if (number >= 0) d->uses[(size_t)number] += 1;
        }
        d->tensors.of(n, &is_new);               /* node i has number i - begin */
    }
    for (int i = end - 1; i >= begin; --i) {
        const ggml_tensor *n = g->nodes[i];
        uint32_t all = (uint32_t)ggml_node_get_use_count(g, i);
        for (int s = 0; s < GGML_MAX_SRC; ++s) all -= n->src[s] == n;    /* ggml_cast() */
        char &leaves = d->leaves[(size_t)(i - begin)];
        leaves |= (n->flags & GGML_TENSOR_FLAG_OUTPUT) != 0 || all == 0 ||
                  (n->view_src != nullptr && !qg_is_view(n)) ||
                  all > d->uses[(size_t)(i - begin)];
        if (!leaves || !qg_is_view(n)) continue;
        const ggml_tensor *from[2] = { n->src[0], n->view_src };
        for (const ggml_tensor *t : from) {
            const int64_t number = t != nullptr ? d->tensors.find(t) : -1;
            if (number >= 0) d->leaves[(size_t)number] = 1;
        }
    }
}

/* Write d->key for nodes [begin, end). */
void make_key(device *d, const ggml_cgraph *g, int begin, int end)
{
    find_leaves(d, g, begin, end);               /* numbers the nodes from 0 */
    d->key.clear();
    d->seen.assign((size_t)(end - begin), 0);
    for (int i = begin; i < end; ++i)
        if (!is_skipped(g->nodes[i]))
            key_node(d, g->nodes[i], d->leaves[(size_t)(i - begin)] != 0, false);
}

/* =====================================================================================
   SEGMENTS                                                                    >>segments
   Where a graph is cut. Within a segment a tensor has one value, but a ggml node may write into the
   memory of another tensor (CPY, *_inplace): a node that reads such memory by another name than the
   node that wrote it begins a new segment. So does a node that needs a source in memory, and one
   that would be more than GGML_QNNRT_SEGMENT.
   Needs: >>device >>weights >>key     Knows nothing of: QNN
   ===================================================================================== */

/* Weights that are static are compiled again for each shape of what they are with. So a segment has
   no weights together with a cache, whose shape grows with the text. 1: reads a weight, 2: memory
   that is neither a weight nor of this computation. */
int reads_of(const device *d, const ggml_tensor *n)
{
    int reads = 0;
    for (int s = 0; s < GGML_MAX_SRC && d->options.statics; ++s) {
        const ggml_backend_buffer_t b = n->src[s] != nullptr ? buffer_of(n->src[s]) : nullptr;
        if (b == nullptr) continue;
        if (b->usage == GGML_BACKEND_BUFFER_USAGE_ANY) reads |= 2;
        else if (weight_of(n->src[s]) != 0) reads |= 1;
    }
    return reads;
}

int segment_end(device *d, const ggml_cgraph *g, int begin)
{
    bool is_new;
    int reads = 0;
    d->tensors.clear(64);                        /* bases that were written */
    d->made.clear(64);                           /* nodes of the segment */
    int i = begin;
    for (; i < g->n_nodes; ++i) {
        const ggml_tensor *n = g->nodes[i];
        if (is_skipped(n)) continue;
        if (qg_on_host(n) || d->made.count() >= d->env.segment) break;
        const int now = reads | reads_of(d, n);
        if (now == 3 && reads != 0 && reads != 3) break;
        reads = now;
        for (int s = 0; s < GGML_MAX_SRC; ++s) {
            const ggml_tensor *t = n->src[s];
            if (t == nullptr || (n->op == GGML_OP_CPY && s == 1)) continue;
            const ggml_tensor *base = t->view_src != nullptr ? t->view_src : t;
            if ((d->made.find(t) >= 0 || d->made.find(base) >= 0) && qg_from_memory(n, s)) return i;
            if (d->tensors.count() == 0) continue;
            /* (t itself may be the node that wrote: its value is known) */
            if (d->tensors.find(base) >= 0 && (t->view_src == nullptr || qg_is_view(t))) return i;
        }
        if (n->view_src != nullptr) d->tensors.of(n->view_src, &is_new);
        d->made.of(n, &is_new);
    }
    return i;
}

/* =====================================================================================
   FILES                                                                          >>files
   Graphs that were compiled, as files of GGML_QNNRT_CACHE_DIR. The name of a file is the key of the
   builder: library, chip, nodes and the content of weights. A file is written aside and renamed. It
   is used only if it is whole, and if nobody else could have written it.
   Needs: >>say >>device >>weights (its hash)     Knows nothing of: ggml
   ===================================================================================== */

struct file_head {
    char     magic[8];
    uint64_t key[2], bytes, hash;                /* of the context binary that follows */
};

std::string file_name(const device *d, const uint64_t key[2])
{
    char name[64];
    snprintf(name, sizeof(name), "/ggml-qnnrt-%016llx%016llx.bin", (unsigned long long)key[0],
             (unsigned long long)key[1]);
    return d->env.cache_dir + std::string(name);
}

struct descriptor {
    int fd;
    ~descriptor() { if (fd >= 0) close(fd); }
};

bool read_all(int fd, char *to, size_t bytes)
{
    while (bytes > 0) {
        const ssize_t got = read(fd, to, bytes);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        to += got;
        bytes -= (size_t)got;
    }
    return true;
}

bool write_all(int fd, const char *from, size_t bytes)
{
    while (bytes > 0) {
        const ssize_t put = write(fd, from, bytes);
        if (put < 0 && errno == EINTR) continue;
        if (put <= 0) return false;
        from += put;
        bytes -= (size_t)put;
    }
    return true;
}

/* Open the model of a file. NULL: there is none, or it was refused and the log says why. */
qnnrt *restore(device *d, const uint64_t key[2])
{
    const std::string path = file_name(d, key);
    const descriptor file = { open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) };
    struct stat facts;
    file_head head;
    const char *why = nullptr;
    std::vector<char> data;
    qnnrt *model = nullptr;
    qnnrt_error err;
    if (file.fd < 0) return nullptr;
    if (fstat(file.fd, &facts) != 0 || !S_ISREG(facts.st_mode)) why = "it is not a regular file";
    else if (facts.st_uid != geteuid() || (facts.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        why = "others could have written it";
    else if ((uint64_t)facts.st_size < sizeof(head) ||
             !read_all(file.fd, (char *)&head, sizeof(head)) ||
             memcmp(head.magic, "ggmlqnn1", 8) != 0) why = "it is not a file of this cache";
    else if (head.key[0] != key[0] || head.key[1] != key[1]) why = "it is of another graph";
    else if (head.bytes != (uint64_t)facts.st_size - sizeof(head) || head.bytes == 0)
        why = "it is cut short, or too long";
    else {
        data.resize((size_t)head.bytes);
        if (!read_all(file.fd, data.data(), data.size()) ||
            hash_of(data.data(), data.size(), 0) != head.hash) why = "its content is damaged";
    }
    if (why == nullptr) {
        qnnrt_file source = {};
        qnnrt_desc desc = {};
        source.path = path.c_str();
        source.data = data.data();
        source.bytes = data.size();
        desc.backend = d->backend;
        desc.files = &source;
        desc.file_count = 1;
        if (qnnrt_open(nullptr, &desc, &model, &err) != QNNRT_OK) why = err.text;
    }
    if (why != nullptr) say(GGML_LOG_LEVEL_WARN, "%s is not used: %s", path.c_str(), why);
    return why == nullptr ? model : nullptr;
}

/* Write a model to its file. Failures are reported, and nothing else happens. */
void store(device *d, qnnrt *model, const uint64_t key[2])
{
    const std::string path = file_name(d, key);
    char aside[QNNRT_CACHE_PATH];
    file_head head = { { 'g', 'g', 'm', 'l', 'q', 'n', 'n', '1' }, { key[0], key[1] }, 0, 0 };
    std::vector<char> data;
    size_t bytes = 0;
    qnnrt_error err;
    if (qnnrt_save_memory(model, 0, nullptr, 0, &bytes, &err) == QNNRT_OK) {
        data.resize(bytes);
        if (qnnrt_save_memory(model, 0, data.data(), data.size(), &bytes, &err) != QNNRT_OK)
            bytes = 0;
    }
    if (bytes == 0) {
        say(GGML_LOG_LEVEL_WARN, "a graph is not stored: %s", err.text);
        return;
    }
    head.bytes = bytes;
    head.hash = hash_of(data.data(), bytes, 0);
    const int fd = qnnrt_cache_aside(path.c_str(), 0600, aside);
    if (fd >= 0 && write_all(fd, (const char *)&head, sizeof(head)) &&
        write_all(fd, data.data(), bytes) && fsync(fd) == 0 && rename(aside, path.c_str()) == 0) {
        close(fd);
        d->stats.stored += 1;
        return;
    }
    if (fd >= 0) qnnrt_cache_aside_end(fd, aside);
    say(GGML_LOG_LEVEL_WARN, "%s is not written: %s", path.c_str(), strerror(errno));
}

/* =====================================================================================
   COMPILE                                                                      >>compile
   From nodes of a ggml graph to a QNN graph, and from a ggml graph to a plan.
   Needs: >>say >>device >>weights >>key >>segments >>files     Knows nothing of: addresses
   ===================================================================================== */

/* Find the slots of a graph's inputs and outputs, and plan no memory for them. */
bool plan_slots(compiled *c, qnnrt_error *err)
{
    const qnnrt_pipeline *pipeline = nullptr;
    qnnrt_entry_desc entry = {};
    qnnrt_plan_desc desc = {};
    c->input_slots.clear();
    c->output_slots.clear();
    if (qnnrt_pipeline_find(c->model, "g", &pipeline, err) != QNNRT_OK) return false;
    const qnnrt_pipeline_info *info = qnnrt_pipeline_get_info(pipeline);
    c->input_slots.assign(info->inputs, info->inputs + info->input_count);
    c->output_slots.assign(info->outputs, info->outputs + info->output_count);
    bool same = info->input_count == c->inputs.size() && info->output_count == c->outputs.size();
    for (size_t i = 0; i < c->inputs.size() && same; ++i)
        same = c->input_slots[i]->tensor->bytes == c->inputs[i].bytes;
    for (size_t i = 0; i < c->outputs.size() && same; ++i)
        same = c->output_slots[i]->tensor->bytes == c->outputs[i].bytes;
    if (!same) {
        snprintf(err->text, sizeof(err->text), "the library lists other inputs or outputs than the"
                 " %u and %u that it was given", (unsigned)c->inputs.size(),
                 (unsigned)c->outputs.size());
        return false;
    }
    entry.pipeline = pipeline;
    entry.caller_io = 1;
    desc.entries = &entry;
    desc.entry_count = 1;
    return qnnrt_plan_create(&desc, &c->plan, err) == QNNRT_OK &&
           qnnrt_mem_create(c->plan, nullptr, &c->mem, err) == QNNRT_OK;
}

/* Count a node's operator, and note which buffers' weights the graph holds. */
void count_node(device *d, compiled *c, const ggml_tensor *n)
{
    d->stats.ops[n->op].compiled += 1;
    auto op = c->ops.begin();
    while (op != c->ops.end() && op->first != (int)n->op) ++op;
    if (op == c->ops.end()) c->ops.push_back({ (int)n->op, 1 });
    else op->second += 1;
    for (int s = 0; s < GGML_MAX_SRC && d->options.statics; ++s) {
        const uint64_t weight = n->src[s] != nullptr ? weight_of(n->src[s]) : 0;
        if (weight == 0) continue;
        ((buffer *)buffer_of(n->src[s])->context)->used = true;
        const uint64_t serial = serial_of(weight);
        c->static_bytes += (uint64_t)ggml_nelements(n->src[s]) * (d->options.half ? 2 : 4);
        if (std::count(c->serials.begin(), c->serials.end(), serial) == 0)
            c->serials.push_back(serial);
    }
}

/* Count what FLOAT_16 changed in the weights of a graph. */
void count_loss(device *d, const qg_graph &graph)
{
    for (const qg_graph::weight_data &w : graph.weights()) {
        if (w.beyond > 0)
            say(GGML_LOG_LEVEL_WARN, "weight \"%s\": %llu values are beyond the range of float16",
                w.t->name, (unsigned long long)w.beyond);
        d->stats.halves += w.norm > 0;
        d->stats.half_error += w.error;
        d->stats.half_norm += w.norm;
        d->stats.beyond += w.beyond;
    }
}

/* Build nodes [begin, end), whose key is in d->key. NULL: the reason was reported. */
std::shared_ptr<compiled> compile(device *d, const ggml_cgraph *g, int begin, int end)
{
    const uint64_t start = now_ns();
    std::shared_ptr<compiled> c = std::make_shared<compiled>();
    struct holder {
        qnnrt_builder *b = nullptr;
        ~holder() { qnnrt_builder_destroy(b); }
    } hold;
    qnnrt_graph_desc desc = {};
    qnnrt_error err;
    if (qnnrt_builder_create(d->backend, nullptr, &hold.b, &err) != QNNRT_OK) {
        say(GGML_LOG_LEVEL_ERROR, "%s", err.text);
        return nullptr;
    }
    desc.name = "g";
    desc.fp16 = d->options.half;
    qnnrt_builder_graph(hold.b, &desc);
    qg_graph graph(hold.b, d->options, false);
    for (int i = begin; i < end; ++i) {
        const ggml_tensor *n = g->nodes[i];
        if (is_skipped(n)) continue;
        if (!graph.node(n, i - begin, d->leaves[(size_t)(i - begin)] != 0)) {
            say(GGML_LOG_LEVEL_ERROR, "node %d of the graph, %s \"%s\": %s", i, ggml_op_desc(n),
                n->name, graph.why().c_str());
            return nullptr;
        }
        count_node(d, c.get(), n);
    }
    if (!graph.finish()) {
        say(GGML_LOG_LEVEL_ERROR, "nodes %d to %d of the graph: %s", begin, end - 1,
            graph.why().c_str());
        return nullptr;
    }
    uint64_t key[2];
    const bool kept = d->env.cache_dir != nullptr &&
                      qnnrt_builder_key(hold.b, key, &err) == QNNRT_OK;
    c->inputs = std::move(graph.inputs);
    c->outputs = std::move(graph.outputs);
    if (kept) c->model = restore(d, key);
    const bool restored = c->model != nullptr && plan_slots(c.get(), &err);
    if (!restored) {
        if (c->model != nullptr)
            say(GGML_LOG_LEVEL_WARN, "%s is not used: %s", file_name(d, key).c_str(), err.text);
        c->close();
        qnnrt_builder *b = hold.b;
        hold.b = nullptr;
        if (qnnrt_builder_finish(b, &c->model, &err) != QNNRT_OK) {
            say(GGML_LOG_LEVEL_ERROR, "nodes %d to %d of the graph: %s", begin, end - 1,
                err.text);
            return nullptr;
        }
        if (kept) store(d, c->model, key);
        count_loss(d, graph);
    }
    for (size_t i = 0; i < c->outputs.size(); ++i) c->by_node.push_back(i);
    std::sort(c->by_node.begin(), c->by_node.end(), [&](size_t a, size_t b) {
        return c->outputs[a].node < c->outputs[b].node;
    });
    if (!restored && !plan_slots(c.get(), &err)) {
        say(GGML_LOG_LEVEL_ERROR, "nodes %d to %d of the graph: %s", begin, end - 1, err.text);
        return nullptr;
    }
    (restored ? d->stats.restored : d->stats.compiled) += 1;
    d->stats.qnn_nodes += graph.qnn_nodes();
    d->stats.compile_ns += now_ns() - start;
    if (d->env.verbose)
        say(GGML_LOG_LEVEL_INFO, "graph %llu%s: nodes %d to %d, %u QNN nodes, %u inputs, %u"
            " outputs, %.1f ms", (unsigned long long)(d->stats.compiled + d->stats.restored),
            restored ? " of a file" : "", begin, end - 1,
            (unsigned)graph.qnn_nodes(), (unsigned)c->inputs.size(), (unsigned)c->outputs.size(),
            (double)(now_ns() - start) / 1e6);
    return c;
}

/* Forget the plans that were not used for the longest time, until there is room for one more
   graph. */
void evict(device *d)
{
    const size_t most = std::max(d->env.cache_graphs, (size_t)1);
    uint64_t bytes = 0;
    for (const auto &g : d->graphs) bytes += g.second->static_bytes;
    while ((d->graphs.size() >= most || d->plans.size() >= most * 4 ||
            bytes > d->static_most) && !d->plans.empty()) {
        auto oldest = d->plans.begin();
        for (auto p = d->plans.begin(); p != d->plans.end(); ++p)
            if (p->second->used < oldest->second->used) oldest = p;
        d->by_uid.erase(oldest->second->uid);
        d->plans.erase(oldest);
        for (auto c = d->graphs.begin(); c != d->graphs.end();)
            if (c->second.use_count() == 1) {
                for (const auto &op : c->second->ops)
                    d->stats.ops[op.first].executed += op.second * c->second->executed;
                bytes -= c->second->static_bytes;
                c = d->graphs.erase(c);
                d->stats.evicted += 1;
            } else ++c;
    }
}

/* Return whether anything of a segment is read outside: where a prompt is cut into pieces, the last
   nodes of the others are read by nodes without elements only. make_key() was called. */
bool is_read(const device *d, const ggml_cgraph *g, const step &s)
{
    for (int i = s.begin; i < s.end; ++i)
        if (!is_skipped(g->nodes[i]) && d->leaves[(size_t)(i - s.begin)]) return true;
    return false;
}

/* Find or compile the graph of a segment whose key is in d->key. */
bool make_segment(device *d, const ggml_cgraph *g, step *s)
{
    qnnrt_error err;
    const uint64_t hash = d->key.hash();
    auto found = d->key.find(d->graphs, hash);
    if (found != d->graphs.end()) s->graph = found->second;
    else {
        s->graph = compile(d, g, s->begin, s->end);
        if (s->graph == nullptr) return false;
        evict(d);
        s->graph->key = d->key.copy();
        d->graphs.emplace(hash, s->graph);
    }
    if (qnnrt_run_create(s->graph->mem, 0, &s->run, &err) != QNNRT_OK) {
        say(GGML_LOG_LEVEL_ERROR, "%s", err.text);
        return false;
    }
    s->at.assign(s->graph->inputs.size() + s->graph->outputs.size(), nullptr);
    s->bounces.assign(s->graph->outputs.size(), 0);
    s->weights.assign(s->graph->inputs.size(), 0);
    s->filled = std::vector<bytes64>(s->graph->inputs.size());
    s->bounce = std::vector<bytes64>(s->graph->outputs.size());
    return true;
}

/* Cut a graph into steps. */
std::unique_ptr<plan> make_plan(device *d, const ggml_cgraph *g)
{
    std::unique_ptr<plan> p(new plan);
    p->node_count = g->n_nodes;
    for (int i = 0; i < g->n_nodes;) {
        if (is_skipped(g->nodes[i])) {
            ++i;
            continue;
        }
        p->steps.emplace_back();
        step &s = p->steps.back();
        s.begin = i;
        if (qg_on_host(g->nodes[i])) {
            s.end = ++i;
            continue;
        }
        i = s.end = segment_end(d, g, i);
        make_key(d, g, s.begin, s.end);
        if (!is_read(d, g, s)) p->steps.pop_back();
        else if (!make_segment(d, g, &s)) return nullptr;
    }
    return p;
}

/* =====================================================================================
   RUN                                                                              >>run
   A plan, with the addresses of this graph.
   Needs: >>say >>device >>weights >>key >>compile     Knows nothing of: how graphs are cut
   ===================================================================================== */

/* Return the floats of a weight: made once, and kept as long as the weight is what it is. */
const void *convert_weight(device *d, const qg_input &in, const ggml_tensor *n, uint64_t weight)
{
    bytes64 &to = d->converted[{ weight, in.bytes }];
    if (to.data == nullptr) {
        to.get(in.bytes);
        qg_fill(in, n, to.data);
        ((buffer *)buffer_of(n->src[in.src])->context)->used = true;
        d->stats.converted_bytes += in.bytes;
    }
    return to.data;
}

/* Bind what moved. Outputs that lie over an input or an earlier node's output go through memory of
   their own: ggml reuses memory within a graph. They are copied in the order of their nodes, so the
   memory has what the last node wrote. */
bool bind(device *d, step *s, const ggml_cgraph *g)
{
    const compiled *c = s->graph.get();
    const size_t inputs = c->inputs.size(), outputs = c->outputs.size();
    bool moved = !s->bound;
    for (size_t i = 0; i < inputs; ++i) {
        const qg_input &in = c->inputs[i];
        const ggml_tensor *n = g->nodes[s->begin + in.node], *t = n->src[in.src];
        const void *data = t->data;
        if (in.how != QG_DIRECT) {
            const bool keep = in.how == QG_TO_F32 && ggml_is_contiguous(t);
            const uint64_t weight = keep ? weight_of(t) : 0;
            if (weight != 0 && weight == s->weights[i]) data = s->at[i];
            else if (weight != 0) data = convert_weight(d, in, n, weight);
            else {
                data = s->filled[i].get(in.bytes);
                qg_fill(in, n, s->filled[i].data);
            }
            s->weights[i] = weight;
        }
        moved |= s->at[i] != data;
        s->at[i] = data;
    }
    for (size_t i = 0; i < outputs; ++i) {
        const void *data = g->nodes[s->begin + c->outputs[i].node]->data;
        moved |= s->at[inputs + i] != data;
        s->at[inputs + i] = data;
    }
    if (!moved) return true;
    s->bound = false;
    d->regions.clear();
    for (size_t i = 0; i < inputs; ++i)
        if (c->inputs[i].how == QG_DIRECT)
            d->regions.push_back({ (const char *)s->at[i], c->inputs[i].bytes });
    for (size_t i : c->by_node) {
        const char *data = (const char *)s->at[inputs + i];
        const size_t bytes = ggml_nbytes(g->nodes[s->begin + c->outputs[i].node]);
        s->bounces[i] = c->outputs[i].how != QG_DIRECT;
        for (const auto &r : d->regions)
            if (r.first < data + bytes && data < r.first + r.second) s->bounces[i] = 1;
        d->regions.push_back({ data, bytes });
    }
    for (size_t i = 0; i < inputs; ++i)
        if (qnnrt_bind_input(s->run, c->input_slots[i], (const void *)(uintptr_t)s->at[i],
                             c->inputs[i].bytes) != QNNRT_OK) return false;
    for (size_t i = 0; i < outputs; ++i) {
        void *to = s->bounces[i] ? s->bounce[i].get(c->outputs[i].bytes)
                                 : (void *)(uintptr_t)s->at[inputs + i];
        if (qnnrt_bind_output(s->run, c->output_slots[i], to, c->outputs[i].bytes) != QNNRT_OK)
            return false;
    }
    d->stats.binds += inputs + outputs;
    s->bound = true;
    return true;
}

bool run_step(device *d, step *s, const ggml_cgraph *g)
{
    uint64_t start = now_ns(), end;
    if (s->graph == nullptr) {
        const ggml_tensor *n = g->nodes[s->begin];
        std::string why;
        const bool done = qg_host(n, &why);
        if (!done) say(GGML_LOG_LEVEL_ERROR, "node %d of the graph, %s \"%s\": %s", s->begin,
                       ggml_op_desc(n), n->name, why.c_str());
        start = now_ns() - start;
        d->stats.hosted += 1;
        d->stats.host_ns += start;
        d->stats.ops[n->op].executed += 1;
        d->stats.ops[n->op].host_ns += start;
        return done;
    }
    if (!bind(d, s, g)) {
        say(GGML_LOG_LEVEL_ERROR, "nodes %d to %d of the graph: %s", s->begin, s->end - 1,
            qnnrt_run_error(s->run)->text);
        return false;
    }
    end = now_ns();
    d->stats.bind_ns += end - start;
    if (qnnrt_exec(s->run) != QNNRT_OK) {
        say(GGML_LOG_LEVEL_ERROR, "nodes %d to %d of the graph: %s", s->begin, s->end - 1,
            qnnrt_run_error(s->run)->text);
        return false;
    }
    start = now_ns();
    d->stats.execute_ns += start - end;
    d->stats.executed += 1;
    s->graph->executed += 1;
    for (size_t i : s->graph->by_node)
        if (s->bounces[i]) {
            const qg_output &out = s->graph->outputs[i];
            qg_drain(out, g->nodes[s->begin + out.node], s->bounce[i].data);
            d->stats.bounced += 1;
            d->stats.bounced_bytes += out.bytes;
        }
    d->stats.bind_ns += now_ns() - start;
    return true;
}

/* ggml versions without cgraph.uid have no numbers of graphs. */
template <class G> auto uid_of(const G *g, int) -> decltype((uint64_t)g->uid) { return g->uid; }
template <class G> uint64_t uid_of(const G *, long) { return 0; }

/* Find the plan of a graph, or make it. */
plan *find_plan(device *d, const ggml_cgraph *g)
{
    const uint64_t start = now_ns(), uid = uid_of(g, 0);
    if (uid != 0) {
        auto known = d->by_uid.find(uid);
        if (known != d->by_uid.end() && known->second->node_count == g->n_nodes) {
            d->stats.uid_hits += 1;
            return known->second;
        }
    }
    make_key(d, g, 0, g->n_nodes);
    const uint64_t hash = d->key.hash();
    auto found = d->key.find(d->plans, hash);
    d->stats.key_ns += now_ns() - start;
    plan *p = nullptr;
    if (found != d->plans.end()) {
        d->stats.plan_hits += 1;
        p = found->second.get();
    } else {
        std::vector<uint64_t> key = d->key.copy();
        std::unique_ptr<plan> made = make_plan(d, g);
        if (made == nullptr) return nullptr;
        p = made.get();
        d->stats.plans += 1;
        p->key = std::move(key);
        d->plans.emplace(hash, std::move(made));
    }
    if (uid != 0 && p->uid != uid) {
        d->by_uid.erase(p->uid);
        p->uid = uid;
        d->by_uid[uid] = p;
    }
    return p;
}

/* What a ggml_backend_t of the device has for itself: whether its program wants to stop. */
struct stream {
    device             *dev;
    ggml_abort_callback stops;                   /* asked before each step; or null */
    void               *user;
};

ggml_status compute(const stream *of, const ggml_cgraph *g)
{
    device *d = of->dev;
    const uint64_t start = now_ns();
    d->stats.failed += 1;                        /* until it is done */
    plan *p = find_plan(d, g);
    if (p == nullptr) return GGML_STATUS_FAILED;
    p->used = ++d->clock;
    for (step &s : p->steps) {
        if (of->stops != nullptr && of->stops(of->user)) return GGML_STATUS_ABORTED;
        if (!run_step(d, &s, g)) return GGML_STATUS_FAILED;
    }
    d->stats.failed -= 1;
    d->stats.computed += 1;
    d->stats.total_ns += now_ns() - start;
    return GGML_STATUS_SUCCESS;
}

/* =====================================================================================
   SUPPORTS                                                                    >>supports
   Whether a node is computed here; asked once for each kind of node.
   Needs: >>say >>device >>weights >>key     Knows nothing of: plans
   ===================================================================================== */

bool is_listed(const char *list, const char *name)
{
    const size_t length = strlen(name);
    for (const char *at = list; (at = strstr(at, name)) != nullptr; at += length)
        if ((at == list || at[-1] == ',') && (at[length] == ',' || at[length] == '\0')) return true;
    return false;
}

/* Log a node that is refused: its operator, types and shapes, and why. */
void say_refused(const ggml_tensor *n, const char *why)
{
    char text[512];
    size_t at = 0;
    for (int s = -1; s < GGML_MAX_SRC; ++s) {
        const ggml_tensor *t = s < 0 ? n : n->src[s];
        if (t == nullptr || at >= sizeof(text)) continue;
        at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s[%lld,%lld,%lld,%lld]",
                               s < 0 ? "" : s == 0 ? " of " : ", ", ggml_type_name(t->type),
                               (long long)t->ne[0], (long long)t->ne[1], (long long)t->ne[2],
                               (long long)t->ne[3]);
    }
    say(GGML_LOG_LEVEL_INFO, "refused: %s \"%s\" %s: %s", ggml_op_desc(n), n->name, text, why);
}

/* Return whether `n` reads a weight in a buffer of another backend. Such weights were put there on
   purpose (-ngl), and they would be converted or copied for each graph. Rows of a table are
   cheap. */
bool reads_other_weights(const ggml_tensor *n)
{
    for (int s = 0; s < GGML_MAX_SRC && n->op != GGML_OP_GET_ROWS; ++s) {
        const ggml_backend_buffer_t b = n->src[s] != nullptr ? buffer_of(n->src[s]) : nullptr;
        if (b != nullptr && b->usage == GGML_BACKEND_BUFFER_USAGE_WEIGHTS && !is_ours(b))
            return true;
    }
    return false;
}

/* Write the reason of a refusal to `why`; an answer that is known has none. */
bool supports(device *d, const ggml_tensor *n, std::string *why)
{
    bool yes;
    d->stats.supports += 1;
    if (qg_is_view(n)) return true;
    if (d->env.ops != nullptr && !is_listed(d->env.ops, ggml_op_name(n->op))) {
        *why = "GGML_QNNRT_OPS does not list it";
        return false;
    }
    if (reads_other_weights(n)) {
        *why = "its weights are in buffers of another backend";
        return false;
    }
    d->key.clear();
    d->seen.clear();
    d->tensors.clear(64);
    key_node(d, n, true, true);
    const uint64_t hash = d->key.hash();
    auto known = d->key.find(d->answers, hash);
    if (known != d->answers.end()) return known->second->yes;
    const uint64_t start = now_ns();
    yes = qg_supports(n, d->options, d->backend, why);
    d->stats.asked += 1;
    d->stats.ask_ns += now_ns() - start;
    d->stats.ops[n->op].asked += 1;
    d->stats.ops[n->op].refused += !yes;
    if (!yes && d->env.verbose) say_refused(n, why->c_str());
    if (d->answers.size() >= 65536) d->answers.clear();
    d->answers.emplace(hash, std::unique_ptr<answer>(new answer{ d->key.copy(), yes }));
    return yes;
}

/* =====================================================================================
   BUFFER                                                                        >>buffer
   Host memory, aligned to 64 bytes, and the check of caches in it.
   Needs: >>say >>device >>weights >>supports     Knows nothing of: plans
   ===================================================================================== */

void buffer_free(ggml_backend_buffer_t b)
{
    buffer *of = (buffer *)b->context;
    changed(b);
    count_live(of->dev, -1);
    free(of->data);
    delete of;
}

void *buffer_base(ggml_backend_buffer_t b) { return ((buffer *)b->context)->data; }

void buffer_memset(ggml_backend_buffer_t b, ggml_tensor *t, uint8_t value, size_t offset,
                   size_t bytes)
{
    changed(b);
    memset((char *)t->data + offset, value, bytes);
}

void buffer_set(ggml_backend_buffer_t b, ggml_tensor *t, const void *data, size_t offset,
                size_t bytes)
{
    changed(b);
    memcpy((char *)t->data + offset, data, bytes);
}

void buffer_get(ggml_backend_buffer_t, const ggml_tensor *t, void *data, size_t offset,
                size_t bytes)
{
    memcpy(data, (const char *)t->data + offset, bytes);
}

bool buffer_copy(ggml_backend_buffer_t b, const ggml_tensor *from, ggml_tensor *to)
{
    if (!is_ours(from->buffer) && !ggml_backend_buffer_is_host(from->buffer)) return false;
    changed(b);
    memcpy(to->data, from->data, ggml_nbytes(from));
    return true;
}

void buffer_clear(ggml_backend_buffer_t b, uint8_t value)
{
    changed(b);
    memset(((buffer *)b->context)->data, value, b->size);
}

/* Return whether a tensor is one of a cache, by the beginning of its name. */
bool is_cache(const device *d, const ggml_tensor *t)
{
    for (const char *at = d->env.caches; *at != '\0';) {
        const size_t length = strcspn(at, ",");
        if (length > 0 && strncmp(t->name, at, length) == 0) return true;
        at += length + (at[length] == ',');
    }
    return false;
}

/* The registry's functions are not in libggml-base.so, so a program may lack them. */
extern "C" __attribute__((weak)) size_t ggml_backend_dev_count(void);
extern "C" __attribute__((weak)) ggml_backend_dev_t ggml_backend_dev_get(size_t index);

/* Describe what each device answers about SET_ROWS into `t`; return whether one of them can. */
bool ask_devices(device *d, ggml_backend_buffer_t b, ggml_tensor *t, std::string *text)
{
    ggml_tensor rows = {}, index = {}, set = *t;
    std::string why;
    rows.type = GGML_TYPE_F32;
    index.type = GGML_TYPE_I64;
    for (int i = 0; i < GGML_MAX_DIMS; ++i) rows.ne[i] = index.ne[i] = 1;
    rows.ne[0] = t->ne[0];
    rows.nb[0] = 4;
    index.nb[0] = 8;
    for (int i = 1; i < GGML_MAX_DIMS; ++i) {
        rows.nb[i] = (size_t)rows.ne[i - 1] * rows.nb[i - 1];
        index.nb[i] = 8;
    }
    set.op = GGML_OP_SET_ROWS;
    set.src[0] = &rows;
    set.src[1] = &index;
    set.src[2] = t;
    set.view_src = t;
    set.view_offs = 0;
    bool able;
    {
        std::lock_guard<std::mutex> hold(d->lock);
        able = supports(d, &set, &why);
        if (!able && why.empty()) qg_supports(&set, d->options, d->backend, &why);
    }
    if (able) return true;
    add_text(text, "\n  QNNRT0: no: %s", why.c_str());
    for (size_t i = 0; ggml_backend_dev_count != nullptr && i < ggml_backend_dev_count(); ++i) {
        ggml_backend_dev_t dev = ggml_backend_dev_get(i);
        if (dev == &d->dev) continue;
        const bool op = dev->iface.supports_op(dev, &set);
        const bool memory = dev->iface.supports_buft(dev, b->buft);
        if (op && memory) return true;
        add_text(text, "\n  %s: no: %s", dev->iface.get_name(dev),
                 op ? "it has the operator, but cannot use these buffers, which are not the host's"
                    : "it does not support the operator with these types");
    }
    return false;
}

/* Refuse a cache that nobody could write to. ggml's scheduler would abort when it meets the first
   SET_ROWS into it; here the allocation fails, and the program gets an error. */
ggml_status buffer_init(ggml_backend_buffer_t b, ggml_tensor *t)
{
    device *d = ((buffer *)b->context)->dev;
    if (t->view_src != nullptr || b->usage == GGML_BACKEND_BUFFER_USAGE_COMPUTE ||
        !is_cache(d, t)) return GGML_STATUS_SUCCESS;
    return guarded("the check of a cache", GGML_STATUS_ALLOC_FAILED, [=] {
        std::string text;
        if (ask_devices(d, b, t, &text)) return GGML_STATUS_SUCCESS;
        say(GGML_LOG_LEVEL_ERROR, "no device can write to the cache \"%s\": SET_ROWS of f32 rows,"
            " i64 indices, into %s:%s\n  ways out: a cache in the CPU's memory (offload_kqv=false,"
            " --no-kv-offload), host buffers (GGML_QNNRT_HOST=1), SET_ROWS in this backend"
            " (GGML_QNNRT_SET_ROWS=1), a type that SET_ROWS writes (f32, f16, q8_0)", t->name,
            ggml_type_name(t->type), text.c_str());
        return GGML_STATUS_FAILED;
    });
}

const ggml_backend_buffer_i *buffer_interface()
{
    static const ggml_backend_buffer_i table = [] {
        ggml_backend_buffer_i i = {};
        i.free_buffer = buffer_free;
        i.get_base = buffer_base;
        i.init_tensor = buffer_init;
        i.memset_tensor = buffer_memset;
        i.set_tensor = buffer_set;
        i.get_tensor = buffer_get;
        i.cpy_tensor = buffer_copy;
        i.clear = buffer_clear;
        return i;
    }();
    return &table;
}

const char *buft_name(ggml_backend_buffer_type_t) { return "QNNRT"; }
size_t buft_alignment(ggml_backend_buffer_type_t) { return 64; }
bool buft_is_host(ggml_backend_buffer_type_t t) { return ((device *)t->context)->env.host; }

ggml_backend_buffer_t buft_alloc(ggml_backend_buffer_type_t t, size_t bytes)
{
    device *d = (device *)t->context;
    void *data = nullptr;
    if (posix_memalign(&data, 64, std::max(bytes, (size_t)64)) != 0) data = nullptr;
    buffer *b = data != nullptr ? new (std::nothrow) buffer{ d, data, 0, false } : nullptr;
    if (b == nullptr) {
        free(data);
        say(GGML_LOG_LEVEL_ERROR, "out of memory for a buffer of %llu bytes",
            (unsigned long long)bytes);
        return nullptr;
    }
    {
        std::lock_guard<std::mutex> hold(d->lock);
        b->serial = ++d->serial;
        d->live += 1;
    }
    return ggml_backend_buffer_init(t, *buffer_interface(), b, bytes);
}

/* =====================================================================================
   BACKEND                                                                      >>backend
   What ggml calls.
   Needs: >>say >>device >>weights >>run >>supports >>buffer
   ===================================================================================== */

/* Write the statistics since the last reset as text. The caller holds the lock. */
std::string statistics_text(const device *d)
{
    typedef unsigned long long ull;
    const statistics &s = d->stats;
    const double n = (double)std::max(s.computed, (uint64_t)1) * 1e3;
    std::string text;
    add_text(&text, "ggml-qnnrt: %llu graphs computed, %llu failed, %llu executions, %llu nodes on"
             " the host\n", (ull)s.computed, (ull)s.failed, (ull)s.executed, (ull)s.hosted);
    add_text(&text, "ggml-qnnrt: %llu QNN graphs of %llu nodes compiled in %.1f ms, %llu evicted;"
             " %llu plans made, %llu found by key, %llu by number\n", (ull)s.compiled,
             (ull)s.qnn_nodes, (double)s.compile_ns / 1e6, (ull)s.evicted, (ull)s.plans,
             (ull)s.plan_hits, (ull)s.uid_hits);
    add_text(&text, "ggml-qnnrt: %llu graphs stored as files, %llu read from files\n",
             (ull)s.stored, (ull)s.restored);
    add_text(&text, "ggml-qnnrt: us per graph: %.1f = %.1f execute, %.1f bind, %.1f host, %.1f"
             " key\n", (double)s.total_ns / n, (double)s.execute_ns / n, (double)s.bind_ns / n,
             (double)s.host_ns / n, (double)s.key_ns / n);
    add_text(&text, "ggml-qnnrt: %llu binds, %llu outputs bounced (%llu bytes); %llu bytes of"
             " weights converted\n", (ull)s.binds, (ull)s.bounced, (ull)s.bounced_bytes,
             (ull)s.converted_bytes);
    add_text(&text, "ggml-qnnrt: %llu weights became float16: relative error %.2e, %llu values"
             " beyond its range\n", (ull)s.halves,
             s.half_norm > 0 ? std::sqrt(s.half_error / s.half_norm) : 0.0, (ull)s.beyond);
    add_text(&text, "ggml-qnnrt: supports_op called %llu times, the library asked %llu times, %.1f"
             " us each\n", (ull)s.supports, (ull)s.asked,
             (double)s.ask_ns / 1e3 / (double)std::max(s.asked, (uint64_t)1));
    for (int op = 0; op < GGML_OP_COUNT; ++op) {
        uint64_t executed = s.ops[op].executed;
        for (const auto &g : d->graphs)
            for (const auto &o : g.second->ops)
                if (o.first == op) executed += o.second * g.second->executed;
        if (executed + s.ops[op].compiled + s.ops[op].asked == 0) continue;
        add_text(&text, "ggml-qnnrt: %s: %llu executed, %llu compiled, %.1f ms on the host, asked"
                 " %llu times, refused %llu\n", ggml_op_name((ggml_op)op), (ull)executed,
                 (ull)s.ops[op].compiled, (double)s.ops[op].host_ns / 1e6, (ull)s.ops[op].asked,
                 (ull)s.ops[op].refused);
    }
    return text;
}

/* Print the statistics to stderr ("1") or append them to a file, and begin anew. */
int print_statistics(device *d)
{
    std::lock_guard<std::mutex> hold(d->lock);
    const std::string text = statistics_text(d);
    FILE *file = strcmp(d->env.stats, "1") == 0 ? stderr : fopen(d->env.stats, "a");
    if (file == nullptr) say(GGML_LOG_LEVEL_ERROR, "cannot write to %s", d->env.stats);
    else fputs(text.c_str(), file);
    if (file != nullptr && file != stderr) fclose(file);
    d->stats = statistics();
    for (const auto &g : d->graphs) g.second->executed = 0;
    return 0;
}

const char *backend_name(ggml_backend_t) { return "QNNRT"; }

void backend_free(ggml_backend_t b)
{
    stream *of = (stream *)b->context;
    device *d = of->dev;
    if (d->env.stats != nullptr) guarded("statistics", 0, [=] { return print_statistics(d); });
    count_live(d, -1);
    delete of;
    delete b;
}

ggml_status backend_compute(ggml_backend_t b, ggml_cgraph *g)
{
    const stream *of = (const stream *)b->context;
    return guarded("computing a graph", GGML_STATUS_ALLOC_FAILED, [=] {
        std::lock_guard<std::mutex> hold(of->dev->lock);
        return compute(of, g);
    });
}

/* (as of ggml's CPU backend: called when no graph is being computed) */
void backend_stops(ggml_backend_t b, ggml_abort_callback stops, void *user)
{
    stream *of = (stream *)b->context;
    of->stops = stops;
    of->user = user;
}

ggml_guid_t backend_guid()
{
    static ggml_guid id = { 0x51, 0x4e, 0x4e, 0x52, 0x54, 0x2d, 0x31, 0x39,
                            0x8a, 0x17, 0x42, 0xc6, 0x9d, 0x05, 0xe3, 0x7b };
    return &id;
}

const char *dev_name(ggml_backend_dev_t) { return "QNNRT0"; }
const char *dev_description(ggml_backend_dev_t dev) { return of(dev)->description.c_str(); }
enum ggml_backend_dev_type dev_type(ggml_backend_dev_t dev) { return of(dev)->env.type; }

/* The libraries work on memory of the host, so its memory is the device's. */
void dev_memory(ggml_backend_dev_t, size_t *free, size_t *total)
{
    const long page = sysconf(_SC_PAGESIZE);
    const long all = sysconf(_SC_PHYS_PAGES), now = sysconf(_SC_AVPHYS_PAGES);
    *total = page > 0 && all > 0 ? (size_t)page * (size_t)all : 0;
    *free = page > 0 && now > 0 ? (size_t)page * (size_t)now : 0;
}

ggml_backend_buffer_type_t dev_buffer_type(ggml_backend_dev_t dev) { return &of(dev)->buft; }

void dev_props(ggml_backend_dev_t dev, ggml_backend_dev_props *props)
{
    memset(props, 0, sizeof(*props));
    props->name = dev_name(dev);
    props->description = dev_description(dev);
    props->type = dev_type(dev);
    dev_memory(dev, &props->memory_free, &props->memory_total);
}

ggml_backend_t dev_init(ggml_backend_dev_t dev, const char *)
{
    ggml_backend *b = new (std::nothrow) ggml_backend();
    stream *of = new (std::nothrow) stream { ::of(dev), nullptr, nullptr };
    if (b == nullptr || of == nullptr) {
        delete b;
        delete of;
        say(GGML_LOG_LEVEL_ERROR, "out of memory for a backend");
        return nullptr;
    }
    b->guid = backend_guid();
    b->iface.get_name = backend_name;
    b->iface.free = backend_free;
    b->iface.graph_compute = backend_compute;
    b->device = dev;
    b->context = of;
    count_live(of->dev, 1);
    return b;
}

bool dev_supports_op(ggml_backend_dev_t dev, const ggml_tensor *n)
{
    device *d = of(dev);
    return guarded("a question about an operator", false, [=] {
        std::lock_guard<std::mutex> hold(d->lock);
        std::string why;
        return supports(d, n, &why);
    });
}

bool dev_supports_buft(ggml_backend_dev_t dev, ggml_backend_buffer_type_t t)
{
    return t == &of(dev)->buft || (of(dev)->env.host && ggml_backend_buft_is_host(t));
}

const char *reg_name(ggml_backend_reg_t) { return "QNNRT"; }
size_t reg_count(ggml_backend_reg_t) { return 1; }
ggml_backend_dev_t reg_device(ggml_backend_reg_t reg, size_t)
{
    return &((device *)reg->context)->dev;
}

/* Write what GGML_QNNRT_STATS prints to `to`, of `room` bytes, as snprintf() does: the length of
   the whole text is returned, 0 when out of memory. */
size_t device_statistics(ggml_backend_dev_t dev, char *to, size_t room)
{
    device *d = of(dev);
    return guarded("statistics", (size_t)0, [=] {
        std::lock_guard<std::mutex> hold(d->lock);
        const std::string text = statistics_text(d);
        if (room > 0) snprintf(to, room, "%s", text.c_str());
        return text.size();
    });
}

void *reg_address(ggml_backend_reg_t, const char *name)
{
    if (strcmp(name, "ggml_backend_set_abort_callback") == 0) return (void *)backend_stops;
    return strcmp(name, "ggml_backend_qnnrt_stats") == 0 ? (void *)device_statistics : nullptr;
}

/* =====================================================================================
   LOAD                                                                            >>load
   Checks ggml, opens the QNN library, and gives ggml the registry.
   Needs: >>say >>options >>device >>weights >>buffer >>backend
   ===================================================================================== */

/* Compare ggml, as it is in this process, with what this file was compiled against: its version,
   numbers of operators and types, and the layouts of its structs. Its api_version stays the same
   when these change. */
bool same_ggml()
{
    static const struct { int type; const char *name; size_t bytes; } types[] = {
        { GGML_TYPE_F32, "f32", 4 }, { GGML_TYPE_F16, "f16", 2 }, { GGML_TYPE_BF16, "bf16", 2 },
        { GGML_TYPE_I32, "i32", 4 }, { GGML_TYPE_I64, "i64", 8 }, { GGML_TYPE_Q4_0, "q4_0", 18 },
        { GGML_TYPE_Q8_0, "q8_0", 34 }
    };
    const char *help = "build tools/ggml against that version";
    if (strcmp(ggml_version(), QG_GGML_VERSION) != 0) {
        say(GGML_LOG_LEVEL_ERROR, "built for ggml %s, but this program has ggml %s: %s",
            QG_GGML_VERSION, ggml_version(), help);
        return false;
    }
    for (size_t i = 0; i < qg_op_name_count; ++i) {
        const char *name = ggml_op_name((ggml_op)qg_op_names[i].op);
        if (strcmp(name, qg_op_names[i].name) == 0) continue;
        say(GGML_LOG_LEVEL_ERROR, "operator %d of this program's ggml %s is %s, expected %s: %s",
            qg_op_names[i].op, ggml_version(), name, qg_op_names[i].name, help);
        return false;
    }
    for (const auto &t : types) {
        const char *name = ggml_type_name((ggml_type)t.type);
        const size_t bytes = ggml_type_size((ggml_type)t.type);
        if (name != nullptr && strcmp(name, t.name) == 0 && bytes == t.bytes) continue;
        say(GGML_LOG_LEVEL_ERROR, "type %d of this program's ggml %s is %s with blocks of %u bytes,"
            " expected %s with %u: %s", t.type, ggml_version(), name != nullptr ? name : "none",
            (unsigned)bytes, t.name, (unsigned)t.bytes, help);
        return false;
    }
    /* (a tensor lies behind a header of 32 bytes) */
    const size_t tensor = ggml_tensor_overhead(), expected = sizeof(ggml_tensor) + 32;
    if (tensor != expected) {
        say(GGML_LOG_LEVEL_ERROR, "a tensor of this program's ggml %s takes %u bytes, expected %u:"
            " %s", ggml_version(), (unsigned)tensor, (unsigned)expected, help);
        return false;
    }
    /* (the list of a graph's nodes begins where its struct ends) */
    const ggml_init_params params = { ggml_graph_overhead_custom(1, false), nullptr, true };
    ggml_context *c = ggml_init(params);
    const ggml_cgraph *g = c != nullptr ? ggml_new_graph_custom(c, 1, false) : nullptr;
    const bool same = g != nullptr && g->size == 1 &&
                      (const void *)g->nodes == (const void *)(g + 1);
    ggml_free(c);
    if (same) return true;
    say(GGML_LOG_LEVEL_ERROR, "graphs of this program's ggml %s are laid out in another way than in"
        " the sources of this library: build tools/ggml against the program's sources",
        ggml_version());
    return false;
}

device *open_device()
{
    std::unique_ptr<device> d(new device);
    qnnrt_backend_desc desc = {};
    qnnrt_error err;
    if (!env_read(&d->env)) return nullptr;
    desc.path = d->env.lib;
    desc.soc_model = d->env.soc;
    if (qnnrt_backend_open(&desc, &d->backend, &err) != QNNRT_OK) {
        say(GGML_LOG_LEVEL_ERROR, "GGML_QNNRT_LIB=%s: %s", d->env.lib, err.text);
        return nullptr;
    }
    const qnnrt_backend_info *info = qnnrt_backend_get_info(d->backend);
    const bool htp = info->id == QG_HTP;
    d->description = std::string(info->provider) + " " + info->build_id + ", qnnrt " +
                     qnnrt_version();
    d->options.backend = info->id;
    d->options.release = info->build_id;
    d->options.half = d->env.half >= 0 ? d->env.half != 0 : htp;
    d->options.statics = d->env.statics >= 0 ? d->env.statics != 0 : htp;
    d->options.blocks = d->env.blocks >= 0 ? d->env.blocks != 0 : htp;
    if (d->env.blocks == 1 && (!d->options.half || !d->options.statics)) {
        say(GGML_LOG_LEVEL_ERROR, "GGML_QNNRT_BLOCKS is 1, which needs %s=1",
            !d->options.half ? "GGML_QNNRT_HALF" : "GGML_QNNRT_STATIC");
        qnnrt_backend_close(d->backend);
        return nullptr;
    }
    d->options.set_rows = d->env.set_rows;
    d->options.weight = weight_of;
    if (d->env.cache_dir != nullptr) d->options.content = content_of;
    d->static_most = (uint64_t)d->env.cache_mb << 20;
    if (d->static_most == 0) {
        size_t free_bytes, total = 0;
        dev_memory(&d->dev, &free_bytes, &total);
        d->static_most = total / 4;
    }
    d->reg.api_version = GGML_BACKEND_API_VERSION;
    d->reg.iface = { reg_name, reg_count, reg_device, reg_address };
    d->reg.context = d.get();
    d->dev.iface.get_name = dev_name;
    d->dev.iface.get_description = dev_description;
    d->dev.iface.get_memory = dev_memory;
    d->dev.iface.get_type = dev_type;
    d->dev.iface.get_props = dev_props;
    d->dev.iface.init_backend = dev_init;
    d->dev.iface.get_buffer_type = dev_buffer_type;
    d->dev.iface.supports_op = dev_supports_op;
    d->dev.iface.supports_buft = dev_supports_buft;
    d->dev.reg = &d->reg;
    d->dev.context = d.get();
    d->buft.iface.get_name = buft_name;
    d->buft.iface.alloc_buffer = buft_alloc;
    d->buft.iface.get_alignment = buft_alignment;
    d->buft.iface.is_host = buft_is_host;
    d->buft.device = &d->dev;
    d->buft.context = d.get();
    return d.release();
}

device *get_device()
{
    static std::mutex once;
    std::lock_guard<std::mutex> hold(once);
    if (the_device == nullptr && same_ggml()) the_device = open_device();
    return the_device;
}

} // namespace

extern "C" __attribute__((visibility("default"))) ggml_backend_reg_t ggml_backend_init(void);
extern "C" __attribute__((visibility("default"))) int ggml_backend_score(void);

ggml_backend_reg_t ggml_backend_init(void)
{
    device *d = guarded("the device", (device *)nullptr, get_device);
    return d != nullptr ? &d->reg : nullptr;
}

/* (a program that loads the best of several files compares scores; 0 refuses) */
int ggml_backend_score(void)
{
    return ggml_backend_init() != nullptr ? 10 : 0;
}
