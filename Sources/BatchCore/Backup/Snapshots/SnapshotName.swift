import BatchEngine

/// The names of a snapshot's files: `SET-20261120T020000Z.tar.zst` and `SET-20261120T020000Z.manifest.zst`. If they are encrypted,
/// both end in `.age`, and `SET-20261120T020000Z.companion` is added. Manifests of schema 1 are not compressed.
package struct SnapshotName: Sendable, Hashable {
  package static let archiveSuffix = ".tar.zst"
  package static let manifestSuffix = ".manifest"
  package static let compressedSuffix = ".zst"
  package static let companionSuffix = ".companion"
  /// The hashes of the blocks of large files, which only the next backup reads.
  static let blocksSuffix = ".blocks"
  package static let encryptedSuffix = ".age"
  /// The file with the id of a set, and the one beside copies with the id of the set from which they were made.
  static let idSuffix = ".id"
  static let originSuffix = ".copy"

  /// The name of the set.
  package let set: PathBytes
  /// When the snapshot began, in UTC, by the clock of the machine. It is a name and does not define the order.
  package let stamp: String
  package let isEncrypted: Bool
  /// Whether the manifest is compressed. A comparison of names ignores this, because the name of an archive does not show it.
  package let hasCompressedManifest: Bool

  package static func == (one: SnapshotName, other: SnapshotName) -> Bool {
    one.stamp == other.stamp && one.isEncrypted == other.isEncrypted && one.set == other.set
  }

  package func hash(into hasher: inout Hasher) {
    hasher.combine(set)
    hasher.combine(stamp)
    hasher.combine(isEncrypted)
  }

  package init(set: PathBytes, seconds: Int64, isEncrypted: Bool = false) {
    self.init(set: set, stamp: LocalTime.stamp(of: seconds), isEncrypted: isEncrypted)
  }

  package init(
    set: PathBytes, stamp: String, isEncrypted: Bool = false, hasCompressedManifest: Bool = true
  ) {
    self.set = set
    self.stamp = stamp
    self.isEncrypted = isEncrypted
    self.hasCompressedManifest = hasCompressedManifest
  }

  /// The snapshot of a file with a suffix; nil for another file, or one of another set.
  ///
  /// - Parameter suffix: the suffix of manifests, archives or companions; those of compressed manifests and encrypted files are
  ///   accepted too.
  package init?(file: some Collection<UInt8>, set: PathBytes, suffix: String) {
    let prefix = set.bytes + [UInt8(ascii: "-")]
    var bytes = Array(file)
    let isEncrypted = bytes.suffix(Self.encryptedSuffix.utf8.count).elementsEqual(Self.encryptedSuffix.utf8)
    if isEncrypted { bytes.removeLast(Self.encryptedSuffix.utf8.count) }
    hasCompressedManifest =
      suffix != Self.manifestSuffix
      || bytes.suffix(Self.compressedSuffix.utf8.count).elementsEqual(Self.compressedSuffix.utf8)
    if suffix == Self.manifestSuffix, hasCompressedManifest {
      bytes.removeLast(Self.compressedSuffix.utf8.count)
    }
    guard bytes.starts(with: prefix), bytes.suffix(suffix.utf8.count).elementsEqual(suffix.utf8) else {
      return nil
    }
    let stamp = bytes.dropFirst(prefix.count).dropLast(suffix.utf8.count)
    guard LocalTime.seconds(ofStamp: stamp) != nil else { return nil }
    self.set = set
    self.stamp = String(decoding: stamp, as: UTF8.self)
    self.isEncrypted = isEncrypted || suffix == Self.companionSuffix
  }

  /// The snapshot of an archive or a manifest, from its name; nil for another file.
  package static func of(_ path: PathBytes) -> SnapshotName? {
    of(path, [Self.archiveSuffix, Self.manifestSuffix])
  }

  /// The snapshot of a damaged archive or manifest that a repair has kept; nil for another file.
  static func ofDamaged(_ file: PathBytes) -> SnapshotName? { withoutDamaged(file).flatMap { of($0) } }

  /// The name of a file before a repair kept it as `NAME.damaged` or `NAME.damaged.2`; nil for another name.
  static func withoutDamaged(_ file: PathBytes) -> PathBytes? {
    var bytes = file.bytes
    let number = bytes.reversed().prefix { DecimalDigits.contains($0) }.count
    if number > 0, bytes.dropLast(number).last == UInt8(ascii: ".") { bytes.removeLast(number + 1) }
    let suffix = ParityRepair.damagedSuffix
    guard bytes.count > suffix.count, bytes.suffix(suffix.count).elementsEqual(suffix) else { return nil }
    return PathBytes(bytes.dropLast(suffix.count))
  }

  private static func of(_ path: PathBytes, _ suffixes: [String]) -> SnapshotName? {
    let file = path.lastComponent
    for suffix in suffixes {
      let ends = suffix == Self.manifestSuffix ? [suffix, suffix + Self.compressedSuffix] : [suffix]
      for end in ends + ends.map({ $0 + Self.encryptedSuffix })
      where file.suffix(end.utf8.count).elementsEqual(end.utf8) {
        let stem = file.dropLast(end.utf8.count)
        guard stem.count > 17 else { continue }
        return SnapshotName(file: file, set: PathBytes(stem.dropLast(17)), suffix: suffix)
      }
    }
    return nil
  }

  /// Whether a name that somebody else listed is one that this program gives to a file of a set: it has no slash, and is safe as a
  /// name in a local folder.
  static func isOfSet(_ file: PathBytes) -> Bool {
    guard file == PathBytes(file.lastComponent) else { return false }
    if let name = of(
      ParityNames.protected(file) ?? file,
      [Self.archiveSuffix, Self.manifestSuffix, Self.companionSuffix, Self.blocksSuffix])
    {
      return (try? check(name.set)) != nil
    }
    guard file.bytes.first == UInt8(ascii: ".") else { return false }
    return [idSuffix, originSuffix].contains { suffix in
      file.bytes.suffix(suffix.utf8.count).elementsEqual(suffix.utf8)
        && (try? check(PathBytes(file.bytes.dropFirst().dropLast(suffix.utf8.count)))) != nil
    }
  }

  /// Whether a file belongs to a set, by its name: a file of a snapshot of any set, or a hidden file beside them.
  ///
  /// - Parameter sets: the names of sets that may have hidden files.
  static func isOfSet(_ file: [UInt8], sets: Set<PathBytes>) -> Bool {
    let name = PathBytes(file)
    if of(
      ParityNames.protected(name) ?? withoutDamaged(name) ?? name,
      [archiveSuffix, manifestSuffix, companionSuffix, blocksSuffix]) != nil
    {
      return true
    }
    guard file.first == UInt8(ascii: "."), let dot = file.lastIndex(of: UInt8(ascii: ".")), dot > 0 else {
      return false
    }
    return [".lock", idSuffix, originSuffix, ".drill"].contains { file[dot...].elementsEqual($0.utf8) }
      && sets.contains(PathBytes(file[1..<dot]))
  }

  package var archive: PathBytes { name(Self.archiveSuffix + (isEncrypted ? Self.encryptedSuffix : "")) }
  package var manifest: PathBytes { name(manifestSuffix + (isEncrypted ? Self.encryptedSuffix : "")) }
  /// The suffix of a manifest that is not encrypted.
  var manifestSuffix: String { Self.manifestSuffix + (hasCompressedManifest ? Self.compressedSuffix : "") }
  /// In the first snapshot of a set with schema 2: a manifest without rows, which earlier versions refuse.
  package var marker: PathBytes { name(Self.manifestSuffix) }
  var blocks: PathBytes { name(Self.blocksSuffix) }
  /// The companion of an encrypted snapshot.
  package var companion: PathBytes { name(Self.companionSuffix) }
  package var files: [PathBytes] { isEncrypted ? [archive, companion, manifest] : [archive, manifest] }

  private func name(_ suffix: String) -> PathBytes {
    PathBytes(set.bytes + [UInt8(ascii: "-")] + Array((stamp + suffix).utf8))
  }

  /// - Throws: `invalid` for an invalid name of a set.
  package static func check(_ set: PathBytes) throws(BatchError) {
    let isPlain =
      !set.isEmpty && !set.bytes.contains(UInt8(ascii: "/")) && !set.containsNUL
      && set.bytes.first != UInt8(ascii: ".") && set.bytes.first != UInt8(ascii: "-")
      && set.bytes.count <= 128
    guard isPlain, set.text != nil else {
      throw BatchError(
        .invalid,
        "not the name of a set: up to 128 bytes of UTF-8 without a slash, and no dot or dash at its start",
        path: set)
    }
  }

  /// - Throws: `invalid` for an invalid name of a set, and for a new one that would break a line of a crontab, unit or list.
  package static func checkNew(_ set: PathBytes) throws(BatchError) {
    try check(set)
    let breaksLines = set.text?.unicodeScalars.contains {
      [.control, .lineSeparator, .paragraphSeparator].contains($0.properties.generalCategory)
    }
    guard breaksLines == false else {
      throw BatchError(.invalid, "not the name of a new set: it has control characters", path: set)
    }
  }
}
