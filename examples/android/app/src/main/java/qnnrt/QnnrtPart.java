package qnnrt;

import java.util.concurrent.atomic.AtomicBoolean;

/** What one thread at a time uses, and any thread may close. */
abstract class QnnrtPart implements AutoCloseable {
    private final Qnnrt.Model model;
    private final String what;
    private final AtomicBoolean used = new AtomicBoolean();
    private long handle;

    QnnrtPart(Qnnrt.Model model, String what, long handle) {
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
            throw handle == 0 ? Qnnrt.closed(what) : busy();
        }
        return handle;
    }

    final void leave() {
        model.calls.decrementAndGet();
        used.set(false);
    }

    /** Recover the model within a call of this part, which must be the only one of the model. */
    final void recoverWithin(QnnrtException restart) {
        try {
            model.recover(1);
        } catch (QnnrtException thrown) {
            thrown.addSuppressed(restart);
            throw thrown;
        }
    }

    private QnnrtException busy() {
        return new QnnrtException(QnnrtException.BUSY, 0, "the " + what + " is in use by "
                + "another call", "Use it from one thread at a time, and not from its own "
                + "listener.");
    }

    /**
     * Free it. A second close() does nothing. Any thread.
     *
     * @throws QnnrtException BUSY: another call uses it, or this is called by its own listener;
     *     nothing is closed
     */
    @Override
    public final void close() {
        if (!used.compareAndSet(false, true)) {
            throw busy();
        }
        try {
            long open = handle;
            handle = 0;                   /* whatever is thrown, it is not freed twice */
            if (open != 0) {
                synchronized (model) {    /* so that Model.close() sees all of it or nothing */
                    destroy(open);
                }
            }
        } finally {
            used.set(false);
        }
    }

    abstract void destroy(long handle);
}
