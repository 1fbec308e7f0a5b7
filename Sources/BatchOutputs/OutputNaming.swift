import BatchEngine

/// Where the output of each source goes and what it is called.
package struct OutputNaming: Sendable, Hashable {
  /// Which way names are changed.
  package enum Direction: Sendable, Hashable {
    /// A suffix is added.
    case adding(suffix: PathBytes)
    /// A suffix that is known is taken off.
    case removing
  }

  /// What decompressing takes off, and what it puts in place.
  package static let suffixes: [(suffix: String, replacement: String)] = [
    (".gz", ""), (".zst", ""), (".xz", ""), (".lz4", ""), (".tgz", ".tar"), (".taz", ".tar"),
    (".tzst", ".tar"), (".txz", ".tar"), (".tlz4", ".tar"), (".z", ""), (".gzip", ""), (".bz2", ""),
    (".tbz2", ".tar"), (".tbz", ".tar"), (".lz", ""), (".lzma", ""), (".tlz", ".tar"), (".Z", ""),
    (".taZ", ".tar"),
  ]

  package let direction: Direction
  /// Mirrors the paths of the sources below this folder; nil puts each output beside its source.
  package let directory: PathBytes?

  package init(_ direction: Direction, directory: PathBytes?) {
    self.direction = direction
    self.directory = directory
  }

  /// The output of a source; nil when its name has no suffix to take off.
  package func target(of source: PathBytes) -> PathBytes? {
    let name = source.lastComponent
    let changed: [UInt8]
    switch direction {
    case .adding(let suffix):
      changed = Array(name) + suffix.bytes
    case .removing:
      guard let known = Self.knownSuffix(of: source) else { return nil }
      changed = Array(name.dropLast(known.suffix.utf8.count)) + Array(known.replacement.utf8)
    }
    let folder = source.bytes[..<name.startIndex]
    guard let directory else { return PathBytes(Array(folder) + changed) }
    return Self.mirrored(folder, below: directory).appending(changed)
  }

  /// Where a plain copy of a source goes; nil where outputs stand beside their sources.
  package func copyTarget(of source: PathBytes) -> PathBytes? {
    guard let directory else { return nil }
    let name = source.lastComponent
    return Self.mirrored(source.bytes[..<name.startIndex], below: directory).appending(Array(name))
  }

  /// Makes the folder that outputs are mirrored into, before a walk that is to leave it out.
  ///
  /// - Returns: its inode; nil without such a folder.
  /// - Throws: `unwritable` when it cannot be made.
  package func makeDirectory(by calls: any FileSystemCalls) throws(BatchError) -> FileIdentity? {
    guard let directory else { return nil }
    try FolderMaker(calls: calls).make(directory)
    return StandardStreams.identity(of: directory)
  }

  /// Whether a file is the output of an earlier run: its source stands beside it with the same time.
  package func isOutput(_ record: FileRecord, calls: any FileSystemCalls) -> Bool {
    guard directory == nil, case .adding(let suffix) = direction else { return false }
    let path = record.path
    let name = path.lastComponent
    guard name.count > suffix.bytes.count, name.suffix(suffix.bytes.count).elementsEqual(suffix.bytes) else {
      return false
    }
    guard let source = try? calls.status(of: PathBytes(path.bytes.dropLast(suffix.bytes.count))) else {
      return false
    }
    return source.kind == .regular && source.modified == record.status.modified
  }

  /// The suffix that a name would lose; nil when there is none, or nothing before it.
  package static func knownSuffix(of source: PathBytes) -> (suffix: String, replacement: String)? {
    source.bytes.withUnsafeBytes { raw in
      let name = source.lastComponent.indices
      return knownSuffix(ofName: UnsafeRawBufferPointer(rebasing: raw[name]))
    }
  }

  /// The same for a name in a folder.
  package static func knownSuffix(
    ofName name: UnsafeRawBufferPointer
  ) -> (suffix: String, replacement: String)? {
    suffixes.first {
      let suffix = $0.suffix.utf8
      return name.count > suffix.count && name.suffix(suffix.count).elementsEqual(suffix)
    }
  }

  /// A folder's path below another one.
  private static func mirrored(_ folder: ArraySlice<UInt8>, below directory: PathBytes) -> PathBytes {
    var path = directory.bytes
    path.reserveCapacity(path.count + folder.count + 1)
    let slash = UInt8(ascii: "/")
    for name in mirroredNames(of: folder) {
      if let last = path.last, last != slash { path.append(slash) }
      path += name
    }
    return PathBytes(path)
  }

  /// The names that a folder's path is mirrored by: without a leading slash, `.` and `..`, so that nothing leaves the
  /// folder that they are below.
  package static func mirroredNames(of folder: ArraySlice<UInt8>) -> [ArraySlice<UInt8>] {
    folder.split(separator: UInt8(ascii: "/")).filter { !$0.isDots }
  }
}
