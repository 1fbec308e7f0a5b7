/// The block of a tar.
enum TarBlock {
  /// In bytes.
  static let size = 512

  /// Fills the last block of content that began at an offset.
  static func pad(_ bytes: inout [UInt8], from start: Int) {
    let rest = (bytes.count - start) % size
    if rest > 0 { bytes.append(contentsOf: repeatElement(0, count: size - rest)) }
  }
}
