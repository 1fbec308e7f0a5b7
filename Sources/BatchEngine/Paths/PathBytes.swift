/// A path as the kernel uses it: any bytes except NUL, with `/` between names.
///
/// A path is never converted to `String` for a system call, so names that are not UTF-8, and names that differ only in Unicode
/// normalization, are preserved.
public struct PathBytes: Hashable, Sendable, Comparable {
  /// The bytes, without a terminating NUL.
  public let bytes: [UInt8]

  public init(_ bytes: some Sequence<UInt8>) {
    self.bytes = Array(bytes)
  }

  /// The UTF-8 bytes of a text that was written in source code or typed by a user.
  public init(_ text: String) {
    self.bytes = Array(text.utf8)
  }

  public var isEmpty: Bool { bytes.isEmpty }

  public var isAbsolute: Bool { bytes.first == UInt8(ascii: "/") }

  /// The path as text when it is valid UTF-8.
  public var text: String? { String(validating: bytes, as: UTF8.self) }

  /// The part after the last `/`; trailing slashes are ignored. Empty for `/`.
  public var lastComponent: ArraySlice<UInt8> {
    let end = endWithoutTrailingSlashes
    let start = bytes[..<end].lastIndex(of: UInt8(ascii: "/")).map { $0 + 1 } ?? 0
    return bytes[start..<end]
  }

  /// The folder that holds the last component: `.` for a bare name, `/` for one below the root.
  public var parent: PathBytes {
    let end = endWithoutTrailingSlashes
    guard let slash = bytes[..<end].lastIndex(of: UInt8(ascii: "/")) else {
      return PathBytes(end == 0 && isAbsolute ? "/" : ".")
    }
    var stop = slash
    while stop > 0, bytes[stop - 1] == UInt8(ascii: "/") { stop -= 1 }
    return stop == 0 ? PathBytes("/") : PathBytes(bytes[..<stop])
  }

  /// The path of a name inside this folder; a trailing slash is not doubled.
  public func appending(_ name: some Collection<UInt8>) -> PathBytes {
    var joined = [UInt8]()
    joined.reserveCapacity(bytes.count + name.count + 1)
    joined += bytes
    if let last = joined.last, last != UInt8(ascii: "/") { joined.append(UInt8(ascii: "/")) }
    // For a collection of any kind, `+=` looks conformances up at run time.
    if name.withContiguousStorageIfAvailable({ joined += $0 }) == nil { joined += name }
    return PathBytes(joined)
  }

  /// Calls `body` with the NUL-terminated path.
  ///
  /// The kernel would cut a path at a NUL byte: callers that take paths from files must refuse such paths first
  /// (``containsNUL``).
  @inlinable
  public func withCString<Result, Failure: Error>(
    _ body: (UnsafePointer<CChar>) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    // On the stack if the path is short.
    let outcome: Swift.Result<Result, Failure> = withUnsafeTemporaryAllocation(
      of: CChar.self, capacity: bytes.count + 1
    ) { buffer in
      UnsafeMutableRawBufferPointer(buffer).copyBytes(from: bytes)
      buffer.initializeElement(at: bytes.count, to: 0)
      guard let base = buffer.baseAddress else { preconditionFailure("a buffer of one byte or more") }
      do throws(Failure) {
        return .success(try body(UnsafePointer(base)))
      } catch {
        return .failure(error)
      }
    }
    return try outcome.get()
  }

  public var containsNUL: Bool { bytes.contains(0) }

  public static func < (left: PathBytes, right: PathBytes) -> Bool {
    left.bytes.lexicographicallyPrecedes(right.bytes)
  }

  private var endWithoutTrailingSlashes: Int {
    var end = bytes.count
    while end > 0, bytes[end - 1] == UInt8(ascii: "/") { end -= 1 }
    return end
  }
}

extension ArraySlice<UInt8> {
  /// Whether a name is `.` or `..`.
  package var isDots: Bool { (1...2).contains(count) && allSatisfy { $0 == UInt8(ascii: ".") } }
}

extension PathBytes: CustomStringConvertible {
  /// For messages and logs only: bytes that are not UTF-8 appear as U+FFFD.
  public var description: String { String(decoding: bytes, as: UTF8.self) }
}

extension PathBytes: ExpressibleByStringLiteral {
  public init(stringLiteral value: String) { self.init(value) }
}
