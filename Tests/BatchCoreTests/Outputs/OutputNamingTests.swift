import TestSupport
import Testing

@testable import BatchCore
@testable import BatchEngine
@testable import BatchOutputs

@Suite("The name of an output")
struct OutputNamingTests {
  private static func adding(_ suffix: PathBytes, in directory: PathBytes? = nil) -> OutputNaming {
    OutputNaming(.adding(suffix: suffix), directory: directory)
  }

  @Test(
    "has the suffix, beside the source",
    arguments: [
      ("a", "a.gz"), ("d/a", "d/a.gz"), ("/a", "/a.gz"), ("d//.a", "d//.a.gz"), ("a.gz", "a.gz.gz"),
    ])
  func adds(source: PathBytes, target: PathBytes) {
    #expect(Self.adding(".gz").target(of: source) == target)
  }

  @Test(
    "is mirrored below a folder, which no path leads out of",
    arguments: [
      ("a", "o/a.gz"), ("d/a", "o/d/a.gz"), ("/d/a", "o/d/a.gz"), ("./d/./a", "o/d/a.gz"),
      ("../../a", "o/a.gz"), ("d/../../e/a", "o/d/e/a.gz"), ("d//a", "o/d/a.gz"), ("...", "o/....gz"),
    ])
  func mirrors(source: PathBytes, target: PathBytes) {
    #expect(Self.adding(".gz", in: "o").target(of: source) == target)
    #expect(Self.adding(".gz", in: "o/").target(of: source) == target)
  }

  @Test(
    "is without the suffix",
    arguments: [
      ("a.gz", "a"), ("a.zst", "a"), ("a.xz", "a"), ("a.lz4", "a"), ("a.z", "a"), ("a.gzip", "a"),
      ("d/a.tgz", "d/a.tar"), ("a.taz", "a.tar"), ("a.tzst", "a.tar"), ("a.txz", "a.tar"),
      ("a.tlz4", "a.tar"), ("a.gz.gz", "a.gz"), ("a.tar.gz", "a.tar"),
    ])
  func removes(source: PathBytes, target: PathBytes) {
    #expect(OutputNaming(.decompressing, directory: nil).target(of: source) == target)
  }

  @Test(
    "is none without a suffix that is known",
    arguments: ["a", "a.lzo", "a.GZ", "a.br", ".gz", "d/.gz", ".tgz", "gz", "agz", "a.gz~", "d.gz/a"])
  func unknown(source: PathBytes) {
    #expect(OutputNaming(.decompressing, directory: nil).target(of: source) == nil)
  }

  @Test("keeps bytes that are no text")
  func bytes() {
    let name = PathBytes([0xFF, 0x0A, 0x2F, 0xC3])
    #expect(Self.adding(PathBytes([0xFE])).target(of: name) == PathBytes([0xFF, 0x0A, 0x2F, 0xC3, 0xFE]))
    let packed = PathBytes(name.bytes + Array(".tgz".utf8))
    let target = OutputNaming(.decompressing, directory: nil).target(of: packed)
    #expect(target == PathBytes(name.bytes + Array(".tar".utf8)))
  }

  @Test("taken off again is the name of the source, for every suffix and folder")
  func roundTrip() {
    var numbers = SeededNumbers(seed: 7)
    let letters = Array("ab./\u{fc}".utf8)
    for _ in 0..<2000 {
      let bytes = (0..<Int.random(in: 1...12, using: &numbers)).map { _ in letters[Int(numbers.next() % 6)] }
      let source = PathBytes(bytes + [0x78])
      for format in CompressionFormat.writable {
        let packed = Self.adding(PathBytes(format.suffix)).target(of: source)
        #expect(packed.flatMap { OutputNaming(.decompressing, directory: nil).target(of: $0) } == source)
      }
      let mirrored = Self.adding(".gz", in: "o").target(of: source)
      #expect(mirrored?.bytes.starts(with: "o/".utf8) == true)
      #expect(mirrored?.bytes.split(separator: 0x2F).contains { $0.elementsEqual("..".utf8) } == false)
    }
  }

  @Test("is that of an output of an earlier run when the source beside it has its time")
  func outputs() throws {
    let fixture = try TreeFixture()
    for name in ["a", "a.gz", "b.gz", "c", "c.gz", "d.gz"] as [PathBytes] {
      try fixture.file(name, "x")
      try fixture.setModified(name, seconds: name == "c" ? 2000 : 1000)
    }
    try fixture.symbolicLink("d", to: fixture.path("a"))
    for (name, isOutput) in [("a.gz", true), ("a", false), ("b.gz", false), ("c.gz", false), ("d.gz", false)]
    {
      let record = try fixture.record(PathBytes(name))
      #expect(Self.adding(".gz").isOutput(record, calls: LinuxCalls()) == isOutput, "\(name)")
      #expect(!Self.adding(".gz", in: "o").isOutput(record, calls: LinuxCalls()))
      #expect(!Self.adding(".zst").isOutput(record, calls: LinuxCalls()))
    }
  }
}
