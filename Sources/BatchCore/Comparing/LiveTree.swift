import BatchEngine

/// A folder that a record is compared with. Names are resolved below its descriptor, and no symbolic link is followed except one
/// that was named as the source of a backup.
package final class LiveTree: Sendable {
  /// A file that was found under a name.
  struct Found {
    let status: FileStatus
    let target: PathBytes?
    /// The attributes of a file or directory, if requested.
    let attributes: [ExtendedAttribute]?
    let folder: FileIdentity
  }

  package let path: PathBytes
  private let root: OpenFolder
  private let walk: WalkOptions
  private let context: SourceContext
  /// The places of sources of a backup, which were followed there.
  private let sources: Set<[UInt8]>

  /// - Parameters:
  ///   - path: the folder in which the recorded names begin.
  ///   - walk: which entries of the folder can count as new.
  ///   - sources: the places of sources of a backup; a link in such a place is followed.
  /// - Throws: the error of opening the folder.
  package init(
    _ path: PathBytes, options walk: WalkOptions, sources: [RelativePath] = [], in context: SourceContext
  ) throws(BatchError) {
    self.sources = Set(sources.map(\.bytes).filter { !$0.isEmpty })
    self.path = path
    self.context = context
    self.walk = walk
    root = try context.folders.folder(named: path)
  }

  func tree(below place: RelativePath) -> TreeSource {
    var walk = walk
    if isSource(place) { walk.followsOperands = true }
    return context.tree([path(of: place)], options: walk)
  }

  /// Whether a link in a place is followed.
  func isSource(_ place: RelativePath) -> Bool { sources.contains(place.bytes) }

  /// The path of a place, for messages.
  func path(of place: RelativePath) -> PathBytes {
    place.bytes.isEmpty ? path : path.appending(place.bytes)
  }

  /// Whether a place is a folder, with only folders on the way.
  func isFolder(_ place: RelativePath) -> Bool { (try? open(place.bytes[...])) != nil }

  /// Examines the file at a place.
  ///
  /// - Returns: nil if it does not exist, or only through a link.
  /// - Throws: `unreadable`, with the path.
  func look(at place: RelativePath, withAttributes: Bool = false) throws(BatchError) -> Found? {
    do throws(BatchError) {
      if isSource(place) { return try source(place, withAttributes: withAttributes) }
      let folder = try open(place.parent)
      let isRoot = place.bytes.isEmpty
      guard let status = try folder.look(at: isRoot ? "." : place.name) else { return nil }
      if isRoot { return Found(status: status, target: nil, attributes: nil, folder: status.identity) }
      let target = status.kind == .symbolicLink ? try LinkTarget.read(place.name, in: folder.raw) : nil
      var attributes: [ExtendedAttribute]?
      if withAttributes, status.kind == .regular || status.kind == .directory {
        attributes = place.name.withCString {
          AttributeReader.attributes(of: $0, in: folder.raw, followingLinks: false)
        }
      }
      return Found(status: status, target: target, attributes: attributes, folder: folder.identity)
    } catch {
      // A folder was replaced by a link or a file, so the path below it does not exist.
      if error.isNotFound || error.isNoFolder { return nil }
      throw error.recoded(.unreadable).at(path(of: place))
    }
  }

  /// Examines a source of a backup, following links.
  private func source(_ place: RelativePath, withAttributes: Bool) throws(BatchError) -> Found {
    let path = path(of: place)
    let status = try context.folders.status(of: path)
    let folder = try context.folders.folder(named: path.parent)
    let attributes =
      withAttributes
      ? place.name.withCString { AttributeReader.attributes(of: $0, in: folder.raw, followingLinks: true) }
      : nil
    return Found(status: status, target: nil, attributes: attributes, folder: folder.identity)
  }

  /// Opens a folder to look up names in it.
  ///
  /// - Throws: the error of opening it, also if the path leads through a link.
  func open(_ folder: ArraySlice<UInt8>) throws(BatchError) -> OpenFolder {
    let source = sources.filter {
      folder.starts(with: $0)
        && (folder.count == $0.count || folder.dropFirst($0.count).first == UInt8(ascii: "/"))
    }
    .max { $0.count < $1.count }
    guard let source else {
      return try context.folders.folder(folder, below: root, shown: path, isSearched: true)
    }
    let base = try context.folders.base(named: path.appending(source))
    return try context.folders.folder(
      folder.dropFirst(source.count + 1), below: base, shown: path, isSearched: true)
  }
}
