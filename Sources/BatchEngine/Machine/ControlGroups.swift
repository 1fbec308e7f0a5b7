import Glibc

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
    var limits: [CapacityLimit] = []
    for membership in memberships() {
      if membership.isUnified {
        for mount in mounts(of: membership) {
          for group in Self.levels(of: membership, below: mount) { limits += unifiedLimits(in: group) }
        }
      }
      for (controller, read) in [("cpu", quota(in:)), ("memory", memoryLimit(in:))]
      where membership.has(controller) {
        for mount in mounts(of: membership, controller) {
          let found = Self.levels(of: membership, below: mount).compactMap(read)
          limits += found
          if !found.isEmpty { break }
        }
      }
    }
    return limits
  }

  /// A file of the innermost visible group of version 2 that has it; nil if no group has.
  func ownFile(named name: String) -> PathBytes? {
    guard let membership = memberships().first(where: \.isUnified) else { return nil }
    let groups = mounts(of: membership).flatMap { Self.levels(of: membership, below: $0) }
    return groups.map { $0.appending(name.utf8) }.first { (try? KernelFile.read($0)) != nil }
  }

  /// Whether the limits of threads of all groups leave room for so many more.
  ///
  /// - Returns: `false` as well when a level above the group of the process has no folder here. In the first namespace of control
  ///   groups every level has one, unless the mounted folder is not the root of the hierarchy, which is noticed.
  func haveRoom(forThreads count: UInt64) -> Bool {
    let memberships = memberships()
    // A controller belongs to one hierarchy: to one of version 1, or to that of version 2.
    guard
      let membership = memberships.first(where: { $0.has("pids") })
        ?? memberships.first(where: \.isUnified),
      let groups = visibleGroups(of: membership)
    else { return false }
    return groups.allSatisfy { hasRoom(forThreads: count, in: $0, membership) }
  }

  /// One line of `/proc/self/cgroup`: hierarchy:controllers:path.
  private struct Membership {
    let isUnified: Bool
    /// The controllers of version 1 with commas between them.
    let names: ArraySlice<UInt8>
    let controllers: [ArraySlice<UInt8>]
    let path: ArraySlice<UInt8>

    init?(_ line: ArraySlice<UInt8>) {
      // The path may hold colons.
      let fields = line.split(separator: UInt8(ascii: ":"), maxSplits: 2, omittingEmptySubsequences: false)
      guard fields.count == 3 else { return nil }
      (names, path) = (fields[1], fields[2])
      controllers = names.split(separator: UInt8(ascii: ","))
      isUnified = controllers.isEmpty && fields[0].elementsEqual("0".utf8)
    }

    func has(_ controller: String) -> Bool { controllers.contains { $0.elementsEqual(controller.utf8) } }

    /// The names of the groups from the root of our namespace to the group of the process; nil for a group outside of the
    /// namespace, whose path has `..`.
    var groups: [ArraySlice<UInt8>]? {
      let names = path.split(separator: UInt8(ascii: "/"))
      return names.contains(where: { $0.elementsEqual("..".utf8) }) ? nil : names
    }
  }

  private func memberships() -> [Membership] {
    guard let content = try? KernelFile.read(proc.appending("self/cgroup".utf8)) else { return [] }
    return content.split(separator: UInt8(ascii: "\n")).compactMap(Membership.init)
  }

  /// Where the hierarchy may be mounted.
  private func mounts(of membership: Membership, _ controller: String = "") -> [PathBytes] {
    // Beside version 1 the hierarchy of version 2 is mounted one folder below.
    if membership.isUnified { return [root, root.appending("unified".utf8)] }
    // Joined controllers share a folder with both names, and usually have one link for each name.
    let isAlone = membership.names.elementsEqual(controller.utf8)
    return (isAlone ? [] : [root.appending(membership.names)]) + [root.appending(controller.utf8)]
  }

  /// The folders from a group up to the mount, the group's own first.
  private static func levels(of membership: Membership, below mount: PathBytes) -> [PathBytes] {
    var levels = [mount]
    for name in membership.groups ?? [] { levels.append(levels[levels.count - 1].appending(name)) }
    return levels.reversed()
  }

  /// The folders from the group up to the one below the root of the whole hierarchy, which has no limit of threads; nil when that
  /// root, or a level, is not visible here.
  private func visibleGroups(of membership: Membership) -> ArraySlice<PathBytes>? {
    // Each group has the first file, and each but the root of the whole hierarchy has the second.
    let (ofEach, notOfRoot) =
      membership.isUnified ? ("cgroup.controllers", "cgroup.events") : ("cgroup.clone_children", "pids.max")
    let isGroup = { (folder: PathBytes) in (try? KernelFile.read(folder.appending(ofEach.utf8))) != nil }
    guard membership.groups != nil, let mount = mounts(of: membership, "pids").first(where: isGroup),
      isMissing(mount.appending(notOfRoot.utf8))
    else { return nil }
    let groups = Self.levels(of: membership, below: mount).dropLast()
    return groups.allSatisfy(isGroup) ? groups : nil
  }

  private func hasRoom(forThreads count: UInt64, in group: PathBytes, _ membership: Membership) -> Bool {
    let limit = group.appending("pids.max".utf8)
    // In version 2 a group has the limit only if the group above lets it have one.
    if membership.isUnified, isMissing(limit) { return true }
    guard let words = KernelFile.words(of: limit), words.count == 1 else { return false }
    if words[0].elementsEqual("max".utf8) { return true }
    guard let most = UInt64(decimalIn: words[0]),
      let used = KernelFile.number(in: group.appending("pids.current".utf8))
    else { return false }
    return most > used && most - used >= count
  }

  private func isMissing(_ file: PathBytes) -> Bool {
    do throws(BatchError) {
      _ = try KernelFile.read(file)
      return false
    } catch {
      return error.errno == ENOENT
    }
  }

  private func unifiedLimits(in group: PathBytes) -> [CapacityLimit] {
    var limits: [CapacityLimit] = []
    let cpu = group.appending("cpu.max".utf8)
    if let words = KernelFile.words(of: cpu), words.count == 2, let quota = UInt64(decimalIn: words[0]),
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
    guard let quota = KernelFile.number(in: file),
      let period = KernelFile.number(in: group.appending("cpu.cfs_period_us".utf8))
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
    guard let bytes = KernelFile.number(in: file), bytes < Self.unlimited else { return nil }
    return CapacityLimit(.memory, name: name, value: bytes, source: file.description)
  }
}
