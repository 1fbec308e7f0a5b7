import BatchEngine

/// How what lies under a path differs from what a record has of it.
package struct Difference: Sendable, Hashable {
  /// What kind of difference it is. One comparison finds the first in this order that holds; ``moved`` and ``copied`` are
  /// found later, from the digests of all missing and new files.
  package enum Class: String, Sendable, Hashable, CaseIterable {
    /// Recorded, and not there: nothing has the name, or only something behind a symbolic link.
    case missing
    /// There, in a directory that is recorded, and not recorded.
    case new
    /// The content of a file that is missing, under a name that is new.
    case moved
    /// The content of a file that is still there, under a name that is new.
    case copied
    /// Of another kind, such as a directory in the place of a file.
    case type
    /// The bytes of a file are others, while size and time are the recorded ones.
    case rot
    /// The bytes of a file are others.
    case modified
    /// Mode, owner, group, extended attributes, target of a link, number of a device; or the time of anything but a file.
    case metadata
    /// The time of a file alone: its bytes are the same.
    case touched
  }

  /// One thing that is not the same.
  package struct Aspect: Sendable, Hashable {
    package enum Name: String, Sendable, Hashable {
      case kind, size, content, mode, owner, group, mtime, xattrs, target, device
    }

    package enum Value: Sendable, Hashable {
      /// Any bytes.
      case text([UInt8])
      case number(UInt64)
      case time(FileStatus.Time)
      case digest(Digest)
    }

    package let name: Name
    package let recorded: Value
    package let live: Value

    init(_ name: Name, _ recorded: Value, _ live: Value) {
      self.name = name
      self.recorded = recorded
      self.live = live
    }

    init(_ name: Name, _ recorded: String, _ live: String) {
      self.init(name, .text(Array(recorded.utf8)), .text(Array(live.utf8)))
    }
  }

  package let kind: Class
  /// Empty for what is missing or new.
  package let aspects: [Aspect]

  package init(_ kind: Class, _ aspects: [Aspect] = []) {
    self.kind = kind
    self.aspects = aspects
  }
}
