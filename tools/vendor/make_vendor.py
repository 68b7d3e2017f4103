#!/usr/bin/env python3
"""Write the last parts of qnnrt.h (the vendor's codes and names) and of qnnrt_explain.h (codes, log lines), from vendor.txt.

    make_vendor.py            write them (make vendor)
    make_vendor.py --check    only compare; status 1 when a header has something else

vendor.txt says how to add an entry."""
import os
import re
import sys

FOLDER = os.path.dirname(os.path.abspath(__file__))
TABLE = os.path.join(FOLDER, "vendor.txt")
TOP = os.path.dirname(os.path.dirname(FOLDER))
BEGIN = "/* ---- vendor data: `make vendor` writes all from here to its end, see tools/vendor ---- */\n"
END = "/* ---- end of vendor data ---- */\n"
NAMES = ["dtype", "type", "format", "encoding", "definition"]
TABLES = ["codes", "aliases", "lines"] + [kind + "s" for kind in NAMES]
WIDTH = 100

BANNER = """
/* =====================================================================================
   %s>>%s
   %s
   Needs: %s     Knows nothing of: callers
   ===================================================================================== */
"""


class Mistake(Exception):
    pass


def escape(text):
    """Return what stands between the quotes of a C literal; C99 reads ??/ and its like as other characters."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("?", "\\?" if "??" in text else "?")


def check_text(text, most, what):
    if not text or len(text) > most or not all(" " <= c <= "~" for c in text):
        raise Mistake("%s must have 1 to %d characters of ASCII: %a" % (what, most, text))
    if max(len(escape(word)) for word in text.split(" ")) > 64:
        raise Mistake("%s has a word of more than 64 characters, which fits on no line: \"%s\"" % (what, text))
    return text


def check_name(text, pattern, what):
    if not re.fullmatch(pattern, text) or len(text) > 64:
        raise Mistake("%s must match %s: %a" % (what, pattern, text))
    return text


def check_number(text):
    """Return a number that C reads as Python does."""
    number = int(check_name(text, r"0|[1-9][0-9]*|0x[0-9A-Fa-f]+", "a number"), 0)
    if number > 0xFFFFFFFF:
        raise Mistake("a number has at most 32 bits: %s" % text)
    return number


def sentence(text, most, what):
    check_text(text, most, what)
    if not text.endswith(".") or re.match(r"[a-z]+\b(?!\.)", text):
        raise Mistake("%s must begin with a capital and end with a full stop: \"%s\"" % (what, text))
    return text


def causes(fields):
    for cause in fields:
        check_text(cause, 200, "a cause")
        if cause.endswith("."):
            raise Mistake("a cause is a clause, without a full stop: \"%s\"" % cause)
    if len(fields) > 3:
        raise Mistake("more than 3 causes")
    return fields


class Table:
    """The entries of vendor.txt."""

    def __init__(self, path):
        self.texts = {}                                    # name: text
        self.codes = []                                    # (number, symbols, meaning, hint, causes)
        self.lines = []                                    # (number, pieces, meaning, hint, causes)
        self.rare = set()                                  # numbers of which qnnrt.h has the symbol only
        self.names = dict((kind, []) for kind in NAMES)    # (number as written, name)
        for at, line in enumerate(open(path, encoding="ascii", errors="surrogateescape"), 1):
            line = line.rstrip("\n")
            if not line or line.startswith("#"):
                continue
            try:
                self.add([self.expand(field) for field in line.split(" | ")])
            except (Mistake, IndexError, ValueError) as error:
                raise Mistake("%s:%d: %s" % (path, at, error))
        symbols = [symbol for code in self.codes for symbol in code[1]]
        for symbol in symbols:
            if symbols.count(symbol) > 1:
                raise Mistake("%s: the symbol %s occurs twice" % (path, symbol))
        self.symbol = dict((code[0], code[1][0] if code[1] else "") for code in self.codes)
        for number in [entry[0] for entry in self.lines]:
            if number not in self.symbol:
                raise Mistake("%s: a line has the code %d, which has no entry" % (path, number))

    def expand(self, field):
        if not re.fullmatch(r"\$[a-z]+", field):
            return field
        if field[1:] not in self.texts:
            raise Mistake("%s is not defined above" % field)
        return self.texts[field[1:]]

    def add(self, fields):
        kind = fields[0]
        if kind == "text":
            if check_name(fields[1], "[a-z]+", "the name of a text") in list(self.texts) + TABLES:
                raise Mistake("the name \"%s\" occurs twice" % fields[1])
            self.texts[fields[1]] = check_text(fields[2], 200, "a text")
        elif kind in self.names:
            check_number(fields[1])
            self.names[kind].append((fields[1], check_name(fields[2], "[A-Za-z0-9_]+", "a name")))
        elif kind in ("code", "rare"):
            number = check_number(fields[1])
            if kind == "rare":
                self.rare.add(number)
            elif number != 0 and len(fields) < 6:
                raise Mistake("a code of qnnrt.h has a cause")
            if self.codes and number <= self.codes[-1][0]:
                raise Mistake("codes ascend")
            symbols = [] if fields[2] == "-" else fields[2].split()
            for symbol in symbols:
                check_name(symbol, "QNN_[A-Za-z0-9_]+", "a symbol")
            self.codes.append((number, symbols, sentence(fields[3], 160, "a meaning"), sentence(fields[4], 200, "a hint"),
                               causes(fields[5:])))
        elif kind == "line":
            self.lines.append((check_number(fields[1]), check_text(fields[2], 80, "a line"), sentence(fields[3], 160, "a meaning"),
                               sentence(fields[4], 200, "a hint"), causes(fields[5:])))
        else:
            raise Mistake("%a is not a kind of entry" % kind)


class Writer:
    """C text. A long string that is used more than once becomes an array with a name of its own."""

    def __init__(self, table, strings, prefix="qnnrt__vendor_"):
        self.out = []
        self.prefix = prefix
        self.shared = {}
        named = dict((text, name) for name, text in table.texts.items())
        named.update((symbol, "code_%d" % number) for number, symbol in table.symbol.items())
        for text in sorted(set(strings)):
            if (strings.count(text) - 1) * len(text) < 60:
                continue
            words = re.findall(r"[a-z0-9]+", text.lower())
            count = 2
            name = named.get(text, "_".join(words[:count]))
            while name in list(self.shared.values()) + TABLES or (text not in named and name in table.texts):
                count += 1
                name = "_".join(words[:count] + ["%d" % number for number in range(len(words), count)])
            self.shared[text] = name

    def line(self, text=""):
        self.out.append(text)

    def put(self, text):
        """A piece that stays whole: on this line, or on the next when it does not fit."""
        if len(self.out[-1]) + 1 + len(text) > WIDTH and self.out[-1].strip():
            self.out.append("      " + text)
        else:
            self.out[-1] += ("" if self.out[-1].endswith(" ") else " ") + text

    def string(self, before, text, behind):
        """A literal with what surrounds it, cut between words where a line ends."""
        escaped = escape(text)
        if text in self.shared:
            return self.put(before + self.prefix + self.shared[text] + behind)
        while True:
            room = WIDTH - len(self.out[-1]) - 1 - len(before) - 2
            if len(escaped) + len(behind) <= room:
                return self.put('%s"%s"%s' % (before, escaped, behind))
            cut = escaped.rfind(" ", 0, room + 1) if room >= 20 else -1
            if cut <= 0:
                if before and not self.out[-1].strip():      # a line of its own is too short for both
                    self.put(before.rstrip())
                    before = ""
                self.out.append("      ")
                continue
            self.put('%s"%s"' % (before, escaped[:cut]))
            escaped, before = escaped[cut:], ""
            self.out.append("      ")

    def explanation(self, number, symbol, text, meaning, hint, why):
        self.out.append("    ")
        self.string("{ %s, " % number, symbol, ",")
        if text:
            self.string("", text, ",")
        self.string("" if text else "NULL, ", meaning, ",")
        for at, cause in enumerate(why):
            self.string("{ " if at == 0 else "", cause, "," if at + 1 < len(why) else " },")
        self.string("" if why else "{ NULL }, ", hint, " },")

    def put_entry(self, text):
        if len(self.out[-1]) + 1 + len(text) > WIDTH:
            self.out.append("   ")
        self.out[-1] += " " + text


def number_text(number):
    return "0x%Xu" % number if number > 0xFFFF else "%d" % number


def banner(title, tag, about, needs):
    return (BANNER % (title + " " * (83 - len(title) - len(tag)), tag, about, needs)).strip("\n")


def shared(w):
    """The arrays of the texts that are used more than once."""
    for text in sorted(w.shared, key=lambda text: w.shared[text]):
        name = w.shared.pop(text)
        w.out.append("static const char")
        w.string("%s%s[] = " % (w.prefix, name), text, ";")
        w.shared[text] = name
    w.line()


def joined(w):
    return "\n".join(line.rstrip() for line in w.out) + "\n"


def symbols_of_core(table):
    """The symbols as words: a number is that of the next name, what ends with "_" is what names begin with after QNN_."""
    words, begin, next_number = [], "", -1
    for number, symbols, _, _, _ in table.codes:
        if not symbols:
            continue
        name = symbols[0][4:]
        first = re.match(r".*?ERROR_|[^_]+_|", name).group(0)
        if first != begin:
            words.append(first)
            begin = first
        if number != next_number:
            words.append("%d" % number)
        next_number = number + 1
        words.append(name[len(begin):])
        if not name.startswith(begin) or not re.fullmatch("[A-Z](.*[^_])?", words[-1]):
            raise Mistake("the symbol %s cannot be written as a word" % symbols[0])
    return " ".join(words)


def generate(table):
    """The data of qnnrt.h."""
    known = [code for code in table.codes if code[0] != 0 and code[0] not in table.rare]
    w = Writer(table, [text for code in known for text in (code[3], code[4][0])])
    w.line(banner("VENDOR CODES", "vendor_codes", "Symbols, causes and hints of the vendor's codes.", ">>codes"))
    w.line()
    w.line("#ifndef QNNRT_NO_ERROR_TEXT")
    w.line("/* Texts of several entries. */")
    shared(w)
    w.line("static const qnnrt__codes_cause qnnrt__vendor_causes[] = {")
    for number, _, _, hint, why in known:
        w.out.append("    ")
        w.string("{ %s, " % number_text(number), why[0], ",")
        w.string("", hint, " },")
    w.line("    { 0, NULL, NULL }")
    w.line("};")
    w.line()
    w.line("static const char qnnrt__vendor_symbols[] =")
    w.out.append("    ")
    w.string("", symbols_of_core(table), ";")
    w.line()
    w.line("static void qnnrt__codes_data(const char **symbols, const qnnrt__codes_cause **causes)")
    w.line("{")
    w.line("    *symbols = qnnrt__vendor_symbols;")
    w.line("    *causes = qnnrt__vendor_causes;")
    w.line("}")
    w.line("#endif")
    w.line()
    w.line(banner("VENDOR NAMES", "vendor_names", "The vendor's enumerators as text.", ">>names"))
    w.line()
    w.line("/* The lists one after the other, in the order of their numbers. */")
    w.line("static const qnnrt__names_entry qnnrt__vendor_names[] = {")
    w.out.append("   ")
    for kind in NAMES:
        for number, name in table.names[kind]:
            w.put_entry('{ %s, "%s" },' % (number, name))
        w.put_entry("{ 0, NULL }" + ("," if kind != NAMES[-1] else ""))
    w.line("};")
    w.line()
    w.line("static const qnnrt__names_entry *qnnrt__names_get(int which)")
    w.line("{")
    w.line("    const qnnrt__names_entry *entry = qnnrt__vendor_names;")
    w.line("    for (; which > 0; ++entry) which -= entry->name == NULL;")
    w.line("    return entry;")
    w.line("}")
    return joined(w)


def generate_lines(table):
    """The data of qnnrt_explain.h."""
    used = []
    for number, symbols, meaning, hint, why in table.codes:
        used += symbols[:1] + [meaning, hint] + why
    for number, pieces, meaning, hint, why in table.lines:
        used += [table.symbol[number], pieces, meaning, hint] + why
    w = Writer(table, used, "qnnrt_explain__text_")
    w.line(banner("KNOWN CODES", "known_codes", "Codes that the vendor's libraries return, and other symbols of them.", ">>config"))
    w.line()
    w.line("/* Texts of several entries. */")
    shared(w)
    w.line("static const qnnrt_explain__alias qnnrt_explain__known_aliases[] = {")
    for number, symbols, meaning, hint, why in table.codes:
        if len(symbols) > 1:
            w.out.append("    ")
            w.string("{ %s, " % number_text(number), " ".join(symbols[1:]), " },")
    w.line("};")
    w.line()
    w.line("static const qnnrt_explanation qnnrt_explain__known_codes[] = {")
    for number, symbols, meaning, hint, why in table.codes:
        w.explanation(number_text(number), symbols[0] if symbols else "", None, meaning, hint, why)
    w.line("};")
    w.line()
    w.line(banner("KNOWN LINES", "known_lines", "Lines that the vendor's libraries log.", ">>config >>known_codes (texts)"))
    w.line()
    w.line("static const qnnrt_explanation qnnrt_explain__known_lines[] = {")
    for number, pieces, meaning, hint, why in table.lines:
        w.explanation(number_text(number), table.symbol[number] if number else "", pieces, meaning, hint, why)
    w.line("};")
    w.line()
    w.line("static const qnnrt_explain__data *qnnrt_explain__get_data(void)")
    w.line("{")
    w.line("    static const qnnrt_explain__data data = {")
    for name in "codes", "lines", "aliases":
        w.line("        qnnrt_explain__known_%s," % name)
        w.line("        sizeof(qnnrt_explain__known_%s) / sizeof(qnnrt_explain__known_%s[0])%s" % (name, name, "," if name != "aliases" else ""))
    w.line("    };")
    w.line("    return &data;")
    w.line("}")
    return joined(w)


HEADERS = [("qnnrt.h", generate), ("tools/qnnrt_explain.h", generate_lines)]


def main(words):
    if words not in ([], ["--check"]):
        print(__doc__)
        return 2
    try:
        table = Table(TABLE)
    except Mistake as error:
        print("make_vendor: %s" % error)
        return 1
    status = 0
    for name, make in HEADERS:
        path = os.path.join(TOP, name)
        text = open(path, encoding="utf-8").read()
        if text.count(BEGIN) != 1 or text.count(END) != 1:
            print("make_vendor: %s lacks the comments that the vendor data stands between" % name)
            return 1
        begin, end = text.index(BEGIN) + len(BEGIN), text.index(END)
        new = text[:begin] + "\n" + make(table) + "\n" + text[end:]
        if new != text and words:
            print("make_vendor: %s is not what vendor.txt makes; run `make vendor`" % name)
            status = 1
        elif new != text:
            open(path, "w", encoding="utf-8").write(new)
    if words and status == 0:
        print("%d codes, %d lines: the headers are current" % (len(table.codes), len(table.lines)))
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
