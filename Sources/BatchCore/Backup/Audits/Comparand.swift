import BatchEngine

/// One of the two sides of an audit.
package enum Comparand: Sendable {
  case folder(PathBytes)
  /// A manifest in a format that `hash` writes; `-` is standard input.
  case manifest(PathBytes)
  case snapshot(ManifestFile)
  case archive(PathBytes, AgeKeys?)

  private static let detectionLength = 1024

  /// Determines what a path is.
  ///
  /// - Parameter keys: for encrypted files.
  /// - Throws: the error of examining it; `unsupported` for an encrypted file without a key.
  package init(_ path: PathBytes, keys: AgeKeys?, in context: SourceContext) throws(BatchError) {
    if path == "-" {
      self = .manifest(path)
      return
    }
    if try path.status(followingLinks: true).kind == .directory {
      self = .folder(path)
      return
    }
    let start = (try? SmallFile.start(of: path, count: Self.detectionLength)) ?? []
    let isEncrypted = AgeKeys.areNeeded(for: start)
    if isEncrypted, keys == nil { throw AgeKeys.missing(path) }
    let manifest = ManifestFile(path, keys: isEncrypted ? keys : nil)
    if (try? SnapshotReader(manifest, in: context)) != nil {
      self = .snapshot(manifest)
    } else if isEncrypted || Self.isBinary(start) {
      self = .archive(path, keys)
    } else {
      self = .manifest(path)
    }
  }

  /// Whether a file does not begin like text: archives have zeros or other control bytes in their headers.
  private static func isBinary(_ start: [UInt8]) -> Bool {
    start.starts(with: "070701".utf8) || start.starts(with: "070702".utf8)
      || start.starts(with: "070707".utf8) || CompressionFormat.detect(start) != nil || start.contains(0)
  }

  package var path: PathBytes {
    switch self {
    case .folder(let path), .manifest(let path), .archive(let path, _): path
    case .snapshot(let manifest): manifest.path
    }
  }

  /// Its name in results.
  package var noun: String {
    switch self {
    case .folder: "tree"
    case .manifest: "manifest"
    case .snapshot: "snapshot"
    case .archive: "archive"
    }
  }

  package var isFolder: Bool { if case .folder = self { true } else { false } }

  /// Whether it can record more than files.
  package var hasAllKinds: Bool { if case .manifest = self { false } else { true } }

  /// Whether its records are available without decoding an archive or hashing files.
  var isRecord: Bool {
    switch self {
    case .manifest, .snapshot: true
    case .folder, .archive: false
    }
  }
}

extension Comparand {
  /// The folder of snapshots among two sides of which the other one is something else: snapshots are compared by their manifests.
  package static func setFolder(of first: Comparand, _ second: Comparand, in run: RunContext) -> PathBytes? {
    let sets = [first, second].filter { $0.isFolder && BackupSet.isPresent(in: $0.path, calls: run.calls) }
    return sets.count == 1 ? sets[0].path : nil
  }
}

extension WalkOptions {
  /// The same options for a comparison: without the compared files themselves, and with entries that are not files only if both
  /// sides can record them.
  package func comparing(_ first: Comparand, _ second: Comparand) -> WalkOptions {
    var walk = self
    let own = [first, second].filter { !$0.isFolder }.compactMap { StandardStreams.identity(of: $0.path) }
    walk.excluded.formUnion(own)
    walk.skipsTemporaries = true
    walk.takesEverything = first.hasAllKinds && second.hasAllKinds
    return walk
  }
}
