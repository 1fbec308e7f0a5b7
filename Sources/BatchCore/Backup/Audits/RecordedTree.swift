import BatchEngine

/// The records of a manifest, a snapshot, an archive or a folder, in memory.
package final class RecordedTree: Sendable {
  /// The paths without dots, in tree order, each once.
  package let records: [RecordedPath]
  /// Whether it records more than files: a manifest of digests records only files.
  let hasAllKinds: Bool
  /// The common beginning of the paths, and how they are written.
  let survey: NameSurvey
  private let places: [[UInt8]: Int]

  /// - Parameter records: in any order; the last record of a path is used.
  package init(_ records: [RecordedPath], hasAllKinds: Bool) {
    var survey = NameSurvey()
    var places: [[UInt8]: Int] = [:]
    var kept = [RecordedPath]()
    for var record in records {
      guard let place = try? RelativePath(record.path) else { continue }
      survey.add(record.path, place, isFolder: record.kind == .directory)
      record.path = Self.path(place.bytes)
      if let index = places.updateValue(kept.count, forKey: place.bytes) {
        places[place.bytes] = index
        kept[index] = record
      } else {
        kept.append(record)
      }
    }
    Self.resolveLinks(&kept, places)
    kept.sort {
      TreeOrder.compare(
        $0.path.bytes, isFolder: $0.kind == .directory, $1.path.bytes, isFolder: $1.kind == .directory) < 0
    }
    self.records = kept
    self.hasAllKinds = hasAllKinds
    self.survey = survey
    self.places = Dictionary(
      kept.enumerated().map { (Self.key($1.path), $0) }, uniquingKeysWith: { _, last in last })
  }

  /// The same tree relative to a folder with which all its paths begin.
  ///
  /// - Parameter count: how many names are dropped from each path.
  package func dropping(_ count: Int) -> RecordedTree {
    guard count > 0 else { return self }
    return RecordedTree(records.compactMap { $0.dropping(count) }, hasAllKinds: hasAllKinds)
  }

  subscript(place: [UInt8]) -> RecordedPath? { places[place].map { records[$0] } }

  /// Whether two names belonged to one file.
  func areOneFile(_ first: PathBytes, _ second: PathBytes) -> Bool {
    func group(_ path: PathBytes) -> PathBytes? {
      self[Self.key(path)].map { $0.firstName ?? $0.path }
    }
    guard let one = group(first), let other = group(second) else { return true }
    return one == other
  }

  package var algorithms: Set<DigestAlgorithm> { Set(records.compactMap { $0.digest?.algorithm }) }

  static func key(_ path: PathBytes) -> [UInt8] { path == "." ? [] : path.bytes }

  static func path(_ place: [UInt8]) -> PathBytes { place.isEmpty ? "." : PathBytes(place) }

  /// Sets the content of further names to that of their files.
  private static func resolveLinks(_ records: inout [RecordedPath], _ places: [[UInt8]: Int]) {
    for index in records.indices where records[index].isHardLink {
      var record = records[index]
      guard let target = record.linkTarget.flatMap({ try? RelativePath($0) }),
        let file = places[target.bytes].map({ records[$0] }), file.kind == .regular, !file.isHardLink
      else { continue }
      record.isHardLink = false
      record.linkTarget = nil
      record.firstName = file.firstName ?? file.path
      (record.size, record.digest, record.modified, record.mode) = (
        file.size, file.digest, file.modified, file.mode
      )
      records[index] = record
    }
  }
}

extension RecordedPath {
  /// The same record without the first names of its path; nil if no name is left.
  func dropping(_ count: Int) -> RecordedPath? {
    guard count > 0 else { return self }
    func shortened(_ path: PathBytes) -> PathBytes? {
      guard let place = try? RelativePath(path) else { return nil }
      if let rest = place.dropping(count) { return PathBytes(rest.bytes) }
      let names = place.bytes.split(separator: UInt8(ascii: "/")).count
      return names == count ? "." : nil
    }
    guard let path = shortened(path) else { return nil }
    var record = self
    record.path = path
    record.firstName = firstName.flatMap(shortened)
    if isHardLink { record.linkTarget = linkTarget.flatMap(shortened) }
    return record
  }
}
