import BatchEngine
import class Foundation.JSONDecoder
import struct Foundation.Data

/// The members of one line of a backup manifest: a flat JSON object.
struct SnapshotLine {
  private enum Value {
    case text([UInt8])
    case word(Range<Int>)
  }

  private let line: [UInt8]
  private var members: [(key: Range<Int>, value: Value)] = []

  /// - Throws: `malformed` for anything but an object of strings, numbers and booleans.
  init(_ line: [UInt8]) throws(BatchError) {
    self.line = line
    members.reserveCapacity(16)
    var rest = 0
    guard take(UInt8(ascii: "{"), &rest) else { throw Self.malformed }
    repeat {
      guard take(UInt8(ascii: "\""), &rest), let end = line[rest...].firstIndex(of: UInt8(ascii: "\"")) else {
        throw Self.malformed
      }
      let key = rest..<end
      rest = end + 1
      guard take(UInt8(ascii: ":"), &rest) else { throw Self.malformed }
      members.append((key, try value(&rest)))
    } while take(UInt8(ascii: ","), &rest)
    guard take(UInt8(ascii: "}"), &rest), rest == line.count else { throw Self.malformed }
  }

  private func take(_ byte: UInt8, _ position: inout Int) -> Bool {
    guard position < line.count, line[position] == byte else { return false }
    position += 1
    return true
  }

  private func value(_ position: inout Int) throws(BatchError) -> Value {
    let start = position
    guard take(UInt8(ascii: "\""), &position) else {
      while position < line.count, line[position] != UInt8(ascii: ","), line[position] != UInt8(ascii: "}") {
        position += 1
      }
      return .word(start..<position)
    }
    var end = position
    while end < line.count, line[end] != UInt8(ascii: "\"") {
      end += line[end] == UInt8(ascii: "\\") ? 2 : 1
    }
    guard end < line.count else { throw Self.malformed }
    let literal = line[position..<end]
    position = end + 1
    guard literal.contains(UInt8(ascii: "\\")) else { return .text(Array(literal)) }
    guard let text = try? JSONDecoder().decode(String.self, from: Data(line[start..<position])) else {
      throw Self.malformed
    }
    return .text(Array(text.utf8))
  }

  private func member(_ key: String) -> Value? {
    members.first { line[$0.key].elementsEqual(key.utf8) }?.value
  }

  func has(_ key: String) -> Bool { member(key) != nil }

  func bytes(_ key: String) -> [UInt8]? {
    if case .text(let bytes) = member(key) { bytes } else { nil }
  }

  func text(_ key: String) -> String? {
    bytes(key).flatMap { String(validating: $0, as: UTF8.self) }
  }

  /// The bytes of a name, which is stored in base64 under another key if it is not UTF-8; nil if neither key exists.
  ///
  /// - Throws: `malformed` for an invalid name: not a string, not base64, or with a NUL.
  func path(_ key: String) throws(BatchError) -> PathBytes? {
    let path: PathBytes?
    if member(key) != nil {
      path = bytes(key).map { PathBytes($0) }
    } else if member("\(key)_b64") != nil {
      path = bytes("\(key)_b64").flatMap { Data(base64Encoded: Data($0)) }.map { PathBytes($0) }
    } else {
      return nil
    }
    guard let path, !path.containsNUL else { throw Self.malformed(key) }
    return path
  }

  /// Counts must be below this number, so that they can be summed up, and be read by programs that only have floating point
  /// numbers.
  static let limit: UInt64 = 1 << 53

  /// - Parameter limit: the exclusive upper bound; ``UInt64/max`` allows any 64-bit number.
  /// - Throws: `malformed` when it is missing, not a whole number, or too large.
  func number(_ key: String, below limit: UInt64 = limit) throws(BatchError) -> UInt64 {
    guard case .word(let range) = member(key), let value = DecimalDigits.value(of: line[range]),
      value < limit || limit == .max
    else { throw Self.malformed(key) }
    return value
  }

  func isTrue(_ key: String) -> Bool {
    if case .word(let range) = member(key) { line[range].elementsEqual("true".utf8) } else { false }
  }

  func time(_ key: String) -> FileStatus.Time? {
    guard let text = bytes(key) else { return nil }
    let isNegative = text.first == UInt8(ascii: "-")
    let unsigned = isNegative ? text.dropFirst() : text[...]
    guard let dot = unsigned.firstIndex(of: UInt8(ascii: ".")), unsigned.endIndex - dot == 10,
      let whole = DecimalDigits.value(of: unsigned[..<dot]).flatMap(Int64.init(exactly:)),
      let fraction = DecimalDigits.value(of: unsigned[(dot + 1)...])
    else { return nil }
    let nanoseconds = Int32(truncatingIfNeeded: fraction)
    guard isNegative else { return FileStatus.Time(seconds: whole, nanoseconds: nanoseconds) }
    return nanoseconds == 0
      ? FileStatus.Time(seconds: -whole, nanoseconds: 0)
      : FileStatus.Time(seconds: -whole - 1, nanoseconds: 1_000_000_000 - nanoseconds)
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
