"""The tests of the table tests/index, for tests in Python."""
import os

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
KINDS = ("unit", "fuzz", "real", "script", "make", "program")


class Row:
    """One test: file (below tests/, or the label of a target), kind, seconds, needs (a list) and about."""

    def __init__(self, line):
        words = line.split(None, 4)
        if len(words) != 5 or words[1] not in KINDS or not words[2].isdigit():
            raise ValueError("tests/index has a line without its five columns: %s" % line.strip())
        self.file, self.kind, self.seconds, self.about = words[0], words[1], int(words[2]), words[4].strip()
        self.needs = [] if words[3] == "-" else words[3].split(",")
        self.path = os.path.join("tests", self.file)
        self.name = os.path.splitext(os.path.basename(self.file))[0]
        self.oracle = ([os.path.join("tests", word) for word in self.needs if word.endswith(".py")] + [None])[0]

    def text(self):
        with open(os.path.join(TOP, self.path), encoding="utf-8") as file:
            return file.read()


with open(os.path.join(TOP, "tests", "index"), encoding="utf-8") as index:
    ROWS = [Row(line) for line in index if line.strip() and not line.startswith("#")]
