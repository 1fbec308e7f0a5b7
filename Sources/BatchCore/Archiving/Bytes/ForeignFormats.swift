import BatchEngine

/// How the formats that are read only on request are read: ar, cab, ISO 9660, lha, rar.
///
/// libarchive's readers for these formats crash, loop, or allocate without end on some damaged archives.
enum ForeignFormats: Sendable {
  /// They are not read.
  case refused
  /// A separate process reads each archive.
  case process(ForeignReaderProgram)
  /// This process reads the archive; it was started for that.
  ///
  /// - Parameter progress: called each time that further bytes of the archive were read.
  case here(progress: @Sendable () -> Void)

  var areReadByProcess: Bool { if case .process = self { true } else { false } }
  var areReadHere: Bool { if case .here = self { true } else { false } }
}

/// The program that reads an archive in a separate process.
package struct ForeignReaderProgram: Sendable {
  /// The first argument of the program.
  package static let command: PathBytes = "read-archive-for-another-process"
  /// How many descriptors are needed to start one process.
  package static let descriptors = 2
  /// Seconds of processor time that it may use before it answers or reads more of the archive.
  static let seconds: UInt = 60

  let path: PathBytes
  /// In bytes.
  let memory: Int

  /// - Parameters:
  ///   - path: the path of a program that calls ``run(_:)`` with the arguments after ``command``.
  ///   - memory: the memory in bytes that a process may use for an archive; larger values count as 1 GiB.
  package init(_ path: PathBytes, memory: Int) {
    self.path = path
    self.memory = min(memory, Int(DecoderOptions.largestMemory))
  }
}
