import BatchEngine

/// Searches manifests of snapshots for paths that a text names, or that match it as a glob.
///
/// A text without a slash is compared with the last name of a path; a text with a slash with any trailing part of the path, or
/// with the whole path if the text begins with a slash. Wildcards match slashes.
package struct PathSearch: Sendable {
  private static let slash = UInt8(ascii: "/")

  private let name: [UInt8]
  private let isWholePath: Bool
  private let takesFoldersOnly: Bool
  /// Nil for a text that is a name only.
  private let pattern: IgnorePattern?

  /// - Parameter isName: whether the text is a name only.
  package init(_ text: PathBytes, isName: Bool = false) {
    let bytes = text.bytes
    isWholePath = bytes.first == Self.slash
    takesFoldersOnly = bytes.last == Self.slash
    name = Array(bytes.dropFirst(isWholePath ? 1 : 0).dropLast(takesFoldersOnly ? 1 : 0))
    let isAnchored = isWholePath || !bytes.dropLast().contains(Self.slash)
    let glob = isAnchored ? bytes : Array("**/".utf8) + bytes
    pattern =
      isName
      ? nil : IgnorePattern(glob, crossesFolders: true).flatMap { $0.isNegated ? nil : $0 }
  }

  func matches(_ path: UnsafeBufferPointer<UInt8>, isFolder: Bool) -> Bool {
    if isNamed(path), isFolder || !takesFoldersOnly { return true }
    guard let pattern else { return false }
    let nameStart = (path.lastIndex(of: Self.slash) ?? -1) + 1
    return pattern.matches(path: path.span, nameStart: nameStart, base: 0, isDirectory: isFolder)
  }

  private func isNamed(_ path: UnsafeBufferPointer<UInt8>) -> Bool {
    let start = path.count - name.count
    guard !name.isEmpty, start >= 0, path[start...].elementsEqual(name) else { return false }
    return start == 0 || (!isWholePath && path[start - 1] == Self.slash)
  }
}

/// A path that was found in a snapshot.
package struct FoundPath: Sendable {
  /// How it differs from the previous snapshot.
  package enum Change: String, Sendable {
    /// It is in the oldest snapshot that was searched.
    case first
    /// It is not in the previous snapshot.
    case new
    /// Kind, content, or target of the link.
    case changed
    /// Only time, mode or owner.
    case touched
    case same
  }

  package let set: PathBytes
  package let stamp: String
  package let entry: SnapshotEntry
  package fileprivate(set) var change = Change.same
  /// The number of the snapshot among those that are searched.
  fileprivate let number: Int
  fileprivate let isOldest: Bool
}

/// A snapshot that is searched.
package struct SearchedSnapshot: Sendable {
  let set: BackupSet
  let snapshot: Snapshot
  /// Its number among all that are searched.
  let number: Int
  /// Whether no older one of the set is searched.
  let isOldest: Bool
}

/// Plans a search: the snapshots of sets, one after the other.
package struct SnapshotSearchSource: BatchSource {
  /// The approximate size of a manifest row in bytes.
  private static let rowSize: UInt64 = 300

  private var rest: ArraySlice<SearchedSnapshot>

  /// - Parameter sets: each with its snapshots, the oldest first.
  package init(_ sets: [(set: BackupSet, snapshots: [Snapshot])]) {
    var all = [SearchedSnapshot]()
    for (set, snapshots) in sets {
      for (index, snapshot) in snapshots.enumerated() {
        all.append(
          SearchedSnapshot(set: set, snapshot: snapshot, number: all.count, isOldest: index == 0))
      }
    }
    rest = all[...]
  }

  package mutating func next() -> Yielded<SearchedSnapshot, Never>? { rest.popFirst().map { .item($0) } }

  package func weight(of item: SearchedSnapshot) -> Int64 {
    Int64(clamping: item.snapshot.footer.rows.multipliedReportingOverflow(by: Self.rowSize).partialValue)
  }
}

extension SearchedSnapshot: FileItem {
  package var path: PathBytes? { self.set.path(snapshot.name.manifest) }
}

/// Searches manifests, one on each lane, in memory that does not depend on their size.
package struct SnapshotSearchJob: BatchJob {
  package typealias Item = SearchedSnapshot

  private let search: PathSearch
  private let source: SourceContext
  private let output: @Sendable ([FoundPath]) throws(BatchError) -> Void

  /// - Parameter output: receives the found paths, in the order of the snapshots; one call at a time.
  package init(
    _ search: PathSearch, in source: SourceContext,
    output: @escaping @Sendable ([FoundPath]) throws(BatchError) -> Void
  ) {
    self.search = search
    self.source = source
    self.output = output
  }

  /// Each worker reads a manifest once, for its rows and for its digest.
  package func makeWorker(in context: WorkerContext, sharing: Void) -> FunctionWorker<Item, [FoundPath]> {
    var rows = ManifestRows()
    return FunctionWorker { (item, context, output) throws(BatchError) in
      let name = item.snapshot.name
      var found = [FoundPath]()
      rows.restart()
      do throws(BatchError) {
        try SnapshotReader.check(item.set.manifest(of: name), in: source) { (piece) throws(BatchError) in
          try context.checkCancellation()
          context.count(bytes: piece.count)
          try rows.take(piece) { (line) throws(BatchError) in
            guard let entry = try ManifestRows.entry(line, of: search) else { return }
            found.append(
              FoundPath(
                set: name.set, stamp: name.stamp, entry: entry, number: item.number, isOldest: item.isOldest))
          }
        }
      } catch {
        try context.checkCancellation()
        context.report(
          Problem(.unreadable, error.path == nil ? error.at(item.set.path(name.manifest)) : error))
        return
      }
      output += found
      context.finish()
    }
  }

  package func makeCollector(in context: CollectorContext, sharing: Void) -> sending Collector {
    Collector(output)
  }

  /// Determines what has changed from snapshot to snapshot, from hashes of the found rows.
  package final class Collector: BatchCollector {
    private struct Version {
      let snapshot: Int
      let content: Int
      let metadata: Int
    }

    private let output: @Sendable ([FoundPath]) throws(BatchError) -> Void
    private var versions: [Int: Version] = [:]
    private var count = 0

    init(_ output: @escaping @Sendable ([FoundPath]) throws(BatchError) -> Void) {
      self.output = output
    }

    package func collect(_ found: [FoundPath]) throws(BatchError) {
      guard !found.isEmpty else { return }
      count += found.count
      var found = found
      for index in found.indices { found[index].change = change(of: found[index]) }
      try output(found)
    }

    /// How many paths were found; each counts once for each snapshot.
    package func finish() -> Int { count }

    private func change(of found: FoundPath) -> FoundPath.Change {
      var (key, content, metadata) = (Hasher(), Hasher(), Hasher())
      key.combine(found.set)
      key.combine(found.entry.path)
      let entry = found.entry
      content.combine(entry.kind)
      content.combine(entry.size)
      content.combine(entry.digest)
      content.combine(entry.linkTarget)
      metadata.combine(entry.modified)
      metadata.combine(entry.mode)
      metadata.combine(entry.owner)
      metadata.combine(entry.group)
      let version = Version(
        snapshot: found.number, content: content.finalize(), metadata: metadata.finalize())
      guard let former = versions.updateValue(version, forKey: key.finalize()),
        former.snapshot >= found.number - 1
      else { return found.isOldest ? .first : .new }
      if former.content != version.content { return .changed }
      return former.metadata == version.metadata ? .same : .touched
    }
  }
}
