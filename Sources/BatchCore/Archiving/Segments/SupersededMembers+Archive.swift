import BatchEngine

extension SupersededMembers {
  /// Finds the superseded members of an archive by reading its names, if the archive can be read a second time.
  ///
  /// - Parameter decodes: whether a compressed archive is read too, which must be decoded for this.
  init(_ archive: OpenArchive, decodes: Bool) throws(BatchError) {
    guard archive.file.size != nil else {
      self.init()
      return
    }
    let isCompressed = try archive.content().format != nil
    guard decodes || !isCompressed else {
      self.init()
      return
    }
    var names = SupersededMembers()
    var found: Set<Int> = []
    do throws(BatchError) {
      let reader = try archive.reader(limits: ArchiveLimits())
      while let member = try reader.next() {
        try archive.file.cancellation.check()
        guard case .entry(let entry) = member else {
          names.skip()
          continue
        }
        if let earlier = names.add(entry.path) { found.insert(earlier) }
      }
    } catch {
      // The following read reports the errors.
      try archive.file.cancellation.check()
    }
    self.init(found)
  }
}
