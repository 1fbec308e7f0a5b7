import CLinux
import Glibc

/// The device and file system that a folder is stored on, and what can be done there.
package struct DeviceFacts: Sendable, Hashable {
  package enum Kind: String, Sendable, Hashable {
    /// A rotating disk, a solid-state device, or a block device whose kind the kernel does not report.
    case rotational, solidState = "solid_state", block
    case memory, network, overlay, virtual, unknown
  }

  /// Whether an operation works in the folder; `untried` if the folder is not writable.
  package enum Ability: String, Sendable, Hashable {
    case yes, no, untried
  }

  package let kind: Kind
  /// The type that statfs(2) reports, as a name if it is known.
  package let fileSystem: String
  /// The identity of the file system, 16 hexadecimal digits: the key under which a tuned number is saved.
  package let fileSystemID: String
  package let canMakeUnnamedFiles: Ability
  package let canKeepAttributes: Ability
  package let canKeepAccessLists: Ability
  package let canCloneContent: Ability
  package let canOpenBeneath: Ability

  /// Examines a folder; creates unnamed files there, or files that are removed at once.
  ///
  /// - Parameter sys: where sysfs is mounted.
  /// - Throws: the error of opening the folder.
  package init(of folder: PathBytes, sys: PathBytes = "/sys") throws(BatchError) {
    let directory = try Self.open(folder, flags: O_RDONLY | O_DIRECTORY)
    let type = Self.type(of: directory.raw)
    let known = Self.names[type]
    fileSystem = known?.name ?? "0x" + String(type, radix: 16)
    fileSystemID = Self.identity(of: directory.raw)
    kind = known?.kind ?? Self.blockKind(of: directory.raw, sys: sys)
    let probe = WriteProbe(directory.raw)
    canMakeUnnamedFiles = probe.unnamed
    canKeepAttributes = probe.attributes
    canKeepAccessLists = probe.accessLists
    canCloneContent = probe.clones
    let beneath = clinux_open_beneath(directory.raw, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    canOpenBeneath = beneath >= 0 ? .yes : .no
    if beneath >= 0 { close(beneath) }
  }

  /// The identity of the file system that holds a path; nil if it cannot be examined.
  package static func fileSystemID(of path: PathBytes) -> String? {
    guard let descriptor = try? open(path, flags: clinux_o_path) else { return nil }
    return identity(of: descriptor.raw)
  }

  /// Whether a path is on a rotating disk; false if unknown.
  package static func isRotational(_ path: PathBytes, sys: PathBytes = "/sys") -> Bool {
    guard let descriptor = try? open(path, flags: clinux_o_path) else { return false }
    return blockKind(of: descriptor.raw, sys: sys) == .rotational
  }

  /// Whether a path is on a file system that no other machine can have mounted at the same time.
  ///
  /// False if the path or the type of its file system is unknown: cluster file systems have many types.
  package static func isLocal(_ path: PathBytes) -> Bool {
    guard let descriptor = try? open(path, flags: clinux_o_path), let known = names[type(of: descriptor.raw)]
    else { return false }
    return known.kind != .network
  }

  private static func type(of descriptor: Int32) -> UInt64 {
    UInt64(bitPattern: Int64(clinux_file_system_type(descriptor))) & 0xffff_ffff
  }

  private static func open(_ path: PathBytes, flags: Int32) throws(BatchError) -> Descriptor {
    let opened = path.withCString { LinuxCalls().open($0, at: AT_FDCWD, flags: flags) }
    guard opened >= 0 else { throw .syscall("open", errno: -opened, path: path) }
    return Descriptor(owning: opened)
  }

  // The file systems of linux/magic.h that a run may meet.
  private static let names: [UInt64: (name: String, kind: Kind?)] = [
    0x0102_1994: ("tmpfs", .memory), 0x8584_58f6: ("ramfs", .memory), 0x794c_7630: ("overlay", .overlay),
    0x6969: ("nfs", .network), 0xff53_4d42: ("cifs", .network), 0xfe53_4d42: ("smb2", .network),
    0x0102_1997: ("9p", .network), 0x00c3_6400: ("ceph", .network), 0x6573_5546: ("fuse", .network),
    0x5346_414f: ("afs", .network), 0x9fa0: ("proc", .virtual), 0x6265_6572: ("sysfs", .virtual),
    0xef53: ("ext4", nil), 0x5846_5342: ("xfs", nil), 0x9123_683e: ("btrfs", nil), 0xf2f5_2010: ("f2fs", nil),
    0x2fc1_2fc1: ("zfs", nil), 0xca45_1a4e: ("bcachefs", nil), 0x4d44: ("vfat", nil),
    0x2011_bab0: ("exfat", nil),
  ]

  /// The id that the file system reports; the number of its device if it reports none.
  private static func identity(of directory: Int32) -> String {
    var number = clinux_file_system_id_of(directory)
    if number == 0 { number = (try? LinuxCalls().status(of: directory))?.identity.device ?? 0 }
    let digits = String(number, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }

  private static func blockKind(of directory: Int32, sys: PathBytes) -> Kind {
    var status = stat()
    guard fstat(directory, &status) == 0 else { return .unknown }
    let (major, minor) = (clinux_major(UInt64(status.st_dev)), clinux_minor(UInt64(status.st_dev)))
    let device = sys.appending("dev/block/\(major):\(minor)".utf8)
    // A partition uses the queue of its disk.
    for disk in [device, device.appending("..".utf8)] {
      guard let content = try? KernelFile.read(disk.appending("queue/rotational".utf8)) else { continue }
      guard content.first != UInt8(ascii: "0") else { return .solidState }
      return isPhysical(disk) ? .rotational : .block
    }
    return major == 0 ? .unknown : .block
  }

  /// Whether a disk reports a manufacturer of disks: virtual disks claim to rotate whatever is below them.
  private static func isPhysical(_ disk: PathBytes) -> Bool {
    ["device/vendor", "device/model"].allSatisfy { file in
      guard let name = try? KernelFile.read(disk.appending(file.utf8)) else { return false }
      let text = String(decoding: name, as: UTF8.self).uppercased()
      return !["QEMU", "VBOX", "VMWARE", "VIRTUAL", "MSFT", "XEN"].contains { text.contains($0) }
    }
  }
}

/// Tests what can be done in a folder, with files that are created only for the test.
private struct WriteProbe {
  var unnamed = DeviceFacts.Ability.untried
  var attributes = DeviceFacts.Ability.untried
  var accessLists = DeviceFacts.Ability.untried
  var clones = DeviceFacts.Ability.untried

  init(_ directory: Int32) {
    guard let file = Self.make(in: directory, isUnnamed: &unnamed) else { return }
    var byte: UInt8 = 0
    attributes =
      clinux_fsetxattr(file.raw, "user.batchproc.probe", &byte, 1) == 0 ? .yes : .no
    // Every file system with access control lists accepts one that has only owner, group and others.
    var list: [UInt8] = [2, 0, 0, 0]
    for (tag, rights) in [(0x01, 6), (0x04, 0), (0x20, 0)] as [(UInt8, UInt8)] {
      list += [tag, 0, rights, 0, 0xff, 0xff, 0xff, 0xff]
    }
    accessLists =
      clinux_fsetxattr(file.raw, "system.posix_acl_access", list, list.count) == 0 ? .yes : .no
    guard let copy = Self.make(in: directory, isUnnamed: &unnamed) else { return }
    clones = write(file.raw, list, 1) == 1 && clinux_clone(copy.raw, file.raw) == 0 ? .yes : .no
  }

  /// Creates a file without a name, or one whose name is removed at once.
  private static func make(in directory: Int32, isUnnamed: inout DeviceFacts.Ability) -> Descriptor? {
    let unnamed = clinux_openat(directory, ".", O_RDWR | clinux_o_tmpfile | O_CLOEXEC, 0o600)
    if unnamed >= 0 {
      isUnnamed = .yes
      return Descriptor(owning: unnamed)
    }
    let name = PathBytes(TemporaryName().bytes)
    let named = name.withCString {
      let made = clinux_openat(directory, $0, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
      if made >= 0 { unlinkat(directory, $0, 0) }
      return made
    }
    guard named >= 0 else { return nil }
    isUnnamed = .no
    return Descriptor(owning: named)
  }
}
