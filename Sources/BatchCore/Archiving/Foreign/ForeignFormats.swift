/// What reads the formats that are read on demand only: ar, cab, ISO 9660, lha, rar, warc.
///
/// The readers that libarchive has for them crash, loop, or allocate without end on some damaged archives.
enum ForeignFormats: Sendable {
  /// They are not read.
  case refused
  /// A process of its own for each archive.
  case process(ForeignReaderProgram)
  /// This process, which was started for that.
  ///
  /// - Parameter progress: called each time that more of the archive was read than ever before.
  case here(progress: @Sendable () -> Void)

  var areReadByProcess: Bool { if case .process = self { true } else { false } }
  var areReadHere: Bool { if case .here = self { true } else { false } }
}
