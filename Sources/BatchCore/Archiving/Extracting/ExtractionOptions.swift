import BatchEngine
import BatchOutputs

/// How an archive is extracted.
public struct ExtractionOptions: Sendable {
  /// Which existing files a member may replace. A member whose file is kept counts as failed.
  public var replacing = Replacing.never
  /// Whether an existing file that equals its member counts as up to date: compared by digest if that is known, otherwise by
  /// size and time.
  package var acceptsEqual = false
  /// Whether files get the owners in the archive; by default only if the process belongs to the superuser.
  public var restoresOwner = StandardStreams.isRoot
  /// Whether owners are set by number, even if their names are known.
  public var usesNumericOwner = false
  public var restoresAttributes = true
  /// Whether files get setuid, setgid and sticky bits, capabilities, and attributes that have a meaning for the system.
  public var restoresPrivileges = false
  public var makesDevices = false
  /// Whether symbolic links that are absolute or lead out of the target folder are refused. The extraction never writes through
  /// a link; this option protects programs that follow the links later.
  public var refusesUnsafeLinks = false
  public var limits = ArchiveLimits()
  /// Members in folders that exceed these limits are not created; the first such folder of a member's path is reported once.
  package var pathLimits = PathLimits()
  /// The memory for the index of the archive, in bytes.
  package var memory = BatchOptions().memory
  /// Whether new folders that no member describes stay accessible to their owner only; otherwise their mode follows the umask.
  package var keepsOtherFoldersPrivate = false
  /// Whether members after a damaged place are searched.
  public var keepsGoing = false
  /// Whether nothing is created: everything is read, decided, counted and reported as if the members were created.
  package var isDryRun = false
  /// Removes what does not belong into the target; nil removes nothing.
  var cleaner: (any TargetCleaner)?
  /// Whether all files are synced before the run ends.
  public var isSynced = true

  /// The mode of new folders that no member describes.
  var folderPermissions: UInt32 { keepsOtherFoldersPrivate ? 0o700 : AtomicFile.folderPermissions }

  /// All members; nothing that exists is replaced.
  public init() {}
}
