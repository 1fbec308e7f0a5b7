import BatchEngine

/// What is put off until all files are there.
enum DeferredStep: Sendable {
  /// So that nothing is ever written through a link of the archive.
  case symbolicLink(ExtractionOrder)
  /// Its first name may come from another lane, or be a symbolic link.
  case hardLink(ExtractionOrder)
  /// A hard link that came with the content, as in cpio, where the first names are empty.
  case contentOfLink(ExtractionOrder)
  /// The time of a folder is that of its last change.
  case folder(ExtractionOrder)

  var order: ExtractionOrder {
    switch self {
    case .symbolicLink(let order), .hardLink(let order), .contentOfLink(let order), .folder(let order): order
    }
  }

  var isFolder: Bool {
    if case .folder = self { true } else { false }
  }
}

/// The steps that were put off, in the order of the archive.
struct DeferredSteps {
  private var steps: [DeferredStep?] = []
  /// The numbers of steps by the hashes of the places that they have and lead to; made when a name first comes again.
  private var numbers: [Int: [Int]]?

  mutating func append(_ step: DeferredStep) {
    if numbers != nil { register(step, steps.count) }
    steps.append(step)
  }

  mutating func takeAll() -> [DeferredStep] {
    defer { self = DeferredSteps() }
    return steps.compactMap { $0 }
  }

  /// Takes out the steps that make something at a place or link to it.
  mutating func take(of place: RelativePath, where isMeant: (DeferredStep) -> Bool) -> [DeferredStep] {
    if numbers == nil {
      numbers = [:]
      for (number, step) in steps.enumerated() { if let step { register(step, number) } }
    }
    var taken = [DeferredStep]()
    for number in numbers?[place.bytes.hashValue] ?? [] {
      guard let step = steps[number], isMeant(step),
        step.order.place.bytes == place.bytes || step.order.linkPlace?.bytes == place.bytes
      else { continue }
      steps[number] = nil
      taken.append(step)
    }
    return taken
  }

  private mutating func register(_ step: DeferredStep, _ number: Int) {
    numbers?[step.order.place.bytes.hashValue, default: []].append(number)
    guard let target = step.order.linkPlace, target.bytes != step.order.place.bytes else { return }
    numbers?[target.bytes.hashValue, default: []].append(number)
  }
}
