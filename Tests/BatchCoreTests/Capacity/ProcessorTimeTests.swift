import CLinux
import Testing

@testable import BatchEngine

@Suite struct ProcessorTimeTests {
  @Test func aThreadThatAsksForItselfIsRunnable() {
    #expect(ProcessorTime.isRunnable(thread: clinux_thread()) == true)
    #expect(ProcessorTime.isRunnable(thread: .max) == nil)
    #expect(ProcessorTime.notBlocked(thread: .max) == nil)
  }

  @Test func whatAThreadComputesIsCounted() throws {
    let thread = clinux_thread()
    let before = try #require(ProcessorTime.notBlocked(thread: thread))
    let total = ProcessorTime.computed()
    while ProcessorTime.computed() < total + .milliseconds(20) {}
    #expect(try #require(ProcessorTime.notBlocked(thread: thread)) > before)
  }

  @Test func threadsThatWalkAreKnownWhileTheyDo() {
    let limit = ConcurrencyLimit(2)
    limit.walking { #expect(limit.walkingThreads == [clinux_thread()]) }
    #expect(limit.walkingThreads.isEmpty)
  }
}
