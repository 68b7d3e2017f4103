/* Every part of tools/qnnrt.hpp on libQnnRef.so, for tests/project/test_lib.sh: cpp FOLDER BACKEND_LIBRARY
   FOLDER has one pipeline: y = relu(x * w + b), x of 1 x 4 and y of 1 x 2 float32. */
#include "qnnrt.hpp"
#include "qnnrt_engines.h"

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

static int passed, failed;
static void is(bool good, const char *what)
{
    ++(good ? passed : failed);
    if (!good)
        std::printf("FAILED: %s\n", what);
}

#ifdef __cpp_exceptions
template <class F> static qnnrt_result code_of(F call, std::string *text = nullptr)
{
    try {
        call();
    } catch (const qnnrt_cpp::error &e) {
        if (text != nullptr)
            *text = e.what();
        return e.code();
    }
    return QNNRT_OK;
}

static void spans()
{
    std::vector<int> v{ 1, 2, 3 };
    const std::vector<int> c{ 4 };
    int a[2] = { 5, 6 };
    qnnrt_cpp::span<int> from_vector(v);
    qnnrt_cpp::span<const int> from_const(c), from_array(a), from_span(from_vector), none;
    int sum = 0;
    for (int x : from_vector)
        sum += x;
    is(sum == 6 && from_vector.size_bytes() == 3 * sizeof(int), "a span has the elements of a vector");
    is(from_const[0] == 4 && from_array[1] == 6 && from_span.size() == 3 && none.empty(),
       "spans of constants");
    is(!std::is_convertible<qnnrt_cpp::span<const int>, qnnrt_cpp::span<int>>::value,
       "constants stay constant");
    is(!std::is_convertible<std::vector<int> &, qnnrt_cpp::span<float>>::value,
       "elements keep their type");
}

static void models(const char *folder, const char *library)
{
    std::string text;
    is(code_of([] { qnnrt_cpp::model m("/no/such/folder"); }, &text) != QNNRT_OK,
       "a folder that is not there");
    is(text.find("/no/such/folder") != std::string::npos, "the error names the folder");

    qnnrt_cpp::backend backend([library] {
        qnnrt_backend_desc desc = {};
        desc.path = library;
        return desc;
    }());
    qnnrt_desc desc = {};
    desc.backend = backend.get();
    qnnrt_cpp::model model(folder, desc);
    is(code_of([&] { backend.close(); }) == QNNRT_E_BUSY && backend, "a backend in use stays open");
    is(model.contexts().size() == 1 && model.pipelines().size() == 1, "the facts");
    is(model.pipeline() == model.pipelines()[0], "the only pipeline");
    is(code_of([&] { model.pipeline("none"); }) == QNNRT_E_NOT_FOUND, "no such pipeline");

    qnnrt_cpp::run run = model.prepare();
    qnnrt_cpp::run moved = std::move(run);
    is(!run && moved, "a run moves");
    run = std::move(moved);
    run.write("x", std::vector<float>{ 1, 2, 3, 4 });
    run.exec();
    const std::array<float, 2> y = run.read<float, 2>("y");
    is(y[0] == 30.5f && y[1] == 0.0f, "values go in and out");
    is(run.data<float>("y").size() == 2 && run.data<float>("y")[0] == 30.5f, "the data in place");
    is(code_of([&] { run.data<double>("y"); }) == QNNRT_E_MISMATCH, "elements of another size");
    is(code_of([&] { run.slot("z"); }, &text) == QNNRT_E_NOT_FOUND && !text.empty(), "no such slot");
    is(code_of([&] { run.write("x", std::vector<float>(5)); }) == QNNRT_E_MISMATCH, "too many values");

    std::vector<float> out(2), in{ 1, 0, 0, 0 };
    const std::vector<float> fixed{ 0, 1, 0, 0 };
    run.bind("x", in);
    run.bind("y", out);
    run.exec();
    is(out[0] == 1.5f && out[1] == 0.0f, "bound memory");
    run.bind("x", fixed);
    run.exec();
    is(out[0] == 2.5f, "constant memory is an input");
    is(code_of([&] { run.bind("y", fixed); }) == QNNRT_E_ARG, "constant memory is no output");
    run.unbind("x");
    run.unbind("y");
    is(run.slots().size() == 2 && run.dims("x").size() == 2 && run.dims("x")[1] == 4, "slots and dims");
    is(code_of([&] { run.events(); }) == QNNRT_E_STATE, "no events without a profile");
    run.profile(QNNRT_PROFILE_BASIC);
    run.exec();
    is(!run.events().empty(), "events");
    is(code_of([&] { model.close(); }) == QNNRT_E_BUSY && model, "a model in use stays open");

    qnnrt_entry_desc entry = {};
    entry.pipeline = model.pipeline();
    qnnrt_plan_desc plan_desc = {};
    plan_desc.entries = &entry;
    plan_desc.entry_count = 1;
    qnnrt_cpp::plan plan(plan_desc);
    qnnrt_cpp::mem mem(plan);
    qnnrt_cpp::run second(mem.get(), 0);
    second.write("x", std::vector<float>{ 1, 1, 1, 1 });
    second.exec();
    is(second.read<float, 2>("y")[0] == 10.5f, "a plan, a mem and a run");
    is(plan.blocks().size() == 2 && mem.buffers().empty(), "blocks and buffers");
    second.close();
    mem.close();
    plan.close();
    run.close();
    model.close();
    backend.close();
    is(!model && !backend, "all is closed");

    try {
        qnnrt_cpp::model wrong(folder, [] {
            qnnrt_desc d = {};
            d.backend_desc.path = "/no/such/libQnnHtp.so";
            return d;
        }());
        is(false, "a library that is not there");
    } catch (const std::exception &e) {
        const auto &err = dynamic_cast<const qnnrt_cpp::error &>(e);
        is(err.code() == QNNRT_E_LIBRARY && err.hint()[0] != '\0' && err.text() == e.what() &&
               err.vendor_code() == 0 && err.all().code == err.code(), "an error has all parts");
    }
}

static void language(const char *folder, const char *library)
{
    qnnrt_desc desc = {};
    desc.backend_desc.path = library;
    {
        qnnrt_manifest_open_desc opening = {};
        opening.model = desc;
        qnnrt_cpp::program program(folder, opening);
        qnnrt_cpp::llm same(program);
        is(same.info().vocabulary == 256 && program.contexts().size() == program.info().context_count &&
               program.pipelines().size() > 0 && !program.info().program, "a folder is a program, too");
        is(code_of([&] { program.prepare("none"); }) == QNNRT_E_NOT_FOUND, "no such pipeline");
    }
    qnnrt_cpp::model model(folder, desc);
    qnnrt_cpp::llm llm(model);
    qnnrt_cpp::llm_session session(llm);
    qnnrt_cpp::llm_cache cache = session.cache();
    qnnrt_cpp::llm_sampler sampler(llm);
    const std::vector<std::int32_t> tokens{ 65, 110, 100, 32 };
    cache.decode(tokens);
    const std::int32_t next = cache.argmax(tokens.size() - 1);
    is(next >= 0 && sampler.sample(cache.codes(tokens.size() - 1)) == next, "greedy is the argmax");
    is(cache.info().used == tokens.size(), "cells are used");
    cache.clear();
    is(cache.info().used == 0, "and free again");
    is(code_of([&] { session.cache(7); }) == QNNRT_E_NOT_FOUND, "no such cache");
    is(code_of([&] { cache.decode(qnnrt_llm_batch{}); }) == QNNRT_E_ARG, "an empty batch");
    is(code_of([&] { llm.close(); }) == QNNRT_E_BUSY, "a language model in use stays open");
}

static void sessions(const char *folder, const char *library)
{
    const qnnrt_engine *engines[QNNRT_ENGINES];
    qnnrt_session_option option = {};
    option.key = "cpu_path";
    option.engine = "qnn";
    option.value = library;
    qnnrt_session_desc desc = {};
    desc.engines = qnnrt_engines_default(engines);
    desc.engine = "qnn";
    desc.device = "cpu";
    desc.options = &option;
    desc.option_count = 1;
    qnnrt_cpp::session session(folder, desc);
    std::vector<float> x{ 1, 2, 3, 4 }, y(2);
    const std::vector<float> fixed{ 0, 0, 0, 1 };
    qnnrt_value in[1] = { qnnrt_cpp::value("x", qnnrt_cpp::span(x), { 1, 4 }) };
    qnnrt_value out[1] = { qnnrt_cpp::value("y", qnnrt_cpp::span(y), { 1, 2 }) };
    session.run(in, out);
    is(y[0] == 30.5f && y[1] == 0.0f, "a session runs");
    is(session.inputs().size() == 1 && session.outputs().size() == 1 &&
           !session.candidates().empty(), "facts of a session");
    {
        qnnrt_cpp::binding binding(session);
        std::string text;
        is(code_of([&] { binding.run(); }, &text) == QNNRT_E_STATE &&
               text.find('x') != std::string::npos, "an input that is missing");
        binding.input(qnnrt_cpp::value("x", qnnrt_cpp::span(fixed), { 1, 4 }));
        binding.output(out[0]);
        binding.run();
        is(y[0] == 4.5f && binding.get("y").data == y.data(), "a binding");
        is(code_of([&] { session.close(); }) == QNNRT_E_BUSY, "a session in use stays open");
        is(code_of([&] { binding.get("z"); }) == QNNRT_E_NOT_FOUND, "no such output");
    }
    {
        qnnrt_cpp::binding from(session), to(std::move(from)), none;
        qnnrt_cpp::session empty;
        is(code_of([&] { from.run(); }) == QNNRT_E_ARG && code_of([&] { none.run(); }) == QNNRT_E_ARG,
           "a binding that was moved, or is none");
        is(code_of([&] { empty.run(in, out); }) == QNNRT_E_ARG, "a session that is none");
    }
    in[0].rank = 1;
    is(code_of([&] { session.run(in, out); }) == QNNRT_E_MISMATCH, "a wrong shape");
    is(code_of([&] { qnnrt_cpp::session s("/no/such/net.onnx", desc); }) == QNNRT_E_NOT_FOUND,
       "a model that is not there");
    session.close();
}
#endif

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
#ifdef __cpp_exceptions
    spans();
    models(argv[1], argv[2]);
    sessions(argv[1], argv[2]);
    if (argc > 3)
        language(argv[3], argv[2]);
#else
    qnnrt *made = nullptr;
    qnnrt_desc desc = {};
    desc.backend_desc.path = argv[2];
    is(qnnrt_open(argv[1], &desc, &made, nullptr) == QNNRT_OK, "opened in C");
    qnnrt_cpp::model_owner model = qnnrt_cpp::model_owner::adopt(made), other;
    is(model.get() == made && !other, "adopted");
    other = std::move(model);
    is(!model && other, "moved");
#endif
    std::printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
