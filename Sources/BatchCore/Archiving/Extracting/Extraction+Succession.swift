import BatchEngine
import Synchronization

/// What the lanes have of a member whose name an earlier member had, until all members before it are there.
enum WaitingContent: Sendable {
  case bytes([UInt8])
  case file(StagedFile)
  /// The member is damaged, and has been reported: nothing stays under its name.
  case lost
}

extension Extraction {
  /// One thing that a chunk leaves to the collector.
  enum CollectedStep: Sendable {
    case deferred(DeferredStep)
    case waiting(ExtractionOrder, WaitingContent)
  }

  /// Takes what a chunk leaves, and makes the members that waited for all members before them.
  ///
  /// - Parameters:
  ///   - unmade: places of members of which nothing was made, or for which what was there stays.
  ///   - settled: takes what became of members that waited, and of links that were made before their time.
  func collect(
    _ steps: [CollectedStep], unmade: [MemberPath], settled: (ExtractionOrder, ExtractionVerdict) -> Void
  ) {
    state.withLock { state in
      for place in unmade { state.unmade.insert(place.bytes.hashValue) }
    }
    var lane: ExtractionLane?
    for step in steps {
      switch step {
      case .deferred(let step): state.withLock { $0.steps.append(step) }
      case .waiting(let order, let content):
        let known = lane ?? makeLane()
        lane = known
        makeWay(for: order, by: known, settled: settled)
        make(order, content, by: known, settled: settled)
      }
    }
    lane?.closeFolder()
  }

  /// Whether this run made a file at a place; to be asked when all members are collected.
  func hasMade(_ place: MemberPath) -> Bool { planner.hasClaimedFile(at: place) && !isUnmade(place) }

  private func isUnmade(_ place: MemberPath) -> Bool {
    state.withLock { $0.unmade.contains(place.bytes.hashValue) }
  }

  private func make(
    _ order: ExtractionOrder, _ content: WaitingContent, by lane: ExtractionLane,
    settled: (ExtractionOrder, ExtractionVerdict) -> Void
  ) {
    let verdict: ExtractionVerdict
    switch content {
    case _ where order.isLinkToItself:
      verdict =
        isUnmade(order.place) ? .failed(ExtractionFinisher.noFirstName.at(order.entry.path)) : .made([])
    case .bytes(let bytes):
      verdict = lane.extract(order) { write throws(BatchError) in
        guard !bytes.isEmpty else { return }
        try withBytes(of: bytes) { (raw) throws(BatchError) in try write(raw, 0) }
      }
    case .file(let file): verdict = lane.publish(file, as: order)
    case .lost:
      _ = state.withLock { $0.unmade.insert(order.place.bytes.hashValue) }
      return
    }
    settle(order, verdict, settled)
  }

  private func settle(
    _ order: ExtractionOrder, _ verdict: ExtractionVerdict,
    _ settled: (ExtractionOrder, ExtractionVerdict) -> Void
  ) {
    state.withLock { state in
      switch verdict {
      case .failed, .kept: state.unmade.insert(order.place.bytes.hashValue)
      case .made: state.unmade.remove(order.place.bytes.hashValue)
      case .deferred(let step, _):
        state.unmade.remove(order.place.bytes.hashValue)
        state.steps.append(step)
      case .superseded: break
      }
    }
    settled(order, verdict)
  }

  /// Removes what earlier members made under the name of a member, after the links that refer to it were made.
  private func makeWay(
    for order: ExtractionOrder, by lane: ExtractionLane, settled: (ExtractionOrder, ExtractionVerdict) -> Void
  ) {
    guard order.turn == .replaces, !order.isLinkToItself else { return }
    let place = order.place
    let links = state.withLock { $0.steps.take(of: place) { !$0.isFolder } }
    var first: DeferredStep?
    var due = [DeferredStep]()
    for link in links {
      switch link {
      case .contentOfLink: due.append(link)
      case _ where link.order.place.bytes == place.bytes:
        first = link
        settled(link.order, .superseded)
      default: due.append(link)
      }
    }
    if let first {
      // It is on no disk yet: what was to be one more name of it becomes what it would have been.
      for link in due { state.withLock { $0.steps.append(link.leading(like: first)) } }
      return
    }
    ExtractionFinisher(folder: folder, options: options, lane: lane, hasMade: hasMade).makeLinks(due) {
      settle($0, $1, settled)
    }
    if isUnmade(place) { return }
    if lane.remove(place, isFolder: false) { return }
    guard order.entry.kind != .directory, folder.hasMade(place), lane.remove(place, isFolder: true) else {
      return
    }
    folder.forget(place)
    for step in state.withLock({ $0.steps.take(of: place) { $0.isFolder } }) {
      settled(step.order, .superseded)
    }
  }
}

extension DeferredStep {
  /// A hard link to what another link would have made.
  fileprivate func leading(like first: DeferredStep) -> DeferredStep {
    switch first {
    case .symbolicLink(let target):
      var entry = order.entry
      entry.kind = .symbolicLink
      entry.linkTarget = target.entry.linkTarget
      return .symbolicLink(ExtractionOrder(entry: entry, place: order.place))
    default:
      var order = order
      order.linkPlace = first.order.linkPlace
      return .hardLink(order)
    }
  }
}
