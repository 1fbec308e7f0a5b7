import BatchEngine
import BatchOutputs
import var Glibc.STDIN_FILENO

/// An open archive: a file that all lanes read, or a stream that one thread reads to its end.
package final class ArchiveFile: Sendable {
  package let path: PathBytes
  /// The size in bytes after decryption; nil for a stream.
  package let size: UInt64?
  /// How the archive is read if it has one of the formats that are read only on request.
  let foreignFormats: ForeignFormats
  /// The limits of its decoders, such as their memory.
  let decoding: DecoderOptions
  let cancellation: Cancellation
  /// The cancellation check between two reads.
  let probe: LaneProbe
  private let calls: any FileSystemCalls
  private let raw: Int32
  /// Owns the descriptor; nil for standard input.
  private let owner: Descriptor?
  /// The decrypted content of an encrypted file; nil for other files.
  private let decrypted: AgeFile?
  /// The keys that were given.
  private let keys: AgeKeys?
  /// Reads the file as it is stored.
  private let reading: AgeFile.Reading

  private init(
    _ path: PathBytes, _ raw: Int32, owner: consuming Descriptor?, size: UInt64?, decrypted: AgeFile? = nil,
    keys: AgeKeys? = nil, partial: (any PartialFile)? = nil, _ foreignFormats: ForeignFormats = .refused,
    in context: SourceContext
  ) {
    self.path = path
    self.size = size
    self.foreignFormats = foreignFormats
    decoding = DecoderOptions(context.options)
    cancellation = context.cancellation
    probe = context.laneProbe
    calls = context.calls
    self.raw = raw
    self.owner = owner
    self.decrypted = decrypted
    self.keys = keys
    reading = Self.reading(raw, path: path, calls: context.calls, partial: partial)
  }

  /// - Parameters:
  ///   - path: `-` is standard input.
  ///   - folder: the open folder that contains its last name; nil to open it by path.
  ///   - foreignReader: reads ar, cab, ISO 9660, lha and rar archives, in a separate process; nil to refuse them.
  ///   - keys: the keys for an encrypted archive.
  ///   - isOfSet: whether it is a file of a backup set, in whose folder another user may have put a link or a pipe; these are refused.
  ///   - context: the context of the run that reads it.
  /// - Throws: the error of opening it; `special` if it is neither a file nor a stream; the errors of ``AgeFile``.
  package convenience init(
    _ path: PathBytes, below folder: Int32? = nil, foreignReader: ForeignReaderProgram? = nil,
    keys: AgeKeys? = nil, isOfSet: Bool = false, in context: SourceContext
  ) throws(BatchError) {
    let foreign = foreignReader.map { ForeignFormats.process($0) } ?? .refused
    if path == "-", folder == nil {
      self.init(path, STDIN_FILENO, owner: nil, size: nil, keys: keys, foreign, in: context)
      return
    }
    let name = folder == nil ? path : PathBytes(path.lastComponent)
    let opened: Descriptor
    do throws(BatchError) {
      opened = try context.calls.openFile(name, in: folder, followingLast: !isOfSet)
    } catch {
      throw error.at(path)
    }
    let status = try context.calls.status(of: opened)
    guard status.kind != .directory else {
      throw BatchError(.special, "is a directory, and no archive", path: path)
    }
    guard !isOfSet || status.kind == .regular else {
      throw BatchError(.malformed, "is \(status.kind.text), and no archive", path: path)
    }
    let stored = status.kind == .regular ? UInt64(max(0, status.size)) : nil
    let raw = opened.raw
    let reading = Self.reading(raw, path: path, calls: context.calls)
    let encryption = try Encryption(size: stored, keys, path, reading)
    // An armored file is read as a stream.
    self.init(
      path, raw, owner: consume opened, size: encryption == nil ? stored : encryption?.file?.size,
      decrypted: encryption?.file, keys: keys, encryption == nil ? foreign : .refused, in: context)
  }

  /// An archive whose parts are fetched when they are read.
  ///
  /// - Throws: why a part is unavailable; the errors of ``AgeFile``.
  convenience init(
    _ partial: any PartialFile, keys: AgeKeys? = nil, in context: SourceContext
  ) throws(BatchError) {
    let reading = Self.reading(partial.raw, path: partial.path, calls: context.calls, partial: partial)
    let encryption = try Encryption(size: partial.size, keys, partial.path, reading)
    self.init(
      partial.path, partial.raw, owner: nil,
      size: encryption == nil ? partial.size : encryption?.file?.size, decrypted: encryption?.file,
      keys: keys, partial: partial, in: context)
  }

  /// The content written so far to an unfinished output.
  ///
  /// - Parameters:
  ///   - isSynced: whether the content is synced and dropped from the page cache before it is read.
  ///   - encryption: the encryption of the output; nil if it is not encrypted.
  /// - Throws: `unwritable` when the output cannot be synced or read.
  package convenience init(
    _ output: OutputFile, isSynced: Bool, encryption: EncryptedOutput? = nil, in context: SourceContext
  ) throws(BatchError) {
    let opened = Descriptor(owning: try output.openForReading(syncing: isSynced))
    let stored = UInt64(max(0, try context.calls.status(of: opened).size))
    let raw = opened.raw
    let reading = Self.reading(raw, path: output.path, calls: context.calls)
    let decrypted = try encryption.map { (encryption) throws(BatchError) in
      try encryption.reader(size: stored, reading: reading)
    }
    self.init(
      output.path, raw, owner: consume opened, size: decrypted?.size ?? stored, decrypted: decrypted,
      in: context)
  }

  /// A regular file that is open already.
  ///
  /// - Throws: the error of examining it; the errors of ``AgeFile``.
  package convenience init(
    _ opened: consuming Descriptor, path: PathBytes, keys: AgeKeys? = nil, in context: SourceContext
  ) throws(BatchError) {
    let stored = UInt64(max(0, try context.calls.status(of: opened).size))
    let raw = opened.raw
    let encryption = try Encryption(
      size: stored, keys, path, Self.reading(raw, path: path, calls: context.calls))
    self.init(
      path, raw, owner: consume opened, size: encryption == nil ? stored : encryption?.file?.size,
      decrypted: encryption?.file, keys: keys, in: context)
  }

  /// Standard input, in a process that reads an archive for another one.
  ///
  /// - Parameters:
  ///   - path: for messages.
  ///   - isStream: whether it is read once, from its beginning to its end.
  ///   - progress: as in ``ForeignFormats/here(progress:)``.
  /// - Throws: the error of examining it.
  convenience init(
    inherited path: PathBytes, isStream: Bool, in context: SourceContext,
    progress: @escaping @Sendable () -> Void
  ) throws(BatchError) {
    let size = isStream ? nil : UInt64(max(0, try context.calls.status(of: STDIN_FILENO).size))
    self.init(path, STDIN_FILENO, owner: nil, size: size, .here(progress: progress), in: context)
  }

  var isEncrypted: Bool { decrypted != nil }

  /// An output that is encrypted like this file, for the same recipients; nil if this file is not encrypted.
  ///
  /// - Throws: `unsupported` when no key opens the header of this file.
  func encryption(
    of stream: any ResultStream, _ concurrency: ConcurrencyLimit
  ) throws(BatchError) -> EncryptedOutput? {
    guard isEncrypted, let keys else { return nil }
    return try EncryptedOutput(stream, as: reading, keys: keys, digested: true, concurrency: concurrency)
  }

  /// The descriptor, for a process that inherits it.
  var descriptor: Int32 { raw }

  /// The identity, so that walks can exclude the archive; nil for standard input.
  package var identity: FileIdentity? {
    raw == STDIN_FILENO ? nil : try? calls.status(of: raw).identity
  }

  /// The content of a stream from its beginning on.
  var stream: ArchiveStream {
    ArchiveStream(StreamReader(descriptor: raw, cancellation: cancellation), keys)
  }

  /// Fills the buffer from an offset on; fewer bytes only at the end of the file.
  func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) throws(BatchError) -> Int {
    try probe.check()
    guard let decrypted else { return try reading(offset, buffer) }
    do throws(BatchError) {
      return try decrypted.read(at: offset, into: buffer)
    } catch {
      throw error.path == nil ? error.at(path) : error
    }
  }

  private static func reading(
    _ raw: Int32, path: PathBytes, calls: any FileSystemCalls, partial: (any PartialFile)? = nil
  ) -> AgeFile.Reading {
    { (offset, room) throws(BatchError) in
      try partial?.fetch(at: offset, count: room.count)
      return try calls.fill(room, from: raw, at: offset, path: path)
    }
  }

  /// The encryption of a file.
  private struct Encryption {
    /// The decrypted file; nil if armored.
    let file: AgeFile?

    /// - Parameter size: of the file in bytes; nil for a stream.
    /// - Returns: nil without keys, for a stream, and for a file that is not encrypted.
    init?(
      size: UInt64?, _ keys: AgeKeys?, _ path: PathBytes, _ reading: @escaping AgeFile.Reading
    ) throws(BatchError) {
      guard let size, let keys else { return nil }
      let stream = AgeStream(reading: AgeFile.sequence(reading))
      guard try stream.isEncrypted() else { return nil }
      guard !stream.isArmored else {
        file = nil
        return
      }
      do throws(BatchError) {
        file = try AgeFile(size: size, keys: keys, reading: reading)
      } catch {
        throw error.path == nil ? error.at(path) : error
      }
    }
  }

  /// The bytes of a range, which the caller has checked to be within ``size``.
  ///
  /// - Throws: `malformed` when the file is shorter.
  func bytes(at offset: UInt64, count: Int) throws(BatchError) -> [UInt8] {
    let bytes = try [UInt8](upTo: count) { (room) throws(BatchError) in try read(at: offset, into: room) }
    guard bytes.count == count else { throw BatchError(.malformed, "truncated", path: path) }
    return bytes
  }
}
