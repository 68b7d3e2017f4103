import java.io.BufferedReader;
import java.io.FileReader;
import java.io.IOException;
import java.lang.ref.WeakReference;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Arrays;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import qnnrt.Qnnrt;
import qnnrt.QnnrtException;
import qnnrt.QnnrtLlm;

/**
 * The classes of the Android sample app on the desk, on libQnnRef.so. tests/jni/test_jni.sh runs it:
 *
 *   JniTest LIBRARY LAYER_DIR LLM_DIR NUMBERS_DIR BEGIN_DIR LOGITS.raw PROMPT TEXT
 *
 * LAYER_DIR holds the graph of examples/03_compose, y = relu(x * w + 0.5). LLM_DIR holds the trained
 * model, whose tokens are bytes; NUMBERS_DIR (may be "") the same with 300 tokens; BEGIN_DIR the
 * trained model with 'T' as its begin token and 'h' as its end token. LOGITS.raw is what qnnrt-run
 * wrote for the token 'T'. TEXT is what the trained model writes after PROMPT.
 */
public final class JniTest extends Checks {
    private static String library, layer, llm, numbers, begins, logits, prompt, text;

    static native long blocks(boolean all);
    private static native void fail(long which);
    static native long address(ByteBuffer buffer);
    static native String control(String library, String command);
    static native void user(int user);
    static native int most(long bytes);
    static native long execs(String library, long run, int count);

    private static ByteBuffer direct(int bytes) {
        return ByteBuffer.allocateDirect(bytes).order(ByteOrder.nativeOrder());
    }

    private static ByteBuffer floats(float... values) {
        ByteBuffer buffer = direct(4 * values.length);
        buffer.asFloatBuffer().put(values);
        return buffer;
    }

    private static String list(ByteBuffer buffer) {
        float[] values = new float[buffer.remaining() / 4];
        buffer.asFloatBuffer().get(values);
        return Arrays.toString(values);
    }

    private static Qnnrt.Model openLayer() {
        return new Qnnrt.Model(layer, library);
    }

    /* ---- values ------------------------------------------------------------------------------ */

    private static void facts() {
        try (Qnnrt.Model model = openLayer(); Qnnrt.Run run = model.prepare(null)) {
            check("version", Qnnrt.version().matches("0\\.\\d+\\.\\d+"), Qnnrt.version());
            equal("pipelines", "[layer]", model.pipelines().toString());
            equal("tensors", 2, run.tensors().size());
            Qnnrt.Tensor x = run.tensors().get(0), y = run.tensors().get(1);
            equal("tensor_names", "x y", x.name + " " + y.name);
            equal("tensor_roles", "input output", x.role + " " + y.role);
            equal("tensor_text", "float32[1,4]", x.text);
            equal("tensor_bytes_and_count", "16 4", x.bytes + " " + x.count);
            equal("tensor_dims", "[1, 4]", Arrays.toString(x.dims()));
            x.dims()[0] = 7;
            equal("tensor_dims_are_a_copy", 1, x.dims()[0]);
        }
    }

    /** The backend reads and writes the caller's memory: between two execs nothing is bound. */
    private static void noCopies() {
        try (Qnnrt.Model model = openLayer(); Qnnrt.Run run = model.prepare("layer")) {
            ByteBuffer x = floats(1, 2, 3, 4), y = floats(-1, -1, -1, -1);
            run.bind("x", x);
            y.position(4).limit(12);
            run.bind("y", y);
            y.clear();
            run.exec();
            equal("exec_writes_into_the_bound_part", "[-1.0, 30.5, 0.0, -1.0]", list(y));
            x.putFloat(0, 2);
            run.exec();
            equal("exec_reads_the_bound_buffer", "[-1.0, 31.5, 0.0, -1.0]", list(y));
            equal("data_is_the_bound_input", address(x), address(run.data("x")));
            equal("data_is_the_bound_part", address(y) + 4, address(run.data("y")));
            run.data("x").putFloat(0, -100);
            run.exec();
            equal("data_is_a_view", "[-1.0, 0.0, 71.5, -1.0]", list(y));

            ByteBuffer other = floats(0, 0, 0, 1);
            run.bind("x", other);
            x.putFloat(0, 50);
            run.exec();
            equal("a_second_bind_replaces_the_first", "[-1.0, 4.5, 0.0, -1.0]", list(y));
            other.position(16);
            run.exec();
            equal("a_position_that_moves_later_is_ignored", "[-1.0, 4.5, 0.0, -1.0]", list(y));
            run.bind("x", floats(1, 2, 3, 4).asReadOnlyBuffer().order(ByteOrder.nativeOrder()));
            run.exec();
            equal("an_input_may_be_read_only", "[-1.0, 30.5, 0.0, -1.0]", list(y));
            check("data_of_it_is_read_only", run.data("x").isReadOnly(), "it can be written");
        }
    }

    private static void ownMemory() {
        ByteBuffer kept;
        try (Qnnrt.Model model = openLayer(); Qnnrt.Run run = model.prepare(null)) {
            run.write("x", new float[] {1, 2, 3, 4});
            ByteBuffer x = run.data("x");
            equal("data_has_what_the_tensor_held", "[1.0, 2.0, 3.0, 4.0]", list(x));
            check("data_is_direct_and_native", x.isDirect() && x.order() == ByteOrder.nativeOrder(), "");
            equal("data_twice_is_one_memory", address(x), address(run.data("x")));
            run.exec();
            kept = run.data("y");
            run.exec();
            equal("data_without_bind", "[30.5, 0.0]", list(kept));
            equal("read", "[30.5, 0.0]", Arrays.toString(run.read("y")));
            run.write("x", new float[] {5});
            equal("write_of_a_part", "[5.0, 2.0, 3.0, 4.0]", list(x));
        }
        equal("data_outlives_the_run", "[30.5, 0.0]", list(kept));
        kept.putFloat(0, 1);
    }

    /** The C program qnnrt-run wrote the logits of the same token; a quantized model in four shards. */
    private static void sameValues() throws IOException {
        try (Qnnrt.Model model = new Qnnrt.Model(llm, library);
                Qnnrt.Run run = model.prepare("token_ar1_cl128")) {
            byte[] expected = Files.readAllBytes(Paths.get(logits)), found = new byte[expected.length];
            run.bind("input_ids", direct(4).putInt(0, 'T'));
            run.exec();
            run.data("logits").get(found);                   /* bound after the exec */
            run.exec();
            ByteBuffer buffer = run.data("logits");
            check("first_data_of_an_output_has_its_content", Arrays.equals(expected, found), "");
            buffer.get(found);
            check("bytes_equal_those_of_the_c_program", Arrays.equals(expected, found), "");
            float[] values = run.read("logits");
            int best = 0;
            for (int i = 0; i < values.length; ++i) {
                best = values[i] > values[best] ? i : best;
            }
            equal("numbers_too", 'h', (char) best);
        }
    }

    /** The states of a run, whose only one is the last output: its first value in the file is 0. */
    private static float kept(Qnnrt.Run run) {
        byte[] saved = run.saveStates();
        return ByteBuffer.wrap(saved).order(ByteOrder.LITTLE_ENDIAN).getFloat(saved.length - 8);
    }

    private static void states() throws IOException {
        Path folder = Files.createTempDirectory("states"), binary = folder.resolve("layer.bin");
        Path program = folder.resolve("qnnrt.json");
        Files.copy(Paths.get(layer, "layer.bin"), binary);
        Files.write(program, ("{\"program\": {\"version\": 2, \"backends\": [\"cpu\"], \"contexts\": [{\"file\": "
                + "\"layer.bin\", \"backend\": \"cpu\"}], \"pipelines\": [{\"name\": \"layer\", \"steps\": [{\"context\": 0, "
                + "\"graph\": \"layer\"}], \"edges_only\": true, \"states\": [{\"name\": \"last\", \"to\": [], \"from\": "
                + "[0, \"y\"]}]}]}}").getBytes(StandardCharsets.UTF_8));
        try (Qnnrt.Model model = new Qnnrt.Model(folder.toString(), library);
                Qnnrt.Run run = model.prepare(null); Qnnrt.Run other = model.prepare(null)) {
            run.write("x", new float[] { 1, 2, 3, 4 });
            run.exec();
            equal("state_is_kept", 30.5f, kept(run));
            equal("state_belongs_to_a_run", 0f, kept(other));
            byte[] saved = run.saveStates();
            run.resetStates();
            equal("state_is_reset", 0f, kept(run));
            other.restoreStates(saved);
            equal("state_is_restored", 30.5f, kept(other));
            refused("state_of_null", QnnrtException.ARG, "saved", () -> run.restoreStates(null));
            refused("state_of_a_part", QnnrtException.FORMAT, "not a file of states",
                    () -> run.restoreStates(Arrays.copyOf(saved, 7)));
            refused("state_without_its_value", QnnrtException.MISMATCH, "\"last\"",
                    () -> run.restoreStates(Arrays.copyOf(saved, saved.length - 1)));
            equal("state_after_all_this", 0f, kept(run));
        }
        try (Qnnrt.Model model = openLayer(); Qnnrt.Run run = model.prepare(null)) {
            run.resetStates();
            refused("no_states", QnnrtException.NOT_FOUND, "has no states", run::saveStates);
        }
        Files.delete(binary);
        Files.delete(program);
        Files.delete(folder);
    }

    /* ---- misuse ------------------------------------------------------------------------------ */

    private static void wrongArguments() {
        refused("folder_is_null", QnnrtException.ARG, "folder", () -> new Qnnrt.Model(null, library));
        refused("folder_has_a_nul", QnnrtException.ARG, "U+0000", () -> new Qnnrt.Model("a\0b", library));
        refused("folder_does_not_exist", -7, "\u00e9\ud83d\ude00",
                () -> new Qnnrt.Model("/no/\u00e9\ud83d\ude00", library));
        refused("backend_does_not_exist", -5, "/no/libQnnHtp.so", ".",
                () -> new Qnnrt.Model(layer, "/no/libQnnHtp.so"));
        try (Qnnrt.Model model = openLayer(); Qnnrt.Run run = model.prepare(null)) {
            refused("pipeline_does_not_exist", QnnrtException.NOT_FOUND, "\"nothing\"",
                    () -> model.prepare("nothing"));
            refused("model_is_no_language_model", QnnrtException.MISMATCH, "\"x\"", "role table", model::llm);
            refused("tensor_does_not_exist", QnnrtException.NOT_FOUND, "\"z\"",
                    () -> run.bind("z", direct(16)));
            refused("tensor_is_null", QnnrtException.ARG, "name", () -> run.bind(null, direct(16)));
            refused("data_of_null", QnnrtException.ARG, "name", () -> run.data(null));
            refused("name_has_a_nul", QnnrtException.ARG, "U+0000", () -> run.data("x\0"));
            refused("name_is_half_a_character", QnnrtException.NOT_FOUND, "?", () -> run.data("\ud83d"));
            refused("buffer_is_null", QnnrtException.ARG, "\"x\"", () -> run.bind("x", null));
            refused("buffer_in_the_heap", QnnrtException.ARG, "heap", "buffer",
                    () -> run.bind("x", ByteBuffer.allocate(16).order(ByteOrder.nativeOrder())));
            refused("buffer_of_another_order", QnnrtException.ARG, "BIG_ENDIAN", "nativeOrder",
                    () -> run.bind("x", ByteBuffer.allocateDirect(16).order(ByteOrder.BIG_ENDIAN)));
            refused("buffer_of_an_output_is_read_only", QnnrtException.ARG, "output", "written",
                    () -> run.bind("y", direct(8).asReadOnlyBuffer().order(ByteOrder.nativeOrder())));
            refused("buffer_is_too_small", QnnrtException.MISMATCH, "15",
                    () -> run.bind("x", direct(15)));
            ByteBuffer end = direct(32);
            end.position(17);
            refused("buffer_is_too_small_from_its_position", QnnrtException.MISMATCH, "15",
                    () -> run.bind("x", end));
            refused("buffer_is_empty", QnnrtException.MISMATCH, "16", () -> run.bind("x", direct(0)));
            refused("values_are_null", QnnrtException.ARG, "values", () -> run.write("x", null));
            refused("too_many_values", QnnrtException.MISMATCH, "5", () -> run.write("x", new float[5]));
            run.bind("x", floats(1, 2, 3, 4).asReadOnlyBuffer().order(ByteOrder.nativeOrder()));
            refused("write_into_a_read_only_buffer", QnnrtException.ARG, "read-only",
                    () -> run.write("x", new float[4]));
            run.exec();
            equal("after_all_this_it_runs", "[30.5, 0.0]", Arrays.toString(run.read("y")));
            try {
                run.tensors().clear();
                check("tensors_cannot_be_changed", false, "they can");
            } catch (UnsupportedOperationException expected) {
                check("tensors_cannot_be_changed", true, "");
            }
        }
    }

    private static void closedObjects() {
        Qnnrt.Model model = openLayer();
        Qnnrt.Run run = model.prepare(null);
        refused("model_closes_after_its_runs", QnnrtException.BUSY, "Run", "first", model::close);
        run.bind("x", floats(1, 2, 3, 4));
        run.exec();
        equal("a_refused_close_closes_nothing", "[30.5, 0.0]", Arrays.toString(run.read("y")));
        run.close();
        run.close();
        refused("closed_run_exec", QnnrtException.STATE, "closed", run::exec);
        refused("closed_run_bind", QnnrtException.STATE, "closed", () -> run.bind("x", direct(16)));
        refused("closed_run_data", QnnrtException.STATE, "closed", () -> run.data("x"));
        refused("closed_run_read", QnnrtException.STATE, "closed", () -> run.read("x"));
        refused("closed_run_write", QnnrtException.STATE, "closed", () -> run.write("x", new float[1]));
        equal("closed_run_keeps_its_facts", "x", run.tensors().get(0).name);
        model.close();
        model.close();
        refused("closed_model_prepare", QnnrtException.STATE, "closed", () -> model.prepare(null));
        refused("closed_model_pipelines", QnnrtException.STATE, "closed", model::pipelines);
        refused("closed_model_llm", QnnrtException.STATE, "closed", model::llm);

        Qnnrt.Model words = new Qnnrt.Model(llm, library);
        QnnrtLlm writer = words.llm();
        refused("model_closes_after_its_llm", QnnrtException.BUSY, "Llm", words::close);
        writer.close();
        writer.close();
        words.close();
        refused("closed_llm_generate", QnnrtException.STATE, "closed",
                () -> writer.generate("a", 1, piece -> { }));
        refused("closed_llm_sampling", QnnrtException.STATE, "closed",
                () -> writer.sampling(1, 0, 0, 0));
        writer.stop();
    }

    /** The run holds the buffers: they are collected when they are not bound any more. */
    private static void collected() {
        Qnnrt.Model model = openLayer();
        Qnnrt.Run run = model.prepare(null);
        ByteBuffer x = floats(1, 2, 3, 4), y = direct(8);
        WeakReference<ByteBuffer> first = new WeakReference<>(x), output = new WeakReference<>(y);
        run.bind("x", x);
        run.bind("y", y);
        x = null;
        y = null;
        System.gc();
        ByteBuffer[] filler = new ByteBuffer[200];
        for (int i = 0; i < filler.length; ++i) {
            filler[i] = floats(9, 9, 9, 9);
        }
        check("a_bound_buffer_is_kept", first.get() != null && output.get() != null, "collected");
        run.exec();
        equal("the_backend_reads_it", "[30.5, 0.0]", list(run.data("y")));
        run.bind("x", floats(0, 0, 0, 0));
        System.gc();
        check("a_buffer_that_is_bound_no_more_is_free", first.get() == null, "kept");
        run.close();
        model.close();
    }

    /** A second thread is refused while the first one executes. */
    private static void twoThreads() throws InterruptedException {
        try (Qnnrt.Model model = openLayer(); Qnnrt.Run run = model.prepare(null);
                Qnnrt.Run other = model.prepare(null)) {
            final AtomicInteger busy = new AtomicInteger(), wrong = new AtomicInteger();
            final AtomicBoolean seen = new AtomicBoolean();
            run.bind("x", floats(1, 2, 3, 4));
            other.bind("x", floats(0, 0, 0, 1));
            control(library, "faults delay=graphExecute:1ms");
            Runnable work = () -> {
                for (int i = 0; i < 100000 && !seen.get(); ++i) {
                    try {
                        run.exec();
                    } catch (QnnrtException thrown) {
                        (thrown.code == QnnrtException.BUSY ? busy : wrong).incrementAndGet();
                        seen.set(true);
                    }
                }
            };
            Thread[] threads = {new Thread(work), new Thread(work)};
            for (Thread thread : threads) {
                thread.start();
            }
            for (Thread thread : threads) {
                thread.join();
            }
            check("two_threads_on_one_run", busy.get() > 0 && wrong.get() == 0,
                    busy + " were refused, " + wrong + " failed otherwise");
            threads[0] = new Thread(() -> repeat(run, wrong));
            threads[1] = new Thread(() -> repeat(other, wrong));
            for (Thread thread : threads) {
                thread.start();
            }
            for (Thread thread : threads) {
                thread.join();
            }
            control(library, "faults");
            equal("two_runs_on_two_threads", "0 [30.5, 0.0] [4.5, 0.0]", wrong + " "
                    + Arrays.toString(run.read("y")) + " " + Arrays.toString(other.read("y")));
        }
    }

    private static void repeat(Qnnrt.Run run, AtomicInteger wrong) {
        try {
            for (int i = 0; i < 20; ++i) {
                run.exec();
            }
        } catch (QnnrtException thrown) {
            wrong.incrementAndGet();
        }
    }

    private static void vendorFailure() {
        try (Qnnrt.Model model = openLayer(); Qnnrt.Run run = model.prepare(null)) {
            control(library, "faults fail=graphExecute:1:0x1770");
            try {
                run.exec();
                check("vendor_failure", false, "threw nothing");
            } catch (QnnrtException thrown) {
                equal("vendor_failure", "-10 1770", thrown.code + " "
                        + Long.toHexString(thrown.vendorCode & 0xFFFF));
                check("vendor_failure_names_the_graph", thrown.getMessage().contains("layer"),
                        thrown.getMessage());
            }
            control(library, "faults");
            run.exec();
        }
    }

    private interface Opening {
        AutoCloseable open() throws Exception;
    }

    /** Let each allocation of a call fail in turn, until the call needs no more of them. */
    private static void eachFails(String name, Opening opening) throws Exception {
        final long before = blocks(false);
        AutoCloseable opened = null;
        int failures = 0;
        for (; opened == null; ++failures) {
            fail(failures + 1);
            try {
                opened = opening.open();
            } catch (QnnrtException thrown) {
                fail(0);
                if (thrown.code != -2 || blocks(false) != before) {
                    check(name + "_out_of_memory", false, "allocation " + failures + " of it failed: "
                            + (blocks(false) - before) + " blocks are left after " + thrown);
                    return;
                }
            }
        }
        fail(0);
        opened.close();
        check(name + "_out_of_memory", failures > 1, "nothing was allocated");
    }

    private static void outOfMemory() throws Exception {
        eachFails("open", JniTest::openLayer);
        try (Qnnrt.Model model = openLayer()) {
            eachFails("prepare", () -> model.prepare(null));
            try (Qnnrt.Run run = model.prepare(null)) {
                eachFails("name", () -> {
                    run.data("x");
                    return run.data("y").isDirect() ? () -> { } : null;
                });
            }
        }
        try (Qnnrt.Model model = new Qnnrt.Model(llm, library)) {
            eachFails("llm", model::llm);
        }
    }

    /** After a restart of the DSP all calls fail until the model is recovered. */
    private static void recovers() throws InterruptedException {
        try (Qnnrt.Model model = openLayer(); Qnnrt.Run run = model.prepare(null);
                Qnnrt.Model other = new Qnnrt.Model(llm, library); QnnrtLlm writer = other.llm()) {
            run.bind("x", floats(1, 2, 3, 4));
            control(library, "faults restart=graphExecute:1");
            for (int i = 0; i < 2; ++i) {
                try {
                    run.exec();
                    check("restart_" + i, false, "threw nothing");
                } catch (QnnrtException thrown) {
                    check("restart_" + i, thrown.isRestart(), thrown.getMessage());
                    check("restart_hint_" + i, thrown.hint.contains("recover"), thrown.hint);
                }
            }
            model.recover();
            run.exec();
            equal("recovered", "[30.5, 0.0]", Arrays.toString(run.read("y")));
            other.recover();
            control(library, "faults restart=graphExecute:9");
            StringBuilder found = new StringBuilder();
            try {
                writer.generate(prompt, 9, found::append);
                check("restart_while_it_writes", false, "threw nothing");
            } catch (QnnrtException thrown) {
                check("restart_while_it_writes", thrown.isRestart(), thrown.getMessage());
            }
            refused("recover_in_a_listener", QnnrtException.BUSY, "in use", "returned", () -> {
                other.recover();
                writer.generate(prompt, 1, piece -> other.recover());
            });
            found.setLength(0);
            writer.generate(prompt, 9, found::append);
            equal("recovered_it_writes", text.substring(0, 9), found.toString());
            control(library, "faults restart=graphExecute:9");
            found.setLength(0);
            QnnrtLlm.Answer answer = writer.text(prompt, 9, found::append).recover(1).run();
            equal("recovered_within_an_answer", "most 1 " + text.substring(0, 9), answer.stopped
                    + " " + answer.recoveries + " " + found);
            try (Qnnrt.Run idle = other.prepare("token_ar1_cl128");
                    QnnrtLlm shared = other.llm(Qnnrt.Memory.MEMFD)) {
                equal("memory_of_a_language_model", "memfd ", shared.memory() + " "
                        + shared.whyNotShared());
                control(library, "faults restart=graphExecute:9");
                found.setLength(0);
                shared.text(prompt, 9, found::append).recover(3).run();
                equal("recovered_beside_a_run", text.substring(0, 9), found.toString());
                idle.exec();
            }
            control(library, "faults");
        }
        Qnnrt.Model model = openLayer();
        model.close();
        refused("closed_model_recover", QnnrtException.STATE, "closed", model::recover);
    }

    /* ---- language models --------------------------------------------------------------------- */

    private static void writes() {
        try (Qnnrt.Model model = new Qnnrt.Model(llm, library); QnnrtLlm writer = model.llm()) {
            StringBuilder found = new StringBuilder();
            AtomicInteger pieces = new AtomicInteger();
            QnnrtLlm.Answer answer = writer.generate(prompt, text.length(), piece -> {
                pieces.incrementAndGet();
                found.append(piece);
            });
            equal("text_of_expected_json", text, found.toString());
            equal("text_streams", text.length(), pieces.get());
            equal("answer", "most " + prompt.length() + " " + text.length(), answer.stopped + " "
                    + answer.promptTokens + " " + answer.tokens);
            check("answer_times", answer.promptNanos > 0 && answer.writeNanos > 0, "not above 0");
            found.setLength(0);
            writer.generate(prompt, 5, found::append);
            equal("a_second_text_begins_anew", text.substring(0, 5), found.toString());

            int[] tokens = new int[prompt.length()];
            for (int i = 0; i < tokens.length; ++i) {
                tokens[i] = prompt.charAt(i);
            }
            found.setLength(0);
            writer.generate(tokens, 5, token -> found.append((char) token));
            equal("token_numbers", text.substring(0, 5), found.toString());

            equal("nothing_to_write", "most 17 0", facts(writer.generate(prompt.substring(0, 17), 0,
                    piece -> { })));
            equal("until_the_memory_is_full", "full 23 105", facts(writer.generate(prompt, 1000,
                    piece -> { })));
            char[] many = new char[200];
            Arrays.fill(many, 'a');
            refused("prompt_is_too_long", QnnrtException.LIMIT, "",
                    () -> writer.generate(new String(many), 1, piece -> { }));
            refused("prompt_is_empty", QnnrtException.ARG, "prompt",
                    () -> writer.generate("", 1, piece -> { }));
            refused("prompt_is_null", QnnrtException.ARG, "prompt",
                    () -> writer.generate((String) null, 1, piece -> { }));
            refused("tokens_are_null", QnnrtException.ARG, "prompt",
                    () -> writer.generate((int[]) null, 1, token -> { }));
            refused("listener_is_null", QnnrtException.ARG, "listener",
                    () -> writer.generate("a", 1, (QnnrtLlm.Text) null));
            refused("tokens_listener_is_null", QnnrtException.ARG, "listener",
                    () -> writer.generate(new int[] {1}, 1, null));
            refused("token_is_out_of_range", QnnrtException.ARG, "256",
                    () -> writer.generate(new int[] {256}, 1, token -> { }));
            refused("token_is_negative", QnnrtException.ARG, "-1",
                    () -> writer.generate(new int[] {-1}, 1, token -> { }));
            refused("top_k_is_negative", QnnrtException.ARG, "-1",
                    () -> writer.sampling(1, -1, 0, 0));
            refused("top_p_is_negative", QnnrtException.ARG, "top_p",
                    () -> writer.sampling(1, 0, -1, 0));
            refused("temperature_is_nan", QnnrtException.ARG, "temperature",
                    () -> writer.sampling(Float.NaN, 0, 0, 0));
            found.setLength(0);
            writer.generate(prompt, 5, found::append);
            equal("after_all_this_it_writes", text.substring(0, 5), found.toString());

            String[] drawn = new String[3];
            for (int i = 0; i < drawn.length; ++i) {
                found.setLength(0);
                writer.sampling(2, 0, 0, i / 2);
                writer.generate(prompt, 40, found::append);
                drawn[i] = found.toString();
            }
            equal("one_seed_draws_one_text", drawn[0], drawn[1]);
            check("another_seed_draws_another", !drawn[0].equals(drawn[2]), drawn[0]);
            writer.sampling(0, 0, 0, 0);
            found.setLength(0);
            writer.generate(prompt, 5, found::append);
            equal("no_temperature_is_greedy", text.substring(0, 5), found.toString());
        }
    }

    private static String facts(QnnrtLlm.Answer answer) {
        return answer.stopped + " " + answer.promptTokens + " " + answer.tokens;
    }

    private static void stops() throws InterruptedException {
        try (Qnnrt.Model model = new Qnnrt.Model(llm, library); QnnrtLlm writer = model.llm()) {
            CountDownLatch begun = new CountDownLatch(1), asked = new CountDownLatch(1);
            AtomicInteger refused = new AtomicInteger();
            Thread thread = new Thread(() -> {
                try {
                    begun.await();
                    try {
                        writer.generate("a", 1, piece -> { });
                    } catch (QnnrtException thrown) {
                        refused.set(thrown.code);
                    }
                    writer.stop();
                } catch (InterruptedException thrown) {
                    refused.set(1);
                }
                asked.countDown();
            });
            thread.start();
            QnnrtLlm.Answer answer = writer.generate(prompt, 60, piece -> {
                begun.countDown();
                try {
                    asked.await();
                } catch (InterruptedException thrown) {
                    throw new IllegalStateException(thrown);
                }
            });
            thread.join();
            equal("stop_from_another_thread", "stopped 23 1", facts(answer));
            equal("a_second_thread_is_refused", QnnrtException.BUSY, refused.get());
            equal("the_next_text_is_not_stopped", "most 23 3", facts(writer.generate(prompt, 3,
                    piece -> { })));

            /* A prompt of four steps; the thread asks all the time, and must be heard once. */
            AtomicBoolean done = new AtomicBoolean();
            Thread asks = new Thread(() -> {
                while (!done.get()) {
                    writer.stop();
                }
            });
            char[] words = new char[100];
            Arrays.fill(words, 'a');
            control(library, "faults delay=graphExecute:1ms");
            asks.start();
            int least = 100;
            for (int i = 0; i < 1000 && least == 100; ++i) {
                least = writer.generate(new String(words), 0, piece -> { }).promptTokens;
            }
            done.set(true);
            asks.join();
            control(library, "faults");
            check("stop_while_it_reads_the_prompt", least % 32 == 0,
                    least + " tokens read");

            AtomicInteger pieces = new AtomicInteger();
            try {
                writer.generate(prompt, 60, piece -> {
                    if (pieces.incrementAndGet() == 4) {
                        throw new IllegalStateException("enough");
                    }
                });
                check("a_listener_throws", false, "nothing came through");
            } catch (IllegalStateException thrown) {
                equal("a_listener_throws", "enough 4", thrown.getMessage() + " " + pieces);
            }
            Runnable closes = writer::close;
            refused("a_listener_generates", QnnrtException.BUSY, "use",
                    () -> writer.generate(prompt, 2, piece -> writer.generate("a", 1, more -> { })));
            refused("a_listener_closes", QnnrtException.BUSY, "use",
                    () -> writer.generate(prompt, 2, piece -> closes.run()));
            equal("after_all_this_it_writes", "most 23 3", facts(writer.generate(prompt, 3,
                    piece -> { })));
        }
    }

    private static void otherTokens() {
        if (!numbers.isEmpty()) {
            notBytes();
        }
        try (Qnnrt.Model model = new Qnnrt.Model(begins, library); QnnrtLlm writer = model.llm()) {
            equal("begin_and_end_tokens", "end token 1 0", facts(writer.generate("", 9, piece -> { })));
        }
    }

    private static void notBytes() {
        try (Qnnrt.Model model = new Qnnrt.Model(numbers, library); QnnrtLlm writer = model.llm()) {
            equal("vocabulary", 300, writer.vocabulary);
            refused("tokens_that_are_not_bytes", QnnrtException.UNSUPPORTED, "tokens", "tokenizer",
                    () -> writer.generate("a", 1, piece -> { }));
            AtomicInteger count = new AtomicInteger();
            writer.generate(new int[] {1, 2, 3}, 4, token -> count.incrementAndGet());
            equal("numbers_come_one_by_one", 4, count.get());
        }
    }

    /** Bytes become characters as soon as they are whole; what is not UTF-8 is replaced. */
    private static void characters() throws ReflectiveOperationException {
        Class<?> type = Class.forName("qnnrt.QnnrtLlm$Characters");
        java.lang.reflect.Constructor<?> make = type.getDeclaredConstructor(QnnrtLlm.Text.class);
        java.lang.reflect.Method add = type.getDeclaredMethod("token", int.class);
        java.lang.reflect.Method end = type.getDeclaredMethod("end");
        make.setAccessible(true);
        add.setAccessible(true);
        end.setAccessible(true);
        int[][] cases = {{'a', 0xC3, 0xA9, 'b'}, {0xF0, 0x9F, 0x98, 0x80}, {0xC3}, {0xFF, 'a'},
            {0xE2, 0x82, 'x'}, {0xF0, 0x9F, 0x98}, {0x80, 0x80, 0x80}};
        String[] expected = {"a||\u00e9|b|", "|||\ud83d\ude00|", "|\ufffd", "\ufffd|a|",
            "||\ufffdx|", "|||\ufffd", "\ufffd|\ufffd|\ufffd|"};
        for (int i = 0; i < cases.length; ++i) {
            StringBuilder found = new StringBuilder();
            QnnrtLlm.Text listener = found::append;
            Object characters = make.newInstance(listener);
            for (int value : cases[i]) {
                add.invoke(characters, value);
                found.append('|');
            }
            end.invoke(characters);
            equal("characters_" + i, expected[i], found.toString());
        }
    }

    /* ---- memory ------------------------------------------------------------------------------ */

    /** What a leak would make grow: blocks of memory, mappings, files, and kilobytes in use. */
    private static long[] measure() throws IOException {
        long maps = 0, rss = 0;
        String line;
        for (int i = 0; i < 3; ++i) {             /* buffers that nobody has any more */
            System.gc();
            try {
                Thread.sleep(20);
            } catch (InterruptedException thrown) {
                throw new IllegalStateException(thrown);
            }
            Qnnrt.trim();
        }
        try (BufferedReader reader = new BufferedReader(new FileReader("/proc/self/maps"))) {
            while (reader.readLine() != null) {
                ++maps;
            }
        }
        try (BufferedReader reader = new BufferedReader(new FileReader("/proc/self/status"))) {
            while ((line = reader.readLine()) != null) {
                if (line.startsWith("VmRSS:")) {
                    rss = Long.parseLong(line.replaceAll("[^0-9]", ""));
                }
            }
        }
        return new long[] {blocks(false), maps, new java.io.File("/proc/self/fd").list().length, rss};
    }

    private static void cycle(ByteBuffer x) {
        try (Qnnrt.Model model = openLayer(); Qnnrt.Run run = model.prepare(null)) {
            run.bind("x", x);
            ByteBuffer y = run.data("y");
            run.exec();
            if (y.getFloat(0) != 30.5f) {
                throw new IllegalStateException("y is " + y.getFloat(0));
            }
            try {
                run.bind("x", null);
                throw new IllegalStateException("a null was bound");
            } catch (QnnrtException expected) {
                x.position(0);
            }
        }
    }

    private static void flat() throws IOException {
        ByteBuffer x = floats(1, 2, 3, 4);
        long[] early = null, late;
        long made = 0;
        for (int i = 0; i < 1000; ++i) {
            if (i == 200) {
                early = measure();
                made = blocks(true);
            }
            cycle(x);
        }
        late = measure();
        System.out.println("800 models opened, run and closed: " + (blocks(true) - made)
                + " blocks allocated, " + (late[0] - early[0]) + " more in use; " + (late[1] - early[1])
                + " mappings, " + (late[2] - early[2]) + " files, " + (late[3] - early[3])
                + " kB resident more");
        check("blocks_are_counted", blocks(true) - made >= 800 * 10, (blocks(true) - made) + " blocks");
        equal("blocks_are_flat", early[0], late[0]);
        check("files_are_flat", late[2] <= early[2], (late[2] - early[2]) + " more");
        check("mappings_are_flat", late[1] - early[1] < 800, (late[1] - early[1]) + " more");
        /* The virtual machine itself grows by less than 1 MB; a page per model would be 3200 kB. */
        check("resident_memory_is_flat", late[3] - early[3] < 800 * 4, (late[3] - early[3]) + " kB more");
    }

    public static void main(String[] arguments) {
        library = arguments[0];
        layer = arguments[1];
        llm = arguments[2];
        numbers = arguments[3];
        begins = arguments[4];
        logits = arguments[5];
        prompt = arguments[6];
        text = arguments[7];
        System.loadLibrary("probe");
        part("facts", JniTest::facts);
        part("no_copies", JniTest::noCopies);
        part("own_memory", JniTest::ownMemory);
        part("same_values", JniTest::sameValues);
        part("states", JniTest::states);
        part("wrong_arguments", JniTest::wrongArguments);
        part("closed_objects", JniTest::closedObjects);
        part("collected", JniTest::collected);
        part("two_threads", JniTest::twoThreads);
        part("vendor_failure", JniTest::vendorFailure);
        part("out_of_memory", JniTest::outOfMemory);
        part("recovers", JniTest::recovers);
        part("writes", JniTest::writes);
        part("stops", JniTest::stops);
        part("other_tokens", JniTest::otherTokens);
        part("characters", JniTest::characters);
        part("flat", JniTest::flat);
        part("measure", JniTest::measure);
        equal("no_block_is_in_use", 0L, blocks(false));
        equal("nothing_of_the_backend_is_alive", "", control(library, "ledger"));
        System.exit(end());
    }
}
