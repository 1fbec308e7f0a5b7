/// One scanned folder: its entries in order, and those that are still to be examined.
struct ScannedFolder: Sendable {
  package let directory: DirectoryPath
  /// Of the folder itself; nil when it could not be opened.
  package let status: FileStatus?
  package let names: NameArena
  /// The first files, or all of them in a folder of ordinary size.
  package let items: [WalkItem]
  /// Entries whose status is read in blocks when the walk gets there.
  package let rest: ArraySlice<DirectoryEntry>
  /// The folders in it, in the order of their names.
  let subdirectories: [DirectoryEntry]
  /// How many entries the options left out, as far as they were looked at.
  var filteredCount = 0
  /// The first of the folders in it, where they were scanned along with it.
  var scanned: [ScannedFolder] = []
}
