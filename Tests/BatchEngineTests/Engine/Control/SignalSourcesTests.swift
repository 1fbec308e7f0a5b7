import Dispatch
import Glibc
import Synchronization
import Testing

@testable import BatchEngine

/// Each test uses a different signal, since all threads of the test process receive it.
@Suite(.serialized, .timeLimit(.minutes(3))) struct SignalSourcesTests {
  @Test func reportsASignalThatWouldHaveEndedTheProcess() {
    // The parent of the test process may have ignored it.
    signal(SIGUSR2, SIG_DFL)
    let arrived = DispatchSemaphore(value: 0)
    let number = Mutex<Int32>(0)
    let sources = SignalSources([SIGUSR2]) { signal in
      number.withLock { $0 = signal }
      arrived.signal()
    }
    withExtendedLifetime(sources) {
      kill(getpid(), SIGUSR2)
      arrived.wait()
    }
    #expect(number.withLock { $0 } == SIGUSR2)
  }

  @Test func ignoresASignalThatWasIgnoredBefore() {
    signal(SIGURG, SIG_DFL)
    signal(SIGWINCH, SIG_IGN)
    defer { signal(SIGWINCH, SIG_DFL) }
    let calls = Mutex(0)
    let arrived = DispatchSemaphore(value: 0)
    let sources = SignalSources([SIGWINCH, SIGURG]) { signal in
      calls.withLock { $0 += 1 }
      if signal == SIGURG { arrived.signal() }
    }
    withExtendedLifetime(sources) {
      kill(getpid(), SIGWINCH)
      kill(getpid(), SIGURG)
      arrived.wait()
    }
    #expect(calls.withLock { $0 } == 1)
  }
}
