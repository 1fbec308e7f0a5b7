import BatchEngine
import Synchronization

/// The ten names that took longest, of any number of names.
struct SlowestTimes: Sendable {
  struct Entry: Sendable, Equatable {
    let path: PathBytes
    var duration: Duration
    /// How many files, for a folder.
    var files = 1

    var seconds: Double { duration / .seconds(1) }
  }

  static let most = 10
  /// The longest first.
  private var entries: [Entry] = []

  /// Adds a name that occurs only once.
  mutating func add(_ entry: Entry) {
    guard entries.count < Self.most || entry.duration > entries[Self.most - 1].duration else { return }
    if entries.count == Self.most { entries.removeLast() }
    entries.insert(entry, at: entries.firstIndex { $0.duration < entry.duration } ?? entries.count)
  }

  /// - Parameter last: one more entry, which may still get longer.
  func all(with last: Entry? = nil) -> [Entry] {
    guard let last else { return entries }
    var more = self
    more.add(last)
    return more.entries
  }
}

/// How long folders took, as the sum of the files directly in them.
///
/// The files of a folder follow each other in a tree. If they do not, as in a list, a limited number of folders is
/// distinguished, and the quickest ones are dropped.
struct FolderTimes: Sendable {
  static let room = 1024
  private var entries: [PathBytes: SlowestTimes.Entry] = [:]

  mutating func add(_ folder: PathBytes, _ duration: Duration, isNewFile: Bool) {
    if entries[folder] == nil, entries.count >= Self.room { forgetQuickest() }
    entries[folder, default: .init(path: folder, duration: .zero, files: 0)].duration += duration
    if isNewFile { entries[folder]?.files += 1 }
  }

  private mutating func forgetQuickest() {
    let kept = entries.values.sorted { $0.duration > $1.duration }.prefix(Self.room / 2)
    entries = Dictionary(uniqueKeysWithValues: kept.map { ($0.path, $0) })
  }

  var slowest: [SlowestTimes.Entry] {
    var slowest = SlowestTimes()
    for entry in entries.values.sorted(by: { $0.path < $1.path }) { slowest.add(entry) }
    return slowest.all()
  }
}

/// The slowest files and folders of a run.
final class FileTimes: FileTimeObserver {
  private struct State {
    var files = SlowestTimes()
    /// The last file, of which further parts may follow.
    var last: SlowestTimes.Entry?
    var folders = FolderTimes()
  }

  private let state = Mutex(State())

  func took(_ times: [FileTime]) {
    state.withLock { state in
      for time in times {
        let isNew = state.last?.path != time.path
        state.folders.add(time.path.parent, time.duration, isNewFile: isNew)
        if isNew {
          if let last = state.last { state.files.add(last) }
          state.last = .init(path: time.path, duration: time.duration)
        } else {
          state.last?.duration += time.duration
        }
      }
    }
  }

  var slowestFiles: [SlowestTimes.Entry] { state.withLock { $0.files.all(with: $0.last) } }
  var slowestFolders: [SlowestTimes.Entry] { state.withLock { $0.folders.slowest } }

  /// Files that take less time, in seconds, are not slow.
  static let least = 0.1

  /// Text lines; empty if nothing was slow.
  var lines: [String] {
    func block(_ title: String, _ entries: [SlowestTimes.Entry]) -> [String] {
      let slow = entries.filter { $0.seconds >= Self.least }
      guard !slow.isEmpty else { return [] }
      return [title]
        + slow.map { entry in
          let time = DurationText.text(seconds: entry.seconds).leading(to: 9)
          return "\(time)  \(TerminalText.string(entry.path.bytes))"
        }
    }
    return block("slowest files:", slowestFiles)
      + block("slowest folders, by the files directly in them:", slowestFolders)
  }
}
