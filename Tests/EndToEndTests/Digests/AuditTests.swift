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
    let made = try t.shell(
      """
      mkdir -p src/a src/b; for i in $(seq 30); do seq $i $((i * 30)) >src/a/f$i; done; ln -s a src/link
      head -c 18M /dev/urandom >src/b/big; : >src/empty
      cat >rot.py <<'END'
      import os, sys
      for path in sys.argv[1:]:
          before = os.stat(path)
          with open(path, 'r+b') as file:
              file.seek(2); byte = file.read(1); file.seek(2); file.write(bytes([byte[0] ^ 1]))
          os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
      END
      """)
    try #require(made.status == 0)
  }

  private static let changes = """
    python3 rot.py src/a/f10; echo more >>src/a/f9; mv src/a/f11 src/b/moved; cp src/a/f12 src/b/copied
    rm src/a/f13; echo new >src/a/new; touch src/a/f14; chmod 600 src/a/f15; rm src/a/f16; mkdir src/a/f16
    """

  @Test("a backup manifest: every class of difference", .enabled(if: Host.hasPython))
  func snapshot() throws {
    let run = try t.shell(
      """
      $BP backup -q --to set src; $BP audit -q set/*.manifest /; echo $?; \(Self.changes)
      $BP audit -q set/*.manifest / | sed "s|${PWD#/}/src/||g; s| (m[^)]*)||; s| (content[^)]*)||; s| (size[^)]*)||; s| (kind[^)]*)||" | grep -v METADATA; echo ${PIPESTATUS[0]}
      $BP audit -q set/*.manifest / | grep -c 'f15: METADATA (mode 0644 -> 0600)'
      $BP audit --json set/*.manifest / | grep -o '"class":"rot"'
      """)
    let expected = """
      0
      a/f10: ROT
      a/f14: TOUCHED
      a/f16: TYPE
      a/f9: MODIFIED
      a/f13: MISSING
      a/new: NEW
      b/copied: COPIED (from a/f12)
      b/moved: MOVED (from a/f11)
      4
      1
      "class":"rot"

      """
    #expect(run.text == expected, "\(run.text)\(run.errorText)")
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
      \(make); $BP audit -q m src >before; echo $?; cat before
      \(Self.changes)
      $BP audit -q m src | sed 's|^\\./||; s| (from \\./| (from |; s| ([mcsk][^)]*)||'; echo ${PIPESTATUS[0]}
      """)
    var expected = [
      "a/f9: MODIFIED", "a/f13: MISSING", "b/copied: COPIED (from a/f12)", "b/moved: MOVED (from a/f11)",
      "a/new: NEW",
      "a/f16: TYPE", hasTimes ? "a/f10: ROT" : "a/f10: MODIFIED",
    ]
    if hasTimes { expected.append("a/f14: TOUCHED") }
    let lines = run.text.split(separator: "\n").map(String.init)
    #expect(lines.first == "0" && lines.last == "4", "\(run.text)\(run.errorText)")
    #expect(Set(lines.dropFirst().dropLast()) == Set(expected), "\(run.text)\(run.errorText)")
  }

  @Test(
    "--update does not replace the rows of a folder that has no file now",
    arguments: [
      (".", "src", "rm -r src/a src/b src/empty"), ("src", ".", "mv src away; mkdir -p src/lost+found"),
      ("src", ".", "mv src away"), ("-C src a b", "src", "rm src/b/*"), ("-C src a b", "src", "rm -r src/b"),
    ])
  func emptyFolder(_ place: (names: String, folder: String, change: String)) throws {
    let (names, folder, change) = place
    let run = try t.shell(
      """
      \(names == "." ? "(cd src && $BP hash -q . >../m)" : names == "src" ? "$BP hash -q src >m" : "(cd src && $BP hash -q a b >../m)"); cp m old; \(change)
      $BP audit -q --update m \(folder) >/dev/null; echo $?; cmp m old && echo same
      """)
    #expect(
      run.text == "4\nsame\n" && run.errorText.contains("but that directory has no files any more"),
      "\(run.text)\(run.errorText)")
  }

  @Test(
    "--update accepts that all files of a folder were moved elsewhere, and that a folder of several was removed"
  )
  func emptiedFolder() throws {
    let run = try t.shell(
      """
      (cd src && $BP hash -q a b >../m; $BP hash -q . >../all); mv src/b/big src/a/big
      $BP audit -q --update m src; echo $?; grep -c a/big m; rm -r src/b; $BP audit -q --update all src | grep -c MOVED; grep -c b/big all
      """)
    #expect(run.text.hasSuffix("4\n1\n1\n0\n"), "\(run.text)\(run.errorText)")
  }

  @Test("hash -o --force does not replace the rows of a manifest by none", arguments: ["", "--cache"])
  func hashOfNothing(options: String) throws {
    let run = try t.shell(
      """
      export XDG_CACHE_HOME=$PWD/cache; $BP hash -q \(options) -o m src; echo $?; cp m old; mv src away; mkdir src
      $BP hash -q --force \(options) -o m src; echo $?; cmp m old && echo same; $BP hash -q \(options) -o new src; echo $?
      """)
    #expect(
      run.text == "0\n1\nsame\n0\n" && run.errorText.contains("not replaced"), "\(run.text)\(run.errorText)")
  }

  @Test("--update accepts changes, and refuses rot", .enabled(if: Host.hasPython))
  func update() throws {
    let run = try t.shell(
      """
      (cd src; $BP hash --format mtree .) >m; echo more >>src/a/f9; rm src/a/f1
      $BP audit -q --update m src >/dev/null; echo $?; $BP audit -q --update m src; echo $?
      python3 rot.py src/a/f2; cp m old; $BP audit -q --update m src >/dev/null; echo $?; cmp m old && echo same
      (cd src; $BP check -q --quiet ../old) >/dev/null; echo $?
      """)
    #expect(run.text == "4\n0\n4\nsame\n4\n", "\(run.text)\(run.errorText)")
    #expect(run.errorText.contains("not updated: there is rot"))
  }

  @Test("names that no longer belong to one file are METADATA")
  func links() throws {
    let run = try t.shell(
      """
      ln src/a/f1 src/a/g1; ln src/a/f2 src/a/g2; $BP backup -q --to set src; $BP audit -q set/*.manifest /; echo $?
      cp -p src/a/g1 src/new; mv src/new src/a/g1; $BP audit -q set/*.manifest / | sed "s|${PWD#/}/||g" | grep -v 'src/*a*: METADATA (mtime'; echo ${PIPESTATUS[0]}
      $BP drill -q --all set; echo $?
      """)
    #expect(
      run.text == "0\nsrc/a/g1: METADATA (target src/a/f1 -> nothing)\n4\n0\n", "\(run.text)\(run.errorText)")
  }

  @Test("a damaged backup manifest, and a file that is none, are refused")
  func damaged() throws {
    let run = try t.shell(
      """
      $BP backup -q --to set src; m=$(echo set/*.manifest); sed -i 's/"mode":420/"mode":421/' $m
      $BP audit -q $m /; echo $?; echo nothing >n; $BP audit -q n src >/dev/null; echo $?; $BP audit -q missing src; echo $?
      """)
    #expect(run.text == "4\n4\n1\n", "\(run.text)\(run.errorText)")
  }

  // MARK: drill

  @Test("a drill continues where the last one ended, until all files were read")
  func cycle() throws {
    let run = try t.shell(
      "$BP backup -q --to set src; mkdir tmp; export TMPDIR=$PWD/tmp; for n in 1 2 3 4 5; do $BP drill set 2>&1 --sample 25%; echo $?; cat set/.backup.drill; done; ls -A tmp"
    )
    let places = run.text.split(separator: "\n").filter { $0.hasPrefix("{\"type\":\"drill\"") }
    #expect(places.count == 5 && Set(places).count == 4 && places.first == places.last, "\(run.text)")
    #expect(run.text.split(separator: "\n").filter { $0 == "0" }.count == 5)
    #expect(run.text.contains("8 of 32 files") && !run.text.contains("damaged"))
    let budget = try t.shell(
      "$BP backup -q --to set --full src; for i in $(seq 2500); do echo $i >src/b/n$i; done; $BP backup -q --to set src; $BP drill -q --all --time-budget 0s set; echo $?; $BP drill -q --all set; echo $?"
    )
    #expect(budget.text == "20\n0\n", "\(budget.text)\(budget.errorText)")
  }

  @Test(
    "drill and verify name the members of a damaged archive, and prune keeps the older good one",
    .enabled(if: Host.hasPython))
  func flipped() throws {
    let run = try t.shell(
      """
      for n in 1 2; do $BP backup -q --to set --full src; done; newest=$(ls set/*.zst | tail -n 1)
      python3 -c 'import sys
      with open(sys.argv[1], "r+b") as f: f.seek(1500); b = f.read(1); f.seek(1500); f.write(bytes([b[0] ^ 1]))' $newest
      $BP drill -q --all set >drilled; echo $?; $BP verify -q $newest >verified; echo $?
      comm -23 <(sed 's/: [A-Z].*//' drilled | sort) <(sed 's/: [A-Z].*//' verified | sort) | wc -l; grep -c DAMAGED drilled | sed 's/[1-9][0-9]*/some/'
      $BP prune -q --keep-last 1 set; ls set/*.manifest | wc -l; $BP prune -n --keep-last 1 set 2>/dev/null | grep -c 'newest verified$'
      $BP restore -q -C out --at $(ls set/*.manifest | head -n 1 | grep -o '[0-9]*T[0-9]*Z') set && diff -r --no-dereference src out$PWD/src && echo restored
      """)
    #expect(run.text == "4\n4\n0\nsome\n2\n1\nrestored\n", "\(run.text)\(run.errorText)")
  }

  @Test(
    "a drill that is killed leaves a folder, which the next one removes; a stopped one leaves none",
    .enabled(if: Host.canTrace))
  func killed() throws {
    let run = try t.shell(
      """
      $BP backup -q --to set src; mkdir tmp; export TMPDIR=$PWD/tmp
      for signal in KILL TERM; do
        old=$(ls tmp); rm -f trace; strace -qq -f --seccomp-bpf -o trace -e trace=linkat -e inject=linkat:delay_enter=3000000 -D $BP drill -q --all set &
        until ls tmp | grep -v "^$old$" | grep -q drill; do :; done; kill -$signal $!; wait $!; ls -A tmp | grep -c drill
      done
      mkdir -m 700 tmp/batchproc-drill-abcde tmp/batchproc-drill-x; $BP drill -q --all set; echo $?; ls tmp
      """)
    // The second drill has removed the folder of the first one.
    #expect(
      run.text == "1\n0\n0\nbatchproc-drill-abcde\nbatchproc-drill-x\n", "\(run.text)\(run.errorText)")
  }

  @Test("--against-live distinguishes rot in the live files from changes", .enabled(if: Host.hasPython))
  func live() throws {
    let run = try t.shell(
      "chmod 4755 src/a/f7; $BP backup -q --to set src; echo more >>src/a/f3; python3 rot.py src/a/f7; $BP drill -q --all set; echo $?; $BP drill -q --all --against-live set; echo $?"
    )
    #expect(
      run.text.hasPrefix("0\n") && run.text.hasSuffix("src/a/f7: ROT (content)\n4\n"),
      "\(run.text)\(run.errorText)")
  }
}
