/// The outputs that a run has met so far: none is given to two sources.
///
/// Asked by the one thread that admits sources, in tree order. Within one operand no two sources that are
/// compressed have one output, so that a run with a single operand keeps no account.
struct OutputClaims {
  /// What a source finds out about its output.
  enum Answer {
    case granted
    /// The same file came before, by another operand.
    case repeated
    case refused(BatchError)
  }

  /// The first source of each output, both as hashes: a million of them take 32 MB.
  private var sources: [Int: Int] = [:]

  mutating func claim(_ target: PathBytes, for source: FileRecord) -> Answer {
    let path = Self.plain(target)
    guard let first = sources.updateValue(source.status.identity.hashValue, forKey: path.hashValue) else {
      return .granted
    }
    sources[path.hashValue] = first
    if first == source.status.identity.hashValue { return .repeated }
    return .refused(
      BatchError(.invalid, "has the same output as another source: \(target)", path: source.path))
  }

  /// Without the `.` and the slashes that lead nowhere.
  private static func plain(_ path: PathBytes) -> PathBytes {
    let names = path.bytes.split(separator: UInt8(ascii: "/")).filter { !$0.elementsEqual(".".utf8) }
    return PathBytes(Array((path.isAbsolute ? "/" : "").utf8) + names.joined(separator: [UInt8(ascii: "/")]))
  }
}
