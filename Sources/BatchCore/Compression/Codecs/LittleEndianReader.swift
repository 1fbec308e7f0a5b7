import BatchEngine

/// Reads integers from untrusted bytes, with bounds checks.
struct LittleEndianReader {
  private let bytes: ArraySlice<UInt8>
  private(set) var position: Int

  init(_ bytes: ArraySlice<UInt8>) {
    self.bytes = bytes
    position = bytes.startIndex
  }

  /// How many bytes are left.
  var rest: Int { bytes.endIndex - position }

  /// The next little-endian number; nil if there are too few bytes.
  mutating func number<Number: FixedWidthInteger>(_ type: Number.Type = Number.self) -> Number? {
    let start = position - bytes.startIndex
    guard MemoryLayout<Number>.size <= rest else { return nil }
    position += MemoryLayout<Number>.size
    return bytes.little(at: start)
  }

  /// The next bytes; nil if there are fewer.
  mutating func take(_ count: Int) -> ArraySlice<UInt8>? {
    guard count >= 0, count <= rest else { return nil }
    defer { position += count }
    return bytes[position..<(position + count)]
  }
}
