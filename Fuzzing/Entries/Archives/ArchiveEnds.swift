@testable import BatchCore
@testable import BatchEngine

/// A file in memory that holds the input.
private nonisolated(unsafe) let file = InputFile()

/// A whole archive: its first block determines how it is read, and its last blocks whether it has an index.
func fuzzArchiveEnds(_ start: UnsafePointer<UInt8>, _ count: Int) {
  guard file.hold(UnsafeRawBufferPointer(start: start, count: count)) else { return }
  let run = RunContext()
  guard let archive = try? ArchiveFile(PathBytes(file.path), in: SourceContext(run)),
    let open = try? OpenArchive(archive, checks: true, memory: 64 << 20, by: run.reading),
    let reader = try? open.reader(limits: ArchiveLimits(maximumOutput: 16 << 20, maximumRatio: 1000))
  else { return }
  // Counts members and faults. A reader that does not end for an input of this size is itself faulty.
  var members = 0
  while let member = try? reader.next() {
    _ = member
    members += 1
    precondition(members <= count + 1, "more members than bytes")
  }
}
