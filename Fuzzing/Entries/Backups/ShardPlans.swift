@testable import BatchCore
@testable import BatchEngine
import Glibc

/// A folder in memory for one result.
private let place: (folder: PlanFolder, plan: ShardPlan, path: String)? = {
  var name = Array("/dev/shm/batchproc-fuzz-XXXXXX".utf8CString)
  guard let made = mkdtemp(&name) else { return nil }
  let path = String(cString: made)
  atexit { place.map { _ = unlink($0.path + "/shard-0000.result") + rmdir($0.path) } }
  guard let digest = Digest(.sha256, bytes: [UInt8](repeating: 0, count: 32)) else { return nil }
  let shard = ShardPlan.Shard(
    index: 0, offset: 0, length: 0, entries: 0, bytes: 0, cost: 0, digest: digest, folder: [])
  let lines = ShardPlan.lines(
    version: "0", command: "hash", workingFolder: "/", arguments: [], asked: 1, operandCount: 1, filtered: 0,
    shards: [shard])
  guard let folder = try? PlanFolder(PathBytes(path), calls: LinuxCalls()),
    let bytes = try? ShardPlan.finished(lines),
    let plan = try? ShardPlan(bytes)
  else { return nil }
  return (folder, plan, path)
}()

/// A plan, unchanged and with a repaired digest; the records of its entries; the result of a shard.
func fuzzShardPlans(_ start: UnsafePointer<UInt8>, _ count: Int) {
  guard count > 1 else { return }
  let bytes = Array(UnsafeBufferPointer(start: start + 1, count: count - 1))
  switch start[0] % 3 {
  case 0:
    _ = try? ShardPlan(bytes)
    let lines = bytes.last == UInt8(ascii: "\n") ? bytes : bytes + [UInt8(ascii: "\n")]
    guard let whole = try? ShardPlan.finished(lines), let plan = try? ShardPlan(whole) else { return }
    precondition(plan.imbalance >= 0)
    for (index, shard) in plan.shards.enumerated() {
      precondition(shard.index == index, "a shard that is out of order")
      _ = shard.ranges
    }
  case 1:
    for record in bytes.split(separator: 0, omittingEmptySubsequences: false) { _ = try? PlanRecord(record) }
  default: readResult(bytes)
  }
}

private func readResult(_ bytes: [UInt8]) {
  guard let place else { return }
  var head = JSONLine("result")
  head.add("plan", place.plan.id)
  head.add("shard", 0)
  head.add("entries_sha256", place.plan.shards[0].digest.hex)
  let content = head.finished() + bytes
  let file = open(place.path + "/shard-0000.result", O_WRONLY | O_CREAT | O_TRUNC, 0o600)
  defer { close(file) }
  guard file >= 0, write(file, content, content.count) == content.count else { return }
  guard let result = try? ShardResultReader.open(0, of: place.plan, in: place.folder) else { return }
  _ = try? result.verify(RunContext().cancellation)
  var pieces = 0
  _ = try? result.forEach({ (piece) throws(BatchError) in
    pieces += 1
    precondition(pieces <= content.count, "more pieces than bytes")
    _ = try result.read(piece.content)
    _ = try? result.problem(piece)
  })
}
