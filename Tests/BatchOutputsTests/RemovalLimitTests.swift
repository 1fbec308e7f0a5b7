import TestSupport
import Testing

@testable import BatchEngine
@testable import BatchOutputs

@Suite("How many files may be removed from a target") struct RemovalLimitTests {
  private typealias Census = RemovalLimit.Census

  private func refusal(_ limit: RemovalLimit, _ censuses: [Census]) -> BatchError? {
    let numbered = censuses.enumerated().map { (path: PathBytes("t/\($0.offset)"), census: $0.element) }
    do throws(BatchError) {
      try limit.check(numbered, in: "t")
      return nil
    } catch {
      return error
    }
  }

  @Test("half of the files below each source is allowed, and the first source with more is named")
  func half() throws {
    let limit = RemovalLimit()
    #expect(refusal(limit, []) == nil)
    #expect(refusal(limit, [Census(files: 4, doomed: 2), Census(files: 0, doomed: 0)]) == nil)
    let error = try #require(
      refusal(
        limit, [Census(files: 9, doomed: 1), Census(files: 3, doomed: 2), Census(files: 1, doomed: 1)]))
    #expect(error.code == .invalid && error.path == "t/1" && error.remedy == .removeUpTo(4))
    #expect(error.message == "nothing was removed: 2 of 3 files would be, more than half")
  }

  @Test("a number counts the files below all sources, in place of the half")
  func number() throws {
    let all = [Census(files: 2, doomed: 2), Census(files: 9, doomed: 1)]
    #expect(refusal(RemovalLimit(mostFiles: 3), all) == nil)
    let error = try #require(refusal(RemovalLimit(mostFiles: 2), all))
    #expect(error.code == .invalid && error.path == "t" && error.remedy == .removeUpTo(3))
    #expect(error.message == "nothing was removed: 3 files would be, more than 2")
    #expect(refusal(RemovalLimit(mostFiles: -1), [Census(files: 9)]) == nil)
    #expect(
      refusal(RemovalLimit(mostFiles: -1), [Census(files: 9, doomed: 1)])?.message.hasSuffix("than 0") == true
    )
  }
}
