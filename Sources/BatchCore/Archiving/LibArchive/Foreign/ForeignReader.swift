import BatchEngine
import func Glibc.kill
import func Glibc.send
import func Glibc.socketpair
import func Glibc.waitpid
import var Glibc.AF_UNIX
import var Glibc.MSG_NOSIGNAL
import var Glibc.SIGKILL
import var Glibc.SIGXCPU
import var Glibc.SOCK_CLOEXEC
import var Glibc.SOCK_STREAM
import var Glibc.errno

/// Reads an archive in a separate process with limits of memory and processor time: for formats whose readers in libarchive
/// crash, loop, or allocate without limit on some damaged archives.
///
/// One member or one piece of content is requested at a time, through a socket. The process is killed when this object is
/// released. Its answers are as untrusted as the archive.
final class ForeignReader: MemberReader {
  private(set) var remarks: [String] = []
  private(set) var formatName = "unknown"
  private(set) var compressionFact: String?
  private(set) var checksFact = ""

  private let file: ArchiveFile
  private let limits: ArchiveLimits
  private let memory: Int
  private let socket: Descriptor
  private let stream: StreamReader
  /// Holds the last answer.
  private let buffer: ScratchBuffer
  private let process: Int32
  /// The error after which the process gets no more requests.
  private var ending: BatchError?
  private var hasEnded = false
  private var tellsOwner = true
  private var plainCount: UInt64 = 0
  private var folderBytes: UInt64 = 0
  private var bytesRead: UInt64 = 0
  /// Where the last piece of content ends in its file.
  private var contentEnd: UInt64 = 0

  /// - Parameters:
  ///   - end: bytes from this offset on are not read; nil for the end of the file.
  ///   - requiresMembers: whether an index shows that there are members.
  /// - Throws: why no process can be started, and `malformed` when the archive is in no known format.
  init(
    _ file: ArchiveFile, _ program: ForeignReaderProgram, upTo end: UInt64?, requiresMembers: Bool,
    limits: ArchiveLimits, by right: ReadingRight
  ) throws(BatchError) {
    self.file = file
    self.limits = limits
    memory = program.memory
    buffer = try ScratchBuffer(capacity: 64 << 10)
    var ends: [Int32] = [-1, -1]
    guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
      throw .syscall("open a socket", errno: errno)
    }
    socket = Descriptor(owning: ends[0])
    let other = Descriptor(owning: ends[1])
    stream = StreamReader(descriptor: ends[0], cancellation: file.cancellation)
    process = try program.start(file, upTo: end, requiresMembers: requiresMembers, socket: other.raw)
    _ = try other.close()
    guard case .opened(let fact) = try ask(.open) else { throw invalid() }
    compressionFact = fact
  }

  deinit {
    _ = end()
  }

  func next() throws(BatchError) -> ArchiveReader.Member? {
    contentEnd = 0
    switch try ask(.next) {
    case .entry(let entry, let tellsOwner):
      self.tellsOwner = tellsOwner
      return .entry(entry)
    case .unusable(let error): return .unusable(error)
    case .end: return nil
    default: throw invalid()
    }
  }

  func nextPiece() throws(BatchError) -> (bytes: UnsafeRawBufferPointer, offset: UInt64)? {
    switch try ask(.content) {
    case .piece(let bytes, let offset, let bytesRead):
      let (end, isHuge) = offset.addingReportingOverflow(UInt64(bytes.count))
      guard offset >= contentEnd, !isHuge, !bytes.isEmpty else { throw invalid() }
      contentEnd = end
      plainCount += UInt64(bytes.count)
      self.bytesRead = min(bytesRead, file.size ?? .max)
      try checkLimits()
      return (bytes, offset)
    case .end: return nil
    default: throw invalid()
    }
  }

  func drain() throws(BatchError) {
    guard case .drained(let remarks, let format, let checks) = try ask(.drain) else { throw invalid() }
    (self.remarks, formatName, checksFact) = (remarks, format, checks)
  }

  func count(folders: UInt64) throws(BatchError) {
    guard folders != folderBytes else { return }
    folderBytes = folders
    try checkLimits()
  }

  func tellsOwner(of entry: ArchiveEntry) -> Bool { tellsOwner }

  private func checkLimits() throws(BatchError) {
    let (plain, isHuge) = plainCount.addingReportingOverflow(folderBytes)
    try limits.check(plain: isHuge ? .max : plain, compressed: bytesRead)
  }

  // MARK: The process

  private func ask(_ request: ForeignReaderProgram.Request) throws(BatchError) -> ReaderMessage {
    if let ending { throw ending }
    var byte = request.rawValue
    guard retrying({ send(socket.raw, &byte, 1, Int32(MSG_NOSIGNAL)) }) == 1 else {
      throw ended()
    }
    let head = try receive(ReaderMessage.headSize)
    let kind = head[0]
    guard let length = ReaderMessage.length(head),
      let message = ReaderMessage(kind: kind, try receive(length))
    else {
      throw invalid()
    }
    if case .failure(let error) = message { throw error }
    return message
  }

  /// - Returns: `count` bytes, valid until the next call.
  private func receive(_ count: Int) throws(BatchError) -> UnsafeRawBufferPointer {
    guard buffer.reserve(count) else { throw .noCodecMemory }
    let room = UnsafeMutableRawBufferPointer(rebasing: buffer.room[..<count])
    var filled = 0
    while filled < count {
      let got: Int
      do throws(BatchError) {
        got = try stream.read(into: UnsafeMutableRawBufferPointer(rebasing: room[filled...]))
      } catch {
        try file.cancellation.check()
        got = 0
      }
      if got == 0 { throw ended() }
      filled += got
    }
    return UnsafeRawBufferPointer(room)
  }

  /// The error of a process that ended without an answer.
  private func ended() -> BatchError {
    let status = end()
    let (signal, code) = (status & 0x7f, (status >> 8) & 0xff)
    var text = "damaged: its reader crashed (signal \(signal))"
    var remedy: Remedy?
    if signal == SIGXCPU {
      text = "damaged: its reader made no progress in \(ForeignReaderProgram.seconds) s of processor time"
    } else if signal == 0 {
      // This is how libarchive ends a process without memory.
      text = "damaged, or its reader needs more than \(memory >> 20) MiB of memory"
      remedy = .raiseMemory
      if code != 1 { (text, remedy) = ("damaged: its reader ended with status \(code)", nil) }
    }
    return stop(BatchError(.malformed, text, path: file.path, remedy: remedy))
  }

  private func invalid() -> BatchError {
    stop(BatchError(.malformed, "damaged: its reader gave an invalid answer", path: file.path))
  }

  private func stop(_ error: BatchError) -> BatchError {
    ending = error
    return error
  }

  /// Ends the process, if it has not ended by itself.
  ///
  /// - Returns: its status, as in `waitpid(2)`.
  private func end() -> Int32 {
    guard !hasEnded else { return 0 }
    hasEnded = true
    kill(process, SIGKILL)
    var status: Int32 = 0
    _ = retrying { Int(waitpid(process, &status, 0)) }
    return status
  }
}
