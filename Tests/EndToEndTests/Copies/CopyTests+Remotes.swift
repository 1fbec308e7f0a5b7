import TestSupport
import Testing

/// Copies at remotes of rclone.
extension CopyTests {
  @Test(
    "rclone is started without its table for terminals, which takes half of the time of a start",
    .enabled(if: Self.hasRclone, "rclone is not installed"))
  func rcloneEnvironment() throws {
    let run = try run(
      #"""
      remote far "$PWD/far"
      mkdir far bin
      real=$(command -v rclone)
      printf '#!/bin/sh\necho "$TCELL_MINIMIZE" >>%s\nexec %s "$@"\n' "$PWD/seen" "$real" >bin/rclone
      chmod +x bin/rclone
      back_up
      PATH=$PWD/bin:$PATH ends copy "$BP" copy -q set far:
      sort -u seen | says "TCELL_MINIMIZE"
      ls far | wc -l | says "files"
      """#)
    run.expectSteps(["copy": "0", "TCELL_MINIMIZE": "1", "files": "3"])
  }

  @Test(
    "a remote of rclone can be copied to, listed, restored, drilled and pruned",
    .enabled(if: Self.hasRclone, "rclone is not installed"))
  func rclone() throws {
    let run = try run(
      """
      mkdir base
      remote off "$PWD/base"
      back_up
      back_up
      ends copy "$BP" copy -q set off:far
      files base/far | says copies
      "$BP" snapshots off:far | wc -l | says "listed"
      ends restore check off:far
      ends drill "$BP" drill -q --all off:far
      back_up --full
      ends "copy that removes" "$BP" copy -q --copy-keep-last 1 set off:far
      files base/far | says "copies that are left"
      ends "restore of the last one" check off:far
      mkdir bin
      printf '#!/bin/sh\\necho "$@" >>calls\\nexec %s "$@"\\n' "$(command -v rclone)" >bin/rclone
      chmod +x bin/rclone
      ends "copy with a rate" env PATH="$PWD/bin:$PATH" "$BP" copy -q --rate 3000000 set off:limited
      grep copy calls | grep -vc -e '--bwlimit 3000000B' | says "transfers without a rate"
      ls base/limited | grep -c manifest | says "limited copies"
      "$BP" copy -q set nowhere:far 2>&1 | counts "unknown remote" 'rclone: '
      ls /tmp | counts "temporary folders" 'batchproc-remote'
      """)
    run.expectSteps([
      "copy": "0", "copies": "1 manifest 2 manifest.zst 2 tar.zst", "listed": "2", "restore": "0",
      "drill": "0",
      "copy that removes": "0", "copies that are left": "1 manifest 1 manifest.zst 1 tar.zst",
      "restore of the last one": "0",
      "copy with a rate": "0", "transfers without a rate": "0", "limited copies": "4",
      "unknown remote": "1", "temporary folders": "0",
    ])
  }

  /// A program in place of rclone that serves the directory `evil`, and also lists the line in `LISTED`.
  private static let falseRclone = #"""
    mkdir -p bin evil; cat >bin/rclone <<'EOF'
    #!/bin/sh
    while [ $# -gt 0 ]; do case $1 in
      lsf|copy|copyto|cat|hashsum|deletefile) call=$1 ;; --offset) offset=$2 ;; --count) count=$2 ;; --) shift; break ;; esac; shift; done
    case $call in
      lsf) cd "$EVIL"; for f in *; do [ -f "$f" ] && echo "$(stat -c %s "$f");$f"; done; printf '%s\n' "$LISTED" ;;
      copy) case $1 in
        off:*) while read -r f; do [ ! -f "$EVIL/$f" ] || cp "$EVIL/$f" "$2"; done ;;
        *) while read -r f; do cp "$1/$f" "$EVIL"; done ;; esac ;;
      copyto) case $1 in
        off:*) if [ -f "$EVIL/${1##*/}" ]; then cp "$EVIL/${1##*/}" "$2"; else echo evil >"$2"; fi ;;
        *) cp "$1" "$EVIL/${2##*/}" ;; esac ;;
      cat) tail -c +$((offset + 1)) "$EVIL/${1##*/}" | head -c $count ;;
      hashsum) sha256sum <"$EVIL/${1##*/}" ;;
      deletefile) rm "$EVIL/${1##*/}" ;;
    esac
    EOF
    chmod +x bin/rclone; export EVIL="$PWD/evil" PATH="$PWD/bin:$PATH" TMPDIR="$PWD/tmp"; mkdir tmp
    """#

  @Test(
    "a name in the listing of a remote that is not one of a set's file is never fetched, and harms nothing",
    arguments: [
      "../../evil.manifest", "$PWD/evil.manifest", "../../x-20200101T000000Z.companion",
      "a/../../../y-20200101T000000Z.manifest.age", "-x-20200101T000000Z.manifest", ".manifest", "..manifest",
      ".x-20200101T000000Z.manifest", "other.manifest", "../x-20200101T000000Z.tar.zst",
    ])
  func hostileListing(name: String) throws {
    let run = try run(
      """
      \(Self.falseRclone)
      files_here() { find . -name tmp -prune -o -name before -prune -o -print | sort; }
      back_up
      ends copy "$BP" copy -q set off:far
      files_here >before
      export LISTED="100;\(name)"
      "$BP" snapshots off:far | wc -l | says "listed"
      files_here | ends "the same files" diff before -
      ends restore check off:far
      ends "copy that removes" "$BP" copy -q --copy-keep-last 1 set off:far
      find tmp -mindepth 1 | says "temporary files"
      find . -name '*evil.manifest' -o -name '[-xy]*-2020*' | says "fetched files"
      """)
    run.expectSteps([
      "copy": "0", "listed": "1", "the same files": "0", "restore": "0", "copy that removes": "0",
      "temporary files": "", "fetched files": "",
    ])
  }

  @Test(
    "of a remote archive, only the index and the needed parts are fetched, each once",
    .enabled(if: Self.hasRclone, "rclone is not installed"), arguments: ["", "-i key"])
  func parts(keys: String) throws {
    try t.shell(
      #"""
      umask 077
      "$BP" keygen -o key >recipient
      mkdir base bin
      # From 8 MiB on a file is in a part of the archive of its own.
      head -c 8600000 /dev/urandom >src/noise
      seq 3000 >src/z
      # A program in place of rclone that notes each call.
      printf '#!/bin/sh\necho "$@" >>%s/calls\nexec %s "$@"\n' "$PWD" "$(command -v rclone)" >bin/rclone
      chmod +x bin/rclone
      """#)
    let run = try run(
      """
      remote off "$PWD/base"
      back_up \(keys == "" ? "" : "--encrypt-to-file recipient")
      "$BP" copy -q set off:far
      size=$(cat base/far/*.tar.zst* | wc -c)
      PATH=$PWD/bin:$PATH
      fetched() { echo $(($(grep ' cat ' calls | sed 's/.*--count //; s/ .*//' | paste -sd +))); }
      ends "restore of a file" "$BP" restore -q \(keys) --from off:far -C one '*/z'
      ends "content of the file" cmp src/z one$PWD/src/z
      ends "few bytes are fetched" test $(fetched) -le 3000000
      counts "whole archives that are fetched" 'copyto.*tar.zst' <calls
      for j in 1 2 7; do
        rm calls
        ends "restore -j $j" "$BP" restore -q -j $j \(keys) --from off:far -C all$j
        ends "all files" diff -r src all$j$PWD/src
        ends "each byte is fetched once" test $(fetched) -le $size
      done
      "$BP" restore -C x 2>&1 | head -1 | says "restore without a directory"
      remote off "$PWD"
      cp -r base/far broken
      printf damaged | dd of=$(ls broken/*.tar.zst*) bs=1 seek=8000000 conv=notrunc status=none
      ends "restore of a damaged archive" "$BP" restore -q \(keys) --from off:broken -C bad
      ls bad$PWD/src | says "files of a damaged archive"
      truncate -s 5000000 base/far/*.tar.zst*
      ends "restore of a cut archive" "$BP" restore -q \(keys) --from off:base/far -C short 2>/dev/null
      ls $TMPDIR | counts "temporary folders" batchproc-rem
      """)
    run.expectSteps([
      "restore of a file": "0", "content of the file": "0", "few bytes are fetched": "0",
      "whole archives that are fetched": "0",
      "restore -j 1": "0", "all files": "0", "each byte is fetched once": "0",
      "restore -j 2": "0", "all files": "0", "each byte is fetched once": "0",
      "restore -j 7": "0", "all files": "0", "each byte is fetched once": "0",
      "restore without a directory":
        "batchproc: missing expected argument '<directory>': where the snapshots are.",
      "restore of a damaged archive": "5", "files of a damaged archive": "1 2 3 new z",
      "restore of a cut archive": "5", "temporary folders": "0",
    ])
  }

  @Test(
    "an encrypted set is copied without a key and restored with it, and contains no plain name",
    .enabled(if: Self.hasRclone, "rclone is not installed"))
  func encrypted() throws {
    let run = try run(
      """
      umask 077
      "$BP" keygen -o key >recipient
      mkdir base
      remote off "$PWD/base"
      echo text >src/secretname
      for i in 1 2; do back_up --encrypt-to "$(cat recipient)" --copy-to off:far; done
      files base/far | says copies
      ends restore check off:far -i key
      ends drill "$BP" drill -q --all -i key off:far
      grep -rl secretname base | says "files with a plain name"
      "$BP" snapshots off:far | counts "listed as encrypted" encrypted
      """)
    run.expectSteps([
      "copies": "2 companion 1 manifest 2 manifest.zst.age 2 tar.zst.age", "restore": "0", "drill": "0",
      "files with a plain name": "", "listed as encrypted": "2",
    ])
  }

  @Test(
    "the next copy finishes one that was killed, and no incomplete snapshot looks complete",
    .enabled(if: Self.hasRclone, "rclone is not installed"))
  func killed() throws {
    let run = try run(
      """
      mkdir base
      remote off "$PWD/base"
      for i in 1 2 3; do
        head -c 3000000 /dev/urandom >src/large
        back_up
      done
      for i in $(seq \(Campaign.cases(50))); do
        test $((i % 5)) = 0 && rm -rf base/far far
        for r in off:far far; do
          timeout -s KILL 0.$((RANDOM % 8 + 1)) "$BP" copy -q set $r 2>/dev/null
          d=base/far
          test $r = far && d=far
          test -d $d || continue
          ls $d | grep -q manifest || continue
          "$BP" snapshots -q $d >/dev/null 2>&1
          test $? = 0 || test $r != far || echo incomplete
          for m in $(ls $d | grep 'manifest.zst$'); do
            cmp -s $d/$m set/$m || continue
            "$BP" restore -q --at $(echo $m | grep -o '[0-9TZ]*Z') -C out.$i $d || echo damaged
            rm -rf out.$i
          done
        done
      done
      ends "copy at the end" "$BP" copy -q set off:far
      ends restore check off:far
      """, seconds: 280)
    run.expectSteps(["copy at the end": "0", "restore": "0"])
  }

  @Test(
    "new files are sent without a question; a file that the remote has is looked up and replaced",
    .enabled(if: Self.hasRclone, "rclone is not installed"))
  func questions() throws {
    try t.shell(
      #"""
      mkdir bin base
      printf '#!/bin/sh\necho "$@" >>%s/calls\nexec %s "$@"\n' "$PWD" "$(command -v rclone)" >bin/rclone
      chmod +x bin/rclone
      """#)
    let run = try run(
      """
      remote off "$PWD/base"
      back_up
      back_up
      back_up
      PATH=$PWD/bin:$PATH
      ends "copy" "$BP" copy -q set off:far
      counts "files that are looked up" 'ignore-times' <calls
      rm calls
      truncate -s 10 $(ls base/far/*.manifest.zst | head -2) $(ls base/far/*.tar.zst | head -1)
      ends "second copy" "$BP" copy -q set off:far
      counts "manifests that are looked up" 'copyto --ignore-times .*manifest' <calls
      counts "archives that are looked up" 'copyto --ignore-times .*tar.zst' <calls
      counts "files that are sent without a question" 'no-check-dest' <calls
      for file in base/far/*; do cmp $file set/$(basename $file); done 2>&1 | says "differences"
      """)
    run.expectSteps([
      "copy": "0", "files that are looked up": "0", "second copy": "0", "manifests that are looked up": "2",
      "archives that are looked up": "1", "files that are sent without a question": "0", "differences": "",
    ])
  }

  @Test(
    "recovery data are not sent when the file that they belong to could not be replaced",
    .enabled(if: Self.hasRclone, "rclone is not installed"))
  func refusedReplacement() throws {
    try t.shell(
      #"""
      mkdir bin far
      cat >bin/rclone <<'E'
      #!/bin/sh
      echo "$@" >>calls
      case "$*" in *deletefile*) echo "AccessDenied: the object is locked" >&2; exit 1 ;; esac
      PATH=${PATH#*:} exec rclone "$@"
      E
      chmod +x bin/rclone
      """#)
    let run = try run(
      """
      head -c 300000 /dev/urandom >src/noise
      PATH=$PWD/bin:$PATH
      remote far "$PWD/far"
      back_up --parity 5%
      ends "first copy" "$BP" copy -q set far:
      counts "recovery data that are sent first" 'par2' <calls
      truncate -s 1000 far/*.tar.zst; rm calls
      ends "second copy" "$BP" copy -q set far: 2>errors
      counts "refusals" AccessDenied <errors
      grep -v deletefile calls | counts "recovery data that are sent again" 'copy.*par2'
      """)
    run.expectSteps([
      "first copy": "0", "recovery data that are sent first": "4", "second copy": "5", "refusals": "1",
      "recovery data that are sent again": "0",
    ])
  }

  @Test(
    "a remote that refuses removals is reported once, and is no failure with --append-only; damage is one",
    .enabled(if: Self.hasRclone))
  func refusals() throws {
    let run = try run(
      """
      mkdir bin far
      cat >bin/rclone <<'E'
      #!/bin/sh
      case "$*" in *deletefile*) echo "AccessDenied: the object is locked" >&2; exit 1 ;; esac
      PATH=${PATH#*:} exec rclone "$@"
      E
      chmod +x bin/rclone
      PATH=$PWD/bin:$PATH
      remote far "$PWD/far"
      back_up
      back_up
      back_up
      "$BP" copy -q set far:
      ends "copy that removes" "$BP" copy --copy-keep-last 1 set far: >/dev/null 2>errors
      counts "refusals that are named" AccessDenied <errors
      ends "copy --append-only" "$BP" copy --copy-keep-last 1 --append-only set far: >/dev/null 2>errors
      counts "refusals that are named with --append-only" AccessDenied <errors
      ls far/*.manifest.zst | wc -l | says "copies"
      printf damaged | dd of=$(ls far/*.manifest.zst | head -1) bs=1 seek=40 conv=notrunc status=none
      ends "copy beside damage" "$BP" copy --copy-keep-last 1 --append-only set far: >/dev/null 2>&1
      """)
    run.expectSteps([
      "copy that removes": "3", "refusals that are named": "1", "copy --append-only": "0",
      "refusals that are named with --append-only": "1", "copies": "3", "copy beside damage": "3",
    ])
  }
}

/// Transfers that run at the same time.
extension CopyTests {
  /// A program in place of rclone that notes when each transfer ends, and refuses a file whose name has the text in `REFUSED`.
  private static let watched = #"""
    mkdir -p bin far; cat >bin/rclone <<'EOF'
    #!/bin/sh
    case "$*" in *copyto*) case "$*" in *${REFUSED:-none}*) echo "refused: no quota" >&2; exit 1 ;; esac ;; esac
    case "$*" in *" copy "*) list=$(cat); case "$list" in *${REFUSED:-none}*) echo "refused: no quota" >&2; exit 1 ;; esac
      for last; do :; done
      for f in $list; do printf '%s\n' "$f" | PATH=${PATH#*:} rclone "$@" || exit 1; echo "$f" >>"$NOTES"; done; exit 0 ;; esac
    PATH=${PATH#*:} rclone "$@" || exit
    case "$*" in *copyto*) for last; do :; done; echo "${last##*/}" >>"$NOTES" ;; esac
    EOF
    chmod +x bin/rclone; export NOTES="$PWD/notes" PATH="$PWD/bin:$PATH"; remote far "$PWD/far"
    """#

  @Test(
    "a manifest is transferred after the archives that its snapshot needs, and after the manifest before it",
    .enabled(if: Self.hasRclone, "rclone is not installed"))
  func order() throws {
    let run = try run(
      """
      \(Self.watched)
      for n in 1 2 3 4 5 6; do echo $n >src/new$n; back_up; done
      ends copy "$BP" copy -q set far:n
      grep -c 'tar.zst$' notes | says archives
      grep 'manifest.zst$' notes | sort -c; echo "manifests in order: $?"
      while read -r f; do case $f in
        *.tar.zst) seen="$seen ${f%.tar.zst}" ;;
        *.manifest.zst)
          for need in $(zstdcat set/$f | sed -n 's/.*"type":"needs","archive":"\\([^"]*\\)".*/\\1/p'); do
            case "$seen" in *$need*) ;; *) echo "$f before $need" ;; esac
          done ;;
      esac; done <notes
      ends "restore" check far:n
      """)
    run.expectSteps(["copy": "0", "archives": "6", "manifests in order": "0", "restore": "0"])
  }

  @Test(
    "when a transfer fails, nothing that depends on it is transferred, and the next copy continues",
    .enabled(if: Self.hasRclone, "rclone is not installed"))
  func failed() throws {
    let run = try run(
      """
      \(Self.watched)
      for n in 1 2 3 4 5 6; do echo $n >src/new$n; back_up; done
      third=$(ls set/*.tar.zst | sed -n 3p); third=${third##*/}
      REFUSED=$third ends copy "$BP" copy -q set far:n 2>errors
      counts message 'rclone: refused: no quota' <errors
      ls far/n/*.manifest.zst | wc -l | says manifests
      ends "restore of the second" "$BP" restore -q --from far:n -C second
      REFUSED=$(basename $third .tar.zst).manifest ends "a manifest is refused" "$BP" copy -q set far:n 2>errors
      ls far/n/*.manifest.zst | wc -l | says manifests
      ends "next copy" "$BP" copy -q set far:n
      ls far/n/*.manifest.zst | wc -l | says manifests
      ends restore check far:n
      """)
    run.expectSteps([
      "copy": "1", "message": "1", "manifests": "2", "restore of the second": "0",
      "a manifest is refused": "1", "manifests": "2", "next copy": "0", "manifests": "6", "restore": "0",
    ])
  }

  @Test(
    "files that are replaced at a remote have their new recovery data afterwards",
    .enabled(if: Self.hasRclone, "rclone is not installed"), arguments: ["tar.zst", "manifest.zst"])
  func recoveryData(kind: String) throws {
    let run = try run(
      """
      mkdir far; remote off "$PWD/far"
      for n in 1 2 3; do head -c 50000 /dev/urandom >src/noise$n; back_up --parity 20%; done
      ends "first copy" "$BP" copy -q set off:n
      for f in far/n/*.\(kind); do echo more >>$f; done
      ends "second copy" "$BP" copy -q set off:n
      ends "the same files" diff -r --exclude '.*' --exclude '*.blocks' set far/n
      ends "third copy" "$BP" copy -v set off:n 2>errors
      counts "copied again" '^copy ' <errors
      """)
    run.expectSteps([
      "first copy": "0", "second copy": "0", "the same files": "0", "third copy": "0", "copied again": "0",
    ])
  }

  @Test(
    "a file that is gone from a remote after it was listed is an error that names it",
    .enabled(if: Self.hasRclone, "rclone is not installed"))
  func gone() throws {
    let run = try run(
      """
      \(Self.falseRclone)
      back_up; echo 2 >src/b; back_up
      ends copy "$BP" copy -q set off:far
      export LISTED="100;x-20200101T000000Z.manifest"
      sed -i 's/else echo evil >"$2"/else echo "NOTICE: not found" >\\&2; exit 4/' bin/rclone
      ends snapshots "$BP" snapshots off:far 2>errors >rows
      counts named 'rclone: .*not found' <errors
      """)
    run.expectSteps(["copy": "0", "snapshots": "1", "named": "1"])
  }
}
