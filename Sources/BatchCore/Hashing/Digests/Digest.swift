import BatchEngine

/// The digest of one file with one algorithm.
public struct Digest: Sendable {
  public let algorithm: DigestAlgorithm
  // The bytes are stored inline, so that a digest needs no allocation; those after `byteCount` are zero.
  private var words = InlineArray<8, UInt64>(repeating: 0)

  /// A digest whose bytes `fill` writes; the buffer has room for the longest digest, 64 bytes.
  init<Failure: Error>(
    _ algorithm: DigestAlgorithm, fill: (UnsafeMutableRawBufferPointer) throws(Failure) -> Void
  ) throws(Failure) {
    self.algorithm = algorithm
    let outcome: Result<Void, Failure> = withUnsafeMutableBytes(of: &words) { buffer in
      do throws(Failure) {
        return .success(try fill(buffer))
      } catch {
        return .failure(error)
      }
    }
    try outcome.get()
  }

  /// A digest with these bytes; nil when their number does not fit the algorithm.
  public init?(_ algorithm: DigestAlgorithm, bytes: some Collection<UInt8>) {
    guard bytes.count == algorithm.byteCount else { return nil }
    self.init(algorithm) { $0.copyBytes(from: bytes) }
  }

  /// A digest from hexadecimal text in either case; nil when it does not fit the algorithm.
  public init?(_ algorithm: DigestAlgorithm, hex: some Collection<UInt8>) {
    guard hex.count == algorithm.byteCount * 2 else { return nil }
    var digits = hex.makeIterator()
    var isHexadecimal = true
    self.init(algorithm) { buffer in
      for index in 0..<algorithm.byteCount {
        guard let high = digits.next().flatMap(Hexadecimal.value),
          let low = digits.next().flatMap(Hexadecimal.value)
        else {
          isHexadecimal = false
          return
        }
        buffer[index] = high << 4 | low
      }
    }
    guard isHexadecimal else { return nil }
  }

  /// The same bytes as a digest of another algorithm of the same length, nil when lengths differ.
  ///
  /// For lines without a tag, where the length fits several algorithms.
  public func reinterpreted(as other: DigestAlgorithm) -> Digest? {
    guard other.byteCount == algorithm.byteCount else { return nil }
    return withBytes { Digest(other, bytes: $0) }
  }

  public var bytes: [UInt8] { withBytes { Array($0) } }

  /// The hexadecimal text in lower case.
  public var hex: String {
    var text = [UInt8]()
    appendHex(to: &text)
    return String(decoding: text, as: UTF8.self)
  }

  /// Appends the hexadecimal text in lower case, without allocation except by the buffer.
  public func appendHex(to output: inout [UInt8]) {
    withBytes { bytes in
      withUnsafeTemporaryAllocation(of: UInt8.self, capacity: bytes.count * 2) { digits in
        for (index, byte) in bytes.enumerated() {
          digits.initializeElement(at: index * 2, to: Hexadecimal.digit(byte >> 4))
          digits.initializeElement(at: index * 2 + 1, to: Hexadecimal.digit(byte & 15))
        }
        output.append(contentsOf: digits)
      }
    }
  }

  private func withBytes<Result>(_ body: (Slice<UnsafeRawBufferPointer>) -> Result) -> Result {
    withUnsafeBytes(of: words) { body($0.prefix(algorithm.byteCount)) }
  }
}

extension Digest: Hashable {
  public static func == (left: Digest, right: Digest) -> Bool {
    guard left.algorithm == right.algorithm else { return false }
    for index in left.words.indices where left.words[index] != right.words[index] { return false }
    return true
  }

  public func hash(into hasher: inout Swift.Hasher) {
    // Digests with the same first word are rare.
    hasher.combine(words[0])
    hasher.combine(words[1])
  }
}

extension Digest: CustomStringConvertible {
  public var description: String { "\(algorithm.rawValue):\(hex)" }
}
