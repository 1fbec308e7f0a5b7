import BatchEngine

/// The access rights of a folder of the source tree.
struct FolderAccess {
  private let status: FileStatus
  /// Its access control list; nil without one.
  private let list: [UInt8]?
  /// Whether the folder is the operand or is below it.
  let isInTree: Bool

  private init(_ folder: OpenFolder, isInTree: Bool) {
    let attributes = AttributeReader.attributes(of: folder.raw)
    status = folder.status
    list = attributes.first { $0.name == AccessList.accessName }?.value
    self.isInTree = isInTree
  }

  var identity: FileIdentity { status.identity }

  /// The most rights that a mirrored folder may give: all to its owner, and to others those of the source folder.
  var permissions: UInt32 {
    0o700 | AccessList.permissions(status.mode & 0o777, without: list) & 0o077
  }

  /// The metadata of a new mirrored folder; the umask limits its permissions.
  var metadata: AtomicFile.Metadata {
    AtomicFile.Metadata(
      ofFolder: status, permissions: permissions & (0o700 | AtomicFile.folderPermissions))
  }

  /// The access rights of the folders along a path.
  ///
  /// - Parameter names: slices of the path of the place's source folder, up to its own name.
  static func of(
    _ names: ArraySlice<ArraySlice<UInt8>>, _ place: OutputPlace, _ opener: FolderOpener
  ) throws(BatchError) -> [FolderAccess] {
    guard let last = names.last else { return [] }
    let directory = place.directory
    let prefix = directory.prefix.bytes
    // The length of an operand includes its final slash; the end of a name does not.
    let isInTree = { (name: ArraySlice<UInt8>) in
      directory.identity != nil && name.endIndex + 1 >= directory.operandLength
    }
    var accesses: [FolderAccess] = []
    var parent: OpenFolder?
    for name in names.dropLast() {
      let path = PathBytes(prefix[..<name.endIndex])
      let folder: OpenFolder
      if name.endIndex < directory.operandLength || directory.identity == nil || place.followsLinks {
        folder = try opener.folder(named: path)
      } else {
        folder = try opener.folder(
          prefix[directory.operandLength..<name.endIndex], below: try opener.operand(of: directory),
          shown: path)
        parent = folder
      }
      accesses.append(FolderAccess(folder, isInTree: isInTree(name)))
    }
    // The folder that was read must be inside the last of these folders, so only a user with rights there can have created it.
    if let parent, try opener.folder(last, below: parent, shown: "").identity != place.source.identity {
      throw BatchError(.changed, "was replaced while the tree was read", path: directory.shownPath)
    }
    return accesses + [FolderAccess(place.source, isInTree: isInTree(last))]
  }
}
