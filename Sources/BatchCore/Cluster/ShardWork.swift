import BatchEngine

/// What a job needs to process a shard: the entries, and where its results go.
package struct ShardWork {
  package let player: PlanPlayer
  package let devices: PlannedDevices
  package let result: ShardResultWriter
  /// The paths of the planned command.
  package let operands: [PathBytes]
  /// How many entries the shards before this one have.
  package let before: Int
  /// Counts the entries; it is not started.
  package let total: ResultOperation<Counters.Snapshot>

  package init(
    _ player: PlanPlayer, _ devices: PlannedDevices, _ result: ShardResultWriter, of shard: ShardPlan.Shard,
    before: Int, operands: [PathBytes]
  ) {
    self.before = before
    (self.player, self.devices, self.result) = (player, devices, result)
    self.operands = operands
    total = CountingWalk.known(shard.entries, bytes: UInt64(clamping: shard.bytes))
  }
}
