import BatchCore
import BatchEngine

/// The value of an option after its syntax was checked.
enum OptionValue: Sendable, Hashable {
  case flag(Bool)
  /// nil stands for `auto`.
  case count(Int?)
  /// In bytes.
  case size(Int64)
  /// A time of the day, in minutes since midnight.
  case clock(Int)
  case percent(Double)
  case load(LoadLimit)
  /// In seconds since 1970.
  case time(Int64)
  /// In seconds.
  case duration(Int64)
  /// `yesterday`, or an age with months or years: what the calendar decides when the run begins.
  case age(WrittenTime)
  case span(Retention.Span)
  case choice(String)
  /// A path or a pattern, as given.
  case bytes(PathBytes)
  case policy(Problem.Event, EventPolicy.Action)
}

extension OptionValue {
  /// The value as written on a command line.
  var argument: PathBytes {
    switch self {
    case .flag(let state): PathBytes(String(state))
    case .count(let count): PathBytes(count.map(String.init) ?? "auto")
    case .size(let size): PathBytes(String(size))
    case .clock(let minutes): PathBytes(Self.text(ofClock: minutes))
    case .percent(let number): PathBytes("\(number)%")
    case .load(.average(let number)): PathBytes("\(number)")
    case .load(.pressure(let number)): PathBytes("pressure:\(number)")
    case .time(let seconds): PathBytes("@\(seconds)")
    case .duration(let seconds): PathBytes(Self.text(ofDuration: seconds))
    case .age(.day(before: 0)): "today"
    case .age(.ago(let span, let seconds)):
      PathBytes(Self.text(of: span, month: "month") + (seconds > 0 ? "\(seconds)s" : ""))
    // Other times are moments.
    case .age: "yesterday"
    case .span(let span): PathBytes(Self.text(of: span, month: "m"))
    case .choice(let word): PathBytes(word)
    case .bytes(let bytes): bytes
    case .policy(let event, let action): PathBytes("\(event.rawValue)=\(action.word)")
    }
  }

  /// `2:15`
  static func text(ofClock minutes: Int) -> String {
    let minute = minutes % 60
    return "\(minutes / 60):\(minute < 10 ? "0" : "")\(minute)"
  }

  private static func text(of span: Retention.Span, month: String) -> String {
    [(span.years, "y"), (span.months, month), (span.days, "d"), (span.hours, "h")]
      .filter { $0.0 > 0 }.map { "\($0.0)\($0.1)" }.joined()
  }

  /// The text in the largest unit that gives a whole number.
  private static func text(ofDuration seconds: Int64) -> String {
    let units: [(Int64, String)] = [(86_400, "d"), (3600, "h"), (60, "m")]
    guard seconds > 0, let unit = units.first(where: { seconds % $0.0 == 0 }) else { return "\(seconds)s" }
    return "\(seconds / unit.0)\(unit.1)"
  }
}
