package qnnrt;

import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.List;

/**
 * Puts the DSP's files (libQnnHtpVXXSkel.so) into a folder of the app. They do not belong to the
 * native libraries of a package: they have 32 bits and pages of 4 KB, and stores refuse that.
 *
 * <pre>
 *   File skels = QnnrtSkels.install(name -&gt; getAssets().open("skels/" + name),
 *           new File(getNoBackupFilesDir(), "skels"), 75);
 *   Os.setenv("ADSP_LIBRARY_PATH", skels.getPath(), true);    // before a backend is opened
 * </pre>
 *
 * The set has a list, SHA256SUMS, that `sha256sum libQnn*Skel.so` writes. Files are copied once for
 * each list and compared with their sums on the way. The folder that install() returns has all of
 * them or does not exist, also if the process is killed or the storage is full.
 *
 * Threads: any thread, and any process of the app; calls wait for each other. Ownership: streams are
 * closed here; the files stay until another list replaces them. Errors: a QnnrtException with cause
 * and remedy; nothing of a copy that failed is left. Unproven without a phone: that the DSP opens
 * the files there.
 */
public final class QnnrtSkels {
    private static final String LIST = "SHA256SUMS";
    private static final int MOST = 1 << 16;             /* bytes of the list */

    private QnnrtSkels() { }

    /**
     * Where the files come from: the assets, or a folder of a pack that is delivered later.
     * Threads: called on the thread of install(). Ownership: install() closes the streams. Errors:
     * an IOException ends install(), which throws a QnnrtException.
     */
    public interface Files {
        /**
         * Open a file of the set.
         *
         * @param name one part of a path: SHA256SUMS, or a name in it
         * @return a new stream, which install() closes
         * @throws IOException install() throws it as a QnnrtException
         */
        InputStream open(String name) throws IOException;
    }

    /**
     * Put the files into a folder below a folder of the app. The first call for a list copies them,
     * about 14 MB for each generation, and removes the files of another list or generation: give
     * each generation a folder of its own if the app uses several. Not on the main thread.
     *
     * @param files opens the list and the files of the set
     * @param folder is made if it does not exist; nothing else may be in it
     * @param generation of the NPU: 75; 0: all files of the list
     * @return the folder that has the files, for ADSP_LIBRARY_PATH
     * @throws QnnrtException NOT_FOUND: the set has no list, or the list no file of the generation;
     *     FORMAT, LIMIT: the list is none; IO: a file cannot be read, has another sum, or cannot be
     *     written; ARG: a null
     */
    public static File install(Files files, File folder, int generation) {
        QnnrtException.required("opener of files", files);
        QnnrtException.required("folder", folder);
        List<String[]> lines = select(read(files), generation);
        MessageDigest digest = sha256();
        List<QnnrtCopy.Source> sources = new ArrayList<>();
        for (String[] line : lines) {
            String sum = line[0], name = line[1];
            digest.update((sum + "  " + name + "\n").getBytes(StandardCharsets.UTF_8));
            sources.add(new QnnrtCopy.Source(name, -1, () -> new Summed(open(files, name), sum)));
        }
        File at = new File(folder, hex(digest).substring(0, 16));
        if (!folder.isDirectory() && !folder.mkdirs() && !folder.isDirectory()) {
            throw new QnnrtException(QnnrtException.IO, 0, "cannot make the folder " + folder,
                    "Name a folder in a folder of the app, such as getNoBackupFilesDir().");
        }
        File lock = new File(folder, "lock");
        synchronized (QnnrtSkels.class) {                /* the lock of a file is of processes */
            try (RandomAccessFile file = new RandomAccessFile(lock, "rw")) {
                file.getChannel().lock();
                if (!QnnrtCopy.settle(at) || !holds(at, lines)) {
                    QnnrtCopy.fill(sources, at, null);
                    QnnrtCopy.settle(at);
                }
                File[] all = folder.listFiles();
                for (File other : all == null ? new File[0] : all) {
                    if (!other.equals(at) && !other.equals(lock)) {
                        QnnrtCopy.remove(other);
                    }
                }
            } catch (IOException thrown) {
                throw new QnnrtException(QnnrtException.IO, 0, "cannot lock " + lock + ": "
                        + thrown.getMessage(), "Check the folder, and call it again.");
            }
        }
        return at;
    }

    /** Return whether all files are there: a program that cleans up may have removed some. */
    private static boolean holds(File folder, List<String[]> lines) {
        for (String[] line : lines) {
            if (!new File(folder, line[1]).isFile()) {
                return false;
            }
        }
        return true;
    }

    private static InputStream open(Files files, String name) throws IOException {
        InputStream from = files.open(name);
        if (from == null) {
            throw new IOException("its provider gives nothing");
        }
        return from;
    }

    private static String read(Files files) {
        try (InputStream from = open(files, LIST)) {
            ByteArrayOutputStream text = new ByteArrayOutputStream();
            byte[] block = new byte[4096];
            int count;
            while ((count = from.read(block)) > 0 && text.size() <= MOST) {
                text.write(block, 0, count);
            }
            if (text.size() > MOST) {
                throw list(QnnrtException.LIMIT, "it has more than " + MOST + " bytes");
            }
            return new String(text.toByteArray(), StandardCharsets.UTF_8);
        } catch (IOException thrown) {
            throw list(QnnrtException.NOT_FOUND, thrown.toString());
        }
    }

    /** Return the sums and names of a generation. Names may be hostile. */
    private static List<String[]> select(String text, int generation) {
        List<String[]> lines = new ArrayList<>();
        for (String line : text.split("\r?\n")) {
            if (!line.matches("[0-9a-f]{64} [ *]lib\\w[\\w.+-]{0,200}\\.so")) {
                throw list(QnnrtException.FORMAT, "\"" + line.substring(0, Math.min(100,
                        line.length())) + "\" is not a sum and the name of a library");
            }
            String name = line.substring(66);
            if (generation == 0 || name.contains("V" + generation + "Skel")) {
                lines.add(new String[] { line.substring(0, 64), name });
            }
        }
        if (lines.isEmpty()) {
            throw new QnnrtException(QnnrtException.NOT_FOUND, 0, LIST + " has no file for NPU "
                    + "generation " + generation, "Add libQnnHtpV" + generation + "Skel.so to the "
                    + "set, or use another backend.");
        }
        return lines;
    }

    private static QnnrtException list(int code, String why) {
        return new QnnrtException(code, 0, "cannot read " + LIST + " of the DSP's files: " + why,
                "Write it with `sha256sum libQnn*Skel.so >SHA256SUMS` in the folder of the files.");
    }

    private static MessageDigest sha256() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException never) {       /* every Java has it */
            throw new IllegalStateException(never);
        }
    }

    private static String hex(MessageDigest digest) {
        StringBuilder text = new StringBuilder();
        for (byte one : digest.digest()) {
            text.append(String.format("%02x", one));
        }
        return text.toString();
    }

    /** A stream that fails at its end if the bytes have another sum. */
    private static final class Summed extends FilterInputStream {
        private final MessageDigest digest = sha256();
        private final String sum;

        Summed(InputStream from, String sum) {
            super(from);
            this.sum = sum;
        }

        @Override
        public int read(byte[] to, int offset, int bytes) throws IOException {
            int count = in.read(to, offset, bytes);
            if (count > 0) {
                digest.update(to, offset, count);
                return count;
            }
            String found = hex(digest);
            if (!found.equals(sum)) {
                throw new IOException("its SHA-256 is " + found + ", expected " + sum);
            }
            return count;
        }
    }
}
