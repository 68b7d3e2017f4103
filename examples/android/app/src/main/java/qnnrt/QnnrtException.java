package qnnrt;

/**
 * A call of qnnrt failed. getMessage() is the complete text of qnnrt_error: what failed, on which
 * file, graph and tensor, what was expected and found.
 *
 * It is unchecked, because a closed object or a buffer of a wrong kind is reported by it, too.
 *
 * Threads: any; nothing changes after it was made. Ownership: numbers and texts only. Errors: its
 * methods throw nothing.
 */
public final class QnnrtException extends RuntimeException {
    private static final long serialVersionUID = 1;

    /* Results of qnnrt.h, as it numbers them. */
    /** An argument is null, of a wrong kind, or out of its range. */
    public static final int ARG = -1;
    /** There is no memory of the kind that was asked for. */
    public static final int MEMORY = -2;
    /** A file or folder cannot be read or written. */
    public static final int IO = -3;
    /** A file is damaged, or of another format. */
    public static final int FORMAT = -4;
    /** A library cannot be loaded, or lacks a function. */
    public static final int LIBRARY = -5;
    /** A library or a file is of another release. */
    public static final int VERSION = -6;
    /** Nothing has the name, or a file is missing. */
    public static final int NOT_FOUND = -7;
    /** Two things do not fit, such as a buffer and its tensor. */
    public static final int MISMATCH = -8;
    /** qnnrt or the library does not do it. */
    public static final int UNSUPPORTED = -9;
    /** The vendor's library failed; see {@link #vendorCode}. */
    public static final int BACKEND = -10;
    /** Another call uses the object, or an object that it owns is open. */
    public static final int BUSY = -11;
    /** The object is closed, or a call that must come before is missing. */
    public static final int STATE = -12;
    /** A number or a size is above its limit. */
    public static final int LIMIT = -13;
    /** A listener ended the call. */
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

    /** Refuse a null; here, because not every class loads the library. */
    static void required(String what, Object value) {
        if (value == null) {
            throw new QnnrtException(ARG, 0, "the " + what + " is null", "");
        }
    }

    /**
     * Tell whether the DSP restarted: call Model.recover(), then again what failed.
     *
     * @return true for the vendor's codes 1007 and 1011
     */
    public boolean isRestart() {
        long vendor = vendorCode & 0xFFFF;
        return code == BACKEND && (vendor == 1007 || vendor == 1011);
    }
}
