package qnnrt;

import java.io.DataInputStream;
import java.io.File;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Timer;
import java.util.TimerTask;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Models in a process of their own, so that a library that crashes or hangs does not end the app.
 *
 * <pre>
 *   QnnrtProcess process = new QnnrtProcess(new QnnrtServiceLink(context, skels),
 *           getNoBackupFilesDir(), 60000, 2000);
 *   QnnrtDevice.Choice&lt;QnnrtProcess.Model&gt; choice = QnnrtDevice.look().choose(
 *           folders, libraries, process);                 // what crashes or hangs is refused
 *   QnnrtProcess.Run run = choice.opened.prepare(null);
 *   run.data("image").put(pixels);                        // memory that both processes map
 *   run.exec();                                           // after a crash: an exception, and the
 *   ByteBuffer scores = run.data("scores");               // next exec() starts all of it again
 * </pre>
 *
 * A call that finds no process starts one, opens the model again with its options, prepares the
 * pipeline and binds the same memory: what is in the inputs stays. A process that gives no answer in
 * time is ended. A model whose process ended {@value #MOST_ENDS} times in a row without an exec() is
 * refused from then on.
 *
 * Messages have any size: more than 256 KB is sent in parts, because Android takes less than 1 MB.
 * A line of the log comes with the answer of the next call; those of a process that crashes are lost
 * here, and in logcat.
 *
 * Costs: a message to the other process for each exec(), some 100 us; its memory; and on the NPU a
 * copy of inputs and outputs, because a mapped file is not memory that the NPU sees.
 *
 * Ownership: close a Run or Llm before its Model, and all before the QnnrtProcess, whose close() ends
 * the process. Each Run has a file in the folder of the constructor until it is closed; files that
 * a killed app left there are deleted by the next QnnrtProcess.
 *
 * Threads: any. One call at a time is sent, and others wait for it; never on the main thread.
 *
 * Errors: {@link QnnrtException}, as the call in the other process threw it. BACKEND with vendorCode
 * 0 and a text that begins with "the process" when it ended or hung; LIBRARY when it cannot be
 * started.
 */
public final class QnnrtProcess implements QnnrtDevice.Opener<QnnrtProcess.Model>, AutoCloseable {
    /** A model whose process ended so often in a row is refused. */
    public static final int MOST_ENDS = 3;

    /**
     * How a process is reached: QnnrtServiceLink on Android. Threads: called on the thread of the
     * call that needs a process, one at a time. Ownership: the QnnrtProcess ends what it returns.
     * Errors: an IOException is thrown by the call as a QnnrtException with LIBRARY.
     */
    public interface Link {
        /**
         * Start a process that answers with a QnnrtWork; return when it is reached.
         *
         * @return the way to it, which the QnnrtProcess ends
         * @throws IOException it cannot be started; the call throws LIBRARY with its text
         */
        Wire connect() throws IOException;
    }

    /**
     * A process that was started. Threads: call() on one at a time, end() on any. Ownership: the
     * QnnrtProcess ends it. Errors: an IOException of call() says that the process has ended.
     */
    public interface Wire {
        /**
         * Send a request, and wait for its answer.
         *
         * @param request bytes for QnnrtWork.call(), at most 256 KB and one
         * @return the answer of QnnrtWork.call()
         * @throws IOException the process has ended
         */
        byte[] call(byte[] request) throws IOException;

        /** End the process at once, whatever it does; a call() that waits fails. Any thread. */
        void end();
    }

    private static final String PREFIX = "qnnrt-", SUFFIX = ".mem";
    private static final int ALIGN = 4096;
    private static final AtomicInteger FILES = new AtomicInteger();

    private final Link link;
    private final File folder;
    private final long openMillis, execMillis;
    private final Timer timer = new Timer("qnnrt process", true);
    private Wire wire;
    private final Map<Integer, Qnnrt.Log> logs = new HashMap<>();      /* of models, by their tags */
    private int life;                         /* the number of the process, from 1 */
    private int ends, tags;
    private boolean closed;
    private Llm talking;                      /* whose answer is being written, or null */

    /**
     * Nothing is started yet. Any thread.
     *
     * @param link starts processes
     * @param folder for files that both processes map, such as getNoBackupFilesDir(): no cache, which
     *     the system empties
     * @param openMillis most time of a call that opens a library or a model; with a progress, of
     *     each file
     * @param execMillis most time of an exec()
     * @throws QnnrtException ARG: a null, or a time that is not above 0
     */
    public QnnrtProcess(Link link, File folder, long openMillis, long execMillis) {
        if (link == null || folder == null || openMillis <= 0 || execMillis <= 0) {
            throw new QnnrtException(QnnrtException.ARG, 0, "link or folder is null, or a time is "
                    + "not above 0", "");
        }
        this.link = link;
        this.folder = folder;
        this.openMillis = Math.min(openMillis, Integer.MAX_VALUE);     /* as a Timer takes */
        this.execMillis = Math.min(execMillis, Integer.MAX_VALUE);
        String[] names = folder.list();
        for (String name : names == null ? new String[0] : names) {
            String[] words = name.split("-");
            if (name.startsWith(PREFIX) && name.endsWith(SUFFIX) && words.length == 3
                    && words[1].matches("[0-9]+") && !new File("/proc/" + words[1]).exists()) {
                new File(folder, name).delete();
            }
        }
    }

    /**
     * Count the ends of the process. Any thread, which waits for a call that is being sent; throws
     * nothing.
     *
     * @return how often the process ended without being asked to, or was ended because it hung
     */
    public synchronized int ends() {
        return ends;
    }

    /**
     * {@link QnnrtDevice#library} in the process.
     *
     * @param path as there
     * @return what the library is
     * @throws QnnrtException as there; BACKEND: the process ended or hung; LIBRARY: it cannot be
     *     started
     */
    @Override
    public synchronized QnnrtDevice.Library library(String path) {
        connect();
        return ask(QnnrtWork.LIBRARY, openMillis, out -> QnnrtWork.putText(out, path), in -> {
            String[] texts = texts(in);
            String[] api = QnnrtWork.getText(in).split("\\.");
            return new QnnrtDevice.Library(texts, new long[] {in.readInt(),
                Long.parseLong(api[0]), Long.parseLong(api[1]), Long.parseLong(api[2]),
                in.readBoolean() ? 1 : 0});
        });
    }

    /**
     * {@link QnnrtDevice#folder} in the process.
     *
     * @param path as there
     * @param libraries as there
     * @return what the metadata say
     * @throws QnnrtException as there; BACKEND: the process ended or hung; LIBRARY: it cannot be
     *     started
     */
    @Override
    public synchronized QnnrtDevice.Folder folder(String path, String libraries) {
        connect();
        return ask(QnnrtWork.FOLDER, openMillis, out -> {
            QnnrtWork.putText(out, path);
            QnnrtWork.putText(out, libraries);
        }, in -> {
            String name = QnnrtWork.getText(in), build = QnnrtWork.getText(in);
            return new QnnrtDevice.Folder(name, build, new long[] {in.readLong(), in.readLong(),
                in.readLong(), in.readLong(), in.readLong()});
        });
    }

    /**
     * Open a model in the process, as {@link Qnnrt.Model} does.
     *
     * @param folder of the model
     * @param library the backend library
     * @return the model, which the caller closes
     * @throws QnnrtException as there; BACKEND: the process ended or hung; LIBRARY: it cannot be
     *     started
     */
    @Override
    public Model open(String folder, String library) {
        Qnnrt.required("folder", folder);
        return open(folder, new Qnnrt.Options().backend(library));
    }

    /**
     * Open a model in the process, with options. Listeners are called in this process: the progress
     * on the thread that opens, also when the model is opened again, and the log on the thread of a
     * call, with what was logged until its answer. Both must not call this object. Memory of
     * Options.memory() serves caches and what lies between steps; inputs and outputs lie in a file.
     *
     * @param folder of the model; null: the options have files, by their paths
     * @param options are copied
     * @return the model, which the caller closes
     * @throws QnnrtException as the constructor of {@link Qnnrt.Model}; UNSUPPORTED: a file of the
     *     options is memory or a descriptor; BACKEND: the process ended or hung; LIBRARY: it cannot
     *     be started. What the progress throws comes through
     */
    public Model open(String folder, Qnnrt.Options options) {
        Qnnrt.Model.folder(folder, options);
        QnnrtWork.check(options);
        Model model = new Model(folder, options.copy());
        synchronized (this) {
            model.tag = ++tags;
            if (model.options.log != null) {
                logs.put(model.tag, model.options.log);
            }
            try {
                model.revive();
            } catch (Throwable thrown) {
                logs.remove(model.tag);
                throw thrown;
            }
        }
        return model;
    }

    /**
     * Make an opener for {@link QnnrtDevice#choose} that opens with options.
     *
     * @param options are copied, and used with each library that is tried
     * @return the opener, which uses this process
     * @throws QnnrtException ARG: the options are null
     */
    public QnnrtDevice.Opener<Model> opener(Qnnrt.Options options) {
        Qnnrt.required("options", options);
        Qnnrt.Options own = options.copy();
        return new QnnrtDevice.Opener<Model>() {
            @Override
            public Model open(String folder, String library) {
                return QnnrtProcess.this.open(folder, own.copy().backend(library));
            }

            @Override
            public QnnrtDevice.Library library(String path) {
                return QnnrtProcess.this.library(path);
            }

            @Override
            public QnnrtDevice.Folder folder(String path, String libraries) {
                return QnnrtProcess.this.folder(path, libraries);
            }
        };
    }

    /**
     * End the process and give up all that was in it. A second close() does nothing. Any thread,
     * which waits for a call that is being sent; throws nothing.
     */
    @Override
    public synchronized void close() {
        closed = true;
        timer.cancel();
        if (wire != null) {
            wire.end();
            wire = null;
        }
    }

    /** Reads an answer. */
    private interface Reader<T> {
        T read(DataInputStream in) throws IOException;
    }

    /** Send a request and wait for its answer, at most so long. This object is locked. */
    private <T> T ask(int kind, long millis, QnnrtWork.Body body, Reader<T> reader) {
        byte[] answer;
        Wire now = wire;
        if (now == null) {                    /* what the call needs was in the one before */
            throw new QnnrtException(QnnrtException.BACKEND, 0, "the process ended", "Call again "
                    + "to start it again.");
        }
        AtomicBoolean late = new AtomicBoolean();
        TimerTask watch = new TimerTask() {
            @Override
            public void run() {
                late.set(true);
                now.end();
            }
        };
        timer.schedule(watch, millis);
        try {
            answer = QnnrtWork.exchange(now, QnnrtWork.message(kind, body));
        } catch (IOException thrown) {
            watch.cancel();
            now.end();
            wire = null;
            ++ends;
            throw late.get() ? new QnnrtException(QnnrtException.BACKEND, 0, "the process hung: no "
                    + "answer in " + millis + " ms, so it was ended", "Allow more time if it only "
                    + "was slow.") : new QnnrtException(QnnrtException.BACKEND, 0, "the process "
                    + "ended during the call: " + thrown.getMessage(), "Call again to start it "
                    + "again; the system's log says what ended it.");
        }
        if (!watch.cancel()) {                /* it came too late by a hair: the answer counts */
            wire = null;
            ++ends;
        }
        try {
            DataInputStream in = QnnrtWork.reader(answer);
            if (in.readByte() == 0) {
                T found = reader.read(in);
                readLines(in);
                return found;
            }
            int code = in.readInt();
            long vendor = in.readLong();
            String text = QnnrtWork.getText(in), hint = QnnrtWork.getText(in);
            readLines(in);
            throw new QnnrtException(code, vendor, text, hint);
        } catch (IOException thrown) {
            throw new QnnrtException(QnnrtException.FORMAT, 0, "the process gave an answer that "
                    + "is cut short", "Use both halves of one version.");
        }
    }

    /** Give the logs of models the lines at the end of an answer. */
    private void readLines(DataInputStream in) throws IOException {
        for (int count = in.readInt(); count > 0; --count) {
            Qnnrt.Log log = logs.get(in.readInt());
            Qnnrt.Level level = Qnnrt.Level.values()[in.readByte()];
            String part = QnnrtWork.getText(in);
            long code = in.readLong();
            String text = QnnrtWork.getText(in);
            try {
                if (log != null) {
                    log.line(level, part, code, text);
                }
            } catch (RuntimeException | Error dropped) {      /* as in a process */
                continue;
            }
        }
    }

    /** Start a process unless there is one. */
    private void connect() {
        if (closed) {
            throw new QnnrtException(QnnrtException.STATE, 0, "the process is closed", "");
        }
        if (wire != null) {
            return;
        }
        try {
            wire = link.connect();
            ++life;
        } catch (IOException thrown) {
            throw new QnnrtException(QnnrtException.LIBRARY, 0, "the process cannot be started: "
                    + thrown.getMessage(), "Declare the service in the app's manifest.");
        }
    }

    /** Close what a process has, unless it ended. */
    private void drop(int born, int number) {
        if (born == life && wire != null) {
            try {
                ask(QnnrtWork.CLOSE, openMillis, out -> out.writeInt(number), in -> null);
            } catch (QnnrtException ended) {
                return;                       /* with all that it had */
            }
        }
    }

    /**
     * A model in the process. Threads: any; calls of one QnnrtProcess wait for each other.
     * Ownership: the caller closes it, after its Runs and Llms. Errors: each call that needs the
     * process may throw STATE (it is closed, or its process ended too often), BACKEND (the process
     * ended or hung) and LIBRARY (it cannot be started).
     */
    public final class Model implements AutoCloseable {
        private final String path;
        private final Qnnrt.Options options;      /* what it is opened with again */
        private List<String> names = new ArrayList<>();
        private int number, born, failures, runs, tag;
        private boolean gone;

        private Model(String path, Qnnrt.Options options) {
            this.path = path;
            this.options = options;
        }

        /**
         * Tell what prepare() takes. Throws nothing.
         *
         * @return the names; they cannot be changed
         */
        public List<String> pipelines() {
            return names;
        }

        /**
         * Prepare a pipeline.
         *
         * @param pipeline one of pipelines(); null: the model's only one
         * @return a run, which the caller closes before the model
         * @throws QnnrtException as {@link Qnnrt.Model#prepare(String)}; IO: no file can be mapped
         *     for its tensors; LIMIT: they are larger than such a file
         */
        public Run prepare(String pipeline) {
            synchronized (QnnrtProcess.this) {
                Run run = new Run(this, pipeline);
                try {
                    run.revive();
                } catch (RuntimeException thrown) {
                    if (run.file != null) {
                        run.file.delete();
                    }
                    throw thrown;
                }
                ++runs;
                return run;
            }
        }

        /**
         * Open the model as a language model, with a cache for one text.
         *
         * @return a language model, which the caller closes before the model
         * @throws QnnrtException as {@link Qnnrt.Model#llm()}
         */
        public Llm llm() {
            synchronized (QnnrtProcess.this) {
                Llm llm = new Llm(this);
                llm.revive();
                ++runs;
                return llm;
            }
        }

        /**
         * Close the model. A second close() does nothing.
         *
         * @throws QnnrtException BUSY while a Run or Llm of it is open; nothing is closed
         */
        @Override
        public void close() {
            synchronized (QnnrtProcess.this) {
                if (runs > 0) {
                    throw new QnnrtException(QnnrtException.BUSY, 0, "the model is in use by a Run "
                            + "or Llm that is open", "Close every Run and Llm of the model "
                            + "first.");
                }
                if (!gone) {
                    drop(born, number);
                    logs.remove(tag);
                }
                gone = true;
            }
        }

        /**
         * {@link Qnnrt.Model#budget}, also for a process that is started later.
         *
         * @param bytes as there
         * @throws QnnrtException as there
         */
        public void budget(long bytes) {
            synchronized (QnnrtProcess.this) {
                revive();
                guarded(QnnrtWork.BUDGET, openMillis, out -> {
                    out.writeInt(number);
                    out.writeLong(bytes);
                }, in -> null);
                options.budget(bytes);
            }
        }

        /**
         * {@link Qnnrt.Model#power}, also for a process that is started later.
         *
         * @param power as there
         * @return as there
         * @throws QnnrtException as there
         */
        public String power(Qnnrt.Power power) {
            synchronized (QnnrtProcess.this) {
                revive();
                String answers = guarded(QnnrtWork.POWER, openMillis, out -> {
                    out.writeInt(number);
                    out.writeInt(power == null ? 0 : power.ordinal() + 1);
                }, QnnrtWork::getText);
                options.power(power);
                return answers;
            }
        }

        /**
         * {@link Qnnrt.Model#contexts}.
         *
         * @return as there
         */
        public List<Qnnrt.Context> contexts() {
            synchronized (QnnrtProcess.this) {
                revive();
                return guarded(QnnrtWork.CONTEXTS, openMillis, out -> out.writeInt(number), in -> {
                    List<Qnnrt.Context> all = new ArrayList<>();
                    for (int count = in.readInt(); count > 0; --count) {
                        String[] texts = texts(in);
                        all.add(new Qnnrt.Context(texts, new long[] {in.readLong(),
                            in.readBoolean() ? 1 : 0}));
                    }
                    return all;
                });
            }
        }

        /**
         * {@link Qnnrt.Model#loadEvents}, of the last opening.
         *
         * @return as there
         */
        public List<Qnnrt.Event> loadEvents() {
            synchronized (QnnrtProcess.this) {
                revive();
                return guarded(QnnrtWork.LOAD_EVENTS, openMillis, out -> out.writeInt(number), in -> {
                    List<Qnnrt.Event> all = new ArrayList<>();
                    for (int count = in.readInt(); count > 0; --count) {
                        String[] texts = texts(in);
                        all.add(new Qnnrt.Event(texts, new double[] {in.readDouble(),
                            in.readDouble(), in.readDouble(), in.readDouble()}));
                    }
                    return all;
                });
            }
        }

        /** Open it in the process that exists now, unless it is. */
        private void revive() {
            if (gone) {
                throw new QnnrtException(QnnrtException.STATE, 0, "the model is closed", "");
            }
            if (failures >= MOST_ENDS) {
                throw new QnnrtException(QnnrtException.STATE, 0, "the process ended " + failures
                        + " times in a row with " + name(), "Open another folder or library.");
            }
            connect();
            if (born == life) {
                return;
            }
            Throwable failure = null;
            Object[] event = guarded(QnnrtWork.OPEN, openMillis, out -> {
                out.writeInt(tag);
                QnnrtWork.putText(out, path);
                QnnrtWork.putOptions(out, options);
            }, this::opened);
            while (event != null) {               /* it waits for what the progress says */
                boolean more = false;
                try {
                    more = failure == null && options.progress.file((Integer) event[0],
                            (Integer) event[1], (String) event[2]);
                } catch (Throwable thrown) {
                    failure = thrown;
                }
                boolean goOn = more;
                try {
                    event = guarded(QnnrtWork.GO_ON, openMillis, out -> out.writeBoolean(goOn),
                            this::opened);
                } catch (QnnrtException thrown) {
                    if (failure == null) {
                        throw thrown;
                    }
                    QnnrtWork.<RuntimeException>rethrow(failure);
                }
            }
            born = life;
        }

        /** Read the end of an opening, or return a file that it comes to. */
        private Object[] opened(DataInputStream in) throws IOException {
            if (!in.readBoolean()) {
                return new Object[] {in.readInt(), in.readInt(), QnnrtWork.getText(in)};
            }
            number = in.readInt();
            List<String> list = new ArrayList<>();
            for (int count = in.readInt(); count > 0; --count) {
                list.add(QnnrtWork.getText(in));
            }
            names = Collections.unmodifiableList(list);
            return null;
        }

        private String name() {
            return path != null ? path : options.sources.get(0).name;
        }

        /** Ask, and count when the process ends. */
        private <T> T guarded(int kind, long millis, QnnrtWork.Body body, Reader<T> reader) {
            int before = ends;
            try {
                return ask(kind, millis, body, reader);
            } finally {
                failures += ends - before;
            }
        }
    }

    /**
     * Takes what a language model writes. Threads: called on the thread of the call. Ownership:
     * kept until the answer has ended. Errors: what it throws stops the answer, and generate()
     * throws it.
     */
    public interface Listener {
        /**
         * Take a piece of the text.
         *
         * @param text at least one whole character
         * @return whether to go on: false stops this answer
         */
        boolean piece(String text);
    }

    /**
     * Takes the tokens that a language model writes. Threads, ownership and errors as of {@link
     * Listener}.
     */
    public interface TokenListener {
        /**
         * Take a token.
         *
         * @param token its number
         * @return whether to go on: false stops this answer
         */
        boolean token(int token);
    }

    /**
     * A language model in the process. After the end of the process the next answer starts it
     * again; the text so far is with the listener. Threads: any; one answer at a time. Ownership:
     * the caller closes it before its Model. Errors: as of {@link Model}.
     */
    public final class Llm implements AutoCloseable {
        private final Model model;
        private int number, born, vocabulary, topK;
        private float temperature, topP;
        private long seed;
        private boolean gone;

        private Llm(Model model) {
            this.model = model;
        }

        /**
         * Tell what tokens there are. Throws nothing.
         *
         * @return the number of tokens; 256: each token is a byte of UTF-8
         */
        public int vocabulary() {
            return vocabulary;
        }

        /**
         * {@link QnnrtLlm#sampling}, for the next answers; numbers that are wrong fail there.
         * Throws nothing.
         *
         * @param temperature as there
         * @param topK as there
         * @param topP as there
         * @param seed as there
         */
        public void sampling(float temperature, int topK, float topP, long seed) {
            synchronized (QnnrtProcess.this) {
                this.temperature = temperature;
                this.topK = topK;
                this.topP = topP;
                this.seed = seed;
            }
        }

        /**
         * {@link QnnrtLlm#generate(String, int, QnnrtLlm.Text)}: the thread of the call waits. Each
         * step of the prompt and each piece may take the time of an exec(). What the listener
         * throws stops the answer, too.
         *
         * @param prompt as there
         * @param most as there
         * @param listener takes the pieces, on the thread of the call
         * @return how it ended
         * @throws QnnrtException BUSY: another answer is being written in the process; as {@link
         *     QnnrtLlm.Call#run()}; BACKEND: the process ended; ARG: a null
         */
        public QnnrtLlm.Answer generate(String prompt, int most, Listener listener) {
            Qnnrt.required("prompt", prompt);
            return answer(prompt, null, most, listener, null);
        }

        /**
         * {@link QnnrtLlm#generate(int[], int, QnnrtLlm.Tokens)}, likewise.
         *
         * @param prompt as there
         * @param most as there
         * @param listener takes the tokens, on the thread of the call
         * @return how it ended
         * @throws QnnrtException likewise
         */
        public QnnrtLlm.Answer generate(int[] prompt, int most, TokenListener listener) {
            Qnnrt.required("prompt", prompt);
            return answer(null, prompt, most, null, listener);
        }

        private QnnrtLlm.Answer answer(String text, int[] tokens, int most, Listener pieces,
                TokenListener numbers) {
            int here;
            Qnnrt.required("listener", text != null ? pieces : numbers);
            synchronized (QnnrtProcess.this) {
                if (gone) {
                    throw Qnnrt.closed("language model");
                }
                if (talking != null) {
                    throw new QnnrtException(QnnrtException.BUSY, 0, "an answer is being written "
                            + "in the process", "Wait for its end, or let its listener stop it.");
                }
                revive();
                here = life;
                model.guarded(QnnrtWork.BEGIN, execMillis, out -> {
                    out.writeInt(number);
                    out.writeFloat(temperature);
                    out.writeInt(topK);
                    out.writeFloat(topP);
                    out.writeLong(seed);
                    out.writeInt(most);
                    QnnrtWork.putText(out, text);
                    if (text == null) {
                        out.writeInt(tokens.length);
                        for (int token : tokens) {
                            out.writeInt(token);
                        }
                    }
                }, in -> null);
                talking = this;
            }
            try {
                return follow(here, pieces, numbers);
            } finally {
                synchronized (QnnrtProcess.this) {
                    talking = null;
                }
            }
        }

        /** Give the listener what is written, until the end. What it throws stops the answer. */
        private QnnrtLlm.Answer follow(int here, Listener pieces, TokenListener numbers) {
            boolean goOn = true;
            Throwable failure = null;
            for (;;) {
                for (Object event : next(here, !goOn)) {
                    if (event instanceof QnnrtLlm.Answer && failure != null) {
                        QnnrtWork.<RuntimeException>rethrow(failure);
                    }
                    if (event instanceof QnnrtLlm.Answer) {
                        return (QnnrtLlm.Answer) event;
                    }
                    try {
                        if (goOn && !event.equals("")) {
                            goOn = event instanceof Integer ? numbers.token((Integer) event)
                                    : pieces.piece((String) event);
                        }
                    } catch (Throwable thrown) {
                        failure = thrown;
                        goOn = false;
                    }
                }
            }
        }

        /** Wait for what happens next; other calls have their turn in between. */
        private List<Object> next(int here, boolean stop) {
            synchronized (QnnrtProcess.this) {
                if (here != life || wire == null) {
                    throw new QnnrtException(QnnrtException.BACKEND, 0, "the process ended while "
                            + "the answer was written", "Call again to start it again.");
                }
                List<Object> events = model.guarded(QnnrtWork.NEXT, execMillis,
                        out -> out.writeBoolean(stop), QnnrtProcess::events);
                model.failures = 0;
                return events;
            }
        }

        /**
         * Close it. A second close() does nothing.
         *
         * @throws QnnrtException BUSY while an answer of it is being written; nothing is closed
         */
        @Override
        public void close() {
            synchronized (QnnrtProcess.this) {
                if (talking == this && wire != null) {
                    throw new QnnrtException(QnnrtException.BUSY, 0, "an answer of the language "
                            + "model is being written", "Let its listener stop it, and close it "
                            + "then.");
                }
                if (!gone) {
                    gone = true;
                    drop(born, number);
                    --model.runs;
                }
            }
        }

        private void revive() {
            model.revive();
            if (born == life) {
                return;
            }
            number = model.guarded(QnnrtWork.LLM, openMillis, out -> out.writeInt(model.number),
                    in -> {
                        int made = in.readInt();
                        vocabulary = in.readInt();
                        return made;
                    });
            born = life;
        }
    }

    private static String[] texts(DataInputStream in) throws IOException {
        return new String[] {QnnrtWork.getText(in), QnnrtWork.getText(in), QnnrtWork.getText(in)};
    }

    private static List<Object> events(DataInputStream in) throws IOException {
        List<Object> events = new ArrayList<>();
        for (int kind = in.readByte(); kind != 0; kind = in.readByte()) {
            if (kind == 1) {
                events.add(QnnrtWork.getText(in));
            } else if (kind == 2) {
                events.add(in.readInt());
            } else {
                events.add(new QnnrtLlm.Answer(QnnrtWork.getText(in), in.readInt(), in.readInt(),
                        in.readLong(), in.readLong(), in.readInt()));
            }
        }
        return events;
    }

    /**
     * A tensor that a pipeline reads or writes. Threads: any; what is public does not change.
     * Ownership: numbers and texts only. Errors: none.
     */
    public static final class Tensor {
        /** As of {@link Qnnrt.Tensor}. */
        public final String name, role, text;
        /** Number of elements, and of the bytes that hold them. */
        public final long count, bytes;
        private final int[] dims;
        private int offset = -1;              /* in the file; -1: an edge, which has no part */

        private Tensor(DataInputStream in) throws IOException {
            name = QnnrtWork.getText(in);
            role = QnnrtWork.getText(in);
            text = QnnrtWork.getText(in);
            count = in.readLong();
            bytes = in.readLong();
            dims = new int[in.readInt()];
            for (int i = 0; i < dims.length; ++i) {
                dims[i] = in.readInt();
            }
        }

        /**
         * Tell the dimensions.
         *
         * @return a copy, row-major
         */
        public int[] dims() {
            return dims.clone();
        }
    }

    /**
     * A pipeline in the process, with inputs and outputs in memory that both processes map.
     * Threads: any; one call of a QnnrtProcess at a time is sent. Ownership: the caller closes it
     * before its Model. Errors: as of {@link Model}.
     */
    public final class Run implements AutoCloseable {
        private final Model model;
        private final String pipeline;
        private List<Tensor> tensors;
        private File file;
        private ByteBuffer memory;
        private int number, born;

        private Run(Model model, String pipeline) {
            this.model = model;
            this.pipeline = pipeline;
        }

        /**
         * Tell what the pipeline reads and writes. Throws nothing.
         *
         * @return all tensors, in the order in which the steps list them; it cannot be changed
         */
        public List<Tensor> tensors() {
            return tensors;
        }

        /**
         * Show the memory of an input or output, in native order, as a view with a position of its
         * own. It stays the same after a restart, and valid after close().
         *
         * @param name of a tensor
         * @return the view
         * @throws QnnrtException NOT_FOUND: no input or output has the name
         */
        public ByteBuffer data(String name) {
            for (Tensor tensor : tensors) {
                if (tensor.name.equals(name) && tensor.offset >= 0) {
                    return QnnrtWork.part(memory, tensor.offset, (int) tensor.bytes);
                }
            }
            throw new QnnrtException(QnnrtException.NOT_FOUND, 0, "no input or output \"" + name
                    + "\"", "Use a name of tensors().");
        }

        /**
         * Execute the pipeline in the process, which is started again if it ended before.
         *
         * @throws QnnrtException as {@link Qnnrt.Run#exec()}; BACKEND with vendorCode 0: the
         *     process ended or hung; after a restart MISMATCH: the model has other tensors, and IO:
         *     the file of the run was deleted
         */
        public void exec() {
            synchronized (QnnrtProcess.this) {
                if (file == null) {
                    throw new QnnrtException(QnnrtException.STATE, 0, "the run is closed", "");
                }
                revive();
                model.guarded(QnnrtWork.EXEC, execMillis, out -> out.writeInt(number), in -> null);
                model.failures = 0;
            }
        }

        /** Close the run, and delete its file. A second close() does nothing. Throws nothing. */
        @Override
        public void close() {
            synchronized (QnnrtProcess.this) {
                if (file != null) {
                    file.delete();
                    file = null;
                    drop(born, number);
                    --model.runs;
                }
            }
        }

        /** Prepare it in the process that exists now, unless it is. */
        private void revive() {
            model.revive();
            if (born == life) {
                return;
            }
            List<Tensor> found = new ArrayList<>();
            number = model.guarded(QnnrtWork.PREPARE, openMillis, out -> {
                out.writeInt(model.number);
                QnnrtWork.putText(out, pipeline);
            }, in -> {
                int made = in.readInt();
                for (int count = in.readInt(); count > 0; --count) {
                    found.add(new Tensor(in));
                }
                return made;
            });
            boolean bound = false;
            try {
                bind(found);
                bound = true;
            } finally {
                if (!bound) {                 /* nobody else closes it there */
                    drop(life, number);
                }
            }
            born = life;
        }

        private void bind(List<Tensor> found) {
            boolean first = memory == null;
            lay(found);
            model.guarded(QnnrtWork.BIND, openMillis, out -> {
                out.writeInt(number);
                QnnrtWork.putText(out, file.getPath());
                out.writeBoolean(first);
                out.writeInt((int) found.stream().filter(t -> t.offset >= 0).count());
                for (Tensor tensor : found) {
                    if (tensor.offset >= 0) {
                        QnnrtWork.putText(out, tensor.name);
                        out.writeInt(tensor.offset);
                        out.writeInt((int) tensor.bytes);
                    }
                }
            }, in -> null);
        }

        /** Lay inputs and outputs into a file; after a restart they must be what they were. */
        private void lay(List<Tensor> found) {
            long bytes = 0;
            for (int i = 0; i < found.size(); ++i) {
                Tensor tensor = found.get(i), old = tensors == null ? null : i < tensors.size()
                        ? tensors.get(i) : tensor;
                if (old != null && (old == tensor || !old.name.equals(tensor.name)
                        || !old.role.equals(tensor.role) || old.bytes != tensor.bytes)) {
                    throw new QnnrtException(QnnrtException.MISMATCH, 0, model.name() + " has other "
                            + "tensors than when it was opened first", "Close its runs and open "
                            + "it again.");
                }
                if (!tensor.role.equals("edge") && bytes <= Integer.MAX_VALUE) {
                    tensor.offset = (int) bytes;
                    bytes += (tensor.bytes + ALIGN - 1) / ALIGN * ALIGN;
                }
            }
            if (bytes > Integer.MAX_VALUE) {
                throw new QnnrtException(QnnrtException.LIMIT, 0, "inputs and outputs of " + bytes
                        + " bytes are more than a file of Java maps", "");
            }
            tensors = Collections.unmodifiableList(found);
            if (memory != null && file.length() < memory.capacity()) {
                throw new QnnrtException(QnnrtException.IO, 0, file + " was deleted, so that a new "
                        + "process cannot map the memory of the run", "Close the run and prepare it "
                        + "again; name a folder that is no cache.");
            }
            if (memory != null) {
                return;
            }
            try {
                file = new File(folder, PREFIX + new File("/proc/self").getCanonicalFile().getName()
                        + "-" + FILES.incrementAndGet() + SUFFIX);
                memory = map(file, bytes);
            } catch (IOException thrown) {
                throw new QnnrtException(QnnrtException.IO, 0, "no memory in " + folder + ": "
                        + thrown.getMessage(), "Free " + bytes + " bytes of storage.");
            }
        }
    }

    /** Make a file and map it. It is written whole, because a hole that finds no space when it is
     *  written through the map ends the app. */
    private static ByteBuffer map(File path, long bytes) throws IOException {
        try (RandomAccessFile file = new RandomAccessFile(path, "rw")) {
            file.setLength(0);
            byte[] zeros = new byte[1 << 16];
            for (long at = 0; at < bytes; at += zeros.length) {
                file.write(zeros, 0, (int) Math.min(zeros.length, bytes - at));
            }
            return file.getChannel().map(FileChannel.MapMode.READ_WRITE, 0, bytes);
        }
    }
}
