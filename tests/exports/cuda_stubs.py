#!/usr/bin/env python3
"""Make empty CUDA libraries, so that torch's wheel for Linux loads without the CUDA packages and computes on the CPU.

    cuda_stubs.py TORCH_FOLDER FOLDER        then: LD_LIBRARY_PATH=FOLDER python3 ...

For each library that those in TORCH_FOLDER/lib need and the system lacks, FOLDER gets one of that name, with every
function that they expect, in the version that they expect. Each function returns 999, an error. This saves 3 GB of
downloads. It needs readelf, ldconfig and a C compiler (CC)."""
import collections
import glob
import os
import re
import subprocess
import sys


def output(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, check=True, universal_newlines=True).stdout


def symbols(path):
    """Yield the dynamic symbols: name, version or "", kind, and whether the library defines it."""
    for line in output("readelf", "-W", "--dyn-syms", path).split("\n"):
        words = line.split()
        if len(words) >= 8 and (words[4], words[6]) != ("WEAK", "UND"):
            name, _, version = words[7].replace("@@", "@").partition("@")
            yield name, version, words[3], words[6] != "UND"


def versions_of(path):
    """Return version -> library, for the versions of symbols that the library at path needs."""
    table, library = {}, ""
    for line in output("readelf", "-W", "-V", path).split("\n"):
        found = re.search(r"File: (\S+)", line)
        library = found.group(1) if found else library
        found = re.search(r"Name: (\S+)", line)
        if found and library:
            table[found.group(1)] = library
    return table


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    source, folder = sys.argv[1] + "/lib", sys.argv[2]
    libraries = glob.glob(source + "/*.so*")
    if not libraries:
        sys.exit("cuda_stubs: %s holds no libraries" % source)
    os.makedirs(folder, exist_ok=True)
    needs = {p: re.findall(r"NEEDED.*\[(.*?)\]", output("readelf", "-d", p)) for p in libraries}
    system = output("/sbin/ldconfig", "-p")
    missing = {n for names in needs.values() for n in names
               if not os.path.exists("%s/%s" % (source, n)) and "\t%s " % n not in system}
    defined, wanted = set(), []
    for path in libraries:
        owners = versions_of(path)
        for name, version, kind, here in symbols(path):
            if here:
                defined.add(name)
            else:
                wanted.append((path, name, version, owners.get(version), kind))
    stubs = {n: collections.defaultdict(dict) for n in missing}      # library -> version -> symbol -> kind
    for path, name, version, owner, kind in wanted:
        if owner in stubs:
            stubs[owner][version][name] = kind
        elif not version and name not in defined and not re.match("_?Py", name):
            owner = next((n for n in needs[path] if n in stubs), None)
            if owner:
                stubs[owner][""][name] = kind
    for library, versions in sorted(stubs.items()):
        text = "".join(("char %s[256];\n" if kind == "OBJECT" else "int %s(void) { return 999; }\n") % name
                       for table in versions.values() for name, kind in table.items())
        script = "".join("%s { global: %s; };\n" % (v, "; ".join(table)) for v, table in versions.items() if v)
        for end, content in ((".c", text), (".map", script)):
            with open("%s/%s%s" % (folder, library, end), "w") as f:
                f.write(content)
        path = "%s/%s" % (folder, library)
        command = [os.environ.get("CC") or "cc", "-w", "-shared", "-fPIC", "-fno-builtin", "-Wl,-soname," + library,
                   path + ".c", "-o", path]
        subprocess.run(command + (["-Wl,--version-script," + path + ".map"] if script else []), check=True)
        os.remove(path + ".c")
        os.remove(path + ".map")
    print("cuda_stubs: %d libraries in %s" % (len(stubs), folder))


if __name__ == "__main__":
    main()
