import BatchEngine
import BatchOutputs

/// A file for which a command runs.
package struct RunFile: Sendable {
  let record: FileRecord
  /// The number in tree order, from 1.
  let number: Int
  /// The output; nil if there is none.
  let target: PathBytes?

  /// The path below the operand; for a file that is an operand its name.
  var below: PathBytes {
    var bytes = record.isOperand ? [] : Array(record.directory.relativePrefix)
    record.appendName(to: &bytes)
    return PathBytes(bytes)
  }

  func values(at path: PathBytes, output: PathBytes?) -> CommandTemplate.Values {
    CommandTemplate.Values(path: path, below: below, output: output, number: number)
  }
}

/// One work item of a run of a command.
package enum RunItem: Sendable {
  /// The files of one child: one, or several without outputs.
  case files([RunFile])
  /// Children that have ended are collected.
  case ended
  /// As `ended`; waits until there is one.
  case nextEnded
  /// A file that came earlier, through another operand.
  case repeated(FileRecord)
}

extension RunItem: FileItem {
  package var path: PathBytes? {
    switch self {
    case .files(let files): files.first?.record.path
    case .repeated(let record): record.path
    case .ended, .nextEnded: nil
    }
  }
}

/// Turns the files of a tree into items of a run: one for each child.
package struct RunSource: BatchSource {
  /// The most bytes of the paths of one child: the limit that xargs has, well below that of the kernel.
  private static let mostBytes = 128 << 10

  private var tree: TreeSource
  package let asked: AskedItems<RunItem>? = AskedItems(isOrdered: false)
  private let options: CommandOptions
  private var claims: OutputClaims?
  /// Whether the last file of the tree has the output of an earlier one, from a plan; nil without a plan.
  private let planned: (() -> Bool)?
  /// How many entries of the tree came before.
  private var count: Int
  /// What follows a batch.
  private var following: Yielded<RunItem, Never>?
  private var batch: [RunFile] = []
  private var batchBytes = 0

  /// - Parameters:
  ///   - operandCount: the number of operands; nil if unknown. Several operands can lead to one output.
  ///   - before: how many entries other shards have before these.
  ///   - planned: asks the plan of the tree whether the last file has the output of an earlier one; nil without a plan.
  package init(
    _ tree: TreeSource, operandCount: Int?, before: Int = 0, _ options: CommandOptions,
    planned: (() -> Bool)? = nil
  ) {
    self.tree = tree
    self.options = options
    self.planned = planned
    count = before
    let mayJoin = options.kind == .files && options.outputs.naming.mayJoin
    let mayRepeat = options.kind != .passedOn && operandCount != 1
    if planned == nil, mayJoin || mayRepeat { claims = OutputClaims() }
  }

  package mutating func next() throws(BatchError) -> Yielded<RunItem, Never>? {
    if let item = following.take() { return item }
    while let walked = tree.next() {
      count += 1
      switch walked {
      case .problem(let problem): return afterBatch(.problem(problem))
      case .item(.standardInput):
        return afterBatch(
          .problem(Problem(.special, BatchError(.special, "standard input is no file", path: "-"))))
      case .item(.file(let record)):
        let item = item(for: record)
        guard case .item(.files(let files)) = item, options.batch > 1 else { return afterBatch(item) }
        let bytes = files.reduce(0) { $0 + $1.record.path.bytes.count + 1 + MemoryLayout<Int>.size }
        let isFull = !batch.isEmpty && batchBytes + bytes > Self.mostBytes
        let full = isFull ? takeBatch() : nil
        batch += files
        batchBytes += bytes
        if let full { return full }
        if batch.count >= options.batch { return takeBatch() }
      }
    }
    return takeBatch()
  }

  /// - Returns: the batch so far, and keeps the item for the next call; or the item if there is no batch.
  private mutating func afterBatch(_ item: Yielded<RunItem, Never>) -> Yielded<RunItem, Never> {
    guard let batch = takeBatch() else { return item }
    following = item
    return batch
  }

  private mutating func takeBatch() -> Yielded<RunItem, Never>? {
    guard !batch.isEmpty else { return nil }
    defer { (batch, batchBytes) = ([], 0) }
    return .item(.files(batch))
  }

  private mutating func item(for record: FileRecord) -> Yielded<RunItem, Never> {
    let target: PathBytes?
    switch options.kind {
    case .passedOn: target = nil
    case .inPlace: target = record.path
    case .files: target = options.outputs.naming.target(of: record.path)
    }
    guard let target else { return .item(.files([RunFile(record: record, number: count, target: nil)])) }
    // A file that is an output by its name is no source, which the worker decides.
    guard options.kind == .inPlace || target != record.path else {
      return .item(.files([RunFile(record: record, number: count, target: target)]))
    }
    if planned?() == true {
      return .problem(Problem(.unreadable, OutputClaims.conflict(of: record, target)))
    }
    switch claims?.claim(target, for: record) ?? .granted {
    case .granted: return .item(.files([RunFile(record: record, number: count, target: target)]))
    case .repeated: return .item(.repeated(record))
    case .refused(let error): return .problem(Problem(.unreadable, error))
    }
  }

  package var filteredCount: Int { tree.filteredCount }

  package func weight(of item: RunItem) -> Int64 {
    switch item {
    case .files(let files): files.reduce(0) { $0 + min($1.record.status.size, .max - $0) }
    case .ended, .nextEnded, .repeated: 0
    }
  }

  package func count(of item: RunItem) -> Int {
    switch item {
    case .files(let files): files.count
    case .repeated: 1
    case .ended, .nextEnded: 0
    }
  }
}
