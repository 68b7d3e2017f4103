"""What tests in Python share: checks are counted, one that fails prints a line, and the end says how many there were."""
import os
import sys

LONGEST = 600                                    # characters of a reason that are printed
passed = failed = skipped = 0


def check(name, good, why=""):
    """Count a check, and print the test, the check and the reason if it fails. Return whether it passed."""
    global passed, failed
    if good:
        passed += 1
    else:
        failed += 1
        print("%s: %s: %s" % (os.path.splitext(os.path.basename(sys.argv[0]))[0], name, str(why)[:LONGEST]))
    return bool(good)


def holds(good, message):
    """Count a check, and print the test's short name and the message if it fails. Return whether it passed."""
    global passed, failed
    passed, failed = passed + bool(good), failed + (not good)
    if not good:
        print("%s: %s" % (os.path.splitext(os.path.basename(sys.argv[0]))[0].replace("test_", "", 1), message))
    return bool(good)


def skip(name, why):
    """Count a check that cannot be made here, and say why."""
    global skipped
    skipped += 1
    print("skip  %s: %s" % (name, why))


def close():
    """Print the last line. Return the exit status."""
    print("%d passed, %d failed%s" % (passed, failed, ", %d skipped" % skipped if skipped else ""))
    return 1 if failed else 0
