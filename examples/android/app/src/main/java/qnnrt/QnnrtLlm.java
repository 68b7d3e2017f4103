package qnnrt;

import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharsetDecoder;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;

/** A language model with a cache for one text. */
public final class QnnrtLlm extends QnnrtPart {
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

    /** Number of tokens; 256: each token is a byte of UTF-8. */
    public final int vocabulary;
    private final int ar, room, bos;
    private volatile boolean stop;

    QnnrtLlm(Qnnrt.Model model, long llm) {
        super(model, "language model", llm);
        int[] facts = new int[4];
        nativeFacts(llm, facts);
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
                throw Qnnrt.fail("topK is " + topK + ", expected 0 or more", "");
            }
            nativeSampling(llm, temperature, topK, topP, seed);
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
            Qnnrt.required("prompt", prompt);
            Qnnrt.required("listener", listener);
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
        nativeClear(llm);
        if (prompt.length == 0) {
            throw Qnnrt.fail("the prompt is empty", "");
        }
        while (read < prompt.length && !stop) {
            int count = Math.min(ar, prompt.length - read);
            nativeDecode(llm, prompt, read, count);
            read += count;
        }
        int written = 0;
        int[] token = new int[1];
        long middle = System.nanoTime();
        String why = stopped(read, written, most);
        while (why == null) {
            token[0] = nativeNext(llm);
            if (nativeIsEos(llm, token[0])) {
                why = "end token";
                break;
            }
            listener.token(token[0]);
            ++written;
            why = stopped(read + written, written, most);
            if (why == null) {
                nativeDecode(llm, token, 0, 1);
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
        nativeClose(llm);
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

    /* The functions of qnnrt_jni_llm.c. */
    static native long nativeOpen(long model);
    static native void nativeClose(long llm);
    private static native void nativeFacts(long llm, int[] facts);
    private static native void nativeSampling(long llm, float temperature, int topK, float topP,
            long seed);
    private static native void nativeClear(long llm);
    private static native void nativeDecode(long llm, int[] tokens, int from, int count);
    private static native int nativeNext(long llm);
    private static native boolean nativeIsEos(long llm, int token);
}
