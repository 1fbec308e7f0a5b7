import BatchEngine

/// What the files of a snapshot are called: `SET-20261120T020000Z.tar.zst` and `SET-20261120T020000Z.manifest`.
package struct SnapshotName: Sendable, Hashable {
  package static let archiveSuffix = ".tar.zst"
  package static let manifestSuffix = ".manifest"

  /// The name of the set.
  package let set: PathBytes
  /// When the snapshot was begun, in UTC, by the clock of the machine: a name, and not an order.
  package let stamp: String

  package init(set: PathBytes, seconds: Int64) {
    self.set = set
    stamp = LocalTime.stamp(of: seconds)
  }

  package init(set: PathBytes, stamp: String) {
    self.set = set
    self.stamp = stamp
  }

  /// The snapshot that a manifest belongs to; nil for another file, or that of another set.
  ///
  /// - Parameter suffix: of manifests or of archives.
  package init?(file: some Collection<UInt8>, set: PathBytes, suffix: String) {
    let prefix = set.bytes + [UInt8(ascii: "-")]
    let bytes = Array(file)
    guard bytes.starts(with: prefix), bytes.suffix(suffix.utf8.count).elementsEqual(suffix.utf8) else {
      return nil
    }
    let stamp = bytes.dropFirst(prefix.count).dropLast(suffix.utf8.count)
    guard LocalTime.seconds(ofStamp: stamp) != nil else { return nil }
    self.set = set
    self.stamp = String(decoding: stamp, as: UTF8.self)
  }

  package var archive: PathBytes { name(Self.archiveSuffix) }
  package var manifest: PathBytes { name(Self.manifestSuffix) }

  private func name(_ suffix: String) -> PathBytes {
    PathBytes(set.bytes + [UInt8(ascii: "-")] + Array((stamp + suffix).utf8))
  }

  /// - Throws: `invalid` for what cannot be the name of a set.
  package static func check(_ set: PathBytes) throws(BatchError) {
    let isPlain =
      !set.isEmpty && !set.bytes.contains(UInt8(ascii: "/")) && !set.containsNUL
      && set.bytes.first != UInt8(ascii: ".") && set.bytes.count <= 128
    guard isPlain, set.text != nil else {
      throw BatchError(
        .invalid, "not the name of a set: up to 128 bytes of UTF-8 without a slash, and no dot at its start",
        path: set)
    }
  }
}
