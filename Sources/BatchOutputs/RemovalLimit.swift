import BatchEngine

/// How many files a run may remove from a target that it makes equal to a source.
///
/// Without a number, half of the files below each source: more are probably removed by mistake.
package struct RemovalLimit: Sendable, Hashable {
  /// Files of the target below a source, and those that would be removed.
  package struct Census: Sendable, Hashable {
    package var files = 0
    package var doomed = 0

    package init(files: Int = 0, doomed: Int = 0) { (self.files, self.doomed) = (files, doomed) }
  }

  /// Nil for half of the files below each source.
  private let mostFiles: Int?

  /// - Parameter mostFiles: the most files that may be removed below all sources, where less than 0 counts as 0; nil for half of
  ///   the files below each source.
  package init(mostFiles: Int? = nil) { self.mostFiles = mostFiles.map { max(0, $0) } }

  /// Judges what would be removed, before the first removal.
  ///
  /// - Parameters:
  ///   - censuses: one for each source, with its place in the target. The error names the first one with too many.
  ///   - target: the folder of all places.
  /// - Throws: `invalid` if more files would be removed than is allowed.
  package func check(
    _ censuses: [(path: PathBytes, census: Census)], in target: PathBytes
  ) throws(BatchError) {
    let doomed = censuses.reduce(0) { $0 + $1.census.doomed }
    let (path, excess): (PathBytes, String)
    if let mostFiles {
      guard doomed > mostFiles else { return }
      (path, excess) = (target, "\(doomed) files would be, more than \(mostFiles)")
    } else {
      guard let first = censuses.first(where: { $0.census.doomed > $0.census.files / 2 }) else { return }
      let census = first.census
      (path, excess) = (first.path, "\(census.doomed) of \(census.files) files would be, more than half")
    }
    throw BatchError(.invalid, "nothing was removed: \(excess)", path: path, remedy: .removeUpTo(doomed))
  }
}
