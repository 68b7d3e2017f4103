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
            LLM = 8, BEGIN = 9, NEXT = 10;

    private final Map<Integer, AutoCloseable> objects = new HashMap<>();
    private int next = 1;
    private Talk talk;

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
     * Answer a request. Never throws: an exception becomes an answer, which QnnrtProcess throws.
     *
     * @param request what QnnrtProcess sent
     * @return the answer, for QnnrtProcess
     */
    public synchronized byte[] call(byte[] request) {
        try {
            DataInputStream in = reader(request);
            int kind = in.readByte();
            ByteArrayOutputStream answer = new ByteArrayOutputStream();
            DataOutputStream out = new DataOutputStream(answer);
            out.writeByte(0);
            work(kind, in, out);
            return answer.toByteArray();
        } catch (Throwable thrown) {
            QnnrtException e = thrown instanceof QnnrtException ? (QnnrtException) thrown
                    : new QnnrtException(thrown instanceof IOException ? QnnrtException.IO
                    : QnnrtException.STATE, 0, thrown.toString(), "");
            return message(1, out -> {
                out.writeInt(e.code);
                out.writeLong(e.vendorCode);
                putText(out, e.getMessage());
                putText(out, e.hint);
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
                Qnnrt.Model model = new Qnnrt.Model(getText(in), getText(in));
                out.writeInt(keep(model));
                List<String> names = model.pipelines();
                out.writeInt(names.size());
                for (String name : names) {
                    putText(out, name);
                }
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
