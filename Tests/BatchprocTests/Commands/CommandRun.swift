import BatchEngine
import Glibc
import TestSupport
import Testing

@testable import batchproc

/// A command that runs within this process, from its arguments to its end, with the content of its two
/// streams.
///
/// It changes the current directory and the standard streams of the process, so only suites whose tests run
/// one at a time may use it.
struct CommandRun {
  let ending: Ending
  let output: [UInt8]
  let errors: [UInt8]

  /// - Parameters:
  ///   - folder: the current directory of the command.
  ///   - input: the content of standard input, which is `/dev/null` by default.
  init(
    _ arguments: [PathBytes], in folder: TreeFixture, input: [UInt8] = [],
    environment: [String: PathBytes] = [:]
  ) throws {
    let streams = try TreeFixture()
    if !input.isEmpty { try streams.file("in", input) }
    let place = try Self.opened(".", O_RDONLY | O_DIRECTORY)
    var saved: [Int32] = []
    defer {
      fchdir(place)
      close(place)
      for (number, copy) in saved.enumerated() {
        dup2(copy, Int32(number))
        close(copy)
      }
    }
    let sink = O_WRONLY | O_CREAT | O_APPEND
    let sources = [
      try Self.opened(input.isEmpty ? "/dev/null" : streams.path("in"), O_RDONLY),
      try Self.opened(streams.path("out"), sink), try Self.opened(streams.path("err"), sink),
    ]
    for (number, source) in sources.enumerated() {
      saved.append(fcntl(Int32(number), F_DUPFD_CLOEXEC, 3))
      dup2(source, Int32(number))
      close(source)
    }
    let isEntered = folder.root.withCString { chdir($0) } == 0
    ending =
      isEntered ? CLI.run(arguments) { environment[$0] } : .exit(.fatal)
    output = streams.content("out") ?? []
    errors = streams.content("err") ?? []
  }

  /// The exit code; -1 if a signal would have ended the program.
  var status: Int32 { if case .exit(let status) = ending { status.rawValue } else { -1 } }
  var text: String { String(decoding: output, as: UTF8.self) }
  var errorText: String { String(decoding: errors, as: UTF8.self) }

  private static func opened(_ path: PathBytes, _ flags: Int32) throws -> Int32 {
    let descriptor = path.withCString { open($0, flags | O_CLOEXEC, 0o600) }
    try #require(descriptor > 2, "\(path)")
    return descriptor
  }
}
