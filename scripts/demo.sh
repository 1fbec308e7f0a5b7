#!/bin/bash
# Shows the program on samples/ in about 30 lines, and checks its files with stock tools.
set -euo pipefail
cd "$(dirname "$0")/.."
batchproc=$PWD/${1:-.build/release/batchproc}
work=$PWD/.build/demo
rm -rf "$work"
mkdir -p "$work"
samples/make-odd-names.sh
samples/make-log.sh
cp -r samples/notes samples/logs "$work"
cd "$work"
batchproc() { "$batchproc" "$@" 2>&1; }
run() { echo "\$ $*"; eval "$*"; }

run "batchproc hash -o SHA256SUMS notes logs"
run "batchproc check SHA256SUMS | tail -n 2"
run "sha256sum --check --quiet SHA256SUMS && echo 'sha256sum: all lines match'"
run "batchproc compress logs"
run "batchproc test logs"
run "gunzip -c logs/access.log.gz | cmp - logs/access.log && echo 'gunzip: same content'"
run "batchproc archive --verify -o notes.tar.zst notes logs"
run "batchproc list -l notes.tar.zst | head -n 3"
run "mkdir one && batchproc extract -C one notes.tar.zst notes/reading-a-tree.txt"
run "batchproc verify notes.tar.zst | tail -n 1"
run "batchproc tune --seconds 1 --max 2 notes | tail -n 1"
run "batchproc doctor | head -n 2"
run "tar --zstd -tf notes.tar.zst | tail -n 1"
