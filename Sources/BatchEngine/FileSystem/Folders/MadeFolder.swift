/// How a run created a folder.
package enum MadeFolder: UInt8, Sendable {
  /// Only its owner may enter it, until it gets its mode.
  case hidden
  /// Hidden, and a folder in it inherits nothing: no access control list, no group.
  case shelter
  /// Created in a shelter with its mode. Other users cannot reach it before the shelter gets its mode.
  case final
}

/// Which folders are shelters, or were created in one.
package struct Shelters {
  /// The permissions of folders that are created in them; nil if there are no shelters.
  let permissions: UInt32?
  let contains: (ArraySlice<UInt8>) -> Bool

  /// - Parameter contains: receives the path of an existing folder.
  package init(permissions: UInt32? = nil, contains: @escaping (ArraySlice<UInt8>) -> Bool = { _ in false }) {
    self.permissions = permissions
    self.contains = contains
  }
}

extension OpenFolder {
  /// Whether a folder that this run has just created, hidden, is a shelter.
  package var isShelter: Bool {
    status.isOwn && status.mode & 0o7777 == 0o700 && listsOfNewFiles != .inherited
  }
}
