package qnnrt;

import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.CharBuffer;
import java.nio.charset.CharsetDecoder;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * qnnrt.h and qnnrt_llm.h for Java and Kotlin; qnnrt_jni.c is the other half.
 *
 * <pre>
 *   try (Qnnrt.Model model = new Qnnrt.Model(folder, null);
 *        Qnnrt.Run run = model.prepare(null)) {
 *       run.bind("input_ids", tokens);                    // a direct buffer, no copy
 *       run.exec();
 *       ShortBuffer logits = run.data("logits").asShortBuffer();
 *   }
 * </pre>
 *
 * This file is Java, not Kotlin, so that a desk with a JDK and nothing else compiles and tests it.
 * It uses Java 8 only, which is what Android has from API level 24 on.
 *
 * Ownership: close a Run and an Llm before their Model; Model.close() throws BUSY otherwise and
 * closes nothing. A second close() does nothing, as AutoCloseable recommends. An object that is not
 * closed keeps its memory until the process ends: there are no finalizers, because they would free
 * a model on a thread of their own.
 *
 * Threads: any thread may open models and use them, and two Runs or Llms may be used at the same
 * time; calls into the vendor's library wait for each other. One Run or Llm serves one thread at a
 * time: a second thread gets a QnnrtException with BUSY. Only Llm.stop() may be called from any
 * thread.
 *
 * Misuse is an exception and does not end the process. Two things are beyond this: a mapped file
 * that is cut short while its buffer is bound, and memory that the caller unmaps by force.
 *
 * With R8: -keep class qnnrt.Qnnrt* { *; }
 */
public final class Qnnrt {
    static {
        System.loadLibrary("qnnrt_jni");
    }

    private Qnnrt() { }

    /** Return the version of qnnrt.h, "0.5.0". */
    public static String version() {
        return text(nativeVersion());
    }

    /** A tensor that a pipeline reads or writes. */
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

        /** Return a copy of the dimensions, row-major. */
        public int[] dims() {
            return dims.clone();
        }
    }

    /** A folder of context binaries, opened on a backend. */
    public static final class Model implements AutoCloseable {
        private final AtomicInteger calls = new AtomicInteger();   /* of parts; -1: it recovers */
        private long model;

        /**
         * Open all context binaries of a folder.
         *
         * @param backend the backend library, such as getApplicationInfo().nativeLibraryDir +
         *     "/libQnnHtp.so"; null: libQnnHtp.so, searched beside libqnnrt_jni.so and by the
         *     system. Set ADSP_LIBRARY_PATH before, with android.system.Os.setenv()
         */
        public Model(String folder, String backend) {
            byte[] path = utf8("folder", folder);
            byte[] library = backend == null ? null : utf8("backend", backend);
            synchronized (Qnnrt.class) {      /* a library is opened and closed by one at a time */
                model = nativeOpen(path, library);
            }
        }

        /** Return the names that prepare() takes. */
        public synchronized List<String> pipelines() {
            List<String> names = new ArrayList<>();
            long handle = handle();
            byte[] name;
            while ((name = nativePipeline(handle, names.size())) != null) {
                names.add(text(name));
            }
            return names;
        }

        /** Prepare a pipeline; null: the model's only one. */
        public synchronized Run prepare(String pipeline) {
            long run = nativePrepare(handle(), pipeline == null ? null : utf8("pipeline", pipeline));
            try {
                return new Run(this, run);
            } catch (Throwable thrown) {      /* no memory for the tensors: nobody else can close it */
                nativeDestroy(run);
                throw thrown;
            }
        }

        /** Open the model as a language model, with a cache for one text. */
        public synchronized Llm llm() {
            long llm = nativeLlmOpen(handle());
            try {
                return new Llm(this, llm);
            } catch (Throwable thrown) {
                nativeLlmClose(llm);
                throw thrown;
            }
        }

        /**
         * Create everything on the backend again, after a restart of the DSP (a QnnrtException with
         * isRestart()). Runs, bound buffers and what they hold stay: execute again what failed. No
         * other thread may be in a call of a Run or an Llm of this model: it throws BUSY then.
         */
        public synchronized void recover() {
            long handle = handle();
            if (!calls.compareAndSet(0, -1)) {
                throw new QnnrtException(QnnrtException.BUSY, 0, "a Run or Llm of the model is in "
                        + "use by another call", "Call recover() when it has returned.");
            }
            try {
                synchronized (Qnnrt.class) {
                    nativeRecover(handle);
                }
            } finally {
                calls.set(0);
            }
        }

        @Override
        public synchronized void close() {
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

    /** What one thread at a time uses, and any thread may close. */
    private abstract static class Part implements AutoCloseable {
        private final Model model;
        private final String what;
        private final AtomicBoolean used = new AtomicBoolean();
        private long handle;

        Part(Model model, String what, long handle) {
            this.model = model;
            this.what = what;
            this.handle = handle;
        }

        /** Begin a call: the handle of an open object that no other call uses. */
        final long enter() {
            if (!used.compareAndSet(false, true)) {
                throw busy();
            }
            if (handle == 0 || model.calls.getAndUpdate(n -> n < 0 ? n : n + 1) < 0) {
                used.set(false);
                throw handle == 0 ? closed(what) : busy();
            }
            return handle;
        }

        final void leave() {
            model.calls.decrementAndGet();
            used.set(false);
        }

        private QnnrtException busy() {
            return new QnnrtException(QnnrtException.BUSY, 0, "the " + what + " is in use by "
                    + "another call", "Use it from one thread at a time, and not from its own "
                    + "listener.");
        }

        @Override
        public final void close() {
            if (!used.compareAndSet(false, true)) {
                throw busy();
            }
            try {
                if (handle != 0) {
                    synchronized (model) {    /* so that Model.close() sees all of it or nothing */
                        destroy(handle);
                    }
                    handle = 0;
                }
            } finally {
                used.set(false);
            }
        }

        abstract void destroy(long handle);
    }

    /** A pipeline that is ready to execute. */
    public static final class Run extends Part {
        private final Map<Long, Tensor> slots = new HashMap<>();
        private final List<Tensor> tensors = new ArrayList<>();

        private Run(Model model, long run) {
            super(model, "run", run);
            long[] facts = new long[4 + 32];
            byte[] texts;
            while ((texts = nativeTensor(run, tensors.size(), facts)) != null) {
                Tensor tensor = new Tensor(text(texts).split("\0", 3), facts);
                tensors.add(tensor);
                slots.put(tensor.slot, tensor);
            }
        }

        /** Return all tensors, in the order in which the steps list them. */
        public List<Tensor> tensors() {
            return Collections.unmodifiableList(tensors);
        }

        /**
         * Let a tensor live in a buffer: an input is read from it, an output written to it, no copy.
         * Buffers of two tensors must not overlap, unless both are inputs; this is not checked.
         *
         * @param buffer direct, in native order; from its position on, it has at least the tensor's
         *     bytes. Its position and limit may change later. The Run keeps a reference to it until
         *     the tensor is bound again or the Run is unreachable
         */
        public void bind(String name, ByteBuffer buffer) {
            long run = enter();
            try {
                Tensor tensor = find(run, name);
                check(tensor, buffer);
                ByteBuffer region = buffer.slice();
                nativeBind(run, tensor.slot, region, false);
                tensor.bound = region;
            } finally {
                leave();
            }
        }

        /**
         * Return the memory of a tensor, in native order, as a view with a position of its own.
         *
         * A tensor without a buffer gets one in the first call, with the content that it had. The
         * view stays valid after close(), because the buffer belongs to Java.
         */
        public ByteBuffer data(String name) {
            long run = enter();
            try {
                Tensor tensor = find(run, name);
                if (tensor.bound == null) {
                    ByteBuffer memory = ByteBuffer.allocateDirect(size(tensor, tensor.bytes));
                    nativeBind(run, tensor.slot, memory, true);
                    tensor.bound = memory;
                }
                return tensor.bound.duplicate().order(ByteOrder.nativeOrder());
            } finally {
                leave();
            }
        }

        /** Write numbers into an input, from its first element on, by its type and encoding. */
        public void write(String name, float[] values) {
            long run = enter();
            try {
                Tensor tensor = find(run, name);
                if (values == null) {
                    throw fail("tensor \"" + name + "\": the values are null", "");
                }
                if (tensor.bound != null && tensor.bound.isReadOnly()) {
                    throw fail("tensor \"" + name + "\": its buffer is read-only", "");
                }
                nativeWrite(this, run, tensor.slot, values);
            } finally {
                leave();
            }
        }

        /** Return all elements of a tensor as numbers. */
        public float[] read(String name) {
            long run = enter();
            try {
                Tensor tensor = find(run, name);
                float[] values = new float[size(tensor, tensor.count)];
                nativeRead(this, run, tensor.slot, values);
                return values;
            } finally {
                leave();
            }
        }

        /** Execute the pipeline, and return when its last step has finished. */
        public void exec() {
            long run = enter();
            try {
                nativeExec(this, run);
            } finally {
                leave();
            }
        }

        @Override
        void destroy(long run) {
            nativeDestroy(run);
        }

        private Tensor find(long run, String name) {
            return slots.get(nativeSlot(run, utf8("name", name)));
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
                        "Make it with ByteBuffer.allocateDirect().");
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

    /** Takes the pieces of a text, each of at least one whole character. */
    public interface Text {
        void piece(String text);
    }

    /** Takes the tokens of a text. */
    public interface Tokens {
        void token(int token);
    }

    /** How an answer ended, and how long it took. */
    public static final class Answer {
        /** "end token", "most", "full" (the model's memory) or "stopped". */
        public final String stopped;
        /** Number of tokens that the model read before it answered, and that it wrote. */
        public final int promptTokens, tokens;
        /** Time to read the prompt, and to write all tokens after the first. */
        public final long promptNanos, writeNanos;

        private Answer(String stopped, int promptTokens, int tokens, long promptNanos,
                long writeNanos) {
            this.stopped = stopped;
            this.promptTokens = promptTokens;
            this.tokens = tokens;
            this.promptNanos = promptNanos;
            this.writeNanos = writeNanos;
        }
    }

    /** A language model with a cache for one text. */
    public static final class Llm extends Part {
        /** Number of tokens; 256: each token is a byte of UTF-8. */
        public final int vocabulary;
        private final int ar, room, bos;
        private volatile boolean stop;

        private Llm(Model model, long llm) {
            super(model, "language model", llm);
            int[] facts = new int[4];
            nativeLlmFacts(llm, facts);
            vocabulary = facts[0];
            ar = facts[1];
            room = facts[2];
            bos = facts[3];
        }

        /**
         * Choose how tokens are drawn, from the next answer on; at first the most probable one is.
         *
         * @param temperature 0: the most probable token; 1: by the model's probabilities
         * @param topK among so many of the most probable tokens; 0: all
         * @param topP among the fewest tokens whose probabilities add up to it; 0 or 1: all
         * @param seed the same seed gives the same tokens on every machine
         */
        public void sampling(float temperature, int topK, float topP, long seed) {
            long llm = enter();
            try {
                if (topK < 0) {
                    throw fail("topK is " + topK + ", expected 0 or more", "");
                }
                nativeLlmSampling(llm, temperature, topK, topP, seed);
            } finally {
                leave();
            }
        }

        /**
         * Write a new text, piece by piece, for a model whose tokens are bytes.
         *
         * @param most tokens to write at most
         * @param listener is called on this thread; what it throws ends the answer
         */
        public Answer generate(String prompt, int most, Text listener) {
            long llm = enter();
            try {
                if (vocabulary != 256) {
                    throw new QnnrtException(QnnrtException.UNSUPPORTED, 0, "the model has "
                            + vocabulary + " tokens, so its tokens are not bytes",
                            "Give generate() the token numbers of the model's own tokenizer.");
                }
                byte[] bytes = utf8("prompt", prompt);
                int begin = bos >= 0 ? 1 : 0;
                int[] tokens = new int[begin + bytes.length];
                if (begin == 1) {
                    tokens[0] = bos;
                }
                for (int i = 0; i < bytes.length; ++i) {
                    tokens[begin + i] = bytes[i] & 0xFF;
                }
                required("listener", listener);
                Characters characters = new Characters();
                Answer answer = answer(llm, tokens, most, token -> {
                    String piece = characters.add((byte) token);
                    if (!piece.isEmpty()) {
                        listener.piece(piece);
                    }
                });
                String rest = characters.end();
                if (!rest.isEmpty()) {
                    listener.piece(rest);
                }
                return answer;
            } finally {
                leave();
            }
        }

        /** Write a new text as token numbers; the prompt is what the model's tokenizer returned. */
        public Answer generate(int[] prompt, int most, Tokens listener) {
            long llm = enter();
            try {
                required("prompt", prompt);
                required("listener", listener);
                return answer(llm, prompt.clone(), most, listener);
            } finally {
                leave();
            }
        }

        /** End the answer that is being written, after its current step. Any thread. */
        public void stop() {
            stop = true;
        }

        /** Read the prompt a step at a time, so that stop() acts soon; then write. */
        private Answer answer(long llm, int[] prompt, int most, Tokens listener) {
            long begin = System.nanoTime();
            int read = 0;
            stop = false;
            nativeLlmClear(llm);
            if (prompt.length == 0) {
                throw fail("the prompt is empty", "");
            }
            while (read < prompt.length && !stop) {
                int count = Math.min(ar, prompt.length - read);
                nativeLlmDecode(llm, prompt, read, count);
                read += count;
            }
            int written = 0;
            int[] token = new int[1];
            long middle = System.nanoTime();
            String why = stopped(read, written, most);
            while (why == null) {
                token[0] = nativeLlmNext(llm);
                if (nativeLlmIsEos(llm, token[0])) {
                    why = "end token";
                    break;
                }
                listener.token(token[0]);
                ++written;
                why = stopped(read + written, written, most);
                if (why == null) {
                    nativeLlmDecode(llm, token, 0, 1);
                }
            }
            return new Answer(why, read, written, middle - begin, System.nanoTime() - middle);
        }

        /** Return why an answer ends after so many tokens, or null. */
        private String stopped(int said, int written, int most) {
            return stop ? "stopped" : written >= most ? "most" : said >= room ? "full" : null;
        }

        @Override
        void destroy(long llm) {
            nativeLlmClose(llm);
        }
    }

    /** Makes characters of bytes, as they come. What is not UTF-8 becomes U+FFFD. */
    private static final class Characters {
        private final CharsetDecoder decoder = StandardCharsets.UTF_8.newDecoder()
                .onMalformedInput(CodingErrorAction.REPLACE);
        private final ByteBuffer in = ByteBuffer.allocate(8);
        private final CharBuffer out = CharBuffer.allocate(16);

        String add(byte value) {
            in.put(value);
            return take(false);
        }

        String end() {
            String rest = take(true);
            decoder.flush(out);
            return rest;
        }

        private String take(boolean last) {
            ((Buffer) in).flip();
            decoder.decode(in, out, last);
            in.compact();
            ((Buffer) out).flip();
            String text = out.toString();
            ((Buffer) out).clear();
            return text;
        }
    }

    private static QnnrtException fail(String text, String hint) {
        return new QnnrtException(QnnrtException.ARG, 0, text, hint);
    }

    private static QnnrtException closed(String what) {
        return new QnnrtException(QnnrtException.STATE, 0, "the " + what + " is closed", "");
    }

    private static void required(String what, Object value) {
        if (value == null) {
            throw fail("the " + what + " is null", "");
        }
    }

    /** Strings cross the border as UTF-8: the strings of JNI write some characters otherwise. */
    private static byte[] utf8(String what, String text) {
        required(what, text);
        if (!what.equals("prompt") && text.indexOf('\0') >= 0) {
            throw fail("the " + what + " has a character U+0000 in it", "");
        }
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static String text(byte[] utf8) {
        return new String(utf8, StandardCharsets.UTF_8);
    }

    /** Called by qnnrt_jni.c for every error. */
    private static QnnrtException make(int code, long vendorCode, byte[] text, byte[] hint) {
        return new QnnrtException(code, vendorCode, text(text), text(hint));
    }

    /* The functions of qnnrt_jni.c. A `keep` is passed so that the virtual machine holds the object,
       and with it the bound buffers, until the call returns. */
    private static native byte[] nativeVersion();
    private static native long nativeOpen(byte[] folder, byte[] backend);
    private static native void nativeClose(long model);
    private static native void nativeRecover(long model);
    private static native byte[] nativePipeline(long model, int index);
    private static native long nativePrepare(long model, byte[] pipeline);
    private static native void nativeDestroy(long run);
    private static native byte[] nativeTensor(long run, int index, long[] facts);
    private static native long nativeSlot(long run, byte[] name);
    private static native void nativeBind(long run, long slot, ByteBuffer memory, boolean fill);
    private static native void nativeWrite(Run keep, long run, long slot, float[] values);
    private static native void nativeRead(Run keep, long run, long slot, float[] values);
    private static native void nativeExec(Run keep, long run);
    private static native long nativeLlmOpen(long model);
    private static native void nativeLlmClose(long llm);
    private static native void nativeLlmFacts(long llm, int[] facts);
    private static native void nativeLlmSampling(long llm, float temperature, int topK, float topP,
            long seed);
    private static native void nativeLlmClear(long llm);
    private static native void nativeLlmDecode(long llm, int[] tokens, int from, int count);
    private static native int nativeLlmNext(long llm);
    private static native boolean nativeLlmIsEos(long llm, int token);
}
