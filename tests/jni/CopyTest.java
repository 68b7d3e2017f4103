import java.io.ByteArrayInputStream;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import qnnrt.QnnrtCopy;
import qnnrt.QnnrtException;

/**
 * QnnrtCopy.java on the desk. tests/jni/test_copy.sh runs it:
 *
 *   CopyTest FOLDER          FOLDER is empty
 *   CopyTest FOLDER full     FOLDER is on a storage of 4 MB
 *   CopyTest FOLDER COUNT    what the first starts and kills: replaces FOLDER/model COUNT times
 */
public final class CopyTest extends Checks {
    private static File top, model;

    /** The folder of the app and nothing beside it has these files: "name=content,...". */
    private static void holds(String name, String expected) throws IOException {
        String found = content();
        check(name, found.equals(expected), "expected \"" + expected + "\", found \"" + found + "\"");
        String[] beside = top.list();
        check(name, Arrays.equals(beside, expected.isEmpty() ? new String[0] : new String[] { "model" }),
                "there is " + Arrays.toString(beside));
    }

    private static String content() throws IOException {
        StringBuilder text = new StringBuilder();
        String[] names = model.list();
        if (names != null) {
            Arrays.sort(names);
            for (String file : names) {
                byte[] bytes = Files.readAllBytes(new File(model, file).toPath());
                text.append(text.length() > 0 ? "," : "").append(file).append('=')
                        .append(new String(bytes, StandardCharsets.UTF_8));
            }
        }
        return text.toString();
    }

    private static QnnrtCopy.Source source(String name, long bytes, String content) {
        return new QnnrtCopy.Source(name, bytes,
                () -> new ByteArrayInputStream(content.getBytes(StandardCharsets.UTF_8)));
    }

    private static QnnrtCopy.Source source(String name, String content) {
        return source(name, content.length(), content);
    }

    private static void fill(QnnrtCopy.Progress progress, QnnrtCopy.Source... sources) {
        QnnrtCopy.fill(Arrays.asList(sources), model, progress);
    }

    /** A stream of so many zeros, which then fails or ends. */
    private static InputStream zeros(long count, IOException then) {
        return new InputStream() {
            private long left = count;

            @Override
            public int read() throws IOException {
                throw new IOException("only blocks are read");
            }

            @Override
            public int read(byte[] into, int from, int most) throws IOException {
                if (left == 0 && then != null) {
                    throw then;
                }
                int some = (int) Math.min(most, left);
                left -= some;
                Arrays.fill(into, from, from + some, (byte) 0);
                return some == 0 ? -1 : some;
            }
        };
    }

    private static void replaces() throws Exception {
        check("nothing", !QnnrtCopy.settle(model), "there is a folder");
        fill(null, source("a", "one"), source("b", -1, "two"));
        check("apart", !model.exists(), "fill() changed the folder");
        check("settled", QnnrtCopy.settle(model), "there is no folder");
        holds("first", "a=one,b=two");
        fill(null, source("c", "three"));
        check("old", content().equals("a=one,b=two"), content());
        fill(null, source("d", ""), source("e", "five"));
        QnnrtCopy.settle(model);
        holds("second", "d=,e=five");
    }

    private static void tells() throws Exception {
        List<String> said = new ArrayList<>();
        QnnrtCopy.Source large = new QnnrtCopy.Source("large", 600000, () -> zeros(600000, null));
        fill((done, total) -> said.add(done + "/" + total), large, source("a", "one"));
        check("progress", said.equals(Arrays.asList("0/600003", "262144/600003", "524288/600003",
                "600000/600003", "600003/600003")), said.toString());
        said.clear();
        fill((done, total) -> said.add(done + "/" + total), source("a", "one"), source("b", -1, "two"));
        check("unknown", said.equals(Arrays.asList("0/-1", "3/-1", "6/-1")), said.toString());
        fill(null, source("a", "one"));
        QnnrtCopy.settle(model);
        holds("third", "a=one");
    }

    /** After each of these, the folder is as it was, and nothing is left beside it. */
    private static void keeps() throws Exception {
        int io = QnnrtException.IO, arg = QnnrtException.ARG;
        QnnrtCopy.Source endless = new QnnrtCopy.Source("endless", -1, () -> zeros(Long.MAX_VALUE, null));
        refused("cancel", QnnrtException.CANCELLED, "cancelled", "", () -> fill((done, total) -> done < 1000000, endless));
        holds("cancel", "a=one");
        refused("listener", arg, "no name", "", () -> fill((done, total) -> {
            fill(null, source("..", ""));
            return true;
        }, endless));
        refused("short", io, "cannot read \"s\": 4 bytes expected, 3", "complete", () -> fill(null, source("s", 4, "one")));
        refused("long", io, "cannot read \"s\": 2 bytes expected, 3", "complete", () -> fill(null, source("s", 2, "one")));
        refused("fails", io, "cannot read \"s\": java.io.IOException: gone", "again", () -> fill(null, source("a", "x"),
                new QnnrtCopy.Source("s", 9, () -> zeros(5, new IOException("gone")))));
        refused("permission", io, "SecurityException: no permission", "again", () -> fill(null,
                new QnnrtCopy.Source("s", 9, () -> {
                    throw new SecurityException("no permission");
                })));
        refused("missing", io, "gives nothing", "again", () -> fill(null, new QnnrtCopy.Source("s", 9, () -> null)));
        refused("space", io, "bytes left", "MB of storage", () -> fill(null, source("s", 1L << 60, ""), source("t", "x")));
        refused("sum", QnnrtException.LIMIT, "2^63", "", () -> fill(null, source("s", Long.MAX_VALUE, ""), source("t", 1, "")));
        refused("none", arg, "no file", "", () -> fill(null));
        refused("twice", arg, "two files have the name \"a\"", "Rename", () -> fill(null, source("a", ""), source("a", "")));
        StringBuilder name = new StringBuilder("\u00e4");
        while (name.length() < 255) {
            name.append('x');
        }
        for (String bad : new String[] { null, "", ".", "..", "a/b", "/a", "a\0b", name.toString() }) {
            refused("name", arg, "no name of a file", "Rename", () -> fill(null, source(bad, "x")));
        }
        holds("kept", "a=one");
    }

    /** What a folder that cannot be written says, and a link that lies in the way. */
    private static void meets() throws Exception {
        Path part = new File(top, "model.part").toPath(), other = Files.createTempDirectory(top.toPath().getParent(), "o");
        Files.write(other.resolve("mine"), new byte[1]);
        Files.createSymbolicLink(part, other);
        QnnrtCopy.settle(model);
        check("link", Files.exists(other.resolve("mine")), "a file behind a link was removed");
        holds("link", "a=one");
        File inside = new File(other.toFile(), "mine/model");
        refused("parent", QnnrtException.IO, "cannot make the folder", "", () -> QnnrtCopy.fill(
                Arrays.asList(source("a", "x")), inside, null));
        Files.createDirectories(new File(top, "model.whole/b").toPath());
        QnnrtCopy.settle(model);
        check("whole", new File(model, "b").isDirectory() && !new File(model, "a").exists(), content(model));
    }

    private static String content(File folder) {
        return Arrays.toString(folder.list());
    }

    /** What a killed process leaves is the old content or the new one. */
    private static void killed() throws Exception {
        String java = System.getProperty("java.home") + "/bin/java";
        Random random = new Random(33);
        long last = -1;
        for (int i = 0; i < 8; ++i) {
            Process process = new ProcessBuilder(java, "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-Xmx16m", "-cp",
                    System.getProperty("java.class.path"), "CopyTest", top.getPath(), "1000000").start();
            for (int turns = 1 + i % 4; turns > 0; --turns) {
                process.getInputStream().read();
            }
            Thread.sleep(random.nextInt(30));
            process.destroyForcibly().waitFor(10, TimeUnit.SECONDS);
            QnnrtCopy.settle(model);
            String[] names = model.list(), beside = top.list();
            String text = Arrays.toString(names) + ", beside it " + Arrays.toString(beside);
            check("kill", Arrays.equals(beside, new String[] { "model" }) && names.length == 10, text);
            long first = Long.parseLong(new String(Files.readAllBytes(new File(model, "0").toPath())).trim());
            for (String name : names) {
                long number = Long.parseLong(new String(Files.readAllBytes(new File(model, name).toPath())).trim());
                check("kill", number == first, name + " is of turn " + number + ", 0 of " + first);
            }
            last = Math.max(last, first);
        }
        check("turns", last > 0, "no process replaced the folder");
    }

    /** The storage is full before the size of all files is known. */
    private static void full() throws Exception {
        fill(null, source("a", "one"));
        QnnrtCopy.settle(model);
        refused("full", QnnrtException.IO, "/model.part/endless: No space left on device", "MB of storage", () ->
                fill(null, source("b", "two"), new QnnrtCopy.Source("endless", -1, () -> zeros(Long.MAX_VALUE, null))));
        holds("full", "a=one");
    }

    private static void replace(int count) {
        for (int turn = 0; turn < count; ++turn) {
            List<QnnrtCopy.Source> sources = new ArrayList<>();
            for (int i = 0; i < 10; ++i) {
                sources.add(source(Integer.toString(i), String.format("%20d", turn)));
            }
            QnnrtCopy.fill(sources, model, null);
            QnnrtCopy.settle(model);
            System.out.print('.');
            System.out.flush();
        }
    }

    public static void main(String[] arguments) {
        suite = "test_copy";
        top = new File(arguments[0]);
        model = new File(top, "model");
        if (arguments.length > 1 && !arguments[1].equals("full")) {
            replace(Integer.parseInt(arguments[1]));
            return;
        }
        if (arguments.length > 1) {
            part("full", CopyTest::full);
        } else {
            part("replaces", CopyTest::replaces);
            part("tells", CopyTest::tells);
            part("keeps", CopyTest::keeps);
            part("meets", CopyTest::meets);
            part("killed", CopyTest::killed);
        }
        System.exit(end());
    }
}
