#!/usr/bin/env bash
# usage: scripts/fault-campaign.sh BINARY [ID...]
#
# Runs all rows of faults.tsv, or the given ones, and prints a line for each: its id, the exit status of its
# command, pass, fail or skipped, and the reason. Ends with 1 when a row failed. Run it as root, since mounts,
# devices and other users need it.
#
# Each row runs in a separate folder with a small tree t, and in separate mount and process namespaces, so
# that its mounts and processes end with it. Columns of faults.tsv: id, group, fault, needs, command,
# expectation. Command and expectation are bash. The expectation gets the command's exit status in $status and
# its output in the files out and err; the row fails when the expectation ends with a status other than 0.
# Needs is empty, or consists of words: root, mount, seconds=N (the time limit, 60 by default), or
# skip=REASON.
set -uo pipefail
export LC_ALL=C.UTF-8

here=$(cd "$(dirname "$0")" && pwd)
if [ $# -lt 1 ] || [ ! -x "$1" ]; then
  echo "usage: $0 BINARY [ID...]" >&2
  exit 64
fi
work=$(mktemp -d "${TMPDIR:-/tmp}/batchproc-faults-XXXXXX")
chmod 755 "$work"
remove() {
  chattr -R -i "$1" 2>/dev/null
  rm -rf "$1" 2>/dev/null || { chmod -R u+rwx "$1"; rm -rf "$1"; }
}
trap 'remove "$work"' EXIT
trap 'exit 130' INT TERM
# Other users run the program as well.
install -m 755 "$1" "$work/batchproc"
export BP=$work/batchproc
export XDG_STATE_HOME=$work/state
shift

is_root=no
[ "$(id -u)" -ne 0 ] || is_root=yes
isolated=()
if unshare -m -p -f --kill-child --mount-proc true 2>/dev/null; then
  isolated=(unshare -m -p -f --kill-child --mount-proc)
fi

# Functions for commands and expectations.
cat >"$work/words" <<'WORDS'
count() { find "$@" -type f -printf x | wc -c; }
# Hashes t, and verifies the manifest with check and with sha256sum.
manifest() { $BP hash -q t >m && [ "$(tr -cd '\n' <m | wc -c)" = "$(count t)" ] && $BP check -q m && sha256sum --quiet -c m; }
# Archives t, compares the archive with t by stock tar, and extracts it into o.
archived() { $BP archive -q -o o.tar t && tar -df o.tar && mkdir -p o && $BP extract -q -C o o.tar && diff -r --no-dereference t o/t; }
# same TREE [SET]: the newest snapshot of the set (s by default) equals the tree, which was backed up as t.
same() { rm -rf r; $BP restore -q --no-fsync -C r "${2:-s}" && diff -r --no-dereference "$1" "r$PWD/t"; }
# flip FILE OFFSET: changes a byte of a file, and restores its time.
flip() { python3 -c 'import os,sys;p,o=sys.argv[1],int(sys.argv[2]);b=os.stat(p);f=open(p,"r+b");f.seek(o);c=f.read(1);f.seek(o);f.write(bytes([c[0]^4]));f.close();os.utime(p,ns=(b.st_atime_ns,b.st_mtime_ns))' "$1" "$2"; }
# Lets system calls fail or wait, by strace -e inject.
inject() { local calls=$1 what=$2; shift 2; strace -qq -f --seccomp-bpf -o trace -e "trace=$calls" -e "inject=$calls:$what" "$@"; }
# Waits until one of these calls has ended.
under_way() { until grep -q ' = ' trace 2>/dev/null; do :; done; }
fail() { printf '%s\n' "$*" >&3; exit 1; }
# exits CODE...: the command ended with one of these codes.
exits() { local code; for code; do [ "$status" -ne "$code" ] || return 0; done; fail "exit $status, expected $*: $(head -c 200 err | tr '\n' ' ')"; }
says() { grep -qF -- "$1" err || fail "no message '$1': $(head -c 200 err | tr '\n' ' ')"; }
prints() { grep -qF -- "$1" out || fail "no output '$1': $(head -c 200 out | tr '\n' ' ')"; }
never() { ! grep -qE -- "$1" out || fail "printed $(grep -m 1 -E -- "$1" out | head -c 200)"; }
# expect WHAT COMMAND...
expect() { local what=$1; shift; "$@" >/dev/null 2>&1 || fail "$what"; }
there() { local name; for name; do [ -e "$name" ] || [ -L "$name" ] || fail "$name is not there"; done; }
absent() { local name; for name; do ! { [ -e "$name" ] || [ -L "$name" ]; } || fail "$name is there"; done; }
clean() { [ -z "$(find . -name '.batchproc-*' 2>/dev/null)" ] || fail "left $(find . -name '.batchproc-*' | head -1)"; }
WORDS

tree() {
  mkdir -p t/d
  echo 'a small text' >t/text
  : >t/empty
  echo 1 >t/d/one
  echo 2 >t/d/two
  seq 150000 >t/numbers
  head -c 2500000 /dev/urandom >t/big
}

passed=0 failed=0 skipped=0
row() {
  local id=$1 fault=$2 needs=$3 command=$4 expectation=$5 limit=60 word why status
  for word in $needs; do
    case $word in
      skip=*) printf '%s\t-\tskipped\t%s\n' "$id" "${needs#*skip=}"; skipped=$((skipped + 1)); return ;;
      seconds=*) limit=${word#*=} ;;
      root | mount)
        if [ $is_root = no ] || { [ "$word" = mount ] && [ ${#isolated[@]} -eq 0 ]; }; then
          printf '%s\t-\tskipped\tneeds root\n' "$id"; skipped=$((skipped + 1)); return
        fi ;;
    esac
  done
  mkdir "$work/$id"
  cd "$work/$id" || exit 1
  tree
  # The shell reports killed processes on stderr.
  { timeout -k 5 "$limit" "${isolated[@]}" bash -c ". $work/words; $command" >out 2>err 3>/dev/null </dev/null; } 2>/dev/null
  status=$?
  if why=$(status=$status timeout -k 5 "$limit" bash -c ". $work/words; $expectation" 3>&1 >/dev/null 2>&1 </dev/null); then
    printf '%s\t%s\tpass\t%s\n' "$id" $status "$fault"
    passed=$((passed + 1))
  else
    [ $status -ne 124 ] && [ $status -ne 137 ] || why="ended by the limit of $limit s; $why"
    printf '%s\t%s\tfail\t%s: %s\n' "$id" $status "$fault" "${why:-the expectation does not hold}"
    failed=$((failed + 1))
  fi
  cd "$work" || exit 1
  remove "$work/$id"
}

while IFS=$'\x1f' read -r id _ fault needs command expectation; do
  case $id in '#'* | id | '') continue ;; esac
  if [ $# -gt 0 ]; then
    case " $* " in *" $id "*) ;; *) continue ;; esac
  fi
  row "$id" "$fault" "$needs" "$command" "$expectation" </dev/null
done < <(tr '\t' '\037' <"$here/faults.tsv")
printf '%s passed, %s failed, %s skipped\n' $passed $failed $skipped >&2
[ $failed -eq 0 ]
