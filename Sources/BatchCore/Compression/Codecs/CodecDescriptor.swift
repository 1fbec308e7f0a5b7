import BatchEngine

/// Describes a codec: everything that the rest of the library needs to know about one compression format.
///
/// A codec is a folder with its decoder, its compressor and its descriptor, and one case of ``CompressionFormat``. Requirements
/// that only some formats need have defaults, which describe a format that is only read. Those without a comment are
/// described at the property of ``CompressionFormat`` with the same name.
protocol CodecDescriptor {
  // MARK: Names

  static var toolName: String { get }
  static var title: String { get }
  /// Further suffixes of compressed files, without the dot.
  static var otherSuffixes: [String] { get }
  /// Suffixes that combine `.tar` and the format's own suffix, such as `tgz`, without the dot.
  static var tarSuffixes: [String] { get }
  /// Name and version of the C libraries that only this format uses.
  static var libraries: [(name: String, version: String)] { get }

  // MARK: Recognizing

  /// Whether a file in this format begins with these bytes.
  ///
  /// - Parameter start: up to ``CompressionFormat/detectionLength`` bytes; fewer, or none, at the end of a file.
  static func recognizes(_ start: UnsafeRawBufferPointer) -> Bool
  /// Whether a file in a format without a magic number may begin with these bytes; called if no other known format does.
  ///
  /// - Parameter path: `-` for standard input.
  static func recognizes(_ start: UnsafeRawBufferPointer, named path: PathBytes) -> Bool

  // MARK: Reading

  /// - Throws: `.exhausted` when memory is missing, `.invalid` for a limit that the library refuses.
  static func makeDecoder(_ options: DecoderOptions) throws(BatchError) -> any FrameDecoder
  /// What other bytes after the end are, as in the stock tool.
  static var garbage: TrailingGarbage { get }
  /// Text for messages about what decoding has compared; a sentence without its period.
  ///
  /// - Parameter start: the first bytes of the file.
  static func checksFact(start: UnsafeRawBufferPointer) -> String
  /// Finds the parts of a file that several lanes can decode at the same time.
  ///
  /// - Parameter size: the size of the compressed file in bytes.
  /// - Returns: nil when the file has no parts, does not record their sizes, or is damaged.
  /// - Throws: the error of `read`.
  static func parts(size: UInt64, _ read: PartReader) throws(BatchError) -> CompressedParts?
  static func makeDecoder(
    of part: CompressedPart, _ options: DecoderOptions
  ) throws(BatchError) -> any FrameDecoder

  // MARK: Writing

  static var use: CodecUse { get }
  static var levels: ClosedRange<Int> { get }
  static var defaultLevel: Int { get }
  static var fastestLevel: Int { get }
  static var bestLevel: Int { get }
  static var levelRemark: String? { get }
  /// How many bytes of a large file are compressed as one block.
  static func blockSize(level: Int) throws(BatchError) -> Int
  /// Bytes that a context takes at most.
  static func contextMemory(level: Int) -> Int
  /// - Parameter check: called repeatedly during long calls; an error that it throws ends the call.
  static func makeContext(
    level: Int, checking check: @escaping () throws(BatchError) -> Void
  ) throws(BatchError) -> any CodecContext
  /// Creates the framing for the blocks of one file.
  ///
  /// - Parameters:
  ///   - contentSize: the size of the whole file in bytes; nil for a stream.
  ///   - canPatch: whether ``BlockFraming/patch`` can be written later.
  static func makeFraming(
    level: Int, contentSize: UInt64?, blockSize: Int, canPatch: Bool
  ) throws(BatchError) -> any BlockFraming

  // MARK: Archives

  /// How a tar in this format stores its member index; nil if archives cannot be written in the format.
  static var index: IndexForm? { get }
  /// Bytes of members in one frame of an archive.
  static var segmentSize: Int64 { get }
  /// How many bytes of a frame follow its content: checksums, sizes and marks.
  static func trailerSize(of frame: UnsafeRawBufferPointer) -> Int
}

/// What a format can be written for.
enum CodecUse {
  case readingOnly
  /// Only archives, whose frames need no framing.
  case archives
  /// Archives and single files.
  case files
}

/// How a compressed tar stores its member index, so that stock tools skip it.
enum IndexForm {
  /// Skippable frames, then the seek table of zstd's seekable format.
  case seekTable
  /// Skippable frames, then one with their offset.
  case skippableFrames
  /// Empty gzip members with the index in their extra fields, then one with their offset.
  case extraFields
  /// Separate streams, then a short one with their offset.
  case streams
  /// One last stream that ends with a block that contains the length of the index.
  case lastStream
}

extension CodecDescriptor {
  static var title: String { toolName }
  static var otherSuffixes: [String] { [] }
  static var tarSuffixes: [String] { [] }
  static var libraries: [(name: String, version: String)] { [] }
  static func recognizes(_ start: UnsafeRawBufferPointer, named path: PathBytes) -> Bool { false }

  static var garbage: TrailingGarbage { .damage }
  static func parts(size: UInt64, _ read: PartReader) throws(BatchError) -> CompressedParts? { nil }
  static func makeDecoder(
    of part: CompressedPart, _ options: DecoderOptions
  ) throws(BatchError) -> any FrameDecoder { try makeDecoder(options) }

  static var use: CodecUse { .readingOnly }
  static var levels: ClosedRange<Int> { 0...0 }
  static var defaultLevel: Int { 0 }
  static var fastestLevel: Int { levels.lowerBound }
  static var bestLevel: Int { levels.upperBound }
  static var levelRemark: String? { nil }
  static func blockSize(level: Int) throws(BatchError) -> Int { throw readOnly }
  static func contextMemory(level: Int) -> Int { 12 << 20 }
  static func makeContext(
    level: Int, checking check: @escaping () throws(BatchError) -> Void
  ) throws(BatchError) -> any CodecContext { throw readOnly }
  static func makeFraming(
    level: Int, contentSize: UInt64?, blockSize: Int, canPatch: Bool
  ) throws(BatchError) -> any BlockFraming {
    throw BatchError(.invalid, "\(toolName) data is not made of blocks of one file")
  }
  private static var readOnly: BatchError {
    BatchError(
      .invalid, "\(toolName) data is read and not written", remedy: CompressionFormat.writableRemedy)
  }

  static var index: IndexForm? { nil }
  static var segmentSize: Int64 { 4 << 20 }
  static func trailerSize(of frame: UnsafeRawBufferPointer) -> Int { 0 }
}

/// What other bytes after the end of compressed data are, as in the format's stock tool.
enum TrailingGarbage: Sendable {
  case damage
  /// The content is complete, and the file counts as failed: these may be further members that cannot be found (gzip ends with 2).
  case failure
  /// The content is complete, and a warning is enough.
  case remark
}
