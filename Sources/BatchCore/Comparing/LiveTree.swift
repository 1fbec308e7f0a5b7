import BatchEngine

/// A folder that a record is compared with. Names are resolved below its descriptor, and no symbolic link is followed.
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

  /// - Parameters:
  ///   - path: the folder in which the recorded names begin.
  ///   - walk: which entries of the folder can count as new.
  /// - Throws: the error of opening the folder.
  package init(_ path: PathBytes, options walk: WalkOptions, in context: SourceContext) throws(BatchError) {
    self.path = path
    self.context = context
    self.walk = walk
    root = try context.folders.folder(named: path)
  }

  func tree(below place: RelativePath) -> TreeSource {
    context.tree([path(of: place)], options: walk)
  }

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

  /// Opens a folder to look up names in it.
  ///
  /// - Throws: the error of opening it, also if the path leads through a link.
  func open(_ folder: ArraySlice<UInt8>) throws(BatchError) -> OpenFolder {
    try context.folders.folder(folder, below: root, shown: path, isSearched: true)
  }
}
