import Testing

@testable import batchproc

@Suite("The sample of tune") struct TuneSampleTests {
  @Test("grows until a run takes half of the wanted time", arguments: [0.001, 0.02, 0.4, 30])
  func grows(secondsOfTree: Double) throws {
    let wanted = 0.2
    var share = 0.001
    var steps = 0
    while let larger = TuneSample.largerShare(than: share, taken: share * secondsOfTree, wanted: wanted) {
      try #require(larger > share)
      share = larger
      steps += 1
      if share >= 1 || steps > 10 { break }
    }
    #expect(steps <= 4)
    #expect(share >= 1 || (wanted / 2...wanted * 1.1).contains(share * secondsOfTree), "\(share)")
  }

  @Test("stays when a run is long enough, whatever the clock says") func stays() {
    #expect(TuneSample.largerShare(than: 0.5, taken: 0.1, wanted: 0.2) == nil)
    #expect(TuneSample.largerShare(than: 0.5, taken: 9, wanted: 0.2) == nil)
    #expect(TuneSample.largerShare(than: 0.5, taken: 0, wanted: 0.2) == 4)
  }
}
