import BatchEngine

/// The recovery data of the files at a remote.
struct RemoteParity {
  private let names: OwnParity.Names
  /// Nil for a remote of which the files are not read: there the names decide.
  private let folder: SetParity?

  /// - Parameter files: the files of the remote.
  init(at remote: any Remote, _ files: [PathBytes: UInt64], in run: RunContext) throws(BatchError) {
    names = OwnParity.Names(Array(files.keys))
    folder =
      names.protected.isEmpty
      ? nil
      : try (remote as? FolderRemote).map { (folder) throws(BatchError) in
        try SetParity(folder.place, in: run)
      }
  }

  /// The names of the recovery data of a file.
  func names(of file: PathBytes) throws(BatchError) -> [PathBytes] {
    let named = names[file]
    guard !named.isEmpty, let folder else { return named }
    return try folder.own(file).names
  }
}
