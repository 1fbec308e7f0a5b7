import CLinux
import Glibc

/// Reads the extended attributes of files that a walk found.
package enum AttributeReader {
  /// All attributes that are readable, sorted by name, except those that the kernel keeps for itself.
  ///
  /// The file is opened through the folder's descriptor, so a long path or a replaced folder does no harm.
  ///
  /// - Parameters:
  ///   - name: empty for the folder itself.
  ///   - folder: the descriptor of the folder that contains the name, or `AT_FDCWD`.
  package static func attributes(
    of name: UnsafePointer<CChar>, in folder: Int32, followingLinks: Bool
  ) -> [ExtendedAttribute] {
    let length = strlen(name)
    if length == 0, folder != AT_FDCWD { return attributes(of: folder) }
    var start = folder != AT_FDCWD ? "/proc/self/fd/\(folder)/" : length == 0 ? "." : ""
    return withUnsafeTemporaryAllocation(of: CChar.self, capacity: length + start.utf8.count + 1) { path in
      guard let base = path.baseAddress else { return [] }
      start.withUTF8 { bytes in
        for (index, byte) in bytes.enumerated() { base[index] = CChar(bitPattern: byte) }
        memcpy(base + bytes.count, name, length + 1)
      }
      return read(UnsafePointer(base), followingLinks)
    }
  }

  package static func attributes(of file: Int32) -> [ExtendedAttribute] {
    read {
      clinux_flistxattr(file, $0, $1)
    } value: { name, room, size in
      clinux_fgetxattr(file, name, room, size)
    }
  }

  /// The value of one attribute.
  ///
  /// - Returns: nil and the error number if it cannot be read, `ENODATA` if the file does not have it.
  package static func attribute(_ name: [UInt8], of file: Int32) -> (value: [UInt8]?, failed: Int32) {
    let value = PathBytes(name).withCString { name in bytes { clinux_fgetxattr(file, name, $0, $1) } }
    return (value, value == nil ? errno : 0)
  }

  private static func read(_ path: UnsafePointer<CChar>, _ followingLinks: Bool) -> [ExtendedAttribute] {
    read {
      followingLinks ? clinux_listxattr(path, $0, $1) : clinux_llistxattr(path, $0, $1)
    } value: { name, room, size in
      followingLinks ? clinux_getxattr(path, name, room, size) : clinux_lgetxattr(path, name, room, size)
    }
  }

  private static func read(
    list: (UnsafeMutableRawPointer?, Int) -> Int,
    value: (UnsafePointer<CChar>, UnsafeMutableRawPointer?, Int) -> Int
  ) -> [ExtendedAttribute] {
    guard let names = bytes(list), !names.isEmpty else { return [] }
    return names.split(separator: 0).compactMap { name in
      guard !ExtendedAttribute.isOfKernel(name) else { return nil }
      let found = PathBytes(name).withCString { pointer in bytes { value(pointer, $0, $1) } }
      return found.map { ExtendedAttribute(name: Array(name), value: $0) }
    }.sorted { $0.name.lexicographicallyPrecedes($1.name) }
  }

  /// Calls with a buffer of the needed size; nil when the call fails.
  private static func bytes(_ call: (UnsafeMutableRawPointer?, Int) -> Int) -> [UInt8]? {
    // Most files have no attributes, and a small buffer saves the second call for most others.
    let first = withUnsafeTemporaryAllocation(byteCount: 512, alignment: 8) { room -> [UInt8]? in
      let count = call(room.baseAddress, room.count)
      return count < 0 ? nil : Array(room[..<count])
    }
    if let first { return first }
    guard errno == ERANGE else { return nil }
    let size = call(nil, 0)
    guard size > 0 else { return nil }
    var isWhole = false
    let value = [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
      let result = call(UnsafeMutableRawPointer(buffer.baseAddress), size)
      isWhole = result >= 0
      count = max(0, result)
    }
    return isWhole ? value : nil
  }
}
