import BatchEngine

/// Text about the files that a run is processing.
enum FilesInProgressText {
  private static let mostInLine = 5

  /// A line that reports a stalled run, with the oldest files and their ages.
  ///
  /// - Parameter files: the oldest first.
  static func stall(_ files: [FileInProgress], seconds: Double) -> String {
    let shown = files.prefix(mostInLine).map { file in
      "\(TerminalText.string(file.path.bytes)) for \(DurationText.text(seconds: Double(file.age) / 1000))"
    }
    let rest = files.count - shown.count
    return "nothing was read for \(DurationText.text(seconds: seconds)); "
      + (files.isEmpty ? "no file is in progress" : "in progress: " + shown.joined(separator: ", "))
      + (rest > 0 ? " and \(ByteCount.grouped(rest)) more" : "")
  }

  private static let most = 20

  /// One line for each file, `  for 12.3 s: folder/file`, up to a limit.
  ///
  /// - Parameter files: the oldest first.
  static func lines(_ files: [FileInProgress]) -> [String] {
    let shown = files.prefix(most).map { file in
      let age = DurationText.text(seconds: Double(file.age) / 1000)
      return "  for \(age): \(TerminalText.string(file.path.bytes))"
    }
    let rest = files.count - shown.count
    return shown + (rest > 0 ? ["  and \(ByteCount.grouped(rest)) more"] : [])
  }
}
