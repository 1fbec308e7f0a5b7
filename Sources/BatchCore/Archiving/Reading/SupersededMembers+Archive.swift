import BatchEngine

extension SupersededMembers {
  /// The members of an archive that is read here for its names, where it can be read again.
  ///
  /// - Parameter decodes: whether an archive is also read that has to be decompressed for this.
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
      // The reading that follows reports what is wrong.
      try archive.file.cancellation.check()
    }
    self.init(found)
  }
}
