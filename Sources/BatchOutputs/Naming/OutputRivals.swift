import BatchEngine

/// Sources in one folder whose outputs would have the same name: `a.gz` and `a.zst`.
package struct OutputRivals {
  private let directory: DirectoryPath
  /// The outputs that several names of the folder would share, as hashes.
  private let shared: Set<Int>

  /// Examines the names of the folder in which a record was found.
  package init(beside record: FileRecord, _ naming: OutputNaming) {
    directory = record.directory
    var seen = Set<Int>()
    var shared = Set<Int>()
    record.names.forEach { name in
      guard let known = naming.knownSuffixes.first(ofName: name) else { return }
      let output = Array(name.dropLast(known.suffix.utf8.count)) + Array(known.replacement.utf8)
      if !seen.insert(output.hashValue).inserted { shared.insert(output.hashValue) }
    }
    self.shared = shared
  }

  /// Whether these are the names of a record's folder.
  package func hold(for record: FileRecord) -> Bool { directory === record.directory }

  /// Whether another source may have this output, so that a search is needed; false is reliable.
  package func mayHold(_ target: PathBytes) -> Bool {
    !shared.isEmpty && shared.contains(Array(target.lastComponent).hashValue)
  }

  /// Another file in the source's folder with the same output; nil if there is none.
  package static func rival(
    of record: FileRecord, target: PathBytes, _ naming: OutputNaming, calls: any FileSystemCalls
  ) -> PathBytes? {
    let source = record.path
    let folder = source.bytes[..<source.lastComponent.startIndex]
    let stem = target.lastComponent
    for known in naming.knownSuffixes {
      guard stem.suffix(known.replacement.utf8.count).elementsEqual(known.replacement.utf8) else { continue }
      let name = Array(stem.dropLast(known.replacement.utf8.count)) + Array(known.suffix.utf8)
      let path = PathBytes(Array(folder) + name)
      guard path != source else { continue }
      // If links are followed, they are sources too.
      let status = try? calls.status(of: path, followingLinks: record.followsLinks)
      if status?.kind == .regular { return path }
    }
    return nil
  }
}
