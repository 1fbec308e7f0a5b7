/// Judges the entries of a tree as the walk of another tree would judge them: a copy or a restored form of it.
///
/// A value is for one folder. Ignore files and cache tags are read in the folders of the examined tree, without following links.
package struct TreeFilter: Sendable {
  private static let slash = UInt8(ascii: "/")

  private let options: WalkOptions
  private let filter: PathFilter
  private let calls: any FileSystemCalls
  private let scope: IgnoreScope?
  /// Whether the folder is tagged as a cache.
  package let isCache: Bool
  /// From the operand to the folder, with a slash at the end; empty for the operand itself.
  private let path: [UInt8]

  /// - Parameters:
  ///   - operand: the path of the tree of the walk, for rules that begin in the root or in the working folder.
  ///   - folder: the folder of the examined tree that stands for the operand.
  package init(_ options: WalkOptions, operand: PathBytes, at folder: OpenFolder) {
    self.init(
      options, (options.filter ?? PathFilter()).below(operand.bytes[...]), path: [], outer: IgnoreScope(),
      at: folder)
  }

  private init(
    _ options: WalkOptions, _ filter: PathFilter, path: [UInt8], outer: IgnoreScope?, at folder: OpenFolder
  ) {
    (self.options, self.filter, self.path, calls) = (options, filter, path, folder.calls)
    let markers = FolderMarkers(calls: folder.calls)
    scope =
      options.readsIgnoreFiles
      ? markers.scope(in: outer ?? IgnoreScope(), path.dropLast(), at: folder.raw) : nil
    isCache = markers.hasCacheTag(at: folder.raw)
  }

  /// The filter for the entries of a folder in this one.
  package func entering(_ name: PathBytes, _ folder: OpenFolder) -> TreeFilter {
    TreeFilter(options, filter, path: path + name.bytes + [Self.slash], outer: scope, at: folder)
  }

  /// Whether the walk takes an entry of this folder. The sizes and times of files that are not regular do not count.
  package func takes(_ name: PathBytes, _ status: FileStatus) -> Bool {
    if options.skipsCaches, isCache { return name == PathFilter.cacheTagName }
    if status.kind == .regular, !options.takes(status) { return false }
    let decision = filter.decision(
      relativePath: (path + name.bytes).span, nameStart: path.count,
      isDirectory: status.kind == .directory, scope: scope)
    return decision == .take
  }
}
