/// One folder as the walk holds it: what is in it, in order, and what is still to be looked at.
struct ScannedFolder: Sendable {
  let directory: DirectoryPath
  /// Of the folder itself; nil when it could not be opened.
  let status: FileStatus?
  let names: NameArena
  /// The first files, or all of them in a folder of ordinary size.
  let items: [WalkItem]
  /// Entries whose status is read in blocks when the walk gets there.
  let rest: ArraySlice<DirectoryEntry>
  /// The folders in it, in the order of their names.
  let subdirectories: [DirectoryEntry]
}
