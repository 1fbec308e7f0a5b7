/// What the reader of an error can do about it. A program words it in the terms of its own options.
public enum Remedy: Sendable, Hashable, ExpressibleByStringInterpolation {
  /// In words that need no option of a program: "raise `ulimit -n`".
  case advice(String)
  /// Fewer operations at once.
  case lowerConcurrency
  /// Fewer operations at once, or less memory for buffers.
  case lowerConcurrencyOrMemory
  /// More descriptors for the process, or a smaller budget of them.
  case raiseOrLowerDescriptors
  /// More descriptors for the process, or a larger budget of them.
  case raiseDescriptors
  /// More memory for buffers and indexes.
  case raiseMemory
  /// A higher limit for what is decoded.
  case raiseOutputLimit
  /// A higher limit for how much content may grow as it is decoded.
  case raiseRatioLimit
  /// A higher limit for the holes of a file.
  case allowHoles
  /// More levels of folders in one another.
  case raiseLevels
  /// Permission to replace an output that exists.
  case replaceOutput
  /// Permission to replace files that exist by members.
  case overwriteFiles
  /// To extract the undamaged members too, also those behind the damage.
  case keepGoing
  /// To compare with another folder.
  case compareWith(PathBytes)
  /// Permission to make devices.
  case makeDevices
  /// Permission to restore privileges.
  case restorePrivileges
  /// Permission to make links that lead outside.
  case allowUnsafeLinks
  /// The formats that are read only on demand.
  case readAllFormats
  /// Standard input in the place of a special file.
  case readStandardInput
  /// A list whose paths end in NUL.
  case readListWithNUL
  /// To wait for the holder of a lock.
  case waitForLock
  /// To say which of several sets of snapshots is meant.
  case chooseSet
  /// To mount a source, or to say that it may be empty.
  case mountOrAllowEmpty
  /// To mount the disk of the target, or to say that a set begins there.
  case mountOrInitialize
  /// To leave out the option that says that a set begins.
  case continueSet
  /// To write to a local directory, and to copy that to another machine.
  case copyElsewhere
  /// An identity that opens an encrypted file.
  case giveIdentity
  /// The passphrase of an encrypted file.
  case givePassphrase

  public init(stringLiteral value: String) {
    self = .advice(value)
  }
}
