/// A program with what one child process of it gets.
package struct ChildCommand: Sendable {
  /// The file to execute, as ``ChildProgram/find(_:path:)`` returned it.
  package var program: PathBytes
  /// The first one is the name of the program.
  package var arguments: [PathBytes]
  /// `NAME=value`; each replaces a variable of this process, or adds one.
  package var environment: [PathBytes] = []
  /// Standard input; nil for /dev/null. It stays open until the child has ended.
  package var input: Int32?
  /// Standard output; nil captures it. It stays open until the child has ended.
  package var output: Int32?
  /// Seconds after which the process group of the child gets TERM, and later KILL.
  package var timeLimit: Double?
  /// Seconds to wait before the start.
  package var pause = 0.0

  package init(_ program: PathBytes, _ arguments: [PathBytes]) {
    self.program = program
    self.arguments = arguments
  }
}

/// How a child process ended, and what it printed and used.
package struct ChildEnding: Sendable {
  package enum Status: Sendable, Hashable {
    case exit(Int32)
    case signal(Int32)
    /// It was ended after its time limit.
    case timeLimit
    /// It was ended, or never started, because the run was stopped.
    case stopped
  }

  package var status: Status
  /// Seconds from its start to its end.
  package var wall = 0.0
  /// Seconds of processor time, with that of its own children for which it waited.
  package var user = 0.0
  package var system = 0.0
  /// Bytes. 0 if this process itself has used more: the kernel counts what a child shares with it before it executes its program.
  package var peakMemory: Int64 = 0
  /// Standard output; empty if it went to a descriptor.
  package var output: CapturedOutput
  /// Standard error; only its last lines if all lines were passed on at once.
  package var errors: CapturedOutput
  /// Whether processes that it left behind still held its standard output when it was no longer read.
  package var leavesOpenOutput = false
}
