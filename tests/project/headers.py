"""The headers of the table tools/headers, for tests and tools in Python."""
import os

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
COLUMNS = ("path", "prefix", "object", "macros", "key", "rooms", "how", "needs", "options")
LISTS = ("macros", "how", "needs", "options")


class Row:
    """One header. Columns are fields; those with commas are lists, empty for "-"; home: the object with its code."""

    def __init__(self, line):
        words = line.split()
        if len(words) != len(COLUMNS):
            raise ValueError("tools/headers has a line of %d columns: %s" % (len(words), line.strip()))
        self.__dict__.update(zip(COLUMNS, words))
        for name in LISTS:
            setattr(self, name, [] if getattr(self, name) == "-" else getattr(self, name).split(","))
        self.rooms = int(self.rooms)
        self.name = os.path.basename(self.path)[:-2]
        self.home = self.object.lstrip("+")
        self.part = self.object.startswith("+")
        self.guard = "#ifndef %s_H" % self.prefix

    def text(self):
        with open(os.path.join(TOP, self.path), encoding="utf-8") as file:
            return file.read()

    def begin(self):
        """The line with which the implementation begins."""
        return "#ifdef %s_IMPLEMENTATION" % self.prefix

    def once(self):
        """The macro that says that the implementation was compiled."""
        return self.prefix + "__IMPL_ONCE"

    def end(self):
        """The line with which the implementation ends."""
        return "#endif /* %s */" % self.once()

    def declared(self):
        """The text of the declarations."""
        return self.text().split(self.begin())[0]


with open(os.path.join(TOP, "tools", "headers"), encoding="utf-8") as table:
    ROWS = [Row(line) for line in table if line.strip() and not line.startswith("#")]
# Compiled with qnnrt.h, after it.
FRIENDS = [row for row in ROWS if "friend" in row.how]
BY_NAME = {row.name: row for row in ROWS}
BY_PATH = {row.path: row for row in ROWS}
