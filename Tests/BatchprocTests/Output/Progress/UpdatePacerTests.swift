import Testing

@testable import batchproc

@Suite struct UpdatePacerTests {
  @Test func allowsFiveUpdatesASecond() {
    var pacer = UpdatePacer()
    let admitted = (0..<200).filter { pacer.admits(at: Double($0) / 100) }
    #expect(admitted.count <= 10 && admitted.count >= 9)
    #expect(admitted.first == 0)
    #expect(zip(admitted, admitted.dropFirst()).allSatisfy { $1 - $0 >= 20 })
  }

  @Test("allows no update before the first one is due") func waits() {
    var pacer = UpdatePacer(first: 1)
    #expect([0, 0.5, 0.99, 1, 1.1, 1.3].filter { pacer.admits(at: $0) } == [1, 1.3])
  }
}
