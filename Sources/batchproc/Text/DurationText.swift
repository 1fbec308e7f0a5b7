enum DurationText {
  /// `0.31 s`, `12.3 s`, `1m03s`, `2h05m`, `3d04h`; `?` for anything but a number.
  static func text(seconds: Double) -> String {
    guard seconds.isFinite, seconds < 1e12 else { return "?" }
    let seconds = max(0, seconds)
    let hundredths = Int((seconds * 100).rounded())
    let whole = Int(seconds.rounded())
    switch seconds {
    case ..<9.995: return "\(hundredths / 100).\(twoDigits(hundredths % 100)) s"
    case ..<59.95:
      let tenths = Int((seconds * 10).rounded())
      return "\(tenths / 10).\(tenths % 10) s"
    case _ where whole < 3600: return "\(whole / 60)m\(twoDigits(whole % 60))s"
    case _ where whole < 86_400: return "\(whole / 3600)h\(twoDigits(whole / 60 % 60))m"
    default: return "\(whole / 86_400)d\(twoDigits(whole / 3600 % 24))h"
    }
  }

  private static func twoDigits(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
}
