#!/bin/sh
# Prints the flags that link the C libraries statically into the program, which then starts in a third of the
# time and runs without them. Prints nothing if a library has no static form; then the shared libraries are
# linked.
# usage: scripts/static-libraries.sh FOLDER      makes links to the libraries in FOLDER
set -eu

folder=$1
# The dependencies of libarchive (nettle, bz2) are named, since a static library does not contain its
# dependencies.
libraries="archive nettle bz2 z zstd lzma lz4 deflate crypto sqlite3 xxhash blake3 stdc++"

rm -rf "$folder"
mkdir -p "$folder"
for library in $libraries; do
  found=
  for place in /usr/lib/gcc/"$(uname -m)"-linux-gnu/* /usr/lib/"$(uname -m)"-linux-gnu /usr/lib64 /usr/lib /usr/local/lib; do
    [ -e "$place/lib$library.a" ] || continue
    found=$place/lib$library.a
    break
  done
  [ -n "$found" ] || exit 0
  ln -s "$found" "$folder/"
done
# On other systems libarchive has other dependencies, which are not known here.
[ -e /etc/debian_version ] || exit 0
echo "-Xlinker -L$folder -Xlinker -lnettle -Xlinker -lbz2"
