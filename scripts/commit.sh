#!/bin/sh
# Prints the flags that tell the linker the commit of the checkout, for `batchproc --version`. Prints nothing without git, as in a
# tarball of the sources.
# usage: scripts/commit.sh
set -eu
cd "$(dirname "$0")/.."

# Another repository may contain this folder.
[ -e .git ] || exit 0
commit=$(git rev-parse HEAD 2>/dev/null | cut -c 1-7)
[ -n "$commit" ] || exit 0
changed=0
[ -z "$(git --no-optional-locks status --porcelain --untracked-files=no 2>/dev/null)" ] || changed=1
# See Sources/CBuild.
echo "-Xlinker --defsym=batchproc_commit=$((0x$commit * 4 + changed * 2 + 1)) -Xlinker --defsym=batchproc_commit_start=0"
