import BatchEngine

/// How something in a folder differs from what an archive has under its name.
package struct LiveDifference: Sendable, Hashable {
  /// What kind of difference it is; of several that hold, the first one in this order.
  package enum Class: String, Sendable, Hashable, CaseIterable {
    /// In the archive, and not in the folder: nothing has the name, or only something behind a symbolic link.
    case missing
    /// In the folder, in a directory that the archive has, and not in the archive.
    case new
    /// Of another kind, such as a directory in the place of a file.
    case type
    /// The bytes of a file are others.
    case modified
    /// Mode, owner, group, extended attributes, target of a link, number of a device; or the time of what is no file.
    case metadata
    /// The time of a file alone: its bytes are the same.
    case touched
  }

  /// One thing that is not the same.
  package struct Aspect: Sendable, Hashable {
    package enum Name: String, Sendable, Hashable {
      case kind, size, sha256, mode, owner, group, mtime, xattrs, target, device
    }

    package enum Value: Sendable, Hashable {
      /// Any bytes.
      case text([UInt8])
      case time(FileStatus.Time)
    }

    package let name: Name
    package let archived: Value
    package let live: Value

    init(_ name: Name, _ archived: String, _ live: String) {
      self.init(name, archived: .text(Array(archived.utf8)), live: .text(Array(live.utf8)))
    }

    init(_ name: Name, archived: Value, live: Value) {
      self.name = name
      self.archived = archived
      self.live = live
    }
  }

  package let kind: Class
  /// Empty for what is missing or new.
  package let aspects: [Aspect]

  init(_ kind: Class, _ aspects: [Aspect] = []) {
    self.kind = kind
    self.aspects = aspects
  }
}
