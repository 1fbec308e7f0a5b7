import TestSupport
import Testing

@testable import BatchCore
@testable import BatchEngine

/// Digests of the members of a frame, computed before they are needed.
@Suite struct DigestsAheadTests {
  private let frame = SampleContent.noise.bytes(1_000_000)
  private let ahead: DigestsAhead

  init() throws { ahead = try DigestsAhead() }

  /// The digests of these contents of the frame; nil for each that was not computed.
  private func ask(_ contents: [Range<Int>], knowing expected: [Range<Int>]) throws -> [Digest?] {
    try frame.withUnsafeBytes { raw in
      ahead.begin(expected.map { UnsafeRawBufferPointer(rebasing: raw[$0]) })
      defer { ahead.end() }
      return try contents.map { try ahead.digest(of: UnsafeRawBufferPointer(rebasing: raw[$0])) }
    }
  }

  private func digest(_ content: Range<Int>) throws -> Digest {
    try Digest.of(Array(frame[content]), .sha256)
  }

  @Test func givesAllDigestsInOrder() throws {
    let contents = (0..<900).map { ($0 * 1000)..<($0 * 1000 + $0 + 1) }
    #expect(try ask(contents, knowing: contents) == contents.map(digest))
  }

  @Test func someContentsMayBeSkipped() throws {
    let contents = (0..<900).map { ($0 * 1000)..<($0 * 1000 + 900) }
    let wanted = contents.enumerated().filter { $0.offset % 7 == 3 || $0.offset > 700 }.map(\.element)
    #expect(try ask(wanted, knowing: contents) == wanted.map(digest))
  }

  @Test("A content with other bytes than expected has no digest, and the following contents have theirs")
  func others() throws {
    let contents = [10..<20, 100..<300, 1000..<1100]
    let asked = [11..<20, 10..<19, 10..<20, 100..<299, 100..<300, 500..<600, 1000..<1100, 5000..<5001]
    #expect(
      try ask(asked, knowing: contents) == [
        nil, nil, nil, nil, digest(100..<300), nil, digest(1000..<1100), nil,
      ])
  }

  @Test("The digest of a content of any length but 0 is known")
  func lengths() throws {
    let contents = [0..<0, 0..<65_534, 100_000..<165_535, 200_000..<900_000, 950_000..<950_001]
    #expect(try ask(contents, knowing: contents) == [nil] + contents.dropFirst().map(digest))
  }

  @Test func givesNoDigestAfterTheEnd() throws {
    let (before, after) = try frame.withUnsafeBytes { raw in
      let content = UnsafeRawBufferPointer(rebasing: raw[..<100])
      ahead.begin([content, content])
      let before = try ahead.digest(of: content)
      ahead.end()
      return (before, try ahead.digest(of: content))
    }
    #expect(before != nil && after == nil)
  }
}
