/// Reads the small files in a folder that decide how the rest of it is treated.
struct FolderMarkers: Sendable {
  /// A larger file is not read as an ignore file.
  private static let largestIgnoreFile: Int64 = 4 << 20

  package let calls: any FileSystemCalls

  /// The ignore files that apply in a folder: its own and those above it.
  func scope(of directory: DirectoryPath, at folder: borrowing Descriptor) -> IgnoreScope {
    scope(in: directory.scope ?? IgnoreScope(), directory.relativePrefix.dropLast(), at: folder.raw)
  }

  /// - Parameters:
  ///   - outer: the ignore files above the folder.
  ///   - path: from the operand to the folder, without a slash at either end.
  func scope(in outer: IgnoreScope, _ path: ArraySlice<UInt8>, at folder: Int32) -> IgnoreScope {
    guard let content = read(".gitignore", at: folder, atMost: Self.largestIgnoreFile) else { return outer }
    return outer.entering(Array(path), gitignore: content)
  }

  /// Whether the folder is tagged as a cache (bford.info/cachedir).
  func hasCacheTag(at folder: Int32) -> Bool {
    let start = read(PathFilter.cacheTagName, at: folder, atMost: .max, length: PathFilter.cacheTagLength)
    return start.map { PathFilter.isCacheTag($0) } ?? false
  }

  /// The first bytes of a regular file; nil if it does not exist or is too large.
  private func read(
    _ name: PathBytes, at folder: Int32, atMost limit: Int64, length: Int = .max
  ) -> [UInt8]? {
    guard let file = try? calls.openFile(name, in: folder, followingLast: false) else { return nil }
    guard let status = try? calls.status(of: file), status.kind == .regular, status.size <= limit else {
      return nil
    }
    let wanted = Int(min(status.size, Int64(length)))
    var isComplete = true
    let content = [UInt8](unsafeUninitializedCapacity: wanted) { buffer, count in
      while count < wanted {
        let rest = UnsafeMutableRawBufferPointer(UnsafeMutableBufferPointer(rebasing: buffer[count...]))
        let result = calls.read(file.raw, into: rest)
        if result <= 0 {
          isComplete = result == 0
          return
        }
        count += result
      }
    }
    return isComplete ? content : nil
  }
}
