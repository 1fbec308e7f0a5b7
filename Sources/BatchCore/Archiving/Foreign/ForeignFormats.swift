/// How the formats are read that are read only on request: ar, cab, ISO 9660, lha, rar, warc.
///
/// libarchive's readers for them crash, loop, or allocate without limit on some damaged archives.
enum ForeignFormats: Sendable {
  /// They are not read.
  case refused
  /// A separate process for each archive.
  case process(ForeignReaderProgram)
  /// This process, which was started for one archive.
  ///
  /// - Parameter progress: called each time that the archive was read further than before.
  case here(progress: @Sendable () -> Void)

  var areReadByProcess: Bool { if case .process = self { true } else { false } }
  var areReadHere: Bool { if case .here = self { true } else { false } }
}
