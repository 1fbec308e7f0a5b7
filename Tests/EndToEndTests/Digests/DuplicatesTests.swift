import BatchEngine
import TestSupport
import Testing

/// `duplicates`, compared with sha256sum, and with jdupes if it is installed.
@Suite(.timeLimit(.minutes(2))) struct DuplicatesTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    let made = try t.shell(
      """
      mkdir -p src/a src/b/c
      for i in $(seq 60); do seq $((i % 7)) $((i % 7 + 40)) >src/a/f$i; done
      for i in $(seq 5); do head -c 60000 /dev/zero | tr '\\0' $i >src/b/z$i; done
      cp src/b/z2 src/b/c/copy; cp src/b/z2 "src/b/c/$(printf 'line\\nbreak')"; ln src/b/z2 src/b/hard
      # The files have the same beginning and end, and different bytes between them.
      cp src/b/z3 src/b/c/near; printf damaged | dd of=src/b/c/near bs=1 seek=30000 conv=notrunc status=none
      : >src/empty1; : >src/empty2; ln -s a/f1 src/link; mkfifo src/pipe
      """)
    try #require(made.status == 0, "\(made.errorText)")
  }

  /// The groups of the tree: the first name of each hard-linked file, and no empty files.
  private static let expected = """
    find src -type f ! -empty ! -name z2 -print0 | LC_ALL=C sort -z | xargs -0 sha256sum -z \
      | python3 -c '
    import sys
    groups = {}
    for row in sys.stdin.buffer.read().split(b"\\0")[:-1]:
        groups.setdefault(row[:64], []).append(row[66:])
    print(sorted(sorted(g) for g in groups.values() if len(g) > 1))'
    """

  private static let found = """
    python3 -c '
    import sys
    data = sys.stdin.buffer.read()
    groups = [g.split(b"\\0") for g in data.split(b"\\0\\0") if g]
    print(sorted(sorted(n for n in g if n) for g in groups))'
    """

  @Test("the groups are those of the digests of all files, at every concurrency", arguments: [1, 2, 7, 32])
  func groups(concurrency: Int) throws {
    let expected = try t.shell(Self.expected).text
    #expect(expected.contains("near") == false && expected.contains("break"))
    let found = try t.shell("set -o pipefail; $BP duplicates -q -z -j \(concurrency) src | \(Self.found)")
    #expect(found.status == 0 && found.text == expected, "\(found.errorText)")
    let rows = try t.batchproc("duplicates", "-q", "-j", PathBytes("\(concurrency)"), "src")
    #expect(rows.text == (try t.batchproc("duplicates", "-q", "-j", "1", "src")).text)
    #expect(rows.text.hasPrefix("3 files of 58.6 KiB:\n  src/b/hard\n"), "\(rows.text.prefix(80))")
  }

  @Test("the cache replaces the reading of files, and the groups are the same")
  func cache() throws {
    let plain = try t.batchproc("duplicates", "-q", "--format", "fdupes", "src").text
    for _ in 0..<2 {
      let run = try t.shell(
        "export XDG_CACHE_HOME=$PWD/cache; $BP duplicates -q --cache --format fdupes src; $BP hash -q --cache src >rows"
      )
      #expect(run.text == plain, "\(run.errorText)")
    }
  }

  @Test(
    "a file that cannot be read is named and gives 3, and a run in which none can be read gives 1",
    .enabled(if: Host.isRoot))
  func failures() throws {
    let missing = try t.batchproc("duplicates", "nothing")
    #expect(missing.status == 1 && missing.errorText.contains("nothing"), "\(missing.errorText)")
    try t.shell("cp src/b/z4 src/b/c/lost; chmod 0 src/b/c/lost")
    let run = try t.shell(
      "chmod -R a+rX .; chmod 0 src/b/c/lost; setpriv --reuid=65534 --regid=65534 --clear-groups $BP duplicates -q src"
    )
    #expect(run.status == 3 && run.errorText.contains("src/b/c/lost"), "\(run.errorText)")
  }

  @Test(
    "a file that several paths lead to is not a copy of itself",
    arguments: ["src/b src/b/c", "src/b ./src/b", "--files-from list", "list2 --files0-from list0"])
  func overlapping(paths: String) throws {
    let run = try t.shell(
      """
      printf 'src/b\\nsrc/b/c\\n' >list; printf 'src/b\\0src/b/c\\0' >list0; ln -s src/b list2
      $BP duplicates -q --format fdupes src/b >once; $BP duplicates -q --format fdupes \(paths) >twice
      sed 's,^[./]*,,;s,^list2,src/b,' twice | cmp - once && grep -c copy once
      """)
    #expect(run.text == "1\n", "\(run.errorText)")
  }

  @Test("JSON lines follow the documented schema and end with the summary", .enabled(if: Host.hasPython))
  func json() throws {
    let run = try t.shell(
      """
      $BP duplicates --json src | python3 -c '
      import json, sys
      rows = [json.loads(line) for line in sys.stdin]
      groups = [row for row in rows if row["type"] == "duplicates"]
      assert all(len(g["files"]) > 1 and len(g["sha256"]) == 64 and g["size"] > 0 for g in groups)
      assert rows[-1]["type"] == "summary" and rows[-1]["groups"] == len(groups)
      print(len(groups))'
      """)
    #expect(run.text == "8\n", "\(run.errorText)")
  }
}
