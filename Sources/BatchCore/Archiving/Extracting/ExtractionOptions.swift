import BatchEngine

/// How an archive is extracted.
package struct ExtractionOptions: Sendable {
  /// How an existing file is treated.
  package enum Overwriting: String, Sendable, CaseIterable {
    /// The file stays, and the member counts as failed.
    case never
    /// A member with a later time replaces the file.
    case newer
    case always
  }

  package var overwriting = Overwriting.never
  /// Whether an existing file that equals its member counts as up to date: compared by digest if that is known, otherwise by
  /// size and time.
  package var acceptsEqual = false
  /// Whether files are given to the owners that the archive names.
  package var restoresOwner = false
  /// Whether owners are set by number, even if their names are known.
  package var usesNumericOwner = false
  package var restoresAttributes = true
  /// Whether files get setuid, setgid and sticky bits, capabilities, and attributes that have a meaning for the system.
  package var restoresPrivileges = false
  package var makesDevices = false
  /// Whether symbolic links that are absolute or lead out of the target folder are refused. The extraction never writes through
  /// a link; this option protects programs that follow the links later.
  package var refusesUnsafeLinks = false
  package var limits = ArchiveLimits()
  /// Members in folders that exceed these limits are not created; the first such folder of a member's path is reported once.
  package var pathLimits = PathLimits()
  /// The memory for the index of the archive, in bytes.
  package var memory = BatchOptions().memory
  /// Whether members after a damaged place are searched.
  package var keepsGoing = false
  /// Whether nothing is created: everything is read, decided, counted and reported as if the members were created.
  package var isDryRun = false
  /// Whether all files are synced before the run ends.
  package var isSynced = true

  package init() {}
}
