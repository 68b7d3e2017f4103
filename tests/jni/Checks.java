import qnnrt.QnnrtException;

/** What the tests of this folder count and print with: each is a class that extends it. One thread. */
abstract class Checks {
    /** Stands before each failure. */
    static String suite = "test_jni";
    private static int passed, failed;

    interface Body {
        void run() throws Exception;
    }

    static void check(String name, boolean good, String reason) {
        if (good) {
            ++passed;
        } else {
            ++failed;
            System.out.println(suite + ": " + name + ": " + reason);
        }
    }

    static void equal(String name, Object expected, Object found) {
        check(name, expected.equals(found), "expected " + expected + ", found " + found);
    }

    /** Run a part of the test; what it throws is a failure. */
    static void part(String name, Body body) {
        try {
            body.run();
            check(name, true, "");
        } catch (Throwable thrown) {
            check(name, false, "threw " + thrown);
            thrown.printStackTrace(System.out);
        }
    }

    /** The body throws a QnnrtException with this code, and its text has this word. Return it, or null. */
    static QnnrtException refused(String name, int code, String word, Body body) {
        return refused(name, code, word, "", body);
    }

    /** The same, and its hint has a word, too. */
    static QnnrtException refused(String name, int code, String word, String hint, Body body) {
        try {
            body.run();
            check(name, false, "threw nothing");
        } catch (QnnrtException thrown) {
            check(name, thrown.code == code && thrown.getMessage().contains(word)
                    && thrown.hint.contains(hint), "expected " + code + " \"" + word + "\" \"" + hint
                    + "\", found " + thrown.code + " \"" + thrown.getMessage() + "\" \""
                    + thrown.hint + "\"");
            return thrown;
        } catch (Throwable thrown) {
            check(name, false, "threw " + thrown);
        }
        return null;
    }

    /** Print what was counted. Return the status of the process. */
    static int end() {
        System.out.println(passed + " passed, " + failed + " failed");
        return failed != 0 ? 1 : 0;
    }
}
