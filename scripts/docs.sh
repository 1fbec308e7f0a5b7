#!/bin/bash
# Generates the documentation of the libraries. Ends with 1 when there is a warning, for example about a link
# to a missing symbol or a parameter without a description.
# usage: scripts/docs.sh OUT      an archive for each library below OUT
set -euo pipefail
cd "$(dirname "$0")/.."

out=$1
modules=$(swift build --show-bin-path)/Modules
graphs=$(mktemp -d)
trap 'rm -rf "$graphs"' EXIT
tool() { local compiler; compiler=$(dirname "$(realpath "$(command -v swift)")"); "$compiler/$1" "${@:2}"; }

includes=()
for folder in Sources/C*/; do includes+=(-I "$folder"); done
for map in "$(dirname "$modules")"/C*.build/module.modulemap; do includes+=(-Xcc -fmodule-map-file="$map"); done
for library in BatchEngine BatchOutputs BatchCore; do
  mkdir -p "$graphs/$library" "$out"
  tool swift-symbolgraph-extract -module-name "$library" -I "$modules" "${includes[@]}" -target "$(uname -m)-unknown-linux-gnu" \
    -minimum-access-level public -skip-synthesized-members -output-dir "$graphs/$library"
  tool docc convert "Sources/$library/$library.docc" --additional-symbol-graph-dir "$graphs/$library" \
    --fallback-display-name "$library" --fallback-bundle-identifier "batchproc.$library" \
    --warnings-as-errors --output-path "$out/$library.doccarchive"
done
