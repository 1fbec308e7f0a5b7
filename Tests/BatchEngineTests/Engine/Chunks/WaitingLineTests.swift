import Testing

@testable import BatchEngine

@Suite struct WaitingLineTests {
  @Test(arguments: [1, 31, 32, 33, 500]) func isInOrder(length: Int) {
    var line = WaitingLine<Int>()
    var left = [Int]()
    for number in 0..<length {
      line.append(number)
      // Two come for one that leaves.
      if number % 2 == 1, let next = line.removeFirst() { left.append(next) }
    }
    #expect(line.count == length - left.count)
    while let next = line.removeFirst() { left.append(next) }
    #expect(left == Array(0..<length))
    #expect(line.count == 0)
  }

  private final class Load {}

  @Test func letsGoOfWhatLeftWhileOthersWait() {
    var line = WaitingLine<Load>()
    weak var first: Load?
    do {
      let load = Load()
      first = load
      line.append(load)
    }
    line.append(Load())
    #expect(first != nil)
    do { _ = line.removeFirst() }
    #expect(first == nil)
    #expect(line.count == 1)
  }
}
