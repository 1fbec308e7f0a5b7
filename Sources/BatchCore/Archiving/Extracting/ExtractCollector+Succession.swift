import BatchEngine

/// Handles members that have the name of an earlier member.
extension ExtractCollector {
  /// Removes what an earlier member created under the name of a member, after creating the links that refer to it.
  func makeWay(for order: ExtractionOrder) throws(BatchError) {
    guard order.replaces, !order.isLinkToItself else { return }
    let place = order.place
    let links = steps.take(of: place) { !$0.isFolder }
    var first: DeferredStep?
    var due = [DeferredStep]()
    for link in links {
      if link.kind != .contentOfLink, link.order.place.bytes == place.bytes {
        first = link
        try settle(link.order, .superseded)
      } else {
        due.append(link)
      }
    }
    if let first {
      // The earlier link has not been created yet, so links to it become what it would have been.
      for link in due { steps.append(link.leading(like: first)) }
      return
    }
    try finisher().makeLinks(DeferredSteps(due)) { (order, verdict) throws(BatchError) in
      try settle(order, verdict)
    }
    if isUnmade(place) { return }
    if order.wait == .replaces, writer.remove(place, isFolder: false, by: context.commits) { return }
    guard order.entry.kind != .directory, folder.hasMade(place),
      writer.remove(place, isFolder: true, by: context.commits)
    else {
      return
    }
    folder.forget(place)
    for step in steps.take(of: place, where: { $0.isFolder }) { try settle(step.order, .superseded) }
  }
}

extension DeferredStep {
  /// This hard link, changed to lead where another link would have led.
  fileprivate func leading(like first: DeferredStep) -> DeferredStep {
    var order = order
    guard first.kind == .symbolicLink else {
      order.linkPlace = first.order.linkPlace
      return DeferredStep(.hardLink, order)
    }
    var entry = order.entry
    entry.kind = .symbolicLink
    entry.linkTarget = first.order.entry.linkTarget
    return DeferredStep(.symbolicLink, ExtractionOrder(entry: entry, place: order.place))
  }
}
