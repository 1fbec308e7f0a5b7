/// One scanned folder: its entries in order, and those that are still to be examined.
struct ScannedFolder: Sendable {
  package let directory: DirectoryPath
  /// The status of the folder itself; nil when it could not be opened.
  package let status: FileStatus?
  package let names: NameArena
  /// The first files, or all of them in a folder of ordinary size.
  package let items: [Walked]
  /// Entries whose status is read in blocks when the walk reaches them.
  package let rest: ArraySlice<DirectoryEntry>
  /// Its subfolders, in the order of their names.
  let subdirectories: [DirectoryEntry]
  /// How many of the examined entries the options left out.
  var filteredCount = 0
  /// The first subfolders, if they were scanned with it.
  var scanned: [ScannedFolder] = []
}
