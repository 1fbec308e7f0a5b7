import BatchEngine

/// The folder and the name of the output of each source.
package struct OutputNaming: Sendable, Hashable {
  /// How names are changed.
  package enum Direction: Sendable, Hashable {
    /// A suffix is added.
    case adding(suffix: PathBytes)
    /// The suffix of a name is replaced if it is one of these.
    case removing([KnownSuffix])
    /// The part of a name from its last dot is replaced; a dot at the beginning does not count.
    case replacing(suffix: PathBytes)
  }

  package let direction: Direction
  /// Mirrors the paths of the sources below this folder; nil puts each output beside its source.
  package let directory: PathBytes?

  package init(_ direction: Direction, directory: PathBytes?) {
    self.direction = direction
    self.directory = directory
  }

  /// Whether outputs have marks (``OutputMark``), so that later runs may replace them.
  package var marksOutputs: Bool { if case .adding = direction { true } else { false } }

  /// The output of a source; nil when its name has no known suffix.
  package func target(of source: PathBytes) -> PathBytes? {
    let name = source.lastComponent
    let changed: [UInt8]
    switch direction {
    case .adding(let suffix):
      changed = Array(name) + suffix.bytes
    case .replacing(let suffix): changed = Array(Self.stem(of: name)) + suffix.bytes
    case .removing(let suffixes):
      guard let known = suffixes.first(of: source) else { return nil }
      changed = Array(name.dropLast(known.suffix.utf8.count)) + Array(known.replacement.utf8)
    }
    let folder = source.bytes[..<name.startIndex]
    guard let directory else { return PathBytes(Array(folder) + changed) }
    return Self.mirrored(folder, below: directory).appending(changed)
  }

  /// A name without its last suffix.
  package static func stem(of name: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    guard let dot = name.lastIndex(of: UInt8(ascii: ".")), dot > name.startIndex else { return name }
    return name[..<dot]
  }

  /// Whether several files of one folder can have one output.
  package var mayJoin: Bool { if case .adding = direction { false } else { true } }

  /// The suffixes that are replaced; empty if one is added.
  var knownSuffixes: [KnownSuffix] {
    if case .removing(let suffixes) = direction { suffixes } else { [] }
  }

  /// The path of an uncompressed copy of a source; nil if outputs are beside their sources.
  package func copyTarget(of source: PathBytes) -> PathBytes? {
    guard let directory else { return nil }
    let name = source.lastComponent
    return Self.mirrored(source.bytes[..<name.startIndex], below: directory).appending(Array(name))
  }

  /// Creates the output directory before a walk that must exclude it.
  ///
  /// - Returns: its inode; nil without an output directory.
  /// - Throws: `unwritable` when it cannot be created.
  package func makeDirectory(by calls: any FileSystemCalls) throws(BatchError) -> FileIdentity? {
    guard let directory else { return nil }
    try FolderMaker(calls: calls).make(directory)
    return StandardStreams.identity(of: directory)
  }

  /// Whether a file is the output of an earlier run: its source is beside it and has the same time.
  package func isOutput(_ record: FileRecord, calls: any FileSystemCalls) -> Bool {
    guard directory == nil, let path = pathWithoutSuffix(record.path),
      let source = try? calls.status(of: path)
    else { return false }
    return source.kind == .regular && source.modified == record.status.modified
  }

  /// Whether a file beside a source may have an output with the name of the source's copy.
  package func hasRival(copyOf record: FileRecord, calls: any FileSystemCalls) -> Bool {
    guard let path = pathWithoutSuffix(record.path) else { return false }
    // If links are followed, they are sources too.
    return (try? calls.status(of: path, followingLinks: record.followsLinks))?.kind == .regular
  }

  /// The path without the suffix that is added; nil if its name does not have it, or consists of it.
  package func pathWithoutSuffix(_ path: PathBytes) -> PathBytes? {
    guard case .adding(let suffix) = direction else { return nil }
    let (name, count) = (path.lastComponent, suffix.bytes.count)
    guard name.count > count, name.suffix(count).elementsEqual(suffix.bytes) else { return nil }
    return PathBytes(path.bytes.dropLast(count))
  }

  /// The path of a folder, mirrored below another one.
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

  /// The names of a folder's mirrored path: without a leading slash, `.` and `..`, so that it cannot leave the output
  /// directory.
  package static func mirroredNames(of folder: ArraySlice<UInt8>) -> [ArraySlice<UInt8>] {
    folder.split(separator: UInt8(ascii: "/")).filter { !$0.isDots }
  }
}

/// A suffix of source names, and its replacement in output names.
package struct KnownSuffix: Sendable, Hashable {
  /// With its dot.
  package let suffix: String
  package let replacement: String

  package init(_ suffix: String, replacement: String) {
    self.suffix = suffix
    self.replacement = replacement
  }
}

extension [KnownSuffix] {
  /// The known suffix of a name; nil when it has no known suffix, or consists of the suffix alone.
  package func first(of source: PathBytes) -> KnownSuffix? {
    source.bytes.withUnsafeBytes { raw in
      first(ofName: UnsafeRawBufferPointer(rebasing: raw[source.lastComponent.indices]))
    }
  }

  /// The first suffix that a name in a folder has.
  func first(ofName name: UnsafeRawBufferPointer) -> KnownSuffix? {
    first {
      let suffix = $0.suffix.utf8
      return name.count > suffix.count && name.suffix(suffix.count).elementsEqual(suffix)
    }
  }
}
