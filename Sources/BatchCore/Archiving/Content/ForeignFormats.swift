import BatchEngine

/// What reads the formats that are read on demand only: ar, cab, ISO 9660, lha, rar, warc.
///
/// The readers that libarchive has for them crash, loop, or allocate without end on some damaged archives.
enum ForeignFormats: Sendable {
  /// They are not read.
  case refused
  /// A process of its own for each archive.
  case process(ForeignReaderProgram)
  /// This process, which was started for that.
  ///
  /// - Parameter progress: called each time that more of the archive was read than ever before.
  case here(progress: @Sendable () -> Void)

  var areReadByProcess: Bool { if case .process = self { true } else { false } }
  var areReadHere: Bool { if case .here = self { true } else { false } }
}

/// The program that reads an archive in a process of its own.
package struct ForeignReaderProgram: Sendable {
  /// The first argument of the program.
  package static let command: PathBytes = "read-archive-for-another-process"
  /// How many descriptors one process costs, while it is started.
  package static let descriptors = 2
  /// Seconds of processor time that it may use before it answers or reads more of the archive.
  static let seconds: UInt = 60

  let path: PathBytes
  /// In bytes.
  let memory: Int

  /// - Parameters:
  ///   - path: of a program that calls ``run(_:)`` with the arguments after ``command``.
  ///   - memory: what a process may use for an archive, in bytes; at most 1 GiB of it is used.
  package init(_ path: PathBytes, memory: Int) {
    self.path = path
    self.memory = min(memory, Int(DecoderOptions.largestMemory))
  }
}
