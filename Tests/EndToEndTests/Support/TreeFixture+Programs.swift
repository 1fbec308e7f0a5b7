import BatchEngine
import TestSupport

/// Programs that run in a fixture.
extension TreeFixture {
  /// Makes a small ordinary tree: texts, an empty file, a folder, and a file of 200,000 bytes.
  func writeTree(_ name: PathBytes = "t") throws {
    try file(name.appending("text".utf8), "a small text\n")
    try file(name.appending("empty".utf8), "")
    try file(name.appending("d/one".utf8), "1\n")
    try file(name.appending("d/two".utf8), "2\n")
    try file(name.appending("big".utf8), Self.big)
  }

  private static let big = (0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 2_654_435_761 >> 7) }

  /// The temporary files of outputs that are being written or were left.
  func temporaries(in folder: PathBytes = "") -> [PathBytes] {
    names(in: folder).filter { $0.bytes.starts(with: ".batchproc-".utf8) }
  }

  /// Runs the built binary in the fixture.
  @discardableResult
  func batchproc(
    _ arguments: PathBytes..., input: [UInt8] = [], environment: [String: String] = [:]
  ) throws -> Outcome {
    try batchproc(arguments, input: input, environment: environment)
  }

  func batchproc(
    _ arguments: [PathBytes], input: [UInt8] = [], environment: [String: String] = [:],
    seconds: Double = RunningProgram.deadline
  ) throws -> Outcome {
    try start(arguments, input: input, environment: environment).wait(seconds: seconds)
  }

  /// Starts the built binary in the fixture.
  func start(
    _ arguments: [PathBytes], input: [UInt8] = [], environment: [String: String] = [:]
  ) throws -> RunningProgram {
    try RunningProgram(
      [Array(Host.binary.utf8)] + arguments.map(\.bytes), input: input, environment: withState(environment),
      in: root)
  }

  /// Runs a script in the fixture; `$BP` is the built binary.
  @discardableResult
  func shell(
    _ script: String, input: [UInt8] = [], environment: [String: String] = [:],
    seconds: Double = RunningProgram.deadline
  ) throws -> Outcome {
    try startShell(script, input: input, environment: environment).wait(seconds: seconds)
  }

  func startShell(
    _ script: String, input: [UInt8] = [], environment: [String: String] = [:]
  ) throws -> RunningProgram {
    try RunningProgram(
      ["bash", "-c", script].map { Array($0.utf8) }, input: input,
      environment: withState(environment).merging(["BP": Host.binary]) { given, _ in given }, in: root)
  }

  /// Adds a folder in which the program stores facts about the machine.
  private func withState(_ environment: [String: String]) -> [String: String] {
    environment.merging(["XDG_STATE_HOME": state.description]) { given, _ in given }
  }
}
