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
      mkdir -p p/docs/deep; echo sec >p/docs/security.md; echo d >p/docs/deep/note.md; echo t >p/docs/text; ln p/docs/text p/hard; ln -s docs p/link
      $BP archive -q -o p.tar.zst p; $BP backup -q --to bk p
      """)
    try #require(made.status == 0, "\(made.errorText)")
  }

  @Test("a pattern without a match suggests a path with the same end")
  func suggestions() throws {
    let run = try t.shell(
      """
      root=${PWD#/}; $BP restore -q bk -C r p/docs/text 2>&1 | sed "s|$root/||"; $BP restore -q bk -C r text; echo $?
      $BP extract -q p.tar.zst docs/security.md 2>&1; $BP list -q p.tar.zst deep/note.md/ 2>&1; $BP extract -q p.tar.zst nosuch 2>&1; $BP extract -q -O p.tar.zst deep/note.md 2>&1; echo $?
      """)
    #expect(
      run.text
        == """
        batchproc: p/docs/text: nothing in the snapshot matches (did you mean 'p/docs/text'?)
        0
        batchproc: docs/security.md: no member of the archive matches (did you mean 'p/docs/security.md'?)
        batchproc: deep/note.md/: no member of the archive matches (did you mean 'p/docs/deep/note.md'?)
        batchproc: nosuch: no member of the archive matches
        batchproc: deep/note.md: no member of the archive matches (did you mean 'p/docs/deep/note.md'?)
        1

        """,
      "\(run.text)\(run.errorText)")
  }

  @Test("wildcards match slashes in archives and snapshots")
  func wildcards() throws {
    let run = try t.shell(
      """
      $BP extract -q -C x1 p.tar.zst '*/security.md'; $BP list -q p.tar.zst 'p/*.md'; $BP restore -q bk -C x2 '*/deep/*'; (cd x2; find . -type f | sed "s|.*$OLDPWD/||")
      tar --zstd -tf p.tar.zst --wildcards '*/security.md' 'p/*.md'; find x1 -type f
      """)
    #expect(
      run.text
        == "p/docs/security.md\np/docs/deep/note.md\np/docs/deep/note.md\np/docs/security.md\np/docs/deep/note.md\nx1/p/docs/security.md\n",
      "\(run.text)\(run.errorText)")
  }

  @Test("--dry-run shows the files of a restore, and --strip-components drops the folders of the sources")
  func dry() throws {
    let run = try t.shell(
      """
      depth=$(echo ${PWD#/} | tr / '\\n' | wc -l); mkdir out; echo mine >out/security.md
      $BP restore -n bk -C out --strip-components $((depth + 2)) 2>error | sort; grep -o 'would restore.*Z: [0-9]* files' error | sed 's/2[0-9T]*Z/ID/'; ls out
      $BP restore -q bk -C out --strip-components $((depth + 2)) 2>&1 | sed "s| (.*||; s|${PWD#/}/||"; (cd out; find . -type f | sort; cat security.md)
      $BP restore -q bk -C all --strip-components $depth; [ all/p/hard -ef all/p/docs/text ] && diff -r --no-dereference p all/p; echo $?
      $BP restore -q -n bk -C none | sed "s|${PWD#/}/||" | sort; [ -e none ]; echo $?
      """)
    #expect(
      run.text == """
        out/deep
        out/deep/note.md
        out/security.md: kept
        out/text
        would restore ID: 2 files
        security.md
        batchproc: p/docs/security.md: exists already
        ./deep/note.md
        ./security.md
        ./text
        mine
        0
        none/p
        none/p/docs
        none/p/docs/deep
        none/p/docs/deep/note.md
        none/p/docs/security.md
        none/p/docs/text
        none/p/hard
        none/p/link
        1

        """, "\(run.text)\(run.errorText)")
  }

  @Test("options of restic are answered with ours")
  func restic() throws {
    let run = try t.shell(
      """
      for call in "restore bk --target out" "restore bk -C out --snapshot latest" "restore bk -C out --include x" "verify bk --read-data-subset=1/5"; do $BP $call 2>&1 | head -n 1; done
      $BP restore latest -C out 2>&1; $BP restore -q bk -C out latest 2>&1
      """)
    #expect(
      run.text == """
        batchproc: '--target': use -C DIR.
        batchproc: '--snapshot': use --at ID; the newest one is the default.
        batchproc: '--include': name the files after the directory of the snapshots.
        batchproc: '--read-data-subset': use --share 1/30.
        batchproc: latest: cannot open the folder: No such file or directory (the directory of the snapshots comes first: 'batchproc restore DIR --at latest')
        batchproc: latest: nothing in the snapshot matches (the newest snapshot is the default; another one: --at ID)

        """, "\(run.text)\(run.errorText)")
  }

  @Test(
    "a second backup at once says why files are archived again; list -v is list -l; verify is brief"
  )
  func small() throws {
    let run = try t.shell(
      """
      mkdir now; echo x >now/x; $BP backup -q --no-fsync --to s now; $BP backup --no-fsync --to s now 2>&1 | grep -o '[0-9]* archived again: changed shortly before the last backup'
      $BP list -v p.tar.zst 2>/dev/null | cmp - <($BP list -l p.tar.zst 2>/dev/null); echo $?
      $BP verify p.tar.zst 2>&1 | wc -l; $BP verify -v p.tar.zst 2>&1 | grep -c 'SHA-256 of the index'
      """)
    #expect(
      run.text.contains("1 archived again: changed shortly before the last backup\n0\n1\n1\n"),
      "\(run.text)\(run.errorText)")
  }
}
