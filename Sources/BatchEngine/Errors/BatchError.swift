/// One error: what was done, to which path, what the system reported, and the remedy.
public struct BatchError: Error, Sendable, Hashable {
  /// The class of an error, which determines policy and exit code.
  public enum Code: String, Sendable, Hashable, CaseIterable {
    /// The path existed when its folder was listed, and does not exist any more.
    case vanished
    /// The file changed while it was read.
    case changed
    /// Permission was refused, or the device failed to read.
    case unreadable
    /// A path that the user named does not exist.
    case missing
    /// Not a regular file: FIFO, socket, device, symbolic link.
    case special
    /// An output could not be written or finished.
    case unwritable
    /// The input is not valid in its format.
    case malformed
    /// The input has a format that this program does not read: encrypted, or compressed by an unknown method.
    case unsupported
    /// The reader of the output has closed it.
    case closedOutput
    /// The run was cancelled before this was done.
    case cancelled
    /// Another run holds the lock.
    case locked
    /// A limit of the machine: descriptors, memory, threads.
    case exhausted
    /// The caller asked for something impossible.
    case invalid
    /// The request of the caller is ambiguous.
    case ambiguous
    /// Another user could have written what controls the run.
    case untrusted
    /// The request is not carried out, since it could remove what is still needed.
    case refused
  }

  public let code: Code
  /// What could not be done, as shown to users: "cannot open", "cannot read".
  public let message: String
  public let path: PathBytes?
  /// The system's error number, 0 if no system call caused the error.
  public let errno: Int32
  /// What the user can do about it, if known.
  public let remedy: Remedy?

  public init(
    _ code: Code, _ message: String, path: PathBytes? = nil, errno: Int32 = 0, remedy: Remedy? = nil
  ) {
    self.code = code
    self.message = message
    self.path = path
    self.errno = errno
    self.remedy = remedy
  }

  /// The same error with a path that the throwing code did not know.
  public func at(_ path: PathBytes) -> BatchError {
    BatchError(code, message, path: path, errno: errno, remedy: remedy)
  }

  /// The same error in another class.
  public func recoded(_ code: Code) -> BatchError {
    BatchError(code, message, path: path, errno: errno, remedy: remedy)
  }
}
