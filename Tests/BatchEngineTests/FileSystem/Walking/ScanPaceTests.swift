import Testing

@testable import BatchEngine

@Suite struct ScanPaceTests {
  @Test("the average begins at the given value and follows the noted times")
  func follows() {
    let pace = ScanPace(.microseconds(200))
    #expect(pace.recent == .microseconds(200))
    pace.note(.microseconds(40))
    #expect(pace.recent == .microseconds(180))
    for _ in 0..<60 { pace.note(.microseconds(40)) }
    #expect(pace.recent < .microseconds(42))
    for _ in 0..<4 { pace.note(.milliseconds(1)) }
    #expect(pace.recent > .microseconds(300))
  }

  @Test("times that no correct clock gives are limited")
  func bounds() {
    let pace = ScanPace(.zero)
    pace.note(.seconds(Int64.max))
    #expect(pace.recent <= .seconds(1))
    pace.note(.seconds(-5))
    #expect(pace.recent >= .zero)
  }
}
