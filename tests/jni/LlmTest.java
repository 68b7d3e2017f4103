import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import qnnrt.Qnnrt;
import qnnrt.QnnrtException;
import qnnrt.QnnrtLlm;

/**
 * Calls of a language model, and stops at all moments, on libQnnRef.so. test_jni.sh runs it:
 *
 *   LlmTest LIBRARY LLM_DIR SMALL_DIR COUNT PROMPT
 *
 * LLM_DIR holds the trained model, whose tokens are bytes. COUNT answers of the small model are
 * stopped at random moments.
 */
public final class LlmTest extends Checks {
    private static String prompt;

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
        private volatile QnnrtLlm.Call call;
        private volatile boolean asked, done;
        private long at;

        void stopAt(QnnrtLlm.Call next, long nanos) {
            asked = false;
            at = nanos;
            call = next;
            LockSupport.unpark(this);
        }

        void await() {
            while (!asked) {
                Thread.yield();
            }
        }

        @Override
        public void run() {
            while (!done) {
                long rest = call == null ? Long.MAX_VALUE : at - System.nanoTime();
                if (rest > 0) {
                    LockSupport.parkNanos(this, rest);
                } else {
                    QnnrtLlm.Call next = call;
                    call = null;
                    next.stop();
                    asked = true;
                }
            }
        }
    }

    /** Return the first tokens that the model writes after a prompt. */
    private static List<Integer> written(QnnrtLlm llm, int[] words, int most) {
        List<Integer> tokens = new ArrayList<>();
        llm.generate(words, most, (int token) -> tokens.add(token));
        return tokens;
    }

    /** No stop is lost and none reaches another answer; the tokens up to it are right. */
    private static void randomMoments(QnnrtLlm llm, int count) throws InterruptedException {
        Random random = new Random(33);
        Stopper stopper = new Stopper();
        AtomicInteger late = new AtomicInteger();
        List<Integer> found = new ArrayList<>();
        int[][] words = {new int[20], new int[80]};        /* a step, and several */
        List<List<Integer>> right = new ArrayList<>();
        int[] ended = new int[4];           /* before it read, while it read, wrote; by itself */
        int lost = 0, wrong = 0, most = 6;
        for (int[] prompt : words) {
            for (int i = 0; i < prompt.length; ++i) {
                prompt[i] = random.nextInt(256);
            }
            right.add(written(llm, prompt, most));
        }
        long whole = Long.MAX_VALUE;        /* the time of an answer */
        for (int i = 0; i < 40; ++i) {
            long begin = System.nanoTime();
            written(llm, words[1], most);
            whole = Math.min(whole, System.nanoTime() - begin);
        }
        stopper.start();
        for (int i = 0; i < count; ++i) {
            found.clear();
            late.set(0);
            QnnrtLlm.Call call = llm.tokens(words[i % 2], most, token -> {
                found.add(token);
                if (stopper.asked) {
                    late.incrementAndGet();
                }
            });
            stopper.stopAt(call, System.nanoTime()
                    + (long) (Math.pow(random.nextDouble(), 2) * 1.5 * whole));
            if (i % 4 == 0) {
                stopper.await();
            }
            QnnrtLlm.Answer answer = call.run();
            boolean stopped = answer.stopped.equals("stopped");
            ++ended[!stopped ? 3 : answer.promptTokens == 0 ? 0 : answer.tokens == 0 ? 1 : 2];
            if (late.get() > 1 || late.get() == 1 && !stopped
                    || i % 4 == 0 && !facts(answer).equals("stopped 0 0")) {
                ++lost;
            }
            if (!found.equals(right.get(i % 2).subList(0, answer.tokens))
                    || !stopped && answer.tokens != most) {
                ++wrong;
            }
            stopper.await();
        }
        stopper.done = true;
        LockSupport.unpark(stopper);
        stopper.join();
        System.out.println(count + " answers stopped: " + ended[0] + " before they read, " + ended[1]
                + " before they wrote, " + ended[2] + " while they wrote; " + ended[3]
                + " had ended; " + whole / 1000 + " us for a whole one");
        equal("lost_stops", 0, lost);
        equal("wrong_answers", 0, wrong);
        for (int i = 0; i < ended.length; ++i) {
            check("stopped_at_all_moments", ended[i] > 0, "none of kind " + i);
        }
        equal("after_all_this_it_writes", right.get(1), written(llm, words[1], most));
    }

    public static void main(String[] arguments) {
        prompt = arguments[4];
        try (Qnnrt.Model model = new Qnnrt.Model(arguments[1], arguments[0]);
                QnnrtLlm llm = model.llm()) {
            part("one_call", () -> oneCall(llm));
            part("waiting_calls", () -> waitingCalls(llm));
        }
        try (Qnnrt.Model model = new Qnnrt.Model(arguments[2], arguments[0]);
                QnnrtLlm llm = model.llm()) {
            part("random_moments", () -> randomMoments(llm, Integer.parseInt(arguments[3])));
        }
        System.exit(end());
    }
}
