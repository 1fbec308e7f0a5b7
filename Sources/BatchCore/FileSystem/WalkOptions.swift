/// What a walk takes from a tree.
public struct WalkOptions: Sendable {
  /// Goes through symbolic links below the operands; a link back to a folder on the way is reported once.
  public var followsLinks = false
  /// Stays on the file system of each operand.
  public var staysOnFileSystem = false
  /// Leaves out regular files smaller than this many bytes.
  public var minimumSize: Int64?
  /// Leaves out regular files larger than this many bytes.
  public var maximumSize: Int64?
  /// How many folders may be read ahead at once; 0 reads each one when it is needed.
  public var readAhead = 4

  public init() {}
}
