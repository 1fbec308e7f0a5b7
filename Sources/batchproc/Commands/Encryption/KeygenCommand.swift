import BatchCore
import BatchEngine
import BatchOutputs

struct KeygenCommand: Command {
  private let output: PathBytes
  let session: Session

  init(_ parsed: ParsedCommand, common: CommonOptions, environment: Environment) throws {
    guard let target = parsed.bytes(.output), target != "-" else {
      throw UsageError(
        "Missing expected option '-o <file>': where the identity is written.", in: parsed.command)
    }
    output = target
    session = try Session(common, environment: environment)
  }

  /// - Throws: `unwritable` when the file exists or cannot be created.
  func run() throws(BatchError) -> Ending {
    SecretFile.protectProcess()
    guard !OutputFile.isDevice(output) else {
      throw BatchError(.invalid, "is a pipe or a device, and an identity is kept in a file", path: output)
    }
    let identity = try AgeIdentity()
    let file: OutputFile
    do throws(BatchError) {
      file = try OutputFile(output, isReplacing: false, isSynced: true, isPrivate: true, in: session.context)
    } catch {
      // The usual advice is --force, which this command does not have: an identity that is replaced is lost.
      throw BatchError(error.code, error.message, path: error.path, errno: error.errno)
    }
    try file.write(
      Array(
        "# created: \(CalendarTime(FileStatus.Time.now.seconds).text)\n# public key: \(identity.recipient.text)\n"
          .utf8))
    var text = try identity.text()
    defer { text.cleanse() }
    do throws(BatchError) {
      try file.write(text)
      try file.write([UInt8(ascii: "\n")])
      try file.finish()
    } catch {
      file.discard()
      throw error
    }
    try session.output.write(Array("\(identity.recipient.text)\n".utf8))
    try session.output.finish()
    return .exit(.success)
  }
}
