import BatchCore
import BatchEngine

/// Renders the members of an archive: names, rows like those of `tar tv`, digests, or members of an event.
struct MemberRows: Sendable {
  enum Form: Sendable {
    case names, long, digests
    /// `{"path":…,"kind":…}`.
    case members
  }

  /// The initial width of GNU tar's columns, which grows for wider values.
  private static let ownersAndSize = 19

  let form: Form
  let isNULEnded: Bool

  func append(_ listed: ListedMember, to bytes: inout [UInt8]) {
    switch form {
    case .names: append(name: shownName(of: listed), to: &bytes)
    case .long:
      appendAttributes(of: listed, to: &bytes)
      append(name: shownName(of: listed), to: &bytes)
      appendTarget(of: listed, to: &bytes)
      if let text = listed.member.flags.text { bytes += " (\(text))".utf8 }
      if listed.mark == .superseded { bytes += " (superseded)".utf8 }
      if listed.mark == .supersedes { bytes += " (supersedes an earlier member)".utf8 }
    case .digests:
      guard let digest = listed.member.digest else { return }
      appendDigest(digest, of: listed, to: &bytes)
      return
    case .members:
      appendMembers(of: listed, to: &bytes)
      return
    }
    bytes.append(isNULEnded ? 0 : UInt8(ascii: "\n"))
  }

  private func shownName(of listed: ListedMember) -> [UInt8] {
    let name = listed.member.path.bytes
    return listed.member.kind == .directory && name.last != UInt8(ascii: "/")
      ? name + [UInt8(ascii: "/")] : name
  }

  private func append(name: [UInt8], to bytes: inout [UInt8]) {
    if isNULEnded { bytes += name } else { TerminalText.append(name, to: &bytes) }
  }

  private func appendDigest(_ digest: Digest, of listed: ListedMember, to bytes: inout [UInt8]) {
    let row = ManifestRow(
      path: listed.member.path, digests: [digest], size: listed.member.size, modified: nil)
    guard let writer = try? ManifestWriter(.gnu, algorithms: [digest.algorithm], zero: isNULEnded) else {
      return
    }
    try? writer.append(row, to: &bytes)
  }

  // MARK: Long rows

  private func appendAttributes(of listed: ListedMember, to bytes: inout [UInt8]) {
    bytes.append(listed.member.kind.letter)
    let mode = listed.entry?.mode ?? 0
    for (shift, special, letters) in [(6, 0o4000, "sS"), (3, 0o2000, "sS"), (0, 0o1000, "tT")]
      as [(UInt32, UInt32, String)]
    {
      let bits = mode >> shift & 7
      let executes = bits & 1 != 0
      bytes.append(UInt8(ascii: bits & 4 != 0 ? "r" : "-"))
      bytes.append(UInt8(ascii: bits & 2 != 0 ? "w" : "-"))
      let letters = Array(letters.utf8)
      bytes.append(
        mode & special != 0 ? letters[executes ? 0 : 1] : UInt8(ascii: executes ? "x" : "-"))
    }
    let owners =
      owner(listed.entry?.ownerName, listed.entry?.owner) + [UInt8(ascii: "/")]
      + owner(listed.entry?.groupName, listed.entry?.group)
    let size = Array(sizeText(of: listed).utf8)
    bytes.append(UInt8(ascii: " "))
    bytes += owners
    let padding = max(1, Self.ownersAndSize - owners.count - size.count)
    bytes += [UInt8](repeating: UInt8(ascii: " "), count: padding)
    bytes += size
    bytes += " \(CalendarTime(listed.member.modified.seconds).text) ".utf8
  }

  private func owner(_ name: [UInt8]?, _ number: UInt32?) -> [UInt8] {
    if let name, !name.isEmpty { return TerminalText.escape(name) }
    return Array("\(number ?? 0)".utf8)
  }

  private func sizeText(of listed: ListedMember) -> String {
    switch listed.member.kind {
    case .characterDevice, .blockDevice:
      "\(listed.entry?.deviceMajor ?? 0),\(listed.entry?.deviceMinor ?? 0)"
    default: "\(listed.member.size)"
    }
  }

  private func appendTarget(of listed: ListedMember, to bytes: inout [UInt8]) {
    guard let target = listed.entry?.linkTarget else { return }
    bytes += (listed.member.kind == .hardLink ? " link to " : " -> ").utf8
    append(name: target.bytes, to: &bytes)
  }

  // MARK: Events

  private func appendMembers(of listed: ListedMember, to bytes: inout [UInt8]) {
    JSONLine.append(to: &bytes) { line in
      line.add(path: listed.member.path)
      line.add("kind", listed.member.kind.word)
      line.add("size", listed.member.size)
      line.add("mtime", time: listed.member.modified)
      if let entry = listed.entry {
        line.add("mode", String(entry.mode, radix: 8))
        line.add("uid", entry.owner)
        line.add("gid", entry.group)
        line.add(path: PathBytes(entry.ownerName), as: "user")
        line.add(path: PathBytes(entry.groupName), as: "group")
        if let target = entry.linkTarget { line.add(path: target, as: "target") }
      }
      line.add(listed.member.flags)
      if listed.mark == .superseded { line.add("superseded", true) }
      if listed.mark == .supersedes { line.add("supersedes", true) }
      if let digest = listed.member.digest { line.add("sha256", digest.hex) }
    }
  }
}
