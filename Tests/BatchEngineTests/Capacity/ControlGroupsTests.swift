import TestSupport
import Testing

@testable import BatchEngine

@Suite struct ControlGroupsTests {
  private let proc: TreeFixture
  private let root: TreeFixture

  init() throws {
    proc = try TreeFixture()
    root = try TreeFixture()
    try proc.folder("self")
  }

  /// The limits that these files below the cgroup mount set.
  private func limits(groups: String, _ files: [String: String]) throws -> [CapacityLimit] {
    try proc.file("self/cgroup", groups)
    for (path, content) in files { try root.file(PathBytes(path), content) }
    return ControlGroups(proc: proc.root, root: root.root).limits()
  }

  private func values(_ limits: [CapacityLimit], _ resource: CapacityLimit.Resource) -> [UInt64] {
    limits.filter { $0.resource == resource }.map(\.value)
  }

  @Test("version 2: every level up to the root counts, the innermost first")
  func unifiedHierarchy() throws {
    let found = try limits(
      groups: "0::/a/b\n",
      [
        "a/b/cpu.max": "max 100000\n", "a/cpu.max": "250000 100000\n", "cpu.max": "400000 100000\n",
        "a/b/memory.max": "1073741824\n", "a/memory.max": "max\n", "a/b/memory.high": "536870912\n",
      ])
    #expect(values(found, .processors) == [3, 4])
    #expect(values(found, .memory) == [1 << 30, 1 << 29])
    #expect(found.first { $0.value == 3 }?.source == root.path("a/cpu.max").description)
  }

  @Test("version 1: the quota of joined controllers and the limit of memory are read, and -1 is no limit")
  func separateHierarchies() throws {
    let found = try limits(
      groups: "4:memory:/docker/x\n3:cpu,cpuacct:/docker/x\n2:cpuset:/\n1:name=systemd:/\n",
      [
        "cpu,cpuacct/docker/x/cpu.cfs_quota_us": "150000\n",
        "cpu,cpuacct/docker/x/cpu.cfs_period_us": "100000\n",
        "cpu,cpuacct/docker/cpu.cfs_quota_us": "-1\n", "cpu,cpuacct/docker/cpu.cfs_period_us": "100000\n",
        "memory/docker/x/memory.limit_in_bytes": "268435456\n",
        "memory/memory.limit_in_bytes": "9223372036854771712\n",
      ])
    #expect(values(found, .processors) == [2])
    #expect(values(found, .memory) == [1 << 28])
  }

  @Test("version 1: joined controllers are found when the mount is named after one of them")
  func joinedControllersApart() throws {
    let found = try limits(
      groups: "3:cpu,cpuacct:/\n", ["cpu/cpu.cfs_quota_us": "100000\n", "cpu/cpu.cfs_period_us": "100000\n"])
    #expect(values(found, .processors) == [1])
  }

  @Test("version 1 and version 2 are read when both are mounted")
  func hybrid() throws {
    let found = try limits(
      groups: "2:memory:/m\n0::/u\n",
      ["unified/u/cpu.max": "50000 100000\n", "memory/m/memory.limit_in_bytes": "1000\n"])
    #expect(values(found, .processors) == [1])
    #expect(values(found, .memory) == [1_000])
  }

  @Test(
    "the limits of the mount itself are read when /proc/self/cgroup gives a path of the host",
    arguments: ["0::/docker/not-here", "0::/../../other", "0::/", "0::/a:b/c"])
  func hostPath(groups: String) throws {
    #expect(values(try limits(groups: groups, ["cpu.max": "200000 100000"]), .processors) == [2])
  }

  @Test(
    "a part of a processor counts as one processor",
    arguments: [
      ("1000 100000", 1), ("100000 100000", 1), ("100001 100000", 2), ("18446744073709551615 1", .max),
    ]
      as [(String, UInt64)])
  func roundsUp(content: String, expected: UInt64) throws {
    #expect(values(try limits(groups: "0::/", ["cpu.max": content]), .processors) == [expected])
  }

  @Test(
    "malformed content is no limit",
    arguments: [
      "", "max", "max 100000", "100000", "100000 0", "0 100000", "-1 100000", "x y", "100000 max",
      "99999999999999999999 100000", "1 2 3", "\u{0}\u{0} \u{0}",
    ])
  func oddContent(content: String) throws {
    let files = ["cpu.max": content, "memory.max": "many", "memory.high": "99999999999999999999"]
    #expect(try limits(groups: "0::/", files).isEmpty)
  }

  @Test(
    "malformed lines of /proc/self/cgroup are skipped",
    arguments: ["", "\n\n", "0", "0:", "::::", "x::/", "7:cpu"])
  func oddGroups(groups: String) throws {
    #expect(try limits(groups: groups, ["cpu.max": "200000 100000"]).isEmpty)
  }
}
