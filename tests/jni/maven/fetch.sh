#!/bin/sh
# Fetch what pom.xml lists from Maven Central into a folder, once; each file has the hash of SHA256SUMS, or all are refused.
#     sh tests/jni/maven/fetch.sh OUT
# Needs mvn; 460 MB. Exit status 1: a file is another than expected; 3: Maven Central cannot be reached, or there is no mvn.
set -u
LC_ALL=C
export LC_ALL
here=$(cd "$(dirname "$0")" && pwd) out=${1:?usage: fetch.sh OUT}
right() {
    (cd "$out" && sha256sum -c "$here/SHA256SUMS" >/dev/null 2>&1 && [ "$(ls)" = "$(sed 's/.*  //' "$here/SHA256SUMS")" ])
}
mkdir -p "$out" && out=$(cd "$out" && pwd) || exit 1
if right; then exit; fi
command -v mvn >/dev/null 2>&1 || { echo "fetch.sh: mvn is not installed"; exit 3; }
rm -f "$out"/*
mvn -q -B -f "$here/pom.xml" dependency:copy-dependencies -DoutputDirectory="$out" || { echo "fetch.sh: Maven Central cannot be reached"; exit 3; }
right || { echo "fetch.sh: a file in $out has not the hash of SHA256SUMS: $(cd "$out" && sha256sum -c "$here/SHA256SUMS" 2>&1 | grep -v ': OK$' | head -n 3)"; exit 1; }
