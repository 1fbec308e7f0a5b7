import BatchEngine
import func Glibc.newlocale
import func Glibc.uselocale
import var Glibc.LC_CTYPE
import var Glibc.LC_CTYPE_MASK

/// The character set that libarchive uses for names on one thread, regardless of the process's locale.
///
/// In a UTF-8 locale libarchive converts the names of pax archives to normal form C, so two members may get the same name. In
/// the C locale it keeps the bytes, with a warning. Names in UTF-16, or marked as UTF-8, can be read only in a UTF-8 locale.
enum ArchiveLocale {
  case bytes
  case unicode

  // Created once, never changed and never freed, so any number of threads may use it. Its type is a bare pointer.
  private nonisolated(unsafe) static let c = newlocale(Int32(1) << LC_CTYPE, "C", nil)
  private nonisolated(unsafe) static let utf8 = newlocale(Int32(1) << LC_CTYPE, "C.UTF-8", nil)

  /// Runs `body` with this locale, then restores the thread's locale.
  func use<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
    guard let locale = self == .bytes ? Self.c : Self.utf8 else { return try body() }
    let former = uselocale(locale)
    defer { uselocale(former) }
    return try body()
  }
}
