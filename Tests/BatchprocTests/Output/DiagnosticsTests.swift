import BatchCore
import BatchEngine
import Foundation
import Glibc
import Synchronization
import Testing

@testable import batchproc

@Suite struct DiagnosticsTests {
  /// The bytes that `body` writes to its descriptor.
  private func written(color: Bool = false, _ body: (Diagnostics) -> Void) throws -> String {
    let pipe = Pipe()
    body(Diagnostics(descriptor: pipe.fileHandleForWriting.fileDescriptor, usesColor: color))
    try pipe.fileHandleForWriting.close()
    return String(decoding: try pipe.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
  }

  @Test func namesThePathTheReasonAndTheRemedy() throws {
    let text = try written { diagnostics in
      diagnostics.report(BatchError.syscall("open", errno: EACCES, path: "t/x"))
      diagnostics.report(BatchError.syscall("open", errno: EMFILE, path: "t/y"))
      diagnostics.report(BatchError(.invalid, "nothing to do"))
      diagnostics.report(BatchError(.missing, "cannot open", path: ""))
    }
    #expect(
      text == """
        batchproc: t/x: cannot open: Permission denied
        batchproc: t/y: cannot open: Too many open files (raise `ulimit -n`, or lower --max-open-files)
        batchproc: nothing to do
        batchproc: '': cannot open

        """)
  }

  @Test func keepsEachMessageOnOneLine() throws {
    let name = PathBytes(Array("a\nb\u{1b}[2J\u{202e}".utf8) + [0xff])
    let text = try written { diagnostics in
      diagnostics.report(BatchError(.vanished, "gone", path: name, remedy: "see\u{7}"), as: .warning)
      diagnostics.report("odd \u{9b} text", as: .note)
    }
    #expect(
      text == #"""
        batchproc: warning: a\nb\x1b[2J\xe2\x80\xae\xff: gone (see\x07)
        batchproc: odd \xc2\x9b text

        """#)
  }

  @Test func colorsOnlyItsOwnWords() throws {
    let text = try written(color: true) { diagnostics in
      diagnostics.report("e")
      diagnostics.report("w", as: .warning)
      diagnostics.report("n", as: .note)
    }
    #expect(
      text == "\u{1b}[1;31mbatchproc:\u{1b}[0m e\nbatchproc: \u{1b}[1;33mwarning:\u{1b}[0m w\nbatchproc: n\n")
  }

  @Test func keepsTheStatusLineBelowMessages() throws {
    let text = try written { diagnostics in
      diagnostics.show(status: [])
      diagnostics.show(status: Array("10%".utf8))
      diagnostics.report("m")
      diagnostics.show(status: [])
      diagnostics.print("done")
    }
    let erase = "\r\u{1b}[K"
    #expect(text == "\(erase)10%\(erase)batchproc: m\n10%\(erase)done\n")
  }

  @Test func removesRowsThatANarrowerWindowHasWrapped() throws {
    let columns = Mutex(20)
    let pipe = Pipe()
    let diagnostics = Diagnostics(
      descriptor: pipe.fileHandleForWriting.fileDescriptor, usesColor: false,
      columns: { columns.withLock { $0 } })
    let line = Array("0123456789012345678901234".utf8)
    diagnostics.show(status: line)
    columns.withLock { $0 = 7 }
    diagnostics.show(status: line)
    columns.withLock { $0 = 3 }
    diagnostics.report("m")
    columns.withLock { $0 = 80 }
    diagnostics.show(status: [])
    try pipe.fileHandleForWriting.close()
    let text = String(decoding: try pipe.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
    #expect(
      text == "\r\u{1b}[K0123456789012345678\r\u{1b}[K\u{1b}[A\u{1b}[K\u{1b}[A\u{1b}[K012345"
        + "\r\u{1b}[K\u{1b}[A\u{1b}[Kbatchproc: m\n01\r\u{1b}[K")
  }

  @Test func writesLongMessagesInFull() async throws {
    let pipe = Pipe()
    let descriptor = pipe.fileHandleForWriting.fileDescriptor
    // The descriptor does not block, so some writes are partial or refused.
    #expect(fcntl(descriptor, F_SETFL, O_NONBLOCK) == 0)
    let reader = pipe.fileHandleForReading
    async let received = Task.detached { try reader.readToEnd()?.count }.value
    Diagnostics(descriptor: descriptor, usesColor: false).print(String(repeating: "x", count: 1_000_000))
    try pipe.fileHandleForWriting.close()
    #expect(try await received == 1_000_001)
  }

  @Test func keepsLinesOfThreadsApart() throws {
    let text = try written { diagnostics in
      DispatchQueue.concurrentPerform(iterations: 200) { diagnostics.report("message \($0) of many") }
    }
    let lines = text.split(separator: "\n")
    #expect(Set(lines) == Set((0..<200).map { "batchproc: message \($0) of many" }))
    #expect(lines.count == 200)
  }

  @Test func ignoresAnOutputThatCannotBeWritten() throws {
    let descriptor = open("/dev/null", O_RDONLY)
    defer { close(descriptor) }
    Diagnostics(descriptor: descriptor, usesColor: false).report("unheard")
    let full = open("/dev/full", O_WRONLY)
    defer { close(full) }
    Diagnostics(descriptor: full, usesColor: false).report("unheard")
  }
}
