package qnnrt;

import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * Copies files into a folder of the app, whole or not at all.
 *
 * <pre>
 *   QnnrtCopy.settle(folder);                             // at the start of the app
 *   QnnrtCopy.fill(sources, folder, (done, total) -&gt; show(done, total));
 *   model.close();                                        // of the files that it replaces
 *   QnnrtCopy.settle(folder);                             // the new files are in the folder
 * </pre>
 *
 * The files are written into folder.part, which becomes folder.whole by one renaming when the last
 * byte is on the storage. settle() puts folder.whole in the place of folder. So a process that is
 * killed at any moment leaves the old files or the new ones, never some of each, and settle() removes
 * the rest.
 *
 * Threads: any thread; calls wait for each other. One process at a time uses a folder. Ownership:
 * streams are closed here. Errors: a QnnrtException with cause and remedy; the folder is then as it
 * was, and nothing of the copy is left.
 */
public final class QnnrtCopy {
    private static final int BLOCK = 1 << 18;

    private QnnrtCopy() { }

    /**
     * A file that is copied. Threads: any; nothing changes. Ownership: it opens nothing, and keeps
     * its Content. Errors: none; fill() checks it.
     */
    public static final class Source {
        /** Its name in the folder: one part of a path. */
        public final String name;
        /** Its size; below 0: not known. A file that has another size is refused. */
        public final long bytes;
        private final Content content;

        /**
         * Name a file; its content is opened by fill(), once. Throws nothing: fill() checks.
         *
         * @param name in the folder, one part of a path
         * @param bytes its size; below 0: not known
         * @param content opens it
         */
        public Source(String name, long bytes, Content content) {
            this.name = name;
            this.bytes = bytes;
            this.content = content;
        }
    }

    /**
     * Opens the content of a file. Threads: called on the thread of fill(). Ownership: fill()
     * closes the stream. Errors: an IOException or a SecurityException ends the copy with IO,
     * others as they are.
     */
    public interface Content {
        /**
         * Open the file; called on the thread of fill().
         *
         * @return a new stream, which fill() closes
         * @throws IOException fill() throws it as a QnnrtException with IO
         */
        InputStream open() throws IOException;
    }

    /**
     * Hears how far a copy is. Threads: called on the thread of fill(). Ownership: kept until
     * fill() returns. Errors: what it throws ends the copy.
     */
    public interface Progress {
        /**
         * Called on the thread of fill() before the first byte and after each block.
         *
         * @param done bytes that are written
         * @param total the size of all files; below 0: not known
         * @return whether to go on; false: fill() removes what it wrote and throws CANCELLED
         */
        boolean copied(long done, long total);
    }

    /**
     * Copy the files beside a folder, where settle() finds them. Needs storage for both: the files
     * in the folder stay until then.
     *
     * @param sources one or more
     * @param folder that settle() puts the files into; it need not exist
     * @param progress null: none. What it throws ends the copy, too
     * @throws QnnrtException ARG: a null, no file, or a name that is none or occurs twice; IO: a
     *     file cannot be read or written, has another size, or the storage is full; LIMIT: sizes
     *     above 2^63; CANCELLED: the progress said so
     */
    public static void fill(List<Source> sources, File folder, Progress progress) {
        QnnrtException.required("list of files", sources);
        QnnrtException.required("folder", folder);
        synchronized (QnnrtCopy.class) {
            File part = beside(folder, ".part"), whole = beside(folder, ".whole");
            long total = check(sources, folder);
            remove(part);
            remove(whole);
            boolean good = false;
            try {
                if (!part.mkdirs()) {
                    throw storage("cannot make the folder " + part, part.getParentFile(), 0);
                }
                write(sources, part, total, progress);
                rename(part, whole);
                good = true;
            } finally {
                if (!good) {
                    delete(part);             /* what is thrown already is the cause */
                }
            }
        }
    }

    /**
     * Finish what fill() or an earlier process began: put complete files into the folder, remove
     * incomplete ones. A model that is open must not use the folder.
     *
     * @param folder that fill() was given
     * @return whether the folder exists now
     * @throws QnnrtException IO: a file cannot be removed or renamed; call it again; ARG: the
     *     folder is null
     */
    public static boolean settle(File folder) {
        QnnrtException.required("folder", folder);
        synchronized (QnnrtCopy.class) {
            File whole = beside(folder, ".whole");
            remove(beside(folder, ".part"));
            if (whole.exists()) {
                remove(folder);
                rename(whole, folder);
            }
            return folder.isDirectory();
        }
    }

    private static File beside(File folder, String suffix) {
        return new File(folder.getPath() + suffix);
    }

    /** Names may be hostile, and the storage too small. Return the size of all; -1: not known. */
    private static long check(List<Source> sources, File folder) {
        Set<String> names = new HashSet<>();
        long known = 0;
        boolean all = true;
        for (Source source : sources) {
            QnnrtException.required("file", source);
            QnnrtException.required("content of \"" + source.name + "\"", source.content);
            String name = source.name;
            if (name == null || name.isEmpty() || name.equals(".") || name.equals("..")
                    || name.indexOf('/') >= 0 || name.indexOf('\0') >= 0
                    || name.getBytes(StandardCharsets.UTF_8).length > 255) {
                throw new QnnrtException(QnnrtException.ARG, 0, "\"" + name + "\" is no name of a "
                        + "file", "Rename the file.");
            }
            if (!names.add(name)) {
                throw new QnnrtException(QnnrtException.ARG, 0, "two files have the name \"" + name
                        + "\"", "Rename one of them.");
            }
            all &= source.bytes >= 0;
            known += Math.max(source.bytes, 0);
            if (known < 0) {
                throw new QnnrtException(QnnrtException.LIMIT, 0, "the sizes of the files add up to "
                        + "more than 2^63 bytes", "");
            }
        }
        if (sources.isEmpty()) {
            throw new QnnrtException(QnnrtException.ARG, 0, "there is no file to copy", "");
        }
        File parent = folder.getAbsoluteFile().getParentFile();
        if (parent == null) {
            throw new QnnrtException(QnnrtException.ARG, 0, folder + " is not below a folder",
                    "Name a folder in a folder of the app.");
        }
        long free = parent.getUsableSpace();
        if (known > free && parent.isDirectory()) {
            throw storage("the files have " + known + " bytes, and the storage has " + free
                    + " bytes left", parent, known);
        }
        return all ? known : -1;
    }

    private static void write(List<Source> sources, File part, long total, Progress progress) {
        byte[] block = new byte[BLOCK];
        long done = 0;
        go(progress, 0, total);
        for (Source source : sources) {
            File file = new File(part, source.name);
            try (InputStream from = open(source); FileOutputStream to = new FileOutputStream(file)) {
                long begin = done;
                int count;
                while ((count = read(source, from, block)) > 0) {
                    done += count;
                    sized(source, done - begin, done - begin > source.bytes);
                    to.write(block, 0, count);
                    go(progress, done, total);
                }
                sized(source, done - begin, done - begin < source.bytes);
                to.getFD().sync();
            } catch (IOException thrown) {
                throw storage("cannot write " + file + ": " + thrown.getMessage(), part,
                        total < 0 ? 0 : total - done);
            }
        }
    }

    private static void go(Progress progress, long done, long total) {
        if (progress != null && !progress.copied(done, total)) {
            throw new QnnrtException(QnnrtException.CANCELLED, 0, "the copy was cancelled", "");
        }
    }

    private static void sized(Source source, long found, boolean wrong) {
        if (wrong && source.bytes >= 0) {
            throw unread(source, source.bytes + " bytes expected, " + found + " found so far");
        }
    }

    private static InputStream open(Source source) {
        InputStream from;
        try {
            from = source.content.open();
        } catch (IOException | SecurityException thrown) {
            throw unread(source, thrown.toString());
        }
        if (from == null) {
            throw unread(source, "its provider gives nothing");
        }
        return from;
    }

    private static int read(Source source, InputStream from, byte[] block) {
        try {
            return from.read(block);
        } catch (IOException thrown) {
            throw unread(source, thrown.toString());
        }
    }

    private static QnnrtException unread(Source source, String why) {
        return new QnnrtException(QnnrtException.IO, 0, "cannot read \"" + source.name + "\": " + why,
                "Check that the file is complete and may be read, and choose it again.");
    }

    private static QnnrtException storage(String text, File folder, long needed) {
        long missing = needed - folder.getUsableSpace();
        return new QnnrtException(QnnrtException.IO, 0, text, missing > 0 || text.contains("space")
                ? "Free " + Math.max(1, missing / 1000000 + 1) + " MB of storage, and copy again."
                : "Check the folder, and copy again.");
    }

    private static void rename(File from, File to) {
        if (!from.renameTo(to)) {
            throw storage("cannot rename " + from + " to " + to, from, 0);
        }
    }

    static void remove(File file) {
        if (!delete(file)) {
            throw storage("cannot remove " + file, file, 0);
        }
    }

    /** Delete a file or a folder. A link is deleted, and what it points to stays. */
    private static boolean delete(File file) {
        File[] files = link(file) ? null : file.listFiles();
        for (File inside : files == null ? new File[0] : files) {
            if (!delete(inside)) {
                return false;
            }
        }
        return file.delete() || !file.exists();
    }

    private static boolean link(File file) {
        try {
            File folder = file.getAbsoluteFile().getParentFile().getCanonicalFile();
            File at = new File(folder, file.getName());
            return !at.getCanonicalFile().equals(at.getAbsoluteFile());
        } catch (IOException thrown) {
            return true;
        }
    }
}
