#!/bin/sh
# nightly-archive.sh [--allow-empty] TREE DIR
#
# Archives TREE into DIR/NAME-YYYY-MM-DD.tar.zst and reads it back to verify it. TREE is resolved first: a link, a
# trailing slash and "." stand for the folder that they lead to, and NAME is the name of that. It says nothing when all went
# well. Otherwise it prints what failed, about which file, with which status, and what to do: cron mails that,
# and systemd keeps it in the journal. The status is that of batchproc (see docs/scripting.md), or 11 when
# another run is at work.
#
# The dated name holds a complete archive or none: batchproc renames it into place when it is whole and what was
# read back is what was archived. A second run on the same day then replaces the first one's archive. So that this
# never replaces it by nothing, a TREE that is empty, or that /etc/fstab mounts and that is not mounted, is refused,
# unless --allow-empty is given. Archives can be read by nobody else. DIR should not lie in TREE, and nobody else
# should be allowed to write to it. BATCHPROC may name another binary.
set -u
umask 077
me=${0##*/}
batchproc=${BATCHPROC:-batchproc}

allow_empty=no
if [ "${1-}" = --allow-empty ]; then
  allow_empty=yes
  shift
fi
tree=$(cd -P -- "${1:-/}" 2>/dev/null && pwd -P)
if [ $# -ne 2 ] || [ "$tree" = / ] || [ -z "$2" ]; then
  echo "usage: $me [--allow-empty] TREE DIR" >&2
  exit 64
fi
given=$1
dir=$2
name=${tree:-$given}
name=${name##*/}
parent=${tree%/*}/
archive=$dir/$name-$(date +%Y-%m-%d).tar.zst

# fail STATUS WHAT REMEDY [REPORT]: the mail, and the end.
fail() {
  if [ -e "$archive" ]; then state='is there'; else state='is not there'; fi
  {
    echo "$me: $2"
    echo "  tree:    ${tree:-$given} on $(uname -n)"
    echo "  archive: $archive ($state)"
    echo "  status:  $1"
    echo "  to do:   $3"
    if [ -n "${4-}" ]; then
      echo
      printf '%s\n' "$4" | head -n 50
    fi
  } >&2
  exit "$1"
}

command -v "$batchproc" >/dev/null || fail 127 "there is no $batchproc in $PATH" 'install it, or set PATH in the crontab'
[ -d "$dir" ] || fail 5 "there is no folder $dir" 'make it, or mount what it is on; nothing was archived'

[ -n "$tree" ] || fail 1 "there is no folder $given, or it cannot be entered" 'mount what it is on, or name another one; nothing was archived'
if [ $allow_empty = no ]; then
  place=$tree
  while [ -n "$place" ]; do
    if findmnt -s -n -M "$place" >/dev/null 2>&1 && ! mountpoint -q "$place"; then
      fail 1 "$place is not mounted" "mount it; nothing was archived, and no archive was replaced"
    fi
    place=${place%/*}
  done
  # What a new file system has counts as nothing.
  [ -n "$(find "$tree" -mindepth 1 ! -name lost+found -print -quit)" ] ||
    fail 1 'the tree is empty' 'see whether it is mounted, or give --allow-empty; nothing was archived, and no archive was replaced'
fi

# The lock is a file that only this user may open, so that nobody else can hold it. Noclobber makes it without
# following a link; what is there already is looked at before it is opened, and again when it is open.
lock=$dir/.nightly-archive.lock
if [ ! -e "$lock" ] && [ ! -L "$lock" ]; then
  (set -C; : >"$lock") 2>/dev/null || fail 5 "cannot write to $dir" 'see its permissions and free space; nothing was archived'
fi
is_own=no
if [ -f "$lock" ] && [ ! -L "$lock" ] && [ -O "$lock" ] && (: >>"$lock") 2>/dev/null; then
  exec 9>>"$lock"
  [ "$(stat -L -c %d:%i /dev/fd/9)" != "$(stat -c %d:%i -- "$lock")" ] || is_own=yes
fi
[ $is_own = yes ] || fail 5 "$lock is not a file of this user" 'see who put it there, and remove it; nothing was archived'
chmod 600 /dev/fd/9
flock -n 9 || fail 11 'another run is at work' "wait for it, or end it: fuser -v $lock"

report=$("$batchproc" archive -q --verify --force --qos background -o "$archive" -C "$parent" -- "$name" 2>&1)
made=$?
case $made in
  0 | 3) ;;
  1) fail 1 'nothing was archived' 'see below; when the tree is there and can be read, run this again' "$report" ;;
  5)
    case $report in
      *'what was read back'*) fail 5 'what was read back is not what was archived' "check the disk and the memory of this machine, then run this again; older archives are as they were" "$report" ;;
    esac
    fail 5 'the archive could not be written' "free some space in $dir and run this again; older archives are as they were" "$report" ;;
  *) fail "$made" 'archiving was stopped' 'see below, and run this again' "$report" ;;
esac

[ $made -eq 0 ] || fail $made 'some files are not in the archive; all others are, and were verified' 'see below which; let this user read them, or leave them out with --exclude in this script' "$report"
