package qnnrt;

/**
 * A call of qnnrt failed. getMessage() is the complete text of qnnrt_error: what failed, on which
 * file, graph and tensor, what was expected and found.
 *
 * It is unchecked, because a closed object or a buffer of a wrong kind is reported by it, too.
 */
public final class QnnrtException extends RuntimeException {
    private static final long serialVersionUID = 1;

    /* Results of qnnrt.h that Java code returns, or that a program may want to tell apart. */
    public static final int ARG = -1;
    public static final int MEMORY = -2;
    public static final int IO = -3;
    public static final int FORMAT = -4;
    public static final int LIBRARY = -5;
    public static final int VERSION = -6;
    public static final int NOT_FOUND = -7;
    public static final int MISMATCH = -8;
    public static final int UNSUPPORTED = -9;
    public static final int BACKEND = -10;
    public static final int BUSY = -11;
    public static final int STATE = -12;
    public static final int LIMIT = -13;
    public static final int CANCELLED = -14;

    /** The number of a qnnrt_result, below 0. */
    public final int code;
    /** The answer of the vendor call that failed; 0: no vendor call failed. */
    public final long vendorCode;
    /** What to do, one sentence; may be empty. */
    public final String hint;

    QnnrtException(int code, long vendorCode, String text, String hint) {
        super(text);
        this.code = code;
        this.vendorCode = vendorCode;
        this.hint = hint;
    }

    /** Return whether the DSP restarted: call Model.recover(), then again what failed. */
    public boolean isRestart() {
        long vendor = vendorCode & 0xFFFF;
        return code == BACKEND && (vendor == 1007 || vendor == 1011);
    }
}
