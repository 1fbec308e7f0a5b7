/// A piece of an archive that is decoded by itself: one zstd frame, gzip member, xz stream or lz4 frame, or
/// bytes as they are.
struct ArchiveFrame: Sendable {
  let bytes: [UInt8]
  let plainSize: UInt64
}

/// Where a frame lies in the archive, and its content in the plain archive.
struct FramePlace: Sendable, Hashable {
  let offset: UInt64
  let size: UInt64
  let plainOffset: UInt64
  let plainSize: UInt64
}
