import BatchCore
import BatchEngine
import TestSupport
import Testing

/// The same bytes, rows and order at any concurrency.
@Suite(.timeLimit(.minutes(5))) struct CompressDeterminismTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    try t.shell(
      """
      mkdir -p src/d; seq 350000 >src/d/big; head -c 1000000 /dev/urandom >src/noise; : >src/empty
      for i in $(seq 60); do seq $i $((i * 20)) >src/d/$i; seq $i >src/$i; done
      truncate -s 1M src/zeros; find src -exec touch -d @1000000000.5 {} +
      """)
  }

  /// Makes one of the files larger than two blocks of a format at level 1, where it is not yet.
  private func makeLarge(_ format: StockFormat) throws {
    let lines = [StockFormat.zst: 2_300_000, .xz: 1_250_000, .lz4: 1_250_000][format] ?? 350_000
    try t.shell("seq \(lines) >src/d/big; touch -d @1000000000.5 src/d/big")
  }

  private static let concurrencies = [1, 2, 7, 32]

  @Test("outputs are the same bytes at -j 1, 2, 7 and 32", arguments: StockFormat.allCases)
  func outputs(format: StockFormat) throws {
    try makeLarge(format)
    var digests: Set<String> = []
    for concurrency in Self.concurrencies {
      let run = try t.shell(
        """
        $BP compress -q -l 1 --no-fsync --compress-all --format \(format) -j \(concurrency) --output-dir o src || echo failed
        cd o; find . -type f | LC_ALL=C sort | xargs sha256sum; cd ..; rm -rf o
        """)
      #expect(run.rows.count == 124, "\(run.errorText)")
      digests.insert(run.text)
    }
    #expect(digests.count == 1)
  }

  @Test(
    "standard input gives the same bytes at any -j, and those are not of its pace",
    arguments: StockFormat.allCases)
  func streams(format: StockFormat) throws {
    try makeLarge(format)
    let run = try t.shell(
      """
      for j in 1 2 7 32; do $BP compress - -q -l 1 --format \(format) -j $j <src/d/big | sha256sum; done | uniq -c
      dd if=src/d/big bs=7777 status=none | cat | $BP compress -q -l 1 --format \(format) - | \(format.tool) -dc | cmp - src/d/big
      """)
    #expect(run.rows.count == 1, "\(run.text) \(run.errorText)")
    #expect(run.text.hasPrefix("      4 "))
  }

  @Test("events come in the same order at any -j", arguments: ["compress -l 1", "decompress", "test"])
  func events(command: String) throws {
    if !command.hasPrefix("compress") {
      try t.shell("$BP compress -q -l 1 --remove-source src; mkfifo src/pipe")
    }
    var streams: Set<String> = []
    for concurrency in [1, 7, 32] {
      let run = try t.shell(
        """
        $BP \(command) --json -j \(concurrency) \(command == "test" ? "" : "--no-fsync --output-dir o") src |
          sed 's/,"seconds":[^,}]*//'; rm -rf o
        """)
      streams.insert(run.text)
    }
    #expect(streams.count == 1)
    #expect(streams.first?.contains("\"summary\"") == true)
  }

  @Test("decompressing at -j 7 gives back what there was", arguments: StockFormat.allCases)
  func decompressing(format: StockFormat) throws {
    try makeLarge(format)
    try t.shell("cp -r src whole; $BP compress -q -l 1 --format \(format) --remove-source src")
    let run = try t.shell("$BP decompress -q --no-fsync -j 7 --remove-source src && diff -r whole src")
    #expect(run.status == 0 && run.text == "", "\(run.text)\(run.errorText)")
  }

  @Test(
    "one core: no more workers than it has, and the same bytes", .enabled(if: Host.canTrace, "needs strace"))
  func oneCore() throws {
    // Dispatch may give a lane another thread after it had nothing to do.
    let run = try t.shell(
      """
      strace -qq -f -o trace -e trace=openat,pread64 taskset -c 0 $BP compress -q --no-fsync --output-dir one src
      grep -E 'pread64.*, [0-9]{5,}, [0-9]+' trace | cut -d' ' -f1 | sort -u | wc -l | sed 's/^[12]$/1/'
      $BP compress -q --no-fsync -j 7 --output-dir many src; diff -r one many
      """)
    #expect(run.text == "1\n", "\(run.text)")
  }
}
