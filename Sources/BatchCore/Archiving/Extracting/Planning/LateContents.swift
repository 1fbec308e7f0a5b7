import BatchEngine

/// The files of a cpio that have several names, of which only some are selected: `newc` stores the content at one of the names,
/// usually the last one.
struct LateContents {
  private enum State {
    /// The first selected name, which is not created until the content is found.
    case waiting(ArchiveEntry)
    /// The selected name that has the content.
    case found(PathBytes)
    /// A name that is not selected has the content. The first selected name after it, if there is one.
    case elsewhere(ArchiveEntry?)
  }

  /// By the first name in the archive, which links have as their target.
  private var files: [PathBytes: State] = [:]

  /// Takes the next member.
  ///
  /// - Returns: the members to create now; the last one receives the content.
  mutating func entries(for entry: ArchiveEntry, isChosen: Bool) -> [ArchiveEntry] {
    guard entry.sharesContent else {
      if isChosen, !files.isEmpty { files[entry.path] = nil }
      return isChosen ? [entry] : []
    }
    let first = entry.linkTarget ?? entry.path
    let state = entry.kind == .hardLink ? files[first] : nil
    var entry = entry
    switch state {
    case .waiting(var waiting) where entry.size > 0:
      files[first] = .found(waiting.path)
      (waiting.kind, waiting.linkTarget) = (.file, nil)
      guard isChosen else {
        waiting.size = entry.size
        return [waiting]
      }
      entry.linkTarget = waiting.path
      return [waiting, entry]
    case _ where !isChosen:
      if state == nil, entry.size > 0 { files[first] = .elsewhere(nil) }
      return []
    case .elsewhere(nil) where entry.size == 0:
      files[first] = .elsewhere(entry)
      return []
    case .waiting(let other), .elsewhere(let other?):
      entry.linkTarget = other.path
      return [entry]
    case .found(let other):
      entry.linkTarget = other
      return [entry]
    case nil where entry.size == 0:
      files[first] = .waiting(entry)
      return []
    case nil, .elsewhere(nil):
      files[first] = .found(entry.path)
      (entry.kind, entry.linkTarget) = (.file, nil)
      return [entry]
    }
  }

  /// Removes and returns the selected names whose content was not found. If no name of a file has content, the result has an empty
  /// file. If a name that was not selected has the content, the result has a link to that name.
  mutating func takeAll() -> [ArchiveEntry] {
    defer { files = [:] }
    let waiting: [ArchiveEntry] = files.values.compactMap { state in
      switch state {
      case .waiting(var entry):
        (entry.kind, entry.linkTarget) = (.file, nil)
        return entry
      case .elsewhere(let entry): return entry
      case .found: return nil
      }
    }
    return waiting.sorted { $0.path.bytes.lexicographicallyPrecedes($1.path.bytes) }
  }
}
