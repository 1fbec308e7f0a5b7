import Glibc

extension BatchError {
  /// The error of a failed system call, with the class and the remedy that its number implies.
  ///
  /// - Parameters:
  ///   - action: what was tried, as shown to users: "open", "read", "rename".
  ///   - number: the value of `errno` right after the call.
  ///   - path: the path that the call was for.
  public static func syscall(_ action: String, errno number: Int32, path: PathBytes? = nil) -> BatchError {
    let (code, remedy) = classify(number, isOpen: action.hasPrefix("open"))
    return BatchError(code, "cannot \(action)", path: path, errno: number, remedy: remedy)
  }

  private static func classify(_ number: Int32, isOpen: Bool) -> (Code, Remedy?) {
    switch number {
    case ENOENT: (.missing, nil)
    case EMFILE: (.exhausted, .raiseOrLowerDescriptors)
    case ENFILE: (.exhausted, "the system has no file descriptors left; raise fs.file-max")
    // Files are opened without blocking, so the kernel does not wait for the holder of a lease.
    case EAGAIN where isOpen:
      (.unreadable, "another program holds a lease on it; run again when that has closed it")
    case ENOMEM, EAGAIN: (.exhausted, .lowerConcurrencyOrMemory)
    case ENOSPC: (.unwritable, "free some space and run again")
    case EDQUOT: (.unwritable, "the disk quota is used up")
    case EROFS: (.unwritable, "the file system is mounted read-only")
    case EFBIG: (.unwritable, "the file size limit is reached; see `ulimit -f`")
    case EPIPE: (.closedOutput, nil)
    case ENAMETOOLONG: (.invalid, nil)
    default: (.unreadable, nil)
    }
  }

  package var isNotFound: Bool { errno == ENOENT }

  /// Whether a file or a link was found instead of a folder, at the path or on the way to it.
  package var isNoFolder: Bool { [ENOTDIR, ELOOP, EXDEV].contains(errno) }

  package var isOfDevice: Bool { errno == EIO }

  /// The system's message for its error number, in the C locale.
  public var systemMessage: String? {
    guard errno != 0 else { return nil }
    return BatchError.systemMessage(for: errno)
  }

  package static func systemMessage(for number: Int32) -> String {
    var buffer = [CChar](repeating: 0, count: 256)
    // The XSI variant fills the buffer; the number is always known to glibc.
    guard strerror_r(number, &buffer, buffer.count) == 0 else { return "error \(number)" }
    let text = buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
    return String(decoding: text, as: UTF8.self)
  }
}
