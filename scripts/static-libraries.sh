#!/bin/sh
# Prints the flags that link the C libraries into the program, which starts in a third of the time and runs where
# they are absent. Prints nothing where a library has no static form: then the shared ones are linked.
# usage: scripts/static-libraries.sh FOLDER      FOLDER is filled with links to the libraries
set -eu

folder=$1
# What libarchive itself needs (nettle, bz2) is named on the command line: a static library does not bring it along.
libraries="archive nettle bz2 z zstd lzma lz4 deflate crypto sqlite3 xxhash blake3"

rm -rf "$folder"
mkdir -p "$folder"
for library in $libraries; do
  found=
  for place in /usr/lib/"$(uname -m)"-linux-gnu /usr/lib64 /usr/lib /usr/local/lib; do
    [ -e "$place/lib$library.a" ] || continue
    found=$place/lib$library.a
    break
  done
  [ -n "$found" ] || exit 0
  ln -s "$found" "$folder/"
done
# Other systems build libarchive with other parts, which are not known here.
[ -e /etc/debian_version ] || exit 0
echo "-Xlinker -L$folder -Xlinker -lnettle -Xlinker -lbz2"
