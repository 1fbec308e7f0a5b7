/// The limits of the control groups that contain this process: version 1, version 2, or both.
///
/// A group's limit applies to all groups in it, so every level up to the root is read. A container often sees its own group as
/// the root and is given a path that does not exist there: levels without files are skipped, and the root is always read.
struct ControlGroups: Sendable {
  /// Version 1 writes the largest number of pages for "no limit".
  private static let unlimited: UInt64 = 1 << 62

  private let proc: PathBytes
  private let root: PathBytes

  init(proc: PathBytes, root: PathBytes) {
    self.proc = proc
    self.root = root
  }

  /// All limits of processors and memory, those of the innermost group first.
  package func limits() -> [CapacityLimit] {
    guard let content = try? SmallFile.read(proc.appending("self/cgroup".utf8)) else { return [] }
    var limits: [CapacityLimit] = []
    for line in content.split(separator: UInt8(ascii: "\n")) {
      // hierarchy:controllers:path; the path may hold colons.
      let fields = line.split(separator: UInt8(ascii: ":"), maxSplits: 2, omittingEmptySubsequences: false)
      guard fields.count == 3 else { continue }
      let controllers = fields[1].split(separator: UInt8(ascii: ","))
      if controllers.isEmpty, fields[0].elementsEqual("0".utf8) {
        // Beside version 1 the hierarchy of version 2 is mounted one folder below.
        for mount in [root, root.appending("unified".utf8)] {
          for group in Self.levels(of: fields[2], below: mount) { limits += unifiedLimits(in: group) }
        }
      }
      for (controller, read) in [("cpu", quota(in:)), ("memory", memoryLimit(in:))]
      where controllers.contains(where: { $0.elementsEqual(controller.utf8) }) {
        let mounts = controllers.count == 1 ? [fields[1]] : [fields[1], Array(controller.utf8)[...]]
        // Joined controllers share a folder with both names, and usually have one link for each name.
        for mount in mounts {
          let found = Self.levels(of: fields[2], below: root.appending(mount)).compactMap(read)
          limits += found
          if !found.isEmpty { break }
        }
      }
    }
    return limits
  }

  /// The folders from a group up to the mount, the group's own first.
  private static func levels(of path: ArraySlice<UInt8>, below mount: PathBytes) -> [PathBytes] {
    var names = path.split(separator: UInt8(ascii: "/"))
    // A group outside of our namespace has a path with `..`: none of its levels can be read.
    if names.contains(where: { $0.elementsEqual("..".utf8) }) { names = [] }
    var levels = [mount]
    for name in names { levels.append(levels[levels.count - 1].appending(name)) }
    return levels.reversed()
  }

  private func unifiedLimits(in group: PathBytes) -> [CapacityLimit] {
    var limits: [CapacityLimit] = []
    let cpu = group.appending("cpu.max".utf8)
    if let words = words(of: cpu), words.count == 2, let quota = UInt64(decimalIn: words[0]),
      let period = UInt64(decimalIn: words[1]),
      let limit = processors(quota: quota, period: period, source: cpu)
    {
      limits.append(limit)
    }
    for (file, name) in [("memory.max", "cgroup memory limit"), ("memory.high", "cgroup memory throttle")] {
      if let limit = memory(in: group.appending(file.utf8), name: name) { limits.append(limit) }
    }
    return limits
  }

  private func quota(in group: PathBytes) -> CapacityLimit? {
    let file = group.appending("cpu.cfs_quota_us".utf8)
    guard let quota = number(in: file), let period = number(in: group.appending("cpu.cfs_period_us".utf8))
    else { return nil }
    return processors(quota: quota, period: period, source: file)
  }

  private func memoryLimit(in group: PathBytes) -> CapacityLimit? {
    memory(in: group.appending("memory.limit_in_bytes".utf8), name: "cgroup memory limit")
  }

  private func processors(quota: UInt64, period: UInt64, source: PathBytes) -> CapacityLimit? {
    guard quota > 0, period > 0 else { return nil }
    let value = (quota - 1) / period + 1
    return CapacityLimit(
      .processors, name: "cgroup CPU quota", value: value, exact: Double(quota) / Double(period),
      source: source.description)
  }

  private func memory(in file: PathBytes, name: String) -> CapacityLimit? {
    guard let bytes = number(in: file), bytes < Self.unlimited else { return nil }
    return CapacityLimit(.memory, name: name, value: bytes, source: file.description)
  }

  /// The first word as a number; nil for `max` and `-1`, which stand for no limit.
  private func number(in file: PathBytes) -> UInt64? {
    words(of: file)?.first.flatMap { UInt64(decimalIn: $0) }
  }

  private func words(of file: PathBytes) -> [ArraySlice<UInt8>]? {
    guard let content = try? SmallFile.read(file) else { return nil }
    return content.split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\n") }
  }
}
