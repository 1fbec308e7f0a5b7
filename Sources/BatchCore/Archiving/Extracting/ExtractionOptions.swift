import BatchEngine

/// How members become files.
package struct ExtractionOptions: Sendable {
  /// What is done about a file that is there already.
  package enum Overwriting: String, Sendable, CaseIterable {
    /// It stays, and the member counts as failed.
    case never
    /// It is replaced by a member with a later time.
    case newer
    case always
  }

  package var overwriting = Overwriting.never
  /// Whether a file that is there and is equal to its member counts as up to date: it has the content whose digest is
  /// known, or else the size and time.
  package var acceptsEqual = false
  /// Whether files are given to the owners that the archive names.
  package var restoresOwner = false
  /// Whether owners go by their numbers, also where their names are known.
  package var usesNumericOwner = false
  package var restoresAttributes = true
  /// Whether files get setuid, setgid and sticky bits, capabilities, and attributes that the system gives a
  /// meaning to.
  package var restoresPrivileges = false
  package var makesDevices = false
  /// Whether symbolic links that are absolute or lead out of the target folder are refused. Nothing is ever written
  /// through a link; this protects programs that follow the links later.
  package var refusesUnsafeLinks = false
  package var limits = ArchiveLimits()
  /// Members in folders that exceed these are not made; the first such folder on the way of a member is reported once.
  package var pathLimits = PathLimits()
  /// What the index of the archive may take, in bytes.
  package var memory = BatchOptions().memory
  /// Whether members behind a damaged place are looked for.
  package var keepsGoing = false
  /// Whether nothing is made: all is read, and the same is decided, counted and reported as if the members were made.
  package var isDryRun = false
  /// Whether all is brought to the disk before the run ends.
  package var isSynced = true

  package init() {}
}
