/// Decides when a run without a terminal reports its progress: every 10 %, or after 60 s of silence.
struct ProgressPlain: Sendable {
  private static let stepsInAll = 10
  private static let silence = 60.0

  private var stepsTold = 0
  private var toldAt = 0.0
  private var shown = 0.0

  /// The line to print now, without its end; nil when it is not yet time.
  mutating func line(for state: ProgressState) -> String? {
    if let fraction = state.fraction { shown = max(shown, fraction) }
    // Only a finished run is at 100 %.
    let steps =
      state.isFinished ? Self.stepsInAll : min(Self.stepsInAll - 1, Int(shown * Double(Self.stepsInAll)))
    guard steps > stepsTold || state.elapsed - toldAt >= ProgressPlain.silence else { return nil }
    stepsTold = max(stepsTold, steps)
    toldAt = state.elapsed
    let known = state.fraction.map { _ in shown }
    let percent = known.map { "\(state.isFinished ? 100 : min(99, Int($0 * 100))) %: " } ?? ""
    return percent + state.parts(at: known).all.joined(separator: ", ")
  }
}
