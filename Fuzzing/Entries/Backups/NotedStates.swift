@testable import BatchCore
@testable import BatchEngine

/// A file in memory that holds the input.
private nonisolated(unsafe) let file = InputFile(isNamed: true)

/// Small state files of the program, and output of other programs: drills, devices, known sets, identities of
/// sets, names of snapshots, lists of rclone, lists of paths.
func fuzzNotedStates(_ start: UnsafePointer<UInt8>, _ count: Int) {
  guard count > 1 else { return }
  let bytes = Array(UnsafeBufferPointer(start: start + 1, count: count - 1))
  let path = PathBytes(file.path)
  switch start[0] % 7 {
  case 0:
    guard hold(bytes), let state = try? DrillState(path) else { return }
    let lines = state.lines
    guard hold(lines), let again = try? DrillState(path) else {
      preconditionFailure("a state that cannot be read again")
    }
    precondition(again.lines == lines && again.suspects == state.suspects, "another state")
  case 1:
    let devices = SavedDevices(bytes)
    precondition(SavedDevices(devices.content) == devices, "other devices")
    precondition(devices.numbers.values.allSatisfy { $0 > 0 }, "a concurrency of none")
  case 2:
    guard hold(bytes), let targets = try? KnownTargets(readingAt: path) else { return }
    for (folder, ids) in targets.ids {
      precondition(!folder.containsNUL && ids.allSatisfy { SetID.isValid($0.utf8) }, "no set")
    }
  case 3:
    guard hold(bytes), let id = SetID.read(path) else { return }
    precondition(SetID.isValid(id.utf8), "no identity")
  case 4:
    guard let name = SnapshotName.of(PathBytes(bytes)) else { return }
    let file = PathBytes(PathBytes(bytes).lastComponent)
    precondition([name.archive, name.manifest].contains(file), "the snapshot of another file")
  case 5:
    let files = RcloneRemote.files(bytes)
    precondition(files.count <= bytes.count, "more files than bytes")
    precondition(files.keys.allSatisfy { !$0.bytes.contains(UInt8(ascii: "\n")) }, "a name of two lines")
  default: list(bytes, path)
  }
}

private func hold(_ bytes: [UInt8]) -> Bool { bytes.withUnsafeBytes { file.hold($0) } }

/// The paths are the bytes between line ends; only a NUL ends an empty path.
private func list(_ bytes: [UInt8], _ path: PathBytes) {
  guard hold(bytes) else { return }
  for isNULEnded in [true, false] {
    let run = RunContext()
    let found = Array(
      PathList(path, isNULEnded: isNULEnded, cancellation: run.cancellation, calls: run.calls))
    let end: UInt8 = isNULEnded ? 0 : UInt8(ascii: "\n")
    var expected = bytes.split(separator: end, omittingEmptySubsequences: !isNULEnded).map { PathBytes($0) }
    if isNULEnded, expected.last?.isEmpty == true { expected.removeLast() }
    precondition(found == expected, "other paths")
  }
}
