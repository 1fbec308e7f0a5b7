import Foundation
import TestSupport
import Testing

/// Passes the inputs that the fuzzer kept to its entries. An entry ends the process if a check fails.
///
/// The inputs run one at a time, since entries keep a file or a decoder between inputs.
@Suite(.serialized, .timeLimit(.minutes(2))) struct CorpusTests {
  private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().appendingPathComponent("Corpora")

  private static func inputs(_ name: String) throws -> [Data] {
    let place = folder.appendingPathComponent(name)
    return try FileManager.default.contentsOfDirectory(atPath: place.path).sorted().map {
      try Data(contentsOf: place.appendingPathComponent($0))
    }
  }

  private static func run(_ entry: (UnsafePointer<UInt8>, Int) -> Void, _ input: Data) {
    var bytes = [UInt8](input)
    let count = bytes.count
    // Entries need a pointer to memory even for an empty input.
    bytes.append(0)
    bytes.withUnsafeBufferPointer { if let start = $0.baseAddress { entry(start, count) } }
  }

  @Test("each input of each entry passes", arguments: fuzzEntries.map(\.name))
  func inputs(of name: String) throws {
    let entry = try #require(fuzzEntries.first { $0.name == name })
    let inputs = try Self.inputs(name)
    #expect(!inputs.isEmpty)
    for input in inputs { Self.run(entry.run, input) }
  }

  @Test("each entry has a corpus and each corpus an entry, with less than 5 MB in total")
  func folders() throws {
    let names = try FileManager.default.contentsOfDirectory(atPath: Self.folder.path)
    #expect(Set(names) == Set(fuzzEntries.map(\.name)))
    #expect(try names.flatMap { try Self.inputs($0) }.reduce(0) { $0 + $1.count } < 5 << 20)
  }

  @Test("changed inputs pass too", arguments: fuzzEntries.map(\.name))
  func changed(of name: String) throws {
    let entry = try #require(fuzzEntries.first { $0.name == name })
    var numbers = SeededNumbers(seed: 5)
    let inputs = try Self.inputs(name)
    for _ in 0..<Campaign.costlyCases(2000) {
      guard var input = inputs.randomElement(using: &numbers), !input.isEmpty else { continue }
      for _ in 0..<Int.random(in: 1...4, using: &numbers) {
        input[Int.random(in: 0..<input.count, using: &numbers)] = UInt8.random(in: 0...255, using: &numbers)
      }
      Self.run(entry.run, input)
    }
  }
}
