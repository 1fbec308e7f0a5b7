import TestSupport
import Testing

@testable import BatchCore
@testable import BatchEngine

/// Compares digests of two contents at once with those of libcrypto.
@Suite(.enabled(if: PairedDigests.isOffered)) struct PairedDigestsTests {
  private static let bytes: [UInt8] = {
    var numbers = SeededNumbers(seed: 27)
    return (0..<300_000).map { _ in UInt8.random(in: 0...255, using: &numbers) }
  }()

  private func digests(_ contents: [Range<Int>]) -> [Digest?] {
    Self.bytes.withUnsafeBytes { raw in
      var digests = [UInt8](repeating: 0, count: contents.count * 32 + 1)
      digests.withUnsafeMutableBufferPointer { buffer in
        guard let base = buffer.baseAddress else { return }
        PairedDigests.compute(contents.map { UnsafeRawBufferPointer(rebasing: raw[$0]) }, into: base)
      }
      // Nothing is written after the digests.
      #expect(digests.last == 0)
      return contents.indices.map { Digest(.sha256, bytes: digests[($0 * 32)..<($0 * 32 + 32)]) }
    }
  }

  private func expected(_ contents: [Range<Int>]) throws -> [Digest?] {
    let stream = try DigestStream(.sha256)
    return try Self.bytes.withUnsafeBytes { raw in
      try contents.map { try stream.digest(of: UnsafeRawBufferPointer(rebasing: raw[$0])) }
    }
  }

  @Test func allLengthsFrom0To300InEachOrder() throws {
    let contents = (0...300).map { $0..<($0 * 2) }
    #expect(try digests(contents) == expected(contents))
    #expect(try digests(contents.reversed()) == expected(contents.reversed()))
    for content in contents { #expect(try digests([content]) == expected([content])) }
    #expect(digests([]).isEmpty)
  }

  @Test func mixesOfAllLengths() throws {
    var numbers = SeededNumbers(seed: 28)
    for _ in 0..<Campaign.cases(20_000) {
      let most = [64, 130, 300, 2_000].randomElement(using: &numbers) ?? 64
      let contents = (0..<Int.random(in: 1...9, using: &numbers)).map { _ in
        let start = Int.random(in: 0..<100_000, using: &numbers)
        let isLong = Int.random(in: 0..<300, using: &numbers) == 0
        return start..<(start + Int.random(in: 0...(isLong ? 200_000 : most), using: &numbers))
      }
      guard try digests(contents) != expected(contents) else { continue }
      Issue.record("\(contents)")
      return
    }
  }
}
