#!/bin/sh
# nightly-archive.sh TREE DIR
#
# Archives TREE into DIR/NAME-YYYY-MM-DD.tar.zst and reads it back to verify it. It says nothing when all went
# well. Otherwise it prints what failed, about which file, with which status, and what to do: cron mails that,
# and systemd keeps it in the journal. The status is that of batchproc (see docs/scripting.md), or 11 when
# another run is at work.
#
# The dated name holds a complete archive or none: batchproc renames it into place when it is whole and what was
# read back is what was archived. A second run on the same day then replaces the first one's archive. DIR should
# not lie in TREE. BATCHPROC may name another binary.
set -u
me=${0##*/}
batchproc=${BATCHPROC:-batchproc}

if [ $# -ne 2 ] || [ -z "${1%/}" ] || [ -z "$2" ]; then
  echo "usage: $me TREE DIR" >&2
  exit 64
fi
tree=${1%/}
dir=$2
name=${tree##*/}
case $tree in
  */*) parent=${tree%/*}/ ;;
  *) parent=. ;;
esac
archive=$dir/$name-$(date +%Y-%m-%d).tar.zst

# fail STATUS WHAT REMEDY [REPORT]: the mail, and the end.
fail() {
  if [ -e "$archive" ]; then state='is there'; else state='is not there'; fi
  {
    echo "$me: $2"
    echo "  tree:    $tree on $(uname -n)"
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
lock=$dir/.nightly-archive.lock
(: >>"$lock") 2>/dev/null || fail 5 "cannot write to $dir" 'see its permissions and free space; nothing was archived'
exec 9>>"$lock"
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
