import Glibc

/// Tests that try many cases of one kind, chosen by a seeded generator.
package enum Campaign {
  /// Whether all cases are run (`make campaign`).
  package static let isFull = getenv("BATCHPROC_CAMPAIGN").map { String(cString: $0) } == "1"

  /// How many cases to run: all in a campaign, else a tenth.
  package static func cases(_ count: Int) -> Int { isFull ? count : max(1, count / 10) }

  /// The same for cases that run several programs each: all in a campaign, else a thirtieth.
  package static func costlyCases(_ count: Int) -> Int { isFull ? count : max(1, count / 30) }
}
