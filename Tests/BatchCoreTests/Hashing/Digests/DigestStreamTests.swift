import TestSupport
import Testing

@testable import BatchCore
@testable import BatchEngine

@Suite struct DigestStreamTests {
  @Test(arguments: DigestVectors.digests)
  func computesThePublishedVectors(algorithm: DigestAlgorithm, expected: [String]) throws {
    let stream = try DigestStream(algorithm)
    for (message, digest) in zip(DigestVectors.messages, expected) {
      try message.withUnsafeBytes { bytes in
        #expect(try stream.digest(of: bytes).hex == digest)
        try stream.update(bytes)
        #expect(try stream.finish().hex == digest)
      }
    }
  }

  @Test(arguments: DigestVectors.digests, [1, 3, 63, 64, 65, 127, 4097])
  func doesNotDependOnThePieces(vectors: (DigestAlgorithm, [String]), size: Int) throws {
    // Single bytes of the whole million would take the debug build too long, so the test uses the beginning.
    let message = Array(DigestVectors.messages[2].prefix(size * 1000))
    let stream = try DigestStream(vectors.0)
    try message.withUnsafeBytes { bytes in
      let whole = try stream.digest(of: bytes)
      for start in stride(from: 0, to: bytes.count, by: size) {
        try stream.update(UnsafeRawBufferPointer(rebasing: bytes[start..<min(start + size, bytes.count)]))
        try stream.update(UnsafeRawBufferPointer(start: nil, count: 0))
      }
      #expect(try stream.finish() == whole)
    }
  }

  @Test(arguments: DigestAlgorithm.allCases)
  func isReadyForTheNextFileAfterEachEnd(algorithm: DigestAlgorithm) throws {
    let stream = try DigestStream(algorithm)
    let abc = try Digest.of(Array("abc".utf8), algorithm)
    try Array("ab".utf8).withUnsafeBytes { try stream.update($0) }
    stream.reset()
    for _ in 0..<2 {
      try Array("abc".utf8).withUnsafeBytes { try stream.update($0) }
      #expect(try stream.finish() == abc)
    }
    try Array("left over".utf8).withUnsafeBytes { try stream.update($0) }
    #expect(try Array("abc".utf8).withUnsafeBytes { try stream.digest(of: $0) } == abc)
    #expect(try stream.finish() == Digest.of([], algorithm))
  }

  @Test func setGivesAllDigestsInTheRequestedOrder() throws {
    let algorithms: [DigestAlgorithm] = [.crc32, .sha256, .xxh128, .sha256, .md5]
    let message = DigestVectors.messages[2]
    let expected = try algorithms.map { try Digest.of(message, $0) }
    let set = try DigestSet(algorithms, concurrency: ConcurrencyLimit(8))
    try message.withUnsafeBytes { bytes in
      try set.update(UnsafeRawBufferPointer(rebasing: bytes[..<7]))
      set.reset()
      try set.update(UnsafeRawBufferPointer(rebasing: bytes[..<500]))
      try set.update(UnsafeRawBufferPointer(rebasing: bytes[500...]))
      #expect(try set.finish() == expected)
    }
  }

  @Test(
    "Digests are computed on as many threads as the other lanes do not use",
    arguments: [(2, 1, 2), (2, 2, 1), (8, 1, 3), (8, 6, 3), (8, 7, 2), (1, 1, 1), (8, 8, 1)])
  func sharesTheThreads(concurrency: Int, running: Int, expected: Int) throws {
    let limit = ConcurrencyLimit(concurrency)
    limit.note(running: running)
    let widths = Recorder<Int>()
    let algorithms: [DigestAlgorithm] = [.md5, .sha256, .crc32]
    let set = try DigestSet(algorithms, concurrency: limit) { count, block in
      widths.record(count)
      for index in 0..<count { block(index) }
    }
    let piece = TreeFixture.content(300_000)
    try piece.withUnsafeBytes { try set.update($0) }
    #expect(widths.values == (expected > 1 ? [expected] : []))
    #expect(try set.finish() == algorithms.map { try Digest.of(piece, $0) })
  }

  @Test func threadsInUseAreNotGivenAgain() {
    let limit = ConcurrencyLimit(8)
    limit.note(running: 2)
    let found = limit.withThreads(upTo: 5) { first in
      [first] + limit.withThreads(upTo: 16) { second in [second] + limit.withThreads(upTo: 16) { [$0] } }
    }
    #expect(found == [5, 3, 1], "with the two that run that is 8")
    #expect(limit.withThreads(upTo: 16) { $0 } == 7)
    // A collector works beside the lanes.
    #expect(limit.withThreads(upTo: 16, besidesLanes: true) { $0 } == 6)
    limit.set(1)
    #expect(limit.withThreads(upTo: 16) { $0 } == 1)
  }

  @Test func namesAnAlgorithmThatLibcryptoLacks() {
    let error = #expect(throws: BatchError.self) {
      try FetchedDigests.method(named: "no such digest", of: .crc32)
    }
    #expect(error?.code == .invalid)
    #expect(error?.message.contains("crc32") == true)
  }

  /// Lengths near the block and buffer sizes of the algorithms.
  static let lengths = [1, 16, 55, 56, 64, 111, 112, 128, 135, 136, 240, 241, 256, 1023, 1024, 1025, 65537]

  @Test(
    arguments: [
      (.sha256, "sha256sum"), (.sha512, "sha512sum"), (.sha384, "sha384sum"), (.sha224, "sha224sum"),
      (.sha1, "sha1sum"), (.md5, "md5sum"), (.blake2b, "b2sum"), (.blake3, "b3sum"),
      (.sha3Bits256, "openssl sha3-256 -r"),
      (.sha3Bits512, "openssl sha3-512 -r"), (.xxh3, "xxhsum -H3"), (.xxh128, "xxhsum -H2"),
      (.crc32, "rhash --simple --crc32"),
    ] as [(DigestAlgorithm, String)])
  func agreesWithTheStockTool(algorithm: DigestAlgorithm, tool: String) throws {
    let folder = try TreeFixture()
    var expected = [String]()
    for length in Self.lengths {
      let message = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 167 >> 3) }
      try folder.file(PathBytes("f\(length)"), message)
      expected.append(try Digest.of(message, algorithm).hex)
    }
    let files = Self.lengths.map { "f\($0)" }.joined(separator: " ")
    let stock = try Outcome(shell: "for f in \(files); do \(tool) $f; done", in: folder)
    let words = stock.text.split(whereSeparator: { $0 == " " || $0 == "\n" })
    #expect(words.filter { $0.count == algorithm.byteCount * 2 }.map(String.init) == expected)
  }
}
