import BatchEngine

/// A folder that a record is compared with. Names are resolved below its descriptor, and no symbolic link is followed.
package final class LiveTree: Sendable {
  /// What lies under a name.
  struct Found {
    let status: FileStatus
    /// Of a symbolic link.
    let target: PathBytes?
    /// Of a file or directory, where they were asked for.
    let attributes: [ExtendedAttribute]?
    /// The folder that it lies in.
    let folder: FileIdentity
  }

  package let path: PathBytes
  private let root: OpenFolder
  private let walk: WalkOptions
  private let context: SourceContext

  /// - Parameters:
  ///   - path: the folder that the recorded names begin in.
  ///   - walk: what of the folder counts as new.
  ///   - context: that compares.
  /// - Throws: the error of opening the folder.
  package init(_ path: PathBytes, options walk: WalkOptions, in context: SourceContext) throws(BatchError) {
    self.path = path
    self.context = context
    self.walk = walk
    root = try context.folders.folder(named: path)
  }

  /// A walk of what lies below a place.
  func tree(below place: RelativePath) -> TreeSource {
    context.tree([path(of: place)], options: walk)
  }

  /// The path that something has, for messages.
  func path(of place: RelativePath) -> PathBytes {
    place.bytes.isEmpty ? path : path.appending(place.bytes)
  }

  /// Whether a place is a folder, and reached through folders alone.
  func isFolder(_ place: RelativePath) -> Bool { (try? open(place.bytes[...])) != nil }

  /// Looks at what lies at a place.
  ///
  /// - Returns: nil for what is not there, or only behind a link.
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
      // A link or a file in the place of a folder: what was below it is not there.
      if error.isNotFound || error.isNoFolder { return nil }
      throw error.recoded(.unreadable).at(path(of: place))
    }
  }

  /// Opens a folder to look for names in it.
  ///
  /// - Throws: the error of opening it, also for what is reached through a link.
  func open(_ folder: ArraySlice<UInt8>) throws(BatchError) -> OpenFolder {
    try context.folders.folder(folder, below: root, shown: path, isSearched: true)
  }
}
