import TestSupport
import Testing

/// Copies of backup sets to other places.
@Suite(.timeLimit(.minutes(5))) struct CopyTests {
  private let t: TreeFixture
  /// Whether rclone is installed.
  private static let hasRclone = (try? Outcome(shell: "command -v rclone"))?.status == 0

  init() throws {
    t = try TreeFixture()
    try t.shell("mkdir src set; for i in 1 2 3; do seq $i 3000 >src/$i; done; : >rclone.conf")
  }

  /// Runs a script in which `back_up` makes a snapshot and `far` lists a directory of copies.
  private func run(_ script: String, seconds: Double = 120) throws -> Outcome {
    try t.shell(
      """
      export RCLONE_CONFIG="$PWD/rclone.conf"
      back_up() { echo $RANDOM >>src/new; "$BP" backup -q --to set "$@" src; }
      far() { ls ${1:-far} | sed 's/.*Z[.]//' | sort | uniq -c | tr -s ' \\n' ' '; echo; }
      check() { rm -rf out; "$BP" restore -q "$@" -C out && diff -r src out$PWD/src && echo restored; }
      \(script)
      """, seconds: seconds)
  }

  @Test("a directory gets the missing snapshots, and is a set like any other")
  func directory() throws {
    let run = try run(
      """
      back_up; back_up; "$BP" copy set far 2>&1 | sed 's/ (.*//'; far; back_up; "$BP" copy -v set far 2>&1 | grep -c '^copy'
      "$BP" copy -v set far 2>&1 | grep -c '^copy'; check far; ls -a far | grep -c batchproc
      f=$(ls far/*.tar.zst | head -1); printf damaged | dd of=$f bs=1 seek=50 conv=notrunc 2>/dev/null
      "$BP" copy -v set far 2>&1 | grep -c '^copy'; "$BP" copy -v --checksum set far 2>&1 | grep -c '^copy'; cmp $f set/${f#far/}; echo $?
      """)
    #expect(
      run.text == "copied 2 snapshots\n 2 manifest 2 tar.zst \n2\n0\nrestored\n0\n0\n1\n0\n",
      "\(run.text)\(run.errorText)")
  }

  @Test(
    "rclone is started without its table for terminals, which takes half of the time of a start",
    .enabled(if: Self.hasRclone, "rclone is not installed"))
  func rcloneEnvironment() throws {
    let run = try run(
      #"""
      printf '[far]\ntype = alias\nremote = %s\n' "$PWD/far" >rclone.conf; mkdir far bin; real=$(command -v rclone)
      printf '#!/bin/sh\necho "$TCELL_MINIMIZE" >>%s\nexec %s "$@"\n' "$PWD/seen" "$real" >bin/rclone; chmod +x bin/rclone
      back_up; PATH=$PWD/bin:$PATH "$BP" copy -q set far:; echo $?; sort -u seen; ls far | wc -l
      """#)
    #expect(run.text == "0\n1\n2\n", "\(run.text)\(run.errorText)")
  }

  @Test("incomplete snapshots are named and left out (3), and then nothing is removed")
  func incomplete() throws {
    let run = try run(
      """
      back_up; "$BP" copy -q set far; back_up; back_up --full; a=$(ls set/*.tar.zst | sed -n 2p); mv $a hidden
      "$BP" copy -q --copy-keep-last 1 set far; echo $?; far; mv hidden $a; "$BP" copy -q --copy-keep-last 1 set far; echo $?; far; check far
      """)
    #expect(
      run.text == "3\n 2 manifest 2 tar.zst \n0\n 1 manifest 1 tar.zst \nrestored\n",
      "\(run.text)\(run.errorText)")
    #expect(run.errorText.contains("is not copied"))
  }

  @Test("a set without a snapshot that can be copied ends copy with 1")
  func nothingCopied() throws {
    let run = try run(
      """
      back_up; truncate -s 100 set/*.zst; "$BP" copy -q set far 2>e; echo $?; grep -c 'is not copied' e; ls far | grep -c Z
      """)
    #expect(run.text == "1\n1\n0\n", "\(run.text)\(run.errorText)")
  }

  @Test("a snapshot that is damaged here is named, and the others are copied (3)")
  func damagedHere() throws {
    let run = try run(
      """
      back_up; "$BP" copy -q set far; cp far/*.zst good; truncate -s 100 set/*.zst; back_up 2>/dev/null
      "$BP" copy -q set far 2>e; echo $?; grep -c 'is not copied' e; wc -l <e; far; cmp good $(ls far/*.zst | head -1); check far
      """)
    #expect(
      run.text == "3\n1\n1\n 2 manifest 2 tar.zst \nrestored\n", "\(run.text)\(run.errorText)")
  }

  @Test(
    "an archive that is damaged here does not replace its copy",
    .enabled(if: Host.hasPython && Host.canPreload),
    arguments: ["", "--encrypt-to-file recipient"])
  func rotten(encryption: String) throws {
    try t.preloadClock()
    let run = try run(
      """
      export LD_PRELOAD=$PWD/preload.so
      umask 077; "$BP" keygen -o key >recipient; back_up \(encryption); back_up \(encryption); "$BP" copy -q set far; cp -r far good
      flip() { python3 -c 'import sys
      with open(sys.argv[1], "r+b") as f: f.seek(3000); b = f.read(1); f.seek(3000); f.write(bytes([b[0] ^ 1]))' $1; }
      flip $(ls set/*.zst* | head -1); "$BP" copy -q --checksum --copy-keep-last 1 set far 2>e; echo $?; grep -c 'is damaged, and does not replace' e
      diff -r far good && echo same; cp good/*.zst* set; flip $(ls far/*.zst* | head -1); "$BP" copy -q --checksum set far; echo $?
      diff -r far good && echo same; flip $(ls set/*.zst* | head -1); rm $(ls -d set/*.[mc]* | grep $(ls set | head -1 | grep -o '[0-9T]*Z'))
      "$BP" copy -q --checksum set far 2>/dev/null; echo $?; diff -r far good && echo same
      """)
    #expect(run.text == "3\n1\nsame\n0\nsame\n3\nsame\n", "\(run.text)\(run.errorText)")
  }

  @Test("nothing is removed while a manifest of the copies is damaged", .enabled(if: Host.canPreload))
  func damagedCopy() throws {
    try t.preloadClock()
    // The newest snapshot needs the archive of the second one, and only the first one counts as verified.
    let run = try run(
      """
      export LD_PRELOAD=$PWD/preload.so
      back_up --full; back_up --full --no-verify; back_up; "$BP" copy -q set far; sed -i '/"needs"/s/"archive":"2/"archive":"3/' $(ls far/*.manifest | tail -1)
      "$BP" copy -q --copy-keep-last 1 set far 2>e; echo $?; far; grep -c ' far/.*nothing is removed while' e
      "$BP" copy -q --checksum --copy-keep-last 1 set far; echo $?; check far
      """)
    #expect(run.text == "3\n 3 manifest 3 tar.zst \n1\n0\nrestored\n", "\(run.text)\(run.errorText)")
  }

  @Test(
    "copies of another set with the same name are neither replaced nor removed (1)",
    arguments: Self.hasRclone ? ["far", "off:far"] : ["far"])
  func otherSet(remote: String) throws {
    let run = try run(
      """
      printf '[off]\\ntype = alias\\nremote = %s\\n' "$PWD" >rclone.conf; cp -r src other
      for s in set2 set3; do "$BP" backup -q --to $s other; done; sleep 1.1; back_up; back_up
      copy() { "$BP" copy -q "$@" 2>>errors; echo $?; }
      copy set \(remote); cmp set/.backup.id far/.backup.copy; cp -a far good; copy set2 \(remote) --copy-keep-last 1; diff -r far good
      "$BP" backup -q --to set2 --copy-to \(remote) --copy-keep-last 1 other 2>>errors; echo $?; diff -r far good
      rm far/.backup.copy good/.backup.copy; copy set3 \(remote) --copy-keep-last 1; diff -r far good
      f=$(ls far/*.manifest | tail -1); sed -i 's/"increment":1/"increment":2/' $f; copy set \(remote) --checksum; cp good/*.manifest far
      copy set \(remote) --copy-keep-last 1; cmp set/.backup.id far/.backup.copy; copy far far2; copy set far2; copy set2 far2; check far2
      "$BP" backup -q --to far other; copy set \(remote)
      """)
    #expect(
      run.text == "0\n1\n3\n1\n1\n0\n0\n0\n1\nrestored\n1\n", "\(run.text)\(run.errorText)")
    let errors = try t.shell("cat errors").text.split(separator: "\n")
    func count(_ text: String) -> Int { errors.count { $0.contains(text) } }
    #expect(
      count("belong to another set: ") == 4 && count("belong to another set, since") == 1
        && count("is not the manifest") == 1, "\(errors)")
  }

  @Test("files that do not belong to the set are kept, and so is the last verified snapshot")
  func foreign() throws {
    let run = try run(
      """
      mkdir far; echo mine >far/notes; echo mine >far/other-20200101T000000Z.manifest; back_up; back_up --no-verify --full
      "$BP" copy -q --copy-keep-last 1 set far; echo $?; ls far | grep -c Z; cat far/notes far/other*
      """)
    #expect(run.text == "0\n5\nmine\nmine\n", "\(run.text)\(run.errorText)")
  }

  @Test("backup --copy-to ends with 3 when the copy fails, and keeps the snapshot")
  func afterBackup() throws {
    let run = try run(
      """
      back_up --copy-to far; echo $?; far; back_up --copy-to far --copy-keep-last 1 --full; echo $?; far; echo x >file
      back_up --copy-to file/far 2>/dev/null; echo $?; ls set/*.manifest | wc -l
      """)
    #expect(
      run.text == "0\n 1 manifest 1 tar.zst \n0\n 1 manifest 1 tar.zst \n3\n3\n",
      "\(run.text)\(run.errorText)")
  }

  @Test(
    "a remote of rclone can be copied to, listed, restored, drilled and pruned",
    .enabled(if: Self.hasRclone, "rclone is not installed"))
  func rclone() throws {
    let run = try run(
      """
      mkdir base; printf '[off]\\ntype = alias\\nremote = %s\\n' "$PWD/base" >rclone.conf
      back_up; back_up; "$BP" copy -q set off:far; echo $?; far base/far; "$BP" snapshots off:far | wc -l; check off:far
      "$BP" drill -q --all off:far; echo $?; back_up --full; "$BP" copy -q --copy-keep-last 1 set off:far; echo $?; far base/far; check off:far
      "$BP" copy -q set nowhere:far 2>&1 | grep -c 'rclone: '; ls /tmp | grep -c 'batchproc-remote'
      """)
    #expect(
      run.text
        == "0\n 2 manifest 2 tar.zst \n2\nrestored\n0\n0\n 1 manifest 1 tar.zst \nrestored\n1\n0\n",
      "\(run.text)\(run.errorText)")
  }

  /// A program in place of rclone that serves the directory `evil`, and also lists the line in `LISTED`.
  private static let falseRclone = #"""
    mkdir -p bin evil; cat >bin/rclone <<'EOF'
    #!/bin/sh
    while [ $# -gt 0 ]; do case $1 in
      lsf|copyto|cat|hashsum|deletefile) call=$1 ;; --offset) offset=$2 ;; --count) count=$2 ;; --) shift; break ;; esac; shift; done
    case $call in
      lsf) cd "$EVIL"; for f in *; do [ -f "$f" ] && echo "$(stat -c %s "$f");$f"; done; printf '%s\n' "$LISTED" ;;
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
      back_up; "$BP" copy -q set off:far; echo $?; before=$(find . -name tmp -prune -o -print | sort)
      export LISTED="100;\(name)"; "$BP" snapshots off:far | wc -l; [ "$before" = "$(find . -name tmp -prune -o -print | sort)" ] || echo changed
      check off:far; "$BP" copy -q --copy-keep-last 1 set off:far; echo $?; find tmp -mindepth 1; find . -name '*evil.manifest' -o -name '[-xy]*-2020*'
      """)
    #expect(run.text == "0\n1\nrestored\n0\n", "\(run.text)\(run.errorText)")
  }

  @Test(
    "of a remote archive, only the index and the needed parts are fetched, each once",
    .enabled(if: Self.hasRclone, "rclone is not installed"), arguments: ["", "-i key"])
  func parts(keys: String) throws {
    let run = try run(
      """
      umask 077; "$BP" keygen -o key >recipient; mkdir base bin; printf '[off]\ntype = alias\nremote = %s\n' "$PWD/base" >rclone.conf
      head -c 16000000 /dev/urandom >src/noise; seq 3000 >src/z; back_up \(keys == "" ? "" : "--encrypt-to-file recipient"); "$BP" copy -q set off:far
      printf '#!/bin/sh\necho "$@" >>%s/calls\nexec %s "$@"\n' "$PWD" "$(command -v rclone)" >bin/rclone; chmod +x bin/rclone; PATH=$PWD/bin:$PATH
      "$BP" restore -q \(keys) --from off:far -C one '*/z'; echo $?; cmp src/z one$PWD/src/z && echo same
      fetched() { grep ' cat ' calls | sed 's/.*--count //; s/ .*//' | paste -sd +; }
      test $(($(fetched))) -le 3000000 && echo few; grep -c 'copyto.*tar.zst' calls; size=$(cat base/far/*.tar.zst* | wc -c)
      for j in 1 2 7; do rm calls; "$BP" restore -q -j $j \(keys) --from off:far -C all$j; echo $?; diff -r src all$j$PWD/src && echo same
        test $(($(fetched))) -le $size && echo once; done; "$BP" restore -C x 2>&1 | head -1
      cp -r base/far broken; printf damaged | dd of=$(ls broken/*.tar.zst*) bs=1 seek=8000000 conv=notrunc status=none
      printf '[off]\ntype = alias\nremote = %s\n' "$PWD" >rclone.conf; "$BP" restore -q \(keys) --from off:broken -C bad; echo $?; ls bad$PWD/src
      truncate -s 5000000 base/far/*.tar.zst*; "$BP" restore -q \(keys) --from off:base/far -C short 2>/dev/null; echo $?; ls $TMPDIR | grep -c batchproc-rem
      """)
    #expect(
      run.text == """
        0
        same
        few
        0
        \((0..<3).map { _ in "0\nsame\nonce" }.joined(separator: "\n"))
        batchproc: missing expected argument '<directory>': where the snapshots are.
        5
        1
        2
        3
        new
        z
        5
        0

        """, "\(run.text)\(run.errorText)")
  }

  @Test(
    "an encrypted set is copied without a key and restored with it, and contains no plain name",
    .enabled(if: Self.hasRclone, "rclone is not installed"))
  func encrypted() throws {
    let run = try run(
      """
      umask 077; "$BP" keygen -o key >recipient; printf '[off]\\ntype = alias\\nremote = %s\\n' "$PWD/base" >rclone.conf; mkdir base
      echo text >src/secretname; for i in 1 2; do back_up --encrypt-to "$(cat recipient)" --copy-to off:far; done; far base/far
      check off:far -i key; "$BP" drill -q --all -i key off:far; echo $?; grep -rl secretname base; "$BP" snapshots off:far | grep -c encrypted
      """)
    #expect(
      run.text == " 2 companion 2 manifest.age 2 tar.zst.age \nrestored\n0\n2\n",
      "\(run.text)\(run.errorText)")
  }

  @Test(
    "the next copy finishes one that was killed, and no incomplete snapshot looks complete",
    .enabled(if: Self.hasRclone, "rclone is not installed"))
  func killed() throws {
    let run = try run(
      """
      printf '[off]\\ntype = alias\\nremote = %s\\n' "$PWD/base" >rclone.conf; mkdir base
      for i in 1 2 3; do head -c 3000000 /dev/urandom >src/large; back_up; done
      for i in $(seq \(Campaign.cases(50))); do
        test $((i % 5)) = 0 && rm -rf base/far far; for r in off:far far; do
          timeout -s KILL 0.$((RANDOM % 8 + 1)) "$BP" copy -q set $r 2>/dev/null
          d=base/far; test $r = far && d=far; test -d $d || continue; ls $d | grep -q manifest || continue
          "$BP" snapshots -q $d >/dev/null 2>&1; test $? = 0 || test $r != far || echo incomplete
          for m in $(ls $d | grep 'manifest$'); do cmp -s $d/$m set/$m || continue
            "$BP" restore -q --at $(echo $m | grep -o '[0-9TZ]*Z') -C out.$i $d || echo damaged; rm -rf out.$i; done
        done
      done; "$BP" copy -q set off:far && check off:far
      """, seconds: 280)
    #expect(run.text == "restored\n", "\(run.text)\(run.errorText)")
  }

  @Test("copies follow separate retention rules, in a backup and in copy")
  func retention() throws {
    let run = try run(
      """
      back_up; back_up
      "$BP" backup -q --to set --copy-to far --copy-keep-last 2 --copy-keep-daily 1 --copy-keep-weekly 1 --copy-keep-monthly 1 --copy-keep-yearly 1 --append-only src
      ls far/*.manifest | wc -l; ls set/*.manifest | wc -l
      "$BP" copy -q --copy-keep-last 1 --copy-keep-daily 1 --copy-keep-weekly 1 --copy-keep-monthly 1 --copy-keep-yearly 1 --append-only set far; echo $?
      ls far/*.manifest | wc -l
      """)
    #expect(run.text == "2\n3\n0\n1\n", "\(run.text)\(run.errorText)")
  }

  @Test(
    "a remote that refuses removals is reported once, and is no failure with --append-only; damage is one",
    .enabled(if: Self.hasRclone))
  func refusals() throws {
    let run = try run(
      """
      mkdir bin; cat >bin/rclone <<'E'
      #!/bin/sh
      case "$*" in *deletefile*) echo "AccessDenied: the object is locked" >&2; exit 1 ;; esac
      PATH=${PATH#*:} exec rclone "$@"
      E
      chmod +x bin/rclone; PATH=$PWD/bin:$PATH; mkdir far
      printf '[far]\ntype = alias\nremote = %s\n' "$PWD/far" >rclone.conf; export RCLONE_CONFIG=$PWD/rclone.conf
      back_up; back_up; back_up
      "$BP" copy -q set far:; "$BP" copy --copy-keep-last 1 set far: >/dev/null 2>e; echo $?; grep -c AccessDenied e
      "$BP" copy --copy-keep-last 1 --append-only set far: >/dev/null 2>e; echo $?; grep -c AccessDenied e; ls far/*.manifest | wc -l
      f=$(ls far/*.manifest | head -1); printf damaged | dd of=$f bs=1 seek=40 conv=notrunc status=none
      "$BP" copy --copy-keep-last 1 --append-only set far: >/dev/null 2>&1; echo $?
      """)
    #expect(run.text == "3\n1\n0\n1\n3\n3\n", "\(run.text)\(run.errorText)")
  }
}
