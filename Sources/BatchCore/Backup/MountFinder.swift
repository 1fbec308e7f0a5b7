import BatchEngine

/// Finds the mount points in a walk: folders on another device than the folder that contains them.
struct MountFinder {
  /// The devices of the folders on the way to the current one.
  private var devices: [UInt64] = []
  /// Mount points on the way in which nothing was found yet.
  private var empty: [(depth: Int, path: PathBytes)] = []

  /// - Parameter record: the next file or folder of a walk that takes everything.
  /// - Returns: mount points that have content, each once: when the first of it is found.
  mutating func take(_ record: FileRecord) -> [PathBytes] {
    let depth = record.directory.depth
    guard record.status.kind == .directory else {
      empty.removeAll { $0.depth > depth }
      defer { empty = [] }
      return record.isOperand ? [] : empty.map(\.path)
    }
    empty.removeAll { $0.depth >= depth }
    var found = [PathBytes]()
    // Each new file system of ext4 has this folder.
    let isOfNew =
      empty.last?.depth == depth - 1
      && record.directory.shownPath.lastComponent.elementsEqual("lost+found".utf8)
    if !isOfNew, !empty.isEmpty {
      found = empty.map(\.path)
      empty = []
    }
    devices.removeLast(max(0, devices.count - depth))
    let device = record.status.identity.device
    if let above = devices.last, above != device { empty.append((depth, record.directory.shownPath)) }
    devices.append(device)
    return found
  }

  /// Whether content on a file system is recorded as that of a disk, which may be missing in a later backup.
  static func mayBeMissing(_ folder: PathBytes, _ calls: any FileSystemCalls) -> Bool {
    guard let opened = try? calls.openFile(folder, followingLast: false) else { return false }
    return calls.fileSystemType(of: opened.raw).map { !passing.contains(UInt64(clamping: $0)) } ?? true
  }

  /// The file systems of linux/magic.h that contain nothing of a disk, or are mounted by users and on demand: in the order of
  /// tmpfs, ramfs, overlay, squashfs, fuse, autofs, proc, sysfs, devpts, cgroup, cgroup2, debugfs, tracefs, securityfs, pstore,
  /// bpf, mqueue, hugetlbfs, configfs, fusectl, efivarfs, binfmt_misc and nsfs.
  private static let passing: Set<UInt64> = [
    0x0102_1994, 0x8584_58f6, 0x794c_7630, 0x7371_7368, 0x6573_5546, 0x0187, 0x9fa0, 0x6265_6572, 0x1cd1,
    0x0027_e0eb, 0x6367_7270, 0x6462_6720, 0x7472_6163, 0x7363_6673, 0x6165_676c, 0xcafe_4a11, 0x1980_0202,
    0x9584_58f6, 0x6265_6570, 0x6573_5543, 0xde5e_81e4, 0x4249_4e4d, 0x6e73_6673,
  ]
}
