/// A path below a folder: names without `.` and `..`, separated by single slashes.
///
/// Archives and manifests contain such paths; a path that leads out of the folder is refused here.
package struct RelativePath: Sendable, Hashable {
  /// Empty for the folder itself.
  package let bytes: [UInt8]
  /// Whether it was given as absolute.
  package let wasAbsolute: Bool

  private static let slash = UInt8(ascii: "/")

  /// - Throws: `invalid` for a path that leads out of the folder, or that no file can have.
  package init(_ path: PathBytes) throws(BatchError) {
    guard !path.containsNUL else { throw BatchError(.invalid, "refused: the name holds a NUL", path: path) }
    wasAbsolute = path.isAbsolute
    if Self.isPlain(path.bytes[...]) {
      bytes = path.bytes
      return
    }
    // All paths in an archive of the folder `.` begin like this.
    if path.bytes.count > 2, path.bytes[0] == UInt8(ascii: "."), path.bytes[1] == Self.slash,
      Self.isPlain(path.bytes[2...])
    {
      bytes = Array(path.bytes[2...])
      return
    }
    var result = [UInt8]()
    result.reserveCapacity(path.bytes.count)
    for name in path.bytes.split(separator: Self.slash) {
      if name.elementsEqual(".".utf8) { continue }
      guard !name.elementsEqual("..".utf8) else {
        throw BatchError(.invalid, "refused: the path has '..' in it, which leads elsewhere", path: path)
      }
      if !result.isEmpty { result.append(Self.slash) }
      result += name
    }
    bytes = result
  }

  /// Whether a path needs no change: no name begins with a dot, and each slash is between two names.
  private static func isPlain(_ bytes: ArraySlice<UInt8>) -> Bool {
    var last = slash
    for byte in bytes {
      if last == slash, byte == slash || byte == UInt8(ascii: ".") { return false }
      last = byte
    }
    return last != slash
  }

  private init(bytes: [UInt8], wasAbsolute: Bool) {
    self.bytes = bytes
    self.wasAbsolute = wasAbsolute
  }

  /// - Parameters:
  ///   - folder: the bytes of a relative path.
  ///   - name: in that folder; empty for the folder itself.
  package init(folder: [UInt8], name: [UInt8]) {
    bytes = folder.isEmpty ? name : name.isEmpty ? folder : folder + [Self.slash] + name
    wasAbsolute = false
  }

  /// The path without its first names; nil when nothing is left.
  package func dropping(_ count: Int) -> RelativePath? {
    guard count > 0 else { return self }
    var rest = bytes[...]
    for _ in 0..<count {
      guard let slash = rest.firstIndex(of: Self.slash) else { return nil }
      rest = rest[(slash + 1)...]
    }
    return RelativePath(bytes: Array(rest), wasAbsolute: wasAbsolute)
  }

  /// Where the last name begins.
  package var nameStart: Int { (bytes.lastIndex(of: Self.slash) ?? -1) + 1 }

  /// The last name; empty for the folder itself.
  package var name: PathBytes { PathBytes(bytes[nameStart...]) }

  /// The parent folder; empty if that is the folder in which the paths begin.
  package var parent: ArraySlice<UInt8> { bytes[..<max(0, nameStart - 1)] }
}
