import BatchEngine
import var Glibc.ENOTDIR

/// The entries of manifests as items of a run, each with the status of the file that it names.
///
/// A manifest is read as it is needed, so memory does not grow with it.
package struct CheckSource: BatchSource {
  private let directory: PathBytes?
  private let options: ManifestReader.Options
  private let ignoresMalformed: Bool
  private let context: SourceContext
  private var manifests: AnyIterator<PathBytes>
  private var current: OpenManifest?
  private var folder: DirectoryPath?
  private var chooser: ListedNameChooser

  /// - Parameters:
  ///   - manifests: paths, `-` for standard input.
  ///   - directory: where relative names begin; nil for the working directory.
  ///   - ignoresMalformed: rows that are not valid are passed over as other text is.
  ///   - selection: which entries to verify. The patterns are held against the names in the manifest, and the
  ///     file system to stay on is that of the directory.
  ///   - context: ends the wait for a manifest that comes through a pipe, and has a descriptor for the manifest that is
  ///     read set apart.
  package init(
    manifests: some Sequence<PathBytes>, in directory: PathBytes?, options: ManifestReader.Options,
    ignoresMalformed: Bool = false, selection: WalkOptions = WalkOptions(), context: SourceContext
  ) {
    self.manifests = AnyIterator(manifests.makeIterator())
    self.directory = directory
    self.options = options
    self.ignoresMalformed = ignoresMalformed
    self.context = context
    chooser = ListedNameChooser(options: selection, base: directory ?? PathBytes("."), calls: context.calls)
  }

  package mutating func next() throws(BatchError) -> CheckItem? {
    while true {
      if let manifest = current {
        do throws(BatchError) {
          guard let item = try manifest.next() else {
            current = nil
            continue
          }
          guard let item = self.item(for: item, of: manifest) else { continue }
          return item
        } catch {
          try context.cancellation.check()
          current = nil
          return .unreadable(Problem(.unreadable, error.at(manifest.path)))
        }
      }
      guard let path = manifests.next() else { return nil }
      do throws(BatchError) {
        current = try OpenManifest(path, options: options, in: context)
      } catch {
        return .unreadable(Problem(error))
      }
    }
  }

  package func weight(of item: CheckItem) -> Int64 {
    if case .file(_, let record) = item { record.status.size } else { 0 }
  }

  /// - Returns: nil for an entry that is left out.
  private mutating func item(for item: ManifestItem, of manifest: OpenManifest) -> CheckItem? {
    switch item {
    case .malformed(let line, let reason):
      let error = BatchError(.malformed, "line \(line): \(reason)", path: manifest.path)
      return ignoresMalformed ? .text(error) : .malformed(error)
    case .text(let line, let reason):
      return .text(BatchError(.malformed, "line \(line): \(reason)", path: manifest.path))
    case .entry(let entry):
      if entry.path == "-", !manifest.isStandardInput { return .standardInput(entry) }
      return locate(entry)
    }
  }

  private mutating func locate(_ entry: ManifestEntry) -> CheckItem? {
    let path = entry.path.isAbsolute ? entry.path : directory?.appending(entry.path.bytes) ?? entry.path
    guard !path.containsNUL, !path.isEmpty else {
      return .unavailable(entry, BatchError(.missing, "is not a name", path: path))
    }
    let status: FileStatus
    do throws(BatchError) {
      status = try context.folders.status(of: path)
    } catch {
      guard chooser.takes(entry.path, status: nil) else { return nil }
      let error = BatchError.syscall("open", errno: error.errno, path: path)
      return .unavailable(entry, error.errno == ENOTDIR ? error.recoded(.missing) : error)
    }
    guard chooser.takes(entry.path, status: status) else { return nil }
    guard status.kind == .regular else {
      return .unavailable(entry, BatchError(.special, "is \(status.kind.text)", path: path))
    }
    let home = DirectoryPath(ofFileOperand: path)
    // One object for neighbours in a folder lets the reader keep that folder open.
    if folder?.prefix != home.prefix { folder = home }
    return .file(
      entry,
      FileRecord(
        directory: folder ?? home, names: NameArena(name: path.lastComponent), nameOffset: 0, status: status,
        followsLinks: true))
  }
}
