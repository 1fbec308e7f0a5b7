@_exported import BatchEngine

import struct Foundation.URL
import func Glibc.strlen

/// A name that the calls of ``Batch`` take for a file or folder: a text, a file URL, or the bytes of the name.
public protocol PathName: Sendable {
  /// The bytes as the kernel uses them.
  ///
  /// - Throws: `invalid` for a name that holds a NUL, and for a URL that names no file.
  func pathBytes() throws(BatchError) -> PathBytes
}

extension PathBytes: PathName {
  public func pathBytes() throws(BatchError) -> PathBytes {
    guard !bytes.contains(0) else {
      throw BatchError(.invalid, "a path holds a NUL, which no name of a file has", path: self)
    }
    return self
  }
}

extension String: PathName {
  /// The UTF-8 bytes of the text.
  public func pathBytes() throws(BatchError) -> PathBytes { try PathBytes(self).pathBytes() }
}

extension URL: PathName {
  public func pathBytes() throws(BatchError) -> PathBytes {
    let bytes =
      isFileURL
      ? withUnsafeFileSystemRepresentation {
        $0.map { Array(UnsafeRawBufferPointer(start: $0, count: strlen($0))) }
      } : nil
    guard let bytes else {
      throw BatchError(.invalid, "the URL names no file", path: PathBytes(absoluteString))
    }
    return try PathBytes(bytes).pathBytes()
  }
}

extension Collection where Element: PathName {
  /// The bytes of each name.
  func pathBytes() throws(BatchError) -> [PathBytes] {
    try map { (name) throws(BatchError) in try name.pathBytes() }
  }
}
