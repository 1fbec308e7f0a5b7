import Glibc
import TestSupport
import Testing

@testable import BatchEngine

/// What a child finds when it begins.
@Suite(.serialized, .timeLimit(.minutes(3))) struct ChildSurroundingsTests {
  @Test func getsAnyBytesAsArguments() async throws {
    let words: [PathBytes] = [
      "a\nb", PathBytes([0xFF, 0xFE]), "-rf", "", " x  y ", "*",
      PathBytes(Array(repeating: 0x61, count: 100_000)),
    ]
    let ending = try await TestChildren().ending(of: #"printf '%s\0' "$@""#, ["sh"] + words)
    #expect(try ending.output.bytes == words.reduce(into: []) { $0 += $1.bytes + [0] })
  }

  @Test func aWordWithNULIsRefused() async throws {
    let error = await #expect(throws: BatchError.self) {
      try await TestChildren().ending(of: "exit", [PathBytes([0x61, 0, 0x62])])
    }
    #expect(error?.code == .invalid)
  }

  @Test func variablesReplaceThoseOfThisProcess() async throws {
    setenv("CHILD_VARIABLE_KEPT", "kept", 1)
    setenv("CHILD_VARIABLE_OLD", "old", 1)
    defer {
      unsetenv("CHILD_VARIABLE_KEPT")
      unsetenv("CHILD_VARIABLE_OLD")
    }
    var command = ChildCommand("/usr/bin/env", ["env", "-0"])
    command.environment = ["CHILD_VARIABLE_OLD=new\nline", PathBytes(Array("CHILD_VARIABLE=".utf8) + [0xFF])]
    let entries = try await TestChildren().ending(of: command).output.bytes.split(separator: 0).map(
      Array.init)
    let ours = entries.filter { $0.starts(with: "CHILD_VARIABLE".utf8) }
    #expect(
      Set(ours) == [
        Array("CHILD_VARIABLE_KEPT=kept".utf8), Array("CHILD_VARIABLE_OLD=new\nline".utf8),
        Array("CHILD_VARIABLE=".utf8) + [0xFF],
      ])
    #expect(ours.count == 3)
    #expect(entries.contains { $0.starts(with: "PATH=".utf8) })
  }

  @Test func readsNothingOrWhatItIsGiven() async throws {
    let children = try TestChildren()
    #expect(try await children.ending(of: "readlink /proc/self/fd/0; wc -c").output.text == "/dev/null\n0\n")
    let pipe = try Descriptor.pipe(holding: Array("content".utf8))
    var command = TestChildren.shell("cat")
    command.input = pipe.raw
    #expect(try await children.ending(of: command).output.text == "content")
  }

  @Test func writesToTheDescriptorThatItIsGiven() async throws {
    let tree = try TreeFixture()
    let name = try tree.file("out", "")
    let file = name.withCString { open($0, O_WRONLY | O_CLOEXEC) }
    defer { close(file) }
    var command = TestChildren.shell("echo text; echo remark >&2")
    command.output = file
    let ending = try await TestChildren().ending(of: command)
    #expect(tree.content("out") == Array("text\n".utf8))
    #expect(ending.output.count == 0)
    #expect(try ending.errors.text == "remark\n")
  }

  @Test func hasOnlyItsThreeStreams() async throws {
    let children = try TestChildren()
    let open = dup2(0, 300)
    defer { close(open) }
    // The last one is the folder that is listed.
    let ending = try await children.ending(of: ChildCommand("/bin/ls", ["ls", "/proc/self/fd"]))
    #expect(try ending.output.text == "0\n1\n2\n3\n")
  }

  @Test func hasSignalsAsAtTheStart() async throws {
    SignalSources.ignoreFailedWrites()
    signal(SIGUSR2, SIG_IGN)
    var (blocked, before) = (sigset_t(), sigset_t())
    sigfillset(&blocked)
    pthread_sigmask(SIG_BLOCK, &blocked, &before)
    let children = try TestChildren()
    pthread_sigmask(SIG_SETMASK, &before, nil)
    let text = try await children.ending(of: "exec grep Sig /proc/self/status").output.text
    signal(SIGUSR2, SIG_DFL)
    func set(_ name: String) throws -> UInt64 {
      let line = try #require(text.split(separator: "\n").first { $0.hasPrefix(name) })
      return try #require(UInt64(line.split(separator: "\t")[1], radix: 16))
    }
    #expect(try set("SigBlk") == 0)
    for number in [SIGPIPE, SIGXFSZ, SIGUSR2] {
      #expect(try set("SigIgn") & 1 << UInt64(number - 1) == 0)
    }
  }

  @Test func hasTheLimitOfDescriptorsAsAtTheStart() async throws {
    let children = try TestChildren()
    let before = DescriptorLimit.current()
    let first = try await children.ending(of: "ulimit -S -n").output.text
    var other = rlimit(rlim_cur: rlim_t(before.soft) - 1, rlim_max: rlim_t(before.hard))
    let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    try #require(setrlimit(resource, &other) == 0)
    let second = try await children.ending(of: "ulimit -S -n").output.text
    other.rlim_cur = rlim_t(before.soft)
    setrlimit(resource, &other)
    #expect(first == second)
  }

  @Test func leadsItsOwnProcessGroup() async throws {
    let text = try await TestChildren().ending(of: "echo $$; exec ps -o pgid= -p $$").output.text
    let numbers = text.split(whereSeparator: { $0 == "\n" || $0 == " " })
    #expect(numbers.count == 2 && numbers[0] == numbers[1])
  }
}
