import Glibc

/// The folders of a walk.
extension FolderOpener {
  /// Opens a folder of a walk: from the anchor above it, or by its path.
  ///
  /// Links on the way are followed, so the caller must compare the opened folder with the inode that was listed.
  ///
  /// - Parameter followingLast: whether the last name may be a symbolic link.
  /// - Throws: the error of `openat(2)`.
  package func open(_ directory: DirectoryPath, followingLast: Bool) throws(BatchError) -> Descriptor {
    do throws(BatchError) {
      if let anchor = directory.anchor {
        let flags = followingLast ? Self.listed : Self.listed | O_NOFOLLOW
        // A slash at the end would make the kernel follow a link.
        return try open(directory.tail.dropLast(), at: try folder(of: anchor), flags, .following)
      }
    } catch {
      guard error.meansThatItMoved else { throw error }
    }
    return try open(directory.openPath, followingLast: followingLast)
  }

  /// Opens a folder below its operand or an anchor, refusing every symbolic link on the way.
  ///
  /// Used when the folder opened by path is not the inode that was listed: then a name on the way may have been replaced by a
  /// link.
  func openBelowOperand(_ directory: DirectoryPath) throws(BatchError) -> Descriptor {
    if let anchor = directory.anchor {
      do throws(BatchError) {
        return try open(directory.tail[...], below: try folder(of: anchor))
      } catch {
        guard error.meansThatItMoved else { throw error }
      }
    }
    let top = try open(directory.openOperand, followingLast: true)
    // At most two are open.
    let names = Self.trimmed(directory.relativePrefix)
    return try open(names, at: nil, owning: top, Self.listed | O_NOFOLLOW, .beneath)
  }

  /// The folder that was given as an operand. Links are followed, because the user named it.
  package func operand(of directory: DirectoryPath) throws(BatchError) -> OpenFolder {
    try base(named: directory.openOperand)
  }

  /// Reads the status of a path, following links, even if the path is too long for one call.
  ///
  /// - Throws: the error of the call, with the path.
  package func status(of path: PathBytes) throws(BatchError) -> FileStatus {
    do throws(BatchError) {
      guard path.bytes.count > Self.longestPath else {
        return try calls.status(of: path, followingLinks: true)
      }
      let folder = try open(path.parent, followingLast: true)
      return try calls.status(of: PathBytes(path.lastComponent), in: folder.raw, followingLinks: true)
    } catch {
      throw .syscall("find", errno: error.errno, path: path)
    }
  }

  // MARK: Anchors

  /// Opens an anchor from the nearest open anchor, below or above it.
  package func folder(of anchor: FolderAnchor) throws(BatchError) -> OpenFolder {
    if let open = anchor.held.folder(for: anchor.key) { return open }
    if let open = openFromBelow(anchor) { return open }
    var missing = [anchor]
    var base: OpenFolder?
    while base == nil, let outer = missing.last?.outer {
      base = outer.held.folder(for: outer.key)
      if base == nil { missing.append(outer) }
    }
    while let next = missing.popLast() {
      let folder = try open(next.names[...], at: base, next)
      guard folder.identity == next.identity else { throw .syscall("open the folder", errno: ENOENT) }
      next.held.keep(folder, for: next.key)
      base = folder
    }
    guard let base else { preconditionFailure("at least the anchor itself was opened") }
    return base
  }

  /// Opens an anchor through `..` from the next anchor below, so that a returning walk does not open the path again from the top.
  private func openFromBelow(_ anchor: FolderAnchor) -> OpenFolder? {
    guard let (inner, height) = anchor.held.folder(below: anchor) else { return nil }
    let path = Array(repeatElement(Array("..".utf8), count: height).joined(separator: "/".utf8))
    guard let folder = try? open(path[...], at: inner, anchor), folder.identity == anchor.identity else {
      return nil
    }
    anchor.held.keep(folder, for: anchor.key)
    return folder
  }

  /// - Returns: the folder that is there now; the caller must compare it with the anchor.
  private func open(
    _ path: ArraySlice<UInt8>, at base: OpenFolder?, _ anchor: FolderAnchor
  ) throws(BatchError) -> OpenFolder {
    try OpenFolder(open(path, at: base, Self.place, .following), path: PathBytes(anchor.names), calls: calls)
  }
}

extension BatchError {
  /// Whether a folder that was opened from an anchor may still be found by its path from the operand.
  fileprivate var meansThatItMoved: Bool { [ENOENT, ENOTDIR, ELOOP].contains(errno) }
}
