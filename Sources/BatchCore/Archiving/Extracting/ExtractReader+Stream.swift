import BatchEngine

/// Reads the members of an archive from its beginning: small ones are yielded with their content, large ones piece by piece.
extension ExtractReader {
  private static let largestContent: UInt64 = 1 << 20
  /// The size of one piece of a large file, in bytes.
  private static let largestPiece = 128 << 10

  /// A member that is not selected, or whose path is empty after stripping.
  private static let passed = ExtractionRow(row: .skipped(.notChosen))

  private static func end(_ error: BatchError?) -> ExtractionStep { .row(ExtractionRow(row: .end(error))) }

  private static func lost(_ order: ExtractionOrder, _ error: BatchError) -> ExtractionStep {
    .item(ExtractionItem(step: .lost(order, error)))
  }

  typealias Hand = (ExtractionStep) throws(BatchError) -> Void

  /// - Throws: the error that ends the reading.
  func read(
    _ reader: any MemberReader, in context: Context, _ hand: Hand
  ) throws(BatchError) {
    var late = LateContents()
    var lone = LoneLinks()
    let holdsLinks = !planner.takesEverything && planner.selection.names == nil && archive.isReadableAgain
    var number = -1
    while let member = try reader.next() {
      try context.checkCancellation()
      number += 1
      var damage: BatchError?
      switch member {
      case .unusable(let error):
        damage = error
        try hand(.failed(error.path == nil ? error.at(name) : error))
      case .entry(let entry):
        let isChosen = planner.chooses(entry.path, isDirectory: entry.kind == .directory)
        if holdsLinks, isChosen, lone.hold(entry, number: number, planner) { continue }
        let entries = planner.takesEverything ? [entry] : late.entries(for: entry, isChosen: isChosen)
        for entry in entries { damage = try extract(entry, reader, in: context, hand) }
      }
      if damage?.code == .malformed, !options.keepsGoing { return try hand(.note(.stop)) }
    }
    for entry in late.takeAll() { _ = try extract(entry, reader, in: context, hand) }
    try extract(lone, in: context, hand)
    try reader.drain()
    for damage in reader.damages(name) { try hand(.failed(damage)) }
    try hand(.note(.remarks(reader.harmlessRemarks)))
  }

  /// Extracts files under the names of links to them.
  func extract(_ lone: LoneLinks, in context: Context, _ hand: Hand) throws(BatchError) {
    let missing = try archive.readFiles(of: lone, limits: options.limits) {
      (file, reader, links) throws(BatchError) in
      var target: PathBytes?
      for link in links {
        var entry = target == nil ? file : link
        (entry.path, entry.linkTarget) = (link.path, target)
        _ = try extract(entry, reader, in: context, hand)
        target = target ?? link.path
      }
    }
    for link in missing { try hand(.failed(ExtractionFinisher.noFirstName.at(link.path))) }
  }

  /// - Returns: why its content cannot be read.
  private func extract(
    _ entry: ArchiveEntry, _ reader: any MemberReader, in context: Context,
    _ hand: Hand
  ) throws(BatchError) -> BatchError? {
    guard let order = try order(for: entry, reader, hand) else { return nil }
    // An empty member is decoded too. The names of a cpio file without content have nothing to decode.
    let hasContent =
      entry.kind == .file ? entry.size > 0 || !entry.sharesContent : entry.kind == .hardLink && entry.size > 0
    if hasContent || !entry.hasSize { return try handContent(of: order, reader, in: context, hand) }
    try hand(.member(order, []))
    return nil
  }

  /// - Returns: nil for a member that is not created; its result was yielded.
  private func order(
    for entry: ArchiveEntry, _ reader: any MemberReader, _ hand: Hand
  ) throws(BatchError) -> ExtractionOrder? {
    let wait: MemberClaims.Wait
    // A hard link with its own content is created as a file.
    switch planner.claim(entry.path, entry.kind == .hardLink && entry.size > 0 ? .file : entry.kind) {
    case .make(let claimed)?: wait = claimed
    case .refused(let error)?:
      try hand(.failed(error))
      return nil
    case .belowRefused?, .superseded?:
      try hand(.row(ExtractionRow(row: .belowRefused)))
      return nil
    case nil:
      try hand(.row(Self.passed))
      return nil
    }
    try reader.count(folders: planner.bytesOfFolders)
    let step: ExtractionStep
    do throws(BatchError) {
      if var order = try planner.selection.order(for: entry, wait: wait) {
        order.digest = try planner.selection.names?.digest(for: entry)
        return order
      }
      step = .row(Self.passed)
    } catch {
      // If the last member with a name is refused, an earlier one is removed.
      step =
        planner.selection.place(of: entry.path)
        .map { Self.lost(ExtractionOrder(entry: entry, place: $0, wait: wait), error) } ?? .failed(error)
    }
    try hand(step)
    return nil
  }

  /// Yields a small file as one item, a large or sparse one piece by piece. The size of a file may follow its content.
  ///
  /// - Returns: why its content cannot be read.
  private func handContent(
    of order: ExtractionOrder, _ reader: any MemberReader, in context: Context,
    _ hand: Hand
  ) throws(BatchError) -> BatchError? {
    var order = order
    let size = order.entry.hasSize ? order.entry.size : nil
    var bytes: [UInt8] = []
    var isBegun = false
    if let size, order.entry.dataMap != nil || size > Self.largestContent {
      isBegun = true
      try hand(.row(ExtractionRow(row: .begin(order))))
    } else if let size {
      bytes.reserveCapacity(Int(size))
    }
    do throws(BatchError) {
      try reader.readContent { (piece, offset) throws(BatchError) in
        if !isBegun {
          let (isNext, end) = (offset == UInt64(bytes.count), UInt64(bytes.count) + UInt64(piece.count))
          if let size, !isNext || end > size {
            throw BatchError(.malformed, "damaged: there is more content than its size says")
          }
          if isNext, end <= Self.largestContent { return bytes.append(contentsOf: piece) }
          isBegun = true
          try hand(.row(ExtractionRow(row: .begin(order))))
          try withBytes(of: bytes) { (raw) throws(BatchError) in try handPieces(of: raw, at: 0, hand) }
          bytes = []
        }
        try handPieces(of: piece, at: offset, hand)
      }
    } catch {
      // A limit or a cancellation ends the run; other errors of one member do not.
      if error.code == .exhausted || error.code == .cancelled { throw error }
      try context.checkCancellation()
      let named = error.at(order.entry.path)
      try hand(isBegun ? Self.end(named) : Self.lost(order, named))
      return error
    }
    if size == nil { (order.entry.size, order.entry.hasSize) = (UInt64(bytes.count), true) }
    try hand(isBegun ? Self.end(nil) : .member(order, bytes))
    return nil
  }

  private func handPieces(
    of bytes: UnsafeRawBufferPointer, at offset: UInt64, _ hand: Hand
  ) throws(BatchError) {
    var start = 0
    while start < bytes.count {
      let end = start + min(Self.largestPiece, bytes.count - start)
      try hand(
        .row(
          ExtractionRow(
            row: .piece(
              Array(UnsafeRawBufferPointer(rebasing: bytes[start..<end])), offset: offset + UInt64(start)))))
      start = end
    }
  }
}
