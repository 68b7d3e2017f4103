import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Arrays;
import java.util.Collections;
import java.util.Random;
import java.util.concurrent.locks.LockSupport;
import java.util.zip.CRC32;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import qnnrt.Qnnrt;
import qnnrt.QnnrtCopy;
import qnnrt.QnnrtDevice;
import qnnrt.QnnrtException;
import qnnrt.QnnrtLlm;
import qnnrt.QnnrtProcess;
import qnnrt.QnnrtSkels;
import qnnrt.QnnrtWork;

/**
 * Bad input of the Android layer, and openings that end at all moments, on libQnnRef.so. test_jni.sh
 * runs it:
 *
 *   InputTest LIBRARY LAYER_DIR LLM_DIR WORK_DIR COUNT
 *
 * The first three are those of JniTest; WORK_DIR is empty. COUNT openings are cancelled.
 */
public final class InputTest extends Checks {
    private static final int NOBODY = 65534;
    private static String library, layer, llm;
    private static Path work;

    private static Qnnrt.Options options() {
        return new Qnnrt.Options().backend(library);
    }

    private static byte[] layerBytes() throws IOException {
        return Files.readAllBytes(Paths.get(layer, "layer.bin"));
    }

    private static int number(FileDescriptor descriptor) throws ReflectiveOperationException {
        java.lang.reflect.Field field = FileDescriptor.class.getDeclaredField("fd");
        field.setAccessible(true);
        return field.getInt(descriptor);
    }

    private static void open(Qnnrt.Options options) {
        new Qnnrt.Model(null, options).close();
    }

    private static void open(Path folder) {
        try (Qnnrt.Model model = new Qnnrt.Model(folder.toString(), options())) {
            model.prepare(model.pipelines().get(0)).close();
        }
    }

    private static Path pipe(Path path) throws Exception {
        new ProcessBuilder("mkfifo", path.toString()).start().waitFor();
        return path;
    }

    /** A process that is this one. */
    private static QnnrtProcess near(Path folder) {
        QnnrtWork far = new QnnrtWork();
        return new QnnrtProcess(() -> new QnnrtProcess.Wire() {
            @Override
            public byte[] call(byte[] request) {
                return far.call(request);
            }

            @Override
            public void end() {
                far.close();
            }
        }, folder.toFile(), 60000, 60000);
    }

    /* ---- files that are none ----------------------------------------------------------------- */

    /** What is no regular file is refused, and nobody waits for its other end. */
    private static void pipes() throws Exception {
        int io = QnnrtException.IO;
        Path folder = Files.createDirectory(work.resolve("pipes"));
        Path path = pipe(folder.resolve("forward_0.bin"));
        try (RandomAccessFile both = new RandomAccessFile(path.toFile(), "rw")) {
            int fd = number(both.getFD());
            refused("a_pipe_as_descriptor", io, "forward_0.bin: descriptor " + fd
                    + " is not of a regular file", "Copy", () -> open(options().file("forward_0.bin", fd, 0, -1)));
        }
        refused("a_pipe_as_path", io, "not a regular file", "Check", () -> open(options().file(path.toString())));
        refused("a_pipe_to_read", io, "not a regular file", "Check",
                () -> open(options().read(true).file(path.toString())));
        refused("a_pipe_in_a_folder", io, "not a regular file", "Check", () -> open(folder));
        refused("a_pipe_to_choose", io, "not a regular file", "Check",
                () -> QnnrtDevice.folder(folder.toString(), new File(library).getParent()));
        Files.delete(path);
        Files.write(path, layerBytes());
        pipe(folder.resolve("qnnrt.json"));
        refused("a_pipe_as_json", io, "qnnrt.json: it is not a regular file", "Check", () -> open(folder));
        try (RandomAccessFile zero = new RandomAccessFile("/dev/zero", "r")) {
            int fd = number(zero.getFD());
            refused("a_device_as_descriptor", io, "not of a regular file", "Copy",
                    () -> open(options().file("zero", fd, 0, 4096)));
        }
        try (FileOutputStream file = new FileOutputStream(work.resolve("written").toFile())) {
            file.write(layerBytes());
            int fd = number(file.getFD());
            refused("a_descriptor_for_writing", io, "cannot be mapped", "for reading",
                    () -> open(options().file("written", fd, 0, -1)));
            file.getChannel().truncate(0);
            refused("a_descriptor_of_nothing", io, "has 0 bytes", "whole",
                    () -> open(options().file("written", fd, 0, -1)));
        }
        refused("a_folder_as_file", io, "it is a folder", "Check", () -> open(options().file(layer)));
        refused("a_file_as_folder", io, "cannot read the folder", "Give the folder",
                () -> open(Paths.get(layer, "layer.bin")));
    }

    /** An asset that is stored opens at its place; one that is compressed is no context binary. */
    private static void assets() throws Exception {
        byte[] binary = layerBytes();
        CRC32 sum = new CRC32();
        sum.update(binary);
        int[] method = {ZipEntry.STORED, ZipEntry.DEFLATED};
        for (int i = 0; i < 2; ++i) {
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            ZipEntry entry = new ZipEntry("assets/layer.bin");
            try (ZipOutputStream zip = new ZipOutputStream(bytes)) {
                entry.setMethod(method[i]);
                if (i == 0) {
                    entry.setSize(binary.length);
                    entry.setCrc(sum.getValue());
                }
                zip.putNextEntry(entry);
                zip.write(binary);
                zip.closeEntry();
            }
            Path apk = work.resolve("app.apk");
            Files.write(apk, bytes.toByteArray());
            long lead = 30 + entry.getName().length();       /* the head of an entry in a zip archive */
            try (RandomAccessFile file = new RandomAccessFile(apk.toFile(), "r")) {
                int fd = number(file.getFD());
                Qnnrt.Options options = options().file("layer.bin", fd, lead, entry.getCompressedSize());
                if (i == 0) {
                    open(options);
                } else {
                    refused("a_compressed_asset", QnnrtException.FORMAT, "layer.bin: ", "", () -> open(options));
                }
                refused("a_package_as_asset", QnnrtException.FORMAT, "zip archive", "",
                        () -> open(options().file("layer.bin", fd, 0, -1)));
            }
        }
    }

    private static Path pack(String name, String... files) throws IOException {
        Path folder = Files.createDirectory(work.resolve(name));
        for (String file : files) {
            Files.copy(Paths.get(llm, file), folder.resolve(file));
        }
        return folder;
    }

    /** A pack that is half there. */
    private static void packs() throws Exception {
        int format = QnnrtException.FORMAT;
        refused("no_file", QnnrtException.NOT_FOUND, "no *.bin", "Give the folder", () -> open(pack("none")));
        refused("a_shard_is_missing", format, "shard 2 is missing", "missing file", () -> open(pack("middle",
                "forward_0.bin", "forward_1.bin", "forward_3.bin", "qnnrt.json")));
        refused("the_last_shard_is_missing", QnnrtException.NOT_FOUND, "lacks an output with logits", "all shards", () -> {
            try (Qnnrt.Model model = new Qnnrt.Model(pack("last", "forward_0.bin", "forward_1.bin",
                    "forward_2.bin").toString(), options())) {
                model.llm().close();
            }
        });
        String[] all = {"forward_0.bin", "forward_1.bin", "forward_2.bin", "forward_3.bin", "qnnrt.json"};
        Path folder = pack("all", all);
        open(folder);
        for (String name : new String[] {"forward_2.bin", "qnnrt.json"}) {
            Path file = folder.resolve(name);
            byte[] whole = Files.readAllBytes(file);
            Files.write(file, Arrays.copyOf(whole, whole.length / 2));
            refused("half_of_" + name, format, name, name.endsWith("n") ? "" : "Repair", () -> open(folder));
            Files.write(file, new byte[whole.length]);
            refused("zeros_in_" + name, format, name, () -> open(folder));
            Files.write(file, new byte[0]);
            refused("nothing_in_" + name, format, name, () -> open(folder));
            Files.write(file, whole);
        }
        open(folder);
    }

    /** Stub and skel of another release, as a phone's vendor folders may have them. */
    private static void releases() {
        for (String function : new String[] {"backendCreate", "deviceCreate", "contextCreateFromBinary"}) {
            JniTest.control(library, "faults fail=" + function + ":0x3f0");
            QnnrtException thrown = refused("another_release_" + function, QnnrtException.BACKEND,
                    "stub and skel are of different releases", "ADSP_LIBRARY_PATH", () -> open(Paths.get(layer)));
            equal("another_release_" + function, 0x3f0L, thrown == null ? 0 : thrown.vendorCode & 0xFFFF);
            JniTest.control(library, "faults");
            open(Paths.get(layer));
        }
    }

    /* ---- permissions and space --------------------------------------------------------------- */

    private static void skels(Path folder) {
        String list = String.join("", Collections.nCopies(64, "0")) + "  libQnnHtpV75Skel.so\n";
        QnnrtSkels.install(name -> new ByteArrayInputStream(list.getBytes()), folder.toFile(), 75);
    }

    private static void copy(Path folder) {
        QnnrtCopy.fill(Collections.singletonList(new QnnrtCopy.Source("a", -1,
                () -> new ByteArrayInputStream(new byte[10000]))), folder.toFile(), null);
    }

    /** With permission nothing but an exception of the layer comes, without it one that names the place. */
    private static void denied(String name, Path closed, String word, String hint, Body body) throws Exception {
        try {
            body.run();
        } catch (QnnrtException good) {
            check(name + "_with_permission", good.hint.length() > 0, good.getMessage());
        }
        File file = closed.toFile();
        try {
            file.setReadable(false);
            file.setExecutable(false);
            file.setWritable(false);
            JniTest.user(NOBODY);
            refused(name, QnnrtException.IO, word, hint, body);
        } finally {
            JniTest.user(0);
            file.setReadable(true);
            file.setExecutable(true);
            file.setWritable(true);
        }
    }

    private static void permissions() throws Exception {
        Path closed = Files.createDirectory(work.resolve("closed")), file = closed.resolve("layer.bin");
        Files.write(file, layerBytes());
        String here = closed.toString(), reads = "may read it";
        try (QnnrtProcess process = near(closed); QnnrtProcess.Model far = process.open(layer, library)) {
            denied("a_closed_folder", closed, "Permission denied", reads, () -> open(closed));
            denied("a_file_in_it", closed, file + ": Permission denied", reads,
                    () -> open(options().file(file.toString())));
            denied("a_closed_folder_to_choose", closed, "Permission denied", reads,
                    () -> QnnrtDevice.folder(here, new File(library).getParent()));
            denied("a_copy_into_it", closed, "cannot make the folder " + here, "Check the folder",
                    () -> copy(closed.resolve("copy")));
            denied("skels_in_it", closed, "cannot make the folder", "Name a folder", () -> skels(closed.resolve("skels")));
            denied("memory_in_it", closed, "no memory in " + here, "storage",
                    () -> far.prepare(null).close());
            far.prepare(null).close();
        }
        String[] left = closed.toFile().list();
        Arrays.sort(left);
        equal("what_is_left", "[copy.whole, layer.bin, skels]", Arrays.toString(left));
    }

    /** No file may grow: neither the memory of a run, nor that of a process, nor a copy. */
    private static void space() throws Exception {
        QnnrtException[] found = new QnnrtException[4];
        String[] memory = new String[4];
        Path full = Files.createDirectory(work.resolve("full"));
        try (Qnnrt.Model model = new Qnnrt.Model(llm, options()); QnnrtProcess process = near(full);
                QnnrtProcess.Model far = process.open(layer, library)) {
            String name = model.pipelines().get(0);
            Body[] bodies = {() -> model.prepare(name, Qnnrt.Memory.MEMFD).close(),
                () -> model.llm(Qnnrt.Memory.MEMFD).close(), () -> far.prepare(null).close(),
                () -> copy(full.resolve("copy"))};
            int limited = JniTest.most(4096);               /* from here on nothing may print, either */
            try {
                for (int i = 0; i < bodies.length; ++i) {
                    try {
                        bodies[i].run();
                    } catch (QnnrtException thrown) {
                        found[i] = thrown;
                    }
                }
                try (Qnnrt.Run run = model.prepare(name, Qnnrt.Memory.SHARED);
                        QnnrtLlm llm = model.llm(Qnnrt.Memory.SHARED)) {
                    memory = new String[] {run.memory(), run.whyNotShared(), llm.memory(), llm.whyNotShared()};
                }
            } finally {
                JniTest.most(-1);
            }
            equal("files_are_limited", 0, limited);
            int[] code = {QnnrtException.UNSUPPORTED, QnnrtException.UNSUPPORTED, QnnrtException.IO, QnnrtException.IO};
            String[] word = {"from an anonymous file", "from an anonymous file", "no memory in " + full, "cannot write"};
            for (int i = 0; i < bodies.length; ++i) {
                QnnrtException thrown = found[i];
                refused("no_space_" + i, code[i], word[i], "", () -> {
                    if (thrown != null) {
                        throw thrown;
                    }
                });
                bodies[i].run();
            }
            equal("no_shared_memory", "heap heap", memory[0] + " " + memory[2]);
            check("no_shared_memory_why", memory[1].contains("an anonymous file") && memory[3].contains("an anonymous file"),
                    memory[1] + " and " + memory[3]);
        }
        equal("nothing_half_written", "[copy.whole]", Arrays.toString(full.toFile().list()));
    }

    /* ---- openings that are cancelled --------------------------------------------------------- */

    /** Says "now" after a time. */
    private static final class Clock extends Thread {
        private volatile long at = Long.MAX_VALUE;
        private volatile boolean now, done;

        void start(long nanos) {
            now = false;
            at = System.nanoTime() + nanos;
            LockSupport.unpark(this);
        }

        @Override
        public void run() {
            while (!done) {
                long rest = at == Long.MAX_VALUE ? Long.MAX_VALUE : at - System.nanoTime();
                if (rest > 0) {
                    LockSupport.parkNanos(this, rest);
                } else {
                    at = Long.MAX_VALUE;
                    now = true;
                }
            }
        }
    }

    private static final class Enough extends RuntimeException {
        private static final long serialVersionUID = 1;
    }

    private static ByteBuffer content(File file) throws IOException {
        byte[] bytes = Files.readAllBytes(file.toPath());
        ByteBuffer content = Qnnrt.buffer(bytes.length);
        content.put(bytes).rewind();
        return content;
    }

    /** Openings by folder, by memory, and with files that take turns, which another thread ends. */
    private static void cancelled(int count) throws Exception {
        File[] shards = new File(llm).listFiles((at, name) -> name.endsWith(".bin"));
        Arrays.sort(shards);
        Qnnrt.Options memory = options();
        for (File shard : shards) {
            memory.file(shard.getName(), content(shard));
        }
        Qnnrt.Options[] ways = {options(), memory, options().budget(0).keepGoing(true)};
        Random random = new Random(33);
        Clock clock = new Clock();
        int[] moments = new int[shards.length + 2];         /* at a file, or not at all */
        int lost = 0, blocks = 0, alive = 0;
        int[] last = new int[1];
        clock.start();
        for (int i = -30; i < count; ++i) {
            Qnnrt.Options options = ways[Math.floorMod(i, 3)];
            boolean throwing = i % 4 == 0;
            long before = JniTest.blocks(false), begin = System.nanoTime();
            boolean opened = false, ended = false;
            last[0] = shards.length + 1;
            options.progress((done, all, file) -> {
                boolean now = clock.now;
                last[0] = now ? done : shards.length + 1;
                if (now && throwing) {
                    throw new Enough();
                }
                return !now;
            });
            clock.start(i < 0 ? Long.MAX_VALUE / 2 : (long) (random.nextDouble() * 1.3 * whole));
            try {
                new Qnnrt.Model(options == ways[1] ? null : llm, options).close();
                opened = true;
            } catch (Enough thrown) {
                ended = throwing;
            } catch (QnnrtException thrown) {
                ended = !throwing && thrown.code == QnnrtException.CANCELLED;
            }
            if (i < 0) {
                whole = i < -10 ? Long.MAX_VALUE : Math.min(whole, System.nanoTime() - begin);
                continue;
            }
            ++moments[last[0]];
            lost += opened == ended || opened != (last[0] == shards.length + 1) ? 1 : 0;
            blocks += JniTest.blocks(false) != before ? 1 : 0;
            alive += i % 50 == 0 && !JniTest.control(library, "ledger").isEmpty() ? 1 : 0;
        }
        clock.done = true;
        LockSupport.unpark(clock);
        clock.join();
        System.out.println(count + " openings ended before file 1, 2, ..., at the end, not at all: "
                + Arrays.toString(moments) + "; " + whole / 1000 + " us for a whole one");
        equal("lost_cancellations", 0, lost);
        equal("cancellations_that_leave_blocks", 0, blocks);
        equal("cancellations_that_leave_objects", 0, alive);
        for (int i = 0; i < moments.length; ++i) {
            check("cancelled_at_all_moments", moments[i] > 0, "none at " + i);
        }
        open(Paths.get(llm));
    }

    private static long whole = Long.MAX_VALUE;             /* the time of an opening */

    public static void main(String[] arguments) {
        suite = "test_jni: input";
        library = arguments[0];
        layer = arguments[1];
        llm = arguments[2];
        work = Paths.get(arguments[3]);
        System.loadLibrary("probe");
        part("pipes", InputTest::pipes);
        part("assets", InputTest::assets);
        part("packs", InputTest::packs);
        part("releases", InputTest::releases);
        part("permissions", InputTest::permissions);
        part("space", InputTest::space);
        part("cancelled", () -> cancelled(Integer.parseInt(arguments[4])));
        equal("nothing_of_the_backend_is_alive", "", JniTest.control(library, "ledger"));
        System.exit(end());
    }
}
