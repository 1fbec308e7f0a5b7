import BatchCore
import BatchEngine

/// Advice when a directory of snapshots was given to a command that expects something else.
enum SetHint {
  static func isSet(_ path: PathBytes, in run: RunContext) -> Bool {
    path != "-" && BackupSet.isPresent(in: path, calls: run.calls)
  }

  /// For `audit`: a snapshot is compared by its manifest.
  static func audit(_ set: PathBytes, in run: RunContext) -> Remedy {
    // The plain file beside the first compressed manifest, with the same stamp, is no snapshot: see `SnapshotName.marker`.
    let newest = (try? run.calls.names(in: set))?.filter {
      SnapshotName.of($0)?.manifest == $0
    }.max {
      (SnapshotName.of($0)?.stamp ?? "", $0.bytes.count) < (SnapshotName.of($1)?.stamp ?? "", $1.bytes.count)
    }
    let name = TerminalText.string(set.appending((newest ?? "SET-ID.manifest").bytes).bytes)
    return .advice("compare a snapshot: 'batchproc audit \(name) /'")
  }

  /// For a remote that was given to a command that reads local directories only; nil for anything else.
  static func remote(_ path: PathBytes, to command: CommandID) -> BatchError? {
    guard BackupTarget.isRemote(path), (try? path.status()) == nil else { return nil }
    let name = TerminalText.string(path.bytes)
    let advice =
      switch command {
      case .verify:
        "to read all of the remote: 'batchproc drill --all \(name)'; to compare its files with those of a directory: 'batchproc copy --checksum DIRECTORY \(name)'"
      case .prune:
        "to remove copies there: 'batchproc copy --copy-keep-last N DIRECTORY \(name)', with the directory from which they were copied"
      case .report: "to list the remote: 'batchproc snapshots \(name)'; a report is about a local directory"
      default:
        "a copy is made from a local directory; to get files back: 'batchproc restore --from \(name) -C DIR'"
      }
    return BatchError(
      .invalid, "is a remote, which only snapshots, restore, drill and (as the target) copy can use",
      path: path,
      remedy: .advice(advice))
  }

  /// For the manifest of a snapshot that was given instead of its archive.
  static func manifest(_ path: PathBytes) -> BatchError? {
    guard let name = SnapshotName.of(path), !name.isEncrypted,
      path.lastComponent.elementsEqual(name.manifest.bytes)
    else { return nil }
    let archive = TerminalText.string(path.parent.appending(name.archive.bytes).bytes)
    let set = TerminalText.string(path.parent.bytes)
    return BatchError(
      .invalid, "is the manifest of a snapshot, not an archive", path: path,
      remedy: .advice(
        "to read its archive: 'batchproc verify \(archive)'; all of the set: 'batchproc verify \(set)'"))
  }

  /// For a directory that was given instead of a file.
  static func file(_ path: PathBytes, in run: RunContext) -> BatchError? {
    guard path != "-", (try? path.status(followingLinks: true))?.kind == .directory else { return nil }
    let name = TerminalText.string(path.bytes)
    return BatchError(
      .invalid, isSet(path, in: run) ? "is a directory of snapshots" : "is a directory", path: path,
      remedy: isSet(path, in: run)
        ? .advice(
          "to read all of a set: 'batchproc verify \(name)'; to restore a sample: 'batchproc drill \(name)'")
        : .advice("to compare two directories: 'batchproc audit DIR1 DIR2'"))
  }
}
