#!/bin/bash
# Fills samples/odd with valid names and kinds of files that git cannot store, or not reliably.
set -euo pipefail
cd "$(dirname "$0")"
rm -rf odd
mkdir odd
cd odd

# Names are any bytes but '/' and NUL.
put() { printf 'the content of %q\n' "$1" >./"$1"; }
put $'new\nline'
put $'carriage\rreturn'
put 'back\slash'
put 'back\nslash and n'
put $'not-utf8-\xff'
put $'escape-\e[1mbold\e[0m'
put '-rf'
put '--help'
put ' '
put '   '
put ' blank at both ends '
put $'tab\there'
put '*'
# shellcheck disable=SC2016
put '$(echo run)'
put '%s%n%@'
put '..not-a-parent'
put $'caf\xc3\xa9'   # é as one code point
put $'cafe\xcc\x81'  # e and a combining accent: a different name that looks the same
put "$(printf 'x%.0s' {1..255})"

# Kinds that must be skipped; reading the first one would wait forever.
mkfifo fifo
perl -MSocket -e 'socket(S, PF_UNIX, SOCK_STREAM, 0) && bind(S, sockaddr_un("socket")) or die "socket: $!\n"'
ln -s nowhere dangling-link
ln -s link-loop link-loop
ln -s . link-to-self

# Kinds that must be read: two names of one file, and a file of 16 MiB that is a hole except for its end.
echo 'one file, two names' >hard-link-1
ln hard-link-1 hard-link-2
truncate -s 16M sparse
echo 'after the hole' >>sparse
