import CLinux
import Glibc
import Synchronization
import TestSupport
import Testing

@testable import BatchEngine

@Suite(.serialized, .timeLimit(.minutes(3))) struct ChildRunnerTests {
  private let tree: TreeFixture

  init() throws {
    tree = try TreeFixture()
  }

  // MARK: How a child ends

  @Test(
    "reports the status or the signal, also on a kernel whose descriptors do not report it",
    arguments: [
      ("exit 0", .exit(0)), ("exit 3", .exit(3)), ("exit 127", .exit(127)), ("kill -9 $$", .signal(SIGKILL)),
      ("kill -TERM $$", .signal(SIGTERM)), ("exec >&- 2>&-; exit 4", .exit(4)),
    ] as [(String, ChildEnding.Status)], [true, false])
  func status(_ example: (script: String, expected: ChildEnding.Status), hasPidfd: Bool) async throws {
    let ending = try await TestChildren(hasPidfd: hasPidfd).ending(of: example.script)
    #expect(ending.status == example.expected)
    #expect(ending.wall > 0)
    #expect(!ending.leavesOpenOutput)
  }

  @Test func measuresTimesAndMemory() async throws {
    let children = try TestChildren()
    let busy = try await children.ending(
      of:
        #"i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done; head -c 800M /dev/zero | tail -n 1 >/dev/null"#)
    #expect(busy.user + busy.system > 0)
    #expect(busy.peakMemory > 700 << 20)
    // The shell uses less than this process, and the kernel reports only the larger number.
    #expect(try await children.ending(of: "exit").peakMemory == 0)
  }

  @Test func endsAChildAfterItsTimeLimit() async throws {
    var command = TestChildren.shell("sleep 1000")
    command.timeLimit = 0.01
    #expect(try await TestChildren().ending(of: command).status == .timeLimit)
  }

  @Test(
    "kills a child that ignores TERM, after its time limit and after the cancellation",
    arguments: [true, false])
  func ignoresTerm(isLimit: Bool) async throws {
    let cancel = Mutex<@Sendable () -> Void>({})
    let children = try TestChildren(grace: 0, isLive: true) { _ in cancel.withLock { $0 }() }
    var command = TestChildren.shell("trap '' TERM INT; echo ready >&2; while :; do sleep 1000; done")
    if isLimit {
      command.timeLimit = 0.1
    } else {
      cancel.withLock { [cancellation = children.cancellation] action in
        action = { cancellation.cancel(BatchError(.cancelled, "stopped")) }
      }
    }
    #expect(try await children.ending(of: command).status == (isLimit ? .timeLimit : .stopped))
  }

  @Test func aStoppedChildHasNotEnded() async throws {
    let children = try TestChildren(isLive: true) { line in
      let pid = Int32(String(decoding: line.dropLast(), as: UTF8.self)) ?? 0
      kill(pid, SIGSTOP)
      kill(pid, SIGCONT)
    }
    #expect(try await children.ending(of: "echo $$ >&2; exit 5").status == .exit(5))
  }

  @Test func failsAChildWhoseStatusOthersTook() async throws {
    let children = try TestChildren(isLive: true) { line in
      let pid = Int32(String(decoding: line.dropLast(), as: UTF8.self)) ?? 0
      kill(pid, SIGKILL)
      waitpid(pid, nil, 0)
    }
    await #expect(throws: BatchError.self) { try await children.ending(of: "echo $$ >&2; exec sleep 1000") }
  }

  // MARK: Processes that a child leaves

  @Test func closesThePipeThatAGrandchildHolds() async throws {
    let ending = try await TestChildren(linger: 0.01).ending(of: "sleep 1000 & echo $!")
    #expect(ending.status == .exit(0))
    #expect(ending.leavesOpenOutput)
    let pid = try #require(Int32(try ending.output.text.dropLast()))
    #expect(kill(pid, SIGKILL) == 0)
  }

  @Test func standardErrorAloneIsClosedSilently() async throws {
    let ending = try await TestChildren(linger: 0.01).ending(of: "sleep 1000 >/dev/null & echo $!")
    #expect(!ending.leavesOpenOutput)
    kill(try #require(Int32(try ending.output.text.dropLast())), SIGKILL)
  }

  @Test func othersGoOnWhileAGrandchildHoldsAPipe() async throws {
    let isHeld = Gate()
    let children = try TestChildren(1, isLive: true) { _ in isHeld.open() }
    async let held = children.ending(of: "sleep 1000 & echo $! >&2; echo whole")
    try await onThread { isHeld.pass() }
    let line = try #require(children.lines.values.first?.lines)
    let next = try await children.ending(of: "echo next")
    kill(try #require(Int32(String(decoding: line.dropLast(), as: UTF8.self))), SIGKILL)
    #expect(try next.output.text == "next\n")
    let ending = try await held
    #expect(!ending.leavesOpenOutput)
    #expect(try ending.output.text == "whole\n")
  }

  @Test func aGrandchildIsEndedWithAChildThatIsEnded() async throws {
    let cancel = Mutex<@Sendable () -> Void>({})
    let children = try TestChildren(isLive: true) { _ in cancel.withLock { $0 }() }
    cancel.withLock { [cancellation = children.cancellation] action in
      action = { cancellation.cancel(BatchError(.cancelled, "stopped")) }
    }
    // The grandchild ignores TERM, and would hold the pipe.
    let ending = try await children.ending(of: "(trap '' TERM; echo ready >&2; sleep 1000; sleep 1000)& wait")
    #expect(ending.status == .stopped)
    #expect(!ending.leavesOpenOutput)
  }

  @Test func theGuardianKillsAllGroupsWhenTheProcessIsGone() async throws {
    let guardian = Mutex<ChildGuardian?>(nil)
    let children = try TestChildren(isLive: true) { _ in
      // The end of this process closes the line.
      let null = open("/dev/null", O_RDONLY | O_CLOEXEC)
      guardian.withLock { if let line = $0?.line { dup2(null, line) } }
      close(null)
    }
    guardian.withLock { $0 = children.runner.site.guardian }
    let ending = try await children.ending(of: "sleep 1000 & echo ready >&2; wait")
    #expect(ending.status == .signal(SIGKILL))
    #expect(!ending.leavesOpenOutput)
  }

  @Test func aChildDiesWithTheThreadThatStartedIt() async throws {
    let reply = try await onThread {
      let null = open("/dev/null", O_RDWR | O_CLOEXEC)
      defer { close(null) }
      var pid: Int32 = 0
      let failed = withUnsafeBytes(of: (0 as UInt16)) { none in
        Array("sleep\u{0}1000\u{0}".utf8).withUnsafeBytes { words in
          PathBytes("/bin/sleep").withCString { program in
            var child = clinux_child(
              program: program, arguments: words.baseAddress, argument_count: 2, variables: none.baseAddress,
              input: null, output: null, errors: null, groups: nil, place: 0)
            return clinux_start_child(&child, &pid)
          }
        }
      }
      return (failed, pid)
    }
    try #require(reply.0 == 0)
    var ending = clinux_child_ending()
    #expect(clinux_reap_child(reply.1, &ending) == 0)
    #expect(ending.signal == SIGKILL)
  }

  // MARK: How many run

  @Test("so many run at once, and never more", arguments: [1, 2, 7, 32])
  func concurrency(most: Int) async throws {
    let total = 2 * most + 3
    let children = try TestChildren(most)
    let begun = try tree.file("begun", "")
    let target = begun.withCString { open($0, O_WRONLY | O_APPEND | O_CLOEXEC) }
    defer { close(target) }
    let release = try TestPipe()
    let ended = Atomic<Int>(0)
    @Sendable func size() -> Int {
      var status = stat()
      fstat(target, &status)
      return Int(status.st_size)
    }
    try await onThread {
      for _ in 0..<total {
        var command = TestChildren.shell("echo; read line")
        (command.input, command.output) = (release.reading, target)
        children.start(command) { _ in
          let over = ended.add(1, ordering: .relaxed).newValue
          #expect(size() <= over + most)
        }
      }
      #expect(eventually { size() == most })
      #expect(eventually { children.runner.running == most })
      for count in 1...total {
        release.write("\n")
        #expect(eventually { ended.load(ordering: .relaxed) == count })
      }
      #expect(size() == total)
    }
  }

  @Test func aSuspendedRunStartsNoChild() async throws {
    let children = try TestChildren(2)
    let release = try TestPipe()
    var first = TestChildren.shell("read line")
    first.input = release.reading
    let running = Atomic<Int>(-1)
    let (isOver, isNextOver) = (Gate(), Gate())
    children.start(first) { [runner = children.runner] _ in
      running.store(runner.running, ordering: .relaxed)
      isOver.open()
    }
    try await onThread {
      #expect(eventually { children.runner.running == 1 })
      children.concurrency.setSuspended(true)
      children.start(TestChildren.shell("exit 0")) { _ in isNextOver.open() }
      release.write("\n")
      isOver.pass()
      // The next one would have been started before.
      #expect(running.load(ordering: .relaxed) == 0)
      children.concurrency.setSuspended(false)
      isNextOver.pass()
    }
  }

  @Test func waitsBeforeAFurtherTry() async throws {
    let children = try TestChildren(1)
    var never = TestChildren.shell("exit 0")
    never.pause = 3600
    var soon = never
    soon.pause = 0.001
    async let last = children.ending(of: never)
    #expect(try await children.ending(of: "exit 0").status == .exit(0))
    #expect(try await children.ending(of: soon).status == .exit(0))
    children.cancellation.cancel(BatchError(.cancelled, "stopped"))
    #expect(try await last.status == .stopped)
  }

  @Test func waitsForDescriptorsWhileOthersRun() async throws {
    let children = try TestChildren(32)
    let before = DescriptorLimit.current()
    let highest = open("/dev/null", O_RDONLY | O_CLOEXEC)
    var tight = rlimit(rlim_cur: rlim_t(highest) + 9, rlim_max: rlim_t(before.hard))
    let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    try #require(setrlimit(resource, &tight) == 0)
    defer {
      var limit = rlimit(rlim_cur: rlim_t(before.soft), rlim_max: rlim_t(before.hard))
      setrlimit(resource, &limit)
      close(highest)
    }
    let statuses = try await withThrowingTaskGroup(of: ChildEnding.Status.self) { group in
      for _ in 0..<32 { group.addTask { try await children.ending(of: "exit 0").status } }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(statuses == Array(repeating: .exit(0), count: 32))
  }

  // MARK: Stopping

  @Test(
    "passes on the signal that stopped the run",
    arguments: [(SIGINT, "INT\n"), (SIGTERM, "TERM\n"), (SIGHUP, "TERM\n")])
  func passesSignalOn(number: Int32, text: String) async throws {
    let cancel = Mutex<@Sendable () -> Void>({})
    let children = try TestChildren(1, isLive: true) { _ in cancel.withLock { $0 }() }
    cancel.withLock { [cancellation = children.cancellation] action in
      action = { cancellation.cancel(BatchError(.cancelled, "stopped"), signal: number) }
    }
    // The shell acts on a signal between two commands. A shell whose caller ignored INT could not handle it.
    let loop =
      "trap 'echo INT; exit' INT; trap 'echo TERM; exit' TERM; echo ready >&2; while :; do sleep 0.01; done"
    let script = "exec env --default-signal=INT sh -c \"\(loop)\""
    async let queued = children.ending(of: script)
    async let other = children.ending(of: script)
    let endings = try await [queued, other]
    #expect(endings.map(\.status) == [.stopped, .stopped])
    // One was never started.
    #expect(try Set(endings.map { try $0.output.text }) == ["", text])
    #expect(try await children.ending(of: "exit 0").status == .stopped)
  }

  @Test func stopEndsAllChildrenAndTheGuardian() async throws {
    let children = try TestChildren(1)
    async let running = children.ending(of: "sleep 1000")
    async let waiting = children.ending(of: "sleep 1000")
    let runner = children.runner
    try await onThread {
      #expect(eventually { runner.running == 1 })
      runner.stop()
      #expect(runner.running == 0)
      #expect(kill(runner.site.guardian.pid, 0) == -1)
      runner.stop()
    }
    #expect(try await [running.status, waiting.status] == [.stopped, .stopped])
    #expect(try await children.ending(of: "exit 0").status == .stopped)
  }

  @Test func aChildMayBeAddedWhenAnotherHasEnded() async throws {
    let children = try TestChildren(1)
    let text = try await withCheckedThrowingContinuation {
      (continuation: CheckedContinuation<ChildEnding, any Error>) in
      children.start(TestChildren.shell("exit 0")) { [runner = children.runner] _ in
        runner.start(TestChildren.shell("echo second"), tag: 2) { continuation.resume(with: $0) }
      }
    }.output.text
    #expect(text == "second\n")
  }

  // MARK: Programs that cannot run

  @Test func failsAProgramThatCannotBeStarted() async throws {
    let children = try TestChildren()
    let plain = try tree.file("plain", "#!/bin/sh\n")
    let script = try tree.file("script", "#!/nowhere/interpreter\n")
    try tree.file("silent", "echo \"$0|$1|$#\"\n")
    for name in ["script", "silent"] as [PathBytes] { tree.path(name).withCString { _ = chmod($0, 0o755) } }
    let cases: [(PathBytes, BatchError.Code, String)] = [
      (tree.path("missing"), .missing, "cannot start"), (plain, .unreadable, "cannot start"),
      (script, .missing, "the interpreter that its first line names is missing"),
    ]
    for (program, code, text) in cases {
      let error = await #expect(throws: BatchError.self) {
        try await children.ending(of: ChildCommand(program, ["x"]))
      }
      #expect(error?.code == code)
      #expect(error?.message.contains(text) == true)
      #expect(error?.path == program)
    }
    // A script without a line that names an interpreter is run by sh.
    let silent = tree.path("silent")
    #expect(
      try await children.ending(of: ChildCommand(silent, ["other", "one", "two"])).output.text
        == "\(silent)|one|2\n")
  }
}
