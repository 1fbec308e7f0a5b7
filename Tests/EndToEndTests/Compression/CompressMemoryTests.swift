import BatchCore
import BatchEngine
import TestSupport
import Testing

/// The memory for streams and large files is limited by the number of lanes and the size of their blocks.
@Suite(.timeLimit(.minutes(5))) struct CompressMemoryTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
  }

  @Test(
    "of a stream from standard input is at most two blocks for each lane",
    arguments: [("zst", 2, 120, 200), ("lz4", 2, 120, 200), ("zst", 8, 300, 400)])
  func stream(format: String, concurrency: Int, most: Int, size: Int) throws {
    let run = try t.shell(
      """
      { head -c 2500K /dev/urandom; head -c 5500K /dev/zero; } >part
      while cat part; do :; done 2>/dev/null | head -c \(size)M |
        /usr/bin/time -f %M -o peak $BP compress -q --format \(format) -j \(concurrency) - >o
      echo $?; tail -1 peak
      """, seconds: 200)
    let lines = run.text.split(separator: "\n")
    #expect(lines.first == "0", "\(run.errorText)")
    #expect((lines.last.flatMap { Int($0) } ?? .max) < most << 10, "\(run.text)")
  }

  @Test("of several large files that are decoded in parts has the same limit")
  func parts() throws {
    let run = try t.shell(
      """
      head -c 100M /dev/urandom >a; $BP compress -q -j 2 --format zst --compress-all a; cp a.zst b.zst
      cp a.zst c.zst; cp a.zst d.zst; /usr/bin/time -f %M -o peak $BP test -q -j 2 a.zst b.zst c.zst d.zst; echo $?
      tail -1 peak
      """, seconds: 200)
    let lines = run.text.split(separator: "\n")
    #expect(lines.first == "0", "\(run.errorText)")
    #expect((lines.last.flatMap { Int($0) } ?? .max) < 120 << 10, "\(run.text)")
  }
}
