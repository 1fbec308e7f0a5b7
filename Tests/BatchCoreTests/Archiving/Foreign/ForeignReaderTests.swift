import Glibc
import TestSupport
import Testing

@testable import BatchCore
@testable import BatchEngine

/// Scripts replace the reading process, and give the answers that it could give if an archive had taken
/// control of it.
@Suite("A process that reads an archive is trusted no more than the archive") struct ForeignReaderTests {
  private let t: TreeFixture
  private let file: ArchiveFile

  init() throws {
    t = try TreeFixture()
    file = try ArchiveFile(t.file("archive", "!<arch>\n"), in: SourceContext(RunContext()))
  }

  /// - Parameter steps: the steps of a Python script; `take()` waits for a request, `give(kind, body)`
  ///   answers.
  private func reader(_ steps: String) throws -> ForeignReader {
    let script = try t.file(
      "reader",
      """
      #!/usr/bin/python3
      import os, signal, struct, sys
      def take(): return os.read(1, 1)
      def give(kind, body=b'', length=None): os.write(1, struct.pack('<BI', kind, len(body) if length is None else length) + body)
      def piece(place, content): take(); give(4, struct.pack('<QQ', place, 8) + content)
      def opened(): take(); give(1, bytes(4))
      \(steps)
      """)
    #expect(script.withCString { chmod($0, 0o755) } == 0)
    return try ForeignReader(
      file, ForeignReaderProgram(script, memory: 1 << 20), upTo: nil, requiresMembers: false,
      limits: ArchiveLimits(maximumOutput: 100), by: ReadingRight())
  }

  private func error(_ steps: String, pieces: Int = 1) throws -> String {
    do {
      let reader = try reader(steps)
      for _ in 0..<pieces { _ = try reader.nextPiece() }
      return "none"
    } catch let error as BatchError {
      #expect(error.path == nil || error.path == file.path)
      return error.message
    }
  }

  @Test("its answers are validated") func answers() throws {
    let invalid = "damaged: its reader gave an invalid answer"
    #expect(
      try error("opened(); piece(5, b'content'); piece(12, b'x'); take(); give(5)", pieces: 3) == "none")
    for steps in [
      "take(); give(9)", "take(); give(5)", "take(); give(1, bytes(3))", "take(); give(1, length=0x7fffffff)",
      "opened(); take(); give(1, bytes(4))", "opened(); take(); give(4, bytes(15))",
      "opened(); piece(0, b'')",
      "opened(); piece(2**64 - 1, b'ab')",
    ] {
      #expect(try error(steps + "; take()") == invalid, "\(steps)")
    }
    #expect(try error("opened(); piece(5, b'content'); piece(11, b'x'); take()", pieces: 2) == invalid)
    #expect(try error("opened(); piece(0, bytes(101)); take()") == "the content is larger than 100 bytes")
  }

  @Test("its end is reported with the reason, also the second time") func endings() throws {
    for (steps, text) in [
      ("pass", "damaged: its reader ended with status 0"),
      ("sys.exit(1)", "damaged, or its reader needs more than 1 MiB of memory"),
      ("opened(); take(); sys.exit(9)", "damaged: its reader ended with status 9"),
      (
        "opened(); take(); os.write(1, bytes(3)); sys.exit(1)",
        "damaged, or its reader needs more than 1 MiB of memory"
      ),
      ("opened(); os.kill(os.getpid(), signal.SIGSEGV)", "damaged: its reader crashed (signal 11)"),
      (
        "os.kill(os.getpid(), signal.SIGXCPU)",
        "damaged: its reader made no progress in 60 s of processor time"
      ),
    ] {
      #expect(try error(steps) == text, "\(steps)")
    }
    let reader = try reader("opened()")
    for _ in 0..<2 {
      #expect { try reader.next() } throws: {
        ($0 as? BatchError)?.message == "damaged: its reader ended with status 0"
      }
    }
  }

  @Test("the error says what to do when it cannot be started") func missing() throws {
    #expect {
      try ForeignReader(
        file, ForeignReaderProgram(t.path("nowhere"), memory: 1 << 20), upTo: nil, requiresMembers: false,
        limits: ArchiveLimits(), by: ReadingRight())
    } throws: { error in
      guard let error = error as? BatchError else { return false }
      return error.path == t.path("nowhere") && error.remedy == "/proc has to be mounted"
    }
  }
}
