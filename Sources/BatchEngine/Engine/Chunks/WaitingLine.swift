/// A first-in, first-out queue.
///
/// A removed element is released at once, even if the queue never becomes empty: an operation keeps its chunk in memory.
struct WaitingLine<Element> {
  /// From this size on, the slots of removed elements are freed when they are half of all slots.
  private static var leastRoom: Int { 32 }

  private var elements: [Element?] = []
  private var first = 0

  var count: Int { elements.count - first }

  mutating func append(_ element: Element) { elements.append(element) }

  /// - Returns: nil when the queue is empty.
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
