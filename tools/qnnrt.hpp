/* qnnrt.hpp - v0.5.0 - qnnrt.h, programs, qnnrt_llm.h and sessions for C++17: owners, spans, exceptions

       #include "qnnrt.hpp"                  // link libqnnrt.so; or in one file, define before it
                                             // QNNRT_IMPLEMENTATION,
                                             // QNNRT_DEVICE_IMPLEMENTATION,
                                             // QNNRT_PROFILE_IMPLEMENTATION,
                                             // QNNRT_CONVERT_IMPLEMENTATION,
                                             // QNNRT_MANIFEST_IMPLEMENTATION,
                                             // QNNRT_SAMPLE_IMPLEMENTATION,
                                             // QNNRT_LLM_IMPLEMENTATION,
                                             // QNNRT_CACHE_IMPLEMENTATION and
                                             // QNNRT_SESSION_IMPLEMENTATION
       try {
           qnnrt_desc desc = {};
           desc.backend_desc.path = "libs/libQnnHtp.so";
           qnnrt_cpp::model model("model_dir", desc);
           qnnrt_cpp::run run = model.prepare();
           run.write("x", std::vector<float>{ 1, 2, 3, 4 });
           run.exec();
           for (float y : run.read<float, 2>("y"))
               std::printf("%g\n", static_cast<double>(y));
       } catch (const qnnrt_cpp::error &e) {
           std::printf("%s\nhint: %s\n", e.what(), e.hint());
       }

   What it adds to the C functions: an owner for each object, which can be moved and not copied; a
   span for each pointer with a count; an exception for each result that is not QNNRT_OK. What the
   functions do, who owns what and which threads may call is said in the C headers. The C types are
   used as they are: descriptors, infos, slots.

   Names    The namespace is qnnrt_cpp, because "qnnrt" is the type of a model in C.
   Order    An owner frees its object when it ends. Declare objects before those that use them: the
            compiler then frees them in the right order. An object that is still in use when its
            owner ends stays allocated; close() throws QNNRT_E_BUSY instead.
   Memory   Nothing here allocates, except an exception, which the runtime allocates.
   Without exceptions   (-fno-exceptions) the calls that throw are not declared. The owners are:
            adopt() takes what a C function made, get() gives it to the others.

   ROOMS (search for the tag)
       >>span >>error >>owner >>run >>model >>llm >>session
*/
#ifndef QNNRT_HPP
#define QNNRT_HPP

#if !defined(__cplusplus) || __cplusplus < 201703L
#error "qnnrt.hpp needs C++17 or newer: -std=c++17"
#endif

#include "qnnrt.h"
#include "qnnrt_device.h"
#include "qnnrt_manifest.h"
#include "qnnrt_llm.h"
#include "qnnrt_profile.h"
#include "qnnrt_session.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <initializer_list>
#include <type_traits>
#include <utility>

namespace qnnrt_cpp {

/* =====================================================================================
   SPANS                                                                           >>span
   A pointer and a count, as std::span of C++20.
   Needs: nothing     Knows nothing of: qnnrt
   ===================================================================================== */

template <class T> class span {
public:
    using element_type = T;
    using value_type = std::remove_cv_t<T>;

    constexpr span() noexcept = default;
    constexpr span(T *data, std::size_t size) noexcept : data_(data), size_(size) {}
    template <std::size_t N> constexpr span(T (&array)[N]) noexcept : data_(array), size_(N) {}

    /* From all that has data() and size(): std::vector, std::array, std::string, std::span. */
    template <class C, class P = decltype(std::declval<C &>().data()),
              class = std::enable_if_t<
                  std::is_convertible<std::remove_pointer_t<P> (*)[], T (*)[]>::value &&
                  !std::is_same<std::remove_cv_t<std::remove_reference_t<C>>, span>::value>>
    constexpr span(C &&container) noexcept : data_(container.data()), size_(container.size()) {}

    constexpr T *data() const noexcept { return data_; }
    constexpr std::size_t size() const noexcept { return size_; }
    constexpr std::size_t size_bytes() const noexcept { return size_ * sizeof(T); }
    constexpr bool empty() const noexcept { return size_ == 0; }
    constexpr T *begin() const noexcept { return data_; }
    constexpr T *end() const noexcept { return data_ + size_; }
    constexpr T &operator[](std::size_t i) const noexcept { return data_[i]; }

private:
    T *data_ = nullptr;
    std::size_t size_ = 0;
};

template <class C>
span(C &) -> span<std::remove_pointer_t<decltype(std::declval<C &>().data())>>;

/* =====================================================================================
   ERRORS                                                                         >>error
   The error of a C call as an exception.
   Needs: nothing     Knows nothing of: objects
   ===================================================================================== */

/* Holds the whole qnnrt_error, so that copying it cannot fail. */
class error : public std::exception {
public:
    explicit error(const qnnrt_error &err) noexcept : err_(err) {}
    const char *what() const noexcept override { return err_.text; }
    const char *text() const noexcept { return err_.text; }
    const char *hint() const noexcept { return err_.hint; }
    const char *cause() const noexcept { return err_.cause; }      // or nullptr
    qnnrt_result code() const noexcept { return err_.code; }
    std::uint64_t vendor_code() const noexcept { return err_.vendor_code; }
    const qnnrt_error &all() const noexcept { return err_; }

private:
    qnnrt_error err_;
};

#ifdef __cpp_exceptions
/* Throw the error of a call that failed. */
inline void check(qnnrt_result result, const qnnrt_error &err)
{
    if (result != QNNRT_OK)
        throw error(err);
}

/* The same for calls that give a result and no text. */
inline void check(qnnrt_result result)
{
    if (result == QNNRT_OK)
        return;
    qnnrt_error err{};
    const char *text = qnnrt_result_text(result);
    err.code = result;
    for (std::size_t i = 0; text[i] != '\0' && i + 1 < sizeof err.text; ++i)
        err.text[i] = text[i];
    throw error(err);
}
#endif

/* =====================================================================================
   OWNERS                                                                         >>owner
   One object of the C interface, freed at the end.
   Needs: >>error     Knows nothing of: what the objects are
   ===================================================================================== */

template <class T, auto Free> class owner {
public:
    owner() noexcept = default;
    owner(const owner &) = delete;
    owner &operator=(const owner &) = delete;
    owner(owner &&other) noexcept : object_(other.release()) {}
    owner &operator=(owner &&other) noexcept
    {
        if (this != &other) {
            reset();
            object_ = other.release();
        }
        return *this;
    }
    ~owner() { reset(); }

    /* Take what a C function made. */
    static owner adopt(T *object) noexcept
    {
        owner result;
        result.object_ = object;
        return result;
    }

    T *get() const noexcept { return object_; }
    explicit operator bool() const noexcept { return object_ != nullptr; }

    /* Give the object away: the caller frees it. */
    T *release() noexcept { return std::exchange(object_, nullptr); }

    /* Free the object now. One that is in use stays allocated. */
    void reset() noexcept
    {
        if (object_ != nullptr)
            static_cast<void>(Free(std::exchange(object_, nullptr)));
    }

#ifdef __cpp_exceptions
    /* Free the object now. One that is in use stays this owner's: QNNRT_E_BUSY. */
    void close()
    {
        if constexpr (std::is_same<decltype(Free(object_)), void>::value) {
            reset();
        } else if (object_ != nullptr) {
            const qnnrt_result result = Free(object_);
            if (result != QNNRT_E_BUSY)
                object_ = nullptr;
            check(result);
        }
    }
#endif

protected:
    T *object_ = nullptr;
};

using backend_owner = owner<qnnrt_backend, &qnnrt_backend_close>;
using model_owner = owner<qnnrt, &qnnrt_close>;
using program_owner = owner<qnnrt_manifest, &qnnrt_manifest_close>;
using pipeline_owner = owner<qnnrt_pipeline, &qnnrt_pipeline_destroy>;
using plan_owner = owner<qnnrt_plan, &qnnrt_plan_destroy>;
using mem_owner = owner<qnnrt_mem, &qnnrt_mem_destroy>;
using run_owner = owner<qnnrt_run, &qnnrt_run_destroy>;
using llm_owner = owner<qnnrt_llm, &qnnrt_llm_close>;
using llm_session_owner = owner<qnnrt_llm_session, &qnnrt_llm_session_destroy>;
using session_owner = owner<qnnrt_session, &qnnrt_session_destroy>;
using binding_owner = owner<qnnrt_binding, &qnnrt_binding_destroy>;
using llm_sampler_owner = owner<qnnrt_llm_sampler, &qnnrt_llm_sampler_destroy>;

#ifdef __cpp_exceptions

/* =====================================================================================
   RUNS                                                                             >>run
   An executable pipeline: values in, exec, values out.
   Needs: >>span >>error >>owner     Knows nothing of: folders
   ===================================================================================== */

class run : public run_owner {
public:
    run() noexcept = default;
    run(qnnrt_mem *mem, std::size_t entry)
    {
        qnnrt_error err;
        check(qnnrt_run_create(mem, entry, &object_, &err), err);
        qnnrt_run_dynamic(object_);     /* out of memory: exec says so */
    }
    explicit run(run_owner &&other) noexcept : run_owner(std::move(other)) {}

    void exec() { check_run(qnnrt_exec(object_)); }

    const qnnrt_pipeline_info &info() const
    {
        return *qnnrt_pipeline_get_info(qnnrt_run_pipeline(object_));
    }
    span<const qnnrt_slot> slots() const { return { info().slots, info().slot_count }; }
    const qnnrt_slot *slot(const char *name)
    {
        const qnnrt_slot *found = qnnrt_run_slot(object_, name);
        if (found == nullptr)
            throw error(*qnnrt_run_error(object_));
        return found;
    }

    /* Bind memory of the caller, which stays his: it must outlive the execs. Constant memory can be
       an input only: QNNRT_E_ARG. */
    template <class T> void bind(const char *name, span<T> data)
    {
        const qnnrt_slot *to = slot(name);
        if (to->role == QNNRT_ROLE_INPUT)
            check_run(qnnrt_bind_input(object_, to, data.data(), data.size_bytes()));
        else if constexpr (std::is_const<T>::value)
            check(QNNRT_E_ARG);
        else
            check_run(qnnrt_bind_output(object_, to, data.data(), data.size_bytes()));
    }
    template <class C> void bind(const char *name, C &container) { bind(name, span(container)); }
    void unbind(const char *name) { check_run(qnnrt_bind(object_, name, nullptr, 0)); }

    /* The stored elements where they lie. T has the size of an element: else QNNRT_E_MISMATCH. */
    template <class T> span<T> data(const char *name)
    {
        const qnnrt_slot *from = slot(name);
        std::size_t bytes = 0;
        if (from->tensor->count * sizeof(T) != from->tensor->bytes)
            check(QNNRT_E_MISMATCH);
        void *address = qnnrt_data_slot(object_, from, &bytes);
        if (address == nullptr)
            throw error(*qnnrt_run_error(object_));
        return { static_cast<T *>(address), bytes / sizeof(T) };
    }

    /* Values, converted from and to the tensor's type. T is float or std::int32_t. */
    void write(const char *name, span<const float> values, std::uint64_t begin = 0)
    {
        check_run(qnnrt_write_f32(object_, slot(name), begin, values.data(), values.size()));
    }
    void write(const char *name, span<const std::int32_t> values, std::uint64_t begin = 0)
    {
        check_run(qnnrt_write_i32(object_, slot(name), begin, values.data(), values.size()));
    }
    void read(const char *name, span<float> values, std::uint64_t begin = 0)
    {
        check_run(qnnrt_read_f32(object_, slot(name), begin, values.data(), values.size()));
    }
    void read(const char *name, span<std::int32_t> values, std::uint64_t begin = 0)
    {
        check_run(qnnrt_read_i32(object_, slot(name), begin, values.data(), values.size()));
    }
    template <class T, std::size_t N> std::array<T, N> read(const char *name,
                                                           std::uint64_t begin = 0)
    {
        std::array<T, N> values;
        read(name, span<T>(values), begin);
        return values;
    }

    void set_dims(const char *name, span<const std::uint32_t> dims)
    {
        check_run(qnnrt_set_dims(object_, slot(name), dims.data(),
                                 static_cast<std::uint32_t>(dims.size())));
    }
    span<const std::uint32_t> dims(const char *name)
    {
        std::uint32_t rank = 0;
        const std::uint32_t *now = qnnrt_get_dims(object_, slot(name), &rank);
        return { now, rank };
    }

    void profile(qnnrt_profile_level level) { check_run(qnnrt_run_profile(object_, level)); }
    span<const qnnrt_profile_event> events()
    {
        const qnnrt_profile_event *list = nullptr;
        std::size_t count = 0;
        check_run(qnnrt_run_events(object_, &list, &count));
        return { list, count };
    }
    span<const qnnrt_transfer_info> transfers()
    {
        const qnnrt_transfer_info *list = nullptr;
        std::size_t count = 0;
        check_run(qnnrt_run_transfers(object_, &list, &count));
        return { list, count };
    }

private:
    void check_run(qnnrt_result result)
    {
        if (result != QNNRT_OK)
            throw error(*qnnrt_run_error(object_));
    }
};

/* =====================================================================================
   MODELS                                                                         >>model
   Backends, opened folders, and programs of several models.
   Needs: >>span >>error >>owner >>run     Knows nothing of: tokens
   ===================================================================================== */

class backend : public backend_owner {
public:
    backend() noexcept = default;
    explicit backend(const qnnrt_backend_desc &desc)
    {
        qnnrt_error err;
        check(qnnrt_backend_open(&desc, &object_, &err), err);
    }
    const qnnrt_backend_info &info() const { return *qnnrt_backend_get_info(object_); }
};

class model : public model_owner {
public:
    model() noexcept = default;
    explicit model(const char *folder, const qnnrt_desc &desc = {})
    {
        qnnrt_error err;
        check(qnnrt_open(folder, &desc, &object_, &err), err);
    }

    const qnnrt_info &info() const { return *qnnrt_get_info(object_); }
    span<const qnnrt_context_info> contexts() const
    {
        return { info().contexts, info().context_count };
    }
    span<const qnnrt_pipeline *const> pipelines() const
    {
        return { info().pipelines, info().pipeline_count };
    }
    const qnnrt_pipeline *pipeline(const char *name = nullptr) const
    {
        const qnnrt_pipeline *found = nullptr;
        qnnrt_error err;
        check(qnnrt_pipeline_find(object_, name, &found, &err), err);
        return found;
    }

    /* Plan one pipeline alone, with memory of its own. The run must end before the model. */
    run prepare(const char *name = nullptr)
    {
        qnnrt_run *made = nullptr;
        qnnrt_error err;
        check(qnnrt_prepare(object_, name, &made, &err), err);
        qnnrt_run_dynamic(made);        /* out of memory: exec says so */
        return run(run_owner::adopt(made));
    }

    template <class T> void update(std::size_t context, const char *graph, const char *tensor,
                                   span<const T> data)
    {
        qnnrt_error err;
        check(qnnrt_update(object_, context, graph, tensor, data.data(), data.size_bytes(), &err),
              err);
    }
};

/* The program of a folder: models on one or more backends, see qnnrt_manifest.h. */
class program : public program_owner {
public:
    program() noexcept = default;
    explicit program(const char *folder, const qnnrt_manifest_open_desc &desc = {})
    {
        qnnrt_error err;
        check(qnnrt_manifest_open(folder, &desc, &object_, &err), err);
    }

    const qnnrt_manifest_info &info() const { return *qnnrt_manifest_get_info(object_); }
    span<const qnnrt_manifest_context> contexts() const
    {
        return { info().contexts, info().context_count };
    }
    span<const qnnrt_pipeline *const> pipelines() const
    {
        return { info().pipelines, info().pipeline_count };
    }

    /* Plan one pipeline alone, with memory of its own. The run must end before the program. */
    run prepare(const char *name = nullptr)
    {
        qnnrt_run *made = nullptr;
        qnnrt_error err;
        check(qnnrt_manifest_prepare(object_, name, nullptr, &made, &err), err);
        return run(run_owner::adopt(made));
    }
};

class plan : public plan_owner {
public:
    plan() noexcept = default;
    explicit plan(const qnnrt_plan_desc &desc)
    {
        qnnrt_error err;
        check(qnnrt_plan_create(&desc, &object_, &err), err);
    }
    const qnnrt_plan_info &info() const { return *qnnrt_plan_get_info(object_); }
    span<const qnnrt_plan_block> blocks() const { return { info().blocks, info().block_count }; }
};

class mem : public mem_owner {
public:
    mem() noexcept = default;
    explicit mem(const plan &from, const qnnrt_mem_desc &desc = {})
    {
        qnnrt_error err;
        check(qnnrt_mem_create(from.get(), &desc, &object_, &err), err);
    }
    const qnnrt_mem_info &info() const { return *qnnrt_mem_get_info(object_); }
    span<const qnnrt_buffer_info> buffers() const
    {
        return { info().buffers, info().buffer_count };
    }
};

/* =====================================================================================
   LANGUAGE MODELS                                                                  >>llm
   Tokens in, tokens out.
   Needs: >>span >>error >>owner >>model     Knows nothing of: text
   ===================================================================================== */

class llm : public llm_owner {
public:
    llm() noexcept = default;
    explicit llm(const model &from, const qnnrt_llm_desc &desc = {})
    {
        qnnrt_error err;
        check(qnnrt_llm_open(from.get(), &desc, &object_, &err), err);
    }
    explicit llm(const program &from, qnnrt_llm_desc desc = {})
    {
        qnnrt_error err;
        if (desc.folder == nullptr)
            desc.folder = from.info().folder;
        desc.made = from.info().pipelines;
        desc.made_count = from.info().pipeline_count;
        desc.models = from.info().models;
        desc.model_count = from.info().model_count;
        check(qnnrt_llm_open(nullptr, &desc, &object_, &err), err);
    }
    const qnnrt_llm_info &info() const { return *qnnrt_llm_get_info(object_); }
    bool is_eos(std::int32_t token) const { return qnnrt_llm_is_eos(object_, token) != 0; }
};

/* The caches belong to the session. */
class llm_cache {
public:
    llm_cache() noexcept = default;
    explicit llm_cache(qnnrt_llm_cache *cache) noexcept : cache_(cache) {}
    qnnrt_llm_cache *get() const noexcept { return cache_; }

    void decode(const qnnrt_llm_batch &batch) { check_cache(qnnrt_llm_decode(cache_, &batch)); }
    void decode(span<const std::int32_t> tokens)
    {
        qnnrt_llm_batch batch{};
        batch.tokens = tokens.data();
        batch.count = tokens.size();
        decode(batch);
    }
    /* The most probable token after token `row` of the last batch. */
    std::int32_t argmax(std::size_t row)
    {
        const std::int32_t token = qnnrt_llm_argmax(cache_, row);
        if (token < 0)
            throw error(*qnnrt_llm_error(cache_));
        return token;
    }
    void logits(std::size_t row, float *values)
    {
        check_cache(qnnrt_llm_logits(cache_, row, values));
    }
    const void *codes(std::size_t row)
    {
        const void *found = qnnrt_llm_stored_logits(cache_, row);
        if (found == nullptr)
            throw error(*qnnrt_llm_error(cache_));
        return found;
    }
    qnnrt_llm_cache_info info() const { return qnnrt_llm_cache_get_info(cache_); }
    void clear() { qnnrt_llm_clear(cache_); }

private:
    void check_cache(qnnrt_result result)
    {
        if (result != QNNRT_OK)
            throw error(*qnnrt_llm_error(cache_));
    }
    qnnrt_llm_cache *cache_ = nullptr;
};

class llm_session : public llm_session_owner {
public:
    llm_session() noexcept = default;
    explicit llm_session(const llm &from, const qnnrt_llm_session_desc &desc = {})
    {
        qnnrt_llm *models[1] = { from.get() };
        qnnrt_error err;
        check(qnnrt_llm_session_create(models, 1, &desc, &object_, &err), err);
    }
    llm_cache cache(std::size_t index = 0, std::size_t model = 0)
    {
        qnnrt_llm_cache *found = qnnrt_llm_cache_get(object_, model, index);
        if (found == nullptr)
            check(QNNRT_E_NOT_FOUND);
        return llm_cache(found);
    }
};

class llm_sampler : public llm_sampler_owner {
public:
    llm_sampler() noexcept = default;
    explicit llm_sampler(const llm &from, const qnnrt_llm_sampler_desc &desc = {})
    {
        qnnrt_error err;
        check(qnnrt_llm_sampler_create(from.info().logits, &desc, &object_, &err), err);
    }
    std::int32_t sample(const void *codes) { return qnnrt_llm_sample(object_, codes); }
    void accept(std::int32_t token) { qnnrt_llm_sampler_accept(object_, token); }
};

/* =====================================================================================
   SESSIONS                                                                     >>session
   Any model with any engine.
   Needs: >>span >>error >>owner     Knows nothing of: folders, tokens
   ===================================================================================== */

/* The element type of a C++ type; there is none for others than these. */
template <class T> struct dtype_of;
template <> struct dtype_of<float> { static constexpr qnnrt_dtype value = QNNRT_DTYPE_F32; };
template <> struct dtype_of<double> { static constexpr qnnrt_dtype value = QNNRT_DTYPE_F64; };
template <> struct dtype_of<bool> { static constexpr qnnrt_dtype value = QNNRT_DTYPE_BOOL8; };
template <> struct dtype_of<std::int8_t> { static constexpr qnnrt_dtype value = QNNRT_DTYPE_I8; };
template <> struct dtype_of<std::uint8_t> { static constexpr qnnrt_dtype value = QNNRT_DTYPE_U8; };
template <> struct dtype_of<std::int16_t> {
    static constexpr qnnrt_dtype value = QNNRT_DTYPE_I16;
};
template <> struct dtype_of<std::uint16_t> {
    static constexpr qnnrt_dtype value = QNNRT_DTYPE_U16;
};
template <> struct dtype_of<std::int32_t> {
    static constexpr qnnrt_dtype value = QNNRT_DTYPE_I32;
};
template <> struct dtype_of<std::uint32_t> {
    static constexpr qnnrt_dtype value = QNNRT_DTYPE_U32;
};
template <> struct dtype_of<std::int64_t> {
    static constexpr qnnrt_dtype value = QNNRT_DTYPE_I64;
};
template <> struct dtype_of<std::uint64_t> {
    static constexpr qnnrt_dtype value = QNNRT_DTYPE_U64;
};

/* Describe memory of the caller as a value, which stays his. More dimensions than a value has:
   QNNRT_E_LIMIT. */
template <class T>
qnnrt_value value(const char *name, span<T> data, std::initializer_list<std::int64_t> dims)
{
    qnnrt_value made{};
    if (dims.size() > QNNRT_SESSION_RANK)
        check(QNNRT_E_LIMIT);
    made.name = name;
    made.dtype = dtype_of<std::remove_cv_t<T>>::value;
    for (std::int64_t n : dims)
        made.dims[made.rank++] = n;
    made.data = const_cast<std::remove_cv_t<T> *>(data.data());
    made.bytes = data.size_bytes();
    return made;
}

class session : public session_owner {
public:
    session() noexcept = default;
    session(const char *path, const qnnrt_session_desc &desc)
    {
        qnnrt_error err;
        check(qnnrt_session_create(path, &desc, &object_, &err), err);
    }
    const qnnrt_session_info &info() const { return *qnnrt_session_get_info(object_); }
    span<const qnnrt_session_tensor> inputs() const
    {
        return { info().inputs, info().input_count };
    }
    span<const qnnrt_session_tensor> outputs() const
    {
        return { info().outputs, info().output_count };
    }
    span<const qnnrt_session_candidate> candidates() const
    {
        return { info().candidates, info().candidate_count };
    }

    /* Run once. Outputs receive what was written. */
    void run(span<const qnnrt_value> inputs, span<qnnrt_value> outputs)
    {
        check_session(qnnrt_session_run(object_, inputs.data(), inputs.size(), outputs.data(),
                                        outputs.size()));
    }
    /* From any thread. */
    void cancel() { check(qnnrt_session_cancel(object_)); }

    /* Throw what a call with this session or its bindings reported. */
    void check_session(qnnrt_result result) const
    {
        if (result == QNNRT_E_BUSY || object_ == nullptr)
            check(result);
        if (result != QNNRT_OK)
            throw error(*qnnrt_session_error(object_));
    }
};

/* Values that stay placed. The session must outlive the binding. */
class binding : public binding_owner {
public:
    binding() noexcept = default;
    explicit binding(const session &of) : session_(of.get())
    {
        qnnrt_error err;
        check(qnnrt_binding_create(session_, &object_, &err), err);
    }
    void input(const qnnrt_value &value) { check_binding(qnnrt_binding_input(object_, &value)); }
    void output(const qnnrt_value &value) { check_binding(qnnrt_binding_output(object_, &value)); }
    void run() { check_binding(qnnrt_binding_run(object_)); }
    qnnrt_value get(const char *output) const
    {
        qnnrt_value found{};
        check_binding(qnnrt_binding_get(object_, output, &found));
        return found;
    }

private:
    void check_binding(qnnrt_result result) const
    {
        if (result == QNNRT_E_BUSY || object_ == nullptr)
            check(result);
        if (result != QNNRT_OK)
            throw error(*qnnrt_session_error(session_));
    }
    qnnrt_session *session_ = nullptr;
};

#endif /* __cpp_exceptions */

} /* namespace qnnrt_cpp */

#endif /* QNNRT_HPP */
