import BatchEngine

/// Members whose name an earlier member had.
extension ExtractCollector {
  /// Removes what earlier members made under the name of a member, after the links that refer to it were made.
  func makeWay(for order: ExtractionOrder) throws(BatchError) {
    guard order.turn == .replaces, !order.isLinkToItself else { return }
    let place = order.place
    let links = steps.take(of: place) { !$0.isFolder }
    var first: DeferredStep?
    var due = [DeferredStep]()
    for link in links {
      switch link {
      case .contentOfLink: due.append(link)
      case _ where link.order.place.bytes == place.bytes:
        first = link
        try settle(link.order, .superseded)
      default: due.append(link)
      }
    }
    if let first {
      // It is on no disk yet: what was to be one more name of it becomes what it would have been.
      for link in due { steps.append(link.leading(like: first)) }
      return
    }
    try finisher().makeLinks(DeferredSteps(due)) { (order, verdict) throws(BatchError) in
      try settle(order, verdict)
    }
    if isUnmade(place) { return }
    if lane.remove(place, isFolder: false, by: context.commits) { return }
    guard order.entry.kind != .directory, folder.hasMade(place),
      lane.remove(place, isFolder: true, by: context.commits)
    else {
      return
    }
    folder.forget(place)
    for step in steps.take(of: place, where: { $0.isFolder }) { try settle(step.order, .superseded) }
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
