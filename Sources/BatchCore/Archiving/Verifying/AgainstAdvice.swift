import BatchEngine

/// Found before an archive is compared with a folder: the folder is the one that the names of the members begin with, so
/// that each of them would be missing.
package struct AgainstAdvice {
  /// Says where the names begin.
  package let error: BatchError

  /// - Parameter memory: what the index of the archive may take, in bytes.
  /// - Returns: nil where the first member has its place in the folder, or another name than the folder; also for an
  ///   archive that comes from a stream, which is read once.
  /// - Throws: why the run is to stop.
  package init?(
    _ archive: ArchiveFile, _ directory: PathBytes, memory: Int, by right: ReadingRight
  ) throws(BatchError) {
    guard archive.size != nil, let first = try Self.firstName(archive, memory: memory, by: right),
      !Self.exists(directory.appending(first)), let real = Self.resolved(directory),
      real.lastComponent.elementsEqual(first)
    else { return nil }
    let name = PathBytes(first)
    let parent = directory.bytes.contains(UInt8(ascii: "/")) ? directory.parent : "."
    error = BatchError(
      .invalid, "the names in the archive begin with \(name)/, and this is \(name) itself", path: directory,
      remedy: .compareWith(parent))
  }

  private static func firstName(
    _ archive: ArchiveFile, memory: Int, by right: ReadingRight
  ) throws(BatchError) -> [UInt8]? {
    do throws(BatchError) {
      guard
        case .entry(let entry)? = try OpenArchive(
          archive, checks: false, memory: memory, by: right
        ).reader(limits: ArchiveLimits()).next(), let path = try? RelativePath(entry.path)
      else { return nil }
      let name = path.bytes.prefix { $0 != UInt8(ascii: "/") }
      return name.isEmpty ? nil : Array(name)
    } catch {
      // What is wrong with the archive is found again when it is verified.
      try archive.cancellation.check()
      return nil
    }
  }

  private static func exists(_ path: PathBytes) -> Bool {
    (try? path.status()) != nil
  }

  private static func resolved(_ directory: PathBytes) -> PathBytes? {
    try? directory.resolved()
  }
}
