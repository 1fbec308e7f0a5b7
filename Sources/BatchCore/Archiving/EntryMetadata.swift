import CLinux
import Glibc

/// Gives what was unpacked its owner, mode, attributes and time, by descriptor.
struct EntryMetadata {
  /// What could not be set, or was not set on purpose.
  struct Losses: OptionSet, Hashable, Sendable {
    let rawValue: UInt8

    static let owner = Losses(rawValue: 1)
    static let mode = Losses(rawValue: 2)
    static let attributes = Losses(rawValue: 4)
    static let time = Losses(rawValue: 8)
    /// Setuid, setgid, capabilities: left out since nobody asked for them.
    static let privileges = Losses(rawValue: 16)
  }

  private static let privilegeBits: UInt32 = 0o6000
  /// UTIME_OMIT, a macro that Swift does not import: the time of access stays.
  private static let timeToLeave = (1 << 30) - 2
  private static let userNamespace = Array("user.".utf8)

  let entry: ArchiveEntry
  let options: ExtractionOptions
  let owners: OwnerNumbers

  /// Sets all of it on an open file or folder: the owner first, because changing it clears bits of the mode;
  /// attributes before a mode that may forbid to write them; and the time last.
  ///
  /// - Parameter given: what it has already, where that is known; it is not set again.
  func apply(to descriptor: Int32, having given: FileStatus? = nil) -> Losses {
    var losses = Losses()
    if options.restoresOwner {
      let (user, group) = owners.owner(of: entry, numeric: options.usesNumericOwner)
      let isGiven = given?.owner == user && given?.group == group
      if !isGiven, fchown(descriptor, user, group) != 0 { losses.insert(.owner) }
    }
    if options.restoresAttributes { applyAttributes(to: descriptor, &losses) }
    let mode = mode(&losses)
    // An access control list may have changed what was given.
    let hasMode = entry.attributes.isEmpty && given.map { $0.mode & 0o7777 } == mode
    if !hasMode, fchmod(descriptor, mode) != 0 { losses.insert(.mode) }
    let times = [timespec(tv_sec: 0, tv_nsec: Self.timeToLeave), time]
    if futimens(descriptor, times) != 0 { losses.insert(.time) }
    return losses
  }

  /// The same for what cannot be opened, below a descriptor that stands for its folder.
  ///
  /// - Parameter hasMode: false for symbolic links, which have none.
  func apply(to name: PathBytes, in folder: Int32, hasMode: Bool) -> Losses {
    var losses = Losses()
    name.withCString { pointer in
      if options.restoresOwner {
        let (user, group) = owners.owner(of: entry, numeric: options.usesNumericOwner)
        if fchownat(folder, pointer, user, group, AT_SYMLINK_NOFOLLOW) != 0 { losses.insert(.owner) }
      }
      if hasMode {
        let flags = clinux_o_path | O_NOFOLLOW | O_CLOEXEC
        let opened = Int32(truncatingIfNeeded: retrying { Int(clinux_openat(folder, pointer, flags, 0)) })
        if opened < 0 || clinux_chmod_path_descriptor(opened, mode(&losses)) != 0 { losses.insert(.mode) }
        if opened >= 0 { _ = Glibc.close(opened) }
      }
      let times = [timespec(tv_sec: 0, tv_nsec: Self.timeToLeave), time]
      if utimensat(folder, pointer, times, AT_SYMLINK_NOFOLLOW) != 0 { losses.insert(.time) }
    }
    return losses
  }

  /// What of the mode a new file can be asked for with, so that its attributes can be set.
  var permissions: UInt32 { entry.attributes.isEmpty ? entry.mode & 0o777 : 0o600 }

  private func mode(_ losses: inout Losses) -> mode_t {
    guard !options.restoresPrivileges else { return mode_t(entry.mode & 0o7777) }
    if entry.mode & Self.privilegeBits != 0 { losses.insert(.privileges) }
    return mode_t(entry.mode & 0o1777)
  }

  private var time: timespec {
    timespec(tv_sec: Int(entry.modified.seconds), tv_nsec: Int(entry.modified.nanoseconds))
  }

  private func applyAttributes(to descriptor: Int32, _ losses: inout Losses) {
    for attribute in entry.attributes.listsLast {
      let isHarmless = attribute.name.starts(with: Self.userNamespace) || attribute.isList
      guard isHarmless || options.restoresPrivileges else {
        losses.insert(.privileges)
        continue
      }
      let name = PathBytes(attribute.name)
      guard !name.containsNUL else { continue }
      let result = name.withCString { name in
        attribute.value.withUnsafeBytes { value in
          clinux_fsetxattr(descriptor, name, value.baseAddress, value.count)
        }
      }
      if result != 0 { losses.insert(.attributes) }
    }
  }
}
