import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import qnnrt.Qnnrt;
import qnnrt.QnnrtException;
import qnnrt.QnnrtLlm;

/**
 * Calls of a language model, and stops at all moments, on libQnnRef.so. test_jni.sh runs it:
 *
 *   LlmTest LIBRARY LLM_DIR COUNT PROMPT TEXT
 *
 * LLM_DIR holds the trained model, whose tokens are bytes; TEXT is what it writes after PROMPT. COUNT
 * answers are stopped at random moments.
 */
public final class LlmTest {
    private static String prompt, text;
    private static int passed, failed;

    private interface Body {
        void run() throws Exception;
    }

    private static void check(String name, boolean good, String reason) {
        if (good) {
            ++passed;
        } else {
            ++failed;
            System.out.println("test_jni: " + name + ": " + reason);
        }
    }

    private static void equal(String name, Object expected, Object found) {
        check(name, expected.equals(found), "expected " + expected + ", found " + found);
    }

    private static void part(String name, Body body) {
        try {
            body.run();
            check(name, true, "");
        } catch (Throwable thrown) {
            check(name, false, "threw " + thrown);
            thrown.printStackTrace(System.out);
        }
    }

    private static void refused(String name, int code, String word, Body body) {
        try {
            body.run();
            check(name, false, "threw nothing");
        } catch (QnnrtException thrown) {
            check(name, thrown.code == code && thrown.getMessage().contains(word),
                    "expected " + code + " \"" + word + "\", found " + thrown.code + " \""
                    + thrown.getMessage() + "\"");
        } catch (Throwable thrown) {
            check(name, false, "threw " + thrown);
        }
    }

    private static String facts(QnnrtLlm.Answer answer) {
        return answer.stopped + " " + answer.promptTokens + " " + answer.tokens;
    }

    /** What three tokens after the prompt are like. */
    private static String three() {
        return "most " + prompt.length() + " 3";
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException thrown) {
            throw new IllegalStateException(thrown);
        }
    }

    private static void oneCall(QnnrtLlm llm) {
        QnnrtLlm.Call call = llm.text(prompt, 3, piece -> { });
        call.stop();
        check("it_is_asked", call.isStopped(), "not");
        equal("a_stop_before_the_call_begins", "stopped 0 0", facts(call.run()));
        refused("a_call_runs_once", QnnrtException.STATE, "already", call::run);
        QnnrtLlm.Call next = llm.text(prompt, 3, piece -> call.stop());
        equal("a_stop_of_another_call", three(), facts(next.run()));
        check("it_was_not_asked", !next.isStopped(), "it was");

        QnnrtLlm.Call waits = llm.text(prompt, 3, piece -> { });
        llm.stop();
        QnnrtLlm.Call later = llm.text(prompt, 3, piece -> { });
        equal("all_calls_are_stopped", "stopped 0 0", facts(waits.run()));
        equal("but_for_later_ones", three(), facts(later.run()));
        AtomicReference<QnnrtLlm.Call> self = new AtomicReference<>();
        self.set(llm.text(prompt, 60, piece -> self.get().stop()));
        equal("a_listener_stops", "stopped " + prompt.length() + " 1", facts(self.get().run()));

        StringBuilder told = new StringBuilder();
        llm.text(prompt + prompt + prompt, 0, piece -> { }).progress((done, count) ->
                told.append(done).append('/').append(count).append(' ')).run();
        equal("progress", "32/69 64/69 69/69 ", told.toString());
        self.set(llm.text(prompt + prompt, 9, piece -> { }));
        self.get().progress((done, count) -> self.get().stop());
        equal("a_stop_while_it_reads", "stopped 32 0", facts(self.get().run()));
        refused("a_null_prompt", QnnrtException.ARG, "prompt", () -> llm.text(null, 1, piece -> { }));
        refused("a_null_listener", QnnrtException.ARG, "listener", () -> llm.text("a", 1, null));
        refused("no_tokens", QnnrtException.ARG, "empty",
                () -> llm.tokens(new int[0], 1, token -> { }).run());
        equal("and_it_writes", three(), facts(llm.generate(prompt, 3, piece -> { })));
    }

    /** Calls wait behind another one in the line of a single thread. */
    private static void waitingCalls(QnnrtLlm llm) throws InterruptedException, ExecutionException {
        ExecutorService worker = Executors.newSingleThreadExecutor();
        CountDownLatch begun = new CountDownLatch(1), asked = new CountDownLatch(1);
        QnnrtLlm.Call first = llm.text(prompt, 3, piece -> {
            begun.countDown();
            await(asked);
        });
        QnnrtLlm.Call second = llm.text(prompt, 3, piece -> { });
        QnnrtLlm.Call third = llm.text(prompt, 3, piece -> { });
        Future<QnnrtLlm.Answer> one = worker.submit(first::run), two = worker.submit(second::run);
        Future<QnnrtLlm.Answer> three = worker.submit(third::run);
        begun.await();
        second.stop();
        refused("a_second_thread", QnnrtException.BUSY, "in use", third::run);
        asked.countDown();
        equal("the_call_before", three(), facts(one.get()));
        equal("a_stop_while_it_waits", "stopped 0 0", facts(two.get()));
        equal("a_refused_call_may_run", three(), facts(three.get()));
        worker.shutdown();
    }

    /** Stops a call after a time, and says when it has done so. */
    private static final class Stopper extends Thread {
        private final AtomicReference<QnnrtLlm.Call> call = new AtomicReference<>();
        private volatile long at;
        private volatile boolean asked, done;

        void stopAt(QnnrtLlm.Call next, long nanos) {
            asked = false;
            at = nanos;
            call.set(next);
        }

        @Override
        public void run() {
            while (!done) {
                QnnrtLlm.Call next = call.get();
                if (next != null && System.nanoTime() - at >= 0) {
                    next.stop();
                    asked = true;
                    call.set(null);
                }
            }
        }
    }

    /** No stop is lost and none reaches another answer; the text is right up to it. */
    private static void randomMoments(QnnrtLlm llm, int count) throws InterruptedException {
        Random random = new Random(33);
        Stopper stopper = new Stopper();
        AtomicInteger late = new AtomicInteger();
        StringBuilder found = new StringBuilder();
        int[] ended = new int[4];           /* before it read, while it read, wrote; by itself */
        int lost = 0, wrong = 0;
        int most = Math.min(6, text.length());
        long begin = System.nanoTime();
        for (int i = 0; i < 20; ++i) {
            llm.generate(prompt, most, piece -> { });
        }
        long whole = (System.nanoTime() - begin) / 20;
        stopper.start();
        for (int i = 0; i < count; ++i) {
            found.setLength(0);
            late.set(0);
            boolean reads = i % 3 == 0;      /* a prompt of several steps, and another text */
            QnnrtLlm.Call call = llm.text(reads ? prompt + text : prompt, most, piece -> {
                found.append(piece);
                if (stopper.asked) {
                    late.incrementAndGet();
                }
            });
            long wait = (long) (Math.pow(random.nextDouble(), 6) * 2 * whole);
            stopper.stopAt(call, System.nanoTime() + wait);
            if (i % 4 == 0) {
                while (!stopper.asked) {
                    Thread.onSpinWait();
                }
            }
            QnnrtLlm.Answer answer = call.run();
            boolean stopped = answer.stopped.equals("stopped");
            ++ended[!stopped ? 3 : answer.promptTokens == 0 ? 0 : answer.tokens == 0 ? 1 : 2];
            if (late.get() > 1 || late.get() == 1 && !stopped
                    || i % 4 == 0 && !facts(answer).equals("stopped 0 0")) {
                ++lost;
            }
            if (!reads && !text.startsWith(found.toString()) || found.length() != answer.tokens
                    || !stopped && answer.tokens != most) {
                ++wrong;
            }
            while (!stopper.asked) {
                Thread.onSpinWait();
            }
        }
        stopper.done = true;
        stopper.join();
        System.out.println(count + " answers stopped: " + ended[0] + " before they read, " + ended[1]
                + " before they wrote, " + ended[2] + " while they wrote; " + ended[3]
                + " had ended; " + whole / 1000 + " us for a whole one");
        equal("lost_stops", 0, lost);
        equal("wrong_texts", 0, wrong);
        for (int i = 0; i < ended.length; ++i) {
            check("stopped_at_all_moments", ended[i] > 0, "none of kind " + i);
        }
        found.setLength(0);
        llm.generate(prompt, text.length(), found::append);
        equal("after_all_this_it_writes", text, found.toString());
    }

    public static void main(String[] arguments) {
        prompt = arguments[3];
        text = arguments[4];
        try (Qnnrt.Model model = new Qnnrt.Model(arguments[1], arguments[0]);
                QnnrtLlm llm = model.llm()) {
            part("one_call", () -> oneCall(llm));
            part("waiting_calls", () -> waitingCalls(llm));
            part("random_moments", () -> randomMoments(llm, Integer.parseInt(arguments[2])));
        }
        System.out.println(passed + " passed, " + failed + " failed");
        System.exit(failed != 0 ? 1 : 0);
    }
}
