import CLinux
import Glibc

/// The result of `stat(2)`, in types that do not depend on the platform.
public struct FileStatus: Sendable, Hashable {
  /// The kind of a file system object.
  public enum Kind: UInt8, Sendable {
    case regular, directory, symbolicLink, fifo, socket, characterDevice, blockDevice, unknown

    /// The kind in the bits of a mode.
    package init(mode: UInt32) {
      self =
        switch mode & S_IFMT {
        case S_IFREG: .regular
        case S_IFDIR: .directory
        case S_IFLNK: .symbolicLink
        case S_IFIFO: .fifo
        case S_IFSOCK: .socket
        case S_IFCHR: .characterDevice
        case S_IFBLK: .blockDevice
        default: .unknown
        }
    }

    /// These bits; 0 for ``unknown``.
    package var mode: UInt32 {
      switch self {
      case .regular: S_IFREG
      case .directory: S_IFDIR
      case .symbolicLink: S_IFLNK
      case .fifo: S_IFIFO
      case .socket: S_IFSOCK
      case .characterDevice: S_IFCHR
      case .blockDevice: S_IFBLK
      case .unknown: 0
      }
    }
  }

  /// A time as the file system stores it; seconds may be negative.
  public struct Time: Sendable, Hashable, Comparable {
    public let seconds: Int64
    /// 0 to 999,999,999.
    public let nanoseconds: Int32

    public init(seconds: Int64, nanoseconds: Int32) {
      self.seconds = seconds
      self.nanoseconds = nanoseconds
    }

    public static func < (left: Time, right: Time) -> Bool {
      (left.seconds, left.nanoseconds) < (right.seconds, right.nanoseconds)
    }

    /// The current time of the machine's clock.
    package static var now: Time {
      var time = timespec()
      clock_gettime(CLOCK_REALTIME, &time)
      return Time(seconds: Int64(time.tv_sec), nanoseconds: Int32(truncatingIfNeeded: time.tv_nsec))
    }
  }

  public package(set) var identity: FileIdentity
  public let mode: UInt32
  public let linkCount: UInt64
  public let owner: UInt32
  public let group: UInt32
  /// In bytes; 0 or too large for the files of /proc and /sys.
  public let size: Int64
  public let modified: Time
  /// When content, owner, mode, names or attributes last changed.
  public let statusChanged: Time
  /// Bytes that the file takes on its device; fewer than ``size`` if it has holes or is compressed.
  public let allocated: Int64
  /// The number of the device that a character or block device stands for.
  public let device: UInt64

  public init(_ raw: stat) {
    identity = FileIdentity(device: UInt64(raw.st_dev), inode: UInt64(raw.st_ino))
    mode = raw.st_mode
    linkCount = UInt64(raw.st_nlink)
    owner = raw.st_uid
    group = raw.st_gid
    size = Int64(raw.st_size)
    modified = Time(
      seconds: Int64(raw.st_mtim.tv_sec), nanoseconds: Int32(truncatingIfNeeded: raw.st_mtim.tv_nsec))
    statusChanged = Time(
      seconds: Int64(raw.st_ctim.tv_sec), nanoseconds: Int32(truncatingIfNeeded: raw.st_ctim.tv_nsec))
    // A FUSE file system may report any number.
    let (bytes, isTooMany) = Int64(raw.st_blocks).multipliedReportingOverflow(by: 512)
    allocated = isTooMany ? .max : bytes
    device = UInt64(raw.st_rdev)
  }

  /// A status that was recorded earlier.
  package init(
    identity: FileIdentity, mode: UInt32, linkCount: UInt64, owner: UInt32, group: UInt32, size: Int64,
    modified: Time, statusChanged: Time, allocated: Int64, device: UInt64
  ) {
    self.identity = identity
    self.mode = mode
    self.linkCount = linkCount
    self.owner = owner
    self.group = group
    self.size = size
    self.modified = modified
    self.statusChanged = statusChanged
    self.allocated = allocated
    self.device = device
  }

  public var kind: Kind { Kind(mode: mode) }

  /// Whether the file belongs to the user of this process.
  package var isOwn: Bool { owner == geteuid() }

  /// Whether the file still has the same content: same inode, size and mtime.
  ///
  /// The change time is left out on purpose: link, unlink and chmod change it without changing the content.
  package func hasSameContent(as other: FileStatus) -> Bool {
    identity == other.identity && size == other.size && modified == other.modified && kind == other.kind
  }

  /// Whether the content is the same as in a status from another machine, where the device number differs.
  package func hasSameContentElsewhere(as other: FileStatus) -> Bool {
    identity.inode == other.identity.inode && size == other.size && modified == other.modified
      && kind == other.kind
  }
}

extension FileStatus.Kind {
  /// Without an article: "FIFO".
  public var noun: String {
    switch self {
    case .regular: "regular file"
    case .directory: "directory"
    case .symbolicLink: "symbolic link"
    case .fifo: "FIFO"
    case .socket: "socket"
    case .characterDevice: "character device"
    case .blockDevice: "block device"
    case .unknown: "unknown object"
    }
  }

  /// For messages: "a FIFO".
  public var text: String {
    self == .unknown ? "an object of unknown kind" : "a \(noun)"
  }

  /// The kind in a directory entry; nil when the file system does not report it.
  package init?(entryType: UInt8) {
    switch Int32(entryType) {
    case Int32(DT_REG): self = .regular
    case Int32(DT_DIR): self = .directory
    case Int32(DT_LNK): self = .symbolicLink
    case Int32(DT_FIFO): self = .fifo
    case Int32(DT_SOCK): self = .socket
    case Int32(DT_CHR): self = .characterDevice
    case Int32(DT_BLK): self = .blockDevice
    default: return nil
    }
  }
}
