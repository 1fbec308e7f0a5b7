import BatchEngine

extension ArchiveFile {
  /// An error found before the archive is compared with a folder: the names of the members begin with the folder itself, so every
  /// member would be missing.
  ///
  /// - Parameter memory: memory for the index of the archive, in bytes.
  /// - Returns: nil if the first member exists in the folder, or does not begin with the folder's name; also for a stream,
  ///   which can be read only once.
  /// - Throws: the reason, when the run is to stop.
  package func wrongFolder(
    _ directory: PathBytes, memory: Int, by right: ReadingRight
  ) throws(BatchError) -> BatchError? {
    guard size != nil, let first = try firstName(memory: memory, by: right),
      (try? directory.appending(first).status()) == nil, let real = try? directory.resolved(),
      real.lastComponent.elementsEqual(first)
    else { return nil }
    let name = PathBytes(first)
    let parent = directory.bytes.contains(UInt8(ascii: "/")) ? directory.parent : "."
    return BatchError(
      .invalid, "the names in the archive begin with \(name)/, and this is \(name) itself", path: directory,
      remedy: .compareWith(parent))
  }

  private func firstName(memory: Int, by right: ReadingRight) throws(BatchError) -> [UInt8]? {
    do throws(BatchError) {
      let open = try OpenArchive(self, checks: false, memory: memory, by: right)
      guard case .entry(let entry)? = try open.reader(limits: ArchiveLimits()).next(),
        let path = try? RelativePath(entry.path)
      else { return nil }
      let name = path.bytes.prefix { $0 != UInt8(ascii: "/") }
      return name.isEmpty ? nil : Array(name)
    } catch {
      // Errors of the archive are found again when it is verified.
      try cancellation.check()
      return nil
    }
  }
}
