package qnnrt;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * What this phone is and can do, without a model; and which of several folders it runs.
 * qnnrt_jni_device.c is the other half.
 *
 * <pre>
 *   QnnrtDevice phone = QnnrtDevice.look();
 *   QnnrtDevice.Choice&lt;Qnnrt.Model&gt; choice = phone.choose(
 *           Arrays.asList(npu75, npu79, cpu), libraries, Qnnrt.Model::new);
 *   Log.i("app", choice.toString());                      // what was taken, and why others not
 *   try (Qnnrt.Model model = choice.opened) { ... }
 * </pre>
 *
 * Nothing is offered by a file's name. A folder says by its metadata which backend and which
 * generation of the NPU it is for. A library counts when it has opened its device. A choice is made
 * when the folder has opened on the library.
 *
 * Ownership: objects of this class hold numbers and texts only, and are not closed. What choose()
 * opened belongs to the caller.
 *
 * Threads: any thread may use any object; nothing changes after it was made. Calls that load a
 * library take up to seconds: not on the main thread. A library that crashes ends the process: for
 * untrusted ones see {@link QnnrtProcess}.
 *
 * Errors: {@link QnnrtException}.
 */
public final class QnnrtDevice {
    /** Numbers of backends, as {@link Folder#backend} and {@link Library#backend} have them. */
    public static final int CPU = 3, GPU = 4, NPU = 6, REFERENCE = 5391686;

    /** The order of choice, and the file that each backend is looked for in. */
    private static final int[] ORDER = {NPU, GPU, CPU, REFERENCE};
    private static final String[] FILES = {"libQnnHtp.so", "libQnnGpu.so", "libQnnCpu.so",
        "libQnnRef.so"};
    private static final String[] NAMES = {"the NPU", "the GPU", "the CPU", "the reference"};

    /** The chip: "SM8650", "8 Gen 3"; "": it is not in the table, or cannot be read. */
    public final String chip, soldAs;
    /** Its number in sysfs, the generation of its NPU (75), and its VTCM in MiB; 0: not known. */
    public final int socId, generation, vtcmMib;
    /** The driver's file that this process may open, or "". An app that sees none may reach the
     *  NPU all the same: {@link #library} knows. */
    public final String driver;
    /** Whether the DSP takes skels without a signature through it. */
    public final boolean unsignedSkels;
    /** The driver's file that exists and that this process may not open, or "". */
    public final String driverClosed;
    /** The folder of libcdsprpc.so, the phone's way to the DSP, or "". */
    public final String transport;
    /** Bytes of memory, and of those that programs can have now; 0: not known. */
    public final long memory, memoryFree;
    /** Bytes of a page: libraries whose segments are aligned to less do not load. */
    public final int pageBytes;
    private final int model;                  /* the vendor's number of the chip */

    private QnnrtDevice(String[] texts, long[] facts) {
        chip = texts[0];
        soldAs = texts[1];
        driver = texts[2];
        driverClosed = texts[3];
        transport = texts[4];
        socId = (int) facts[0];
        generation = (int) facts[1];
        vtcmMib = (int) facts[2];
        unsignedSkels = facts[3] != 0;
        memory = facts[4];
        memoryFree = facts[5];
        pageBytes = (int) facts[6];
        model = (int) facts[7];
    }

    /**
     * Look at this phone. Only files are read; nothing is loaded. Any thread; under 1 ms.
     *
     * @return what was found
     * @throws QnnrtException MEMORY
     */
    public static QnnrtDevice look() {
        return look("");
    }

    /**
     * Look at a copy of the files of a phone: /sys/devices/soc0/soc_id, /dev, /proc/meminfo.
     *
     * @param root the folder that stands for "/"; "": this phone
     * @return what was found
     * @throws QnnrtException ARG: the root is null; MEMORY
     */
    public static QnnrtDevice look(String root) {
        long[] facts = new long[8];
        return new QnnrtDevice(texts(nativeLook(utf8("root", root), facts)), facts);
    }

    /**
     * Describe the phone.
     *
     * @return such as "SM8650 (8 Gen 3), NPU v75, VTCM 8 MiB, driver /dev/fastrpc-cdsp, 7,511 of
     *     11,264 MiB free"
     */
    @Override
    public String toString() {
        StringBuilder text = new StringBuilder(chip.isEmpty() ? socId == 0 ? "no chip of Qualcomm "
                + "is known here" : "chip number " + socId + ", not in the table" : chip);
        if (!soldAs.isEmpty()) {
            text.append(" (").append(soldAs).append(')');
        }
        if (generation != 0) {
            text.append(", NPU v").append(generation);
        }
        if (vtcmMib != 0) {
            text.append(", VTCM ").append(vtcmMib).append(" MiB");
        }
        text.append(!driver.isEmpty() ? ", driver " + driver : !driverClosed.isEmpty()
                ? ", driver " + driverClosed + " may not be opened" : ", no driver is seen");
        return text.append(", ").append(memoryFree >> 20).append(" of ").append(memory >> 20)
                .append(" MiB free").toString();
    }

    /**
     * A backend library that has opened its device. Threads: any; nothing changes. Ownership:
     * numbers and texts only. Errors: none.
     */
    public static final class Library {
        /** The file that was loaded, the vendor's name ("HTP_QTI_AISW"), and its release. */
        public final String path, provider, build;
        /** The version of its interface, "2.40.0". */
        public final String api;
        /** {@link QnnrtDevice#NPU}, CPU, GPU, REFERENCE or another number. */
        public final int backend;
        /** Whether it has a device; the CPU's has none. */
        public final boolean device;

        Library(String[] texts, long[] facts) {
            path = texts[0];
            provider = texts[1];
            build = texts[2];
            backend = (int) facts[0];
            api = facts[1] + "." + facts[2] + "." + facts[3];
            device = facts[4] != 0;
        }
    }

    /**
     * Open a backend library and its device, and close them. For the NPU this loads stub and skel.
     * The library stays loaded, because some crash when they are unloaded. Not on the main thread.
     *
     * @param path as of a Model; on a phone, with its folder
     * @return what it is
     * @throws QnnrtException LIBRARY, VERSION, BACKEND ...: why it does not open, with the hint;
     *     ARG: the path is null
     */
    public static Library library(String path) {
        long[] facts = new long[5];
        byte[] name = utf8("path", path);
        synchronized (Qnnrt.class) {          /* a library is opened and closed by one at a time */
            return new Library(texts(nativeLibrary(name, facts)), facts);
        }
    }

    /**
     * What the metadata of a folder says. Threads: any; nothing changes. Ownership: numbers and
     * texts only. Errors: none.
     */
    public static final class Folder {
        /** The folder, and the release that made its first file, "v2.51.0.260929181845" or "". */
        public final String path, build;
        /** The backend that the first file is for. */
        public final int backend;
        /** NPU: generation and chip that it was compiled for, and the most VTCM that a graph
         *  wants, in MiB; 0: not stated. */
        public final int generation, soc, vtcmMib;
        /** Estimate of what it takes in memory. */
        public final long bytes;

        Folder(String path, String build, long[] facts) {
            this.path = path;
            this.build = build;
            backend = (int) facts[0];
            generation = (int) facts[1];
            soc = (int) facts[2];
            vtcmMib = (int) facts[3];
            bytes = facts[4];
        }
    }

    /**
     * Read the metadata of a folder. No backend is opened.
     *
     * @param path of the folder
     * @param libraries the folder of libQnnSystem.so, or of libQnnRef.so for models of the
     *     reference, such as nativeLibraryDir; null: both are searched. Folders with JSON need none
     * @return what they say
     * @throws QnnrtException NOT_FOUND, IO, FORMAT, LIBRARY ...: why it cannot be read; ARG: the
     *     path is null
     */
    public static Folder folder(String path, String libraries) {
        byte[] name = utf8("folder", path);
        long[] facts = new long[5];
        synchronized (Qnnrt.class) {
            try {
                return new Folder(path, texts(nativeFolder(name, utf8("libraries",
                        file(libraries, "libQnnSystem.so")), facts))[0], facts);
            } catch (QnnrtException first) {
                try {
                    return new Folder(path, texts(nativeFolder(name, utf8("libraries",
                            file(libraries, FILES[3])), facts))[0], facts);
                } catch (QnnrtException second) {
                    throw second.code == first.code || first.code == QnnrtException.NOT_FOUND
                            ? first : new QnnrtException(first.code, first.vendorCode,
                            first.getMessage() + "\n  and with libQnnRef.so: "
                            + second.getMessage(), first.hint);
                }
            }
        }
    }

    /**
     * How choose() reads, tries and opens: {@link QnnrtProcess} does it in another process.
     * Threads: called on the thread of choose(). Ownership: what open() returns belongs to the
     * caller of choose(). Errors: a QnnrtException is the reason of a refusal; CANCELLED, and what
     * is no QnnrtException, ends the choice.
     *
     * @param <T> what is opened
     */
    public interface Opener<T> {
        /**
         * Open a folder on a library. It may execute once, to be sure.
         *
         * @param folder one of those that choose() was given
         * @param library the path of a library that opened
         * @return what choose() returns
         * @throws QnnrtException the reason of a refusal; CANCELLED ends the choice
         */
        T open(String folder, String library);

        /**
         * As {@link QnnrtDevice#library}.
         *
         * @param path of the library
         * @return what it is
         * @throws QnnrtException why it does not open
         */
        default Library library(String path) {
            return QnnrtDevice.library(path);
        }

        /**
         * As {@link QnnrtDevice#folder}.
         *
         * @param path of the folder
         * @param libraries the folder of the libraries; null: they are searched
         * @return what its metadata say
         * @throws QnnrtException why it cannot be read
         */
        default Folder folder(String path, String libraries) {
            return QnnrtDevice.folder(path, libraries);
        }
    }

    /**
     * A folder that was not taken, and why. Threads: any; nothing changes. Ownership: texts only.
     * Errors: none.
     */
    public static final class Refusal {
        /** The folder; the library that it was to run on, or "" if it did not come to that. */
        public final String folder, library;
        /** Why, and what to do about it (may be ""). */
        public final String reason, hint;

        Refusal(String folder, String library, String reason, String hint) {
            this.folder = folder;
            this.library = library;
            this.reason = reason;
            this.hint = hint;
        }

        /**
         * Describe the refusal.
         *
         * @return such as "models/v79: compiled for NPU v79, and SM8650 has v75"
         */
        @Override
        public String toString() {
            return folder + (library.isEmpty() ? "" : " on " + library) + ": " + reason;
        }
    }

    /**
     * What choose() has opened. Threads: any; nothing changes. Ownership: the caller closes {@link
     * #opened}. Errors: none.
     *
     * @param <T> what was opened
     */
    public static final class Choice<T> {
        /** What the opener returned; the caller closes it. */
        public final T opened;
        /** The folder that was taken. */
        public final Folder folder;
        /** The library that it runs on. */
        public final Library library;
        /** The folders that were not taken, each with its reason: first those that cannot be read
         *  or do not fit, then those before it in the order of choice. */
        public final List<Refusal> refused;

        Choice(T opened, Folder folder, Library library, List<Refusal> refused) {
            this.opened = opened;
            this.folder = folder;
            this.library = library;
            this.refused = Collections.unmodifiableList(refused);
        }

        /**
         * Describe the choice.
         *
         * @return the folder and its library, then a line for each refusal
         */
        @Override
        public String toString() {
            return folder.path + " on " + library.path + lines("\n  not ", refused);
        }
    }

    /**
     * Open the best of several folders that works here.
     *
     * The order is NPU, GPU, CPU, reference. Among folders for the NPU, those of this generation
     * come first, and of these those of this chip; then older generations, the newest first. A
     * folder of a newer generation, with more VTCM than the chip has, or larger than the memory is
     * refused unopened. Otherwise the order of the list holds. All folders are tried if the chip is
     * not known. Not on the main thread.
     *
     * @param <T> what the opener opens
     * @param folders of context binaries; each is for one backend
     * @param libraries folder of the backend libraries, such as nativeLibraryDir; null: they are
     *     searched
     * @param opener opens a folder on a library, such as Qnnrt.Model::new
     * @return what was opened, which the caller closes, and why others were not
     * @throws QnnrtException UNSUPPORTED: none works, and the text has the reason of each; ARG: the
     *     list is empty, or the opener is null; CANCELLED of the opener
     */
    public <T> Choice<T> choose(List<String> folders, String libraries, Opener<T> opener) {
        if (folders == null || folders.isEmpty() || opener == null) {
            throw new QnnrtException(QnnrtException.ARG, 0, "no folder to choose from, or no "
                    + "opener", "Give one folder or more.");
        }
        List<Refusal> refused = new ArrayList<>();
        List<Folder> fit = new ArrayList<>();
        for (String path : folders) {
            try {
                Folder folder = opener.folder(path, libraries);
                String reason = misfit(folder);
                if (reason == null) {
                    fit.add(folder);
                } else {
                    refused.add(new Refusal(path, "", reason, "Compile the model for this chip."));
                }
            } catch (QnnrtException failure) {
                refused.add(refusal(path, "", failure));
            }
        }
        Collections.sort(fit, (a, b) -> Integer.compare(rank(a), rank(b)));
        Map<Integer, Object> opened = new HashMap<>();      /* a Library, or why there is none */
        for (Folder folder : fit) {
            int place = place(folder.backend);
            String path = place < ORDER.length ? file(libraries, FILES[place]) : "";
            try {
                Library library = library(opener, folder, path, opened);
                return new Choice<>(opener.open(folder.path, library.path), folder, library,
                        refused);
            } catch (QnnrtException failure) {
                refused.add(refusal(folder.path, path, failure));
            }
        }
        throw new QnnrtException(QnnrtException.UNSUPPORTED, 0, "none of " + folders.size()
                + " folders works here: " + this + lines("\n  ", refused), refused.get(0).hint);
    }

    /** Return why a folder does not fit this phone by what it says, or null. */
    private String misfit(Folder folder) {
        String here = chip.isEmpty() ? "this chip" : chip;
        if (folder.backend == NPU && generation != 0 && folder.generation > generation) {
            return "compiled for NPU v" + folder.generation + ", and " + here + " has v"
                    + generation;
        }
        if (folder.backend == NPU && vtcmMib != 0 && folder.vtcmMib > vtcmMib) {
            return "it asks for " + folder.vtcmMib + " MiB of VTCM, and " + here + " has "
                    + vtcmMib;
        }
        return memory == 0 || folder.bytes <= memory ? null : "it takes about "
                + (folder.bytes >> 20) + " MiB, and the phone has " + (memory >> 20);
    }

    /** Return the place of a folder in the order of choice; equal ones keep theirs. */
    private int rank(Folder folder) {
        int rank = place(folder.backend) << 16;
        if (folder.backend == NPU && generation != 0 && folder.generation != generation) {
            rank += 2 + (folder.generation == 0 ? 0 : generation - folder.generation);
        } else if (folder.backend == NPU && generation != 0 && folder.soc != 0
                && folder.soc != model) {
            rank += 1;
        }
        return rank;
    }

    /** Open a library the first time that a folder needs it. */
    private static <T> Library library(Opener<T> opener, Folder folder, String path,
            Map<Integer, Object> opened) {
        int place = place(folder.backend);
        if (place == ORDER.length) {
            throw new QnnrtException(QnnrtException.UNSUPPORTED, 0, "it is for backend number "
                    + folder.backend + ", which has no library here", "");
        }
        if (!opened.containsKey(place)) {
            try {
                opened.put(place, opener.library(path));
            } catch (QnnrtException failure) {
                opened.put(place, failure);
            }
        }
        Object found = opened.get(place);
        if (found instanceof QnnrtException) {
            throw (QnnrtException) found;
        }
        Library library = (Library) found;
        if (library.backend != folder.backend) {
            throw new QnnrtException(QnnrtException.MISMATCH, 0, "the folder is for "
                    + NAMES[place] + ", and the library is " + (place(library.backend)
                    < ORDER.length ? "for " + NAMES[place(library.backend)] : "of number "
                    + library.backend), "Give each library its own name.");
        }
        return library;
    }

    private static Refusal refusal(String folder, String library, QnnrtException failure) {
        if (failure.code == QnnrtException.CANCELLED) {
            throw failure;
        }
        return new Refusal(folder, library, failure.getMessage(), failure.hint);
    }

    private static int place(int backend) {
        int place = 0;
        while (place < ORDER.length && ORDER[place] != backend) {
            ++place;
        }
        return place;
    }

    private static String file(String libraries, String name) {
        return libraries == null ? name : libraries + "/" + name;
    }

    private static String lines(String before, List<Refusal> refused) {
        StringBuilder text = new StringBuilder();
        for (Refusal one : refused) {
            text.append(before).append(one);
        }
        return text.toString();
    }

    private static String[] texts(byte[] joined) {
        return new String(joined, StandardCharsets.UTF_8).split("\0", -1);
    }

    private static byte[] utf8(String what, String text) {
        return Qnnrt.utf8(what, text);
    }

    static {
        Qnnrt.version();                      /* loads the library */
    }

    private static native byte[] nativeLook(byte[] root, long[] facts);
    private static native byte[] nativeLibrary(byte[] path, long[] facts);
    private static native byte[] nativeFolder(byte[] folder, byte[] reader, long[] facts);
}
