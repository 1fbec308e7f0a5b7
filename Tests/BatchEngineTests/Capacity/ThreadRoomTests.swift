import Glibc
import TestSupport
import Testing

@testable import BatchEngine

@Suite struct ThreadRoomTests {
  private let proc: TreeFixture
  private let root: TreeFixture

  /// The files of a machine without a limit that is near, and with control groups of version 2.
  private var files = [
    "loadavg": "0.38 1.49 1.51 1/500 18009\n", "sys/kernel/threads-max": "192731\n",
    "sys/kernel/pid_max": "32768\n", "sys/vm/overcommit_memory": "0\n",
    "self/cgroup": "0::/a/b\n",
  ]
  private var groups = [
    "cgroup.controllers": "cpu pids\n", "a/cgroup.controllers": "cpu pids\n", "a/pids.max": "max\n",
    "a/pids.current": "700\n", "a/b/cgroup.controllers": "pids\n", "a/b/pids.max": "10000\n",
    "a/b/pids.current": "8000\n",
  ]
  /// The same limits in version 1.
  private let oldGroups = [
    "pids/cgroup.clone_children": "0\n", "pids/a/cgroup.clone_children": "0\n", "pids/a/pids.max": "max\n",
    "pids/a/pids.current": "700\n", "pids/a/b/cgroup.clone_children": "0\n", "pids/a/b/pids.max": "10000\n",
    "pids/a/b/pids.current": "8000\n",
  ]

  /// Limits that are far.
  private var limits: ThreadRoom.ProcessLimits = {
    var limits = ThreadRoom.ProcessLimits()
    limits.threadsOfUser = .max
    limits.stack = 8 << 20
    limits.data = .max
    limits.addressSpace = .max
    return limits
  }()

  init() throws {
    proc = try TreeFixture()
    root = try TreeFixture()
    try proc.folder("self/ns")
    for (name, number) in [("user", 4_026_531_837), ("pid", 4_026_531_836), ("cgroup", 4_026_531_835)] {
      try proc.symbolicLink(PathBytes("self/ns/\(name)"), to: PathBytes("\(name):[\(number)]"))
    }
  }

  /// - Parameter files, groups: nil is a file that does not exist.
  private func holds(
    _ count: Int, _ limits: ThreadRoom.ProcessLimits? = nil, _ files: [String: String?] = [:],
    _ groups: [String: String?] = [:]
  ) throws -> Bool {
    for (fixture, all, changes) in [(proc, self.files, files), (root, self.groups, groups)] {
      for (path, content) in all.mapValues(Optional.some).merging(changes, uniquingKeysWith: { $1 }) {
        if let content {
          try fixture.file(PathBytes(path), content)
        } else {
          _ = fixture.path(PathBytes(path)).withCString(unlink)
        }
      }
    }
    return ThreadRoom(proc: proc.root, controlGroups: root.root, processLimits: limits ?? self.limits)
      .holds(count)
  }

  @Test("the limits of the user, of the machine and of each group leave room beyond the reserve")
  func far() throws {
    #expect(try holds(15))
    #expect(try holds(976), "the inner group has room for 2,000, of which 1,024 are the reserve")
    #expect(try !holds(977))
  }

  @Test(
    "a limit that is near counts, whichever it is",
    arguments: [
      ["loadavg": "0.38 1.49 1.51 1/32000 18009\n"], ["sys/kernel/threads-max": "1538\n"],
      ["sys/kernel/pid_max": "1538\n"],
    ])
  func near(files: [String: String]) throws {
    #expect(try !holds(15, nil, files))
  }

  @Test func theLimitsOfTheProcessCount() throws {
    func holdsAfter(_ change: (inout ThreadRoom.ProcessLimits) -> Void) throws -> Bool {
      var limits = limits
      change(&limits)
      return try holds(15, limits)
    }
    #expect(try holdsAfter { $0.threadsOfUser = 1_539 })
    for near: UInt64? in [1_538, 0, nil] { #expect(try !holdsAfter { $0.threadsOfUser = near }) }
    for far in [64 << 20, UInt64.max] { #expect(try holdsAfter { $0.stack = far }) }
    for near: UInt64? in [65 << 20, nil] {
      #expect(try !holdsAfter { $0.stack = near }, "a stack of any size may be refused")
    }
    for near: UInt64? in [1 << 40, nil] { #expect(try !holdsAfter { $0.data = near }) }
    for near: UInt64? in [1 << 40, nil] { #expect(try !holdsAfter { $0.addressSpace = near }) }
  }

  @Test("a namespace that is not the first hides limits", arguments: ["user", "pid", "cgroup"])
  func namespaces(name: String) throws {
    let link = PathBytes("self/ns/\(name)")
    try proc.remove(link)
    #expect(try !holds(15), "a kernel without this kind of namespace")
    try proc.symbolicLink(link, to: PathBytes("\(name):[4026532000]"))
    #expect(try !holds(15))
  }

  @Test(
    "nothing is known about a machine whose files are missing or malformed",
    arguments: ["loadavg", "sys/kernel/threads-max", "sys/kernel/pid_max", "sys/vm/overcommit_memory"],
    [nil, "", "\n", "x\n", "-1\n", "99999999999999999999\n", "1 2 3 4 5"])
  func malformed(name: String, content: String?) throws {
    guard !(name.hasPrefix("sys/vm") && content == "1 2 3 4 5") else { return }
    #expect(try !holds(976, nil, [name: content]))
  }

  @Test("a stack may be refused, or a limit not visible, so the threads must be tried")
  func hidden() throws {
    #expect(try !holds(15, nil, ["sys/vm/overcommit_memory": "2\n"]))
    #expect(try !holds(15, nil, ["self/cgroup": "0::/../../b\n"]), "a group outside of the namespace")
    #expect(try !holds(15, nil, ["self/cgroup": nil]))
    #expect(try !holds(15, nil, ["self/cgroup": "7:cpu:/\n"]), "no hierarchy that could limit threads")
    #expect(try !holds(15, nil, ["self/cgroup": "0::/a/elsewhere\n"]), "a path of the host")
  }

  @Test("there may be groups above the root of a container")
  func container() throws {
    #expect(try holds(15, nil, ["self/cgroup": "0::/\n"]))
    #expect(try !holds(15, nil, ["self/cgroup": "0::/\n"], ["cgroup.events": "populated 1\nfrozen 0\n"]))
  }

  @Test func aGroupWithoutTheControllerHasNoLimit() throws {
    #expect(try holds(15, nil, ["self/cgroup": "0::/a/b/c\n"], ["a/b/c/cgroup.controllers": "cpu\n"]))
  }

  @Test(
    "a group whose limit is near, malformed or not readable as a whole is no group with room",
    arguments: [
      ("a/pids.max", "1700\n"), ("a/b/pids.max", "9038\n"), ("a/b/pids.max", "many\n"), ("a/b/pids.max", ""),
      ("a/b/pids.max", "10000 20000\n"), ("a/b/pids.current", nil), ("a/b/pids.current", "x\n"),
      ("a/b/pids.current", "99999999999999999999\n"), ("a/b/pids.current", "10001\n"),
      ("a/cgroup.controllers", nil), ("cgroup.controllers", nil),
    ] as [(String, String?)])
  func groupsThatAreNear(file: String, content: String?) throws {
    #expect(try !holds(15, nil, [:], [file: content]))
  }

  @Test("version 1 has a hierarchy for threads, with the root that has no limit")
  func separateHierarchies() throws {
    for (path, content) in oldGroups { try root.file(PathBytes(path), content) }
    let lines = "9:name=systemd:/\n8:pids:/a/b\n0::/elsewhere\n"
    #expect(try holds(976, nil, ["self/cgroup": lines]))
    #expect(try !holds(977, nil, ["self/cgroup": lines]))
    try root.file("pids/a/b/pids.max", "max\n")
    #expect(try holds(20_000, nil, ["self/cgroup": lines]))
    #expect(try holds(20_000, nil, ["self/cgroup": "8:pids:/\n"]))
    #expect(try !holds(15, nil, ["self/cgroup": "8:pids:/a/c\n"]))
    try root.file("pids/pids.max", "max\n")
    #expect(try !holds(15, nil, ["self/cgroup": lines]), "a container")
  }

  @Test("the hierarchy is found below the names of joined controllers, and beside version 1")
  func otherMounts() throws {
    for (path, content) in oldGroups { try root.file(PathBytes("cpu," + path), content) }
    #expect(try holds(976, nil, ["self/cgroup": "8:cpu,pids:/a/b\n"]))
    #expect(try !holds(977, nil, ["self/cgroup": "8:cpu,pids:/a/b\n"]))
    for (path, content) in groups { try root.file(PathBytes("unified/" + path), content) }
    let none = groups.mapValues { _ in String?.none }
    #expect(try holds(976, nil, ["self/cgroup": "4:cpu:/\n0::/a/b\n"], none))
    #expect(try !holds(977, nil, ["self/cgroup": "4:cpu:/\n0::/a/b\n"], none))
  }

  @Test(
    "the threads of this process can be started when the files say so",
    .enabled(if: ThreadRoom().holds(64), "a limit of threads is near or not visible"))
  func thisMachine() {
    #expect(ThreadLimit.startable(upTo: 64) == 64)
  }
}
