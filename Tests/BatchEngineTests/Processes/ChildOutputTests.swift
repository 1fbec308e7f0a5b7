import Glibc
import TestSupport
import Testing

@testable import BatchEngine

/// What children print: in memory, in the file, and at once.
@Suite(.serialized, .timeLimit(.minutes(3))) struct ChildOutputTests {
  private let tree: TreeFixture

  init() throws {
    tree = try TreeFixture()
  }

  @Test(
    "keeps every byte, in memory and in the file",
    arguments: [
      (0, 0), (1, 0), (1, 100_000), (65_537, 100_000), (1 << 20, 8 << 20), (1 << 20 + 1, 8 << 20),
      (5_000_001, 8 << 20), (64 << 20, 100_000),
    ])
  func keeps(size: Int, memory: Int) async throws {
    let children = try TestChildren(memory: memory, in: tree.root)
    let ending = try await children.ending(of: "yes 0123456789 | head -c \(size)")
    #expect(ending.output.count == Int64(size))
    let text = Array(String(repeating: "0123456789\n", count: 6000).utf8)
    let isEqual = try ending.output.bytes.equals([UInt8](repeating: text, length: size))
    #expect(isEqual)
    #expect(tree.names().isEmpty)
  }

  @Test func freesMemoryAndFile() throws {
    let store = CaptureStore(memory: 1_000_000, folder: tree.root)
    let bytes = [UInt8](repeating: 1, count: 600_000)
    var first: CapturedOutput? = CapturedOutput(store)
    bytes.withUnsafeBytes { first?.append($0) }
    bytes.withUnsafeBytes { first?.append($0) }
    #expect(first?.count == 1_200_000)
    #expect(!store.takeMemory(500_000))
    first = nil
    #expect(store.takeMemory(1_000_000))
    // Three units were used, and are used again.
    #expect(
      try (0..<4).map { _ in try store.takeUnit() / Int64(CaptureStore.unit) }.sorted() == [0, 1, 2, 3])
  }

  @Test("works where files have no unnamed form") func withoutUnnamedFiles() throws {
    let calls = FaultyCalls()
    calls.on(.change(.create), ".", .fail(EOPNOTSUPP))
    let store = CaptureStore(memory: 0, folder: tree.root, calls: calls)
    let output = CapturedOutput(store)
    Array("text".utf8).withUnsafeBytes { output.append($0) }
    #expect(try output.text == "text")
    #expect(tree.names().isEmpty)
  }

  @Test func aFullDiskIsAnErrorOfItsChildAlone() async throws {
    let calls = FaultyCalls()
    calls.on(.change(.write), nil, turns: 3...3, .fail(ENOSPC))
    let children = try TestChildren(memory: 0, in: tree.root, calls: calls)
    let full = try await children.ending(of: "head -c 4M /dev/zero")
    #expect(full.status == .exit(0))
    var parts = 0
    expectError(.unwritable, at: tree.root) { try full.output.forEach { _ in parts += 1 } }
    #expect(parts == 0)
    #expect(full.output.lastLine(most: 10) == [])
    #expect(try await children.ending(of: "echo next").output.text == "next\n")
  }

  @Test(
    "finds the last line",
    arguments: [
      ("", 10, ""), ("a", 10, "a"), ("a\nb", 10, "b"), ("a\nb\n\n\n", 10, "b"), ("a\r\nb\r\n", 10, "b"),
      ("\n\n", 10, ""), ("first\nsecond\n", 3, "sec"), ("a\n", 0, ""),
    ])
  func lastLine(text: String, most: Int, expected: String) throws {
    let output = CapturedOutput(CaptureStore(memory: text.utf8.count > 5 ? 0 : 100, folder: tree.root))
    Array(text.utf8).withUnsafeBytes { output.append($0) }
    #expect(output.lastLine(most: most) == Array(expected.utf8))
  }

  @Test func findsTheLastLineOfALargeOutput() async throws {
    let children = try TestChildren(memory: 100_000, in: tree.root)
    let ending = try await children.ending(of: "yes | head -c 3000000 >&2; printf 'the end' >&2")
    #expect(ending.errors.lastLine(most: 100) == Array("the end".utf8))
  }

  @Test func passesOnWholeLinesAtOnce() async throws {
    let children = try TestChildren(2, isLive: true)
    let script = """
      i=0; while [ $i -lt 200 ]; do printf '%s' $1 >&2; printf '%s\\n' $1 >&2; i=$((i + 1)); done; printf end >&2
      """
    async let first = children.ending(of: script, ["sh", "a"])
    async let second = children.ending(of: script, ["sh", "b"])
    let endings = try await [first, second]
    #expect(endings.allSatisfy { $0.errors.lastLine(most: 10) == Array("end".utf8) })
    var texts: [Int: [UInt8]] = [:]
    for (tag, lines) in children.lines.values {
      #expect(lines.last == UInt8(ascii: "\n"))
      texts[tag, default: []] += lines
    }
    let expected = ["a", "b"].map { Array((String(repeating: "\($0)\($0)\n", count: 200) + "end\n").utf8) }
    #expect(Set(texts.values) == Set(expected))
  }

  @Test func aLineWithoutEndIsPassedOnInParts() async throws {
    let children = try TestChildren(isLive: true)
    _ = try await children.ending(of: "head -c 3M /dev/zero | tr '\\0' x >&2")
    let lines = children.lines.values.map(\.lines)
    #expect(lines.count > 1)
    #expect(lines.allSatisfy { $0.last == UInt8(ascii: "\n") && $0.count < 2 << 20 })
    #expect(lines.reduce(0) { $0 + $1.count - 1 } == 3 << 20)
  }
}
