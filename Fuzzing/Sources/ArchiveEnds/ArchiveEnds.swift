import Glibc

@testable import BatchCore
@testable import BatchEngine

/// A file in memory that holds the input, and its path.
private let file: (descriptor: Int32, path: PathBytes) = {
  var name = Array("/dev/shm/batchproc-fuzz-XXXXXX".utf8CString)
  let descriptor = mkstemp(&name)
  unlink(name)
  return (descriptor, PathBytes("/proc/self/fd/\(descriptor)"))
}()

/// A whole archive: its first block decides how it is read, its last ones whether there is an index.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzArchiveEnds(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  guard ftruncate(file.descriptor, 0) == 0, pwrite(file.descriptor, start, count, 0) == count else {
    return 0
  }
  let run = RunContext()
  guard let archive = try? ArchiveFile(file.path, in: SourceContext(run)),
    let open = try? OpenArchive(archive, checks: true, memory: 64 << 20, by: run.reading),
    let reader = try? open.reader(limits: ArchiveLimits(maximumOutput: 16 << 20, maximumRatio: 1000))
  else { return 0 }
  // Members, and the faults between them; a reader that makes no end of an input of this size is at fault itself.
  var members = 0
  while let member = try? reader.next() {
    _ = member
    members += 1
    precondition(members <= count + 1, "more members than bytes")
  }
  return 0
}
