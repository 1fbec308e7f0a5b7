import BatchEngine

/// The outputs of a run so far, to prevent two sources from having one output.
///
/// Used by the one thread that admits sources, in tree order. Within one operand two compressed sources never have the same
/// output, so a run with a single operand stores nothing.
package struct OutputClaims {
  /// The result for the output of one source.
  package enum Answer {
    case granted
    /// The same file came earlier, through another operand.
    case repeated
    case refused(BatchError)
  }

  /// The first source of each output, both as hashes: a million entries take 32 MB.
  private var sources: [Int: Int] = [:]
  /// The last folder, as given and resolved.
  private var folder: (given: PathBytes, real: PathBytes)?

  package init() {}

  package mutating func claim(_ target: PathBytes, for source: FileRecord) -> Answer {
    let path = realPath(of: target)
    guard let first = sources.updateValue(source.status.identity.hashValue, forKey: path.hashValue) else {
      return .granted
    }
    sources[path.hashValue] = first
    if first == source.status.identity.hashValue { return .repeated }
    return .refused(Self.conflict(of: source, target))
  }

  /// Whether an output belongs to a source already.
  package mutating func contain(_ target: PathBytes) -> Bool {
    !sources.isEmpty && sources[realPath(of: target).hashValue] != nil
  }

  /// Why a source does not get an output that belongs to another one.
  package static func conflict(of source: FileRecord, _ target: PathBytes) -> BatchError {
    BatchError(.invalid, "has the same output as another source: \(target)", path: source.path)
  }

  /// The output with its folder resolved: operands may reach one folder through different links.
  private mutating func realPath(of target: PathBytes) -> PathBytes {
    let given = target.parent
    if folder?.given != given { folder = (given, Self.real(given)) }
    return (folder?.real ?? given).appending(target.lastComponent)
  }

  /// A missing folder will be created, so it is not a link.
  private static func real(_ folder: PathBytes) -> PathBytes {
    let resolved = try? folder.resolved()
    let parent = folder.parent
    guard resolved == nil, parent != folder else { return resolved ?? folder }
    return real(parent).appending(folder.lastComponent)
  }
}
