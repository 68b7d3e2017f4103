import java.io.FileDescriptor;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.lang.reflect.Field;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import qnnrt.Qnnrt;
import qnnrt.QnnrtException;

/**
 * Options, memory and files of the Android layer on the desk, on libQnnRef.so. test_jni.sh runs it:
 *
 *   OptionsTest LIBRARY LAYER_DIR LLM_DIR WORK_DIR SHARED
 *   OptionsTest bench LIBRARY LAYER_DIR LIBRARY_OF_THE_LAYER
 *
 * Beside WORK_DIR, the folder optional has the graph of optional.c. SHARED is the memory that
 * Memory.SHARED is here: "memfd", or "rpcmem" where a libcdsprpc.so is found.
 */
public final class OptionsTest extends Checks {
    private static String library, layer, llm, shared;
    private static Path work;

    private static Qnnrt.Options options() {
        return new Qnnrt.Options().backend(library);
    }

    private static void put(ByteBuffer x, float... values) {
        x.asFloatBuffer().put(values);
    }

    private static String list(ByteBuffer buffer) {
        float[] values = new float[buffer.remaining() / 4];
        buffer.asFloatBuffer().get(values);
        return Arrays.toString(values);
    }

    /** The layer computes what it should. */
    private static void runs(String name, Qnnrt.Model model) {
        try (Qnnrt.Run run = model.prepare(null)) {
            put(run.data("x"), 1, 2, 3, 4);
            run.exec();
            equal(name, "[30.5, 0.0]", list(run.data("y")));
        }
    }

    /* ---- memory ------------------------------------------------------------------------------ */

    private static void sharedMemory() {
        ByteBuffer x, y;
        try (Qnnrt.Model model = new Qnnrt.Model(layer, options().memory(Qnnrt.Memory.SHARED));
                Qnnrt.Run run = model.prepare(null)) {
            equal("shared_memory", shared, run.memory());
            equal("shared_why", "", run.whyNotShared());
            x = run.data("x");
            y = run.data("y");
            put(x, 1, 2, 3, 4);
            run.exec();
            equal("shared_exec", "[30.5, 0.0]", list(y));
            check("shared_is_not_copied", run.whyCopied("x") == null && run.whyCopied("y") == null,
                    run.whyCopied("x") + ", " + run.whyCopied("y"));
            equal("shared_is_aligned", 0L, (JniTest.address(x) | JniTest.address(y)) & 63);
            equal("shared_twice", JniTest.address(x), JniTest.address(run.data("x")));
            ByteBuffer other = Qnnrt.buffer(16);
            equal("buffer_is_aligned", 0L, JniTest.address(other) & 63);
            equal("buffer_order", ByteOrder.nativeOrder(), other.order());
            put(other, 0, 0, 0, 1);
            run.bind("x", other);
            run.exec();
            equal("bound_exec", "[4.5, 0.0]", list(y));
            check("a_bound_buffer_is_copied", run.whyCopied("x") != null, "it says that it is not");
            run.unbind("x");
            check("unbound_is_not_copied", run.whyCopied("x") == null, run.whyCopied("x"));
            run.exec();
            equal("unbound_exec", "[30.5, 0.0]", list(y));
        }
        for (int i = 0; i < 5; ++i) {
            System.gc();
            Qnnrt.trim();
        }
        equal("views_outlive_run_and_model", "[30.5, 0.0]", list(y));
        put(x, 5, 6, 7, 8);
        equal("and_can_be_written", "[5.0, 6.0, 7.0, 8.0]", list(x));
    }

    private static void plainMemory() {
        try (Qnnrt.Model model = new Qnnrt.Model(layer, options())) {
            try (Qnnrt.Run run = model.prepare(null)) {
                equal("plain_memory", "heap", run.memory());
                check("plain_is_copied", run.whyCopied("x") != null, "it says that it is not");
                equal("plain_is_aligned", 0L, JniTest.address(run.data("x")) & 63);
                equal("plain_was_not_asked_to_share", "", run.whyNotShared());
                run.write("x", 1, new float[] {2});
                float[] two = new float[2];
                run.read("x", 1, two);
                equal("part", "[2.0, 0.0]", Arrays.toString(two));
                refused("part_is_out_of_range", QnnrtException.MISMATCH, "",
                        () -> run.read("x", 3, two));
                refused("begin_is_negative", QnnrtException.MISMATCH, "", () -> run.read("x", -1, two));
                refused("whole_numbers_of_floats", QnnrtException.UNSUPPORTED, "",
                        () -> run.write("x", 0, new int[1]));
                equal("dims", "[1, 4]", Arrays.toString(run.dims("x")));
                refused("dims_do_not_change", QnnrtException.MISMATCH, "", () -> run.setDims("x", 1, 3));
                refused("required_is_not_left_out", QnnrtException.ARG, "", () -> run.omit("x"));
            }
            try {
                model.prepare(null, Qnnrt.Memory.DMABUF).close();
                check("dmabuf", new java.io.File("/dev/dma_heap/system").canRead(), "where from?");
            } catch (QnnrtException thrown) {
                check("dmabuf", thrown.getMessage().contains("dma_heap"), thrown.getMessage());
            }
            try (Qnnrt.Run run = model.prepare(null, Qnnrt.Memory.MEMFD)) {
                equal("memfd", "memfd", run.memory());
            }
            refused("memory_is_null", QnnrtException.ARG, "memory", () -> model.prepare(null, null));
            refused("buffer_is_negative", QnnrtException.ARG, "-1", () -> Qnnrt.buffer(-1));
        }
        try (Qnnrt.Model model = new Qnnrt.Model(llm, options().memory(Qnnrt.Memory.SHARED));
                Qnnrt.Run run = model.prepare("token_ar1_cl128")) {
            run.write("input_ids", 0, new int[] {'T'});
            int[] codes = new int[1];
            run.read("input_ids", 0, codes);
            equal("whole_numbers", (int) 'T', codes[0]);
            run.exec();
            float[] logits = run.read("logits");
            int best = 0;
            for (int i = 0; i < logits.length; ++i) {
                best = logits[i] > logits[best] ? i : best;
            }
            equal("shards_in_shared_memory", 'h', (char) best);
        }
    }

    /* ---- opening ----------------------------------------------------------------------------- */

    private static void progress() {
        List<String> said = new ArrayList<>();
        try (Qnnrt.Model model = new Qnnrt.Model(llm, options().progress((done, count, file) -> {
            said.add(done + "/" + count + (file.isEmpty() ? "" : " " + !file.contains("/")));
            return true;
        }))) {
            equal("progress_of_shards", 4, model.contexts().size());
            equal("progress", "[0/4 true, 1/4 true, 2/4 true, 3/4 true, 4/4]", said.toString());
        }
        long before = JniTest.blocks(false);
        Random random = new Random(1);
        int ended = 0;
        for (int i = 0; i < 200; ++i) {
            int when = random.nextInt(5);
            try {
                new Qnnrt.Model(llm, options().progress((done, count, file) -> done != when)).close();
                check("it_opened", false, "although it was cancelled at " + when);
            } catch (QnnrtException thrown) {
                ended += thrown.code == QnnrtException.CANCELLED ? 1 : 0;
            }
        }
        equal("cancelled", 200, ended);
        equal("cancelled_leaves_no_block", before, JniTest.blocks(false));
        try {
            new Qnnrt.Model(layer, options().log(Qnnrt.Level.DEBUG, (level, part, code, text) -> { })
                    .progress((done, count, file) -> {
                        throw new IllegalStateException("enough");
                    })).close();
            check("progress_throws", false, "it opened");
        } catch (IllegalStateException thrown) {
            equal("progress_throws", "enough", thrown.getMessage());
        }
        equal("what_threw_leaves_no_block", before, JniTest.blocks(false));
    }

    private static void log() {
        AtomicInteger all = new AtomicInteger(), errors = new AtomicInteger();
        try (Qnnrt.Model model = new Qnnrt.Model(layer, options().log(Qnnrt.Level.DEBUG,
                (level, part, code, text) -> {
                    all.incrementAndGet();
                    throw new IllegalStateException(part + text);
                }))) {
            runs("a_log_that_throws", model);
        }
        check("log_lines", all.get() > 0, "none");
        try (Qnnrt.Model model = new Qnnrt.Model(layer, options().log(Qnnrt.Level.ERROR,
                (level, part, code, text) -> errors.incrementAndGet()))) {
            runs("a_log_of_errors", model);
        }
        equal("log_by_level", 0, errors.get());
    }

    private static int number(RandomAccessFile file) throws ReflectiveOperationException, IOException {
        Field field = FileDescriptor.class.getDeclaredField("fd");
        field.setAccessible(true);
        return field.getInt(file.getFD());
    }

    private static void files() throws Exception {
        byte[] binary = Files.readAllBytes(Paths.get(layer, "layer.bin"));
        Path asset = work.resolve("app.apk");
        int lead = 3 * 4096 + 100;
        byte[] packed = new byte[lead + binary.length + 50];
        System.arraycopy(binary, 0, packed, lead, binary.length);
        Files.write(asset, packed);
        int closed;
        try (RandomAccessFile file = new RandomAccessFile(asset.toFile(), "r")) {
            int fd = closed = number(file);
            List<String> said = new ArrayList<>();
            try (Qnnrt.Model model = new Qnnrt.Model(null, options().file("layer.bin", fd, lead,
                    binary.length).progress((done, count, name) -> said.add(done + "/" + count)))) {
                runs("an_asset", model);
                equal("an_asset_has_progress", "[0/1, 1/1]", said.toString());
                try (Qnnrt.Run run = model.prepare(null, Qnnrt.Memory.SHARED)) {
                    put(run.data("x"), 1, 2, 3, 4);
                    JniTest.control(library, "faults restart=graphExecute:1");
                    try {
                        run.exec();
                        check("restart", false, "threw nothing");
                    } catch (QnnrtException thrown) {
                        check("restart", thrown.isRestart(), thrown.getMessage());
                    }
                    model.recover();
                    JniTest.control(library, "faults");
                    run.exec();
                    equal("an_asset_recovers", "[30.5, 0.0]", list(run.data("y")));
                }
            }
            refused("an_asset_at_a_wrong_place", QnnrtException.FORMAT, "layer.bin",
                    () -> new Qnnrt.Model(null, options().file("layer.bin", fd, 0, binary.length)));
            refused("beyond_the_file", QnnrtException.IO, "bytes", () -> new Qnnrt.Model(null,
                    options().file("layer.bin", fd, lead, packed.length)));
            refused("a_negative_place", QnnrtException.IO, "-1", () -> new Qnnrt.Model(null,
                    options().file("layer.bin", fd, -1, 1)));
            refused("a_folder_and_files", QnnrtException.ARG, "files", () -> new Qnnrt.Model(layer,
                    options().file("layer.bin", fd, lead, binary.length)));
        }
        refused("a_closed_descriptor", QnnrtException.IO, "descriptor",
                () -> new Qnnrt.Model(null, options().file("layer.bin", closed, lead, -1)));
        refused("a_negative_descriptor", QnnrtException.ARG, "-1", () -> options().file("a", -1, 0, 1));
        refused("neither_folder_nor_files", QnnrtException.ARG, "no files",
                () -> new Qnnrt.Model(null, options()));
        try (FileChannel channel = FileChannel.open(Paths.get(layer, "layer.bin"));
                Qnnrt.Model model = new Qnnrt.Model(null, options().file("layer.bin",
                        channel.map(FileChannel.MapMode.READ_ONLY, 0, binary.length)))) {
            runs("a_file_in_memory", model);
        }
        refused("a_file_in_the_heap", QnnrtException.ARG, "heap",
                () -> options().file("a", ByteBuffer.wrap(binary)));
        try (Qnnrt.Model model = new Qnnrt.Model(null, options().file(layer + "/layer.bin"))) {
            runs("a_path", model);
        }
    }

    private static void roles() throws IOException {
        Path folder = Files.createDirectory(work.resolve("program"));
        Files.copy(Paths.get(layer, "layer.bin"), folder.resolve("a.bin"));
        Files.copy(Paths.get(layer, "layer.bin"), folder.resolve("b.bin"));
        String text = "{ \"program\": { \"version\": 1, \"backends\": [\"npu\", \"mine\"], \"contexts\": ["
                + "{ \"file\": \"a.bin\", \"backend\": \"npu\" },"
                + "{ \"file\": \"b.bin\", \"backend\": \"mine\" SUM } ] } }";
        Files.write(folder.resolve("qnnrt.json"), text.replace("SUM", "").getBytes());
        refused("a_role_without_a_library", QnnrtException.LIBRARY, "mine",
                () -> new Qnnrt.Model(folder.toString(), options()));
        try (Qnnrt.Model model = new Qnnrt.Model(folder.toString(),
                options().backend("mine", library).verify(true))) {
            equal("two_backends", "npu mine", model.contexts().get(0).role + " "
                    + model.contexts().get(1).role);
            check("both_are_loaded", model.contexts().get(1).loaded, "not");
        }
        Files.write(folder.resolve("qnnrt.json"), text.replace("SUM", ", \"sha256\": \""
                + String.join("", java.util.Collections.nCopies(64, "0")) + "\"").getBytes());
        refused("a_wrong_sum", QnnrtException.MISMATCH, "b.bin", () -> new Qnnrt.Model(
                folder.toString(), options().backend("mine", library).verify(true)));
        Files.delete(folder.resolve("b.bin"));
        refused("half_a_pack", QnnrtException.NOT_FOUND, "b.bin", () -> new Qnnrt.Model(
                folder.toString(), options().backend("mine", library)));
    }

    private static void others() {
        refused("a_limit", QnnrtException.LIMIT, "", () -> new Qnnrt.Model(layer,
                options().limit("file_bytes", 10)));
        refused("a_limit_without_a_name", QnnrtException.NOT_FOUND, "limit", () -> new Qnnrt.Model(layer,
                options().limit("nothing", 10)));
        refused("a_limit_too_large", QnnrtException.ARG, "32 bits", () -> new Qnnrt.Model(layer,
                options().limit("files", 1L << 40)));
        refused("a_negative_budget", QnnrtException.ARG, "-1", () -> options().budget(-1));
        try (Qnnrt.Model model = new Qnnrt.Model(llm, options().budget(0));
                Qnnrt.Run run = model.prepare("token_ar1_cl128")) {
            run.write("input_ids", 0, new int[] {'T'});
            run.exec();
            equal("a_budget", 1L, model.contexts().stream().filter(one -> one.loaded).count());
            model.budget(Long.MAX_VALUE);
            run.exec();
            run.exec();
            equal("a_larger_budget", 4L, model.contexts().stream().filter(one -> one.loaded).count());
            model.budget(0);
            equal("no_budget_frees_at_once", 0L, model.contexts().stream().filter(one -> one.loaded).count());
            float[] logits = run.read("logits");
            run.exec();
            check("it_goes_on_after_that", Arrays.equals(logits, run.read("logits")), "with other numbers");
        }
        try (Qnnrt.Model model = new Qnnrt.Model(layer, options().power(Qnnrt.Power.BURST)
                .profile(Qnnrt.Profile.BASIC)); Qnnrt.Run run = model.prepare(null)) {
            check("power", model.power(Qnnrt.Power.BALANCED).contains("dcvs: "),
                    model.power(Qnnrt.Power.BALANCED));
            equal("power_is_taken_back", "", model.power(null));
            check("load_events", !model.loadEvents().isEmpty(), "none");
            refused("events_without_a_profile", QnnrtException.STATE, "", run::events);
            run.profile(Qnnrt.Profile.DETAILED);
            run.exec();
            check("events", !run.events().isEmpty() && !run.events().get(0).unit.isEmpty(), "none");
            run.profile(Qnnrt.Profile.OFF);
            refused("no_budget_was_opened", QnnrtException.ARG, "", () -> model.budget(1));
            run.exec();
        }
    }

    /** A tensor that is left out is not taken in by looking at it. */
    private static void optional() {
        String folder = work.resolveSibling("optional").toString();
        try (Qnnrt.Model model = new Qnnrt.Model(folder, options()); Qnnrt.Run run = model.prepare(null)) {
            put(run.data("x"), 1, 2, 3, 4);
            put(run.data("b"), 0.5f, 40);
            run.exec();
            equal("with_an_optional_tensor", "[30.5, 10.0]", list(run.data("y")));
            run.omit("b");
            refused("data_of_a_tensor_left_out", QnnrtException.STATE, "\"b\" is left out", "unbind()",
                    () -> run.data("b"));
            refused("write_of_it", QnnrtException.STATE, "left out", () -> run.write("b", new float[2]));
            refused("read_of_it", QnnrtException.STATE, "left out", () -> run.read("b"));
            run.exec();
            equal("without_it", "[30.0, -30.0]", list(run.data("y")));
            run.unbind("b");
            run.exec();
            equal("and_with_it", "[30.5, 10.0]", list(run.data("y")));
            run.omit("b");
            ByteBuffer b = Qnnrt.buffer(8);
            put(b, 1, 1);
            run.bind("b", b);
            run.exec();
            equal("bound_again", "[31.0, -29.0]", list(run.data("y")));
            equal("its_data", JniTest.address(b), JniTest.address(run.data("b")));
        }
    }

    private static void twoModels() throws InterruptedException {
        AtomicInteger wrong = new AtomicInteger();
        Thread[] threads = new Thread[2];
        for (int i = 0; i < 2; ++i) {
            float first = i;
            threads[i] = new Thread(() -> {
                for (int k = 0; k < 20; ++k) {
                    try (Qnnrt.Model model = new Qnnrt.Model(layer,
                            options().memory(Qnnrt.Memory.SHARED)); Qnnrt.Run run = model.prepare(null)) {
                        ByteBuffer x = run.data("x"), y = run.data("y");
                        put(x, first, 2, 3, 4);
                        for (int n = 0; n < 50; ++n) {
                            run.exec();
                        }
                        wrong.addAndGet(y.getFloat(0) == 29.5f + first ? 0 : 1);
                    } catch (QnnrtException thrown) {
                        wrong.incrementAndGet();
                    }
                }
            });
            threads[i].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        equal("two_models_in_two_threads", 0, wrong.get());
    }

    /* ---- bench ------------------------------------------------------------------------------- */

    /** Time execs of Java beside those of C, in turn. */
    private static void bench(String layerLibrary) throws Exception {
        final int rounds = 60, each = 2000;
        com.sun.management.ThreadMXBean threads =
                (com.sun.management.ThreadMXBean) java.lang.management.ManagementFactory.getThreadMXBean();
        long[] java = new long[rounds], c = new long[rounds];
        long allocated = 0;
        try (Qnnrt.Model model = new Qnnrt.Model(layer, library); Qnnrt.Run run = model.prepare(null)) {
            Field field = run.getClass().getSuperclass().getDeclaredField("handle");
            field.setAccessible(true);
            long handle = field.getLong(run);
            for (int i = -20; i < rounds; ++i) {
                long before = threads.getThreadAllocatedBytes(Thread.currentThread().getId());
                long begin = System.nanoTime();
                for (int k = 0; k < each; ++k) {
                    run.exec();
                }
                long end = System.nanoTime();
                long after = threads.getThreadAllocatedBytes(Thread.currentThread().getId());
                long inC = JniTest.execs(layerLibrary, handle, each);
                if (i >= 0) {
                    java[i] = (end - begin) / each;
                    c[i] = inC / each;
                    allocated += after - before;
                }
            }
        }
        Arrays.sort(java);
        Arrays.sort(c);
        System.out.println("an exec: Java " + java[0] + " ns (median " + java[rounds / 2] + "), C " + c[0]
                + " ns (median " + c[rounds / 2] + "), " + allocated + " bytes in " + rounds * each);
        check("exec_costs", java[0] - c[0] <= 1500, (java[0] - c[0]) + " ns more than C");
        check("exec_allocates_nothing", allocated < rounds * each, allocated + " bytes");
    }

    public static void main(String[] arguments) throws Exception {
        System.loadLibrary("probe");
        if (arguments[0].equals("bench")) {
            library = arguments[1];
            layer = arguments[2];
            bench(arguments[3]);
        } else {
            library = arguments[0];
            layer = arguments[1];
            llm = arguments[2];
            work = Paths.get(arguments[3]);
            shared = arguments[4];
            part("shared_memory", OptionsTest::sharedMemory);
            part("plain_memory", OptionsTest::plainMemory);
            part("progress", OptionsTest::progress);
            part("log", OptionsTest::log);
            part("files", OptionsTest::files);
            part("roles", OptionsTest::roles);
            part("others", OptionsTest::others);
            part("optional", OptionsTest::optional);
            part("two_models", OptionsTest::twoModels);
            for (int i = 0; i < 3; ++i) {
                System.gc();
                Thread.sleep(20);
                Qnnrt.trim();
            }
            equal("no_block_is_in_use", 0L, JniTest.blocks(false));
            equal("nothing_of_the_backend_is_alive", "", JniTest.control(library, "ledger"));
        }
        System.exit(end());
    }
}
