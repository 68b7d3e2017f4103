package qnnrt;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The half of {@link QnnrtProcess} that works: it answers requests in the process that a library
 * may crash or hang. QnnrtService calls it on Android, and a program of a few lines on a desk.
 *
 * Requests and answers are bytes of this class and of QnnrtProcess, of one version. They are
 * trusted: only the app itself can bind the service.
 *
 * Ownership: the models and runs that requests open belong to this object, until close() or the end
 * of the process.
 *
 * Threads: any; one request is answered at a time, and others wait.
 *
 * Errors: call() throws nothing.
 */
public final class QnnrtWork implements AutoCloseable {
    static final int LIBRARY = 1, FOLDER = 2, OPEN = 3, PREPARE = 4, BIND = 5, EXEC = 6, CLOSE = 7,
            LLM = 8, BEGIN = 9, NEXT = 10, GO_ON = 11, BUDGET = 12, POWER = 13, CONTEXTS = 14,
            LOAD_EVENTS = 15;

    /** Most bytes of a message that are sent at once: Android's binder takes less than 1 MB. */
    static final int PART = 1 << 18;
    private static final byte LAST = 0, MORE = 1, NEXT_PART = 2;
    private static final int MOST_LINES = 1000, MOST_LINE = 4096;

    private final Map<Integer, AutoCloseable> objects = new HashMap<>();
    private final ByteArrayOutputStream incoming = new ByteArrayOutputStream();
    private final BlockingQueue<Line> lines = new LinkedBlockingQueue<>(MOST_LINES);
    private final AtomicInteger lost = new AtomicInteger();    /* lines for which there was no room */
    private byte[] outgoing = {};
    private int sent;
    private int next = 1;
    private Talk talk;
    private Opening opening;

    /** Nothing is open. Any thread; throws nothing. */
    public QnnrtWork() { }

    /** What writes a request or an answer. */
    interface Body {
        void write(DataOutputStream out) throws IOException;
    }

    /** Return the bytes of a message. */
    static byte[] message(int kind, Body body) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (DataOutputStream out = new DataOutputStream(bytes)) {
            out.writeByte(kind);
            body.write(out);
        } catch (IOException thrown) {
            throw new IllegalStateException(thrown);          /* of memory: never */
        }
        return bytes.toByteArray();
    }

    static DataInputStream reader(byte[] message) {
        return new DataInputStream(new ByteArrayInputStream(message));
    }

    /** Return the part of a message that begins at a byte, with a byte before it. */
    static byte[] part(byte[] message, int at) {
        int count = Math.min(PART, message.length - at);
        byte[] part = new byte[1 + count];
        part[0] = at + count < message.length ? MORE : LAST;
        System.arraycopy(message, at, part, 1, count);
        return part;
    }

    /** Send a message in parts, and return the answer to it. */
    static byte[] exchange(QnnrtProcess.Wire wire, byte[] message) throws IOException {
        byte[] answer = {};
        for (int at = 0; at < message.length; at += PART) {
            answer = wire.call(part(message, at));
        }
        ByteArrayOutputStream whole = new ByteArrayOutputStream();
        while (answer.length > 0 && answer[0] == MORE) {
            whole.write(answer, 1, answer.length - 1);
            answer = wire.call(new byte[] {NEXT_PART});
        }
        if (answer.length == 0) {
            throw new IOException("an answer has no end");
        }
        whole.write(answer, 1, answer.length - 1);
        return whole.toByteArray();
    }

    static void putText(DataOutputStream out, String text) throws IOException {
        byte[] bytes = text == null ? new byte[0] : text.getBytes(StandardCharsets.UTF_8);
        out.writeInt(text == null ? -1 : bytes.length);
        out.write(bytes);
    }

    static String getText(DataInputStream in) throws IOException {
        int count = in.readInt();
        if (count < 0) {
            return null;
        }
        byte[] bytes = new byte[count];
        in.readFully(bytes);
        return new String(bytes, StandardCharsets.UTF_8);
    }

    /**
     * Answer a part of a request. Never throws: an exception becomes an answer, which QnnrtProcess
     * throws.
     *
     * @param part what QnnrtProcess sent, at most 256 KB and one byte
     * @return a part of the answer, likewise; empty if more of the request is to come
     */
    public synchronized byte[] call(byte[] part) {
        if (part.length > 0 && part[0] != NEXT_PART) {
            incoming.write(part, 1, part.length - 1);
            if (part[0] == MORE) {
                return new byte[0];
            }
            outgoing = answer(incoming.toByteArray());
            incoming.reset();
            sent = 0;
        }
        byte[] some = part(outgoing, sent);
        sent += some.length - 1;
        if (some[0] == LAST) {
            outgoing = new byte[0];
        }
        return some;
    }

    /** An answer has 0 and what was asked for, or 1 and an exception, and the log at its end. */
    private byte[] answer(byte[] request) {
        try {
            DataInputStream in = reader(request);
            int kind = in.readByte();
            ByteArrayOutputStream answer = new ByteArrayOutputStream();
            DataOutputStream out = new DataOutputStream(answer);
            out.writeByte(0);
            work(kind, in, out);
            putLines(out);
            return answer.toByteArray();
        } catch (Throwable thrown) {
            QnnrtException e = thrown instanceof QnnrtException ? (QnnrtException) thrown
                    : new QnnrtException(thrown instanceof IOException ? QnnrtException.IO
                    : thrown instanceof OutOfMemoryError ? QnnrtException.MEMORY
                    : QnnrtException.STATE, 0, thrown.toString(), "");
            return message(1, out -> {
                out.writeInt(e.code);
                out.writeLong(e.vendorCode);
                putText(out, e.getMessage());
                putText(out, e.hint);
                putLines(out);
            });
        }
    }

    private void work(int kind, DataInputStream in, DataOutputStream out) throws IOException {
        switch (kind) {
            case LIBRARY:
                putLibrary(out, QnnrtDevice.library(getText(in)));
                break;
            case FOLDER:
                putFolder(out, QnnrtDevice.folder(getText(in), getText(in)));
                break;
            case OPEN:
                opening = new Opening(in);
                opening.next(out);
                break;
            case GO_ON:
                opening.goOn(in.readBoolean());
                opening.next(out);
                break;
            case BUDGET:
                ((Qnnrt.Model) object(in.readInt())).budget(in.readLong());
                break;
            case POWER:
                putText(out, ((Qnnrt.Model) object(in.readInt())).power(power(in.readInt())));
                break;
            case CONTEXTS:
                putContexts(out, ((Qnnrt.Model) object(in.readInt())).contexts());
                break;
            case LOAD_EVENTS:
                putEvents(out, ((Qnnrt.Model) object(in.readInt())).loadEvents());
                break;
            case PREPARE:
                Qnnrt.Run run = ((Qnnrt.Model) object(in.readInt())).prepare(getText(in));
                out.writeInt(keep(run));
                putTensors(out, run.tensors());
                break;
            case BIND:
                bind((Qnnrt.Run) object(in.readInt()), in);
                break;
            case EXEC:
                ((Qnnrt.Run) object(in.readInt())).exec();
                break;
            case LLM:
                QnnrtLlm llm = ((Qnnrt.Model) object(in.readInt())).llm();
                out.writeInt(keep(llm));
                out.writeInt(llm.vocabulary);
                break;
            case BEGIN:
                talk = new Talk((QnnrtLlm) object(in.readInt()), in);
                break;
            case NEXT:
                talk.next(in.readBoolean(), out);
                break;
            case CLOSE:
                close(in.readInt());
                break;
            default:
                throw new QnnrtException(QnnrtException.ARG, 0, "request " + kind
                        + " is not known", "Use both halves of one version.");
        }
    }

    /* ---- options ----------------------------------------------------------------------------- */

    private static Qnnrt.Power power(int number) {
        return number == 0 ? null : Qnnrt.Power.values()[number - 1];
    }

    /** Refuse what another process cannot reach. */
    static void check(Qnnrt.Options options) {
        for (Qnnrt.Source source : options.sources) {
            if (source.content != null || source.fd >= 0) {
                throw new QnnrtException(QnnrtException.UNSUPPORTED, 0, source.name + ": "
                        + (source.fd >= 0 ? "a descriptor" : "memory") + " of the app does not "
                        + "reach the process that opens it", "Give its path; QnnrtCopy makes a "
                        + "file of it.");
            }
        }
    }

    static void putOptions(DataOutputStream out, Qnnrt.Options options) throws IOException {
        out.writeInt(options.numbers.size());
        for (Map.Entry<String, Long> number : options.numbers.entrySet()) {
            putText(out, number.getKey());
            out.writeLong(number.getValue());
        }
        out.writeInt(options.roles.size());
        for (Map.Entry<String, String> role : options.roles.entrySet()) {
            putText(out, role.getKey());
            putText(out, role.getValue());
        }
        putText(out, options.backend);
        putText(out, options.system);
        out.writeByte(options.memory.ordinal());
        out.writeInt(options.sources.size());
        for (Qnnrt.Source source : options.sources) {
            putText(out, source.name);
        }
        out.writeBoolean(options.log != null);
        out.writeBoolean(options.progress != null);
    }

    /** Read options, but for their listeners. */
    private static Qnnrt.Options getOptions(DataInputStream in) throws IOException {
        Qnnrt.Options options = new Qnnrt.Options();
        for (int count = in.readInt(); count > 0; --count) {
            options.numbers.put(getText(in), in.readLong());
        }
        for (int count = in.readInt(); count > 0; --count) {
            options.roles.put(getText(in), getText(in));
        }
        options.backend(getText(in)).systemLibrary(getText(in));
        options.memory(Qnnrt.Memory.values()[in.readByte()]);
        for (int count = in.readInt(); count > 0; --count) {
            options.file(getText(in));
        }
        return options;
    }

    /* ---- listeners --------------------------------------------------------------------------- */

    /** A line of the log of a model. */
    private static final class Line {
        final int tag;
        final Qnnrt.Level level;
        final String part, text;
        final long code;

        Line(int tag, Qnnrt.Level level, String part, long code, String text) {
            this.tag = tag;
            this.level = level;
            this.part = part;
            this.code = code;
            this.text = text.length() > MOST_LINE ? text.substring(0, MOST_LINE) : text;
        }
    }

    /** Write the lines that came since the last answer. */
    private void putLines(DataOutputStream out) throws IOException {
        List<Line> all = new ArrayList<>();
        lines.drainTo(all);
        int without = lost.getAndSet(0);
        if (without > 0 && !all.isEmpty()) {
            all.add(new Line(all.get(0).tag, Qnnrt.Level.WARN, "qnnrt", 0, without
                    + " lines of the log were dropped before this answer"));
        }
        out.writeInt(all.size());
        for (Line line : all) {
            out.writeInt(line.tag);
            out.writeByte(line.level.ordinal());
            putText(out, line.part);
            out.writeLong(line.code);
            putText(out, line.text);
        }
    }

    /** A model that is being opened: by a thread of its own if somebody hears how far it is. */
    private final class Opening {
        /** What happened: a file (progress), the model or an exception at the end. */
        private final BlockingQueue<Object> events = new LinkedBlockingQueue<>();
        private final BlockingQueue<Boolean> answers = new LinkedBlockingQueue<>();
        private final Thread thread;

        Opening(DataInputStream in) throws IOException {
            int tag = in.readInt();
            String folder = getText(in);
            Qnnrt.Options options = getOptions(in);
            if (in.readBoolean()) {
                options.log = (level, part, code, text) -> {
                    if (!lines.offer(new Line(tag, level, part, code, text))) {
                        lost.incrementAndGet();
                    }
                };
            }
            Runnable open = () -> {
                try {
                    events.add(new Qnnrt.Model(folder, options));
                } catch (Throwable thrown) {
                    events.add(thrown);
                }
            };
            if (in.readBoolean()) {
                options.progress((done, count, file) -> {
                    events.add(new Object[] {done, count, file});
                    return take(answers);
                });
                thread = new Thread(open, "qnnrt opening");
                thread.start();
            } else {
                thread = null;
                open.run();
            }
        }

        void goOn(boolean more) {
            answers.add(more);
        }

        /** Wait for what happens next, and tell it. */
        void next(DataOutputStream out) throws IOException {
            Object event = take(events);
            if (event instanceof Object[]) {
                Object[] facts = (Object[]) event;
                out.writeBoolean(false);
                out.writeInt((Integer) facts[0]);
                out.writeInt((Integer) facts[1]);
                putText(out, (String) facts[2]);
                return;
            }
            opening = null;
            if (!(event instanceof Qnnrt.Model)) {
                QnnrtWork.<RuntimeException>rethrow((Throwable) event);
            }
            Qnnrt.Model model = (Qnnrt.Model) event;
            out.writeBoolean(true);
            out.writeInt(keep(model));
            List<String> names = model.pipelines();
            out.writeInt(names.size());
            for (String name : names) {
                putText(out, name);
            }
        }

        /** Cancel it, and close what it opened. */
        void end() {
            goOn(false);
            Object last;
            do {
                last = take(events);
            } while (last instanceof Object[]);
            if (last instanceof Qnnrt.Model) {
                ((Qnnrt.Model) last).close();
            }
        }
    }

    private static <T> T take(BlockingQueue<T> queue) {
        try {
            return queue.take();
        } catch (InterruptedException thrown) {
            throw new IllegalStateException("the thread was interrupted", thrown);
        }
    }

    /** Throw what a listener or an opening threw, as it is. */
    @SuppressWarnings("unchecked")
    static <T extends Throwable> void rethrow(Throwable thrown) throws T {
        throw (T) thrown;
    }

    /* ---- answers ----------------------------------------------------------------------------- */

    private static void putContexts(DataOutputStream out, List<Qnnrt.Context> contexts)
            throws IOException {
        out.writeInt(contexts.size());
        for (Qnnrt.Context one : contexts) {
            putText(out, one.file);
            putText(out, one.role);
            putText(out, one.failure);
            out.writeLong(one.deviceBytes);
            out.writeBoolean(one.loaded);
        }
    }

    private static void putEvents(DataOutputStream out, List<Qnnrt.Event> events)
            throws IOException {
        out.writeInt(events.size());
        for (Qnnrt.Event one : events) {
            putText(out, one.name);
            putText(out, one.node);
            putText(out, one.unit);
            for (double fact : new double[] {one.value, one.time, one.depth, one.step}) {
                out.writeDouble(fact);
            }
        }
    }

    private static void putLibrary(DataOutputStream out, QnnrtDevice.Library of)
            throws IOException {
        for (String text : new String[] {of.path, of.provider, of.build, of.api}) {
            putText(out, text);
        }
        out.writeInt(of.backend);
        out.writeBoolean(of.device);
    }

    private static void putFolder(DataOutputStream out, QnnrtDevice.Folder of) throws IOException {
        putText(out, of.path);
        putText(out, of.build);
        for (long fact : new long[] {of.backend, of.generation, of.soc, of.vtcmMib, of.bytes}) {
            out.writeLong(fact);
        }
    }

    private static void putTensors(DataOutputStream out, List<Qnnrt.Tensor> tensors)
            throws IOException {
        out.writeInt(tensors.size());
        for (Qnnrt.Tensor tensor : tensors) {
            putText(out, tensor.name);
            putText(out, tensor.role);
            putText(out, tensor.text);
            out.writeLong(tensor.count);
            out.writeLong(tensor.bytes);
            int[] dims = tensor.dims();
            out.writeInt(dims.length);
            for (int dim : dims) {
                out.writeInt(dim);
            }
        }
    }

    /** Bind tensors to a file that both processes map; a new file gets what the tensors hold. */
    private static void bind(Qnnrt.Run run, DataInputStream in) throws IOException {
        ByteBuffer all;
        try (RandomAccessFile file = new RandomAccessFile(getText(in), "rw")) {
            all = file.getChannel().map(FileChannel.MapMode.READ_WRITE, 0, file.length());
        }
        boolean fill = in.readBoolean();
        for (int count = in.readInt(); count > 0; --count) {
            String name = getText(in);
            ByteBuffer part = part(all, in.readInt(), in.readInt());
            if (fill) {
                part.duplicate().put(run.data(name));
            }
            run.bind(name, part);
        }
    }

    /** Return bytes of a buffer as one of their own. */
    static ByteBuffer part(ByteBuffer all, int offset, int bytes) {
        ByteBuffer part = all.duplicate();
        part.limit(offset + bytes);
        part.position(offset);
        return part.slice().order(ByteOrder.nativeOrder());
    }

    /** An answer that is being written, by a thread of its own. */
    private static final class Talk {
        /** What happened since it was asked: a piece, a token, a step of the prompt (""), the
         *  answer or an exception at the end. */
        private final BlockingQueue<Object> events = new LinkedBlockingQueue<>();
        private final QnnrtLlm.Call call;
        private final Thread thread;

        Talk(QnnrtLlm llm, DataInputStream in) throws IOException {
            llm.sampling(in.readFloat(), in.readInt(), in.readFloat(), in.readLong());
            int most = in.readInt();
            String text = getText(in);
            int[] tokens = new int[text == null ? in.readInt() : 0];
            for (int i = 0; i < tokens.length; ++i) {
                tokens[i] = in.readInt();
            }
            call = (text != null ? llm.text(text, most, events::add)
                    : llm.tokens(tokens, most, events::add))
                    .progress((done, count) -> events.add(""));
            thread = new Thread(() -> {
                try {
                    events.add(call.run());
                } catch (Throwable thrown) {
                    events.add(thrown);
                }
            }, "qnnrt answer");
            thread.start();
        }

        /** Stop it, and wait until it has ended. */
        void end() {
            call.stop();
            try {
                thread.join();
            } catch (InterruptedException thrown) {
                Thread.currentThread().interrupt();
            }
        }

        /** Wait for an event, and tell all that are there. */
        void next(boolean stop, DataOutputStream out) throws IOException {
            if (stop) {
                call.stop();
            }
            List<Object> all = new ArrayList<>();
            try {
                all.add(events.take());
            } catch (InterruptedException thrown) {
                throw new IOException("the thread was interrupted", thrown);
            }
            events.drainTo(all);
            Object last = all.get(all.size() - 1);
            if (last instanceof QnnrtException) {
                throw (QnnrtException) last;
            }
            if (last instanceof Throwable) {
                throw new IOException(last.toString());
            }
            for (Object event : all) {
                out.writeByte(event instanceof String ? 1 : event instanceof Integer ? 2 : 3);
                if (event instanceof String) {
                    putText(out, (String) event);
                } else if (event instanceof Integer) {
                    out.writeInt((Integer) event);
                } else {
                    QnnrtLlm.Answer answer = (QnnrtLlm.Answer) event;
                    putText(out, answer.stopped);
                    out.writeInt(answer.promptTokens);
                    out.writeInt(answer.tokens);
                    out.writeLong(answer.promptNanos);
                    out.writeLong(answer.writeNanos);
                    out.writeInt(answer.recoveries);
                }
            }
            out.writeByte(0);
        }
    }

    private int keep(AutoCloseable object) {
        objects.put(next, object);
        return next++;
    }

    private AutoCloseable object(int number) {
        AutoCloseable object = objects.get(number);
        if (object == null) {
            throw new QnnrtException(QnnrtException.STATE, 0, "object " + number + " is closed",
                    "");
        }
        return object;
    }

    private void close(int number) {
        try {
            object(number).close();
            objects.remove(number);
        } catch (QnnrtException thrown) {
            throw thrown;
        } catch (Exception thrown) {
            throw new IllegalStateException(thrown);          /* no close() of qnnrt throws it */
        }
    }

    /**
     * Stop the answer that is being written, and close all runs, then all models. A second close()
     * does nothing. Throws nothing.
     */
    @Override
    public synchronized void close() {
        if (opening != null) {
            opening.end();
            opening = null;
        }
        if (talk != null) {
            talk.end();
        }
        for (int number = next; --number > 0;) {
            if (objects.containsKey(number)) {
                close(number);
            }
        }
    }
}
