import BatchCore
import BatchEngine
import Foundation
import TestSupport
import Testing

/// `scripts/fault-campaign.sh` with a few of its quick rows; the whole campaign takes too long for each test
/// run.
@Suite(.timeLimit(.minutes(3))) struct FaultCampaignTests {
  private let t: TreeFixture
  private static let scripts = Repository.root.appendingPathComponent("scripts").path

  init() throws { t = try TreeFixture() }

  private func campaign(_ binary: String, _ rows: String = "N01 N19 F06 F27 R25 R26 P13 P14") throws
    -> Outcome
  {
    try t.shell("TMPDIR=$PWD bash '\(Self.scripts)/fault-campaign.sh' \(binary) \(rows)")
  }

  @Test("the chosen rows pass with one line each, and leave no file behind")
  func passes() throws {
    let run = try campaign("$BP")
    #expect(run.status == 0, "\(run.text)\(run.errorText)")
    let verdicts = run.text.split(separator: "\n").map { $0.split(separator: "\t") }
    #expect(verdicts.count == 8 && verdicts.allSatisfy { $0.count == 4 && $0[2] == "pass" }, "\(run.text)")
    #expect(run.errorText.hasSuffix("8 passed, 0 failed, 0 skipped\n"), "\(run.errorText)")
    #expect(t.names() == [])
  }

  @Test("each row fails for a program that does nothing", arguments: ["/bin/true", "/bin/false"])
  func fails(binary: String) throws {
    let run = try campaign(binary)
    #expect(run.status == 1)
    #expect(run.text.split(separator: "\n").count { $0.contains("\tfail\t") } == 8, "\(run.text)")
    #expect(t.names() == [])
  }

  @Test("each row has a unique identifier, and an expectation or a reason to be skipped")
  func rows() throws {
    let text = try String(contentsOfFile: Self.scripts + "/faults.tsv", encoding: .utf8)
    let rows = text.split(separator: "\n").filter { !$0.hasPrefix("#") }.dropFirst()
      .map { $0.split(separator: "\t", omittingEmptySubsequences: false) }
    #expect(rows.count > 90)
    #expect(Set(rows.map { $0[0] }).count == rows.count)
    for row in rows {
      #expect(row.count == 6, "\(row)")
      let isSkipped = row[3].contains("skip=")
      #expect(row[4].isEmpty == isSkipped && row[5].isEmpty == isSkipped, "\(row)")
    }
  }
}
