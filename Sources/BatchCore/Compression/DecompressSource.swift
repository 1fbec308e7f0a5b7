import BatchEngine
import BatchOutputs

/// The files of a tree for a run that decompresses them: no two files get one output, and a file with several names is decoded
/// once.
package struct DecompressSource: BatchSource {
  private var tree: TreeSource
  package let asked: AskedItems<DecompressItem>? = AskedItems(isOrdered: false)
  private let naming: OutputNaming
  private var claims: OutputClaims?
  private var firstNames: [FileIdentity: FirstLink] = [:]
  /// The rivals in the folder of the last source.
  private var rivals: OutputRivals?
  /// The places where several operands in one folder have the same output; nil if not all operands are known.
  private let shared: Set<Place>?
  /// Whether the last file of the tree may have a rival, from a plan; nil if that must be determined here.
  private let planned: (() -> Bool)?

  private struct Place: Hashable {
    let folder: FileIdentity?
    let output: [UInt8]

    init(of source: PathBytes, _ target: PathBytes) {
      folder = StandardStreams.identity(of: source.parent)
      output = Array(target.lastComponent)
    }
  }

  /// - Parameters:
  ///   - operands: nil if unknown; two operands can lead to one output.
  ///   - planned: whether a file beside the last one may have the same output; for a tree from a plan.
  package init(
    _ tree: TreeSource, operands: [PathBytes]?, naming: OutputNaming, planned: (() -> Bool)? = nil
  ) {
    self.tree = tree
    self.planned = planned
    self.naming = naming
    claims = operands?.count == 1 ? nil : OutputClaims()
    shared = operands.map { operands in
      guard operands.count > 1 else { return [] }
      let places = operands.compactMap { source in naming.target(of: source).map { Place(of: source, $0) } }
      return Set(Dictionary(grouping: places) { $0 }.filter { $0.value.count > 1 }.keys)
    }
  }

  package mutating func next() -> Yielded<DecompressItem, Never>? {
    while let walked = tree.next() {
      switch walked {
      case .item(.standardInput): return .item(.standardInput)
      case .problem(let problem): return .problem(problem)
      case .item(.file(let record)):
        guard let target = naming.target(of: record.path) else { return .item(.other(record)) }
        switch claims?.claim(target, for: record) ?? .granted {
        case .granted: break
        case .repeated: continue
        case .refused(let error): return .problem(Problem(.unreadable, error))
        }
        let mayHaveRival = mayHaveRival(record, target)
        if record.status.linkCount > 1 {
          if let first = firstNames[record.status.identity], first.leads(record, tree.folders) {
            return .item(
              .link(HardLinkItem(record, target: target, first: first), mayHaveRival: mayHaveRival))
          }
          firstNames[record.status.identity] = FirstLink(record: record, target: target)
        }
        return .item(.file(record, target: target, mayHaveRival: mayHaveRival))
      }
    }
    return nil
  }

  /// A file beside an operand is a source only if it is an operand too.
  private mutating func mayHaveRival(_ record: FileRecord, _ target: PathBytes) -> Bool {
    if record.isOperand {
      guard let shared else { return true }
      return !shared.isEmpty && shared.contains(Place(of: record.path, target))
    }
    if let planned { return planned() }
    if rivals?.hold(for: record) != true { rivals = OutputRivals(beside: record, naming) }
    return rivals?.mayHold(target) ?? true
  }

  package var filteredCount: Int { tree.filteredCount }

  package func weight(of item: DecompressItem) -> Int64 {
    switch item {
    case .file(let record, _, _), .other(let record): record.status.size
    case .again: .max
    case .link, .standardInput: 0
    }
  }

  package func count(of item: DecompressItem) -> Int { if case .again = item { 0 } else { 1 } }
}
