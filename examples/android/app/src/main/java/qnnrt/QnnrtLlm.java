package qnnrt;

import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharsetDecoder;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.atomic.AtomicReference;

/**
 * A language model with a cache for one text, made by {@link Qnnrt.Model#llm(Qnnrt.Memory)}.
 *
 * <pre>
 *   QnnrtLlm.Call call = llm.text("Once upon a time", 100, piece -> show(piece));
 *   button.setOnClickListener(view -> call.stop());     // any thread, at any time
 *   QnnrtLlm.Answer answer = call.run();                // on a thread that may wait
 * </pre>
 *
 * Threads: one call runs at a time; a second one throws a QnnrtException with BUSY. Listeners run
 * on the thread of their call, and must not use the model of the call. {@link #stop()} and
 * {@link Call#stop()} may be called from any thread, also from a listener. To let calls wait for
 * each other, run them on one thread, or use Qnnrt.kt.
 *
 * Ownership: close it before its Model. It keeps a listener as long as the call exists.
 *
 * Errors: each method may throw a QnnrtException with STATE (it is closed) or BUSY (another call
 * runs), and what is said there. After an error the next call may succeed.
 */
public final class QnnrtLlm extends QnnrtPart {
    /**
     * Takes the pieces of a text. Threads: called on the thread of the call. Ownership: kept as
     * long as the call exists. Errors: what it throws ends the answer, and run() throws it.
     */
    public interface Text {
        /**
         * Take a piece. What it throws ends the answer.
         *
         * @param text at least one whole character
         */
        void piece(String text);
    }

    /** Takes the tokens of a text. Threads, ownership and errors as of {@link Text}. */
    public interface Tokens {
        /**
         * Take a token. What it throws ends the answer.
         *
         * @param token its number
         */
        void token(int token);
    }

    /**
     * Is told how much of a prompt has been read. Threads, ownership and errors as of {@link Text}.
     */
    public interface Progress {
        /**
         * Take two numbers of tokens. What it throws ends the answer.
         *
         * @param done read so far
         * @param count all of the prompt
         */
        void read(int done, int count);
    }

    /**
     * How an answer ended, and how long it took. Threads: any; nothing changes. Ownership: numbers
     * and a text only. Errors: none.
     */
    public static final class Answer {
        /** "end token", "most", "full" (the model's memory) or "stopped". */
        public final String stopped;
        /** Number of tokens that the model read before it answered, and that it wrote. */
        public final int promptTokens, tokens;
        /** Time to read the prompt, and to write all tokens after the first. */
        public final long promptNanos, writeNanos;
        /** How often the model was recovered, see {@link Call#recover}. */
        public final int recoveries;

        Answer(String stopped, int promptTokens, int tokens, long promptNanos,
                long writeNanos, int recoveries) {
            this.stopped = stopped;
            this.promptTokens = promptTokens;
            this.tokens = tokens;
            this.promptNanos = promptNanos;
            this.writeNanos = writeNanos;
            this.recoveries = recoveries;
        }
    }

    /** Number of tokens; 256: each token is a byte of UTF-8. */
    public final int vocabulary;
    /** Where Qnnrt.kt keeps the line in which calls wait. */
    final AtomicReference<Object> line = new AtomicReference<>();
    private final int ar, room, bos;
    private final String[] memory;
    private final Object turn = new Object();
    private Call running;                 /* guarded by turn, as are the next two */
    private long runningLlm, stops;

    QnnrtLlm(Qnnrt.Model model, long llm) {
        super(model, "language model", llm);
        int[] facts = new int[4];
        memory = Qnnrt.text(nativeMemory(llm)).split("\0", 3);
        nativeFacts(llm, facts);
        vocabulary = facts[0];
        ar = facts[1];
        room = facts[2];
        bos = facts[3];
    }

    /**
     * Tell what its tensors and its cache live in. Any thread at any time; throws nothing.
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
        return memory[1];
    }

    /**
     * Choose how tokens are drawn, from the next answer on; at first the most probable one is.
     *
     * @param temperature 0: the most probable token; 1: by the model's probabilities
     * @param topK among so many of the most probable tokens; 0: all
     * @param topP among the fewest tokens whose probabilities add up to it; 0 or 1: all
     * @param seed the same seed gives the same tokens on every machine
     * @throws QnnrtException ARG: a number is below 0, or NaN
     */
    public void sampling(float temperature, int topK, float topP, long seed) {
        long llm = enter();
        try {
            if (topK < 0) {
                throw Qnnrt.fail("topK is " + topK + ", expected 0 or more", "");
            }
            nativeSampling(llm, temperature, topK, topP, seed);
        } finally {
            leave();
        }
    }

    /**
     * Make a call that writes a new text, piece by piece, for a model whose tokens are bytes. Any
     * thread, also while another call runs; nothing is computed before {@link Call#run()}.
     *
     * @param prompt what the text follows
     * @param most tokens to write at most
     * @param listener takes the pieces, on the thread of the call
     * @return a call, which runs once and needs no close
     * @throws QnnrtException UNSUPPORTED: the tokens of the model are not bytes; ARG: a null
     */
    public Call text(String prompt, int most, Text listener) {
        if (vocabulary != 256) {
            throw new QnnrtException(QnnrtException.UNSUPPORTED, 0, "the model has "
                    + vocabulary + " tokens, so its tokens are not bytes",
                    "Give the token numbers of the model's own tokenizer.");
        }
        byte[] bytes = Qnnrt.utf8("prompt", prompt);
        int begin = bos >= 0 ? 1 : 0;
        int[] tokens = new int[begin + bytes.length];
        if (begin == 1) {
            tokens[0] = bos;
        }
        for (int i = 0; i < bytes.length; ++i) {
            tokens[begin + i] = bytes[i] & 0xFF;
        }
        Qnnrt.required("listener", listener);
        return new Call(tokens, most, new Characters(listener));
    }

    /**
     * Make a call that writes a new text as token numbers. Any thread, also while another call
     * runs; nothing is computed before {@link Call#run()}.
     *
     * @param prompt what the model's tokenizer returned; it is copied
     * @param most tokens to write at most
     * @param listener takes the tokens, on the thread of the call
     * @return a call, which runs once and needs no close
     * @throws QnnrtException ARG: a null
     */
    public Call tokens(int[] prompt, int most, Tokens listener) {
        Qnnrt.required("prompt", prompt);
        Qnnrt.required("listener", listener);
        return new Call(prompt.clone(), most, listener);
    }

    /**
     * Write a new text, piece by piece: {@link #text} and {@link Call#run()}. This thread waits.
     *
     * @param prompt what the text follows
     * @param most tokens to write at most
     * @param listener takes the pieces, on this thread
     * @return how it ended
     * @throws QnnrtException as both; what the listener throws comes through
     */
    public Answer generate(String prompt, int most, Text listener) {
        return text(prompt, most, listener).run();
    }

    /**
     * Write a new text as token numbers: {@link #tokens} and {@link Call#run()}. This thread waits.
     *
     * @param prompt what the model's tokenizer returned
     * @param most tokens to write at most
     * @param listener takes the tokens, on this thread
     * @return how it ended
     * @throws QnnrtException as both; what the listener throws comes through
     */
    public Answer generate(int[] prompt, int most, Tokens listener) {
        return tokens(prompt, most, listener).run();
    }

    /**
     * Stop all calls that exist: the one that runs, and those that were made and have not run yet.
     * Calls that are made later are not stopped. Any thread; does not wait, and throws nothing.
     */
    public void stop() {
        synchronized (turn) {
            ++stops;
            if (running != null) {
                nativeStop(runningLlm, true);
            }
        }
    }

    /**
     * One answer, which runs once.
     *
     * Threads: set it up and run it on one thread; {@link #stop()} and {@link #isStopped()} may be
     * called on any. Ownership: it holds no memory of the model, and needs no close. Errors: only
     * {@link #run()} throws.
     */
    public final class Call {
        private final int[] prompt;
        private final int most;
        private final Tokens listener;
        private final long born;          /* stops of the model before it */
        private Progress progress;
        private int mayRecover, recoveries;
        private boolean begun;            /* guarded by turn, as is the next one */
        private boolean stopped;

        private Call(int[] prompt, int most, Tokens listener) {
            this.prompt = prompt;
            this.most = most;
            this.listener = listener;
            synchronized (turn) {
                born = stops;
            }
        }

        /**
         * Tell a listener after each step how much of the prompt is read.
         *
         * @param told null: nobody
         * @return this call
         */
        public Call progress(Progress told) {
            progress = told;
            return this;
        }

        /**
         * After a restart of the DSP, recover the model and go on where the answer was. The text
         * loses and repeats nothing. A Run or another QnnrtLlm of the same Model that is in a call
         * meanwhile prevents it: run() throws then.
         *
         * @param times at most so often; at first 0: {@link #run()} throws
         * @return this call
         */
        public Call recover(int times) {
            mayRecover = times;
            return this;
        }

        /**
         * Stop this call, and no other one: soon, if it runs; at once when it begins, if it has not
         * begun; not at all, if it has ended. Any thread; does not wait, and throws nothing.
         *
         * A call that runs ends before its next step, and before the next shard of a step. The
         * listener may receive one more token until then.
         */
        public void stop() {
            synchronized (turn) {
                stopped = true;
                if (running == this) {
                    nativeStop(runningLlm, true);
                }
            }
        }

        /**
         * Tell whether this call was asked to stop. Any thread; throws nothing.
         *
         * @return also true after {@link QnnrtLlm#stop()}
         */
        public boolean isStopped() {
            synchronized (turn) {
                return stopped || born != stops;
            }
        }

        /**
         * Read the prompt and write the answer, and return when it has ended: this thread waits, so
         * not the main one. A call that is stopped before it begins reads and writes nothing. What
         * a listener throws comes through.
         *
         * @return how it ended
         * @throws QnnrtException ARG: the prompt is empty, or has a token that does not exist;
         *     LIMIT: it is longer than the model's memory; BUSY: another call runs, and this one
         *     may run later; STATE: it has run already, or the model is closed; BACKEND: the
         *     vendor's library failed
         */
        public Answer run() {
            long llm = enter();
            try {
                begin(llm);
                Answer answer = answer(llm);
                if (listener instanceof Characters) {
                    ((Characters) listener).end();
                }
                return answer;
            } finally {
                synchronized (turn) {
                    running = null;
                }
                leave();
            }
        }

        /** Return the model that it is a call of. */
        QnnrtLlm model() {
            return QnnrtLlm.this;
        }

        /** From here on stop() reaches C; one that came before does so now. */
        private void begin(long llm) {
            synchronized (turn) {
                if (begun) {
                    throw new QnnrtException(QnnrtException.STATE, 0, "the call has run already",
                            "Make a new call for each answer.");
                }
                begun = true;
                running = this;
                runningLlm = llm;
                nativeStop(llm, isStopped());
            }
        }

        /** Read the prompt a step at a time, so that stop() acts soon; then write. */
        private Answer answer(long llm) {
            long begin = System.nanoTime();
            int read = 0;
            if (prompt.length == 0) {
                throw Qnnrt.fail("the prompt is empty", "");
            }
            if (!isStopped()) {
                nativeClear(llm);
            }
            while (read < prompt.length && !isStopped()) {
                int count = Math.min(ar, prompt.length - read);
                if (!decode(llm, prompt, read, count)) {
                    break;
                }
                read += count;
                if (progress != null) {
                    progress.read(read, prompt.length);
                }
            }
            int written = 0;
            int[] token = new int[1];
            long middle = System.nanoTime();
            String why = why(read, written);
            while (why == null) {
                token[0] = nativeNext(llm);
                if (nativeIsEos(llm, token[0])) {
                    why = "end token";
                    break;
                }
                listener.token(token[0]);
                ++written;
                why = why(read + written, written);
                if (why == null && !decode(llm, token, 0, 1)) {
                    why = "stopped";
                }
            }
            return new Answer(why, read, written, middle - begin, System.nanoTime() - middle,
                    recoveries);
        }

        /** Return why an answer ends after so many tokens, or null. */
        private String why(int said, int written) {
            return isStopped() ? "stopped" : written >= most ? "most"
                    : said >= room ? "full" : null;
        }

        /** Let the model read tokens; after a restart of the DSP, again. False: stopped. */
        private boolean decode(long llm, int[] tokens, int from, int count) {
            while (true) {
                try {
                    return nativeDecode(llm, tokens, from, count);
                } catch (QnnrtException thrown) {
                    if (!thrown.isRestart() || recoveries >= mayRecover) {
                        throw thrown;
                    }
                    ++recoveries;
                    recoverWithin(thrown);
                }
            }
        }
    }

    @Override
    void destroy(long llm) {
        nativeClose(llm);
    }

    /** Makes characters of bytes, as they come. What is not UTF-8 becomes U+FFFD. */
    private static final class Characters implements Tokens {
        private final CharsetDecoder decoder = StandardCharsets.UTF_8.newDecoder()
                .onMalformedInput(CodingErrorAction.REPLACE);
        private final ByteBuffer in = ByteBuffer.allocate(8);
        private final CharBuffer out = CharBuffer.allocate(16);
        private final Text listener;

        Characters(Text listener) {
            this.listener = listener;
        }

        @Override
        public void token(int token) {
            in.put((byte) token);
            take(false);
        }

        /** Give what is left: bytes that did not become a character. */
        void end() {
            take(true);
        }

        private void take(boolean last) {
            ((Buffer) in).flip();
            decoder.decode(in, out, last);
            if (last) {
                decoder.flush(out);
            }
            in.compact();
            ((Buffer) out).flip();
            String text = out.toString();
            ((Buffer) out).clear();
            if (!text.isEmpty()) {
                listener.piece(text);
            }
        }
    }

    /* The functions of qnnrt_jni_llm.c. */
    static native long nativeOpen(long model, byte[] memory);
    static native void nativeClose(long llm);
    private static native byte[] nativeMemory(long llm);
    private static native void nativeFacts(long llm, int[] facts);
    private static native void nativeSampling(long llm, float temperature, int topK, float topP,
            long seed);
    private static native void nativeClear(long llm);
    private static native void nativeStop(long llm, boolean stop);
    private static native boolean nativeDecode(long llm, int[] tokens, int from, int count);
    private static native int nativeNext(long llm);
    private static native boolean nativeIsEos(long llm, int token);
}
