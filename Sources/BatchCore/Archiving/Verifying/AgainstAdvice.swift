import BatchEngine

/// An error found before an archive is compared with a folder: the names of the members begin with the folder itself, so every
/// member would be missing.
package struct AgainstAdvice {
  /// States where the names begin.
  package let error: BatchError

  /// - Parameter memory: memory for the index of the archive, in bytes.
  /// - Returns: nil if the first member exists in the folder, or does not begin with the folder's name; also for a stream,
  ///   which can be read only once.
  /// - Throws: the reason, when the run is to stop.
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
      // Errors of the archive are found again when it is verified.
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
