import Testing

@testable import BatchCore
@testable import BatchEngine

@Suite("The limits of an archive")
struct ArchiveLimitsTests {
  private func refuses(_ limits: ArchiveLimits, plain: UInt64, compressed: UInt64) -> Bool {
    do throws(BatchError) {
      try limits.check(plain: plain, compressed: compressed)
      return false
    } catch {
      return error.code == .exhausted
    }
  }

  @Test("are none by default")
  func none() {
    #expect(!refuses(ArchiveLimits(), plain: .max, compressed: 0))
  }

  @Test("apply to the size of the content and to its ratio to the size of the archive")
  func bounds() {
    #expect(!refuses(ArchiveLimits(maximumOutput: 10), plain: 10, compressed: 1))
    #expect(refuses(ArchiveLimits(maximumOutput: 10), plain: 11, compressed: 100))
    #expect(!refuses(ArchiveLimits(maximumRatio: 10), plain: 1 << 20, compressed: 1))
    #expect(!refuses(ArchiveLimits(maximumRatio: 10), plain: 19 << 20, compressed: 2 << 20))
    #expect(refuses(ArchiveLimits(maximumRatio: 10), plain: 20 << 20, compressed: 2 << 20))
    #expect(refuses(ArchiveLimits(maximumRatio: 10), plain: .max, compressed: 0))
  }
}
