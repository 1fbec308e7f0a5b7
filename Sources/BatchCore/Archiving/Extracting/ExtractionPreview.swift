import BatchEngine
import Glibc

/// What an extraction would do about a member, as far as what is in its target tells now; nothing is changed.
package struct ExtractionPreview: Sendable {
  package enum Outcome: String, Sendable {
    case made
    /// A file of the name gives way.
    case replaced
    /// What has the name stays.
    case kept
  }

  private let directory: PathBytes
  private let selection: MemberSelection
  private let overwriting: ExtractionOptions.Overwriting

  package init(
    into directory: PathBytes, selection: MemberSelection, overwriting: ExtractionOptions.Overwriting
  ) {
    self.directory = directory
    self.selection = selection
    self.overwriting = overwriting
  }

  /// Where a member would go and what would become of it; nil where nothing is made of it.
  package func outcome(of member: ListedMember) -> (path: PathBytes, outcome: Outcome)? {
    guard !member.isSuperseded, let place = selection.place(of: member.path), !place.bytes.isEmpty else {
      return nil
    }
    let path = directory == "." ? PathBytes(place.bytes) : directory.appending(place.bytes)
    var raw = stat()
    guard path.withCString({ lstat($0, &raw) }) == 0 else { return (path, .made) }
    let there = FileStatus(raw)
    // A folder that is there takes what is below it.
    if member.kind == .directory, there.kind == .directory { return (path, .kept) }
    let gives =
      switch overwriting {
      case .never: false
      case .newer: there.modified.isBefore(member.modified)
      case .always: true
      }
    return (path, gives && there.kind != .directory ? .replaced : .kept)
  }
}
