import BatchEngine
import Foundation
import TestSupport
import Testing

/// What `schedule` prints, beside the samples.
@Suite struct ScheduleTests {
  private let t: TreeFixture
  private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("samples/cron").path

  init() throws { t = try TreeFixture() }

  @Test("the samples are what is printed")
  func samples() throws {
    let run = try t.shell(
      """
      $BP schedule --cron --to /mnt/backups --name home /home | cmp - '\(Self.folder)/backup.cron'
      $BP schedule --systemd --to /mnt/backups --name home /home >units
      { cat '\(Self.folder)/backup.service'; echo; cat '\(Self.folder)/backup.timer'; } | cmp - units; sh -n '\(Self.folder)/offsite.sh'
      """)
    #expect(run.text == "" && run.errorText == "", "\(run.text)\(run.errorText)")
  }

  @Test("the line of cron runs as it stands, also where names need quotes")
  func quoted() throws {
    let run = try t.shell(
      """
      mkdir "it's 5%" 'to $x'; echo a >"it's 5%/f"
      $BP schedule --cron --to 'to $x' --name n "it's 5%" | grep ' backup ' | sed 's/^15 2 \\* \\* \\* root batchproc/"$BP"/; s/\\\\%/%/g' >line
      sh -c "$(cat line)"; echo $?; $BP snapshots 'to $x' | wc -l; $BP schedule --to a b; echo $?
      """)
    #expect(run.text == "0\n1\n64\n", "\(run.text)\(run.errorText)")
  }
}
