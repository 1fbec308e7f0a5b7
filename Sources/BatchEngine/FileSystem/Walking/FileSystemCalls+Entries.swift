import CLinux
import Glibc

extension FileSystemCalls {
  /// The entries of an open folder without `.` and `..`, sorted by the bytes of their names.
  ///
  /// - Returns: the arena, the entries, and the error that ended the reading early, if one did.
  func entries(
    of folder: borrowing Descriptor
  ) -> (names: [UInt8], entries: [DirectoryEntry], error: BatchError?) {
    var names = [UInt8]()
    var entries = [DirectoryEntry]()
    var failure: BatchError?
    withUnsafeTemporaryAllocation(byteCount: 64 << 10, alignment: 8) { buffer in
      while true {
        let count = readEntries(folder.raw, into: buffer)
        if count < 0 {
          failure = .syscall("read the folder", errno: Int32(truncatingIfNeeded: -count))
          return
        }
        if count == 0 { return }
        forEachEntry(UnsafeRawBufferPointer(rebasing: buffer[..<count])) { (name, type, inode) in
          entries.append(
            DirectoryEntry(nameOffset: names.count, kind: FileStatus.Kind(entryType: type), inode: inode))
          names.append(contentsOf: name)
          names.append(0)
        }
      }
    }
    names.withUnsafeBytes { raw in
      guard let base = raw.baseAddress?.assumingMemoryBound(to: CChar.self) else { return }
      entries.sort { strcmp(base + $0.nameOffset, base + $1.nameOffset) < 0 }
    }
    return (names, entries, failure)
  }

  /// Calls `body` with the names in an open folder, in the order of the file system, without `.` and `..`.
  ///
  /// - Throws: the error of reading, after the names that were read.
  package func forEachName(
    in folder: Int32, _ body: (UnsafeRawBufferPointer) -> Void
  ) throws(BatchError) {
    let failed = withUnsafeTemporaryAllocation(byteCount: 32 << 10, alignment: 8) { buffer in
      while true {
        let count = readEntries(folder, into: buffer)
        if count <= 0 { return Int32(truncatingIfNeeded: -count) }
        forEachEntry(UnsafeRawBufferPointer(rebasing: buffer[..<count])) { (name, _, _) in
          body(name)
        }
      }
    }
    if failed != 0 { throw .syscall("read the folder", errno: failed) }
  }

  /// The names in a folder, in the order of the file system, without `.` and `..`.
  ///
  /// - Throws: the error of reading the folder, with its path.
  package func names(in folder: PathBytes) throws(BatchError) -> [PathBytes] {
    var names = [PathBytes]()
    let opened = try FolderOpener(calls: self).folder(named: folder)
    do throws(BatchError) {
      try forEachName(in: opened.raw) { names.append(PathBytes($0)) }
    } catch {
      throw error.at(folder)
    }
    return names
  }
}

extension OpenFolder {
  /// The names in the folder with their kinds, sorted by bytes. The folder may be opened with `O_PATH`.
  ///
  /// - Throws: the error of opening or reading it, with its path.
  package func entries() throws(BatchError) -> [(name: PathBytes, kind: FileStatus.Kind)] {
    do throws(BatchError) {
      let opened = open(".", flags: O_RDONLY | O_DIRECTORY | O_NONBLOCK)
      guard opened >= 0 else { throw .syscall("open the folder", errno: -opened) }
      let listing = calls.entries(of: Descriptor(owning: opened))
      if let error = listing.error { throw error }
      let names = NameArena(listing.names)
      var entries = [(name: PathBytes, kind: FileStatus.Kind)]()
      for entry in listing.entries {
        let name = names.withName(at: entry.nameOffset) { PathBytes($0) }
        // An entry that is gone is no longer in the folder.
        let kind: FileStatus.Kind? = if let known = entry.kind { known } else { try look(at: name)?.kind }
        if let kind { entries.append((name, kind)) }
      }
      return entries
    } catch {
      throw error.path == nil ? error.at(path) : error
    }
  }
}

/// Calls `body` with the name, the type and the inode of each entry but `.` and `..`.
@inline(__always)
private func forEachEntry(
  _ records: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer, UInt8, UInt64) -> Void
) {
  let nameStart = Int(clinux_dirent64_name_offset)
  var position = 0
  while position + nameStart < records.count {
    let inode = records.loadUnaligned(fromByteOffset: position, as: UInt64.self)
    let length = Int(records.loadUnaligned(fromByteOffset: position + 16, as: UInt16.self))
    let type = records[position + 18]
    guard length > nameStart, position + length <= records.count else { return }
    let name = UnsafeRawBufferPointer(rebasing: records[(position + nameStart)..<(position + length)])
    position += length
    let end = name.firstIndex(of: 0) ?? name.count
    let isDot = name[0] == UInt8(ascii: ".") && (end == 1 || (end == 2 && name[1] == UInt8(ascii: ".")))
    if isDot || end == 0 { continue }
    body(UnsafeRawBufferPointer(rebasing: name[..<end]), type, inode)
  }
}
