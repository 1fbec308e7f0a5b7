import BatchCore
import func Glibc.localtime_r
import struct Glibc.tm
import typealias Glibc.time_t

/// A moment as shown in rows: `2024-02-29 13:05`, in the zone of the process.
struct CalendarTime {
  let text: String

  /// - Parameters:
  ///   - seconds: since 1970; a time that cannot be converted is shown as a number.
  ///   - hasSeconds: whether the seconds are shown too.
  init(_ seconds: Int64, hasSeconds: Bool = false) {
    var parts = tm()
    var moment = time_t(seconds)
    guard localtime_r(&moment, &parts) != nil else {
      text = "@\(seconds)"
      return
    }
    text = parts.text(hasSeconds ? "%Y-%m-%d %H:%M:%S" : "%Y-%m-%d %H:%M")
  }
}
