import BatchEngine
import struct Foundation.Data

/// The members of one line of a backup manifest: a flat JSON object.
struct SnapshotLine {
  private var members: [(key: String, value: JSONObjectParser.Value)] = []

  /// - Throws: `malformed` for anything but an object of strings, numbers and booleans.
  init(_ line: [UInt8]) throws(BatchError) {
    var parser = JSONObjectParser(line)
    members.reserveCapacity(16)
    do throws(MalformedLine) {
      while let member = try parser.next() { members.append(member) }
    } catch {
      throw Self.malformed
    }
  }

  private func member(_ key: String) -> JSONObjectParser.Value? { members.first { $0.key == key }?.value }

  func has(_ key: String) -> Bool { member(key) != nil }

  func bytes(_ key: String) -> [UInt8]? {
    if case .string(let bytes) = member(key) { bytes } else { nil }
  }

  func text(_ key: String) -> String? {
    bytes(key).flatMap { String(validating: $0, as: UTF8.self) }
  }

  /// The bytes of a name, which is stored in base64 under another key if it is not UTF-8; nil if neither key exists.
  ///
  /// - Throws: `malformed` for an invalid name: not a string, not base64, or with a NUL.
  func path(_ key: String) throws(BatchError) -> PathBytes? {
    guard let path = try name(key).map({ PathBytes($0) }) else { return nil }
    guard !path.containsNUL else { throw Self.malformed(key) }
    return path
  }

  /// The bytes of a name that may contain NULs; nil if neither key exists.
  func name(_ key: String) throws(BatchError) -> [UInt8]? {
    let name: [UInt8]?
    if member(key) != nil {
      name = bytes(key)
    } else if member("\(key)_b64") != nil {
      name = bytes("\(key)_b64").flatMap { Data(base64Encoded: Data($0)) }.map { Array($0) }
    } else {
      return nil
    }
    guard let name else { throw Self.malformed(key) }
    return name
  }

  /// A word that ``Machine`` has made; nil if there is none.
  ///
  /// - Throws: `malformed` for anything else.
  func word(_ key: String) throws(BatchError) -> String? {
    guard has(key) else { return nil }
    guard let word = text(key), Machine.isWord(word) else { throw Self.malformed(key) }
    return word
  }

  /// Counts must be below this number, so that they can be summed up, and be read by programs that only have floating point
  /// numbers.
  static let limit: UInt64 = 1 << 53

  /// - Parameter limit: the exclusive upper bound; ``UInt64/max`` allows any 64-bit number.
  /// - Throws: `malformed` when it is missing, not a whole number, or too large.
  func number(_ key: String, below limit: UInt64 = limit) throws(BatchError) -> UInt64 {
    guard case .number(let digits) = member(key), let value = DecimalDigits.value(of: digits),
      value < limit || limit == .max
    else { throw Self.malformed(key) }
    return value
  }

  func isTrue(_ key: String) -> Bool {
    if case .word(let word) = member(key) { word.elementsEqual("true".utf8) } else { false }
  }

  /// A SHA-256 in hexadecimal digits; nil for anything else.
  func digest(_ key: String) -> Digest? { bytes(key).flatMap { Digest(.sha256, hex: $0) } }

  func time(_ key: String) -> FileStatus.Time? {
    bytes(key).flatMap { FileStatus.Time(number: $0[...]) }
  }

  static var malformed: BatchError {
    BatchError(.malformed, "the backup manifest has a row that is not valid")
  }

  /// - Parameter key: the key of the member with an invalid value.
  static func malformed(_ key: String) -> BatchError {
    BatchError(
      .malformed, "the backup manifest has a row that is not valid: \"\(key)\" is missing or not possible")
  }
}
