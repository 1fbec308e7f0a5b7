import Glibc
import Testing

@testable import BatchEngine

@Suite(.serialized) struct DescriptorLimitTests {
  @Test(
    "files get half of the limit, or less when the reserve needs more",
    arguments: [
      (16, 2), (17, 3), (24, 10), (28, 14), (29, 14), (64, 32), (1_024, 512),
      (.max, .max),
    ] as [(UInt64, Int)])
  func budget(soft: UInt64, expected: Int) throws {
    #expect(try DescriptorLimit(soft: soft, hard: .max).budget() == expected)
  }

  @Test("a limit that is too low is an error that says how to raise it", arguments: [0, 4, 15] as [UInt64])
  func tooFew(soft: UInt64) throws {
    let error = try #require(throws: BatchError.self) { try DescriptorLimit(soft: soft, hard: soft).budget() }
    #expect(error.code == .exhausted)
    #expect(error.message.contains("at least 16"))
    #expect(error.remedy == "raise `ulimit -n`")
  }

  @Test("the soft limit is raised to the hard one")
  func raise() throws {
    let before = DescriptorLimit.current()
    var lowered = rlimit(rlim_cur: rlim_t(before.hard) - 1, rlim_max: rlim_t(before.hard))
    try #require(setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &lowered) == 0)
    #expect(DescriptorLimit.current().soft == before.hard - 1)
    #expect(DescriptorLimit.raise() == DescriptorLimit(soft: before.hard, hard: before.hard))
    #expect(DescriptorLimit.current().soft == before.hard)
  }
}
