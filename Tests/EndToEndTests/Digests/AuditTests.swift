import BatchEngine
import Foundation
import Glibc
import TestSupport
import Testing

/// `audit` on manifests of every form, and `drill`.
@Suite(.timeLimit(.minutes(3))) struct AuditTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    try t.copy("audited-tree") { try Self.makeTree(in: $0) }
  }

  private static func makeTree(in t: TreeFixture) throws {
    let made = try t.shell(
      """
      mkdir -p src/a src/b
      for i in $(seq 30); do seq $i $((i * 30)) >src/a/f$i; done
      ln -s a src/link
      head -c 18M /dev/urandom >src/b/big
      : >src/empty
      cat >rot.py <<'END'
      import os, sys
      for path in sys.argv[1:]:
          before = os.stat(path)
          with open(path, 'r+b') as file:
              file.seek(2)
              byte = file.read(1)
              file.seek(2)
              file.write(bytes([byte[0] ^ 1]))
          os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
      END
      """)
    try #require(made.status == 0)
  }

  private static let changes = """
    python3 rot.py src/a/f10
    echo more >>src/a/f9
    mv src/a/f11 src/b/moved
    cp src/a/f12 src/b/copied
    rm src/a/f13
    echo new >src/a/new
    touch src/a/f14
    chmod 600 src/a/f15
    rm src/a/f16
    mkdir src/a/f16
    """

  @Test("a backup manifest: every class of difference", .enabled(if: Host.hasPython))
  func snapshot() throws {
    let run = try t.shell(
      """
      \(Steps.functions)
      $BP backup -q --to set src
      ends "without changes" $BP audit -q set/*.manifest.zst /
      \(Self.changes)
      ends "with changes" $BP audit -q set/*.manifest.zst / >found
      sed "s|${PWD#/}/src/||g; s| ([mcsk][^)]*)||" found | grep -v METADATA | says differences
      counts "difference of a mode" 'f15: METADATA (mode 0644 -> 0600)' <found
      $BP audit --json set/*.manifest.zst / | counts "rot in JSON" '"class":"rot"'
      """)
    run.expectSteps([
      "without changes": "0", "with changes": "4",
      "differences":
        "a/f10: ROT a/f14: TOUCHED a/f16: TYPE a/f9: MODIFIED a/f13: MISSING a/new: NEW "
        + "b/copied: COPIED (from a/f12) b/moved: MOVED (from a/f11)",
      "difference of a mode": "1", "rot in JSON": "1",
    ])
  }

  @Test(
    "manifests of stock tools and ours are compared with a tree", .enabled(if: Host.hasPython),
    arguments: [
      ("(cd src; find . -type f | sort | xargs sha256sum) >m", "./", false),
      ("(cd src; find . -type f | sort | xargs b2sum) >m", "./", false),
      ("(cd src; find . -type f | sort | xargs sha256sum --tag) >m", "./", false),
      ("rm src/link; (cd src; hashdeep -c sha256 -rl .) >m", "./", false),
      ("(cd src; bsdtar -cf - --format=mtree --options=sha256 a b empty) >m", "./", true),
      ("(cd src; $BP hash --format json a b empty) >m", "", true),
      ("(cd src; $BP hash --format mtree a b empty) >m", "./", true),
    ])
  func forms(make: String, prefix: String, hasTimes: Bool) throws {
    let run = try t.shell(
      """
      \(Steps.functions)
      \(make)
      ends "without changes" $BP audit -q m src
      \(Self.changes)
      ends "with changes" $BP audit -q m src >found
      sed -i 's|^\\./||; s| (from \\./| (from |; s| ([mcsk][^)]*)||' found
      """)
    run.expectSteps(["without changes": "0", "with changes": "4"])
    var expected = [
      "a/f9: MODIFIED", "a/f13: MISSING", "b/copied: COPIED (from a/f12)", "b/moved: MOVED (from a/f11)",
      "a/new: NEW", "a/f16: TYPE", hasTimes ? "a/f10: ROT" : "a/f10: MODIFIED",
    ]
    if hasTimes { expected.append("a/f14: TOUCHED") }
    let found = (t.text("found") ?? "").split(separator: "\n").map(String.init)
    #expect(Set(found) == Set(expected), "\(found)\(run.errorText)")
  }

  @Test(
    "--update does not replace the rows of a folder that has no file now",
    arguments: [
      (".", "src", "rm -r src/a src/b src/empty"), ("src", ".", "mv src away; mkdir -p src/lost+found"),
      ("src", ".", "mv src away"), ("-C src a b", "src", "rm src/b/*"), ("-C src a b", "src", "rm -r src/b"),
    ])
  func emptyFolder(_ place: (names: String, folder: String, change: String)) throws {
    let (names, folder, change) = place
    let make =
      switch names {
      case ".": "(cd src && $BP hash -q . >../m)"
      case "src": "$BP hash -q src >m"
      default: "(cd src && $BP hash -q a b >../m)"
      }
    let run = try t.shell(
      """
      \(Steps.functions)
      \(make)
      cp m old
      \(change)
      ends update $BP audit -q --update m \(folder) >/dev/null
      ends "manifest is the same" cmp m old
      """)
    run.expectSteps(["update": "4", "manifest is the same": "0"])
    #expect(run.errorText.contains("but that directory has no files any more"), "\(run.errorText)")
  }

  @Test(
    "--update accepts that all files of a folder were moved elsewhere, and that a folder of several was removed"
  )
  func emptiedFolder() throws {
    let run = try t.shell(
      """
      \(Steps.functions)
      (cd src && $BP hash -q a b >../m; $BP hash -q . >../all)
      mv src/b/big src/a/big
      ends "update after a move" $BP audit -q --update m src >found
      counts "new name in the manifest" a/big <m
      rm -r src/b
      $BP audit -q --update all src | counts "moved files" MOVED
      counts "old name in the manifest" b/big <all
      """)
    run.expectSteps([
      "update after a move": "4", "new name in the manifest": "1", "moved files": "1",
      "old name in the manifest": "0",
    ])
  }

  @Test("hash -o --force does not replace the rows of a manifest by none", arguments: ["", "--cache"])
  func hashOfNothing(options: String) throws {
    let run = try t.shell(
      """
      \(Steps.functions)
      export XDG_CACHE_HOME=$PWD/cache
      ends "hash" $BP hash -q \(options) -o m src
      cp m old
      mv src away
      mkdir src
      ends "hash of nothing" $BP hash -q --force \(options) -o m src
      ends "manifest is the same" cmp m old
      ends "hash of nothing into a new manifest" $BP hash -q \(options) -o new src
      """)
    run.expectSteps([
      "hash": "0", "hash of nothing": "1", "manifest is the same": "0",
      "hash of nothing into a new manifest": "0",
    ])
    #expect(run.errorText.contains("not replaced"), "\(run.errorText)")
  }

  @Test("--update accepts changes, and refuses rot", .enabled(if: Host.hasPython))
  func update() throws {
    let run = try t.shell(
      """
      \(Steps.functions)
      (cd src; $BP hash --format mtree .) >m
      echo more >>src/a/f9
      rm src/a/f1
      ends "with changes" $BP audit -q --update m src >/dev/null
      ends "after the update" $BP audit -q --update m src
      python3 rot.py src/a/f2
      cp m old
      ends "with rot" $BP audit -q --update m src >/dev/null
      ends "manifest is the same" cmp m old
      cd src
      ends "check of the rot" $BP check -q --quiet ../old >/dev/null
      """)
    run.expectSteps([
      "with changes": "4", "after the update": "0", "with rot": "4", "manifest is the same": "0",
      "check of the rot": "4",
    ])
    #expect(run.errorText.contains("not updated: there is rot"))
  }

  @Test("names that no longer belong to one file are METADATA")
  func links() throws {
    let run = try t.shell(
      """
      \(Steps.functions)
      ln src/a/f1 src/a/g1
      ln src/a/f2 src/a/g2
      $BP backup -q --to set src
      ends "one file" $BP audit -q set/*.manifest.zst /
      cp -p src/a/g1 src/new
      mv src/new src/a/g1
      ends "two files" $BP audit -q set/*.manifest.zst / >found
      sed "s|${PWD#/}/||g" found | grep -v 'src/*a*: METADATA (mtime' | says differences
      ends drill $BP drill -q --all set
      """)
    run.expectSteps([
      "one file": "0", "two files": "4",
      "differences": "src/a/g1: METADATA (target src/a/f1 -> nothing)", "drill": "0",
    ])
  }

  @Test("a damaged backup manifest, and a file that is none, are refused")
  func damaged() throws {
    let run = try t.shell(
      """
      \(Steps.functions)
      $BP backup -q --to set src
      plain set/*.manifest.zst
      sed -i 's/"mode":420/"mode":421/' set/*.manifest.zst
      ends "damaged manifest" $BP audit -q set/*.manifest.zst /
      echo nothing >n
      ends "no manifest" $BP audit -q n src >/dev/null
      ends "missing file" $BP audit -q missing src
      """)
    run.expectSteps(["damaged manifest": "4", "no manifest": "4", "missing file": "1"])
  }

  // MARK: drill

  @Test("a drill continues where the last one ended, until all files were read")
  func cycle() throws {
    let run = try t.shell(
      """
      $BP backup -q --to set src
      mkdir tmp
      export TMPDIR=$PWD/tmp
      for n in 1 2 3 4 5; do
        $BP drill set 2>&1 --sample 25%
        echo $?
        cat set/.backup.drill
      done
      ls -A tmp
      """)
    let lines = run.text.split(separator: "\n")
    let places = lines.filter { $0.hasPrefix("{\"type\":\"drill\"") }
    #expect(places.count == 5 && Set(places).count == 4 && places.first == places.last, "\(run.text)")
    #expect(lines.filter { $0 == "0" }.count == 5)
    #expect(run.text.contains("8 of 32 files") && !run.text.contains("damaged"))
    let budget = try t.shell(
      """
      \(Steps.functions)
      $BP backup -q --to set --full src
      for i in $(seq 2500); do echo $i >src/b/n$i; done
      $BP backup -q --to set src
      ends "drill without time" $BP drill -q --all --time-budget 0s set
      ends "drill" $BP drill -q --all set
      """)
    budget.expectSteps(["drill without time": "20", "drill": "0"])
  }

  @Test(
    "drill and verify name the members of a damaged archive, and prune keeps the older good one",
    .enabled(if: Host.hasPython))
  func flipped() throws {
    let run = try t.shell(
      """
      \(Steps.functions)
      for n in 1 2; do $BP backup -q --to set --full src; done
      newest=$(ls set/*.tar.zst | tail -n 1)
      python3 -c 'import sys
      with open(sys.argv[1], "r+b") as file:
          file.seek(1500)
          byte = file.read(1)
          file.seek(1500)
          file.write(bytes([byte[0] ^ 1]))' $newest
      ends drill $BP drill -q --all set >drilled
      ends verify $BP verify -q $newest >verified
      comm -23 <(sed 's/: [A-Z].*//' drilled | sort) <(sed 's/: [A-Z].*//' verified | sort) |
        says "only found by the drill"
      ends "damaged files are named" grep -q DAMAGED drilled
      $BP prune -q --keep-last 1 set
      ls set/*.manifest.zst | wc -l | says "snapshots after prune"
      $BP prune -n --keep-last 1 set 2>/dev/null | counts "kept as verified" 'newest verified$'
      at=$(ls set/*.manifest.zst | head -n 1 | grep -o '[0-9]*T[0-9]*Z')
      ends "restore of the good one" $BP restore -q -C out --at $at set
      ends "restored files" diff -r --no-dereference src out$PWD/src
      """)
    run.expectSteps([
      "drill": "4", "verify": "4", "only found by the drill": "", "damaged files are named": "0",
      "snapshots after prune": "2", "kept as verified": "1", "restore of the good one": "0",
      "restored files": "0",
    ])
  }

  @Test(
    "a drill that is killed leaves a folder, which the next one removes; a stopped one leaves none",
    .enabled(if: Host.canTrace))
  func killed() throws {
    let run = try t.shell(
      """
      \(Steps.functions)
      $BP backup -q --to set src
      mkdir tmp
      export TMPDIR=$PWD/tmp
      slow="strace -qq -f --seccomp-bpf -o trace -e trace=linkat -e inject=linkat:delay_enter=1000000 -D"
      for signal in KILL TERM; do
        old=$(ls tmp)
        rm -f trace
        $slow $BP drill -q --all set &
        until ls tmp | grep -v "^$old$" | grep -q drill; do :; done
        kill -$signal $!
        wait $!
        ls -A tmp | counts "folders after $signal" drill
      done
      mkdir -m 700 tmp/batchproc-drill-abcde tmp/batchproc-drill-x
      ends "next drill" $BP drill -q --all set
      ls tmp | says "folders of others"
      """)
    run.expectSteps([
      "folders after KILL": "1",
      // The second drill has removed the folder of the first one.
      "folders after TERM": "0",
      "next drill": "0", "folders of others": "batchproc-drill-abcde batchproc-drill-x",
    ])
  }

  @Test("--against-live distinguishes rot in the live files from changes", .enabled(if: Host.hasPython))
  func live() throws {
    let run = try t.shell(
      """
      \(Steps.functions)
      chmod 4755 src/a/f7
      $BP backup -q --to set src
      echo more >>src/a/f3
      python3 rot.py src/a/f7
      ends "drill" $BP drill -q --all set
      ends "drill with the live files" $BP drill -q --all --against-live set >found
      tail -n 1 found | sed "s|.*/src/|src/|" | says "rot"
      """)
    run.expectSteps([
      "drill": "0", "drill with the live files": "4", "rot": "src/a/f7: ROT (content)",
    ])
  }
}
