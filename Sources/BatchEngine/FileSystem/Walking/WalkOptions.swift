/// What a walk takes from a tree.
public struct WalkOptions: Sendable {
  /// Follows symbolic links below the operands; a link back to a folder on the way is reported once.
  public var followsLinks = false
  /// Stays on the file system of each operand.
  public var staysOnFileSystem = false
  /// Leaves out regular files smaller than this many bytes.
  public var minimumSize: Int64?
  /// Leaves out regular files larger than this many bytes.
  public var maximumSize: Int64?
  /// Leaves out regular files by their time of modification.
  public var age = AgeRange()
  /// Folders that exceed these limits are reported and not entered; the same holds for folders of paths in a list.
  public var limits = PathLimits()
  /// Which names to take; nil for all.
  public var filter: PathFilter?
  /// Applies the `.gitignore` files below each operand, and leaves out `.git`.
  public var readsIgnoreFiles = false
  /// In a folder that is tagged as a cache (CACHEDIR.TAG), takes only the tag.
  public var skipsCaches = false
  /// Files that are never taken, and folders below the operands that are not entered: the outputs of the run itself.
  public var excluded: Set<FileIdentity> = []
  /// Leaves out temporary files of runs that write outputs.
  public var skipsTemporaries = false
  /// Yields all entries of a tree: folders before their contents, symbolic links, FIFOs and devices. Sockets are still reported
  /// as special. An operand that is a symbolic link is yielded as a link, unless ``followsOperands`` is set.
  public var takesEverything = false
  /// Follows an operand that is a symbolic link, even if everything is taken. Links below the operands are not followed.
  public var followsOperands = false
  /// How many folders may be read ahead at once; 0 reads each one when it is needed, nil follows the concurrency of the run.
  public var readAhead: Int?
  /// Folders that are read in less than this time, divided by the number of operations, are not passed to another thread: that
  /// would cost more time than it saves.
  public var readAheadThreshold = Duration.zero

  private static let mostReadAhead = 32
  /// If the walk has to wait for a folder, all lanes may have to wait. The more lanes there are, the faster the folders for
  /// which reading ahead is still worth its cost.
  package static let usualReadAheadThreshold = Duration.microseconds(200)

  public init() {}

  /// How many folders are read ahead at once for a number of operations.
  package static func readAhead(concurrency: Int) -> Int { min(mostReadAhead, max(2, concurrency)) }

  /// Whether objects of this kind are yielded, except folders.
  package func yields(_ kind: FileStatus.Kind) -> Bool {
    switch kind {
    case .regular: true
    case .symbolicLink, .fifo, .characterDevice, .blockDevice: takesEverything
    case .directory, .socket, .unknown: false
    }
  }

  /// Whether a file is within the bounds and not an output of the run.
  package func takes(_ file: FileStatus) -> Bool {
    file.size >= minimumSize ?? .min && file.size <= maximumSize ?? .max && age.contains(file.modified)
      && !excluded.contains(file.identity)
  }
}
