import BatchEngine
import Testing

@testable import batchproc

@Suite("The message of an interrupted run") struct InterruptionTests {
  private func text(
    done: Int, skipped: Int = 0, failed: Int = 0, resumes: Bool, leaves: Bool, words: String? = nil
  ) -> String {
    var counts = Counters.Snapshot()
    counts.done = done
    counts.failed = failed
    counts.skipped = skipped
    counts.reasons = [.upToDate: skipped]
    return Session.interruption(
      RunSummary(
        counts: counts, stopped: BatchError(.cancelled, "stopped"), elapsed: .zero, leavesItems: leaves),
      done: words, resumes: resumes)
  }

  @Test("has all counts of the progress, and says what a further run would do")
  func counts() {
    #expect(text(done: 1, resumes: true, leaves: true) == "interrupted: 1 file done; run again to continue")
    let several = text(done: 62, skipped: 21, failed: 2, resumes: true, leaves: true)
    #expect(several.hasPrefix("interrupted: 62 files done, 21 "), "\(several)")
    #expect(several.hasSuffix(", 2 failed; run again to continue"), "\(several)")
  }

  @Test("does not mention a further run when no work is left or the run would begin again")
  func nothingLeft() {
    #expect(text(done: 7, resumes: true, leaves: false) == "interrupted: 7 files done")
    #expect(text(done: 7, resumes: false, leaves: true) == "interrupted: 7 files done")
    #expect(
      text(done: 9, resumes: false, leaves: true, words: "7 files, 2 folders")
        == "interrupted: 7 files, 2 folders done")
  }
}
