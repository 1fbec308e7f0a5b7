import Glibc

/// Sources beside each other whose outputs would have one name: `a.gz` and `a.zst`.
enum OutputRivals {
  /// Another file in the source's folder with the same output; nil when there is none.
  static func rival(of record: FileRecord, target: PathBytes) -> PathBytes? {
    let source = record.path
    // Where links are read they are sources too.
    let flags = record.followsLinks ? 0 : AT_SYMLINK_NOFOLLOW
    let folder = source.bytes[..<source.lastComponent.startIndex]
    let stem = target.lastComponent
    for (suffix, replacement) in OutputNaming.suffixes {
      guard stem.suffix(replacement.utf8.count).elementsEqual(replacement.utf8) else { continue }
      let name = Array(stem.dropLast(replacement.utf8.count)) + Array(suffix.utf8)
      let path = PathBytes(Array(folder) + name)
      guard path != source else { continue }
      var raw = stat()
      let result = path.withCString { fstatat(AT_FDCWD, $0, &raw, flags) }
      if result == 0, FileStatus(raw).kind == .regular { return path }
    }
    return nil
  }
}
