import BatchEngine

/// Decisions about the outputs of a command of the user. Such an output can have any content, so it is recognized by its mark alone.
extension OutputDecision {
  /// - Parameters:
  ///   - mark: of the command.
  ///   - output: the status of the existing file.
  ///   - file: opens it; nil if it cannot be opened.
  static func ofCommand(
    _ mark: CommandMark, _ output: FileStatus, _ target: PathBytes, for source: FileRecord,
    open file: () -> Descriptor?
  ) -> OutputDecision {
    guard output.kind == .regular else {
      return .refused(
        BatchError(.invalid, "is in the way of the output: it is \(output.kind.text)", path: target))
    }
    func refused(_ message: String) -> OutputDecision {
      .refused(BatchError(.invalid, message, path: target, remedy: .replaceOutput))
    }
    let found: CommandMark.Found
    if let opened = file() { found = mark.find(on: opened.raw) } else { found = .unreadable }
    let isCurrent = output.modified == source.status.modified
    switch found {
    case .same where isCurrent: return .upToDate(output.identity)
    case .same, .other:
      // An output has the time of its source until another program changes it.
      guard output.modified <= source.status.modified else {
        return refused("is newer than its source and stays")
      }
      return .write(isReplacing: true)
    // Nothing is replaced, so the time is enough.
    case .unsupported where isCurrent: return .upToDate(output.identity)
    case .unsupported:
      return refused("exists already and is kept: the file system does not store which command made it")
    case .none, .unreadable: return refused("was not made by this program, and is kept")
    }
  }

  /// Whether a file is changed in place.
  ///
  /// - Parameter file: the open file, with its status.
  package static func inPlace(
    _ mark: CommandMark, _ file: Int32, _ status: FileStatus, path: PathBytes, isForced: Bool
  ) -> OutputDecision {
    guard status.linkCount == 1 else {
      return .refused(
        BatchError(.invalid, "has several names, which would become different files; it is kept", path: path))
    }
    if isForced { return .write(isReplacing: true) }
    switch mark.find(on: file, inPlace: status) {
    case .same: return .upToDate(status.identity)
    case .other, .none: return .write(isReplacing: true)
    case .unsupported:
      return .refused(
        BatchError(
          .invalid,
          "is kept: the file system cannot store that the command changed it, so a second run would do it again",
          path: path, remedy: .replaceOutput))
    case .unreadable:
      return .refused(BatchError(.unreadable, "its extended attributes cannot be read", path: path))
    }
  }
}
