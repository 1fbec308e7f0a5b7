/// What a source or a reader yields next.
public enum Yielded<Item: Sendable, Row: Sendable>: Sendable {
  /// An item, which a worker processes.
  case item(Item)
  /// A result that needs no worker. It is collected at its place among the results of the workers.
  case row(Row)
  /// A path that cannot be processed. It is counted and reported at its place, as the policy of the run says.
  indirect case problem(Problem)
}
