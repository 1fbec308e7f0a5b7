import BatchEngine
import Foundation
import TestSupport
import Testing

/// Ways to restore a part of a snapshot or archive, and to preview a restore.
@Suite(.timeLimit(.minutes(2))) struct RestoreChoiceTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    let made = try t.shell(
      """
      mkdir -p p/docs/deep
      echo sec >p/docs/security.md
      echo d >p/docs/deep/note.md
      echo t >p/docs/text
      ln p/docs/text p/hard
      ln -s docs p/link
      $BP archive -q -o p.tar.zst p
      $BP backup -q --to bk p
      """)
    try #require(made.status == 0, "\(made.errorText)")
  }

  @Test("a pattern without a match suggests a path with the same end")
  func suggestions() throws {
    let run = try t.shell(
      """
      \(Steps.functions)
      root=${PWD#/}
      $BP restore -q bk -C r p/docs/text 2>&1 | sed "s|$root/||" | says "restore of the end of a path"
      ends "restore of a name" $BP restore -q bk -C r text
      $BP extract -q p.tar.zst docs/security.md 2>&1 | says "extract of the end of a path"
      $BP list -q p.tar.zst deep/note.md/ 2>&1 | says "list of the end of a path"
      $BP extract -q p.tar.zst nosuch 2>&1 | says "extract of no path"
      ends "extract to standard output" $BP extract -q -O p.tar.zst deep/note.md 2>error
      says "its message" <error
      """)
    let none = "no member of the archive matches"
    run.expectSteps([
      "restore of the end of a path":
        "batchproc: p/docs/text: nothing in the snapshot matches (did you mean 'p/docs/text'?)",
      "restore of a name": "0",
      "extract of the end of a path":
        "batchproc: docs/security.md: \(none) (did you mean 'p/docs/security.md'?)",
      "list of the end of a path":
        "batchproc: deep/note.md/: \(none) (did you mean 'p/docs/deep/note.md'?)",
      "extract of no path": "batchproc: nosuch: \(none)",
      "extract to standard output": "1",
      "its message": "batchproc: deep/note.md: \(none) (did you mean 'p/docs/deep/note.md'?)",
    ])
  }

  @Test("wildcards match slashes in archives and snapshots")
  func wildcards() throws {
    let run = try t.shell(
      """
      \(Steps.functions)
      $BP extract -q -C x1 p.tar.zst '*/security.md'
      (cd x1; find . -type f) | says "extract"
      $BP list -q p.tar.zst 'p/*.md' | says "list"
      tar --zstd -tf p.tar.zst --wildcards '*/security.md' 'p/*.md' | says "the same by tar"
      $BP restore -q bk -C x2 '*/deep/*'
      (cd x2$PWD; find . -type f) | says "restore"
      """)
    run.expectSteps([
      "extract": "./p/docs/security.md",
      "list": "p/docs/security.md p/docs/deep/note.md",
      "the same by tar": "p/docs/security.md p/docs/deep/note.md",
      "restore": "./p/docs/deep/note.md",
    ])
  }

  private static let names = [
    "Photo [2024].jpg", "[abc].txt", "[.txt", #"b\c"#, "*", "x?", "{p}", "!bang", "dir[1]", "dir[1]/",
    "README",
  ]

  @Test("a text that is exactly a name chooses that name, and a glob is the second meaning")
  func exactNames() throws {
    let made = try t.shell(
      #"""
      mkdir -p n/sub 'n/dir[1]' n/dir1
      cd n
      for f in 'Photo [2024].jpg' 'Photo 2.jpg' '[abc].txt' a.txt '[.txt' 'b\c' bc '*' 'x?' xy '{p}' p '!bang' bang \
        README sub/README 'dir[1]/f' dir1/f; do
        echo "$f" >"$f"
      done
      $BP archive -q -o ../i.tar.zst *
      $BP archive -q -o ../i.zip *
      tar -cf ../s.tar *
      gzip -k ../s.tar
      cd ..
      $BP backup -q --to nb n
      """#)
    try #require(made.status == 0, "\(made.errorText)")
    for name in Self.names {
      try t.file("name", name)
      // Each comparison that fails prints its name.
      let run = try t.shell(
        #"""
        name=$(cat name)
        escaped=${name//\\/\\\\}
        at=${PWD#/}/n
        want=${name%/}
        [ -d "n/$want" ] && want="$want/f"
        # only_file FOLDER: the wanted file is the only one there.
        only_file() { (cd "$1"; find . -type f | diff - <(echo "./$want")); }
        # only_name PREFIX: the input lists, apart from folders, only the wanted name.
        only_name() { tr '\0' '\n' | grep -v '/$' | diff - <(echo "$1$want"); }
        rm -rf o
        for a in i.tar.zst i.zip s.tar s.tar.gz; do
          $BP extract -q -C o $a "$name" || echo status $?
          only_file o && cmp "o/$want" "n/$want" || echo "extract from $a"
          rm -r o
          $BP list -qz $a "$name" | only_name "" || echo "list of $a"
          $BP extract -qO $a "$name" | cmp - "n/$want" || echo "extract from $a to standard output"
          cat $a | $BP extract -q --escaped -C o - "$escaped" || echo status $?
          only_file o || echo "extract from the stream $a"
          rm -r o
        done
        $BP list -qz --no-index i.tar.zst "$name" | only_name "" || echo "list without index"
        $BP restore -q nb -C o "$at/$name" || echo status $?
        only_file "o/$at" || echo restore
        $BP snapshots -qz nb --list latest "$at/$name" | only_name "$at/" || echo "list of the snapshot"
        $BP snapshots -qz nb --find "$name" | tr '\0' '\n' | grep -cF "$at/$name" >found
        $BP snapshots -qz nb --escaped --find "${at//\\/\\\\}/$escaped" | tr '\0' '\n' | wc -l >found-escaped
        """#)
      #expect(run.text == "" && run.errorText == "", "\(name): \(run.text)\(run.errorText)")
      #expect(t.text("found") == "1\n", "\(name)")
      #expect(t.text("found-escaped") == "1\n", "\(name)")
    }
  }

  @Test(
    "in a stream, a name behind members that match it as a glob is an error, and the next ones are left out")
  func streamedNames() throws {
    let run = try t.shell(
      """
      \(Steps.functions)
      mkdir n
      cd n
      for f in 'a[1]' a1 'b[1]' b1; do echo "$f" >"$f"; done
      tar -cf ../s.tar a1 'a[1]' 'b[1]' b1
      cd ..
      # reads NAME COMMAND...: gives the archive to a command as a stream.
      reads() {
        local name=$1
        shift
        cat s.tar | ends "$name" $BP "$@" >output
        says "its output" <output
      }
      reads "list of the later name" list -q - 'a[1]'
      reads "list of the earlier name" list -q - 'b[1]'
      reads "extract of the later name" extract -qO - 'a[1]'
      reads "extract of a glob" extract -q -C o - '[ab][1]'
      ls o | says "files of the glob"
      """)
    run.expectSteps([
      "list of the later name": "3", "its output": "a1 a[1]",
      "list of the earlier name": "0", "its output": "b[1]",
      "extract of the later name": "3", "its output": "a1 a[1]",
      "extract of a glob": "0", "its output": "", "files of the glob": "a1 b1",
    ])
    #expect(run.errorText.contains("a[1]: is a name, but earlier members"), "\(run.errorText)")
  }

  @Test("names are accepted as they are printed, with --escaped, and suggestions lead to their file")
  func escapedNames() throws {
    let run = try t.shell(
      #"""
      \#(Steps.functions)
      mkdir n
      for f in $'new\nline' 'b\c' $'\x01' $'k\xff' '[abc].txt' a.txt; do echo "$f" >"n/$f"; done
      $BP archive -q -o n.tar.zst n
      $BP backup -q --to nb n
      cp nb/*.manifest.zst m
      $BP list -q n.tar.zst | grep -v '/$' >names
      while IFS= read -r f; do
        $BP extract -q --escaped -C o n.tar.zst "$f" || echo "no member $f"
        $BP restore -q nb -C r --escaped "${PWD#/}/$f" || echo "no file $f"
        $BP snapshots -q nb --escaped --find "$f" | wc -l
      done <names | says "found by each name"
      ends "extracted files" diff -r n o/n
      ends "restored files" diff -r n r/$PWD/n
      ends "wrong escape" $BP list --escaped n.tar.zst '\q' 2>/dev/null
      $BP snapshots -z nb 2>&1 | head -n 1 | says "snapshots -z"
      $BP list --null n.tar.zst 2>&1 | head -n 1 | says "list --null"
      $BP restore -q nb -C s 'n/[abc].txt' 2>&1 | sed "s|${PWD#/}/||" | says "suggestion"
      $BP list -q n.tar.zst 'b\\c' 2>&1 | says "backslash in a glob"
      """#)
    run.expectSteps([
      "found by each name": "1 1 1 1 1 1", "extracted files": "0", "restored files": "0",
      "wrong escape": "64", "snapshots -z": "batchproc: --zero needs --find or --list.",
      "list --null": "batchproc: '--null': use --zero.",
      "suggestion":
        "batchproc: n/[abc].txt: nothing in the snapshot matches (did you mean 'n/[abc].txt'?)",
      "backslash in a glob": #"n/b\\c"#,
    ])
  }

  @Test(
    "folders on the way to a chosen file are those of the snapshot; folders above a source are private",
    .enabled(if: Host.isRoot))
  func foldersOnWay() throws {
    let run = try t.shell(
      """
      \(Steps.functions)
      umask 022
      mkdir -p top/s/priv/deep
      echo x >top/s/priv/f
      echo y >top/s/priv/deep/g
      touch -d @2000000 top/s/priv/f
      chown 1234:1235 top/s top/s/priv
      chmod 750 top/s
      chmod 700 top/s/priv
      setfacl -m u:77:rx top/s/priv
      setfattr -n user.n -v v top/s/priv
      touch -d @1000000 top/s/priv top/s
      $BP backup -q --no-fsync --to b top/s
      echo z >top/s/new
      touch -d @1000000 top/s
      $BP backup -q --no-fsync --to b top/s
      at=${PWD#/}/top/s
      $BP restore b -C o $at/priv/f 2>&1 | grep -o ': [0-9]* file, [0-9]* B' | says summary
      (cd o/$at; find . -printf '(%m %U:%G %Ts %y %P)\\n') | says restored
      (cd o/$at; getfacl -cn priv) | grep user:77 | says "access list on the way"
      (cd o/$at; getfattr --only-values -n user.n priv) | says "attribute on the way"
      stat -c '%a %u' o/$at/.. | says "above the source"
      mkdir -p e/$at/priv
      chmod 777 e/$at/priv
      touch -d @5 e/$at/priv
      $BP restore -q --force -C e b $at/priv/deep/g
      (cd e/$at; find . -printf '(%m %U:%G %y %P)\\n') | says "restored into existing folders"
      $BP restore -q -C t --strip-components $(echo $at | tr / '\\n' | wc -l) b $at/priv/f
      (cd t; find . -mindepth 1 -printf '(%m %U:%G %Ts %y %P)\\n') | says "restored without the folders above"
      $BP restore -nq -C d b $at/priv/f | grep -c . | says "lines of a dry run"
      $BP restore -q -C a b
      stat -c '%a' a/$at a/$at/.. | says "source and above, of the whole snapshot"
      """)
    run.expectSteps([
      "summary": ": 1 file, 2 B",
      "restored":
        "(750 1234:1235 1000000 d ) (750 1234:1235 1000000 d priv) (644 0:0 2000000 f priv/f)",
      "access list on the way": "user:77:r-x", "attribute on the way": "v", "above the source": "700 0",
      "restored into existing folders":
        "(755 0:0 d ) (777 0:0 d priv) (755 0:0 d priv/deep) (644 0:0 f priv/deep/g)",
      "restored without the folders above":
        "(750 1234:1235 1000000 d priv) (644 0:0 2000000 f priv/f)",
      "lines of a dry run": "1", "source and above, of the whole snapshot": "750 700",
    ])
  }

  @Test("--dry-run shows the files of a restore, and --strip-components drops the folders of the sources")
  func dry() throws {
    let run = try t.shell(
      """
      \(Steps.functions)
      depth=$(echo ${PWD#/} | tr / '\\n' | wc -l)
      mkdir out
      echo mine >out/security.md
      $BP restore -n bk -C out --strip-components $((depth + 2)) 2>error | sort | says "dry run"
      grep -o 'would restore.*Z: [0-9]* files' error | sed 's/2[0-9T]*Z/ID/' | says "summary"
      ls out | says "afterwards"
      $BP restore -q bk -C out --strip-components $((depth + 2)) 2>&1 | sed "s| (.*||; s|${PWD#/}/||" |
        says "message of the restore"
      (cd out; find . -type f | sort) | says "restored"
      says "existing file" <out/security.md
      $BP restore -q bk -C all --strip-components $depth
      ends "hard link" test all/p/hard -ef all/p/docs/text
      ends "all of the source" diff -r --no-dereference p all/p
      $BP restore -q -n bk -C none | sed "s|${PWD#/}/||" | sort | says "dry run of all"
      ends "folder of a dry run" test -e none
      """)
    run.expectSteps([
      "dry run": "out/deep out/deep/note.md out/security.md: kept out/text",
      "summary": "would restore ID: 2 files", "afterwards": "security.md",
      "message of the restore": "batchproc: p/docs/security.md: exists already",
      "restored": "./deep/note.md ./security.md ./text", "existing file": "mine",
      "hard link": "0", "all of the source": "0",
      "dry run of all":
        "none/p none/p/docs none/p/docs/deep none/p/docs/deep/note.md none/p/docs/security.md "
        + "none/p/docs/text none/p/hard none/p/link",
      "folder of a dry run": "1",
    ])
  }

  @Test("options of restic are answered with ours")
  func restic() throws {
    let run = try t.shell(
      """
      \(Steps.functions)
      # answers COMMAND...: the first line that a command prints.
      answers() { $BP "$@" 2>&1 | head -n 1 | says "$*"; }
      answers restore bk --target out
      answers restore bk -C out --snapshot latest
      answers restore bk -C out --include x
      answers verify bk --read-data-subset=1/5
      $BP restore latest -C out 2>&1 | says "latest as the directory"
      $BP restore -q bk -C out latest 2>&1 | says "latest as a path"
      """)
    run.expectSteps([
      "restore bk --target out": "batchproc: '--target': use -C DIR.",
      "restore bk -C out --snapshot latest":
        "batchproc: '--snapshot': use --at ID; the newest one is the default.",
      "restore bk -C out --include x":
        "batchproc: '--include': name the files after the directory of the snapshots.",
      "verify bk --read-data-subset=1/5": "batchproc: '--read-data-subset': use --share 1/30.",
      "latest as the directory":
        "batchproc: latest: cannot open the folder: No such file or directory "
        + "(the directory of the snapshots comes first: 'batchproc restore DIR --at latest')",
      "latest as a path":
        "batchproc: latest: nothing in the snapshot matches "
        + "(the newest snapshot is the default; use --at ID for another one)",
    ])
  }

  @Test(
    "a second backup at once says why files are archived again; list -v is list -l; verify is brief"
  )
  func small() throws {
    let run = try t.shell(
      """
      \(Steps.functions)
      mkdir now
      echo x >now/x
      $BP backup -q --no-fsync --to s now
      $BP backup --no-fsync --to s now 2>&1 |
        counts "reason of the second backup" '1 read again: changed shortly before the last backup'
      ends "list -v is list -l" cmp <($BP list -v p.tar.zst 2>/dev/null) <($BP list -l p.tar.zst 2>/dev/null)
      $BP verify p.tar.zst 2>&1 | wc -l | says "lines of verify"
      $BP verify -v p.tar.zst 2>&1 | counts "index in verify -v" 'SHA-256 of the index'
      """)
    run.expectSteps([
      "reason of the second backup": "1", "list -v is list -l": "0", "lines of verify": "1",
      "index in verify -v": "1",
    ])
  }

  @Test("dropping all names of each path is an error, with the reason")
  func strippedAll() throws {
    let run = try t.shell(
      """
      \(Steps.functions)
      ends "all names of all paths" $BP restore bk -C out --strip-components 20 2>err
      counts reason 'no chosen path has more than the 20 leading names' <err
      ends "a dry run" $BP restore -q -n bk -C out --strip-components 20 2>/dev/null
      ends "a glob" $BP restore -q bk -C out --strip-components 20 '*.md' 2>/dev/null
      """)
    run.expectSteps(["all names of all paths": "1", "reason": "1", "a dry run": "1", "a glob": "1"])
  }
}
