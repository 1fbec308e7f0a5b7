import BatchCore
import BatchEngine

struct StatusCommand {
  private let folder: PlanFolder
  private let isJSON: Bool
  private let plan: ShardPlan

  init(_ parsed: ParsedCommand) throws(BatchError) {
    folder = try PlanFolder(try parsed.planFolder, calls: LinuxCalls())
    isJSON = parsed.flag(.json)
    plan = try ShardPlan.read(in: folder)
  }

  func execute() throws(BatchError) -> Ending {
    let states = plan.shards.map { ShardState($0.index, of: plan, in: folder) }
    let output = StandardOutput(cancellation: Cancellation(), filter: TerminalText.escapeControls)
    if isJSON {
      try write(states)
      return .exit(.success)
    }
    for (index, state) in states.enumerated() { try output.write(Array(line(index, state).utf8)) }
    try output.write(Array(totals(states).utf8))
    try output.finish()
    return .exit(.success)
  }

  private func line(_ index: Int, _ state: ShardState) -> String {
    var parts = [
      "shard \(index)", state.phase.rawValue + (state.node.isEmpty ? "" : " on \(state.node)"),
    ]
    if state.phase != .waiting {
      parts.append(
        "\(ByteCount.grouped(state.files)) of \(ByteCount.grouped(plan.shards[index].entries)) entries"
      )
      parts.append(ByteCount.text(state.bytes))
      parts.append(DurationText.text(seconds: Double(state.milliseconds) / 1000))
    }
    if state.failed > 0 { parts.append("\(ByteCount.grouped(state.failed)) failed") }
    if let error = state.error { parts.append(error) }
    return TerminalText.string(Array(parts.joined(separator: ", ").utf8)) + "\n"
  }

  /// Finished paths and bytes, the rate of the running tasks in bytes a second, and the seconds that they need for the rest.
  private struct Totals {
    var (files, bytes) = (0, Int64(0))
    var rate = 0.0
    var secondsLeft: Double?
  }

  private func sum(_ states: [ShardState]) -> Totals {
    var totals = Totals()
    var (speed, known) = (0.0, 0)
    for state in states {
      totals.files += state.files
      totals.bytes += min(max(0, state.bytes), .max - totals.bytes)
      guard state.milliseconds > 0 else { continue }
      let own = Double(state.bytes) / Double(state.milliseconds) * 1000
      speed += own
      known += 1
      if state.phase == .running { totals.rate += own }
    }
    let running = states.count { $0.phase == .running }
    let mean = known > 0 ? speed / Double(known) : 0
    let left = Double(max(0, plan.bytes - totals.bytes))
    if mean > 0, running > 0 { totals.secondsLeft = left / (mean * Double(running)) }
    return totals
  }

  private func totals(_ states: [ShardState]) -> String {
    let totals = sum(states)
    let phases = [ShardState.Phase.done, .running, .waiting, .stopped, .failed, .damaged].compactMap {
      phase -> String? in
      let count = states.count { $0.phase == phase }
      return count > 0 ? "\(count) \(phase.rawValue)" : nil
    }
    var text = "\(ByteCount.counted(states.count, "shard")): \(phases.joined(separator: ", ")); "
    text += "\(ByteCount.grouped(totals.files)) of \(ByteCount.counted(plan.entries, "path"))"
    text += ", \(ByteCount.text(totals.bytes)) of \(ByteCount.text(plan.bytes))"
    if totals.rate > 0 { text += ", \(ByteCount.text(Int64(totals.rate)))/s" }
    if let left = totals.secondsLeft { text += ", about \(DurationText.text(seconds: left)) left" }
    return text + "\n"
  }

  private func write(_ states: [ShardState]) throws(BatchError) {
    let events = JSONReporter.onStandardOutput()
    for (index, state) in states.enumerated() {
      try events.write("shard") { line in
        line.add("shard", index)
        line.add("state", state.phase.rawValue)
        if !state.node.isEmpty { line.add("node", state.node) }
        line.add("paths", state.files)
        line.add("planned_paths", plan.shards[index].entries)
        line.add("bytes", state.bytes)
        line.add("planned_bytes", plan.shards[index].bytes)
        line.add("seconds", Double(state.milliseconds) / 1000)
        line.add("failed", state.failed)
        if let error = state.error { line.add("error", error) }
      }
    }
    let totals = sum(states)
    try events.writeSummary(isComplete: states.allSatisfy { $0.phase == .done }) { line in
      line.add("shards", states.count)
      line.add("done_shards", states.count { $0.phase == .done })
      line.add("paths", totals.files)
      line.add("bytes", totals.bytes)
      line.add("rate", Int64(min(totals.rate, 1e15)))
      if let left = totals.secondsLeft { line.add("seconds_left", Int64(min(left, 1e12))) }
    }
  }
}
