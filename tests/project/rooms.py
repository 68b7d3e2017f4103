"""Read a header that is divided into rooms: the names that each room defines, and those that it uses from other rooms.

A room is the text after a banner (a comment of "=" signs with a tag >>name), up to the next one. Each function, type,
macro and table belongs to the room that defines it; each member belongs to the room that defines its struct.
All rooms may use public structs, enums and macros (before the implementation), but not public functions.
"""
import re

TOKEN = re.compile(r"[A-Za-z_]\w*|\d[\w.]*|->|[^\s\w]")
BANNER = re.compile(r"/\* =+\n   [^\n]*?>>(\w+)\n(.*?)=+ \*/", re.S)
WORDS = set("const volatile static extern inline unsigned signed struct union enum return sizeof if else for while do "
            "switch case break continue goto default typedef register void char short int long float double".split())


def blank(match):
    """Return the same number of lines, all empty."""
    return re.sub(r"[^\n]", " ", match.group(0))


def strip(text):
    """Remove comments and the content of strings."""
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'',
                  lambda m: blank(m) if m.group(0)[0] == "/" else '""' if m.group(0)[0] == '"' else "0", text, flags=re.S)


class Room:
    def __init__(self, path, name, about, text):
        self.path, self.name, self.about, self.text = path, name, about, text
        self.lines = text.count("\n")
        needs = about[about.index("Needs:"):].split("Knows")[0] if "Needs:" in about else ""
        self.needs = set(re.findall(r">>(\w+)", needs))
        self.needs_all = "every room above" in needs
        self.uses = {}              # room: {name: line number within the room}


class Header:
    """The declarations and the rooms of a file, in the order of the file."""

    def __init__(self, path, text, begin, guard, end):
        self.path, self.text = path, text
        at = text.index(begin)
        self.public = text[:at]
        banners = list(BANNER.finditer(text, at))
        self.rooms = []
        for i, m in enumerate(banners):
            stop = banners[i + 1].start() if i + 1 < len(banners) else text.index(end)
            self.rooms.append(Room(path, m.group(1), m.group(2), text[m.end():stop]))
        manual = text[text.index("ROOMS (search"):text.index(guard)]
        self.listed = re.findall(r">>(\w+)", manual)


def split(text):
    """Tokens outside of directives, each with its line; and the macros: (name, tokens of its value, line).

    Only the first branch of an #if is parsed; the words of the others are returned as a list of their own."""
    tokens, macros, other = [], [], []
    stack = []                      # per #if: True while the branch is left out
    lines = strip(text).split("\n")
    i = 0
    while i < len(lines):
        line, number = lines[i], i
        if line.lstrip().startswith("#"):
            while line.endswith("\\") and i + 1 < len(lines):
                i += 1
                line = line[:-1] + " " + lines[i]
            words = line.lstrip()[1:].split(None, 1)
            what = words[0] if words else ""
            rest = words[1] if len(words) > 1 else ""
            if what.startswith("if"):
                stack.append("never" if "__cplusplus" in rest else False)
            elif what in ("else", "elif"):
                if stack and stack[-1] != "never":
                    stack[-1] = True
                elif stack:
                    stack[-1] = False
            elif what == "endif" and stack:
                stack.pop()
            elif what == "define":
                m = re.match(r"(\w+)(\([^)]*\))?(.*)", rest, re.S)
                given = set(re.findall(r"\w+", m.group(2) or ""))
                macros.append((m.group(1), [t for t in TOKEN.findall(m.group(3)) if t not in given], number))
        elif any(stack):
            if "never" not in stack:
                other += [(t, number) for t in TOKEN.findall(line)]
        else:
            tokens += [(t, number) for t in TOKEN.findall(line)]
        i += 1
    return tokens, macros, other


def match(tokens, i, step=1):
    """Return the index of the bracket that matches tokens[i]."""
    pairs = {"(": ")", "[": "]", "{": "}", ")": "(", "]": "[", "}": "{"}
    first, last, depth = tokens[i][0], pairs[tokens[i][0]], 0
    while 0 <= i < len(tokens):
        if tokens[i][0] == first:
            depth += 1
        elif tokens[i][0] == last:
            depth -= 1
            if depth == 0:
                return i
        i += step
    return len(tokens) - 1 if step > 0 else 0


def word(token):
    return (token[0].isalpha() or token[0] == "_") and token not in WORDS


class World:
    """The definitions of all headers together. owner: of a name; structs: members of a type; returns: types of functions."""

    def __init__(self, data=()):
        self.data = data            # rooms of tables: their definitions belong to the room that declares them
        self.declared = {}
        self.owner, self.structs, self.struct_owner, self.returns, self.globals = {}, {}, {}, {}, {}
        self.alias = {}             # typedef: tag
        self.opaque = set()         # public structs without public members
        self.passing = set()        # macros that are undefined again

    # ---- definitions ----

    def own(self, name, room):
        if re.match(r"qnnrt|QNNRT", name) and name not in self.passing:
            self.owner.setdefault(name, room)

    def members(self, tag, body, room):
        """Read the members between the braces of a struct."""
        self.structs[tag] = {}
        self.struct_owner[tag] = room
        i = 0
        while i < len(body):
            j, base = i, None
            if body[i][0] in ("struct", "union") and any(body[k][0] == "{" for k in range(i, min(i + 3, len(body)))):
                k = i
                while body[k][0] != "{":
                    k += 1
                close = match(body, k)
                inner = "%s@%d" % (tag, i)
                self.members(inner, body[k + 1:close], room)
                base, j = inner, close + 1
                if j < len(body) and body[j][0] == ";":             # anonymous: its members belong to the outer struct
                    self.structs[tag].update(self.structs[inner])
            stop = j
            while stop < len(body) and body[stop][0] != ";":
                stop = match(body, stop) + 1 if body[stop][0] in "([{" and body[stop][0] != "(" else stop + 1
            part = body[j:stop]
            k = 0
            if base is None:
                while k < len(part) and (part[k][0] in WORDS or not word(part[k][0])) and part[k][0] != "(":
                    k += 1
                if k < len(part) and word(part[k][0]) and any(word(t[0]) for t in part[k + 1:]):
                    base = part[k][0]
                    k += 1
            pointer = next((n for n in range(len(part) - 2) if part[n][0] == "(" and part[n + 1][0] == "*"), None)
            if pointer is not None:
                if word(part[pointer + 2][0]):
                    self.structs[tag][part[pointer + 2][0]] = None
            else:
                depth, fresh = 0, True
                for t, _ in part[k:]:
                    if t in "([":
                        depth += 1
                    elif t in ")]":
                        depth -= 1
                    elif t == "," and depth == 0:
                        fresh = True
                    elif depth == 0 and fresh and word(t):
                        self.structs[tag][t] = base
                        fresh = False
            i = stop + 1

    def items(self, tokens):
        """Return the top-level items: (tokens of the head, tokens of the body or None)."""
        i, begin = 0, 0
        while i < len(tokens):
            t = tokens[i][0]
            if t == "(" or t == "[":
                i = match(tokens, i)
            elif t == ";":
                yield tokens[begin:i], None
                begin = i + 1
            elif t == "{":
                close = match(tokens, i)
                head = tokens[begin:i]
                after = tokens[close + 1][0] if close + 1 < len(tokens) else ";"
                words = [h[0] for h in head]
                function = ")" in words and "=" not in words and words[0] != "typedef"
                if function:
                    yield head, tokens[i:close + 1]
                    begin = i = close + 1
                    continue
                end = close + 1
                while end < len(tokens) and tokens[end][0] != ";":
                    end += 1
                yield head + [("{}", tokens[i][1])] + tokens[close + 1:end], tokens[i:close + 1]
                begin = i = end + 1
                _ = after
                continue
            i += 1

    @staticmethod
    def function_name(head):
        """Return the index of a function's name in its head, or None."""
        found, depth = None, 0
        for i, (t, _) in enumerate(head):
            if t == "(":
                if depth == 0 and i > 0 and word(head[i - 1][0]) and not re.match(r"[A-Z_0-9]+$", head[i - 1][0]) \
                        and head[i - 1][0] != "__attribute__" and found is None:
                    found = i - 1
                depth += 1
            elif t == ")":
                depth -= 1
        return found

    def define(self, room, text, public):
        """Enter the definitions of a text; room: its name, None for declarations."""
        tokens, macros, _ = split(text)
        if not public:
            for name, _, _ in macros:
                self.own(name, room)
        for head, body in self.items(tokens):
            words = [h[0] for h in head]
            if not words:
                continue
            if "{}" in words and ("struct" in words or "union" in words) and "=" not in words:
                at = words.index("struct") if "struct" in words else words.index("union")
                tag = words[at + 1] if words[at + 1] != "{}" else None
                after = [w for w in words[words.index("{}") + 1:] if word(w)]
                name = tag or (after[0] if after else None)
                if name is None:
                    continue
                self.members(name, body[1:-1], None if public else room)
                for alias in after if words[0] == "typedef" else []:
                    self.alias[alias] = name
                if not public:
                    for n in [name] + after:
                        if n not in self.opaque:
                            self.own(n, room)
            elif "{}" in words and "enum" in words and "=" not in words:
                if not public:
                    names, depth, fresh = [], 0, True
                    for t, _ in body[1:-1]:
                        if t in "([{":
                            depth += 1
                        elif t in ")]}":
                            depth -= 1
                        elif t == "," and depth == 0:
                            fresh = True
                        elif fresh and depth == 0 and word(t):
                            names.append(t)
                            fresh = False
                    for n in names + [w for w in words if word(w) and w != "{}"]:
                        self.own(n, room)
            elif words[0] == "typedef":
                if "(" in words:
                    at = words.index("(")
                    name = next(w for w in words[at:] if word(w))
                    if not public:
                        self.own(name, room)
                else:
                    names = [w for w in words[1:] if word(w)]
                    self.alias[names[-1]] = names[0]
                    if public and "struct" in words:
                        self.opaque.add(names[0])
                    if not public and names[-1] not in self.opaque:
                        self.own(names[-1], room)
            elif body is not None and "{}" not in words:
                at = self.function_name(head)
                if at is None:
                    continue
                if not public:
                    self.owner[words[at]] = self.declared.get(words[at], room) if room in self.data else room
                types = [w for w in words[:at] if word(w) and not re.match(r"[A-Z_0-9]+$", w)]
                if types:
                    self.returns[words[at]] = types[-1]
            elif self.function_name(head) is not None and "=" not in words:
                at = self.function_name(head)
                types = [w for w in words[:at] if word(w) and not re.match(r"[A-Z_0-9]+$", w)]
                if types:
                    self.returns.setdefault(words[at], types[-1])
                if not public:
                    self.declared.setdefault(words[at], room)
            else:                                                    # a variable
                stop = next((i for i, w in enumerate(words) if w in ("=", "[", "{}")), len(words))
                names = [w for w in words[:stop] if word(w)]
                if names and not public:
                    self.own(names[-1], room)
                    self.globals[names[-1]] = names[0] if len(names) > 1 else None

    # ---- uses ----

    def struct_of(self, name):
        seen = 0
        while name is not None and name not in self.structs and name in self.alias and seen < 9:
            name = self.alias[name]
            seen += 1
        return name if name in self.structs else None

    def chain(self, tokens, i, kind, note):
        """Follow ->a.b[i]->c after tokens[i - 1], whose type is kind; return the index after it."""
        while i < len(tokens):
            t = tokens[i][0]
            if t in ("[", "("):
                close = match(tokens, i)
                self.scan(tokens[i + 1:close], note)
                i = close + 1
            elif t in ("->", ".") and i + 1 < len(tokens) and word(tokens[i + 1][0]):
                member = tokens[i + 1][0]
                tag = self.struct_of(kind)
                if tag is not None and member in self.structs[tag]:
                    if self.struct_owner[tag] is not None:
                        note(self.struct_owner[tag], "%s.%s" % (tag.split("@")[0], member), tokens[i + 1][1])
                    kind = self.structs[tag][member]
                else:
                    at = [s for s in self.structs if member in self.structs[s]]
                    owners = set(self.struct_owner[s] for s in at)
                    if len(owners) == 1 and None not in owners:
                        note(owners.pop(), "%s.%s" % (at[0].split("@")[0], member), tokens[i + 1][1])
                    kinds = set(self.structs[s][member] for s in at)
                    kind = kinds.pop() if len(kinds) == 1 else None
                i += 2
            else:
                break
        return i

    def scan(self, tokens, note):
        """Find the uses in a function's head or body; variables keep the type that they were declared with last."""
        i = 0
        while i < len(tokens):
            t, line = tokens[i]
            if t in ("struct", "union") and i + 1 < len(tokens) and tokens[i + 1][0] == "{":
                close = match(tokens, i + 1)                         # a struct of this function
                tag = "@%d" % line
                self.members(tag, tokens[i + 2:close], None)
                self.scan(tokens[i + 2:close], note)
                if close + 1 < len(tokens) and word(tokens[close + 1][0]):
                    self.vars[tokens[close + 1][0]] = tag
                i = close + 1
                continue
            if word(t) and not (i > 0 and tokens[i - 1][0] in ("->", ".")):
                if t in self.owner:
                    note(self.owner[t], t, line)
                if (t in self.alias or t in self.structs) and i + 1 < len(tokens):
                    self.declare(tokens, i)
                    i += 1
                    continue
                kind = self.vars.get(t) or self.globals.get(t)
                if i + 1 < len(tokens) and tokens[i + 1][0] == "(" and t in self.returns:
                    kind = self.returns[t]
                i = self.chain(tokens, i + 1, kind, note)
                continue
            if t == ")" and i + 1 < len(tokens) and tokens[i + 1][0] in ("->", "."):
                begin = match(tokens, i, -1)
                inner = [x for x, _ in tokens[begin:i]]
                kind = next((x for x in inner if x in self.alias or x in self.structs), None)
                if kind is None:
                    kind = next((self.vars.get(x) for x in inner if word(x)), None)
                i = self.chain(tokens, i + 1, kind, note)
                continue
            if t == "}" and i + 1 < len(tokens) and tokens[i + 1][0] == ".":
                i += 2
                continue
            i += 1

    def declare(self, tokens, i):
        """tokens[i] is a type: enter the variables after it."""
        kind, j = tokens[i][0], i + 1
        while j < len(tokens):
            while j < len(tokens) and tokens[j][0] in ("*", "const", "&"):
                j += 1
            if j >= len(tokens) or not word(tokens[j][0]) or tokens[j][0] in self.alias or tokens[j][0] in self.structs:
                return
            self.vars[tokens[j][0]] = kind
            j += 1
            depth = 0
            while j < len(tokens):
                t = tokens[j][0]
                if t in "([{":
                    depth += 1
                elif t in ")]}":
                    depth -= 1
                if depth < 0 or (depth == 0 and t in (";", ",")):
                    break
                j += 1
            if j >= len(tokens) or tokens[j][0] != ",":
                return
            j += 1

    def use(self, room):
        def note(owner, name, line):
            if owner != room.name:
                room.uses.setdefault(owner, {}).setdefault(name, line)
        tokens, macros, other = split(room.text)
        self.vars = {}
        for head, body in self.items(tokens):
            if body is not None and "{}" not in [h[0] for h in head]:
                self.vars = {}
                self.scan(head, note)
                self.scan(body, note)
            elif self.function_name(head) is not None and body is None and "=" not in [h[0] for h in head]:
                at = self.function_name(head)
                self.scan(head[:at] + head[at + 1:], note)         # a declaration of a function is not a use
            else:
                self.scan([h for h in head if h[0] != "{}"], note)
                if body is not None:
                    self.scan(body, note)
        for _, value, line in macros:
            self.scan([(t, line) for t in value], note)
        self.scan(other, note)


def read(headers, declared=(), data=()):
    """Resolve the uses of all rooms of these headers, which are one translation unit; declared: texts that they include."""
    world = World(data)
    for header in headers:
        world.passing |= set(re.findall(r"^[ \t]*#[ \t]*undef[ \t]+(\w+)", header.text, re.M))
    for text in list(declared) + [header.public for header in headers]:
        world.define(None, text, True)
    for header in headers:
        for room in header.rooms:
            world.define(room.name, room.text, False)
    for header in headers:
        for room in header.rooms:
            world.use(room)
    return world


def faults(headers, floor, most, data):
    """List the faults of the rooms of these headers, as sentences.

    floor: rooms that all may use without naming them; most: lines of a room; data: rooms that are tables
    alone, of any length."""
    wrong = []
    names = [room.name for header in headers for room in header.rooms]
    for name in sorted(set(names)):
        if names.count(name) > 1:
            wrong.append("the tag >>%s occurs %d times" % (name, names.count(name)))
    above = []
    for header in headers:
        if header.listed != [room.name for room in header.rooms]:
            wrong.append("%s: the manual lists the rooms as %s, they are %s"
                         % (header.path, header.listed, [room.name for room in header.rooms]))
        for room in header.rooms:
            here = "%s: >>%s" % (room.path, room.name)
            if "Needs:" not in room.about or "Knows nothing of:" not in room.about:
                wrong.append("%s does not say what it needs and must not know" % here)
            for need in sorted(room.needs - set(above)):
                wrong.append("%s needs >>%s, which is not above it" % (here, need))
            needs = set(above) if room.needs_all else room.needs
            for owner in sorted(set(room.uses) - floor):
                name, line = sorted(room.uses[owner].items(), key=lambda use: use[1])[0]
                if owner not in above:
                    wrong.append("%s uses %s of >>%s, which is not above it" % (here, name, owner))
                elif owner not in needs:
                    wrong.append("%s uses %s of >>%s and does not say so" % (here, name, owner))
            for need in sorted(room.needs - set(room.uses) - floor):
                if need in above:
                    wrong.append("%s says that it needs >>%s and does not use it" % (here, need))
            if room.lines > most and room.name not in data:
                wrong.append("%s has %d lines; more than %d are two rooms" % (here, room.lines, most))
            above.append(room.name)
    return wrong
