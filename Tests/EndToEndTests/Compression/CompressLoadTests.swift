import BatchCore
import BatchEngine
import Glibc
import TestSupport
import Testing

/// Tests that take minutes: all cores are used until the end, memory does not grow with the file, and a
/// hundred kills lose nothing.
@Suite(
  .enabled(if: Host.runsLargeTests && Host.hasPython, "needs BATCHPROC_LARGE_TESTS=1 and python3"),
  .serialized,
  .timeLimit(.minutes(30)))
struct CompressLoadTests {
  private let t: TreeFixture

  init() throws { t = try TreeFixture() }

  /// Runs a command, and prints its status, its seconds, and how busy its cores were during the first 95 % of
  /// the time: on average, and in the worst second.
  private static let sampler = """
    import os, subprocess, sys, time
    cores = len(os.sched_getaffinity(0))
    tick = os.sysconf('SC_CLK_TCK')
    start, samples = time.monotonic(), []
    process = subprocess.Popen(sys.argv[1:])
    while process.poll() is None:
        try: fields = open('/proc/%d/stat' % process.pid).read().rsplit(')', 1)[1].split()
        except OSError: break
        samples.append((time.monotonic() - start, (int(fields[11]) + int(fields[12])) / tick))
        time.sleep(0.05)
    wall = time.monotonic() - start
    until = [s for s in samples if s[0] <= wall * 0.95]
    busy = lambda a, b: (b[1] - a[1]) / (b[0] - a[0]) / cores
    seconds = [busy(a, next(b for b in until if b[0] >= a[0] + 1)) for a in until if a[0] + 1 <= until[-1][0]]
    print(process.wait(), round(wall, 1), int(100 * busy(until[0], until[-1])), int(100 * min(seconds)))
    """

  @Test(
    "all cores are busy for 95 % of a run over 10,000 small files and one of 2 GiB", arguments: ["gz", "zst"])
  func busy(format: String) throws {
    let made = try t.shell(
      """
      mkdir -p w/small; seq 300000000 | head -c 2G >w/big
      python3 -c "
      import random
      random.seed(1)
      for n in range(10000): open('w/small/%d' % n, 'w').write(' '.join(str(random.random()) for _ in range(216))[:4096])"
      """, seconds: 300)
    try #require(made.status == 0, "\(made.errorText)")
    try t.file("sampler.py", Self.sampler)
    let run = try t.shell(
      "python3 sampler.py $BP compress -q --format \(format) w; rm -rf w", seconds: 900)
    print("compress --format \(format): status, seconds, % busy, % in the worst second:", run.text)
    let numbers = run.text.split(whereSeparator: \.isWhitespace).compactMap { Double($0) }
    try #require(numbers.count == 4, "\(run.errorText)")
    #expect(numbers[0] == 0)
    #expect(numbers[2] >= 85, "\(run.text)")
    #expect(numbers[3] >= 60, "\(run.text)")
  }

  @Test("a file of 4 GiB needs less than 300 MB, and less than 450 MB as xz", arguments: StockFormat.allCases)
  func memory(format: StockFormat) throws {
    let run = try t.shell(
      """
      mkdir w; { seq 40000000; head -c 100M /dev/urandom; } >w/x; truncate -s 4G w/x
      /usr/bin/time -f %M $BP compress -q --remove-source --format \(format) w
      /usr/bin/time -f %M $BP test -q w
      /usr/bin/time -f %M $BP decompress -q --remove-source w; ls w; rm -rf w
      """, seconds: 1200)
    #expect(run.text == "x\n", "\(run.errorText)")
    let peaks = run.errorText.split(separator: "\n").compactMap { Int($0) }
    print("\(format): KiB of compress, test, decompress:", peaks)
    // At level 6, liblzma needs 94 MiB for each lane, in addition to the blocks of 24 MiB.
    let bound = format == .xz ? 450_000_000 : 300_000_000
    #expect(peaks.count == 3 && peaks.allSatisfy { $0 < bound / 1024 }, "\(run.errorText)")
  }

  @Test(
    "a hundred kills (27 for each format) at random moments of runs that remove sources lose nothing",
    arguments: StockFormat.allCases)
  func kills(format: StockFormat) throws {
    try t.writeTexts(files: 40)
    try t.shell("seq 3000000 >src/c/huge")
    for turn in 0..<9 {
      try t.shell("rm -rf w; cp -a src w")
      // Three runs are killed; the fourth one finishes the work.
      for attempt in 0..<4 {
        let run = try t.start([
          "compress", "-q", "-l", PathBytes("\(format.fastLevel)"), "--format", PathBytes(format.rawValue),
          "--remove-source", "w",
        ])
        if attempt < 3 {
          usleep(UInt32.random(in: 0..<400_000))
          run.signal(SIGKILL)
        }
        let end = run.wait().ending
        if attempt == 3 { #expect(end == .exit(0), "turn \(turn)") }
        #expect(try t.lost(in: "w", format) == "", "turn \(turn)")
        #expect(try t.damaged(in: "w", format) == "", "turn \(turn)")
      }
      #expect(try t.allTemporaries() == "", "turn \(turn)")
    }
  }
}
