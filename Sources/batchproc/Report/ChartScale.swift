/// Round numbers along an axis that begins at 0.
struct ChartScale: Sendable, Equatable {
  /// What an axis counts.
  enum Unit: Sendable {
    case bytes
    case count
    case seconds
  }

  /// The distance between two marks.
  let step: Double
  let marks: Int
  /// The divisor of values for their labels.
  private let divisor: Double
  /// The suffix of labels: `MiB`; empty for a count.
  let suffix: String

  /// The value of the last mark.
  var top: Double { step * Double(marks) }

  /// - Parameters:
  ///   - most: the largest value; NaN counts as 0.
  ///   - isTight: whether the axis may end between two marks, as a time axis does.
  init(to most: Double, _ unit: Unit, isTight: Bool = false) {
    let most = most.isFinite && most > 0 ? most : 1
    switch unit {
    case .bytes:
      var (divisor, index) = (1.0, 0)
      let names = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]
      while most / divisor >= 1000, index < names.count - 1 {
        divisor *= 1024
        index += 1
      }
      self.divisor = divisor
      suffix = names[index]
    case .count:
      divisor = 1
      suffix = ""
    case .seconds:
      let size: (Double, String) =
        most < 0.5
        ? (0.001, "milliseconds")
        : most < 180
          ? (1, "seconds")
          : most < 10_800 ? (60, "minutes") : most < 259_200 ? (3600, "hours") : (86_400, "days")
      (divisor, suffix) = size
    }
    let least = unit == .count || (unit == .bytes && divisor == 1) ? 1.0 : 0
    step = max(least, Self.round(most / divisor / (isTight ? 5 : 4))) * divisor
    let count = most / step
    marks = max(1, Int(isTight ? count.rounded(.down) : count.rounded(.up)))
  }

  /// The label of a mark, without the suffix.
  func label(_ mark: Int) -> String {
    let part = step / divisor
    return Decimals.text(part * Double(mark), part >= 1 ? 0 : part >= 0.1 ? 1 : part >= 0.01 ? 2 : 3)
  }

  /// The next of 1, 2, 5, 10, 20, … not below a number.
  private static func round(_ number: Double) -> Double {
    var power = 1.0
    while power * 10 <= number { power *= 10 }
    while power > number, power > 1e-9 { power /= 10 }
    return [1, 2, 5].map { $0 * power }.first { $0 >= number * 0.999_999 } ?? power * 10
  }
}
