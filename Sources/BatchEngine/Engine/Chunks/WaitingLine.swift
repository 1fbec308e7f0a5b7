/// Elements that leave in the order in which they came.
///
/// An element that left is released at once, also while others always wait: an operation keeps its chunk in memory, and a line that
/// never becomes empty would keep all of them.
struct WaitingLine<Element> {
  /// From here on the room of those that left is given up, when it is half of all.
  private static var leastRoom: Int { 32 }

  private var elements: [Element?] = []
  private var first = 0

  var count: Int { elements.count - first }

  mutating func append(_ element: Element) { elements.append(element) }

  /// - Returns: nil when none waits.
  mutating func removeFirst() -> Element? {
    guard first < elements.count else { return nil }
    let element = elements[first].take()
    first += 1
    if first >= Self.leastRoom, first * 2 >= elements.count {
      elements.removeFirst(first)
      first = 0
    }
    return element
  }
}
