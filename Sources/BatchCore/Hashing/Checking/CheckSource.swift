import BatchEngine
import var Glibc.ENOTDIR

/// The entries of manifests as items of a run, each with the status of its file.
package struct CheckSource: BatchSource {
  private let directory: PathBytes?
  private let ignoresMalformed: Bool
  private let context: SourceContext
  private let nextRow: () throws(BatchError) -> CheckLine?
  private var folder: DirectoryPath?
  private var chooser: ListedNameChooser

  /// - Parameters:
  ///   - manifests: paths, `-` for standard input.
  ///   - directory: the directory of relative names; nil for the working directory.
  ///   - ignoresMalformed: whether invalid rows are skipped like other text.
  ///   - selection: which entries to verify. The patterns are matched against the names in the manifest; the file system that
  ///     must not be left is that of the directory.
  package init(
    manifests: some Sequence<PathBytes>, in directory: PathBytes?, options: ManifestReader.Options,
    ignoresMalformed: Bool = false, selection: WalkOptions = WalkOptions(), context: SourceContext
  ) {
    var rows = CheckLines(manifests, options: options, context: context)
    self.init(
      in: directory, ignoresMalformed: ignoresMalformed, selection: selection, context: context
    ) { () throws(BatchError) in try rows.next() }
  }

  /// - Parameter rows: yields the lines of the manifests.
  package init(
    in directory: PathBytes?, ignoresMalformed: Bool, selection: WalkOptions = WalkOptions(),
    context: SourceContext, rows: @escaping () throws(BatchError) -> CheckLine?
  ) {
    self.directory = directory
    self.ignoresMalformed = ignoresMalformed
    self.context = context
    nextRow = rows
    chooser = ListedNameChooser(options: selection, base: directory ?? PathBytes("."), calls: context.calls)
  }

  package mutating func next() throws(BatchError) -> Yielded<CheckItem, Never>? {
    while let row = try nextRow() {
      if let item = item(for: row) { return .item(item) }
    }
    return nil
  }

  /// - Returns: nil for an entry that is left out.
  package mutating func item(for row: CheckLine) -> CheckItem? {
    switch row {
    case .unreadable(let problem): return .unreadable(problem)
    case .line(.malformed(let line, let reason), let path, _):
      let error = BatchError(.malformed, "line \(line): \(reason)", path: path)
      return ignoresMalformed ? .text(error) : .malformed(error)
    case .line(.text(let line, let reason), let path, _):
      return .text(BatchError(.malformed, "line \(line): \(reason)", path: path))
    case .line(.entry(let entry), _, let isOfStandardInput):
      if entry.path == "-", !isOfStandardInput { return .standardInput(entry) }
      return locate(entry)
    }
  }

  package func weight(of item: CheckItem) -> Int64 {
    if case .file(_, let record) = item { record.status.size } else { 0 }
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
    // Consecutive files in a folder share one object, so that the reader can keep the folder open.
    if folder?.prefix != home.prefix { folder = home }
    return .file(
      entry,
      FileRecord(
        directory: folder ?? home, names: NameArena(name: path.lastComponent), nameOffset: 0, status: status,
        followsLinks: true))
  }
}
