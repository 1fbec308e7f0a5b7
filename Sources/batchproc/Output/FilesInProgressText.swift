import BatchEngine

/// The files that a run is at, for people.
enum FilesInProgressText {
  private static let most = 20

  /// A line each, `  for 12.3 s: folder/file`, as far as they are not too many.
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
