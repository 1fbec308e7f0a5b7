import BatchCore
import BatchEngine
import TestSupport
import Testing

/// The levels of each format, from the fastest to the slowest.
@Suite(.timeLimit(.minutes(2))) struct LevelTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    try t.shell("seq 40000 >a; seq 500000 >big")
  }

  @Test(
    "the stock tool reads outputs of the lowest and the highest level",
    arguments: [
      ("gz", 0), ("gz", 12), ("zst", 1), ("zst", 22), ("xz", 0), ("xz", 9), ("lz4", 1), ("lz4", 12),
    ])
  func ends(name: String, level: Int) throws {
    let format = try #require(StockFormat(rawValue: name))
    let run = try t.shell("$BP compress --format \(name) --level \(level) --compress-all a")
    #expect(run.status == 0, "\(run.errorText)")
    #expect(try t.shell("\(format.tool) -dc a.\(name) | cmp - a && echo same").text == "same\n")
    // As a stream of several blocks.
    let stream = try t.shell(
      "$BP compress --format \(name) -l \(level) - <a | \(format.tool) -dc | cmp - a && echo same")
    #expect(stream.text == "same\n", "\(stream.errorText)")
  }

  @Test("level 0 of gz stores a large file as one member")
  func stored() throws {
    #expect(try t.shell("$BP compress -l 0 --compress-all big").status == 0)
    #expect(
      try t.shell("gzip -dc big.gz | cmp - big && [ $(stat -c %s big.gz) -gt $(stat -c %s big) ] && echo ok")
        .text == "ok\n")
    let plain = try t.shell("$BP compress -l 0 a")
    #expect(plain.errorText.contains("1 would not be smaller"), "\(plain.errorText)")
  }

  @Test(
    "other levels are usage errors, and no output is written",
    arguments: [
      ("gz", "13"), ("zst", "0"), ("zst", "23"), ("xz", "10"), ("lz4", "0"), ("lz4", "13"), ("xz", "-1"),
      ("xz", "6e"), ("gz", "99999999999999999999"),
    ])
  func refused(format: PathBytes, level: PathBytes) throws {
    let run = try t.batchproc("compress", "--format", format, "--level", level, "a")
    #expect(run.status == 64, "\(run.errorText)")
    #expect(run.errorText.contains("level") && run.errorText.contains("Usage:"))
    #expect(t.names() == ["a", "big"])
  }
}
