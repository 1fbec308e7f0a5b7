import BatchCore
import BatchEngine

/// The value of an option after its syntax was checked.
enum OptionValue: Sendable, Hashable {
  case flag(Bool)
  /// nil stands for `auto`.
  case count(Int?)
  /// In bytes.
  case size(Int64)
  case decimal(Double)
  case load(LoadLimit)
  /// In seconds since 1970.
  case time(Int64)
  /// In seconds.
  case duration(Int64)
  case span(Retention.Span)
  case choice(String)
  /// A path or a pattern, as given.
  case bytes(PathBytes)
  case policy(Problem.Event, EventPolicy.Action)
}
