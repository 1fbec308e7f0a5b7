#!/bin/bash
# Runs all commands of two versions of the program over samples/ and a generated tree, at -j 1, 2 and 8, and
# prints the differences: exit status, standard output, messages, and each file that a command writes.
# usage, as root: scripts/same-outputs.sh OLD NEW [REGEX for the names of cases]
#
# Ends with 0 when there is no difference, otherwise with 1. Each intended difference belongs in CHANGELOG.md.
# The clock of both programs is stopped and the folder is the same, so that times, manifests and paths are
# equal.
set -uo pipefail
[ $# -ge 2 ] || { sed -n '2,5p' "$0" >&2; exit 64; }
old=$(readlink -f "$1") new=$(readlink -f "$2") chosen=${3:-.}
root=$(readlink -f "$(dirname "$0")/..")
base=$(mktemp -d /tmp/same-outputs-XXXXXX)
trap 'rm -rf "$base"' EXIT
export LC_ALL=C TZ=UTC NO_COLOR=1
work=$base/work

cat >"$base/clock.c" <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
static time_t now(void) { const char *s = getenv("STANDING_CLOCK"); return s ? atol(s) : 0; }
int clock_gettime(clockid_t id, struct timespec *t) {
  static int (*real)(clockid_t, struct timespec *);
  if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
  if (id == CLOCK_REALTIME && now()) { t->tv_sec = now(); t->tv_nsec = 0; return 0; }
  return real(id, t);
}
time_t time(time_t *t) { struct timespec s; clock_gettime(CLOCK_REALTIME, &s); if (t) *t = s.tv_sec; return s.tv_sec; }
int gettimeofday(struct timeval *t, void *zone) { struct timespec s; clock_gettime(CLOCK_REALTIME, &s); t->tv_sec = s.tv_sec; t->tv_usec = 0; (void)zone; return 0; }
C
cc -shared -fPIC -O1 -o "$base/clock.so" "$base/clock.c" -ldl || exit 1
# Later than the times of all files, so that no file counts as recently changed.
clock=$(($(date +%s) + 86400))

python3 - "$base/tree" <<'PYTHON'
import os, random, sys
root = sys.argv[1]
chance = random.Random(1)
words = [bytes(chance.choices(b"abcdefghijklmnopqrstuvwxyz", k=chance.randint(2, 9))) for _ in range(400)]
def text(size):
    out = bytearray()
    while len(out) < size:
        out += chance.choice(words) + (b"\n" if chance.random() < 0.1 else b" ")
    return bytes(out[:size])
folders = [b""]
for number in range(25):
    folder = os.path.join(chance.choice(folders), b"d%d" % number)
    folders.append(folder)
    os.makedirs(os.path.join(os.fsencode(root), folder), exist_ok=True)
names = []
def write(name, content):
    path = os.path.join(os.fsencode(root), name)
    with open(path, "wb") as file:
        file.write(content)
    os.utime(path, ns=(10**18 * 17 // 10 + len(names) * 1_000_000_007,) * 2)
    names.append(path)
for number in range(300):
    size = chance.choice([0, 1, 511, 512, 513, chance.randint(2, 5000), chance.randint(5000, 90000)])
    write(os.path.join(chance.choice(folders), b"file%d.txt" % number), text(size))
write(b"noise", chance.randbytes(300_000))
write(b"large text", text(3_000_000) * 7)
write(b"large noise", chance.randbytes(9_000_000))
for name in (b"line\nend", b"back\\slash", b"\xff\xfe", "café".encode(), b" blank ", b"-dash", b"*star"):
    write(name, text(100))
for number in range(12):
    os.link(chance.choice(names), os.path.join(os.fsencode(root), chance.choice(folders), b"hard%d" % number))
    os.symlink(chance.choice([b"nowhere", b"../noise", b"file1.txt"]), os.path.join(os.fsencode(root), chance.choice(folders), b"soft%d" % number))
sparse = os.path.join(os.fsencode(root), b"sparse")
with open(sparse, "wb") as file:
    file.truncate(4 << 20); file.seek(1 << 20); file.write(b"data")
os.utime(sparse, ns=(17 * 10**17,) * 2)
os.mkfifo(os.path.join(os.fsencode(root), b"pipe"))
os.chmod(names[3], 0o600); os.chmod(names[5], 0o755); os.setxattr(names[7], "user.note", b"note")
for folder, _, _ in os.walk(os.fsencode(root), topdown=False):
    os.utime(folder, ns=(17 * 10**17,) * 2)
PYTHON
cp -a "$root/samples" "$base/samples"
find "$base/samples" -exec touch -h -d @1700000000 {} +
cp -a "$base/tree" "$base/changed"
echo more >>"$base/changed/file1.txt" 2>/dev/null || echo more >"$base/changed/more"
mv "$base/changed/noise" "$base/changed/renamed"
rm "$base/changed/*star"
cp -a "$base/tree" "$base/later"
sleep 3

# Damaged archives and streams, which the old program makes for both.
"$old" archive -q -C "$base" -o "$base/a.tar.zst" tree && "$old" archive -q -C "$base" -o "$base/a.tar.gz" tree &&
  "$old" archive -q -C "$base" -o "$base/a.tar" tree && "$old" archive -q -C "$base/samples" -o "$base/s.zip" . || exit 1
"$old" hash -q -o "$base/tree.sha256" "$base/tree" || exit 1
for name in a.tar.zst a.tar.gz a.tar s.zip; do
  python3 - "$base/$name" "$base/bad-$name" <<'PYTHON'
import sys
content = bytearray(open(sys.argv[1], "rb").read())
content[len(content) // 3] ^= 0x10
open(sys.argv[2], "wb").write(content)
PYTHON
done

# Each case is a name and a script; $BP is the program with the number of operations, $B the folder of the
# trees.
cases() {
  for form in gnu bsd mtree json; do echo "hash-$form|\$BP hash -q --format $form \$B/tree"; done
  for algorithm in sha512 md5 blake2b blake3 sha3-256 xxh128 crc32; do echo "hash-$algorithm|\$BP hash -q -a $algorithm \$B/tree \$B/samples"; done
  cat <<'CASES'
hash-several|$BP hash -q --tag -a md5 -a sha256 -a xxh3 $B/tree
hash-output|$BP hash -o out.sha256 $B/tree
hash-json|$BP hash --json $B/tree
hash-missing|$BP hash -q $B/tree nowhere
hash-none|$BP hash -q nowhere
hash-excluded|$BP hash -q --exclude '*.txt' --max-size 1M $B/tree
hash-stdin|$BP hash -q - <$B/tree/noise
hash-cache|XDG_CACHE_HOME=$PWD/cache; export XDG_CACHE_HOME; $BP hash -q --cache $B/tree; $BP hash -q --cache $B/tree
check|$BP check $B/tree.sha256
check-json|$BP check --json $B/tree.sha256
check-changed|sed "s,$B/tree,$B/changed," $B/tree.sha256 | $BP check -q -
audit|cd $B/tree && $BP hash -q . | $BP audit -q - $B/changed
audit-json|cd $B/tree && $BP hash -q . | $BP audit --json - $B/changed
compress-output-dir|$BP compress --output-dir out $B/tree
compress-remove|cp -a $B/tree t && $BP compress -q --remove-source t
compress-json|cp -a $B/samples t && $BP compress --json t
compress-dry|$BP compress -n $B/samples
compress-twice|cp -a $B/samples t && $BP compress -q t; $BP compress t
compress-stdin|$BP compress -c <"$B/tree/large text"
compress-cat|$BP compress -q -c $B/samples
decompress|cp -a $B/tree t && $BP compress -q --remove-source t; $BP decompress --remove-source t
decompress-kept|cp -a $B/samples t && $BP compress -q t; $BP decompress t
decompress-force|cp -a $B/samples t && $BP compress -q t; $BP decompress -q --force t
decompress-bad|cp $B/bad-a.tar.gz $B/bad-a.tar.zst . && $BP decompress bad-a.tar.gz bad-a.tar.zst
cat|cp $B/a.tar.gz . && $BP cat a.tar.gz
test|$BP test $B/a.tar.gz $B/a.tar.zst $B/bad-a.tar.gz $B/bad-a.tar.zst
test-json|$BP test --json $B/a.tar.gz $B/bad-a.tar.gz
archive-json|$BP archive --json -C $B -o a.tar.zst tree
archive-reproducible|$BP archive -q --reproducible -C $B -o a.tar.zst tree
archive-verify|$BP archive --verify -C $B -o a.tar.zst tree
archive-stdout|$BP archive -q --format tar.gz -C $B -o - tree
archive-names|$BP archive -q --transform 's/tree/wood/' --owner nobody --mode go-w -C $B -o a.tar tree
archive-stride|$BP archive -q --stride 7 -C $B -o a.tar.zst tree
archive-dry|$BP archive -n -C $B -o a.tar tree
archive-exists|touch a.tar; $BP archive -C $B -o a.tar tree
archive-missing|$BP archive -C $B -o a.tar tree nowhere
list-zip|$BP list $B/s.zip
list-no-index|$BP list --no-index $B/a.tar.gz
list-bad|$BP list $B/bad-a.tar
extract|$BP extract -C out $B/a.tar.zst
extract-stdin|$BP extract -q -C out - <$B/a.tar.gz
extract-members|$BP extract -C out $B/a.tar.zst 'tree/d1/*' tree/noise
extract-missing|$BP extract -C out $B/a.tar.zst nothing
extract-again|$BP extract -q -C out $B/a.tar.zst; $BP extract -C out $B/a.tar.zst
extract-dry|$BP extract -n -C out $B/a.tar.zst
extract-printed|$BP extract -q -O $B/a.tar.gz tree/noise
extract-bad-tar|$BP extract -C out $B/bad-a.tar
extract-bad-zst|$BP extract -C out $B/bad-a.tar.zst
extract-bad-zst-going|$BP extract --keep-going -C out $B/bad-a.tar.zst
extract-bad-gz-going|$BP extract --keep-going -C out $B/bad-a.tar.gz
extract-bad-zip|$BP extract --keep-going -C out $B/bad-s.zip
extract-json|$BP extract --json -C out $B/s.zip
verify|$BP verify $B/a.tar.zst; $BP verify $B/a.tar.gz; $BP verify $B/s.zip
verify-bad|$BP verify $B/bad-a.tar.zst; $BP verify $B/bad-a.tar.gz; $BP verify $B/bad-a.tar; $BP verify $B/bad-s.zip
verify-json|$BP verify --json $B/bad-a.tar.zst
verify-against|$BP verify --against $B/later -q $B/a.tar.zst
backup|mkdir set s; cp -a $B/tree s/t; touch -d @1700000000 s/t s; $BP backup --to set s; rm s/t/noise; echo new >s/t/new; touch -d @1700000001 s/t/new s/t; STANDING_CLOCK=$((STANDING_CLOCK+60)) $BP backup --to set s; $BP snapshots set | sed 's/[0-9]* B  verified//'; $BP snapshots --digests set | md5sum; for a in set/*.tar.zst; do zstd -dcq $a | tar -tvf - | md5sum; done; STANDING_CLOCK=$((STANDING_CLOCK+99)) $BP prune --keep-last 1 set; rm -r s set
backup-restore|mkdir set; $BP backup -q --to set $B/tree; $BP restore -C out set; $BP drill --all set
backup-dry|mkdir set; $BP backup -n --to set $B/samples
backup-json|mkdir set; $BP backup --json --to set $B/samples; $BP snapshots --json set
backup-missing|mkdir set; $BP backup --to set nowhere
schedule-cron|$BP schedule --cron --to /bk /srv
schedule-systemd|$BP schedule --systemd --to /bk /srv
config|$BP config hash | grep -v max-concurrency
wrong-option|$BP hash --nonsense; $BP hash -j x; $BP nonsense; $BP hash --max-size 3Q
CASES
  for form in tar tar.zst tar.gz tar.xz tar.lz4 tar.bz2; do
    echo "archive-$form|\$BP archive -q -C \$B -o a.$form tree; \$BP list -l a.$form; \$BP list --json a.$form"
  done
  for form in cpio zip 7z; do echo "archive-$form|\$BP archive -C \$B/samples -o a.$form .; \$BP list -l a.$form; \$BP extract -q -C out a.$form"; done
  for form in gz zst xz lz4; do echo "compress-$form|\$BP compress -q --format $form --output-dir out \$B/tree"; done
  "$new" --help | sed -n '/^SUBCOMMANDS/,/^$/s/^  \([a-z]*\) .*/\1/p' | while read -r command; do echo "help-$command|\$BP $command --help"; done
}

# Durations, rates, process sizes and names of temporary files differ between runs.
plain() {
  sed -E -e 's/[0-9.,]+ ?(ns|µs|ms|s|min|h)\b/TIME/g' -e 's,[0-9.,]+ ?([KMGT]i?)?B/s,RATE,g' -e 's,[0-9.,]+ (files|members)/s,RATE,g' \
    -e 's, \(RATE\),,g' -e 's/"(seconds|wall|rate|cpu|user|system|elapsed|bytes_per_second|files_per_second|peak[a-z_]*|concurrency[a-z_]*|duration)":("?)[0-9.]+/"\1":\2N/g' \
    -e 's/\.batchproc-[A-Za-z0-9._-]+/TEMPORARY/g' -e 's/-j [128]\b/-j N/g' -e 's/"max-concurrency","[128]"/"max-concurrency","N"/g' "$1"
}

run() { # program, number, script, folder for what is found
  # This state contains the sets that the machine has used.
  rm -rf "$work" "$4" "$base/state"
  mkdir -p "$work" "$4"
  cat >"$base/program" <<PROGRAM
#!/bin/sh
LD_PRELOAD=$base/clock.so BATCHPROC_MAX_CONCURRENCY=$2 exec "$1" "\$@"
PROGRAM
  chmod +x "$base/program"
  (cd "$work" && XDG_STATE_HOME=$base/state STANDING_CLOCK=$clock B=$base BP=$base/program bash -c "$3" >"$4/stdout" 2>"$4/stderr.raw" </dev/null)
  echo "$?" >"$4/status"
  plain "$4/stderr.raw" >"$4/stderr"
  plain "$4/stdout" >"$4/stdout.plain" && mv "$4/stdout.plain" "$4/stdout"
  # The id of a set is random, a cache contains inodes, and a lock contains the process number.
  (cd "$work" && rm -rf cache && find . \( -name '.*.lock' -o -name '.*.id' \) -delete && find . -mindepth 1 \( -type f -printf '%y %m %s %T@ %n %p\0' -o -printf '%y %m %l %p\0' \) |
    sort -z | tr '\0\n' '\n?' | grep -v ' \./t$' >"$4/tree")
  (cd "$work" && find . -type f -print0 | sort -z | xargs -0r sha256sum) >"$4/sums"
  # Files whose time no option sets have the time of the run.
  sed -i -E 's/^(f [0-9]+ [0-9]+) '"$(date +%s | cut -c1-6)"'[0-9]*\.[0-9]+/\1 NOW/; s/^(d [0-9]+).*( \.)/\1\2/' "$4/tree"
  rm -f "$4/stderr.raw"
}

differences=0 count=0
while IFS='|' read -r name script; do
  [[ $name =~ $chosen ]] || continue
  for number in 1 2 8; do
    count=$((count + 1))
    run "$old" $number "$script" "$base/found-old"
    run "$new" $number "$script" "$base/found-new"
    if ! diff -r "$base/found-old" "$base/found-new" >"$base/difference" 2>&1; then
      differences=$((differences + 1))
      printf '== %s -j %s\n' "$name" "$number"
      head -c 3000 "$base/difference" | tr -c '\n\t -~' '?' | cut -c1-300 | head -40
    fi
    # Only the new program must give the same output at each number.
    if [ $number = 1 ]; then
      rm -rf "$base/first"
      cp -r "$base/found-new" "$base/first"
    elif ! diff -r "$base/first" "$base/found-new" >"$base/difference" 2>&1; then
      differences=$((differences + 1))
      printf '== %s: the new program at -j 1 and -j %s\n' "$name" "$number"
      head -c 3000 "$base/difference" | tr -c '\n\t -~' '?' | cut -c1-300 | head -40
    fi
  done
done < <(cases)
echo "$count comparisons, $differences differ"
[ $count -gt 0 ] && [ $differences = 0 ]
