import BatchEngine
import BatchOutputs
import var Glibc.STDIN_FILENO

/// An archive that is open: a file that all lanes read from, or a stream that one reads to its end.
package final class ArchiveFile: Sendable {
  package let path: PathBytes
  /// In bytes; nil for a stream.
  package let size: UInt64?
  /// What reads it when it is in one of the formats that are read on demand only.
  let foreignFormats: ForeignFormats
  /// How much memory its decoders may take.
  let decoding: DecoderOptions
  let cancellation: Cancellation
  /// Asked between the pieces that are read.
  let probe: LaneProbe
  private let calls: any FileSystemCalls
  private let raw: Int32
  /// Closes it; nil for standard input.
  private let owner: Descriptor?

  /// - Parameters:
  ///   - path: `-` is standard input.
  ///   - folder: the open folder that its last name is looked up in; nil to go the way that the path says.
  ///   - foreignReader: reads ar, cab, ISO 9660, lha, rar and warc archives, in a process of its own; nil to refuse them.
  ///   - context: of the run that reads it.
  /// - Throws: the error of opening it; `special` for what is neither a file nor a stream.
  package init(
    _ path: PathBytes, below folder: Int32? = nil, foreignReader: ForeignReaderProgram? = nil,
    in context: SourceContext
  ) throws(BatchError) {
    self.path = path
    foreignFormats = foreignReader.map { .process($0) } ?? .refused
    decoding = DecoderOptions(memory: context.options.memory)
    cancellation = context.cancellation
    probe = context.laneProbe
    calls = context.calls
    if path == "-", folder == nil {
      size = nil
      raw = STDIN_FILENO
      owner = nil
      return
    }
    let name = folder == nil ? path : PathBytes(path.lastComponent)
    let opened: Descriptor
    do throws(BatchError) {
      opened = try context.calls.openFile(name, in: folder, followingLast: true)
    } catch {
      throw error.at(path)
    }
    let status = try calls.status(of: opened)
    guard status.kind != .directory else {
      throw BatchError(.special, "is a directory, and no archive", path: path)
    }
    size = status.kind == .regular ? UInt64(max(0, status.size)) : nil
    raw = opened.raw
    owner = consume opened
  }

  /// An output that is being written, from its beginning to where it is now.
  ///
  /// - Parameter isSynced: whether it is brought to the disk, and taken from the cache, before it is read.
  /// - Throws: `unwritable` when that cannot be done.
  package init(
    _ output: OutputFile, isSynced: Bool, in context: SourceContext
  ) throws(BatchError) {
    path = output.path
    foreignFormats = .refused
    decoding = DecoderOptions()
    cancellation = context.cancellation
    probe = context.laneProbe
    calls = context.calls
    let opened = Descriptor(owning: try output.openForReading(syncing: isSynced))
    size = UInt64(max(0, try calls.status(of: opened).size))
    raw = opened.raw
    owner = consume opened
  }

  /// Standard input, in a process that reads an archive for another one.
  ///
  /// - Parameters:
  ///   - path: for messages.
  ///   - isStream: whether it is read once, from its beginning to its end.
  ///   - progress: as in ``ForeignFormats/here(progress:)``.
  /// - Throws: the error of looking at it.
  init(
    inherited path: PathBytes, isStream: Bool, in context: SourceContext,
    progress: @escaping @Sendable () -> Void
  ) throws(BatchError) {
    self.path = path
    foreignFormats = .here(progress: progress)
    decoding = DecoderOptions(memory: context.options.memory)
    cancellation = context.cancellation
    probe = context.laneProbe
    calls = context.calls
    raw = STDIN_FILENO
    owner = nil
    size = isStream ? nil : UInt64(max(0, try calls.status(of: raw).size))
  }

  /// For a process that inherits it.
  var descriptor: Int32 { raw }

  /// For walks that leave the archive out; nil for standard input.
  package var identity: FileIdentity? {
    raw == STDIN_FILENO ? nil : try? calls.status(of: raw).identity
  }

  /// The content of a stream from its beginning on.
  var stream: StreamReader {
    StreamReader(descriptor: raw, cancellation: cancellation)
  }

  /// Fills the buffer from an offset on; fewer bytes only at the end of the file.
  func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) throws(BatchError) -> Int {
    try probe.check()
    var filled = 0
    while filled < buffer.count {
      guard let place = Int(exactly: offset + UInt64(filled)) else { return filled }
      let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[filled...])
      let count = calls.read(raw, into: rest, at: place)
      guard count >= 0 else {
        throw .syscall("read", errno: Int32(truncatingIfNeeded: -count), path: path)
      }
      if count == 0 { return filled }
      filled += count
    }
    return filled
  }

  /// The bytes of a range, which the caller has held against ``size``.
  ///
  /// - Throws: `malformed` when the file ends before.
  func bytes(at offset: UInt64, count: Int) throws(BatchError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    var failure: BatchError?
    var filled = 0
    bytes.withUnsafeMutableBytes { buffer in
      do throws(BatchError) { filled = try read(at: offset, into: buffer) } catch { failure = error }
    }
    if let failure { throw failure }
    guard filled == count else { throw BatchError(.malformed, "truncated", path: path) }
    return bytes
  }
}
