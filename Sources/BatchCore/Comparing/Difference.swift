import BatchEngine

/// How the file at a path differs from its record.
package struct Difference: Sendable, Hashable {
  /// What kind of difference it is. A comparison reports the first of these that applies; ``moved`` and ``copied`` are
  /// determined later, from the digests of all missing and new files.
  package enum Class: String, Sendable, Hashable, CaseIterable {
    /// Recorded, but not found: nothing has the name, or the path leads through a symbolic link.
    case missing
    /// Found in a recorded directory, but not recorded.
    case new
    /// The content of a missing file under a new name.
    case moved
    /// The content of an existing recorded file under a new name.
    case copied
    /// Another kind, such as a directory instead of a file.
    case type
    /// The content of a file has changed, but its size and time have not.
    case rot
    /// The content of a file has changed.
    case modified
    /// Mode, owner, group, extended attributes, target of a link, number of a device; or the time of anything but a file.
    case metadata
    /// Only the time of a file has changed; its content is the same.
    case touched
  }

  /// One property that differs.
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
  /// Empty for a missing or new path.
  package let aspects: [Aspect]

  package init(_ kind: Class, _ aspects: [Aspect] = []) {
    self.kind = kind
    self.aspects = aspects
  }
}
