import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.TimeUnit;
import qnnrt.Qnnrt;
import qnnrt.QnnrtDevice;
import qnnrt.QnnrtException;
import qnnrt.QnnrtLlm;
import qnnrt.QnnrtProcess;
import qnnrt.QnnrtWork;

/**
 * QnnrtDevice and QnnrtProcess on the desk. tests/jni/test_choice.sh runs it:
 *
 *   ChoiceTest WORK_DIR NPU_LIBRARIES PROMPT TEXT OLDER_LIBRARIES
 *
 * WORK_DIR holds: phone, files of a phone with an SM8650; libraries, which has libQnnRef.so;
 * wrong, the same as libQnnCpu.so; crash and hang, a libQnnCpu.so that does so when it is loaded;
 * layer, the graph y = relu(x * w + 0.5) for the reference; v73, v75, v79 and vtcm, JSON for the
 * NPU; cpu, JSON for the CPU; text, no model; memory, an empty folder. NPU_LIBRARIES (may be "") are
 * genuine, and WORK_DIR/npu is a model for them; OLDER_LIBRARIES (may be "") are those of 2.47.
 * WORK_DIR/llm is the trained model, which writes TEXT after PROMPT; WORK_DIR/shards is the same in
 * four files.
 *
 *   ChoiceTest          (no argument): the other process
 */
public final class ChoiceTest extends Checks {
    private static String work;
    private static QnnrtDevice phone;

    private static void has(String name, String text, String... words) {
        for (String word : words) {
            check(name, text.contains(word), "no \"" + word + "\" in: " + text);
        }
    }

    private static String at(String name) {
        return work + "/" + name;
    }

    private static List<String> folders(String... names) {
        List<String> list = new ArrayList<>();
        for (String name : names) {
            list.add(at(name));
        }
        return list;
    }

    private static String order(List<QnnrtDevice.Refusal> refused) {
        StringBuilder text = new StringBuilder();
        for (QnnrtDevice.Refusal one : refused) {
            text.append(new File(one.folder).getName()).append(' ');
        }
        return text.toString().trim();
    }

    /* ---- the phone --------------------------------------------------------------------------- */

    private static void look() {
        equal("chip", "SM8650 8 Gen 3 557 75 8", phone.chip + " " + phone.soldAs + " "
                + phone.socId + " " + phone.generation + " " + phone.vtcmMib);
        equal("driver", "/dev/cdsprpc-smd true  /vendor/lib64", phone.driver + " "
                + phone.unsignedSkels + " " + phone.driverClosed + " " + phone.transport);
        equal("memory", "12884901888 4294967296", phone.memory + " " + phone.memoryFree);
        equal("text", "SM8650 (8 Gen 3), NPU v75, VTCM 8 MiB, driver /dev/cdsprpc-smd, 4096 of "
                + "12288 MiB free", phone.toString());
        QnnrtDevice desk = QnnrtDevice.look();
        check("desk", desk.memory > desk.memoryFree && desk.memoryFree > 0 && desk.pageBytes >= 4096,
                desk.toString());
        QnnrtDevice none = QnnrtDevice.look(at("memory"));
        equal("no_phone", "no chip of Qualcomm is known here, no driver is seen, 0 of 0 MiB free",
                none.toString());
        refused("null_root", QnnrtException.ARG, "root is null", () -> QnnrtDevice.look(null));
    }

    private static void libraries() {
        QnnrtDevice.Library ref = QnnrtDevice.library(at("libraries/libQnnRef.so"));
        equal("library", QnnrtDevice.REFERENCE, ref.backend);
        check("library_path", ref.path.endsWith("/libraries/libQnnRef.so"), ref.path);
        check("library_api", ref.api.matches("2\\.[0-9]+\\.[0-9]+"), ref.api);
        equal("a_name_proves_nothing", QnnrtDevice.REFERENCE,
                QnnrtDevice.library(at("wrong/libQnnCpu.so")).backend);
        refused("no_library", QnnrtException.LIBRARY, "libQnnHtp.so",
                () -> QnnrtDevice.library(at("libraries/libQnnHtp.so")));
        refused("text_is_no_library", QnnrtException.LIBRARY, "note.txt",
                () -> QnnrtDevice.library(at("text/note.txt")));
    }

    private static void metadata() {
        QnnrtDevice.Folder npu = QnnrtDevice.folder(at("v75"), at("libraries"));
        equal("npu_folder", "6 75 57 4", npu.backend + " " + npu.generation + " " + npu.soc + " "
                + npu.vtcmMib);
        QnnrtDevice.Folder layer = QnnrtDevice.folder(at("layer"), at("libraries"));
        equal("reference_folder", QnnrtDevice.REFERENCE, layer.backend);
        check("folder_bytes", layer.bytes > 0 && npu.bytes > 0, layer.bytes + " " + npu.bytes);
        refused("no_folder", QnnrtException.NOT_FOUND, "nothing_here",
                () -> QnnrtDevice.folder(at("nothing_here"), at("libraries")));
        refused("no_model", QnnrtException.NOT_FOUND, "text",
                () -> QnnrtDevice.folder(at("text"), at("libraries")));
    }

    /** None of the folders for the NPU opens here: the order shows in the refusals. */
    private static void choice() {
        QnnrtDevice.Choice<Qnnrt.Model> choice = phone.choose(folders("layer", "v79", "cpu", "text",
                "vtcm", "v73", "v75_other", "v75"), at("libraries"), Qnnrt.Model::new);
        equal("taken", "layer", new File(choice.folder.path).getName());
        equal("order", "v79 text vtcm v75 v75_other v73 cpu", order(choice.refused));
        has("reasons", choice.toString(), "layer on ", "v79: compiled for NPU v79, and SM8650 has "
                + "v75", "vtcm: it asks for 16 MiB of VTCM, and SM8650 has 8", "libQnnHtp.so",
                "libQnnCpu.so");
        check("hint", !choice.refused.get(0).hint.isEmpty(), "no hint");
        try (Qnnrt.Model model = choice.opened; Qnnrt.Run run = model.prepare(null)) {
            run.exec();
        }
        QnnrtException none = refused("none_works", QnnrtException.UNSUPPORTED, "none of 2 folders "
                + "works here: SM8650", () -> phone.choose(folders("v79", "v73"), at("libraries"),
                Qnnrt.Model::new));
        has("none_has_all_reasons", none.getMessage(), "v79: compiled", "v73 on ");
        refused("wrong_library", QnnrtException.UNSUPPORTED, "the folder is for the CPU, and the "
                + "library is for the reference", () -> phone.choose(folders("cpu"), at("wrong"),
                Qnnrt.Model::new));
        refused("empty", QnnrtException.ARG, "no folder", () -> phone.choose(
                Collections.<String>emptyList(), null, Qnnrt.Model::new));
        QnnrtDevice unknown = QnnrtDevice.look(at("memory"));
        equal("unknown_chip_tries_all", "v79 v73 vtcm", order(unknown.choose(folders("v79", "layer",
                "v73", "vtcm"), at("libraries"), (folder, library) -> "").refused));
        try {
            phone.choose(folders("layer"), at("libraries"), (folder, library) -> {
                throw new IllegalStateException("a mistake");
            });
            check("a_mistake_is_no_refusal", false, "threw nothing");
        } catch (IllegalStateException thrown) {
            check("a_mistake_is_no_refusal", true, "");
        }
    }

    /** Libraries of an older release, as an update of an app may leave them behind. */
    private static void older(String npu, String old) {
        refused("older_libraries", QnnrtException.VERSION, "newer than the library " + old, "Ship the libraries",
                () -> new Qnnrt.Model(at("npu"), old + "/libQnnHtp.so").close());
        QnnrtException none = refused("older_libraries_choice", QnnrtException.UNSUPPORTED, "newer than the library",
                () -> QnnrtDevice.look(at("memory")).choose(folders("npu"), old, Qnnrt.Model::new));
        has("older_libraries_hint", none.hint, "release");
        new Qnnrt.Model(at("npu"), npu + "/libQnnHtp.so").close();
    }

    private static void genuine(String npu) {
        QnnrtDevice.Library library = QnnrtDevice.library(npu + "/libQnnHtp.so");
        equal("htp", "6 true", library.backend + " " + library.device);
        QnnrtDevice.Choice<Qnnrt.Model> choice = QnnrtDevice.look(at("memory")).choose(
                folders("layer", "npu"), npu, Qnnrt.Model::new);
        equal("npu_is_first", "npu layer", new File(choice.folder.path).getName() + " "
                + order(choice.refused));
        choice.opened.close();
    }

    /* ---- the other process ------------------------------------------------------------------- */

    /** Answer requests from standard input: a length and so many bytes, each way. */
    private static void answer() throws IOException {
        DataInputStream in = new DataInputStream(System.in);
        DataOutputStream out = new DataOutputStream(System.out);
        QnnrtWork work = new QnnrtWork();
        Qnnrt.version();
        out.write(1);                         /* it has started: now the time of calls counts */
        out.flush();
        for (;;) {
            byte[] request = new byte[in.readInt()];
            in.readFully(request);
            byte[] answer = work.call(request);
            out.writeInt(answer.length);
            out.write(answer);
            out.flush();
        }
    }

    private static volatile Process child;
    private static int largest, parts;        /* of messages, and so many */

    /** A second virtual machine. */
    private static QnnrtProcess.Wire start() throws IOException {
        Process process = new ProcessBuilder(System.getProperty("java.home") + "/bin/java",
                "-Xmx32m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto",
                "-Djava.library.path=" + System.getProperty("java.library.path"), "-cp",
                System.getProperty("java.class.path"), "ChoiceTest")
                .redirectError(new File("/dev/null")).start();
        DataInputStream in = new DataInputStream(process.getInputStream());
        DataOutputStream out = new DataOutputStream(process.getOutputStream());
        in.readByte();
        child = process;
        return new QnnrtProcess.Wire() {
            @Override
            public byte[] call(byte[] request) throws IOException {
                out.writeInt(request.length);
                out.write(request);
                out.flush();
                byte[] answer = new byte[in.readInt()];
                in.readFully(answer);
                largest = Math.max(largest, Math.max(request.length, answer.length));
                ++parts;
                return answer;
            }

            @Override
            public void end() {
                process.destroyForcibly();
            }
        };
    }

    private static void signal(String name) throws Exception {
        new ProcessBuilder("kill", "-" + name, "" + child.pid()).start().waitFor();
        if (name.equals("KILL")) {
            child.waitFor();
        }
        while (name.equals("STOP") && !new String(Files.readAllBytes(Paths.get("/proc/" + child.pid()
                + "/stat"))).contains(") T ")) {
            Thread.sleep(1);
        }
    }

    private static String exec(QnnrtProcess.Run run) {
        run.exec();
        float[] y = new float[2];
        run.data("y").asFloatBuffer().get(y);
        return Arrays.toString(y);
    }

    private static String[] files() {
        return new File(at("memory")).list();
    }

    private static void process() throws Exception {
        try (QnnrtProcess process = new QnnrtProcess(ChoiceTest::start, new File(at("memory")),
                20000, 2000)) {
            QnnrtDevice.Choice<QnnrtProcess.Model> choice = phone.choose(folders("v79", "cpu",
                    "layer"), at("libraries"), process);
            equal("process_choice", "layer v79 cpu", new File(choice.folder.path).getName() + " "
                    + order(choice.refused));
            QnnrtProcess.Model model = choice.opened;
            equal("process_pipelines", "[layer]", model.pipelines().toString());
            QnnrtProcess.Run run = model.prepare(null);
            equal("process_tensors", "x input float32[1,4] 4 16 4", run.tensors().get(0).name + " "
                    + run.tensors().get(0).role + " " + run.tensors().get(0).text + " "
                    + run.tensors().get(0).count + " " + run.tensors().get(0).bytes + " "
                    + run.tensors().get(0).dims()[1]);
            run.data("x").asFloatBuffer().put(new float[] {1, 2, 3, 4});
            equal("process_exec", "[30.5, 0.0]", exec(run));
            run.data("x").putFloat(0, 2);
            equal("process_reads_the_memory", "[31.5, 0.0]", exec(run));
            equal("one_file", 1, files().length);
            refused("process_no_tensor", QnnrtException.NOT_FOUND, "\"z\"", () -> run.data("z"));
            refused("process_no_pipeline", QnnrtException.NOT_FOUND, "\"z\"",
                    () -> model.prepare("z"));
            refused("process_model_in_use", QnnrtException.BUSY, "in use", model::close);
            equal("no_end_yet", 0, process.ends());
            restarts(process, run);
            run.close();
            run.close();
            refused("process_run_closed", QnnrtException.STATE, "closed", run::exec);
            model.close();
            refused("process_model_closed", QnnrtException.STATE, "closed",
                    () -> model.prepare(null));
        }
        equal("no_file_stays", 0, files().length);
    }

    private static void restarts(QnnrtProcess process, QnnrtProcess.Run run) throws Exception {
        ByteBuffer x = run.data("x");
        signal("KILL");
        refused("killed", QnnrtException.BACKEND, "the process ended", run::exec);
        equal("restarted", "[31.5, 0.0] 1", exec(run) + " " + process.ends());
        signal("STOP");
        long begin = System.nanoTime();
        refused("hung", QnnrtException.BACKEND, "the process hung: no answer in 2000 ms", run::exec);
        long millis = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - begin);
        check("hung_time", millis >= 1990 && millis < 6000, millis + " ms");
        check("hung_process_is_gone", child.waitFor(5, TimeUnit.SECONDS), "it lives");
        x.putFloat(0, 3);
        equal("restarted_again", "[32.5, 0.0] 2", exec(run) + " " + process.ends());
        for (int i = 0; i < QnnrtProcess.MOST_ENDS; ++i) {
            if (i > 0) {
                refused("again_" + i, QnnrtException.BACKEND, "the process",
                        () -> endDuring(run));
            } else {
                signal("KILL");
                refused("again_0", QnnrtException.BACKEND, "the process", run::exec);
            }
        }
        refused("given_up", QnnrtException.STATE, "ended 3 times in a row", run::exec);
        try (QnnrtProcess.Model again = process.open(at("layer"), at("libraries/libQnnRef.so"));
                QnnrtProcess.Run other = again.prepare("layer")) {
            other.data("x").asFloatBuffer().put(new float[] {1, 2, 3, 4});
            equal("another_model_is_not_given_up", "[30.5, 0.0]", exec(other));
        }
    }

    /** A thread ends the next process while it starts, or right after. */
    private static void endDuring(QnnrtProcess.Run run) throws Exception {
        Process old = child;
        Thread killer = new Thread(() -> {
            while (child == old) {
                Thread.yield();
            }
            child.destroyForcibly();
        });
        killer.start();
        try {
            run.exec();
        } finally {
            killer.join();
        }
    }

    private static void languageModel(String prompt, String text) throws Exception {
        try (QnnrtProcess process = new QnnrtProcess(ChoiceTest::start, new File(at("memory")),
                20000, 5000);
                QnnrtProcess.Model model = process.open(at("llm"), at("libraries/libQnnRef.so"));
                QnnrtProcess.Llm llm = model.llm()) {
            StringBuilder said = new StringBuilder();
            equal("llm_vocabulary", 256, llm.vocabulary());
            equal("llm_answer", "most " + prompt.length() + " " + text.length(), ended(llm.generate(
                    prompt, text.length(), piece -> said.append(piece) != null)));
            equal("llm_text", text, said.toString());
            said.setLength(0);
            QnnrtLlm.Answer answer = llm.generate(prompt, 500,
                    piece -> said.append(piece).length() < 5);
            check("llm_stops", answer.stopped.equals("stopped") && text.startsWith(
                    said.toString()), ended(answer) + " \"" + said + "\"");
            List<Integer> tokens = new ArrayList<>();
            llm.generate(new int[] {'T', 'h'}, 3, token -> tokens.add(token));
            equal("llm_tokens", 3, tokens.size());
            refused("llm_empty", QnnrtException.ARG, "the prompt is empty",
                    () -> llm.generate("", 5, piece -> true));
            refused("llm_null", QnnrtException.ARG, "null", () -> llm.generate(prompt, 5, null));
            llm.sampling(-1, 0, 0, 0);
            refused("llm_sampling", QnnrtException.ARG, "temperature",
                    () -> llm.generate(prompt, 5, piece -> true));
            llm.sampling(0, 0, 0, 0);
            refused("llm_busy", QnnrtException.BUSY, "is being written", () -> llm.generate(prompt,
                    5, piece -> llm.generate(prompt, 5, other -> true) != null));
            try {
                llm.generate(prompt, 500, piece -> {
                    throw new IllegalStateException("enough");
                });
                check("llm_listener_throws", false, "threw nothing");
            } catch (IllegalStateException thrown) {
                equal("llm_listener_throws", "enough", thrown.getMessage());
            }
            refused("llm_in_use", QnnrtException.BUSY, "Llm", model::close);
            refused("llm_killed", QnnrtException.BACKEND, "the process ended", () -> llm.generate(
                    prompt, 64, piece -> {
                        child.destroyForcibly();
                        return true;
                    }));
            said.setLength(0);
            llm.generate(prompt, text.length(), piece -> said.append(piece) != null);
            equal("llm_again", text + " 1", said + " " + process.ends());
        }
    }

    /** All options reach the other process, and what it says to listeners reaches this one. */
    private static void options() throws Exception {
        List<String> lines = new ArrayList<>(), files = new ArrayList<>();
        String library = at("libraries/libQnnRef.so");
        int[] end = {100};
        Qnnrt.Options options = new Qnnrt.Options().backend(library).budget(0).power(Qnnrt.Power.BURST)
                .profile(Qnnrt.Profile.BASIC).memory(Qnnrt.Memory.SHARED)
                .log(Qnnrt.Level.DEBUG, (level, part, code, text) -> {
                    lines.add(level + " " + part + " " + text);
                    throw new IllegalStateException("dropped");
                }).progress((done, count, file) -> {
                    files.add(done + "/" + count);
                    if (end[0] == -1) {
                        throw new IllegalStateException("enough");
                    }
                    return done < end[0];
                });
        try (QnnrtProcess process = new QnnrtProcess(ChoiceTest::start, new File(at("memory")),
                20000, 5000)) {
            end[0] = 1;
            refused("options_cancel", QnnrtException.CANCELLED, "", () -> process.open(at("shards"), options));
            equal("options_cancelled_at", "[0/4, 1/4]", files.toString());
            end[0] = -1;
            try {
                process.open(at("shards"), options);
                check("options_progress_throws", false, "nothing came through");
            } catch (IllegalStateException thrown) {
                equal("options_progress_throws", "enough", thrown.getMessage());
            }
            end[0] = 100;
            files.clear();
            lines.clear();
            try (QnnrtProcess.Model model = process.open(at("shards"), options);
                    QnnrtProcess.Run run = model.prepare("token_ar1_cl128"); QnnrtProcess.Llm llm = model.llm()) {
                equal("options_progress", "[0/4, 1/4, 2/4, 3/4, 4/4]", files.toString());
                options.progress(null).log(Qnnrt.Level.ERROR, null);       /* the model has a copy */
                run.exec();
                equal("options_budget", 1L, loaded(model));
                check("options_log", lines.stream().anyMatch(line -> line.startsWith("INFO backend ")), "" + lines);
                check("options_profile", !model.loadEvents().isEmpty(), "no events");
                equal("options_contexts", "forward_3.bin", model.contexts().get(3).file);
                model.budget(Long.MAX_VALUE);
                run.exec();
                equal("options_larger_budget", 4L, loaded(model));
                equal("options_power", true, model.power(Qnnrt.Power.BALANCED).contains("dcvs: "));
                signal("KILL");
                refused("options_killed", QnnrtException.BACKEND, "the process", run::exec);
                files.clear();
                lines.clear();
                run.exec();
                equal("options_again", "[0/4, 1/4, 2/4, 3/4, 4/4] 4 " + process.ends(), files + " "
                        + loaded(model) + " 1");
                check("options_log_again", !lines.isEmpty(), "no line");
                model.budget(0);
                equal("options_nothing_is_loaded", 0L, loaded(model));
                largest = 0;
                parts = 0;
                char[] many = new char[3 << 19];
                Arrays.fill(many, 'a');
                refused("a_large_prompt", QnnrtException.LIMIT, "context is full", () -> llm.generate(new String(many), 1,
                        piece -> true));
                check("in_parts", parts >= 6 && largest <= (1 << 18) + 1, parts + " parts, of at most " + largest);
            }
            refused("options_limit", QnnrtException.LIMIT, "", () -> process.open(at("layer"),
                    new Qnnrt.Options().backend(library).limit("file_bytes", 10)));
            refused("options_neither", QnnrtException.ARG, "no files", () -> process.open(null, options));
            refused("options_null", QnnrtException.ARG, "null", () -> process.open("x", (Qnnrt.Options) null));
            refused("options_opener_null", QnnrtException.ARG, "null", () -> process.opener(null));
            refused("options_memory", QnnrtException.UNSUPPORTED, "memory of the app", "QnnrtCopy", () -> process.open(null,
                    new Qnnrt.Options().file("a", Qnnrt.buffer(1))));
            refused("options_descriptor", QnnrtException.UNSUPPORTED, "a descriptor", "path", () -> process.open(null,
                    new Qnnrt.Options().file("a", 0, 0, 1)));
            QnnrtDevice.Choice<QnnrtProcess.Model> choice = phone.choose(folders("v79", "layer"), at("libraries"),
                    process.opener(new Qnnrt.Options().limit("files", 1)));
            equal("options_chosen", "v79", order(choice.refused));
            choice.opened.close();
            largeAnswer(process);
        }
    }

    private static long loaded(QnnrtProcess.Model model) {
        return model.contexts().stream().filter(one -> one.loaded).count();
    }

    /** Files that do not load, each with a long text. */
    private static void largeAnswer(QnnrtProcess process) throws IOException {
        Qnnrt.Options options = new Qnnrt.Options().backend(at("libraries/libQnnRef.so")).keepGoing(true)
                .file(at("layer/layer.bin"));
        String folder = at("memory");
        char[] name = new char[200];
        Arrays.fill(name, 'n');
        for (int i = 0; i < 8; ++i) {
            folder += "/" + new String(name);
        }
        new File(folder).mkdirs();
        for (int i = 0; i < 250; ++i) {
            String file = folder + "/" + new String(name) + i + ".bin";
            Files.write(Paths.get(file), new byte[100]);
            options.file(file);
        }
        largest = 0;
        try (QnnrtProcess.Model model = process.open(null, options)) {
            parts = 0;
            List<Qnnrt.Context> contexts = model.contexts();
            long bytes = contexts.stream().mapToLong(one -> one.failure.length()).sum();
            equal("a_large_answer", 251, contexts.size());
            check("a_large_answer_is_whole", bytes > 1 << 18 && contexts.get(250).failure.contains("n249.bin"),
                    bytes + " characters, the last ones " + contexts.get(250).failure);
            check("an_answer_in_parts", parts > 1 && largest <= (1 << 18) + 1, parts + " parts, of at most " + largest);
        }
        for (File file : new File(folder).listFiles()) {
            file.delete();
        }
        for (File at = new File(folder); !at.getName().equals("memory"); at = at.getParentFile()) {
            at.delete();
        }
    }

    private static String ended(QnnrtLlm.Answer answer) {
        return answer.stopped + " " + answer.promptTokens + " " + answer.tokens;
    }

    /** A library that crashes or hangs is refused, and the next folder is taken. */
    private static void badLibraries() throws Exception {
        try (QnnrtProcess process = new QnnrtProcess(ChoiceTest::start, new File(at("memory")),
                3000, 2000)) {
            for (String bad : new String[] {"crash", "hang"}) {
                QnnrtDevice.Choice<QnnrtProcess.Model> choice = phone.choose(folders("cpu",
                        "layer"), at(bad), process);
                equal(bad + "_goes_on", "layer cpu", new File(choice.folder.path).getName() + " "
                        + order(choice.refused));
                has(bad + "_reason", choice.refused.get(0).reason, bad.equals("crash")
                        ? "the process ended during the call" : "the process hung: no answer in 3000");
                choice.opened.close();
            }
            equal("bad_ends", 2, process.ends());
        }
        refused("closed_process", QnnrtException.STATE, "closed", () -> {
            QnnrtProcess process = new QnnrtProcess(ChoiceTest::start, new File(at("memory")), 1, 1);
            process.close();
            process.library("x");
        });
        refused("no_process", QnnrtException.LIBRARY, "cannot be started: no such service", () -> {
            try (QnnrtProcess process = new QnnrtProcess(() -> {
                throw new IOException("no such service");
            }, new File(at("memory")), 1000, 1000)) {
                process.library("x");
            }
        });
        refused("bad_times", QnnrtException.ARG, "not above 0",
                () -> new QnnrtProcess(ChoiceTest::start, new File(at("memory")), 0, 1).close());
    }

    /** Files of an app that was killed are deleted, others are not. */
    private static void leftFiles() throws Exception {
        for (String name : new String[] {"qnnrt-999999999-1.mem", "qnnrt-self-1.mem", "other.mem",
            "qnnrt-" + ProcessHandle.current().pid() + "-99999.mem"}) {
            new File(at("memory"), name).createNewFile();
        }
        new QnnrtProcess(ChoiceTest::start, new File(at("memory")), 1, 1).close();
        String[] left = files();
        Arrays.sort(left);
        equal("left_files", 3, left.length);
        equal("other_stays", "other.mem", left[0]);
        for (String name : left) {
            new File(at("memory"), name).delete();
        }
        refused("no_place", QnnrtException.IO, "no memory in " + at("nowhere"), () -> {
            try (QnnrtProcess process = new QnnrtProcess(ChoiceTest::start, new File(
                    at("nowhere")), 20000, 2000)) {
                process.open(at("layer"), at("libraries/libQnnRef.so")).prepare(null);
            }
        });
    }

    public static void main(String[] args) throws IOException {
        suite = "test_choice";
        if (args.length == 0) {
            answer();
        }
        work = args[0];
        phone = QnnrtDevice.look(at("phone"));
        part("look", ChoiceTest::look);
        part("libraries", ChoiceTest::libraries);
        part("metadata", ChoiceTest::metadata);
        part("choice", ChoiceTest::choice);
        if (!args[1].isEmpty()) {
            part("genuine", () -> genuine(args[1]));
        }
        if (!args[1].isEmpty() && !args[4].isEmpty()) {
            part("older", () -> older(args[1], args[4]));
        }
        part("process", ChoiceTest::process);
        part("language_model", () -> languageModel(args[2], args[3]));
        part("options", ChoiceTest::options);
        part("bad_libraries", ChoiceTest::badLibraries);
        part("left_files", ChoiceTest::leftFiles);
        end();
    }
}
