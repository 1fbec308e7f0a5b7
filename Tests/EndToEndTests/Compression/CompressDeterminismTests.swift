import BatchCore
import BatchEngine
import TestSupport
import Testing

/// Bytes, rows and their order are the same at any concurrency.
@Suite(.timeLimit(.minutes(5))) struct CompressDeterminismTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    try t.shell(
      """
      mkdir -p src/d; seq 350000 >src/d/big; head -c 1000000 /dev/urandom >src/noise; : >src/empty
      awk 'BEGIN { for (i = 1; i <= 60; i++) { for (k = i; k <= i * 20; k++) print k >("src/d/" i); for (k = 1; k <= i; k++) print k >("src/" i) } }' 
      truncate -s 1M src/zeros; find src -exec touch -d @1000000000.5 {} +
      """)
  }

  /// Makes one of the files larger than two blocks of the format at level 1.
  private func makeLarge(_ format: StockFormat) throws {
    // Zeros between the lines are compressed faster than lines.
    let zeros = [StockFormat.zst: 16, .xz: 8, .lz4: 8][format] ?? 2
    try t.shell(
      """
      { seq 20000; head -c \(zeros)M /dev/zero; seq 20000; } >src/d/big; head -c 300000 /dev/urandom >src/noise
      touch -d @1000000000.5 src/d/big src/noise
      """)
  }

  private static let concurrencies = [1, 2, 7, 32]

  @Test("outputs have the same bytes at -j 1, 2, 7 and 32", arguments: StockFormat.allCases)
  func outputs(format: StockFormat) throws {
    try makeLarge(format)
    var digests: Set<String> = []
    for concurrency in Self.concurrencies {
      let run = try t.shell(
        """
        $BP compress -q -l \(format.fastLevel) --no-fsync --compress-all --format \(format) -j \(concurrency) --output-dir o src || echo failed
        cd o; find . -type f | LC_ALL=C sort | xargs sha256sum; cd ..; rm -rf o
        """)
      #expect(run.rows.count == 124, "\(run.errorText)")
      digests.insert(run.text)
    }
    #expect(digests.count == 1)
  }

  @Test(
    "standard input gives the same bytes at any -j, and they do not depend on its speed",
    arguments: StockFormat.allCases)
  func streams(format: StockFormat) throws {
    try makeLarge(format)
    let run = try t.shell(
      """
      for j in 1 2 7 32; do $BP compress - -q -l \(format.fastLevel) --format \(format) -j $j <src/d/big | sha256sum; done | uniq -c
      dd if=src/d/big bs=7777 status=none | cat | $BP compress -q -l \(format.fastLevel) --format \(format) - | \(format.tool) -dc | cmp - src/d/big
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

  @Test("decompress at -j 7 restores the files", arguments: StockFormat.allCases)
  func decompressing(format: StockFormat) throws {
    try makeLarge(format)
    try t.shell(
      "cp -r src whole; $BP compress -q -l \(format.fastLevel) --format \(format) --remove-source src")
    let run = try t.shell("$BP decompress -q --no-fsync -j 7 --remove-source src && diff -r whole src")
    #expect(run.status == 0 && run.text == "", "\(run.text)\(run.errorText)")
  }

  @Test(
    "on one core one worker runs by default, with the same bytes", .enabled(if: Host.canPreload, "needs cc"))
  func oneCore() throws {
    // Each large read yields often, so that other workers could run at the same time. The test cannot count
    // threads, since Dispatch may change the thread of a lane.
    try t.preload(
      """
      #include <sched.h>
      #include <sys/types.h>
      static int inside, most;
      ssize_t pread64(int fd, void *buffer, size_t count, off64_t offset) {
        static ssize_t (*real)(int, void *, size_t, off64_t);
        if (!real) real = (ssize_t (*)(int, void *, size_t, off64_t))dlsym(RTLD_NEXT, "pread64");
        if (count < 65536) return real(fd, buffer, count, offset);
        int now = __atomic_add_fetch(&inside, 1, __ATOMIC_SEQ_CST);
        int seen = __atomic_load_n(&most, __ATOMIC_SEQ_CST);
        while (now > seen && !__atomic_compare_exchange_n(&most, &seen, now, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {}
        for (int turn = 0; turn < 5000; turn++) sched_yield();
        ssize_t result = real(fd, buffer, count, offset);
        __atomic_sub_fetch(&inside, 1, __ATOMIC_SEQ_CST);
        return result;
      }
      ssize_t pread(int fd, void *buffer, size_t count, off_t offset) { return pread64(fd, buffer, count, offset); }
      __attribute__((destructor)) static void tell(void) { dprintf(2, "%s\\n", most == 1 ? "one" : most > 1 ? "more" : "none"); }
      """)
    let run = try t.shell(
      """
      LD_PRELOAD=$PWD/preload.so taskset -c 0 $BP compress -q --no-fsync --output-dir one src 2>workers
      tail -n 1 workers
      LD_PRELOAD=$PWD/preload.so taskset -c 0 $BP compress -q --no-fsync -j 7 --output-dir many src 2>workers
      tail -n 1 workers; diff -r one many
      """)
    #expect(run.text == "one\nmore\n", "\(run.text)")
  }
}
