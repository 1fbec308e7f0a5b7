import BatchEngine
import Glibc

/// What a folder of the source tree lets others do.
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

  /// The most that a mirrored folder may have: its owner all, the others what they have there.
  var permissions: UInt32 {
    0o700 | AccessList.permissions(status.mode & 0o777, without: list) & 0o077
  }

  /// What a mirrored folder gets when it is made: no more than the umask lets a new folder have.
  var metadata: AtomicFile.Metadata {
    AtomicFile.Metadata(
      ofFolder: status, permissions: permissions & (0o700 | AtomicFile.folderPermissions))
  }

  /// That of the folders that have these names, looked at on one way down to the last of them.
  ///
  /// - Parameter names: parts of the path of the place's source, the last of them its own name.
  static func of(
    _ names: ArraySlice<ArraySlice<UInt8>>, _ place: OutputPlace, _ opener: DirectoryOpener
  ) throws(BatchError) -> [FolderAccess] {
    let directory = place.directory
    let prefix = directory.prefix.bytes
    var accesses: [FolderAccess] = []
    var current: OpenFolder?
    for (offset, name) in names.enumerated() {
      let isLast = offset == names.count - 1
      // The prefix of an operand ends in a slash, that of its name does not.
      let isInTree = directory.identity != nil && name.endIndex + 1 >= directory.operandLength
      if isLast {
        accesses.append(FolderAccess(place.source, isInTree: isInTree))
      } else if name.endIndex < directory.operandLength || directory.identity == nil || place.followsLinks {
        let path = PathBytes(prefix[..<name.endIndex])
        accesses.append(
          FolderAccess(try folder(opener.open(path, followingLast: true), path, opener), isInTree: isInTree))
      } else {
        let path = PathBytes(prefix[..<name.endIndex])
        let next: OpenFolder
        if let current {
          next = try folder(opener.open(name, below: current.raw), path, opener)
        } else {
          let operand = PathBytes(prefix[..<directory.operandLength])
          let base = try opener.open(operand.isEmpty ? "." : operand, followingLast: true)
          next = try folder(
            opener.open(prefix[directory.operandLength..<name.endIndex], below: base.raw), path, opener)
        }
        accesses.append(FolderAccess(next, isInTree: true))
        current = next
      }
    }
    // The folder that was read has to lie in the last one of these: nobody who could not has put it there.
    if let current, let last = names.last {
      let found = try folder(opener.open(last, below: current.raw), "", opener)
      guard found.identity == place.source.identity else {
        throw BatchError(
          .changed, "was replaced while the tree was read", path: directory.shownPath)
      }
    }
    return accesses
  }

  private static func folder(
    _ descriptor: consuming Descriptor, _ path: PathBytes, _ opener: DirectoryOpener
  ) throws(BatchError) -> OpenFolder {
    try OpenFolder(descriptor, path: path, calls: opener.calls)
  }
}
