import CLinux
import Glibc

/// Opens folders, also those whose path is longer than the kernel takes in one call.
package struct DirectoryOpener: Sendable {
  /// PATH_MAX counts the NUL: one byte less is the longest path of one call.
  private static let longestPath = Int(PATH_MAX) - 1

  package let calls: any FileSystemCalls

  package init(calls: any FileSystemCalls) {
    self.calls = calls
  }

  /// Opens the folder at a path.
  ///
  /// - Parameter followingLast: whether the last name may be a symbolic link.
  /// - Throws: the error of `openat(2)`.
  package func open(_ path: PathBytes, followingLast: Bool) throws(BatchError) -> Descriptor {
    let flags = O_RDONLY | O_DIRECTORY | O_NONBLOCK
    var rest = path.bytes[...]
    var base = AT_FDCWD
    defer { if base != AT_FDCWD { _ = Glibc.close(base) } }
    while rest.count > Self.longestPath {
      // Cut at the last slash that fits; a single name never exceeds NAME_MAX.
      let window = rest.prefix(Self.longestPath)
      guard let slash = window.lastIndex(of: UInt8(ascii: "/")), slash > rest.startIndex else {
        throw .syscall("open the folder", errno: ENAMETOOLONG)
      }
      try step(to: PathBytes(rest[..<slash]), from: &base, flags: clinux_o_path | O_DIRECTORY)
      rest = rest[slash...].drop { $0 == UInt8(ascii: "/") }
    }
    let last = rest.isEmpty ? PathBytes(".") : PathBytes(rest)
    try step(to: last, from: &base, flags: followingLast ? flags : flags | O_NOFOLLOW)
    defer { base = AT_FDCWD }
    return Descriptor(owning: base)
  }

  /// Opens a folder of a walk: from the anchor above it, or by its path.
  ///
  /// What was opened has to be compared with the inode that was listed: links on the way are followed.
  ///
  /// - Parameter followingLast: whether the last name may be a symbolic link.
  /// - Throws: the error of `openat(2)`.
  package func open(_ directory: DirectoryPath, followingLast: Bool) throws(BatchError) -> Descriptor {
    do throws(BatchError) {
      if let anchor = directory.anchor {
        let flags = O_RDONLY | O_DIRECTORY | O_NONBLOCK | (followingLast ? 0 : O_NOFOLLOW)
        // A slash at the end would have a link followed.
        let base = try open(anchor)
        return Descriptor(owning: try call(directory.tail.dropLast(), at: base.descriptor.raw, flags: flags))
      }
    } catch {
      guard error.meansThatItMoved else { throw error }
    }
    return try open(directory.openPath, followingLast: followingLast)
  }

  /// Reads the status behind a path, links followed, also where one call does not take the path.
  ///
  /// - Returns: 0, or the negative error number.
  package func status(of path: PathBytes, into status: inout stat) -> Int32 {
    let result = path.withCString { calls.status(of: $0, at: AT_FDCWD, followingLinks: true, into: &status) }
    guard result == -ENAMETOOLONG, path.bytes.count > Self.longestPath else { return result }
    do throws(BatchError) {
      let folder = try open(path.parent, followingLast: true)
      let directory = folder.raw
      return PathBytes(path.lastComponent).withCString {
        calls.status(of: $0, at: directory, followingLinks: true, into: &status)
      }
    } catch {
      return -error.errno
    }
  }

  /// Opens a folder name by name below its operand or an anchor, refusing every symbolic link on the way.
  ///
  /// Used when what was opened by path is not the inode that was listed: then a name in between may
  /// have been swapped for a link.
  func openBelowOperand(_ directory: DirectoryPath) throws(BatchError) -> Descriptor {
    let flags = O_RDONLY | O_DIRECTORY | O_NONBLOCK
    if let anchor = directory.anchor {
      do throws(BatchError) {
        return try open(directory.tail[...], below: try open(anchor), flags: flags)
      } catch {
        guard error.meansThatItMoved else { throw error }
      }
    }
    let prefix = directory.prefix.bytes
    return try open(
      prefix[directory.operandLength...], belowOperand: prefix[..<directory.operandLength], flags)
  }

  private func open(
    _ names: ArraySlice<UInt8>, belowOperand operand: ArraySlice<UInt8>, _ flags: Int32
  ) throws(BatchError) -> Descriptor {
    let top = try open(operand.isEmpty ? PathBytes(".") : PathBytes(operand), followingLast: true)
    return try open(names, below: FolderAnchors.OpenFolder(top, depth: 0), flags: flags)
  }

  /// Opens a folder name by name.
  private func open(
    _ names: ArraySlice<UInt8>, below folder: consuming FolderAnchors.OpenFolder, flags: Int32
  ) throws(BatchError) -> Descriptor {
    var names = names.split(separator: UInt8(ascii: "/"))[...]
    let first = names.popFirst() ?? [UInt8(ascii: ".")]
    var base = try call(first, at: folder.descriptor.raw, flags: flags | O_NOFOLLOW)
    // Two are open at most.
    _ = consume folder
    defer { if base != AT_FDCWD { _ = Glibc.close(base) } }
    for name in names { try step(to: PathBytes(name), from: &base, flags: flags | O_NOFOLLOW) }
    defer { base = AT_FDCWD }
    return Descriptor(owning: base)
  }

  // MARK: Anchors

  /// Opens an anchor from the nearest one that is open, below it or above it.
  private func open(_ anchor: FolderAnchor) throws(BatchError) -> FolderAnchors.OpenFolder {
    if let open = anchor.pool.folder(of: anchor) { return open }
    if let open = openFromBelow(anchor) { return open }
    var missing = [anchor]
    var base: FolderAnchors.OpenFolder?
    while base == nil, let outer = missing.last?.outer {
      base = anchor.pool.folder(of: outer)
      if base == nil { missing.append(outer) }
    }
    while let next = missing.popLast() {
      let folder = try open(next, from: base)
      anchor.pool.keep(folder, for: next)
      base = folder
    }
    guard let base else { preconditionFailure("at least the anchor itself was opened") }
    return base
  }

  /// Goes up from the next anchor below, so that a walk that comes back from the depth begins no way anew.
  private func openFromBelow(_ anchor: FolderAnchor) -> FolderAnchors.OpenFolder? {
    guard let inner = anchor.pool.folder(below: anchor) else { return nil }
    let path = Array(repeatElement(Array("../".utf8), count: inner.depth - anchor.depth).joined())
    do throws(BatchError) {
      let found = Descriptor(
        owning: try call(path[...], at: inner.descriptor.raw, flags: clinux_o_path | O_DIRECTORY))
      guard try calls.status(of: found).identity == anchor.identity else { return nil }
      let folder = FolderAnchors.OpenFolder(found, depth: anchor.depth)
      anchor.pool.keep(folder, for: anchor)
      return folder
    } catch {
      return nil
    }
  }

  /// - Throws: `ENOENT` when what is there now is another folder.
  private func open(
    _ anchor: FolderAnchor, from outer: FolderAnchors.OpenFolder?
  ) throws(BatchError) -> FolderAnchors.OpenFolder {
    let flags = clinux_o_path | O_DIRECTORY
    let path = PathBytes(anchor.names)
    let found =
      if let outer {
        Descriptor(owning: try call(anchor.names[...], at: outer.descriptor.raw, flags: flags))
      } else {
        try open(path, followingLast: true)
      }
    if try calls.status(of: found).identity == anchor.identity {
      return FolderAnchors.OpenFolder(found, depth: anchor.depth)
    }
    throw .syscall("open the folder", errno: ENOENT)
  }

  /// Opens the next folder and closes the one it was reached from.
  private func step(to path: PathBytes, from base: inout Int32, flags: Int32) throws(BatchError) {
    let next = try call(path.bytes[...], at: base, flags: flags)
    if base != AT_FDCWD { _ = Glibc.close(base) }
    base = next
  }

  /// - Parameter path: the empty one is that of the directory itself.
  private func call(
    _ path: ArraySlice<UInt8>, at directory: Int32, flags: Int32
  ) throws(BatchError) -> Int32 {
    let result = (path.isEmpty ? PathBytes(".") : PathBytes(path)).withCString {
      calls.open($0, at: directory, flags: flags)
    }
    guard result >= 0 else { throw .syscall("open the folder", errno: -result) }
    return result
  }
}

extension BatchError {
  /// Whether a folder that was opened from an anchor may still be found by its path from the operand.
  fileprivate var meansThatItMoved: Bool { [ENOENT, ENOTDIR, ELOOP].contains(errno) }
}
