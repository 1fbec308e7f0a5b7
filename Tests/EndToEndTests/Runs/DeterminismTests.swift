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

  private static let concurrencies: [PathBytes] = ["1", "2", "7", "32"]
  private static let strides: [PathBytes] = ["1", "64", "auto"]
  /// Each concurrency with one stride, and each stride with one concurrency.
  private static let settings: [(concurrency: PathBytes, stride: PathBytes)] =
    concurrencies.map { ($0, "64") } + [("7", "1"), ("7", "auto")]

  @Test(
    "hash prints the same at every concurrency and stride",
    arguments: [
      [], ["-a", "sha1", "-a", "xxh3"], ["--format", "bsd"], ["--format", "hashdeep"], ["--format", "mtree"],
      ["--format", "json"], ["-z"], ["--dry-run"],
    ] as [[PathBytes]])
  func hash(options: [PathBytes]) throws {
    let expected = try t.batchproc(["hash", "-j", "1", "--stride", "1"] + options + ["t", "nosuch", "t/d"])
    #expect(expected.status == 3)
    #expect(expected.rows.count > 600 || options == ["-z"])
    for (concurrency, stride) in Self.settings {
      let run = try t.batchproc(
        ["hash", "-j", concurrency, "--stride", stride] + options + ["t", "nosuch", "t/d"],
        environment: concurrency == "7" ? ["LC_ALL": "C"] : ["LC_ALL": "C.UTF-8"])
      #expect(run.output == expected.output, "-j \(concurrency) --stride \(stride)")
      #expect(run.messages == expected.messages)
      #expect(run.status == 3)
    }
  }

  @Test(
    "events are in the order of the files, and problems between their neighbors",
    arguments: [
      ["hash", "t"], ["check", "m"], ["test", "t"], ["hash", "--dry-run", "t"],
      ["compress", "--compress-all", "--no-fsync", "--force", "--output-dir", "o", "t"],
      ["decompress", "--no-fsync", "--force", "--output-dir", "p", "t"],
    ] as [[PathBytes]])
  func events(command: [PathBytes]) throws {
    try t.shell(
      """
      cd t; for f in a b/c z; do for i in 1 20 3; do mkfifo $f/f$i.pipe; echo x | gzip >$f/f$i.gz; done; echo no >$f/f2.gz; done
      cd ..; $BP hash -q t >m; rm t/*/f7 t/*/f30
      """)
    func members(_ stride: PathBytes, _ concurrency: PathBytes) throws -> [[UInt8]] {
      // A report of an output that replaces one says so.
      try t.shell("rm -rf o p")
      return Array(
        try t.batchproc(command + ["--json", "--stride", stride, "-j", concurrency]).rows.dropLast())
    }
    let expected = try members("1", "1")
    #expect(expected.count > 6)
    for (concurrency, stride) in Self.settings {
      #expect(try members(stride, concurrency) == expected, "-j \(concurrency) --stride \(stride)")
    }
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
    func events(_ options: [PathBytes]) throws -> [Substring] {
      try t.batchproc(["hash", "--json"] + options + ["t", "nosuch"]).text.split(separator: "\n")
        .map { $0.hasPrefix(#"{"type":"summary""#) ? $0.prefix { $0 != "." } : $0 }
    }
    for stride in Self.strides {
      let expected = try events(["-j", "1", "--stride", stride])
      for concurrency in Self.concurrencies {
        let lines = try events(["-j", concurrency, "--stride", stride])
        #expect(lines.dropLast().elementsEqual(expected.dropLast()))
        #expect(lines.last?.contains("\"seconds\"") == true)
      }
    }
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
