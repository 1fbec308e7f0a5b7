/// Elements that leave in the order in which they came.
///
/// An element that left is released at once, even if the line never becomes empty: an operation keeps its chunk in memory.
struct WaitingLine<Element> {
  /// From this size on, the memory of the elements that left is freed when it is half of all.
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
