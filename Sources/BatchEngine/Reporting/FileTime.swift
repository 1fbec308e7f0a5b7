/// How long a lane processed one file, or a part of it.
package struct FileTime: Sendable, Hashable {
  package let path: PathBytes
  package let duration: Duration

  package init(_ path: PathBytes, _ duration: Duration) {
    self.path = path
    self.duration = duration
  }
}

/// Receives how long files take; without an observer no clock is read for a file.
package protocol FileTimeObserver: Sendable {
  /// Called one at a time, in the order of the results: parts of one file follow each other.
  func took(_ times: [FileTime])
}
