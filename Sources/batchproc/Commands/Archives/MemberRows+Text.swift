import BatchCore
import BatchEngine

extension MemberFlags {
  /// The remark in a row about a member that changed or is incomplete; nil for others.
  var text: String? {
    switch (contains(.changed), contains(.incomplete)) {
    case (true, true): "changed while it was read, incomplete"
    case (true, false): "changed while it was read"
    case (false, true): "could not be read wholly, incomplete"
    case (false, false): nil
    }
  }
}

extension JSONLine {
  /// Adds `"changed":true` and `"incomplete":true`, if they apply.
  mutating func add(_ flags: MemberFlags) {
    if flags.contains(.changed) { add("changed", true) }
    if flags.contains(.incomplete) { add("incomplete", true) }
  }
}

extension ArchiveEntry.Kind {
  /// The first letter of a row as in `ls -l`; for hard links as in tar.
  var letter: UInt8 {
    switch self {
    case .file: UInt8(ascii: "-")
    case .directory: UInt8(ascii: "d")
    case .symbolicLink: UInt8(ascii: "l")
    case .hardLink: UInt8(ascii: "h")
    case .fifo: UInt8(ascii: "p")
    case .characterDevice: UInt8(ascii: "c")
    case .blockDevice: UInt8(ascii: "b")
    }
  }
}

extension Session {
  /// Reports the members that were written to an archive.
  func tell(_ members: [ArchivedMember]) throws(BatchError) {
    advanced(members.count)
    if let events {
      for member in members {
        try events.write("file") { line in
          line.add(path: member.path)
          line.add("kind", member.kind.word)
          line.add("size", Int64(clamping: member.size))
          line.add(member.flags)
          if let digest = member.digest { line.add("sha256", digest.hex) }
        }
      }
    } else if common.verbose {
      for member in members { diagnostics.print(TerminalText.string(member.path.bytes)) }
    }
  }
}
