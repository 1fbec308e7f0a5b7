/// The files below some operands, in tree order.
public struct TreeSource: BatchSource {
  private var walker: TreeWalker

  init(walker: TreeWalker) {
    self.walker = walker
  }

  public mutating func next() -> WalkItem? { walker.next() }

  public func weight(of item: WalkItem) -> Int64 {
    if case .file(let record) = item { record.status.size } else { 0 }
  }
}
