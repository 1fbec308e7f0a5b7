/// What the user can do about an error. A program translates it to its own options.
public enum Remedy: Sendable, Hashable, ExpressibleByStringInterpolation {
  /// Text that names no option of a program: "raise `ulimit -n`".
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
  /// A higher limit for the size of decoded content.
  case raiseOutputLimit
  /// A higher limit for the ratio of decoded to encoded size.
  case raiseRatioLimit
  /// A higher limit for the holes of a file.
  case allowHoles
  /// More levels of nested folders.
  case raiseLevels
  /// Permission to replace an output that exists.
  case replaceOutput
  /// Permission to write data to a terminal.
  case writeToTerminal
  /// Permission to replace an older output that may be the only copy of its content.
  case replaceUnmarked
  /// Permission for members to replace existing files.
  case overwriteFiles
  /// To extract the undamaged members too, including those after the damage.
  case keepGoing
  /// To restore the undamaged files too, including those after the damage.
  case restoreRest
  /// To name the folder in which the names in recovery data begin.
  case nameParityFolder
  /// To make new recovery data.
  case makeParity
  /// To compare with another folder.
  case compareWith(PathBytes)
  /// Permission to make devices.
  case makeDevices
  /// Permission to restore privileges.
  case restorePrivileges
  /// Permission to remove what the source does not have.
  case removeOthers
  /// Permission to remove up to so many files.
  case removeUpTo(Int)
  /// Permission to make links that lead outside.
  case allowUnsafeLinks
  /// The formats that are read only on request.
  case readAllFormats
  /// Standard input instead of a special file.
  case readStandardInput
  /// A list whose paths end in NUL.
  case readListWithNUL
  /// To wait for the holder of a lock.
  case waitForLock
  /// To say which of several sets of snapshots is meant.
  case chooseSet
  /// To make a full snapshot from time to time.
  case makeFullSnapshots
  /// To say which of several series of snapshots is meant.
  case chooseSeries
  /// To give an archive as a file in place of a stream, or a text as a name that is no glob.
  case giveFileOrName
  /// To mount a source, or to say that it may be empty.
  case mountOrAllowEmpty
  /// To remove old snapshots from a full disk, at once or before each backup.
  case pruneSet
  /// To remove more snapshots from a full disk than the rules of the run allow.
  case pruneSetFurther
  /// To remove archives without a manifest.
  case pruneUnlisted
  /// To mount the file system of a source, or to say that it may be on another one.
  case mountOrAllowOtherFileSystem
  /// To restore a file whose bytes have changed, or to accept them.
  case restoreOrAcceptRot
  /// To mount the disk of the target, or to say that a new set begins there.
  case mountOrInitialize
  /// To omit the option that begins a new set.
  case continueSet
  /// To write to a local directory, and to copy that directory to another machine.
  case copyElsewhere
  /// An identity that opens an encrypted file.
  case giveIdentity
  /// The passphrase of an encrypted file.
  case givePassphrase
  /// The key of an encrypted set, or permission to store something in it that is not encrypted.
  case encryptOrAllowPlain
  /// Permission to copy what is not encrypted.
  case allowPlain

  public init(stringLiteral value: String) {
    self = .advice(value)
  }
}
