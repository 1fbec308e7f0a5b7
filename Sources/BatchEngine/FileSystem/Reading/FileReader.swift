import CLinux
import Glibc

/// Reads files for one lane. Keeps a buffer, and the folder of the last file open.
///
/// A small file costs four system calls: open, read, status, close. The status after reading is compared with the one of the
/// walk. If they are equal, nothing changed in between; otherwise the file is read again, with a status call before and after.
package final class FileReader {
  /// Bytes read at a time; files below this size are handed over in one piece.
  static let bufferSize = 256 << 10
  /// Files of at least this size are read by a second thread while the first one processes the previous buffer.
  static let overlapThreshold: Int64 = 8 << 20
  /// The total size of the buffers for reading one large file.
  static let largeMemory = bufferSize + 2 * OverlappedReader.bufferSize

  private let calls: any FileSystemCalls
  private let mostHoles: UInt64
  private let buffer: UnsafeMutableRawBufferPointer
  private var folder: (directory: DirectoryPath, descriptor: Int32)?
  /// The object that closes the folder's descriptor instead of this reader.
  private var folderOwner: AnyObject?
  private lazy var overlapped = OverlappedReader(calls: calls)

  /// - Parameter mostHoles: files with more bytes of holes are not read.
  package init(calls: any FileSystemCalls, mostHoles: UInt64 = .max, by right: ReadingRight) {
    self.calls = calls
    self.mostHoles = mostHoles
    buffer = .allocate(byteCount: Self.bufferSize, alignment: 4096)
  }

  deinit {
    closeFolder()
    buffer.deallocate()
  }

  /// Closes the folder that is kept open between files.
  package func closeFolder() {
    if let folder, folderOwner == nil { _ = Glibc.close(folder.descriptor) }
    folder = nil
    folderOwner = nil
  }

  /// Reads the files of a folder only through this descriptor, which was opened below the operand.
  ///
  /// A file that is not the one that the walk found then counts as changed.
  ///
  /// - Parameter owner: keeps the descriptor open; released with the folder.
  package func useFolder(_ descriptor: Int32, for directory: DirectoryPath, of owner: AnyObject) {
    if folderOwner === owner, folder?.directory === directory { return }
    closeFolder()
    folder = (directory, descriptor)
    folderOwner = owner
  }

  /// Reads a file from its beginning to its end.
  ///
  /// - Parameters:
  ///   - restart: called before the first buffer, and again whenever reading starts over.
  ///   - consume: called with each piece of the content in order; an error that it throws ends the reading.
  /// - Returns: the status that belongs to the content, and whether the file was unchanged while it was read.
  /// - Throws: `vanished`, `special` or `unreadable`, with the file's path.
  package func read(
    _ record: FileRecord, restart: () throws(BatchError) -> Void,
    consume: (UnsafeRawBufferPointer) throws(BatchError) -> Void
  ) throws(BatchError) -> ReadOutcome {
    try read(
      record, opened: { (_: borrowing Descriptor, _) throws(BatchError) in try restart() }, consume: consume)
  }

  /// Reads a file, and passes the open file and its status to `opened` each time that reading starts.
  ///
  /// - Parameters:
  ///   - room: receives a file that is smaller than this buffer and does not change, in one piece.
  ///   - settling: checked before the content is read; nil if not needed.
  package func read(
    _ record: FileRecord, into room: UnsafeMutableRawBufferPointer? = nil, settling: ChangeSettling? = nil,
    opened: (borrowing Descriptor, FileStatus) throws(BatchError) -> Void,
    consume: (UnsafeRawBufferPointer) throws(BatchError) -> Void
  ) throws(BatchError) -> ReadOutcome {
    do throws(BatchError) {
      let room = room ?? buffer
      // A file system may report any size, even a negative one.
      if (0..<Int64(room.count)).contains(record.status.size) {
        let outcome = try readAtOnce(
          record, into: room, settling, opened: opened, consume: consume)
        if let outcome { return outcome }
      }
      return try readBetweenLooks(record, settling, opened: opened, consume: consume)
    } catch {
      throw error.path == nil ? error.at(record.path) : error
    }
  }

  /// Reads parts of a file, and checks before and after that it is the one that the walk found.
  ///
  /// - Throws: `changed` when the file was replaced or has changed; and the errors of ``read(_:restart:consume:)``.
  package func read(
    _ record: FileRecord, ranges: [Range<UInt64>], into buffer: UnsafeMutableRawBufferPointer
  ) throws(BatchError) {
    do throws(BatchError) {
      let file = try openExactly(record)
      var room = buffer[...]
      for range in ranges {
        let count = SparseReading.fill(
          UnsafeMutableRawBufferPointer(rebasing: room.prefix(range.count)), from: file.raw,
          at: range.lowerBound, mayHaveHoles: record.status.unallocated > 0, calls: calls)
        guard count >= 0 else { throw .syscall("read", errno: Int32(truncatingIfNeeded: -count)) }
        guard count == range.count else { throw Self.changed }
        room = room.dropFirst(count)
      }
      guard try calls.status(of: file).hasSameContent(as: record.status) else { throw Self.changed }
    } catch {
      throw error.path == nil ? error.at(record.path) : error
    }
  }

  private static var changed: BatchError { BatchError(.changed, "changed while it was read") }

  /// Opens a file and passes its descriptor and its current status to `body`.
  ///
  /// - Throws: `vanished`, `special` or `unreadable`, or the error of `body`, with the file's path.
  package func withFile<Result>(
    _ record: FileRecord, _ body: (Int32, FileStatus) throws(BatchError) -> Result
  ) throws(BatchError) -> Result {
    do throws(BatchError) {
      let file = try openExactly(record)
      let status = try calls.status(of: file)
      guard status.kind == .regular else {
        throw BatchError(.special, "is \(status.kind.text) now, passed over")
      }
      return try body(file.raw, status)
    } catch {
      throw error.path == nil ? error.at(record.path) : error
    }
  }

  /// Opens a file that stays open after the chunk.
  ///
  /// - Throws: as ``withFile(_:_:)``.
  func hold(_ record: FileRecord, of budget: DescriptorBudget) throws(BatchError) -> HeldFile? {
    guard budget.tryHold() else { return nil }
    do throws(BatchError) {
      let file = try openExactly(record)
      let status = try calls.status(of: file)
      return HeldFile(file, status, of: budget)
    } catch {
      budget.endHold()
      throw error.path == nil ? error.at(record.path) : error
    }
  }

  /// Passes the descriptor of the file's folder to `body`, if the folder still contains the file; for a folder, its own descriptor.
  ///
  /// - Throws: `vanished` if it does not contain the file, or the error of `body`, with the path.
  package func withFolder<Result>(
    of record: FileRecord, _ body: (Int32) throws(BatchError) -> Result
  ) throws(BatchError) -> Result {
    do throws(BatchError) {
      let folder = try descriptor(of: record.directory)
      if record.followsLinks || isThere(record, in: folder) { return try body(folder) }
      closeFolder()
      let exact = try openFolderExactly(of: record)
      guard isThere(record, in: exact.raw) else {
        throw BatchError(.vanished, "is not there any more")
      }
      return try body(exact.raw)
    } catch {
      throw error.path == nil ? error.at(record.path) : error
    }
  }

  private func isThere(_ record: FileRecord, in folder: Int32) -> Bool {
    var raw = stat()
    let result = record.withName { name in
      name.pointee == 0
        ? calls.status(of: folder, into: &raw)
        : calls.status(of: name, at: folder, followingLinks: false, into: &raw)
    }
    return result == 0 && FileStatus(raw).identity == record.status.identity
  }

  // MARK: The two ways

  /// Reads a small file with few calls; nil if the file is not as the walk found it, so that it must be read with more checks.
  private func readAtOnce(
    _ record: FileRecord, into buffer: UnsafeMutableRawBufferPointer, _ settling: ChangeSettling?,
    opened: (borrowing Descriptor, FileStatus) throws(BatchError) -> Void,
    consume: (UnsafeRawBufferPointer) throws(BatchError) -> Void
  ) throws(BatchError) -> ReadOutcome? {
    let file = try open(record)
    let size = Int(record.status.size)
    let isSettled = settling?.isSettled(record.status, of: file.raw) ?? false
    var count = 0
    // One byte more than the size is requested, so that the count shows the end of the file.
    repeat {
      let room = UnsafeMutableRawBufferPointer(rebasing: buffer[count..<(size + 1)])
      let result = calls.read(file.raw, into: room)
      // A FIFO or a folder has taken the file's place.
      if result == -Int(EAGAIN) || result == -Int(EISDIR) { return nil }
      guard result >= 0 else { throw .syscall("read", errno: Int32(truncatingIfNeeded: -result)) }
      if result == 0 { break }
      count += result
    } while count < size
    let status = try calls.status(of: file)
    // If a source may be removed later, a recent change time must be examined before the file is read, not after.
    guard count == size, status.hasSameContent(as: record.status),
      folderOwner == nil || status.statusChanged == record.status.statusChanged
    else { return nil }
    try opened(file, status)
    if count > 0 { try consume(UnsafeRawBufferPointer(rebasing: buffer[..<count])) }
    var outcome = ReadOutcome(status: status, isStable: true)
    outcome.isSettled = isSettled && status.statusChanged == record.status.statusChanged
    return outcome
  }

  private func readBetweenLooks(
    _ record: FileRecord, _ settling: ChangeSettling?,
    opened: (borrowing Descriptor, FileStatus) throws(BatchError) -> Void,
    consume: (UnsafeRawBufferPointer) throws(BatchError) -> Void
  ) throws(BatchError) -> ReadOutcome {
    let file = try openExactly(record)
    let before = try calls.status(of: file)
    guard before.kind == .regular else {
      throw BatchError(.special, "is \(before.kind.text) now, passed over")
    }
    guard !DataMap.hasHoles(file.raw, before, above: mostHoles) else { throw .tooManyHoles(mostHoles) }
    let isSettled = settling?.isSettled(before, of: file.raw) ?? false
    try opened(file, before)
    // A file that grows as fast as it is read would never end, so reading stops at its current size. Files of /proc report the
    // size 0 and are read to their end.
    let limit = before.size > 0 ? before.size : Int64.max
    var count: Int64 = 0
    let counting: (UnsafeRawBufferPointer) throws(BatchError) -> Void = { (piece) throws(BatchError) in
      count += Int64(piece.count)
      try consume(piece)
    }
    try readPieces(file, before, limit: limit, consume: counting)
    let after = try calls.status(of: file)
    let isListed = folderOwner == nil || before.identity == record.status.identity
    // Files of /proc and /sys have no real size or time: reading their attributes gives them a new time.
    let isStable =
      after.hasSameContent(as: before)
      || (after.identity == before.identity
        && clinux_is_made_on_reading(clinux_file_system_type(file.raw)) != 0)
    let isAsPlanned = !record.isPlanned || before.hasSameContentElsewhere(as: record.status)
    return ReadOutcome(
      status: before, isStable: isListed && isStable && isAsPlanned,
      becameShorter: !isStable && min(count, after.size) < before.size, isSettled: isSettled)
  }

  /// Reads data, and passes zeros for holes.
  private func readPieces(
    _ file: borrowing Descriptor, _ status: FileStatus, limit: Int64,
    consume: (UnsafeRawBufferPointer) throws(BatchError) -> Void
  ) throws(BatchError) {
    guard status.unallocated > 0 else { return try readData(file, limit: limit, consume: consume) }
    let size = UInt64(clamping: status.size)
    var position: UInt64 = 0
    while position < size {
      let data = DataMap.next(file.raw, in: position..<size) ?? position..<size
      try SparseReading.hand(zeros: data.lowerBound - position, to: consume)
      // The search for data ranges has moved the offset.
      guard lseek(file.raw, off_t(clamping: data.lowerBound), SEEK_SET) >= 0 else {
        throw .syscall("seek", errno: errno)
      }
      try readData(file, limit: Int64(clamping: data.count), consume: consume)
      position = data.isEmpty ? size : data.upperBound
    }
  }

  private func readData(
    _ file: borrowing Descriptor, limit: Int64,
    consume: (UnsafeRawBufferPointer) throws(BatchError) -> Void
  ) throws(BatchError) {
    // For files without a known size the limit does not apply.
    if limit >= Self.overlapThreshold, limit < .max {
      try overlapped.read(file, limit: limit, consume: consume)
      return
    }
    var remaining = limit
    while remaining > 0 {
      let wanted = Int(min(remaining, Int64(buffer.count)))
      let count = calls.read(file.raw, into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<wanted]))
      guard count >= 0 else { throw .syscall("read", errno: Int32(truncatingIfNeeded: -count)) }
      if count == 0 { return }
      try consume(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
      remaining -= Int64(count)
    }
  }

  // MARK: Opening

  private func open(_ record: FileRecord) throws(BatchError) -> Descriptor {
    try open(record, in: try descriptor(of: record.directory))
  }

  private func open(_ record: FileRecord, in folder: Int32) throws(BatchError) -> Descriptor {
    // Without O_NONBLOCK a FIFO that replaced the file would block the lane forever.
    let flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | (record.followsLinks ? 0 : O_NOFOLLOW)
    let result = record.withName { calls.open($0, at: folder, flags: flags) }
    guard result >= 0 else { throw Self.failure(of: -result, record) }
    return Descriptor(owning: result)
  }

  /// Opens a file whose inode must be the one that the walk found, or must be reached from the operand without following a
  /// link.
  private func openExactly(_ record: FileRecord) throws(BatchError) -> Descriptor {
    if record.followsLinks { return try open(record) }
    let number = try open(record).release()
    var raw = stat()
    let looked = calls.status(of: number, into: &raw)
    if looked == 0, FileStatus(raw).identity == record.status.identity || folderOwner != nil {
      return Descriptor(owning: number)
    }
    _ = Glibc.close(number)
    closeFolder()
    let folder = try openFolderExactly(of: record)
    return try open(record, in: folder.raw)
  }

  private func openFolderExactly(of record: FileRecord) throws(BatchError) -> Descriptor {
    do throws(BatchError) {
      return try FolderOpener(calls: calls).openBelowOperand(record.directory)
    } catch {
      throw Self.failure(of: error.errno, record)
    }
  }

  private func descriptor(of directory: DirectoryPath) throws(BatchError) -> Int32 {
    if let folder, folder.directory === directory { return folder.descriptor }
    if directory.isWorkingFolder { return AT_FDCWD }
    closeFolder()
    let opener = FolderOpener(calls: calls)
    do throws(BatchError) {
      let number = try opener.open(directory, followingLast: true).release()
      folder = (directory, number)
      return number
    } catch {
      throw Self.isGone(error.errno, directory) ? error.recoded(.vanished) : error
    }
  }

  private static func failure(of number: Int32, _ record: FileRecord) -> BatchError {
    let error = BatchError.syscall("open", errno: number)
    if number == ELOOP, !record.followsLinks {
      return BatchError(.special, "is a symbolic link now, passed over")
    }
    if number == ENXIO {
      return BatchError(.special, "is a socket or a device now, passed over")
    }
    return isGone(number, record.directory) ? error.recoded(.vanished) : error
  }

  /// Whether a path that the walk listed no longer exists; an operand counts as missing instead.
  private static func isGone(_ number: Int32, _ directory: DirectoryPath) -> Bool {
    directory.identity != nil && (number == ENOENT || number == ENOTDIR)
  }
}
