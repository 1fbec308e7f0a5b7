/// One error: what was done, to which path, what the system reported, and the remedy.
public struct BatchError: Error, Sendable, Hashable {
  /// The class of an error; policies and exit codes go by it.
  public enum Code: String, Sendable, Hashable, CaseIterable {
    /// The path was there when the tree was read and is gone now.
    case vanished
    /// The file changed while it was read.
    case changed
    /// Permission was refused, or the device failed to read.
    case unreadable
    /// A path that was named does not exist.
    case missing
    /// Not a regular file: FIFO, socket, device, symbolic link.
    case special
    /// An output could not be written or finished.
    case unwritable
    /// The input does not have the form it should have.
    case malformed
    /// The input has a form that this program does not read: encrypted, or made by a method it does not know.
    case unsupported
    /// The reader of our output has gone.
    case closedOutput
    /// The run was cancelled before this was done.
    case cancelled
    /// Another run holds the lock.
    case locked
    /// A limit of the machine: descriptors, memory, threads.
    case exhausted
    /// The caller asked for something impossible.
    case invalid
    /// What the caller asked for can mean several things.
    case ambiguous
  }

  public let code: Code
  /// What could not be done, for people: "cannot open", "cannot read".
  public let message: String
  public let path: PathBytes?
  /// The system's error number, 0 when it came from no system call.
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

  /// The same error with a path, which the code that threw it did not know.
  public func at(_ path: PathBytes) -> BatchError {
    BatchError(code, message, path: path, errno: errno, remedy: remedy)
  }

  /// The same error in another class.
  public func recoded(_ code: Code) -> BatchError {
    BatchError(code, message, path: path, errno: errno, remedy: remedy)
  }
}
