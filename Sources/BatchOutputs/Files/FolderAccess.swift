import BatchEngine

/// The access that a folder of the source tree gives to others.
struct FolderAccess {
  private let status: FileStatus
  /// Its access control list; nil without one.
  private let list: [UInt8]?
  /// Whether it is the operand, or below it.
  let isInTree: Bool

  private init(_ folder: OpenFolder, isInTree: Bool) {
    let attributes = AttributeReader.attributes(of: folder.raw)
    status = folder.status
    list = attributes.first { $0.name == AccessList.accessName }?.value
    self.isInTree = isInTree
  }

  var identity: FileIdentity { status.identity }

  /// The most that a mirrored folder may give: everything to its owner, to others what the source folder gives them.
  var permissions: UInt32 {
    0o700 | AccessList.permissions(status.mode & 0o777, without: list) & 0o077
  }

  /// What a mirrored folder gets when it is made: no more than the umask lets a new folder have.
  var metadata: AtomicFile.Metadata {
    AtomicFile.Metadata(
      ofFolder: status, permissions: permissions & (0o700 | AtomicFile.folderPermissions))
  }

  /// That of the folders that have these names.
  ///
  /// - Parameter names: parts of the path of the place's source, the last of them its own name.
  static func of(
    _ names: ArraySlice<ArraySlice<UInt8>>, _ place: OutputPlace, _ opener: FolderOpener
  ) throws(BatchError) -> [FolderAccess] {
    guard let last = names.last else { return [] }
    let directory = place.directory
    let prefix = directory.prefix.bytes
    // The prefix of an operand ends in a slash, that of its name does not.
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
    // The folder that was read has to lie in the last one of these, so only a user with rights there can have made it.
    if let parent, try opener.folder(last, below: parent, shown: "").identity != place.source.identity {
      throw BatchError(.changed, "was replaced while the tree was read", path: directory.shownPath)
    }
    return accesses + [FolderAccess(place.source, isInTree: isInTree(last))]
  }
}
