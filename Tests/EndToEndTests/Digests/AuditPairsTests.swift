import BatchEngine
import Foundation
import TestSupport
import Testing

/// `audit A B` for any two of a folder, a manifest, a snapshot and an archive.
@Suite(.timeLimit(.minutes(3))) struct AuditPairsTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    let made = try t.shell(
      """
      mkdir -p p/a p/docs/deep; for i in 1 2 3 4 5; do seq $i 20 >p/a/$i; done; echo same >p/docs/moved; : >p/empty; ln p/a/1 p/hard
      ln -s a p/link; echo deep >p/docs/deep/x; touch -d 2026-01-01 p/a/* p/docs/* p/empty p/hard p/docs/deep/x
      find p -type d -exec touch -d 2026-01-01 {} +; cp -a p p2
      seq 9 99 >p2/a/2; rm p2/a/3; echo new >p2/docs/new; mv p2/docs/moved p2/docs/arrived; cp -p p2/a/4 p2/docs/copy
      printf X | dd of=p2/a/5 conv=notrunc status=none; touch -d 2026-01-01 p2/a/* p2/docs/*; touch -d 2026-02-02 p2/docs/deep/x
      find p2 -type d -exec touch -d 2026-01-01 {} +
      for n in p p2; do
        $BP hash -q --format json -o $n.json $n; $BP archive -q -o $n.tar.zst $n; $BP backup -q --to set-$n $n
        cp set-$n/*.manifest.zst $n.snapshot
      done
      """)
    try #require(made.status == 0, "\(made.errorText)")
  }

  /// The differences in the order in which they are printed.
  private static let differences = """
    a/2: MODIFIED (size 49 -> 272)
    a/5: ROT (content)
    docs/deep/x: TOUCHED
    a/3: MISSING
    docs/arrived: MOVED (from docs/moved)
    docs/copy: COPIED (from a/4)
    docs/new: NEW
    4

    """

  @Test("all 16 pairs of kinds give the result of comparing two folders", .enabled(if: Host.hasPython))
  func pairs() throws {
    let kinds = ["p", "p.json", "p.tar.zst", "p.snapshot"]
    for first in kinds {
      for second in kinds {
        let other = second.replacing("p", with: "p2", maxReplacements: 1)
        let run = try t.shell(
          "$BP audit -q \(first) \(second); echo $?; $BP audit -q \(first) \(other) | sed 's/TOUCHED.*/TOUCHED/' | sort; echo ${PIPESTATUS[0]}"
        )
        let lines = Self.differences.split(separator: "\n").map(String.init)
        let expected = ["0"] + lines.dropLast().sorted() + ["4"]
        #expect(
          run.text.split(separator: "\n").map(String.init) == expected,
          "\(first) \(other): \(run.text)\(run.errorText)")
      }
    }
  }

  @Test("the manifest of a folder is compared with it from any working folder")
  func fromAnywhere() throws {
    let run = try t.shell(
      """
      $BP hash -q p -o s.txt; (cd p; $BP hash -q . -o ../dot.txt); mkdir beside; echo x >beside/x; mkdir w; mv p/a/1 w/1; echo n >p/n
      for call in "s.txt" "s.txt p" "$PWD/s.txt ./p" "dot.txt p"; do $BP audit -q $call | sed 's|^\\./||; s|^p/||'; echo ${PIPESTATUS[0]}; done
      cd /; $BP audit -q $OLDPWD/s.txt $OLDPWD/p; echo $?; cd $OLDPWD/beside; $BP audit -q ../s.txt ../p; echo $?
      cd ..; $BP hash -q $PWD/p | $BP audit -q - p; echo $?; $BP hash -q p2 | $BP audit -q - p | wc -l
      """)
    let answer = "a/1: MISSING\nn: NEW\n4\n"
    #expect(run.text == String(repeating: answer, count: 6) + "0\n8\n", "\(run.text)\(run.errorText)")
  }

  @Test("each side is counted separately, and three or more paths are a manifest and parts of its tree")
  func counts() throws {
    let run = try t.shell(
      """
      $BP hash -q p -o s.txt; $BP audit s.txt p 2>&1 | sed 's/, [0-9.]* [KB].*//'; $BP audit p p2 2>&1 >/dev/null | sed 's/, [0-9.]* [KB].*//'
      rm p/a/1 p/empty; $BP audit -q s.txt p/a p/docs; echo $?; $BP audit p p p2; echo $?
      """)
    #expect(
      run.text
        == "audited 9 of the manifest, 9 of the tree\naudited 14 of the first tree, 15 of the second tree\np/a/1: MISSING\n4\n1\n",
      "\(run.text)\(run.errorText)")
  }

  @Test("verify --against counts the bytes of the archive only")
  func bytes() throws {
    let run = try t.shell(
      """
      for n in p.tar.zst p.tar; do
        [ -e $n ] || tar cf $n p
        $BP verify --json $n | grep -o '"bytes":[0-9]*'
        $BP verify --json --against . $n | grep -o '"bytes":[0-9]*'
      done
      """)
    let counts = run.text.split(separator: "\n")
    try #require(counts.count == 4, "\(run.text)\(run.errorText)")
    #expect(counts[0] == counts[1] && counts[2] == counts[3], "\(run.text)\(run.errorText)")
  }

  @Test("directories, sets and missing files at the wrong place are named with the right command")
  func hints() throws {
    let run = try t.shell(
      """
      for call in "check set-p" "audit set-p" "check p" "verify p" "audit nosuch p" "audit s.txt nosuch"; do $BP $call 2>&1; echo $?; done
      $BP verify -q set-p; echo $?; mkdir e; $BP audit p.snapshot e 2>&1 >/dev/null | head -n 1
      """)
    let manifest = try t.shell("echo set-p/*.manifest.zst").text.split(separator: "\n")[0]
    let root = "\(t.root)".dropFirst()
    #expect(
      run.text == """
        batchproc: set-p: is a directory of snapshots (to read all of a set: 'batchproc verify set-p'; to restore a sample: 'batchproc drill set-p')
        1
        batchproc: set-p: is a directory of snapshots (compare a snapshot: 'batchproc audit \(manifest) /')
        1
        batchproc: p: is a directory (to compare two directories: 'batchproc audit DIR1 DIR2')
        1
        batchproc: p: is a directory (to compare two directories: 'batchproc audit DIR1 DIR2')
        1
        batchproc: nosuch: cannot look at: No such file or directory
        1
        batchproc: s.txt: cannot look at: No such file or directory
        1
        0
        batchproc: p.snapshot: none of the names in it is there: all begin with '\(root)/p' (is e what it was made of?)

        """, "\(run.text)\(run.errorText)")
  }

  @Test("digests of different algorithms are not compared, and rows with several use one that both have")
  func algorithms() throws {
    let run = try t.shell(
      """
      $BP hash -q -a sha512 --tag -o m512 p; $BP hash -q --format json -a sha512 -a sha256 -o both p
      $BP audit -q m512 p.snapshot 2>&1; echo $?; $BP audit -q both p.snapshot; echo $?;
      $BP hash -q -a blake3 p -o b3; $BP hash -q -a blake3 --tag p2 -o b3.tag; $BP audit -q b3 b3.tag | grep -c .; $BP audit -q b3 p; echo $?
      """)
    #expect(
      run.text
        == "batchproc: m512: cannot be compared with p.snapshot: one has digests of sha512, the other of sha256\n1\n0\n6\n0\n",
      "\(run.text)\(run.errorText)")
  }

  @Test("encrypted snapshots and archives are compared when a key is given")
  func encrypted() throws {
    let run = try t.shell(
      """
      \(Steps.functions)
      $BP keygen -o key >to 2>/dev/null
      $BP archive -q --encrypt-to-file to -o p.tar.zst.age p
      $BP backup -q --to sealed --encrypt-to-file to p
      ends "archive and tree" $BP audit -q -i key p.tar.zst.age p
      ends "snapshot and archive" $BP audit -q -i key sealed/*.manifest.zst.age p.tar.zst.age
      ends "archive without a key" $BP audit -q p.tar.zst.age p >/dev/null 2>&1
      $BP audit -q -i key p2 sealed/*.manifest.zst.age | wc -l | says "differences of another tree"
      """)
    run.expectSteps([
      "archive and tree": "0", "snapshot and archive": "0", "archive without a key": "1",
      "differences of another tree": "7",
    ])
  }
}
