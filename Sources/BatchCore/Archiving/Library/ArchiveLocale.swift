import BatchEngine
import func Glibc.newlocale
import func Glibc.uselocale
import var Glibc.LC_CTYPE
import var Glibc.LC_CTYPE_MASK

/// The character set in which libarchive sees names on one thread, whatever that of the process is.
///
/// In a UTF-8 locale libarchive brings the names of pax archives into normal form C, so that two members may
/// become one. In the C locale it leaves the bytes as they are, and complains. Formats whose names are UTF-16,
/// or marked as UTF-8, come out of it only in a UTF-8 locale.
enum ArchiveLocale {
  case bytes
  case unicode

  // Made once, never changed and never freed; any number of threads may use one. Its type is a bare pointer.
  private nonisolated(unsafe) static let c = newlocale(Int32(1) << LC_CTYPE, "C", nil)
  private nonisolated(unsafe) static let utf8 = newlocale(Int32(1) << LC_CTYPE, "C.UTF-8", nil)

  /// Runs `body` with it; the thread gets its own back.
  func use<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
    guard let locale = self == .bytes ? Self.c : Self.utf8 else { return try body() }
    let former = uselocale(locale)
    defer { uselocale(former) }
    return try body()
  }
}
