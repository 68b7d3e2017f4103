import java.io.ByteArrayInputStream;
import java.io.File;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.security.MessageDigest;
import java.util.Arrays;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import qnnrt.QnnrtException;
import qnnrt.QnnrtSkels;

/**
 * QnnrtSkels.java on the desk. tests/jni/test_skels.sh runs it:
 *
 *   SkelsTest FOLDER         FOLDER is empty
 *   SkelsTest FOLDER MS      what the first starts and kills: installs files that come slowly, with MS between blocks
 */
public final class SkelsTest extends Checks {
    private static final String V73 = "libQnnHtpV73Skel.so", V75 = "libQnnHtpV75Skel.so";
    private static int opened;
    private static File folder;

    private static String sum(String text) throws Exception {
        StringBuilder digits = new StringBuilder();
        for (byte one : MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8))) {
            digits.append(String.format("%02x", one));
        }
        return digits.toString();
    }

    /** A set of files, with its list: name, content, name, content ... */
    private static Map<String, String> set(String... words) throws Exception {
        Map<String, String> files = new TreeMap<>();
        StringBuilder list = new StringBuilder();
        for (int i = 0; i < words.length; i += 2) {
            files.put(words[i], words[i + 1]);
            list.append(sum(words[i + 1])).append("  ").append(words[i]).append('\n');
        }
        files.put("SHA256SUMS", list.toString());
        return files;
    }

    private static File install(Map<String, String> files, int generation) {
        return QnnrtSkels.install(name -> {
            String text = files.get(name);
            if (text == null) {
                throw new FileNotFoundException(name);
            }
            opened += name.equals("SHA256SUMS") ? 0 : 1;
            return new ByteArrayInputStream(text.getBytes(StandardCharsets.UTF_8));
        }, folder, generation);
    }

    /** The folder has these files, and nothing is beside it. */
    private static void holds(String name, File at, String expected) throws IOException {
        StringBuilder text = new StringBuilder();
        String[] names = at.list();
        Arrays.sort(names);
        for (String file : names) {
            text.append(file).append('=').append(new String(Files.readAllBytes(new File(at, file).toPath()),
                    StandardCharsets.UTF_8)).append(' ');
        }
        check(name, text.toString().trim().equals(expected), "expected \"" + expected + "\", found \"" + text + "\"");
        String[] beside = folder.list();
        Arrays.sort(beside);
        check(name, Arrays.equals(beside, new String[] {at.getName(), "lock"}), "there is " + Arrays.toString(beside));
    }

    private static void installs() throws Exception {
        Map<String, String> both = set(V73, "old", V75, "new");
        File at = install(both, 75);
        holds("one", at, V75 + "=new");
        check("one", opened == 1, opened + " files were opened");
        check("again", install(both, 75).equals(at) && opened == 1, opened + " files were opened");
        File all = install(both, 0);
        holds("all", all, V73 + "=old " + V75 + "=new");
        // Another release: the old files go.
        File other = install(set(V75, "newer"), 75);
        check("release", !other.equals(at), "it is the same folder");
        holds("release", other, V75 + "=newer");
        // Something removed a file.
        check("removed", new File(other, V75).delete(), "it is not there");
        holds("removed", install(set(V75, "newer"), 75), V75 + "=newer");
        // sha256sum -b, and lines of another system.
        Map<String, String> binary = set(V75, "newer");
        binary.put("SHA256SUMS", binary.get("SHA256SUMS").replace("  ", " *").replace("\n", "\r\n"));
        opened = 0;
        check("binary", install(binary, 75).equals(other) && opened == 0, opened + " files were opened");
    }

    private static void refuses() throws Exception {
        Map<String, String> good = set(V75, "good"), wrong = set(V75, "bad");
        File at = install(good, 75);
        wrong.put(V75, "bud");
        refused("sum", QnnrtException.IO, "cannot read \"" + V75 + "\": java.io.IOException: its SHA-256 is "
                + sum("bud") + ", expected " + sum("bad"), "complete", () -> install(wrong, 75));
        holds("sum", at, V75 + "=good");
        wrong.put(V75, "ba");
        refused("short", QnnrtException.IO, sum("ba"), "complete", () -> install(wrong, 75));
        wrong.remove(V75);
        refused("missing", QnnrtException.IO, "FileNotFoundException", "complete", () -> install(wrong, 75));
        refused("generation", QnnrtException.NOT_FOUND, "no file for NPU generation 81", "libQnnHtpV81Skel.so",
                () -> install(good, 81));
        refused("no_list", QnnrtException.NOT_FOUND, "cannot read SHA256SUMS", "sha256sum", () -> install(new TreeMap<>(), 75));
        StringBuilder endless = new StringBuilder();
        for (int i = 0; i < 700; ++i) {
            endless.append(sum("x")).append("  libQnn").append(i).append("_a_name_that_is_long.so\n");
        }
        String zeros = sum("");
        for (String text : new String[] {"", "x", zeros, zeros + "  ../" + V75, zeros + "  lib/../../x.so",
                zeros + "  libx.so\0", zeros + "  libx.txt", zeros + "  ", zeros.toUpperCase() + "  " + V75,
                zeros.substring(1) + "  " + V75, zeros + " " + V75, zeros + "  " + V75 + "\n\n" + zeros + "  /lib.so"}) {
            Map<String, String> list = new TreeMap<>(good);
            list.put("SHA256SUMS", text);
            refused("list", QnnrtException.FORMAT, "is not a sum and the name of a library", "sha256sum", () -> install(list, 75));
        }
        Map<String, String> list = new TreeMap<>(good);
        list.put("SHA256SUMS", endless.toString());
        refused("list_long", QnnrtException.LIMIT, "more than 65536 bytes", "sha256sum", () -> install(list, 75));
        holds("refused", at, V75 + "=good");
        File inside = new File(new File(at, V75), "x"), kept = folder;
        folder = inside;
        refused("folder", QnnrtException.IO, "cannot make the folder", "getNoBackupFilesDir", () -> install(good, 75));
        folder = kept;
    }

    private static Map<String, String> large() throws Exception {
        char[] block = new char[1 << 20];
        Arrays.fill(block, 'x');
        String text = new String(block);
        return set(V73, text, V75, text + "y");
    }

    private static Process child(int ms) throws IOException {
        return new ProcessBuilder(System.getProperty("java.home") + "/bin/java", "-XX:TieredStopAtLevel=1", "-Xmx64m", "-cp",
                System.getProperty("java.class.path"), "SkelsTest", folder.getPath(), Integer.toString(ms))
                .redirectErrorStream(true).start();
    }

    /** Install files that come slowly; print a dot at each block. */
    private static void slowly(int ms) throws Exception {
        Map<String, String> files = large();
        File at = QnnrtSkels.install(name -> new ByteArrayInputStream(files.get(name).getBytes(StandardCharsets.UTF_8)) {
            @Override
            public int read(byte[] to, int offset, int bytes) {
                try {
                    System.out.print('.');
                    System.out.flush();
                    Thread.sleep(name.equals("SHA256SUMS") ? 0 : ms);
                } catch (InterruptedException never) {
                    throw new IllegalStateException(never);
                }
                return super.read(to, offset, Math.min(bytes, 1 << 16));
            }
        }, folder, 0);
        System.out.println(at.getName() + " " + new File(at, V73).length() + " " + new File(at, V75).length());
    }

    private static void killed() throws Exception {
        Random random = new Random(33);
        for (int i = 0; i < 4; ++i) {
            Process process = child(5);
            for (int turns = 2 + random.nextInt(30); turns > 0; --turns) {
                process.getInputStream().read();
            }
            process.destroyForcibly().waitFor(10, TimeUnit.SECONDS);
            for (File other : folder.listFiles()) {
                boolean part = other.getName().endsWith(".part") || other.getName().endsWith(".whole");
                if (other.isDirectory() && !part && !Arrays.asList(other.list()).contains("old")) {
                    long bytes = 0;
                    for (File file : other.listFiles()) {
                        bytes += file.length();
                    }
                    check("kill", bytes == 4 || bytes == (2 << 20) + 1, other + " has " + bytes + " bytes");
                }
            }
        }
        Map<String, String> files = large();
        File at = install(files, 0);
        check("kill", new File(at, V73).length() == 1 << 20 && new File(at, V75).length() == (1 << 20) + 1, "other lengths");
        check("kill", folder.list().length == 2, Arrays.toString(folder.list()));
    }

    /** Two processes at once: the service in a process of its own, and the app. */
    private static void together() throws Exception {
        install(set(V75, "before"), 75);
        Process[] both = {child(3), child(2)};
        String[] texts = new String[2];
        for (int i = 0; i < 2; ++i) {
            texts[i] = new String(both[i].getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            check("together", both[i].waitFor() == 0, texts[i]);
            texts[i] = texts[i].replace(".", "");
        }
        check("together", texts[0].equals(texts[1]) && texts[0].endsWith(" 1048576 1048577\n"), texts[0] + texts[1]);
        check("together", folder.list().length == 2, Arrays.toString(folder.list()));
    }

    public static void main(String[] arguments) throws Exception {
        suite = "test_skels";
        folder = new File(arguments[0]);
        if (arguments.length > 1) {
            slowly(Integer.parseInt(arguments[1]));
            return;
        }
        part("installs", SkelsTest::installs);
        part("refuses", SkelsTest::refuses);
        part("killed", SkelsTest::killed);
        part("together", SkelsTest::together);
        System.exit(end());
    }
}
