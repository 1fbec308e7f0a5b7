#!/bin/sh
# Restores a snapshot of a backup set without batchproc: by jq, zstd, GNU tar, coreutils, findutils and awk; by age if it is encrypted, and
# by Python 3 if it has files of which only changed blocks were stored.
#
# usage: [AGE_IDENTITY=FILE] restore-by-hand.sh SET ID DIR
#
#   SET   a folder with one set, or the beginning of the files of a set: /mnt/backups/home for /mnt/backups/home-20261120T020000Z.tar.zst
#   ID    the snapshot: 20261120T020000Z
#   DIR   a folder, new or empty
#
# Status: 0: everything is restored, and each file has the SHA-256 of the manifest; 1: nothing is restored; 5: something is missing or
# damaged; 64: wrong usage. Only root can make devices.
#
# docs/formats.md describes the files. In the work folder each name is on a line of its own, with escapes for `printf %b`.
set -eu
umask 077
export LC_ALL=C
tab=$(printf '\t')

fail() {
  status=$1
  shift
  echo "restore-by-hand.sh: $*" >&2
  exit "$status"
}

[ $# = 3 ] || fail 64 'usage: restore-by-hand.sh SET ID DIR'
set=$1 id=$2 dir=$3
if [ -d "$set" ]; then
  name=$(cd -- "$set" && for file in *-"$id".manifest*; do printf '%s\n' "${file%-"$id".manifest*}"; done | sort -u)
  [ "$(printf '%s\n' "$name" | wc -l)" = 1 ] || fail 64 "$set has several sets: give $set/NAME for one of them"
  set=${set%/}/$name
fi
case $set in /*) ;; *) set=$PWD/$set ;; esac
case ${AGE_IDENTITY:=} in '' | /*) ;; *) AGE_IDENTITY=$PWD/$AGE_IDENTITY ;; esac
manifest=
for end in .zst.age .zst .age ''; do
  if [ ! "$manifest" ] && [ -f "$set-$id.manifest$end" ]; then manifest=$set-$id.manifest$end; fi
done
[ "$manifest" ] || fail 1 "$set-$id.manifest.zst: not found"
mkdir -p -- "$dir"
cd -- "$dir"
[ ! "$(ls -A)" ] || fail 1 "$dir: not empty"
# It is below the target, because files are renamed to their places.
work=$(mktemp -d "$PWD/.restore.XXXXXX")
export work AGE_IDENTITY
trap 'rm -rf -- "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# Decrypts and decompresses a file, with further options of zstd. Content that is cut is noticed by the digest of the manifest, by tar,
# and by the last check.
unpack() {
  case $1 in
  *.age) age --decrypt --identity "${AGE_IDENTITY:?is not set: give the file with the secret key}" -- "$1" ;;
  *) cat -- "$1" ;;
  esac | zstd -dcfq "${2:---}"
}

# Turns lines into arguments that end with NUL.
arguments() { tr '\n' '\0' | xargs -0 -r printf '%b\0'; }

# Calls a command with lines as its arguments.
call() { arguments | xargs -0 -r "$@"; }

# Calls sh for some arguments that end with NUL: for a multiple of 6 at a time.
each() { xargs -0 -r -x -s 1000000 -n 120 sh -c "$1" sh; }

# Splits lines "GROUP<tab>LINE", which are sorted, to the files group.1, group.2 and so on, with GROUP in the first line of each file.
split() {
  awk -F '\t' -v file="$work/group." '
    NR == 1 || $1 != group { close(file n); group = $1; n++; print group >(file n) }
    { print substr($0, length(group) + 2) >(file n) }'
}

# Calls a function with each group: with its value, and its lines on standard input.
for_each_group() {
  for group in "$work"/group.*; do
    [ -f "$group" ] || continue
    tail -n +2 "$group" | "$1" "$(head -n 1 "$group")"
    rm "$group"
  done
}

unpack "$manifest" >"$work/rows"
digest=$(tail -n 1 "$work/rows" | jq -r '.manifest_sha256')
[ "$(head -n -1 "$work/rows" | sha256sum)" = "$digest  -" ] || fail 1 "$manifest: damaged, or of an unknown format"

# The rows as lines: type, archive, path, member, mode, owner (uid:gid:user:group), time, SHA-256, and what the names of one file have
# in common. The content of a path is the member `member` of the archive, or else `first_name`, or else that with the same path. The
# owner is given only for rows with names of the owner: these get their metadata from the row. Then "attributes" follows if the file has
# some, and "joined" if the member has only some blocks of the file.
jq -r '
  def digits:
    explode | map(if . > 96 then . - 71 elif . > 64 then . - 65 elif . > 47 then . + 4 elif . == 43 then 62 else 63 end);
  def escape: if . > 31 and . < 127 and . != 92 then [.] | implode else "\\0\(. / 64 | floor)\(. / 8 % 8 | floor)\(. % 8)" end;
  def decode:
    rtrimstr("=") | rtrimstr("=") | digits as $digits
    | [range(0; $digits | length; 4) as $i | $digits[$i:$i + 4] | . as [$a, $b, $c, $d]
      | $a * 4 + ($b / 16 | floor),
        if $c then $b % 16 * 16 + ($c / 4 | floor) else empty end,
        if $d then $c % 4 * 64 + $d else empty end
      | escape]
    | add;
  def name($key):
    if .[$key] then .[$key] | if test("[\\x00-\\x1f\\x7f\\\\]") then @base64 | decode else . end
    elif .[$key + "_b64"] then .[$key + "_b64"] | decode
    else "" end;

  if .type == "source" then ["source", "", name("path")]
  elif .archive and .mode then
    name("path") as $path
    | "\(.inode) \(.mtime) \(.ctime) \(.size) \(.sha256)" as $file
    | [.type, .archive, $path, ([name("member"), name("first_name"), $path] | map(select(. != ""))[0]), .mode,
      if .user or .user_b64 then "\(.uid):\(.gid):\(name("user")):\(name("group"))" else "" end,
      .mtime, .sha256 // "",
      if .link_group then "group \(.link_group) \(.size) \(.sha256)"
      elif .type == "file" and (.links > 1 or .first_name or .first_name_b64) then "file \($file)"
      elif .type != "file" and .type != "directory" and .links > 1 then "\(.type) \($file)"
      else "" end,
      if .attributes then "attributes" else "" end, if .base or .base_b64 then "joined" else "" end]
  else empty end
  | map(tostring) | join("\t")' "$work/rows" >"$work/plan"

# Checks the paths, and leaves out further names of files and what was in two sources. A path below a symbolic link would lead elsewhere.
awk -F '\t' -v OFS='\t' -v user="$(id -u)" -v work="$work/" '
  function refuse(why) { print "restore-by-hand.sh: refused, " why ": " $3 >"/dev/stderr"; exit 1 }
  function parent(path) { return sub("/[^/]*$", "", path) ? path : "" }
  NR == FNR { if ($1 == "symbolic_link") links[$3]; next }
  $1 == "source" {
    path = $3 == "/" ? $3 : $3 "/"
    isWithin = 0
    for (source in sources) if (index(path, source) == 1) isWithin = 1
    sources[path]
    next
  }
  isWithin { next }
  {
    if ($3 == "" || ("/" $3 "/" $4 "/") ~ "/[.][.]/" || $3 ~ "^/" || $4 ~ "^/") refuse("a path leads outside")
    if (parent($3) != folder) for (path = folder = parent($3); path != ""; path = parent(path)) if (path in links) refuse("a path is below a link")
  }
  $1 ~ "device" && user != 0 { print "restore-by-hand.sh: left out, only root can make devices: " $3 >"/dev/stderr"; next }
  $1 == "directory" { print $7 >(work "folders"); print "./" $3 >(work "folders"); if ($5 % 512 < 448) printf "%05o\n%s\n", $5, $3 >(work "closed") }
  $9 != "" {
    if ($9 in first) { print first[$9] >(work "links"); print $3 >(work "links"); next }
    first[$9] = $3
    # In snapshots of version 0.2 the names of one file may have different times.
    if ($9 ~ "^file") { if (($2, $4) in members) { print members[$2, $4] >(work "links"); print $3 >(work "links"); next } members[$2, $4] = $3 }
  }
  { print }
' "$work/plan" "$work/plan" >"$work/places" || fail 1 "nothing is restored"
for list in links folders closed; do : >>"$work/$list"; done

# What each archive is asked for: members with the names of their files, in the order of the archive, and members that are moved. One
# content may be that of several files: it is extracted once, and then copied.
awk -F '\t' -v OFS='\t' -v work="$work/" '
  function parent(path) { return sub("/[^/]*$", "", path) ? path : "." }
  function last(path) { sub(".*/", "", path); return path }
  # Directories follow after the files beside them.
  function order(path, count, names, key, i) {
    count = split(path, names, "/")
    for (i = 1; i < count; i++) key = key "\003" names[i] "\001"
    return key "\002" names[count]
  }
  FNR == 1 { pass++ }
  pass == 1 { if ($3 != $4) wanted[$2, $4]; next }
  pass == 2 { if ($3 == $4 && ($2, $4) in wanted) place[$2, $4] = $3; next }
  $3 == $4 { print $2 ".named", "", $4 }
  $3 != $4 {
    print parent($3) >(work "parents")
    if (($2, $4) in place) { from = "./" place[$2, $4]; step = work "copies" } else {
      from = substr(work, 1, length(work) - 1) "/moved/" $2 "/" $4
      step = work "moves"
      place[$2, $4] = $3
      print $2 ".moved", order($4), $4
      if ($11 != "") print $3 >(work "joined")
    }
    # Files that keep their last name are moved and copied together.
    if (last(from) == last($3)) print "./" parent($3), from >(step ".together"); else { print from >step; print "./" $3 >step }
  }
  $6 != "" {
    print $6, $3 >(work "owners")
    printf "%05o\t%s\n", $5, $3 >(work "modes")
    print $7 " ./" $3 >(work "times"); print "./" $3 >(work "timed")
    if ($10 == "") print $3 >(work "bare")
  }
  $8 != "" { print $8 "  " $3 >(work "digests"); print $3 >(work "files") }
' "$work/places" "$work/places" "$work/places" | sort -s -t "$tab" -k 1,2 >"$work/members"
for list in joined parents copies copies.together moves moves.together owners modes times timed bare digests files; do : >>"$work/$list"; done

status=0

# Extracts members of an archive into a folder; the names of the members are on standard input.
extract() {
  if [ -f "$set-$1.tar.zst.age" ]; then archive=$set-$1.tar.zst.age; else archive=$set-$1.tar.zst; fi
  arguments >"$work/names"
  mkdir -p -- "$2"
  # The names have the order of the archive, so that tar need not compare each one with all members. Some odd names have not. What is
  # damaged comes out too: the last check finds it.
  { unpack "$archive" | tar_members "$2" --same-order; } 2>"$work/errors" && return
  unpack "$archive" --no-check | tar_members "$2" || status=5
}

# Extracts the members with these names into a folder.
tar_members() {
  folder=$1
  shift
  tar -xpf - -C "$folder" --acls --xattrs --xattrs-include='*' --no-recursion --no-wildcards "$@" --warning=no-unknown-keyword \
    --null --no-unquote -T "$work/names"
}

awk -F '\t' -v file="$work/list." '
  $1 != list { close(file list); list = $1 }
  { print $3 >(file list) }
' "$work/members"
for list in "$work"/list.*; do
  [ -f "$list" ] || continue
  stamp=${list##*/list.}
  kind=${stamp#*.} stamp=${stamp%.*}
  if [ "$kind" = named ]; then to=.; else to=$work/moved/$stamp; fi
  extract "$stamp" "$to" <"$list"
  # Later files must find room in folders that their owner may not write to.
  [ "$(id -u)" = 0 ] || find . -type d ! -perm -700 -exec chmod u+rwx {} \;
done

# What is missing is named at the end, once.
exec 3>&2 2>"$work/errors"
uniq "$work/parents" | call mkdir -p --
# shellcheck disable=SC2016
arguments <"$work/moves" | each 'while [ $# -gt 0 ]; do mv -T -- "$1" "$2"; shift 2; done' || status=5
move_together() { call mv -t "$(printf '%b/' "$1")" -- || status=5; }
split <"$work/moves.together"
for_each_group move_together

# Joins the blocks of files that changed in part. The members `ARCHIVE/PATH` in `base`, separated by `//`, lead from the newest to the
# oldest one, which is whole; the others, and `member`, are sparse files whose data are the blocks that changed. The sizes are those of
# the file at that time. The maps of the data are in the headers of tar: holes of the file system may be others.
if [ -s "$work/joined" ]; then
  arguments <"$work/joined" >"$work/joined.names"
  python3 - "$set" "$work" <<'EOF' 2>&3 || status=5
import base64, json, os, subprocess, sys, tarfile

def name(row, key):
    return base64.b64decode(row[key + "_b64"]) if key + "_b64" in row else row[key].encode()

def unpacked(stamp):
    """The bytes of an archive."""
    file = f"{sys.argv[1]}-{stamp}.tar.zst"
    if os.path.exists(file):
        return subprocess.Popen(["zstd", "-dcq", "--", file], stdout=subprocess.PIPE).stdout
    age = subprocess.Popen(["age", "--decrypt", "--identity", os.environ["AGE_IDENTITY"], "--", file + ".age"], stdout=subprocess.PIPE)
    return subprocess.Popen(["zstd", "-dcq"], stdin=age.stdout, stdout=subprocess.PIPE).stdout

def copy(source, target, count):
    while count > 0 and (piece := source.read(min(count, 1 << 20))):
        target.write(piece)
        count -= len(piece)

work = sys.argv[2]
paths = set(open(work + "/joined.names", "rb").read().split(b"\0"))
files, wanted, parts = [], {}, {}
for line in open(work + "/rows", "rb"):
    row = json.loads(line)
    if ("base" in row or "base_b64" in row) and name(row, "path") in paths:
        paths.remove(name(row, "path"))
        places = [tuple(place.split(b"/", 1)) for place in name(row, "base").split(b"//")]
        places.insert(0, (row["archive"].encode(), name(row, "member")))
        files.append((name(row, "path"), row["size"], places))
        for stamp, member in places:
            wanted.setdefault(stamp, set()).add(member)

# Each archive is read once: the data of its members are kept, one after the other.
os.mkdir(work + "/parts")
for stamp, members in wanted.items():
    with tarfile.open(fileobj=unpacked(stamp.decode()), mode="r|", encoding="utf-8", errors="surrogateescape") as archive:
        for member in archive:
            if (key := member.name.encode("utf-8", "surrogateescape")) not in members:
                continue
            ranges = [(start, count) for start, count in member.sparse or [(0, member.size)] if count]
            file = f"{work}/parts/{len(parts)}"
            content = archive.extractfile(member)
            position = 0
            with open(file, "wb") as part, open(os.devnull, "wb") as holes:
                for start, count in ranges:
                    copy(content, holes, start - position)
                    copy(content, part, count)
                    position = start + count
            parts[stamp, key] = member.size, ranges, file

for path, size, places in files:
    os.chmod(b"./" + path, 0o600)
    with open(b"./" + path, "wb") as target:
        for place in reversed(places):
            if place not in parts:
                print("not found:", os.fsdecode(b"/".join(place)), file=sys.stderr)
                continue
            length, ranges, file = parts[place]
            target.truncate(length)
            with open(file, "rb") as part:
                for start, count in ranges:
                    target.seek(start)
                    copy(part, target, count)
        target.truncate(size)
EOF
fi

# shellcheck disable=SC2016
arguments <"$work/copies" | each 'while [ $# -gt 0 ]; do cp -aT -- "$1" "$2"; shift 2; done' || status=5
copy_together() { call cp -a -t "$(printf '%b/' "$1")" -- || status=5; }
split <"$work/copies.together"
for_each_group copy_together

# The metadata of rows with names of the owner. A member can have attributes although its row has none, if an earlier version made it.
if command -v setfacl >/dev/null; then call setfacl -b -- <"$work/bare" || status=5; fi
if command -v getfattr >/dev/null && [ "$(sed 's/^/.\//' "$work/bare" | call getfattr -h -m - | head -c 1)" ]; then
  # shellcheck disable=SC2016
  arguments <"$work/bare" | each '
    for file; do
      getfattr -h -m - --absolute-names -- "./$file" | sed "1d; /^$/d" | while read -r name; do setfattr -h -x "$name" -- "./$file"; done
    done' || status=5
fi

# Sets the owner where it differs, since that would also remove capabilities.
set_owner() {
  user=$(printf '%s\n' "$1" | cut -d : -f 3)
  group_name=$(printf '%s\n' "$1" | cut -d : -f 4)
  uid=$(id -u -- "$user" 2>/dev/null) || uid=$(printf '%s\n' "$1" | cut -d : -f 1)
  gid=$(getent group "$group_name" | cut -d : -f 3)
  [ "$gid" ] || gid=$(printf '%s\n' "$1" | cut -d : -f 2)
  export uid gid
  # shellcheck disable=SC2016
  sed 's/^/.\//' | call sh -c 'find "$@" -prune "(" ! -uid "$uid" -o ! -gid "$gid" ")" -exec chown -h "$uid:$gid" {} +' sh || status=5
}
if [ "$(id -u)" = 0 ]; then
  sort -s -t "$tab" -k 1,1 "$work/owners" | split
  for_each_group set_owner
fi
set_mode() { call chmod "$1" -- || status=5; }
sort -s -t "$tab" -k 1,1 "$work/modes" | split
for_each_group set_mode
# shellcheck disable=SC2016
set_times='while [ $# -gt 0 ]; do touch -h -d "@$1" -- "$2"; shift 2; done'
arguments <"$work/times" | sort -z >"$work/expected"
call stat --printf '%.9Y %n\0' -- <"$work/timed" | sort -z >"$work/found"
comm -z -23 "$work/expected" "$work/found" | sed -z 's/ /\x00/' | each "$set_times" || status=5

# shellcheck disable=SC2016
arguments <"$work/links" | each 'while [ $# -gt 0 ]; do ln -fPT -- "./$1" "./$2"; shift 2; done' || status=5

# Folders get their times and modes last: writing into them changes the times.
arguments <"$work/folders" | each "$set_times" || status=5
# shellcheck disable=SC2016
[ "$(id -u)" = 0 ] || tac "$work/closed" | arguments | each 'while [ $# -gt 0 ]; do chmod "$2" -- "./$1"; shift 2; done' || status=5

exec 2>&3
grep -v 'No such file or directory$' "$work/errors" >&2 || :
arguments <"$work/digests" | sort -z >"$work/expected"
call sha256sum -z -- <"$work/files" 2>/dev/null | sort -z >"$work/found"
if ! cmp -s "$work/expected" "$work/found"; then
  comm -z -23 "$work/expected" "$work/found" | tr '\n\0' '?\n' | sed 's/^.\{66\}/missing or damaged: /' >&2
  status=5
fi
[ $status = 0 ] || fail $status "something is missing or damaged"
