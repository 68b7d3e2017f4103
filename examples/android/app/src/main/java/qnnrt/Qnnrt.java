package qnnrt;

import java.lang.ref.PhantomReference;
import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * qnnrt.h for Java and Kotlin; qnnrt_jni_open.c and qnnrt_jni_run.c are the other half. QnnrtLlm has
 * the language models.
 *
 * <pre>
 *   Qnnrt.Options options = new Qnnrt.Options().backend(libraries + "/libQnnHtp.so")
 *           .memory(Qnnrt.Memory.SHARED).power(Qnnrt.Power.BURST);
 *   try (Qnnrt.Model model = new Qnnrt.Model(folder, options);
 *        Qnnrt.Run run = model.prepare(null)) {
 *       run.data("input_ids").asIntBuffer().put(tokens);  // memory that the NPU sees
 *       run.exec();
 *       ShortBuffer logits = run.data("logits").asShortBuffer();
 *   }
 * </pre>
 *
 * Memory: an NPU sees only memory that is registered with it. With Memory.SHARED, data() is a view of
 * such memory, and nothing is copied. What bind() is given is copied by the vendor's library at each
 * exec on an NPU; libQnnRef.so and libQnnCpu.so use it in place. Run.whyCopied() tells.
 *
 * Lifetime of buffers: those of data() and buffer() stay valid as long as the program can reach them
 * or a view of them, also after close(); their memory is freed when the collector has found that
 * nobody can. trim() frees it at once then. After close() no backend writes to them any more.
 *
 * This file is Java, not Kotlin, so that a desk with a JDK and nothing else compiles and tests it.
 * It uses Java 8 only, which is what Android has from API level 24 on.
 *
 * Ownership: close a Run and a QnnrtLlm before their Model; Model.close() throws BUSY otherwise and
 * closes nothing. A second close() does nothing, as AutoCloseable recommends. An object that is not
 * closed keeps its memory until the process ends: there are no finalizers, because they would free
 * a model on a thread of their own.
 *
 * Threads: any thread may open models and use them, and two Runs or QnnrtLlms may be used at the same
 * time; calls into the vendor's library wait for each other. One Run or QnnrtLlm serves one thread at a
 * time: a second thread gets a QnnrtException with BUSY. Only QnnrtLlm.stop(), and stop() of its
 * calls, may be called from any thread.
 *
 * Errors: a QnnrtException, which is unchecked, with cause and remedy. Misuse is one, too, and does
 * not end the process. Two things are beyond this: a mapped file that is cut short while its buffer
 * is bound, and memory that the caller unmaps by force. When the heap of Java is full, a call throws
 * an OutOfMemoryError; what it made until then is freed. The first use of the class throws an
 * UnsatisfiedLinkError if libqnnrt_jni.so is not in the package.
 *
 * R8: an app that takes the AAR has its rules; one that takes the sources takes consumer-rules.pro.
 */
public final class Qnnrt {
    static {
        System.loadLibrary("qnnrt_jni");
    }

    private Qnnrt() { }

    /**
     * Tell the version of qnnrt.h. Any thread; throws nothing.
     *
     * @return such as "0.5.0"
     */
    public static String version() {
        return text(nativeVersion());
    }

    /**
     * What tensors live in. Threads: any. Errors: what a kind cannot do is thrown by the call that
     * is given it.
     */
    public enum Memory {
        /** Plain memory: an NPU's library copies each tensor at every exec. */
        PLAIN("heap"),
        /**
         * The first that works of RPCMEM, DMABUF and, on libQnnRef.so, MEMFD; else PLAIN, and
         * Run.whyNotShared() says why.
         */
        SHARED("shared"),
        /** FastRPC's allocator in the phone's libcdsprpc.so; where it is missing, an exception. */
        RPCMEM("rpcmem"),
        /** The kernel's heap "system"; where the app may not open it, an exception. */
        DMABUF("dmabuf"),
        /** An anonymous file, which NPUs do not take. */
        MEMFD("memfd");

        final String word;

        Memory(String word) {
            this.word = word;
        }
    }

    /** Votes for the clocks of the NPU, from the fastest to the most saving. Threads: any. */
    public enum Power {
        /** The highest clocks, for a short time. */
        BURST,
        /** High clocks that a phone can keep. */
        SUSTAINED_HIGH_PERFORMANCE,
        /** High clocks. */
        HIGH_PERFORMANCE,
        /** Between speed and energy. */
        BALANCED,
        /** Below BALANCED. */
        LOW_BALANCED,
        /** The fastest of those that save energy. */
        HIGH_POWER_SAVER,
        /** Low clocks. */
        POWER_SAVER,
        /** The lowest clocks. */
        LOW_POWER_SAVER
    }

    /** Levels of the log, each with those before it. Threads: any. */
    public enum Level {
        /** What failed. */
        ERROR,
        /** What may fail later. */
        WARN,
        /** What happens. */
        INFO,
        /** The same with details. */
        VERBOSE,
        /** For those who wrote the library. */
        DEBUG
    }

    /** What the vendor's library measures. Threads: any. */
    public enum Profile {
        /** Nothing. */
        OFF,
        /** Totals. */
        BASIC,
        /** Totals and each node. */
        DETAILED
    }

    /**
     * Hears how far an opening is, and can end it. Threads: called on the thread that opens.
     * Ownership: it is kept until the opening has ended. Errors: what it throws ends the opening.
     */
    public interface Progress {
        /**
         * Called on the thread that opens, before each file, and once more at the end with done
         * equal to count and an empty file. It must not open or close a model. What it throws ends
         * the opening, and the constructor of Model throws it.
         *
         * @param done number of files that are loaded
         * @param count number of all files
         * @param file the next one, as messages name it
         * @return whether to go on; with false everything is freed, and the constructor throws a
         *     QnnrtException with CANCELLED. A file that is being loaded is not interrupted
         */
        boolean file(int done, int count, String file);
    }

    /**
     * Takes the lines of the log; on Android logcat has them, too. Threads: called on any thread.
     * Ownership: the model keeps it until it is closed. Errors: what it throws is dropped.
     */
    public interface Log {
        /**
         * Called on any thread, the vendor's included, and while a lock is held: it must not call a
         * Model, Run or QnnrtLlm, which could wait for ever. What it throws is dropped.
         *
         * @param level of the line
         * @param part "vendor", or the part of qnnrt that says it
         * @param vendorCode the vendor's code, 0: none
         * @param text the line, without its end
         */
        void line(Level level, String part, long vendorCode, String text);
    }

    /**
     * How a model is opened. Each method sets one option and returns this object.
     *
     * Threads: any; one at a time uses an object, and none changes it while a model is opened with
     * it. Ownership: an object may be used for several models, is not closed, and keeps the
     * listeners and buffers that it was given. Errors: those in values are thrown by the
     * constructor of Model, unless a method says otherwise.
     */
    public static final class Options {
        /* QnnrtWork takes them to another process. */
        final Map<String, Long> numbers = new LinkedHashMap<>();
        final Map<String, String> roles = new LinkedHashMap<>();
        final List<Source> sources = new ArrayList<>();
        String backend, system;
        Memory memory = Memory.PLAIN;
        Progress progress;
        Log log;

        /** Begin with defaults: plain memory, no vote, no limit changed. Throws nothing. */
        public Options() { }

        /**
         * Set the backend library of the model; of a folder for several backends, that of the first
         * context.
         *
         * @param path such as getApplicationInfo().nativeLibraryDir + "/libQnnHtp.so"; null:
         *     libQnnHtp.so, searched beside libqnnrt_jni.so and by the system
         * @return this object
         */
        public Options backend(String path) {
            backend = path;
            return this;
        }

        /**
         * Set the library of a role of a folder for several backends.
         *
         * @param role such as "cpu"
         * @param path the library; null: the one of the role's backend, searched
         * @return this object
         * @throws QnnrtException ARG: the role is null
         */
        public Options backend(String role, String path) {
            required("role", role);
            roles.put(role, path);
            return this;
        }

        /**
         * Set the library that reads metadata.
         *
         * @param path libQnnSystem.so; null: the one beside the backend library
         * @return this object
         */
        public Options systemLibrary(String path) {
            system = path;
            return this;
        }

        /**
         * Name the chip.
         *
         * @param model the vendor's number, such as 57; 0: the library chooses
         * @return this object
         */
        public Options socModel(int model) {
            return number("soc_model", model);
        }

        /**
         * Vote for clocks from opening to closing; Model.power() tells the answer.
         *
         * @param power null: no vote
         * @return this object
         */
        public Options power(Power power) {
            return number("power", power == null ? 0 : power.ordinal() + 1);
        }

        /**
         * Choose the memory of runs that prepare(pipeline) makes; at first it is Memory.PLAIN.
         *
         * @param kind what their tensors live in
         * @return this object
         * @throws QnnrtException ARG: the kind is null
         */
        public Options memory(Memory kind) {
            required("memory", kind);
            memory = kind;
            return this;
        }

        /**
         * Let the files of a model take turns on the device: an exec loads what it needs, and frees
         * others.
         *
         * @param bytes at most so many of a model are loaded; 0: one file at a time
         * @return this object
         * @throws QnnrtException ARG: bytes are below 0
         */
        public Options budget(long bytes) {
            notNegative("budget", bytes);
            return number("budget", bytes).number("has_budget", 1);
        }

        /**
         * Compare each file of a folder with the SHA-256 in its qnnrt.json, also when loaded again.
         *
         * @param all whether to; at first false
         * @return this object
         */
        public Options verify(boolean all) {
            return number("verify", all ? 1 : 0);
        }

        /**
         * Load what loads: a context that fails is reported by Model.contexts().
         *
         * @param go whether to; at first false
         * @return this object
         */
        public Options keepGoing(boolean go) {
            return number("keep_going", go ? 1 : 0);
        }

        /**
         * Read files instead of mapping them: for files that others may change.
         *
         * @param all whether to; at first false
         * @return this object
         */
        public Options read(boolean all) {
            return number("read", all ? 1 : 0);
        }

        /**
         * Measure the loading, for Model.loadEvents().
         *
         * @param level at first Profile.OFF
         * @return this object
         * @throws QnnrtException ARG: the level is null
         */
        public Options profile(Profile level) {
            required("level", level);
            return number("profile", level.ordinal());
        }

        /**
         * Set a limit for hostile files. A name that does not exist is thrown by the constructor of
         * Model, with NOT_FOUND.
         *
         * @param name of a field of qnnrt_limits, such as "file_bytes"
         * @param value 0: its default
         * @return this object
         * @throws QnnrtException ARG: the name is null, or the value below 0
         */
        public Options limit(String name, long value) {
            required("limit", name);
            notNegative("limit " + name, value);
            return number("limit " + name, value);
        }

        /**
         * Choose the lines of the vendor's library and of the log; at first the library logs errors
         * and warnings.
         *
         * @param most the last level that is logged
         * @param log takes the lines; null: only logcat does
         * @return this object
         * @throws QnnrtException ARG: the level is null
         */
        public Options log(Level most, Log log) {
            required("level", most);
            this.log = log;
            return number("log_level", most.ordinal() + 1);
        }

        /**
         * Hear how far the opening is.
         *
         * @param listener null: nobody hears
         * @return this object
         */
        public Options progress(Progress listener) {
            progress = listener;
            return this;
        }

        /**
         * Add a context binary by its path. Files are one model, in this order; the folder is null.
         *
         * @param path of a file
         * @return this object
         * @throws QnnrtException ARG: the path is null
         */
        public Options file(String path) {
            return source(path, null, -1, 0, 0);
        }

        /**
         * Add a context binary that lies in a file of an open descriptor, such as an asset or a
         * document.
         *
         * <pre>
         *   try (AssetFileDescriptor asset = getAssets().openFd("model.bin")) {
         *       options.file("model.bin", asset.getParcelFileDescriptor().getFd(),
         *               asset.getStartOffset(), asset.getLength());
         *       model = new Qnnrt.Model(null, options);
         *   }
         * </pre>
         *
         * openFd() throws for an asset that is compressed: add the ending to
         * androidResources.noCompress. The file is mapped, not read; it must not become shorter
         * until the model is closed.
         *
         * @param name in messages
         * @param fd open until the constructor of Model returns; it stays the caller's
         * @param offset where the binary begins
         * @param bytes its size; -1: to the end of the file
         * @return this object
         * @throws QnnrtException ARG: the name is null, or fd is below 0
         */
        public Options file(String name, int fd, long offset, long bytes) {
            if (fd < 0) {
                throw fail("the descriptor is " + fd, "Give it before it is closed.");
            }
            return source(name, null, fd, offset, bytes);
        }

        /**
         * Add a context binary in memory.
         *
         * @param name in messages
         * @param content direct; from its position to its limit. The model keeps a reference to it,
         *     and it must not change until the model is closed
         * @return this object
         * @throws QnnrtException ARG: a null, or a buffer that is not direct
         */
        public Options file(String name, ByteBuffer content) {
            required("content", content);
            if (!content.isDirect()) {
                throw fail(name + " lies in the heap of Java, where it can move",
                        "Make it with Qnnrt.buffer(), or map the file.");
            }
            return source(name, content.slice(), -1, 0, 0);
        }

        private Options source(String name, ByteBuffer content, int fd, long offset, long bytes) {
            required("name", name);
            sources.add(new Source(name, content, fd, offset, bytes));
            return this;
        }

        private Options number(String name, long value) {
            numbers.put(name, value);
            return this;
        }

        /** Return another object with the same options. */
        Options copy() {
            Options made = new Options().backend(backend).systemLibrary(system).memory(memory)
                    .progress(progress);
            made.numbers.putAll(numbers);
            made.roles.putAll(roles);
            made.sources.addAll(sources);
            made.log = log;
            return made;
        }

        /** Give all of it to a model that is not open yet. */
        private void apply(long model) {
            for (Map.Entry<String, Long> number : numbers.entrySet()) {
                nativeNumber(model, utf8("option", number.getKey()), number.getValue());
            }
            nativeBackend(model, null, optional("backend", backend), optional("library", system));
            for (Map.Entry<String, String> role : roles.entrySet()) {
                nativeBackend(model, utf8("role", role.getKey()),
                        optional("backend", role.getValue()), null);
            }
            for (Source one : sources) {
                nativeFile(model, utf8("name", one.name), one.content, one.fd, one.offset, one.bytes);
            }
        }
    }

    /** A context binary that is not found by its place in a folder. */
    static final class Source {
        final String name;
        final ByteBuffer content;
        final int fd;
        final long offset, bytes;

        Source(String name, ByteBuffer content, int fd, long offset, long bytes) {
            this.name = name;
            this.content = content;
            this.fd = fd;
            this.offset = offset;
            this.bytes = bytes;
        }
    }

    /**
     * A context binary of an open model, as it was when Model.contexts() returned it. Threads: any;
     * nothing changes. Ownership: numbers and texts only. Errors: none.
     */
    public static final class Context {
        /** Its file name, and the role of its backend, "" in a folder for one backend. */
        public final String file, role;
        /** Why it did not load, with Options.keepGoing(); "" if it did. */
        public final String failure;
        /** Estimate of what it takes on the device. */
        public final long deviceBytes;
        /** Whether it is on the backend now. */
        public final boolean loaded;

        Context(String[] texts, long[] facts) {
            file = texts[0];
            role = texts[1];
            failure = texts[2];
            deviceBytes = facts[0];
            loaded = facts[1] != 0;
        }
    }

    /**
     * What a vendor's library measured. Threads: any; nothing changes. Ownership: numbers and texts
     * only. Errors: none.
     */
    public static final class Event {
        /** The library's name of it, the node that was measured or "", and "us", "cycles", ... */
        public final String name, node, unit;
        /** How much it is, in the unit. */
        public final double value;
        /** When it was measured, in microseconds; 0: not known. */
        public final long time;
        /** 0, or more: a part of the nearest event before it with a smaller depth. */
        public final int depth;
        /** Number of the step of a run, or of the context that was loaded. */
        public final int step;

        Event(String[] texts, double[] facts) {
            name = texts[0];
            node = texts[1];
            unit = texts[2];
            value = facts[0];
            time = (long) facts[1];
            depth = (int) facts[2];
            step = (int) facts[3];
        }
    }

    /* Native memory of buffers that the program had: each is freed when its buffer is unreachable. */
    private static final ReferenceQueue<ByteBuffer> gone = new ReferenceQueue<>();
    private static final Set<View> views = new HashSet<>();
    private static long viewBytes;

    /** A buffer that native code made; views of it keep it reachable. */
    private static final class View extends PhantomReference<ByteBuffer> {
        private final long block, bytes;

        View(ByteBuffer buffer, long block) {
            super(buffer, gone);
            this.block = block;
            bytes = buffer.capacity();
        }
    }

    /** Watch a buffer that native code made, and return it in native order. */
    private static ByteBuffer watch(ByteBuffer buffer, long block) {
        View view;
        try {
            view = new View(buffer, block);
            synchronized (views) {
                views.add(view);
                viewBytes += view.bytes;
            }
        } catch (Throwable thrown) {
            nativeDrop(block);
            throw thrown;
        }
        return buffer.order(ByteOrder.nativeOrder());
    }

    /**
     * Free the native memory of buffers that the program cannot reach any more, as far as the
     * collector has found them. Models, runs and buffers do this, too. Any thread; throws nothing.
     */
    public static void trim() {
        Reference<? extends ByteBuffer> found;
        while ((found = gone.poll()) != null) {
            View view = (View) found;
            synchronized (views) {
                views.remove(view);
                viewBytes -= view.bytes;
            }
            nativeDrop(view.block);
        }
    }

    /** Make room before more memory is asked for: the collector does not see native memory. */
    private static void trim(long more) {
        trim();
        boolean much;
        synchronized (views) {
            much = viewBytes > VIEW_BYTES && more > 0;
        }
        if (much) {
            System.gc();
            trim();
        }
    }

    /** Bytes of buffers that may wait for the collector before it is called. */
    private static final long VIEW_BYTES = 256 << 20;

    /**
     * Make a direct buffer of zeros in native memory, aligned to 64 bytes, in native order.
     * ByteBuffer.allocateDirect() of Android takes memory of the heap of Java, aligned to 8. It
     * stays valid as long as it or a view of it is reachable. Any thread.
     *
     * @param bytes its size, 0 or more
     * @return the buffer
     * @throws QnnrtException ARG: bytes are below 0; MEMORY: there is not so much
     */
    public static ByteBuffer buffer(int bytes) {
        if (bytes < 0) {
            throw fail("a buffer of " + bytes + " bytes", "");
        }
        trim(bytes);
        long[] block = new long[1];
        return watch(nativeBuffer(bytes, block), block[0]);
    }

    /**
     * A tensor that a pipeline reads or writes. Threads: any; what is public does not change.
     * Ownership: it belongs to its Run, and may be read after close(). Errors: none.
     */
    public static final class Tensor {
        /** The shortest name that finds it. */
        public final String name;
        /** "input", "output" or "edge". */
        public final String role;
        /** Type, dims and encoding: "ufixed16[1,32,128] scale 0.00012 offset -32768". */
        public final String text;
        /** Number of elements, and of the bytes that hold them. */
        public final long count, bytes;
        private final int[] dims;
        private final long slot;
        private ByteBuffer bound;             /* keeps the memory alive that the backend uses */
        private ByteBuffer own;               /* a view of the memory of the run, made when asked for */
        private boolean omitted;

        private Tensor(String[] texts, long[] facts) {
            name = texts[0];
            role = texts[1];
            text = texts[2];
            slot = facts[0];
            bytes = facts[1];
            count = facts[2];
            dims = new int[(int) facts[3]];
            for (int i = 0; i < dims.length; ++i) {
                dims[i] = (int) facts[4 + i];
            }
        }

        /**
         * Tell the dimensions: of dynamic ones, the most.
         *
         * @return a copy, row-major
         */
        public int[] dims() {
            return dims.clone();
        }
    }

    /**
     * A folder of context binaries, opened on a backend.
     *
     * Threads: any; calls of one Model wait for each other, and opening and closing are of one
     * Model at a time. Opening, llm(), prepare() and recover() take up to seconds: not on the main
     * thread. Ownership: the caller closes it, after its Runs and QnnrtLlms. Errors: each method
     * but close() may throw a QnnrtException with STATE (it is closed) or MEMORY, and what is said
     * there.
     */
    public static final class Model implements AutoCloseable {
        final AtomicInteger calls = new AtomicInteger();   /* of parts; -1: it recovers */
        private final Options keep;           /* with what the model reads in place */
        private final Memory memory;
        private long model;

        /**
         * Open all context binaries of a folder, or its program for several backends.
         *
         * @param folder of the files, and of a qnnrt.json if there is one
         * @param backend the backend library, see Options.backend(). Set ADSP_LIBRARY_PATH before,
         *     with android.system.Os.setenv()
         * @throws QnnrtException if anything fails; nothing stays open. ARG: the folder is null;
         *     NOT_FOUND, IO: a file; FORMAT, LIMIT: its content; LIBRARY, VERSION: the library;
         *     MISMATCH, UNSUPPORTED, BACKEND: both together
         */
        public Model(String folder, String backend) {
            this(utf8("folder", folder), new Options().backend(backend));
        }

        /**
         * Open a folder, or with null the files of the options.
         *
         * @param folder null: the options have files
         * @param options are not changed; what they name must stay the same until this returns
         * @throws QnnrtException if anything fails or the progress says so (CANCELLED); nothing
         *     stays open. ARG: no folder and no file, or both; others as in the constructor for a
         *     backend
         */
        public Model(String folder, Options options) {
            this(folder(folder, options), options);
        }

        private Model(byte[] path, Options options) {
            keep = options;
            memory = options.memory;
            trim();
            synchronized (Qnnrt.class) {      /* a library is opened and closed by one at a time */
                long opening = nativeNew(options.log);
                boolean open = false;
                try {
                    options.apply(opening);
                    nativeOpen(opening, path, options.progress);
                    open = true;
                } finally {
                    if (!open) {
                        nativeClose(opening);
                    }
                }
                model = opening;
            }
        }

        static byte[] folder(String folder, Options options) {
            required("options", options);
            if (folder != null && !options.sources.isEmpty()) {
                throw fail("there are a folder and files", "Give null as the folder, or no files.");
            }
            if (folder == null && options.sources.isEmpty()) {
                throw fail("the folder is null, and the options have no files", "");
            }
            return optional("folder", folder);
        }

        /**
         * Tell what prepare() takes.
         *
         * @return the names, in the order of the files; the caller's
         */
        public synchronized List<String> pipelines() {
            List<String> names = new ArrayList<>();
            long handle = handle();
            byte[] name;
            while ((name = nativePipeline(handle, names.size())) != null) {
                names.add(text(name));
            }
            return names;
        }

        /**
         * Tell what is open, and what of it is loaded now.
         *
         * @return the context binaries, in order; the caller's
         */
        public synchronized List<Context> contexts() {
            List<Context> all = new ArrayList<>();
            long handle = handle();
            long[] facts = new long[2];
            byte[] texts;
            while ((texts = nativeContext(handle, all.size(), facts)) != null) {
                all.add(new Context(text(texts).split("\0", 3), facts));
            }
            return all;
        }

        /**
         * Tell what was measured while contexts were loaded.
         *
         * @return the events; none without Options.profile()
         */
        public synchronized List<Event> loadEvents() {
            long handle = handle();
            List<Event> events = new ArrayList<>();
            double[] facts = new double[4];
            byte[] texts;
            while ((texts = nativeLoadEvent(handle, events.size(), facts)) != null) {
                events.add(new Event(text(texts).split("\0", 3), facts));
            }
            return events;
        }

        /**
         * Vote for other clocks on each backend of the model, until it is closed or recovers.
         *
         * @param power null: take the vote back
         * @return an answer in each line, such as "dcvs: applied"; what a backend refuses or has
         *     not is no failure
         * @throws QnnrtException BACKEND: the vendor's library failed
         */
        public synchronized String power(Power power) {
            synchronized (Qnnrt.class) {
                return text(nativePower(handle(), power == null ? 0 : power.ordinal() + 1));
            }
        }

        /**
         * Change the budget of a model that was opened with Options.budget(), and free what is
         * beyond it at once. In onTrimMemory(), a budget of 0 frees all of the model on the device;
         * Runs, QnnrtLlms and what they hold stay, and the next exec loads what it needs.
         *
         * @param bytes at most so many are loaded; 0: one file at a time, and none now
         * @throws QnnrtException BUSY: a thread is in a call of a Run or QnnrtLlm of the model;
         *     LIMIT: a file alone needs more; ARG: bytes are below 0, or the model was opened
         *     without a budget
         */
        public synchronized void budget(long bytes) {
            notNegative("budget", bytes);
            long handle = handle();
            alone(0, "budget()");
            try {
                nativeBudget(handle, bytes);
            } finally {
                calls.set(0);
            }
        }

        /**
         * Prepare a pipeline in the memory of Options.memory().
         *
         * @param pipeline one of pipelines(); null: the model's only one
         * @return a run, which the caller closes before the model
         * @throws QnnrtException NOT_FOUND: no such pipeline; MEMORY, UNSUPPORTED: no memory of the
         *     kind; ARG: a null kind; BACKEND, LIMIT
         */
        public Run prepare(String pipeline) {
            return prepare(pipeline, memory);
        }

        /**
         * Prepare a pipeline; several runs of one are independent.
         *
         * @param pipeline one of pipelines(); null: the model's only one
         * @param kind what its tensors live in
         * @return a run, which the caller closes before the model
         * @throws QnnrtException NOT_FOUND: no such pipeline; MEMORY, UNSUPPORTED: no memory of the
         *     kind; ARG: a null kind; BACKEND, LIMIT
         */
        public synchronized Run prepare(String pipeline, Memory kind) {
            required("memory", kind);
            trim(1);
            long run = nativePrepare(handle(), optional("pipeline", pipeline),
                    utf8("memory", kind.word));
            try {
                return new Run(this, run);
            } catch (Throwable thrown) {      /* no memory for the tensors: nobody else can close it */
                nativeDestroy(run);
                throw thrown;
            }
        }

        /**
         * Open the model as a language model, in the memory of Options.memory().
         *
         * @return a language model with a cache for one text, which the caller closes before the
         *     model
         * @throws QnnrtException MISMATCH: the model is no language model; MEMORY, UNSUPPORTED: no
         *     memory of the kind; ARG: a null kind; BACKEND, LIMIT
         */
        public QnnrtLlm llm() {
            return llm(memory);
        }

        /**
         * Open the model as a language model, with a cache for one text.
         *
         * @param kind what its tensors and its cache live in
         * @return a language model, which the caller closes before the model
         * @throws QnnrtException MISMATCH: the model is no language model; MEMORY, UNSUPPORTED: no
         *     memory of the kind; ARG: a null kind; BACKEND, LIMIT
         */
        public synchronized QnnrtLlm llm(Memory kind) {
            required("memory", kind);
            long llm = QnnrtLlm.nativeOpen(handle(), utf8("memory", kind.word));
            try {
                return new QnnrtLlm(this, llm);
            } catch (Throwable thrown) {
                QnnrtLlm.nativeClose(llm);
                throw thrown;
            }
        }

        /**
         * Create everything on the backend again, after a restart of the DSP (a QnnrtException with
         * isRestart()). Runs, bound buffers and what they hold stay: execute again what failed.
         * Profiles are off and votes for clocks are gone then.
         *
         * @throws QnnrtException BUSY: a thread is in a call of a Run or QnnrtLlm of the model;
         *     BACKEND: the vendor failed again; IO, NOT_FOUND: a file was replaced or is missing,
         *     and nothing was freed
         */
        public void recover() {
            recover(0);
        }

        /** Recover while a part is in so many calls, each of which waits for this. */
        synchronized void recover(int within) {
            long handle = handle();
            alone(within, "recover()");
            try {
                synchronized (Qnnrt.class) {
                    nativeRecover(handle);
                }
            } finally {
                calls.set(within);
            }
        }

        /** Refuse calls of parts until calls is set again; so many of them wait for this. */
        private void alone(int within, String call) {
            if (!calls.compareAndSet(within, -1)) {
                throw new QnnrtException(QnnrtException.BUSY, 0, "a Run or QnnrtLlm of the model "
                        + "is in use by another call", "Call " + call + " when it has returned.");
            }
        }

        /**
         * Free the model, and its backends. A second close() does nothing. Any thread.
         *
         * @throws QnnrtException BUSY while a Run or QnnrtLlm of it is open; nothing is closed
         */
        @Override
        public synchronized void close() {
            trim();
            synchronized (Qnnrt.class) {
                if (model != 0) {
                    nativeClose(model);
                    model = 0;
                }
            }
        }

        private long handle() {
            if (model == 0) {
                throw closed("model");
            }
            return model;
        }
    }

    /**
     * A pipeline that is ready to execute, made by {@link Model#prepare(String)}.
     *
     * Threads: any, one at a time. Ownership: the caller closes it before its Model; it keeps what
     * is bound. Errors: each method but tensors(), memory() and whyNotShared() may throw a
     * QnnrtException with STATE (it is closed, or see omit()) or BUSY (another thread is in a call
     * of it, or the model recovers); those with a name also NOT_FOUND (no tensor has it) and ARG (it is null).
     * After an error the next call may succeed.
     */
    public static final class Run extends QnnrtPart {
        private final Map<Long, Tensor> slots = new HashMap<>();
        private final List<Tensor> tensors = new ArrayList<>();
        private final String[] memory;

        private Run(Model model, long run) {
            super(model, "run", run);
            memory = text(nativeMemory(run)).split("\0", 3);
            long[] facts = new long[4 + 32];
            byte[] texts;
            while ((texts = nativeTensor(run, tensors.size(), facts)) != null) {
                Tensor tensor = new Tensor(text(texts).split("\0", 3), facts);
                tensors.add(tensor);
                slots.put(tensor.slot, tensor);
            }
        }

        /**
         * Tell what the pipeline reads and writes. Any thread at any time; throws nothing.
         *
         * @return all tensors, in the order in which the steps list them; it cannot be changed
         */
        public List<Tensor> tensors() {
            return Collections.unmodifiableList(tensors);
        }

        /**
         * Tell what the tensors live in. Any thread at any time; throws nothing.
         *
         * @return "rpcmem", "dmabuf", "memfd" or "heap"
         */
        public String memory() {
            return memory[0];
        }

        /**
         * Tell why Memory.SHARED is plain memory here. Any thread at any time; throws nothing.
         *
         * @return the reasons; "" if it is shared or was not asked for
         */
        public String whyNotShared() {
            return memory[0].equals("heap") ? memory[1] : "";
        }

        /**
         * Tell why the vendor's library copies a tensor at each exec. It tells of registered
         * memory: libQnnRef.so and libQnnCpu.so copy nothing anyway.
         *
         * @param name of a tensor
         * @return the reason; null: the library uses the memory in place
         * @throws QnnrtException MEMORY
         */
        public String whyCopied(String name) {
            long run = enter();
            try {
                byte[] reason = nativeCopied(run, find(run, name).slot);
                return reason == null ? null : text(reason);
            } finally {
                leave();
            }
        }

        /**
         * Let a tensor live in a buffer of the program: an input is read from it, an output written
         * to it. qnnrt copies nothing, but an NPU does not see this memory: its library copies the
         * tensor at each exec. What data() returns is not copied, with Memory.SHARED.
         *
         * Buffers of two tensors must not overlap, unless both are inputs.
         *
         * @param name of a tensor
         * @param buffer direct, in native order; from its position on, it has at least the tensor's
         *     bytes. Its position and limit may change later. The Run keeps a reference to it until
         *     the tensor is bound again, or the Run is closed
         * @throws QnnrtException ARG: a null, or a buffer of another kind; MISMATCH: too few bytes.
         *     What was bound stays then
         */
        public void bind(String name, ByteBuffer buffer) {
            long run = enter();
            try {
                Tensor tensor = find(run, name);
                check(tensor, buffer);
                ByteBuffer region = buffer.slice();
                nativeBind(run, tensor.slot, region, false);
                tensor.bound = region;
                tensor.omitted = false;
            } finally {
                leave();
            }
        }

        /**
         * Let a tensor live in the memory of the run again. Its content is not moved.
         *
         * @param name of a tensor
         * @throws QnnrtException MEMORY
         */
        public void unbind(String name) {
            long run = enter();
            try {
                Tensor tensor = find(run, name);
                nativeUnbind(run, tensor.slot);
                tensor.bound = null;
                tensor.omitted = false;
            } finally {
                leave();
            }
        }

        /**
         * Show the memory of a tensor, in native order, as a view with a position of its own: write
         * inputs into it before an exec, read outputs after it. Nothing is copied.
         *
         * The view stays valid, also after close(), as long as it is reachable; the next exec
         * writes outputs to it. After close() it is plain memory that nobody else uses. Two kinds
         * of tensors are moved to memory of their own in the first call, with the content that they
         * had, which an NPU's library copies: those between two steps, and those that the run has
         * no memory for.
         *
         * @param name of a tensor
         * @return the view
         * @throws QnnrtException LIMIT: it has more bytes than a buffer of Java holds; MEMORY
         */
        public ByteBuffer data(String name) {
            long run = enter();
            try {
                Tensor tensor = used(run, name);
                ByteBuffer memory = tensor.bound;
                if (memory == null) {
                    memory = tensor.own;
                }
                if (memory == null) {
                    int bytes = size(tensor, tensor.bytes);
                    long[] block = new long[1];
                    trim(bytes);
                    ByteBuffer view = nativeView(run, tensor.slot, block);
                    if (view != null) {
                        memory = tensor.own = watch(view, block[0]);
                    } else {
                        memory = buffer(bytes);
                        nativeBind(run, tensor.slot, memory, true);
                        tensor.bound = memory;
                    }
                }
                return memory.duplicate().order(ByteOrder.nativeOrder());
            } finally {
                leave();
            }
        }

        /**
         * Write numbers into an input, from its first element on, by its type and encoding.
         *
         * @param name of a tensor
         * @param values as many as are to be written
         * @throws QnnrtException ARG: the values are null, out of the tensor's range, or its buffer
         *     is read-only; MISMATCH: the tensor has fewer elements; UNSUPPORTED: its type has no
         *     conversion. Nothing is written then
         */
        public void write(String name, float[] values) {
            write(name, 0, values);
        }

        /**
         * Write numbers into an input, by its type and encoding.
         *
         * @param name of a tensor
         * @param begin the first element, row-major
         * @param values as many as are to be written
         * @throws QnnrtException ARG: the values are null, out of the tensor's range, or its buffer
         *     is read-only; MISMATCH: the tensor has fewer elements; UNSUPPORTED: its type has no
         *     conversion. Nothing is written then
         */
        public void write(String name, long begin, float[] values) {
            convert(name, begin, values, true, false);
        }

        /**
         * Write whole numbers, such as ids of tokens: the values, or the codes of quantized types.
         *
         * @param name of a tensor
         * @param begin the first element, row-major
         * @param values as many as are to be written
         * @throws QnnrtException ARG: the values are null, out of the tensor's range, or its buffer
         *     is read-only; MISMATCH: the tensor has fewer elements; UNSUPPORTED: its type has no
         *     conversion. Nothing is written then
         */
        public void write(String name, long begin, int[] values) {
            convert(name, begin, values, true, true);
        }

        /**
         * Read all elements of a tensor as numbers.
         *
         * @param name of a tensor
         * @return the numbers, row-major; the caller's
         * @throws QnnrtException LIMIT: more elements than an array of Java holds; UNSUPPORTED: its
         *     type has no conversion
         */
        public float[] read(String name) {
            long run = enter();
            try {
                Tensor tensor = used(run, name);
                float[] values = new float[size(tensor, tensor.count)];
                nativeRead(this, run, tensor.slot, 0, values, false);
                return values;
            } finally {
                leave();
            }
        }

        /**
         * Read as many elements as the array has.
         *
         * @param name of a tensor
         * @param begin the first element, row-major
         * @param values is filled
         * @throws QnnrtException ARG: the values are null; MISMATCH: the tensor has fewer elements;
         *     UNSUPPORTED: its type has no conversion
         */
        public void read(String name, long begin, float[] values) {
            convert(name, begin, values, false, false);
        }

        /**
         * Read whole numbers: the values, or the codes of quantized types.
         *
         * @param name of a tensor
         * @param begin the first element, row-major
         * @param values is filled
         * @throws QnnrtException ARG: the values are null; MISMATCH: the tensor has fewer elements;
         *     UNSUPPORTED: its type has no conversion
         */
        public void read(String name, long begin, int[] values) {
            convert(name, begin, values, false, true);
        }

        private void convert(String name, long begin, Object values, boolean write, boolean whole) {
            long run = enter();
            try {
                Tensor tensor = used(run, name);
                if (values == null) {
                    throw fail("tensor \"" + name + "\": the values are null", "");
                }
                if (write && tensor.bound != null && tensor.bound.isReadOnly()) {
                    throw fail("tensor \"" + name + "\": its buffer is read-only", "");
                }
                if (write) {
                    nativeWrite(this, run, tensor.slot, begin, values, whole);
                } else {
                    nativeRead(this, run, tensor.slot, begin, values, whole);
                }
            } finally {
                leave();
            }
        }

        /**
         * Set the dims of an input that has dynamic ones, for each exec from now on.
         *
         * @param name of a tensor
         * @param dims from 1 to those of Tensor.dims(); none: those of Tensor.dims() again
         * @throws QnnrtException MISMATCH: other dims than the tensor can have; ARG: more of them
         *     than a tensor has, or null
         */
        public void setDims(String name, int... dims) {
            required("dims", dims);
            long run = enter();
            try {
                nativeDims(run, find(run, name).slot, true, dims.length == 0 ? null : dims);
            } finally {
                leave();
            }
        }

        /**
         * Tell the dims of a tensor now: of an output, those that the last exec wrote.
         *
         * @param name of a tensor
         * @return a copy, row-major
         */
        public int[] dims(String name) {
            long run = enter();
            try {
                return nativeDims(run, find(run, name).slot, false, null);
            } finally {
                leave();
            }
        }

        /**
         * Leave an optional tensor out of every exec, until it is bound or unbound. Meanwhile
         * data(), read() and write() of it throw STATE.
         *
         * @param name of a tensor
         * @throws QnnrtException ARG: the tensor is required
         */
        public void omit(String name) {
            long run = enter();
            try {
                Tensor tensor = find(run, name);
                nativeOmit(run, tensor.slot);
                tensor.omitted = true;
            } finally {
                leave();
            }
        }

        /**
         * Measure every exec from now on. Model.recover() ends it.
         *
         * @param level Profile.OFF: no more
         * @throws QnnrtException UNSUPPORTED: the library measures nothing, or not this; BACKEND;
         *     ARG: the level is null. Nothing is measured then
         */
        public void profile(Profile level) {
            required("level", level);
            long run = enter();
            try {
                nativeProfile(run, level.ordinal());
            } finally {
                leave();
            }
        }

        /**
         * Tell what was measured in the last exec.
         *
         * @return the events, in the order of the steps; the caller's
         * @throws QnnrtException STATE: nothing was measured; BACKEND: the library does not tell;
         *     LIMIT: too many events
         */
        public List<Event> events() {
            long run = enter();
            try {
                List<Event> events = new ArrayList<>();
                double[] facts = new double[4];
                byte[] texts;
                while ((texts = nativeRunEvent(run, events.size(), facts)) != null) {
                    events.add(new Event(text(texts).split("\0", 3), facts));
                }
                return events;
            } finally {
                leave();
            }
        }

        /**
         * Execute the pipeline, and return when its last step has finished; allocates nothing. This
         * thread waits, so not the main one.
         *
         * @throws QnnrtException BACKEND: the vendor's library failed, also after a restart of the
         *     DSP, see QnnrtException.isRestart(); STATE: a tensor has no memory, or a context is
         *     not loaded; ARG: buffers overlap; with a budget also IO, NOT_FOUND and MEMORY of the
         *     file that is loaded. Outputs are undefined then
         */
        public void exec() {
            long run = enter();
            try {
                nativeExec(this, run);
            } finally {
                leave();
            }
        }

        /**
         * Give what the model keeps between calls its first values, those of the checkpoint. Each run
         * has values of its own.
         *
         * @throws QnnrtException never for the states themselves; a run without any stays as it is
         */
        public void resetStates() {
            long run = enter();
            try {
                nativeReset(run);
            } finally {
                leave();
            }
        }

        /**
         * Copy what the model keeps between calls.
         *
         * @return a .safetensors file with a tensor for each value, by its name in the model
         * @throws QnnrtException NOT_FOUND: the model keeps nothing; LIMIT: 2 GiB or more
         */
        public byte[] saveStates() {
            long run = enter();
            try {
                return nativeSave(run);
            } finally {
                leave();
            }
        }

        /**
         * Set what the model keeps between calls.
         *
         * @param saved what saveStates() returned, of this model
         * @throws QnnrtException FORMAT: not such a file, MISMATCH: of another model, NOT_FOUND: the
         *     model keeps nothing; ARG: it is null. Nothing has changed then
         */
        public void restoreStates(byte[] saved) {
            required("saved", saved);
            long run = enter();
            try {
                nativeRestore(run, saved);
            } finally {
                leave();
            }
        }

        @Override
        void destroy(long run) {
            nativeDestroy(run);
            for (Tensor tensor : tensors) {   /* the program's views keep what they show */
                tensor.bound = tensor.own = null;
            }
            trim();
        }

        private Tensor find(long run, String name) {
            return slots.get(nativeSlot(run, utf8("name", name)));
        }

        /** Find a tensor whose content counts. */
        private Tensor used(long run, String name) {
            Tensor tensor = find(run, name);
            if (tensor.omitted) {
                throw new QnnrtException(QnnrtException.STATE, 0, "tensor \"" + tensor.name
                        + "\" is left out of every exec", "Call bind() or unbind() to take it in "
                        + "again.");
            }
            return tensor;
        }

        private static int size(Tensor tensor, long count) {
            if (count > Integer.MAX_VALUE) {
                throw new QnnrtException(QnnrtException.LIMIT, 0, "tensor \"" + tensor.name + "\": "
                        + tensor.bytes + " bytes are more than a buffer of Java holds", "");
            }
            return (int) count;
        }

        private static void check(Tensor tensor, ByteBuffer buffer) {
            String where = "tensor \"" + tensor.name + "\": the buffer ";
            if (buffer == null) {
                throw fail(where + "is null", "");
            }
            if (!buffer.isDirect()) {
                throw fail(where + "lies in the heap of Java, where it can move",
                        "Make it with Qnnrt.buffer().");
            }
            if (buffer.order() != ByteOrder.nativeOrder()) {
                throw fail(where + "has the order " + buffer.order() + ", and this machine has "
                        + ByteOrder.nativeOrder(), "Call order(ByteOrder.nativeOrder()) on it.");
            }
            if (buffer.isReadOnly() && !tensor.role.equals("input")) {
                throw fail(where + "is read-only, and the tensor is an " + tensor.role,
                        "Bind a buffer that can be written.");
            }
        }
    }

    static QnnrtException fail(String text, String hint) {
        return new QnnrtException(QnnrtException.ARG, 0, text, hint);
    }

    private static void notNegative(String what, long value) {
        if (value < 0) {
            throw fail("the " + what + " is " + value, "");
        }
    }

    static QnnrtException closed(String what) {
        return new QnnrtException(QnnrtException.STATE, 0, "the " + what + " is closed", "");
    }

    static void required(String what, Object value) {
        QnnrtException.required(what, value);
    }

    /** Strings cross the border as UTF-8: the strings of JNI write some characters otherwise. */
    static byte[] utf8(String what, String text) {
        required(what, text);
        if (!what.equals("prompt") && text.indexOf('\0') >= 0) {
            throw fail("the " + what + " has a character U+0000 in it", "");
        }
        return text.getBytes(StandardCharsets.UTF_8);
    }

    /** The same of a text that may be null. */
    private static byte[] optional(String what, String text) {
        return text == null ? null : utf8(what, text);
    }

    static String text(byte[] utf8) {
        return new String(utf8, StandardCharsets.UTF_8);
    }

    /** Called by qnnrt_jni.c for every error. */
    private static QnnrtException make(int code, long vendorCode, byte[] text, byte[] hint) {
        return new QnnrtException(code, vendorCode, text(text), text(hint));
    }

    /** Called by qnnrt_jni_open.c on the thread that opens. */
    private static boolean progressed(Object listener, int done, int count, byte[] file) {
        return ((Progress) listener).file(done, count, text(file));
    }

    /** Called by qnnrt_jni_open.c on any thread. */
    private static void logged(Object log, int level, byte[] part, long vendorCode, byte[] line) {
        try {
            Level[] levels = Level.values();
            int at = Math.max(0, Math.min(level - 1, levels.length - 1));
            ((Log) log).line(levels[at], text(part), vendorCode, text(line));
        } catch (Throwable dropped) {         /* it must not end a call of the vendor */
            return;
        }
    }

    /* The functions of qnnrt_jni_run.c. A `keep` is passed so that the virtual machine holds the object,
       and with it the bound buffers, until the call returns. */
    private static native byte[] nativeVersion();
    private static native ByteBuffer nativeBuffer(long bytes, long[] block);
    private static native void nativeDrop(long block);
    private static native long nativePrepare(long model, byte[] pipeline, byte[] memory);
    private static native void nativeDestroy(long run);
    private static native byte[] nativeMemory(long run);
    private static native byte[] nativeTensor(long run, int index, long[] facts);
    private static native long nativeSlot(long run, byte[] name);
    private static native void nativeBind(long run, long slot, ByteBuffer memory, boolean fill);
    private static native void nativeUnbind(long run, long slot);
    private static native ByteBuffer nativeView(long run, long slot, long[] block);
    private static native byte[] nativeCopied(long run, long slot);
    private static native void nativeWrite(Run keep, long run, long slot, long begin, Object values,
            boolean whole);
    private static native void nativeRead(Run keep, long run, long slot, long begin, Object values,
            boolean whole);
    private static native void nativeExec(Run keep, long run);
    private static native void nativeReset(long run);
    private static native byte[] nativeSave(long run);
    private static native void nativeRestore(long run, byte[] saved);
    private static native int[] nativeDims(long run, long slot, boolean set, int[] dims);
    private static native void nativeOmit(long run, long slot);
    private static native void nativeProfile(long run, int level);
    private static native byte[] nativeRunEvent(long run, int index, double[] facts);

    /* The functions of qnnrt_jni_open.c. */
    private static native long nativeNew(Object log);
    private static native void nativeNumber(long model, byte[] name, long value);
    private static native void nativeBackend(long model, byte[] role, byte[] path, byte[] system);
    private static native void nativeFile(long model, byte[] name, ByteBuffer memory, int fd,
            long offset, long bytes);
    private static native void nativeOpen(long model, byte[] folder, Object progress);
    private static native void nativeClose(long model);
    private static native void nativeRecover(long model);
    private static native void nativeBudget(long model, long bytes);
    private static native byte[] nativePipeline(long model, int index);
    private static native byte[] nativeContext(long model, int index, long[] facts);
    private static native byte[] nativePower(long model, int preset);
    private static native byte[] nativeLoadEvent(long model, int index, double[] facts);
}
