import CLinux
import Foundation
import Testing

@testable import BatchEngine

@Suite struct ProcessorTimeTests {
  /// The number of the calling thread; 0 when it cannot be read.
  private var thread: Int32 {
    let link = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/thread-self")
    return link?.split(separator: "/").last.flatMap { Int32($0) } ?? 0
  }

  @Test func theCallingThreadIsRunnable() {
    #expect(ProcessorTime.isRunnable(thread: thread) == true)
    #expect(ProcessorTime.isRunnable(thread: .max) == nil)
  }

  /// The threads that are in a noted call now, which may include threads of other tests.
  private var threadsInCalls: [Int32] {
    var threads = [Int32](repeating: 0, count: 512)
    let count = clinux_threads_in_calls(&threads, 512)
    return Array(threads.prefix(Int(count)))
  }

  @Test func aThreadIsListedOnlyDuringANotedCall() {
    let thread = thread
    noted { #expect(threadsInCalls.contains(thread)) }
    #expect(!threadsInCalls.contains(thread))
    clinux_note_calls(0)
    noted { #expect(!threadsInCalls.contains(thread)) }
    clinux_note_calls(1)
  }

  @Test func noMoreThreadsAreListedThanTheBufferHolds() {
    noted {
      var one: Int32 = 0
      #expect(clinux_threads_in_calls(&one, 1) >= 1)
      #expect(one != 0)
    }
  }
}
