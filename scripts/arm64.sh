#!/bin/sh
# Checks the parts of the sources that depend on the processor: the C code compiles for arm64, and each part for one
# processor has another branch. Nothing is run.
# usage: scripts/arm64.sh
set -eu
cd "$(dirname "$0")/.."

clang=$(dirname "$(readlink -f "$(command -v swift)")")/clang
# The headers of the C library are those of arm64; those of other libraries say the same on all processors.
compile() {
  "$clang" --target=aarch64-linux-gnu -fsyntax-only -std=gnu11 -Wall -Wextra -Werror -nostdlibinc -isystem /usr/aarch64-linux-gnu/include \
    -idirafter /usr/local/include -idirafter /usr/include -idirafter "/usr/include/$(uname -m)-linux-gnu" "$@"
}

for source in Sources/C*/*.c Tests/C*/*.c; do
  [ -e "$source" ] || continue
  compile -I "$(dirname "$source")/include" "$source"
done
for header in Sources/C*/shim.h; do compile -Wno-unused-function -Wno-unused-const-variable -x c "$header"; done

# A condition without another branch must say that nothing stands in its place.
find Sources Tests \( -name '*.swift' -o -name '*.c' -o -name '*.h' \) -exec awk '
  function fail(text) { print FILENAME ":" FNR ": " text; failed = 1 }
  FNR == 1 { depth = 0 }
  /^ *#if/ {
    depth++
    start[depth] = FNR
    other[depth] = !/arch\(|__x86_64__|__aarch64__/
  }
  /^ *#else/ { other[depth] = 1 }
  /^ *#endif/ {
    if (!other[depth]) fail("no #else for the condition on the processor in line " start[depth])
    depth--
  }
  END { exit failed }' {} +
