#!/bin/sh
# Prints a line for each entry below a directory, sorted by name: kind, mode, size of a file, time to the
# nanosecond, number of names of the inode, name, target of a link. A line end in a name is printed as a
# question mark.
export LC_ALL=C
cd "$1" || exit
find . -mindepth 1 \( -type f -printf '%y %m %s %T@ %n %p\0' -o -type l -printf '%y - - %T@ - %p -> %l\0' -o -printf '%y %m - %T@ - %p\0' \) |
  sort -z | tr '\n\0' '?\n'
