import BatchEngine

/// The result of a program: how it ended, and its two output streams as bytes.
package struct Outcome: Sendable {
  package enum Ending: Equatable, Sendable {
    case exit(Int32)
    case signal(Int32)
    /// The program was still running at the deadline and was killed.
    case deadline
  }

  package let ending: Ending
  package let output: [UInt8]
  package let errors: [UInt8]

  init(ending: Ending, output: [UInt8], errors: [UInt8]) {
    self.ending = ending
    self.output = output
    self.errors = errors
  }

  /// Runs a program in the C locale unless another one is given. The program is searched in `PATH`.
  package init(
    of arguments: [PathBytes], input: [UInt8] = [], environment: [String: String] = [:],
    in folder: TreeFixture? = nil
  ) throws {
    self = try RunningProgram(
      arguments.map(\.bytes), input: input, environment: ["LC_ALL": "C"].merging(environment) { $1 },
      in: folder?.root ?? "/"
    ).wait()
  }

  /// Runs a script with sh in the C locale.
  package init(
    shell script: String, input: [UInt8] = [], environment: [String: String] = [:],
    in folder: TreeFixture? = nil
  ) throws {
    try self.init(
      of: ["sh", "-c", PathBytes(script)], input: input, environment: environment, in: folder)
  }

  /// The exit code; -1 if a signal ended the program or the deadline passed.
  package var status: Int32 {
    if case .exit(let status) = ending { status } else { -1 }
  }

  package var text: String { String(decoding: output, as: UTF8.self) }
  package var errorText: String { String(decoding: errors, as: UTF8.self) }

  /// The lines of the output, without line ends.
  package var rows: [[UInt8]] { output.split(separator: UInt8(ascii: "\n")).map(Array.init) }

  /// The lines of the error stream, without the summary of the run.
  package var messages: [String] {
    errors.split(separator: UInt8(ascii: "\n")).map { String(decoding: $0, as: UTF8.self) }
      .filter { $0.hasPrefix("batchproc: ") }
  }
}
