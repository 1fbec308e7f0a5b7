import BatchEngine
import Glibc
import TestSupport
import Testing

/// A signal at a random moment: complete outputs are kept and counted, no other file is left, and the next
/// run does the remaining work.
@Suite(.timeLimit(.minutes(10))) struct InterruptTests {
  private static let turns = Campaign.isFull ? 100 : 6
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    // Small files, a large file of one block and one of several, a file that cannot be compressed, and further names.
    let made = try t.shell(
      """
      mkdir src; cd src; for i in $(seq 90); do seq $((i * 40)) >f$i; done; seq 100000 >z200; seq 330000 >z35x
      head -c 5000 /dev/urandom >random; echo x >tiny; for i in 5 50 70; do ln f$i g$i; done
      """)
    try #require(made.status == 0, "\(made.errorText)")
  }

  /// The moment of a signal within a run, which does not depend on the speed of the machine.
  private struct Moment {
    var numbers: SeededNumbers
    let concurrency: PathBytes
    let isSynced: Bool
    let isJSON: Bool
    /// How many more entries the folder of the outputs has when the signal is sent.
    let entries: Int
    let pause: UInt32
    let number: Int32

    init(turn: Int, seed: UInt64) {
      numbers = SeededNumbers(seed: seed &+ UInt64(turn))
      // In a campaign each number is combined with each way to run.
      concurrency = ["1", "2", "7", "32"][(turn + turn / 4) % 4]
      isSynced = turn % 2 == 0
      isJSON = turn % 4 > 1
      entries = Int.random(in: 0..<60, using: &numbers)
      pause = UInt32.random(in: 0..<2_000, using: &numbers)
      number = [SIGINT, SIGTERM, SIGHUP][turn % 3]
    }

    var options: [PathBytes] {
      var options: [PathBytes] = ["-j", concurrency]
      if !isSynced { options.append("--no-fsync") }
      if isJSON { options.append("--json") }
      return options
    }
  }

  /// Starts a run over `w` that cannot end, since its list of operands is endless, and stops it at a moment.
  private func interrupt(
    _ command: PathBytes, at moment: Moment, in folder: PathBytes, input: String
  ) throws -> Outcome {
    try t.shell("rm -f list; mkfifo list")
    let before = t.names(in: folder).count
    let options = moment.options.map { "\($0)" }.joined(separator: " ")
    let run = try t.startShell("exec $BP \(command) \(options) \(input)")
    let list = t.path("list").withCString { open($0, O_RDWR | O_CLOEXEC) }
    try #require(list >= 0)
    defer { close(list) }
    try #require(eventually { run.handlesSignals })
    _ = "w\n".withCString { write(list, $0, 2) }
    _ = eventually { run.hasEnded || t.names(in: folder).count >= before + moment.entries }
    usleep(moment.pause)
    run.signal(moment.number)
    return run.wait()
  }

  /// The number of files that the run says it has done. A signal at the end of a run ends the command, but the run may be
  /// complete, and then its usual summary has the number.
  private func count(_ run: Outcome, _ moment: Moment) -> Int? {
    let pattern: Regex<(Substring, Substring)> =
      moment.isJSON
      ? /"type":"summary".*"done":(\d+)/
      : /(?:interrupted:|extracted|compressed|decompressed) ([\d,]+) files?/
    let text = moment.isJSON ? run.text : run.errorText
    return text.firstMatch(of: pattern).flatMap { Int($0.1.filter { $0 != "," }) }
  }

  private func expectStopped(_ run: Outcome, _ moment: Moment, _ turn: Int) {
    let seen = moment.number == SIGHUP ? SIGTERM : moment.number
    #expect(run.ending == .signal(seen), "turn \(turn): \(run.errorText)")
  }

  /// The outputs that match, each with its inode and time.
  private func outputs(_ pattern: String) throws -> Set<Substring> {
    Set(try t.shell("find \(pattern) -printf '%p %i %T@\\n'").text.split(separator: "\n"))
  }

  @Test(
    "compress and decompress keep and count complete outputs", arguments: ["compress", "decompress"])
  func transforms(command: String) throws {
    let isCompressing = command == "compress"
    try t.shell(
      """
      cp -a src start; \(isCompressing) && exit; cd start; rm g*; gzip *
      for i in 5 50 70; do ln f$i.gz g$i.gz; done
      """)
    let pattern = isCompressing ? "w -type f -name '*.gz'" : "w -type f ! -name '*.gz'"
    var inMiddle = 0
    for turn in 0..<Self.turns {
      let moment = Moment(turn: turn, seed: isCompressing ? 32_000 : 33_000)
      try t.shell("rm -rf w v; cp -a start w")
      let run = try interrupt(PathBytes(command), at: moment, in: "w", input: "--files-from list")
      expectStopped(run, moment, turn)
      let kept = try outputs(pattern)
      #expect(count(run, moment) == kept.count, "turn \(turn): \(run.text.suffix(300))\(run.errorText)")
      if !kept.isEmpty, kept.count < 95 { inMiddle += 1 }
      #expect(try t.allTemporaries() == "", "turn \(turn)")
      // Each output contains the content of its source.
      let compared = try t.shell(
        """
        mkdir v; find \(pattern) -exec cp -t v {} +
        [ \(isCompressing) = false ] || [ -z "$(ls v)" ] || gzip -qd v/*
        diff -r v src | grep -v '^Only in src'
        """)
      #expect(compared.text == "" && compared.errorText == "", "turn \(turn): \(compared.text)")
      let next = try t.batchproc(PathBytes(command), "w")
      #expect(next.status == 0 && next.messages.isEmpty, "turn \(turn): \(next.errorText)")
      let all = try outputs(pattern)
      #expect(kept.isSubset(of: all), "turn \(turn): \(kept.subtracting(all))")
      #expect(all.count == 95 - (isCompressing ? 0 : -2), "turn \(turn): \(all.count)")
    }
    #expect(inMiddle > 0)
  }

  @Test("extract keeps and counts complete files, with and without an index", arguments: [true, false])
  func extract(hasIndex: Bool) throws {
    try t.shell("rm src/g*; $BP archive -q -o a.tar.zst src; zstd -qdc a.tar.zst >stream")
    for turn in 0..<Self.turns {
      let moment = Moment(turn: turn, seed: 34_000)
      try t.shell("rm -rf o; mkdir -p o/src")
      // An endless stream keeps the run waiting.
      let input =
        hasIndex
        ? "-C o a.tar.zst" : "-C o - < <(head -c \(2_000_000 + turn * 16_000) stream; exec cat list)"
      let run = try interrupt("extract", at: moment, in: "o/src", input: input)
      if hasIndex, run.ending == .exit(0) { continue }
      expectStopped(run, moment, turn)
      let kept = try outputs("o -type f")
      // The folder counts as done when its last file exists and its metadata is set.
      let done = count(run, moment)
      let isWhole = try outputs("src -type f").count == kept.count
      #expect(
        done == kept.count || (isWhole && done == kept.count + 1),
        "turn \(turn): \(run.text.suffix(300))\(run.errorText)")
      #expect(try t.allTemporaries() == "", "turn \(turn)")
      let compared = try t.shell("diff -r o/src src | grep -v '^Only in src'")
      #expect(compared.text == "" && compared.errorText == "", "turn \(turn): \(compared.text)")
      let next = try t.batchproc("extract", "--overwrite", "newer", "-C", "o", "a.tar.zst")
      #expect(next.status == 0 && next.messages.isEmpty, "turn \(turn): \(next.errorText)")
      #expect(kept.isSubset(of: try outputs("o -type f")), "turn \(turn)")
      #expect(try t.shell("diff -r o/src src").text == "", "turn \(turn)")
    }
  }
}
