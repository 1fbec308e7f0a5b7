#!/bin/bash
# Writes files in each form of a released version, for tests that read them with later versions.
# usage, as root: Tests/Golden/make.sh PROGRAM DIRECTORY      DIRECTORY must not exist; its name is the version.
#
# All times in the tree are fixed, so that the tests can compare them. The archives contain the files of
# `tree`. For each archive and each snapshot, two listings are stored: the entries as list.sh prints them, and
# the SHA-256 sums.
set -euo pipefail
listing=$(readlink -f "$(dirname "$0")/list.sh")
program=$(readlink -f "$1")
mkdir "$2"
out=$(readlink -f "$2")
# The manifests of snapshots contain absolute paths, so the folder must always be the same.
place=/tmp/batchproc-golden
rm -rf "$place"
mkdir "$place"
cd "$place"
export LC_ALL=C TZ=UTC XDG_CACHE_HOME=$place/cache XDG_STATE_HOME=$place/state XDG_CONFIG_HOME=$place/config

sums() { (cd "$1" && find . -type f -print0 | sort -z | xargs -0 sha256sum); }

mkdir -p tree/a/b tree/private tree/lines
echo one >tree/a/one
ln tree/a/one tree/lines/second-name
echo two >tree/a/b/two
: >tree/a/b/empty
printf 'a name of bytes\n' >$'tree/a/\xff\xfe byte'
printf 'a name with a line end\n' >$'tree/a/two\nlines'
ln -s ../a/one tree/lines/symbolic
ln -s nowhere tree/lines/dangling
mkfifo tree/lines/pipe
chmod 700 tree/private
printf '#!/bin/sh\nexit 0\n' >tree/private/program
chmod 750 tree/private/program
printf head >tree/a/sparse
truncate -s 1M tree/a/sparse
printf tail >>tree/a/sparse
for number in $(seq 40); do seq "$number" $((number * 40)) >"tree/lines/$number"; done
head -c 20000 /dev/zero | openssl enc -aes-128-ctr -K 00 -iv 00 2>/dev/null >tree/a/noise
setfattr -n user.note -v 'an attribute' tree/a/one
fix_times() { find "$1" -depth -print0 | xargs -0 touch -h -d '2026-01-02 03:04:05.123456789'; }
fix_times tree

# zip, 7z and cpio cannot store such names and FIFOs in all cases.
mkdir plain
cp -a tree/lines plain/
cp -a tree/private plain/
rm plain/lines/pipe plain/lines/dangling
fix_times plain

"$listing" tree >"$out/tree.list"
sums tree >"$out/tree.sha256"
"$listing" plain >"$out/plain.list"
sums plain >"$out/plain.sha256"

for format in tar tar.zst tar.gz tar.xz tar.lz4 tar.bz2; do
  "$program" archive -q --stride 8 -C tree -o "$out/tree.$format" .
done
for format in cpio zip 7z; do
  "$program" archive -q -C plain -o "$out/plain.$format" .
done

for format in gnu bsd mtree json; do
  (cd tree && "$program" hash -q --format $format -o "$out/tree.$format" .)
done
# This form cannot store a name with a line end.
(cd plain && "$program" hash -q --format hashdeep -o "$out/plain.hashdeep" .)
(cd tree && "$program" hash -q -z -o "$out/tree.zero" . && "$program" hash -q --tag -a blake3 -a xxh128 -a sha512 -o "$out/tree.several" .)

# Large enough for several blocks in each format.
seq 100000000 100000400 >text
for _ in $(seq 5000); do cat text; done >large
touch -d '2026-01-02 03:04:05' large
sha256sum large >"$out/large.sha256"
for format in gz zst xz lz4; do
  "$program" compress -q --format $format --output-dir "$out" large
done

# A full snapshot and two increments. A file that changed within two seconds before a backup is archived again
# by the next one.
cp -a tree source
rm -r source/private source/lines/pipe
fix_times source
snapshot() {
  sleep 3
  "$program" backup -q --to "$out/set" --name golden source
  id=$("$program" snapshots --json "$out/set" | python3 -c '
import json, sys
print([row["id"] for row in map(json.loads, sys.stdin) if "id" in row][-1])')
  "$listing" source >"$out/snapshot-$1.list"
  sums source >"$out/snapshot-$1.sha256"
  echo "$id" >"$out/snapshot-$1.id"
}
snapshot 1
echo more >>source/lines/7
rm source/lines/8
mv source/a/b source/a/c
touch -d '2026-01-03 03:04:05' source/lines/7 source/lines source/a
snapshot 2
echo new >source/lines/new
ln source/lines/new source/lines/newer
chmod 600 source/lines/9
touch -d '2026-01-04 03:04:05' source/lines/new source/lines
snapshot 3
rm -f "$out"/set/.*.lock

(cd tree && sleep 3 && "$program" hash -q --cache a >/dev/null)
cp cache/batchproc/digests.sqlite "$out/digests.sqlite"

# An archive that is encrypted, with the key to it, and recovery data of an archive.
"$program" keygen -o "$out/key" >recipient
"$program" archive -q --encrypt-to-file recipient -C tree -o "$out/tree.tar.zst.age" .
"$program" parity create -q --parity 100% "$out/tree.tar.zst"

# A plan and the results of its shards.
(cd tree && "$program" plan -q --shards 2 --out "$out/plan" -- hash .)
for shard in 0 1; do "$program" hash -q --plan "$out/plan" --shard $shard; done

cat >"$out/config" <<'CONFIG'
# Options for each command that has them.
exclude = *.tmp
max-concurrency = 2

[compress]
format = zst
level = 5

[profile nightly]
command = backup
operand = source
to = set
name = golden
keep-daily = 14
quiet
CONFIG

rm -rf "$place"
