import BatchCore
import BatchEngine
import TestSupport
import Testing

/// The output has the same bytes at any concurrency, stride, locale and form of output.
@Suite struct DeterminismTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    try t.writeTree()
    try t.shell(
      """
      mkfifo t/fifo; ln -s text t/link; head -c 9M /dev/zero >t/d/large
      for d in a b/c b/d/e z; do
        mkdir -p t/$d; for i in $(seq 150); do echo $d$i >t/$d/f$i; done
      done; head -c 300000 /dev/zero >t/b/c/medium
      """)
  }

  /// Each concurrency with one stride, and each stride with one concurrency.
  private static let settings: [(concurrency: PathBytes, stride: PathBytes)] =
    (["1", "2", "7", "32"] as [PathBytes]).map { ($0, "64") } + [("7", "1"), ("7", "auto")]
  /// The same for scripts: a line with concurrency and stride for each setting.
  private static let lines = settings.map { "\($0.concurrency) \($0.stride)" }.joined(separator: "\n")

  @Test(
    "hash prints the same at every concurrency and stride",
    arguments: [
      [], ["-a", "sha1", "-a", "xxh3"], ["--format", "bsd"], ["--format", "hashdeep"], ["--format", "mtree"],
      ["--format", "json"], ["-z"], ["--dry-run"],
    ] as [[PathBytes]])
  func hash(options: [PathBytes]) throws {
    let options = options.map { "\($0)" }.joined(separator: " ")
    let run = try t.shell(
      """
      look() {
        $BP hash -j $1 --stride $2 \(options) t nosuch t/d >rows 2>errors </dev/null; status=$?
        grep -a '^batchproc: ' errors >messages
        [ $status = 3 ] || echo "-j $1 --stride $2: status $status"
      }
      look 1 1; mv rows expected; mv messages told; tr '\\0' '\\n' <expected | wc -l
      while read -r concurrency stride; do
        export LC_ALL=C.UTF-8; [ $concurrency != 7 ] || LC_ALL=C
        look $concurrency $stride
        cmp expected rows && cmp told messages || echo "-j $concurrency --stride $stride differs"
      done <<'END'
      \(Self.lines)
      END
      """)
    #expect(Int(run.text.dropLast()) ?? 0 > 600, "\(run.text)\(run.errorText)")
  }

  @Test(
    "events are in the order of the files, and problems between their neighbors",
    arguments: [
      ["hash", "t"], ["check", "m"], ["test", "t"], ["hash", "--dry-run", "t"],
      ["compress", "--compress-all", "--no-fsync", "--force", "--output-dir", "o", "t"],
      ["decompress", "--no-fsync", "--force", "--output-dir", "p", "t"],
    ] as [[PathBytes]])
  func events(command: [PathBytes]) throws {
    let command = command.map { "\($0)" }.joined(separator: " ")
    let run = try t.shell(
      """
      cd t; for f in a b/c z; do for i in 1 20 3; do mkfifo $f/f$i.pipe; echo x | gzip >$f/f$i.gz; done; echo no >$f/f2.gz; done
      cd ..; $BP hash -q t >m; rm t/*/f7 t/*/f30
      look() {
        # A report of an output that replaces one says so.
        rm -rf o p
        $BP \(command) --json --stride $2 -j $1 >all 2>errors </dev/null
        head -n -1 all >rows
      }
      look 1 1; mv rows expected; wc -l <expected
      while read -r concurrency stride; do
        look $concurrency $stride
        cmp expected rows || echo "-j $concurrency --stride $stride differs"
      done <<'END'
      \(Self.lines)
      END
      """)
    #expect(Int(run.text.dropLast()) ?? 0 > 6, "\(run.text)\(run.errorText)")
  }

  @Test("check prints the same at every concurrency and stride")
  func check() throws {
    try t.file("m", try t.batchproc("hash", "t").output)
    try t.file("t/b/c/f7", "changed")
    try t.shell("rm t/z/f9")
    let expected = try t.batchproc("check", "-j", "1", "--stride", "1", "m")
    #expect(expected.status == 4)
    for (concurrency, stride) in Self.settings {
      let run = try t.batchproc("check", "-j", concurrency, "--stride", stride, "m")
      #expect(run.output == expected.output)
      #expect(run.messages == expected.messages)
      #expect(run.status == 4)
    }
  }

  @Test("events are the same at every concurrency, except for times")
  func events() throws {
    let run = try t.shell(
      """
      look() { $BP hash --json -j $1 --stride $2 t nosuch >all 2>errors; head -n -1 all >rows; tail -n 1 all | grep -c '"seconds"'; }
      for stride in 1 64 auto; do
        look 1 $stride; mv rows expected
        for concurrency in 2 7 32; do look $concurrency $stride; cmp expected rows; done
      done
      """)
    #expect(run.text == String(repeating: "1\n", count: 12), "\(run.text)\(run.errorText)")
  }

  @Test(
    "other limits do not change the output",
    arguments: [
      ["--max-open-files", "4"], ["--max-memory", "1M"], ["--qos", "background"], ["--qos", "utility"],
      ["--max-load", "100000"], ["--max-open-files", "4", "--max-memory", "64K", "-j", "32"],
    ] as [[PathBytes]])
  func limits(options: [PathBytes]) throws {
    let expected = try t.batchproc("hash", "t")
    let run = try t.batchproc(["hash"] + options + ["t"])
    #expect(run.status == 0)
    #expect(run.output == expected.output)
  }
}
