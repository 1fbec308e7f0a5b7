@testable import BatchCore
@testable import BatchEngine

/// A file in memory that holds the input.
private nonisolated(unsafe) let file = InputFile()

/// The checks of zip, 7z and cpio that the program makes in addition to libarchive.
func fuzzForeignHeaders(_ start: UnsafePointer<UInt8>, _ count: Int) {
  let bytes = UnsafeRawBufferPointer(start: start, count: count)
  if let header = try? CpioHeader(bytes) {
    _ = try? header.check()
    _ = try? header.checkEnd()
  }
  _ = SevenZipCounts.facts(of: Array(bytes)[...])
  guard file.hold(bytes) else { return }
  let run = RunContext()
  guard let archive = try? ArchiveFile(PathBytes(file.path), in: SourceContext(run)) else { return }
  if let members = try? ZipMembers(archive) { _ = try? members.checkEnd() }
  if let header = try? SevenZipHeader(archive) {
    precondition(header.trailingByteCount <= UInt64(count), "more behind the end than there is")
  }
}
