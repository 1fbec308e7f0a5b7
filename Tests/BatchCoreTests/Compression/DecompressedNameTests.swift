import TestSupport
import Testing

@testable import BatchCore
@testable import BatchEngine
@testable import BatchOutputs

@Suite("The name of a decompressed output")
struct DecompressedNameTests {
  @Test(
    "is the name without the suffix",
    arguments: [
      ("a.gz", "a"), ("a.zst", "a"), ("a.xz", "a"), ("a.lz4", "a"), ("a.z", "a"), ("a.gzip", "a"),
      ("d/a.tgz", "d/a.tar"), ("a.taz", "a.tar"), ("a.tzst", "a.tar"), ("a.txz", "a.tar"),
      ("a.tlz4", "a.tar"), ("a.gz.gz", "a.gz"), ("a.tar.gz", "a.tar"), ("A.GZ", "A"), ("A.TGZ", "A.tar"),
      ("A.Z", "A"),
    ])
  func removes(source: PathBytes, target: PathBytes) {
    #expect(OutputNaming(.decompressing, directory: nil).target(of: source) == target)
  }

  @Test(
    "does not exist for an unknown suffix",
    arguments: ["a", "a.lzo", "a.Gz", "a.br", ".GZ", ".gz", "d/.gz", ".tgz", "gz", "agz", "a.gz~", "d.gz/a"])
  func unknown(source: PathBytes) {
    #expect(OutputNaming(.decompressing, directory: nil).target(of: source) == nil)
  }

  @Test("is the name of the source before it was compressed, for each suffix and folder")
  func roundTrip() {
    var numbers = SeededNumbers(seed: 7)
    let letters = Array("ab./\u{fc}".utf8)
    for _ in 0..<2000 {
      let bytes = (0..<Int.random(in: 1...12, using: &numbers)).map { _ in letters[Int(numbers.next() % 6)] }
      let source = PathBytes(bytes + [0x78])
      for format in CompressionFormat.writable {
        let packed = OutputNaming(.adding(suffix: PathBytes(format.suffix)), directory: nil)
          .target(of: source)
        #expect(packed.flatMap { OutputNaming(.decompressing, directory: nil).target(of: $0) } == source)
      }
    }
  }
}
