import BatchEngine
import func CLinux.clinux_confine
import func CLinux.clinux_end_with_peer
import func CLinux.clinux_spawn_reader
import func Glibc.getrlimit
import func Glibc.getrusage
import func Glibc.recv
import func Glibc.send
import func Glibc.setrlimit
import struct Glibc.__rlimit_resource
import struct Glibc.rlimit
import struct Glibc.rusage
import typealias Glibc.__rlimit_resource_t
import var Glibc.ENOENT
import var Glibc.MSG_NOSIGNAL
import var Glibc.RLIMIT_CORE
import var Glibc.RLIMIT_CPU
import var Glibc.RLIMIT_DATA
import var Glibc.RUSAGE_SELF
import var Glibc.STDOUT_FILENO
import var Glibc.errno

extension ForeignReaderProgram {
  /// A request to the process, one byte.
  enum Request: UInt8 {
    case open = 1
    case next, content, drain
  }

  /// Memory for the process in addition to that for the archive, in bytes.
  private static let overhead: UInt = 96 << 20

  /// Starts a process.
  ///
  /// - Returns: its process id.
  /// - Throws: why it cannot be started.
  func start(
    _ archive: ArchiveFile, upTo end: UInt64?, requiresMembers: Bool, socket: Int32
  ) throws(BatchError) -> Int32 {
    let settings = PathBytes(
      "\(memory) \(end ?? .max) \(archive.size == nil ? "stream" : "file") \(requiresMembers ? "members" : "any")"
    )
    var pid: Int32 = 0
    let failed = path.withCString { program in
      settings.withCString { settings in
        archive.path.withCString { name in
          Self.command.withCString { command in
            clinux_spawn_reader(program, command, settings, name, archive.descriptor, socket, &pid)
          }
        }
      }
    }
    guard failed == 0 else {
      throw BatchError(
        .exhausted, "cannot start a process that reads the archive", path: path, errno: failed,
        remedy: failed == ENOENT ? "/proc has to be mounted" : nil)
    }
    return pid
  }

  /// Reads the archive on standard input and answers requests on standard output, which is a socket, until the socket is closed.
  ///
  /// - Parameter arguments: the arguments after ``command``.
  /// - Returns: whether the arguments were valid.
  package static func run(_ arguments: [PathBytes]) -> Bool {
    let settings = arguments.first?.text?.split(separator: " ") ?? []
    guard arguments.count == 2, settings.count == 4, let memory = UInt(settings[0]),
      let end = UInt64(settings[1])
    else { return false }
    var options = BatchOptions()
    options.memory = Int(clamping: memory)
    var process = Process(
      path: arguments[1], run: RunContext(options: options), isStream: settings[2] == "stream",
      end: end == .max ? nil : end, requiresMembers: settings[3] == "members")
    while let request = process.request() {
      allowTime()
      guard process.send(process.answer(to: request)) else { break }
    }
    return true
  }

  /// - Parameter isHard: whether the process cannot raise it again.
  private static func limit(
    _ resource: __rlimit_resource, to value: UInt, isHard: Bool = false
  ) throws(BatchError) {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(resource.rawValue), &limit) == 0 else {
      throw .syscall("read a limit", errno: errno)
    }
    limit.rlim_cur = min(value, limit.rlim_max)
    if isHard { limit.rlim_max = limit.rlim_cur }
    guard setrlimit(__rlimit_resource_t(resource.rawValue), &limit) == 0 else {
      throw .syscall("set a limit", errno: errno)
    }
  }

  /// Gives the process its full time again. If that fails, the process ends earlier.
  private static func allowTime() {
    var usage = rusage()
    guard getrusage(RUSAGE_SELF.rawValue, &usage) == 0 else { return }
    let used = UInt(max(0, usage.ru_utime.tv_sec + usage.ru_stime.tv_sec))
    try? limit(RLIMIT_CPU, to: used + seconds + 1)
  }

  /// The state of the process.
  private struct Process {
    let path: PathBytes
    let run: RunContext
    let isStream: Bool
    let end: UInt64?
    let requiresMembers: Bool
    var reader: ArchiveReader?

    func request() -> Request? {
      var byte: UInt8 = 0
      guard retrying({ recv(STDOUT_FILENO, &byte, 1, 0) }) == 1 else { return nil }
      return Request(rawValue: byte)
    }

    func send(_ message: ReaderMessage) -> Bool {
      var rest = message.bytes[...]
      while !rest.isEmpty {
        let sent = rest.withUnsafeBytes { raw in
          retrying { Glibc.send(STDOUT_FILENO, raw.baseAddress, raw.count, Int32(MSG_NOSIGNAL)) }
        }
        guard sent > 0 else { return false }
        rest = rest.dropFirst(sent)
      }
      return true
    }

    mutating func answer(to request: Request) -> ReaderMessage {
      do throws(BatchError) {
        guard let reader else { return try open() }
        switch request {
        case .open: return .opened(compressionFact: reader.compressionFact)
        case .next:
          switch try reader.next() {
          case .entry(let entry): return .entry(entry, tellsOwner: reader.tellsOwner(of: entry))
          case .unusable(let error): return .unusable(error)
          case nil: return .end
          }
        case .content:
          guard let (bytes, offset) = try reader.nextPiece() else { return .end }
          return .piece(bytes, offset: offset, bytesRead: reader.bytesRead)
        case .drain:
          try reader.drain()
          return .drained(remarks: reader.remarks, format: reader.formatName, checks: reader.checksFact)
        }
      } catch {
        return .failure(error)
      }
    }

    private mutating func open() throws(BatchError) -> ReaderMessage {
      let failed = clinux_end_with_peer(STDOUT_FILENO)
      guard failed == 0 else { throw .syscall("start a thread", errno: failed) }
      try ForeignReaderProgram.limit(RLIMIT_CORE, to: 0, isHard: true)
      try ForeignReaderProgram.limit(
        RLIMIT_DATA, to: UInt(clamping: run.options.memory) + overhead, isHard: true)
      let file = try ArchiveFile(
        inherited: path, isStream: isStream, in: SourceContext(run), progress: ForeignReaderProgram.allowTime)
      // The files of the locale cannot be opened later.
      ArchiveLocale.unicode.use {}
      let confined = clinux_confine()
      guard confined == 0 else { throw .syscall("confine the process", errno: confined) }
      let reader = try ArchiveReader(
        try FileContent(file, upTo: end, by: run.reading), name: path, requiresMembers: requiresMembers,
        limits: ArchiveLimits(), by: run.reading)
      self.reader = reader
      return .opened(compressionFact: reader.compressionFact)
    }
  }
}
