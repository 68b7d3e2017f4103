package qnnrt;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * qnnrt.h for Java and Kotlin; qnnrt_jni.c is the other half. QnnrtLlm has the language models.
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
 * Ownership: close a Run and a QnnrtLlm before their Model; Model.close() throws BUSY otherwise and
 * closes nothing. A second close() does nothing, as AutoCloseable recommends. An object that is not
 * closed keeps its memory until the process ends: there are no finalizers, because they would free
 * a model on a thread of their own.
 *
 * Threads: any thread may open models and use them, and two Runs or QnnrtLlms may be used at the same
 * time; calls into the vendor's library wait for each other. One Run or QnnrtLlm serves one thread at a
 * time: a second thread gets a QnnrtException with BUSY. Only QnnrtLlm.stop() may be called from any
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
        final AtomicInteger calls = new AtomicInteger();   /* of parts; -1: it recovers */
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
        public synchronized QnnrtLlm llm() {
            long llm = QnnrtLlm.nativeOpen(handle());
            try {
                return new QnnrtLlm(this, llm);
            } catch (Throwable thrown) {
                QnnrtLlm.nativeClose(llm);
                throw thrown;
            }
        }

        /**
         * Create everything on the backend again, after a restart of the DSP (a QnnrtException with
         * isRestart()). Runs, bound buffers and what they hold stay: execute again what failed. No
         * other thread may be in a call of a Run or an Llm of this model: it throws BUSY then.
         */
        public void recover() {
            recover(0);
        }

        /** Recover while a part is in so many calls, each of which waits for this. */
        synchronized void recover(int within) {
            long handle = handle();
            if (!calls.compareAndSet(within, -1)) {
                throw new QnnrtException(QnnrtException.BUSY, 0, "a Run or QnnrtLlm of the model "
                        + "is in use by another call", "Call recover() when it has returned.");
            }
            try {
                synchronized (Qnnrt.class) {
                    nativeRecover(handle);
                }
            } finally {
                calls.set(within);
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

    /** A pipeline that is ready to execute. */
    public static final class Run extends QnnrtPart {
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

    static QnnrtException fail(String text, String hint) {
        return new QnnrtException(QnnrtException.ARG, 0, text, hint);
    }

    static QnnrtException closed(String what) {
        return new QnnrtException(QnnrtException.STATE, 0, "the " + what + " is closed", "");
    }

    static void required(String what, Object value) {
        if (value == null) {
            throw fail("the " + what + " is null", "");
        }
    }

    /** Strings cross the border as UTF-8: the strings of JNI write some characters otherwise. */
    static byte[] utf8(String what, String text) {
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
}
