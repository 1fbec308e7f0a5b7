import TestSupport
import Testing

@testable import BatchCore
@testable import BatchEngine

/// Compares digests of several contents at once with those of libcrypto.
@Suite struct MultiBufferDigestsTests {
  /// The methods that this machine supports; none if the library is not installed.
  private static let all = MultiBufferDigests.Method.allCases.compactMap {
    try? MultiBufferDigests(method: $0)
  }

  private static let bytes: [UInt8] = {
    var numbers = SeededNumbers(seed: 26)
    return (0..<200_000).map { _ in UInt8.random(in: 0...255, using: &numbers) }
  }()

  private func opened(_ digests: MultiBufferDigests) -> OptionalLibrary<MultiBufferDigests> {
    OptionalLibrary(threshold: 0) { () throws(BatchError) in digests }
  }

  /// The digests of contents that begin at these offsets.
  private func digests(
    _ contents: [Range<Int>], by library: OptionalLibrary<MultiBufferDigests>
  ) throws -> [Digest] {
    let batch = try DigestBatch(by: library)
    return try Self.bytes.withUnsafeBytes { raw in
      for content in contents { batch.add(UnsafeRawBufferPointer(rebasing: raw[content])) }
      var digests = [Digest]()
      try batch.finish { (index, digest) in
        #expect(index == digests.count)
        digests.append(digest)
      }
      return digests
    }
  }

  private func expected(_ contents: [Range<Int>]) throws -> [Digest] {
    let stream = try DigestStream(.sha256)
    return try Self.bytes.withUnsafeBytes { raw in
      try contents.map { try stream.digest(of: UnsafeRawBufferPointer(rebasing: raw[$0])) }
    }
  }

  @Test func theLibraryIsInstalled() {
    #if arch(x86_64)
      #expect(!Self.all.isEmpty)
    #else
      #expect(Self.all.isEmpty)
    #endif
  }

  @Test func allLengthsFrom0To300InEachOrder() throws {
    let contents = (0...300).map { $0..<($0 * 2) }
    for digests in Self.all {
      #expect(try self.digests(contents, by: opened(digests)) == expected(contents), "\(digests.method)")
      #expect(
        try self.digests(contents.reversed(), by: opened(digests)) == expected(contents.reversed()),
        "\(digests.method)")
    }
  }

  @Test(
    "Lengths near block sizes, and near the greatest length that the library accepts", arguments: [0, 1, 7])
  func borders(start: Int) throws {
    let counts = [1, 2, 16, 64, 256, 511, 1023].flatMap { blocks in
      [-9, -8, -1, 0, 1].map { blocks * 64 + $0 }
    }
    let contents = (counts + [65_533, 65_534, 65_535, 65_536, 65_537, 131_072, 0]).map {
      start..<(start + $0)
    }
    for digests in Self.all {
      #expect(try self.digests(contents, by: opened(digests)) == expected(contents), "\(digests.method)")
    }
  }

  @Test func mixesOfAllLengths() throws {
    var numbers = SeededNumbers(seed: 256)
    for _ in 0..<Campaign.costlyCases(100_000) {
      // Most contents are short, since mistakes occur at the beginning and the end of contents.
      let most = [64, 130, 300, 2_000].randomElement(using: &numbers) ?? 64
      let contents = (0..<Int.random(in: 1...20, using: &numbers)).map { _ in
        let start = Int.random(in: 0..<100_000, using: &numbers)
        let isLong = Int.random(in: 0..<500, using: &numbers) == 0
        return start..<(start + Int.random(in: 0...(isLong ? 70_000 : most), using: &numbers))
      }
      let expected = try expected(contents)
      for digests in Self.all {
        let found = try self.digests(contents, by: opened(digests))
        guard found != expected else { continue }
        Issue.record("\(digests.method): \(contents)")
        return
      }
    }
  }

  @Test func manyLanesAtOnce() async throws {
    let contents = (0..<200).map { ($0 * 500)..<($0 * 800) }
    let expected = try expected(contents)
    for digests in Self.all {
      let library = opened(digests)
      try await onThreads(4) { _ in
        for _ in 0..<5 { #expect((try? self.digests(contents, by: library)) == expected) }
      }
    }
  }

  @Test func withoutTheLibraryDigestsComeFromLibcrypto() throws {
    let contents = (0...300).map { $0..<($0 * 3) }
    let absent = OptionalLibrary(threshold: 0) { () throws(BatchError) in
      try MultiBufferDigests(in: ["/var/empty"])
    }
    #expect(try digests(contents, by: absent) == expected(contents))
    expectError(.unsupported) { try absent.result().get() }
    #expect(try digests([], by: absent).isEmpty)
  }

  @Test func aBatchIsEmptyAfterItsEndAndAfterAnError() throws {
    let batch = try DigestBatch()
    try Self.bytes.withUnsafeBytes { raw in
      batch.add(UnsafeRawBufferPointer(rebasing: raw[..<10]))
      batch.add(UnsafeRawBufferPointer(rebasing: raw[..<20]))
      expectError(.cancelled) {
        try batch.finish { (_, _) throws(BatchError) in throw BatchError(.cancelled, "stop") }
      }
      var count = 0
      try batch.finish { (_, _) in count += 1 }
      #expect(count == 0)
    }
  }
}

/// The self-test of the library, and the result when it fails.
@Suite struct MultiBufferTrialTests {
  /// Computes by libcrypto, and lets `spoil` change the digests.
  private func check(
    longest: Int = 65_534, _ spoil: (Int, UnsafeMutablePointer<UInt8>) -> Void
  ) throws(BatchError) {
    guard let stream = try? DigestStream(.sha256) else { return }
    try MultiBufferTrial.check(longest: longest) { contents, digests in
      for (index, content) in contents.enumerated() {
        guard let digest = try? stream.digest(of: content) else { return false }
        for (place, byte) in digest.bytes.enumerated() { digests[index * 32 + place] = byte }
        spoil(index, digests + index * 32)
      }
      return true
    }
  }

  @Test func acceptsCorrectDigests() throws {
    try check { _, _ in }
    try check(longest: 16 << 10) { _, _ in }
  }

  @Test("One wrong bit in one digest fails the test", arguments: [0, 55, 56, 64, 192, 199, 203])
  func wrong(index: Int) {
    #expect {
      try check { if $0 == index { $1[31] ^= 1 } }
    } throws: {
      ($0 as? BatchError)?.message == "failed its self-test: its digests differ from libcrypto"
    }
  }

  @Test func aLibraryThatComputesNothingFails() {
    expectError(.unsupported) {
      try MultiBufferTrial.check(longest: 1000) { _, _ in false }
    }
  }

  @Test func aFailedMethodIsNotUsedAndIsNoted() throws {
    let library = OptionalLibrary<MultiBufferDigests>(threshold: 0) { () throws(BatchError) in
      try MultiBufferTrial.check(longest: 1000) { _, _ in true }
      return try MultiBufferDigests()
    }
    #expect(library.tool(for: 1 << 30) == nil)
    let shown = OpenedLibrary("libIPSec_MB", library) { ($0.version, "") }
    #expect(shown.version == nil)
    #expect(shown.note.contains("self-test"))
  }

  @Test func isOpenedWhenItIsFirstNeeded() throws {
    let library = OptionalLibrary(threshold: 100) { 7 }
    #expect(library.tool(for: 60) == nil)
    #expect(library.tool(for: 39) == nil)
    #expect(library.tool(for: 1) == 7)
    #expect(library.tool(for: 0) == 7)
    #expect(try OptionalLibrary(threshold: .max) { 8 }.result().get() == 8)
    #expect(OptionalLibrary(threshold: .max) { 9 }.tool(for: .max) == 9)
  }
}
