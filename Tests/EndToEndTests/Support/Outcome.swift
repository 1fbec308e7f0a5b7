/// What a program that ran left behind: how it ended, and its two streams as bytes.
struct Outcome: Sendable {
  enum Ending: Equatable, Sendable {
    case exit(Int32)
    case signal(Int32)
    /// It was still running at the deadline and was killed.
    case deadline
  }

  let ending: Ending
  let output: [UInt8]
  let errors: [UInt8]

  /// The exit code; -1 when a signal or the deadline ended the program.
  var status: Int32 {
    if case .exit(let status) = ending { status } else { -1 }
  }

  var text: String { String(decoding: output, as: UTF8.self) }
  var errorText: String { String(decoding: errors, as: UTF8.self) }

  /// The rows of the output, without their ends.
  var rows: [[UInt8]] { output.split(separator: UInt8(ascii: "\n")).map(Array.init) }

  /// The lines of the error stream without the summary of the run.
  var messages: [String] {
    errors.split(separator: UInt8(ascii: "\n")).map { String(decoding: $0, as: UTF8.self) }
      .filter { $0.hasPrefix("batchproc: ") }
  }
}
