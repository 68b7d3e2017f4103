import java.io.ByteArrayInputStream;
import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Arrays;
import java.util.Collections;
import java.util.concurrent.atomic.AtomicInteger;
import qnnrt.Qnnrt;
import qnnrt.QnnrtCopy;
import qnnrt.QnnrtException;
import qnnrt.QnnrtProcess;
import qnnrt.QnnrtSkels;
import qnnrt.QnnrtWork;

/**
 * What an app developer does that the layer did not think of. tests/jni/test_jni.sh runs it:
 *
 *   MisuseTest LIBRARY LAYER_DIR LLM_DIR WORK_DIR
 *
 * The first three are those of JniTest; WORK_DIR is empty.
 */
public final class MisuseTest extends Checks {
    private static String library, layer, llm;
    private static Path work;

    private static Qnnrt.Options options() {
        return new Qnnrt.Options().backend(library);
    }

    private static void collect() throws InterruptedException {
        for (int i = 0; i < 3; ++i) {
            System.gc();
            Thread.sleep(20);
            Qnnrt.trim();
        }
    }

    private static ByteBuffer content(String path) throws IOException {
        byte[] bytes = Files.readAllBytes(Paths.get(path));
        ByteBuffer content = Qnnrt.buffer(bytes.length);
        content.put(bytes).rewind();
        return content;
    }

    private static void restart(Qnnrt.Model model, Qnnrt.Run run) {
        JniTest.control(library, "faults restart=graphExecute:1");
        try {
            run.exec();
            check("restart", false, "threw nothing");
        } catch (QnnrtException thrown) {
            check("restart", thrown.isRestart(), thrown.getMessage());
        }
        JniTest.control(library, "faults");
        model.recover();
        run.exec();
    }

    /* ---- nulls and numbers ------------------------------------------------------------------- */

    private static void nulls() {
        File folder = work.resolve("copy").toFile();
        QnnrtCopy.Source good = new QnnrtCopy.Source("a", -1, () -> new ByteArrayInputStream(new byte[1]));
        refused("sources_are_null", QnnrtException.ARG, "null", () -> QnnrtCopy.fill(null, folder, null));
        refused("a_folder_is_null", QnnrtException.ARG, "null",
                () -> QnnrtCopy.fill(Collections.singletonList(good), null, null));
        refused("a_source_is_null", QnnrtException.ARG, "null",
                () -> QnnrtCopy.fill(Arrays.asList(good, null), folder, null));
        refused("a_content_is_null", QnnrtException.ARG, "null",
                () -> QnnrtCopy.fill(Arrays.asList(new QnnrtCopy.Source("a", 1, null)), folder, null));
        refused("settle_null", QnnrtException.ARG, "null", () -> QnnrtCopy.settle(null));
        refused("settle_the_root", QnnrtException.ARG, "/", () -> QnnrtCopy.fill(
                Collections.singletonList(good), new File("/"), null));
        refused("files_are_null", QnnrtException.ARG, "null", () -> QnnrtSkels.install(null, folder, 0));
        refused("skels_folder_is_null", QnnrtException.ARG, "null",
                () -> QnnrtSkels.install(name -> new ByteArrayInputStream(new byte[0]), null, 0));
        refused("a_list_is_null", QnnrtException.NOT_FOUND, "SHA256SUMS",
                () -> QnnrtSkels.install(name -> null, folder, 0));
        try (Qnnrt.Model model = new Qnnrt.Model(layer, library); Qnnrt.Run run = model.prepare(null)) {
            refused("dims_are_null", QnnrtException.ARG, "null", () -> run.setDims("x", (int[]) null));
            refused("profile_is_null", QnnrtException.ARG, "null", () -> run.profile(null));
            refused("begin_overflows", QnnrtException.MISMATCH, "",
                    () -> run.read("x", Long.MAX_VALUE, new float[2]));
            refused("no_budget", QnnrtException.ARG, "", () -> model.budget(0));
            refused("a_negative_budget", QnnrtException.ARG, "-1", () -> model.budget(-1));
            run.write("x", 4, new float[0]);
            run.read("x", 0, new float[0]);
        }
        refused("a_negative_limit", QnnrtException.ARG, "-1", () -> options().limit("file_bytes", -1));
        refused("a_rank_that_java_does_not_have", QnnrtException.LIMIT, "rank",
                () -> new Qnnrt.Model(layer, options().limit("rank", 33)).close());
        new Qnnrt.Model(layer, options().limit("rank", 32)).close();
        refused("an_option_is_no_limit", QnnrtException.NOT_FOUND, "limit",
                () -> new Qnnrt.Model(layer, options().limit("has_budget", 1)).close());
    }

    /* ---- memory and the collector ------------------------------------------------------------ */

    private static void lifetimes() throws Exception {
        long before = JniTest.blocks(false);
        bound();
        mixed();
        collect();
        equal("all_of_it_is_freed", before, JniTest.blocks(false));
    }

    private static void bound() throws Exception {
        try (Qnnrt.Model model = new Qnnrt.Model(null, options().file("layer.bin",
                content(layer + "/layer.bin"))); Qnnrt.Run run = model.prepare(null)) {
            run.bind("x", Qnnrt.buffer(16));
            run.bind("y", Qnnrt.buffer(8));
            collect();
            restart(model, run);
            equal("buffers_live_while_they_are_bound", "[0.5, 0.5]", Arrays.toString(run.read("y")));
        }
    }

    /** A model of a path and of memory: what is in memory is loaded by another function. */
    private static void mixed() throws Exception {
        File[] shards = new File(llm).listFiles((at, name) -> name.endsWith(".bin"));
        Arrays.sort(shards);
        Qnnrt.Options mixed = options();
        for (int i = 0; i < shards.length; ++i) {
            if (i == 0) {
                mixed.file(shards[i].getPath());
            } else {
                mixed.file(shards[i].getName(), content(shards[i].getPath()));
            }
        }
        AtomicInteger calls = new AtomicInteger();
        mixed.progress((done, count, file) -> calls.incrementAndGet() > 0);
        try (Qnnrt.Model model = new Qnnrt.Model(null, mixed);
                Qnnrt.Run run = model.prepare("token_ar1_cl128")) {
            equal("progress_of_paths_and_memory", shards.length + 1, calls.get());
            restart(model, run);
        }
    }

    /* ---- listeners --------------------------------------------------------------------------- */

    /** The virtual machine warns if a line of the log comes while an array is held. */
    private static void logs() {
        AtomicInteger lines = new AtomicInteger();
        try (Qnnrt.Model model = new Qnnrt.Model(layer, options().log(Qnnrt.Level.DEBUG,
                (level, part, code, text) -> lines.incrementAndGet())); Qnnrt.Run run = model.prepare(null)) {
            refused("too_many", QnnrtException.MISMATCH, "", () -> run.write("x", new float[5]));
            refused("wrong_type", QnnrtException.UNSUPPORTED, "", () -> run.read("x", 0, new int[1]));
        }
        check("there_were_lines", lines.get() > 0, "none");
    }

    /* ---- the other process, in this one ------------------------------------------------------ */

    private static final class Near implements QnnrtProcess.Wire {
        final QnnrtWork work = new QnnrtWork();
        boolean ended;

        @Override
        public byte[] call(byte[] request) throws IOException {
            if (ended) {
                throw new IOException("it ended");
            }
            return work.call(request);
        }

        @Override
        public void end() { }
    }

    private static void process() throws Exception {
        Near near = new Near();
        File folder = Files.createDirectory(work.resolve("memory")).toFile();
        try (QnnrtProcess process = new QnnrtProcess(() -> near, folder, Long.MAX_VALUE, Long.MAX_VALUE)) {
            QnnrtProcess.Model model = process.open(llm, library);
            QnnrtProcess.Llm writer = model.llm();
            try {
                writer.generate("a", 9, piece -> {
                    throw new AssertionError("enough");
                });
                check("a_listener_throws_an_error", false, "nothing came through");
            } catch (AssertionError thrown) {
                equal("a_listener_throws_an_error", "enough", thrown.getMessage());
            }
            equal("the_next_answer", 3, writer.generate("a", 3, piece -> true).tokens);
            refused("a_listener_closes", QnnrtException.BUSY, "answer", () -> writer.generate("a", 9, piece -> {
                writer.close();
                return true;
            }));
            equal("the_answer_after_it", 3, writer.generate("a", 3, piece -> true).tokens);
            writer.close();

            Files.delete(folder.toPath());
            refused("no_memory", QnnrtException.IO, "memory", () -> model.prepare("token_ar1_cl128"));
            Files.createDirectory(folder.toPath());
            model.close();
            equal("what_failed_is_closed", "", JniTest.control(library, "ledger"));

            QnnrtProcess.Model again = process.open(llm, library);
            AtomicInteger pieces = new AtomicInteger();
            equal("the_service_is_destroyed", "stopped", again.llm().generate("a", 100, piece -> {
                if (pieces.incrementAndGet() == 2) {
                    near.work.close();
                }
                return true;
            }).stopped);
        }
        equal("the_service_closes_all", "", JniTest.control(library, "ledger"));
    }

    /** Storage runs low, the system empties the cache of the app, and then the process ends. */
    private static void cacheIsEmptied() throws Exception {
        File folder = Files.createDirectory(work.resolve("cache")).toFile();
        Near[] last = new Near[1];
        try (QnnrtProcess process = new QnnrtProcess(() -> last[0] = new Near(), folder, 60000, 60000);
                QnnrtProcess.Model model = process.open(layer, library);
                QnnrtProcess.Run run = model.prepare(null)) {
            run.exec();
            for (File file : folder.listFiles()) {
                Files.delete(file.toPath());
            }
            run.exec();
            last[0].ended = true;
            refused("the_process_ends", QnnrtException.BACKEND, "ended", run::exec);
            last[0].work.close();
            refused("its_file_is_gone", QnnrtException.IO, "deleted", run::exec);
            try (QnnrtProcess.Run next = model.prepare(null)) {
                next.exec();
                equal("a_new_run_has_a_file", 1, folder.list().length);
            }
        }
        last[0].work.close();
        equal("no_file_is_left", 0, folder.list().length);
        equal("nothing_is_left", "", JniTest.control(library, "ledger"));
    }

    public static void main(String[] arguments) {
        suite = "test_jni: misuse";
        library = arguments[0];
        layer = arguments[1];
        llm = arguments[2];
        work = Paths.get(arguments[3]);
        System.loadLibrary("probe");
        part("nulls", MisuseTest::nulls);
        part("lifetimes", MisuseTest::lifetimes);
        part("logs", MisuseTest::logs);
        part("process", MisuseTest::process);
        part("cache_is_emptied", MisuseTest::cacheIsEmptied);
        System.exit(end());
    }
}
