import BatchEngine

/// Checksum of the headers of a member, so that damage to its mode, owner or attributes, which no digest covers, is
/// reported with its name.
struct HeaderChecksum: Sendable, Hashable {
  /// From the first header of the member to its content, in bytes; 0 if the container is not tar.
  let size: UInt32
  /// The CRC-32 of these bytes.
  let check: UInt32

  /// Whether the headers of a member are unchanged.
  func holds(for member: UnsafeRawBufferPointer) -> Bool {
    guard let end = Int(exactly: size), end <= member.count else { return false }
    return ArchiveFrame.check(of: UnsafeRawBufferPointer(rebasing: member[..<end])) == check
  }
}

extension HeaderChecksum {
  /// - Parameter headers: all bytes before the content.
  init(of headers: UnsafeRawBufferPointer) {
    self.init(size: UInt32(clamping: headers.count), check: ArchiveFrame.check(of: headers))
  }
}

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
