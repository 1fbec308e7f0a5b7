import TestSupport
import Testing

@testable import BatchEngine

@Suite struct CapacityTests {
  private func limit(_ resource: CapacityLimit.Resource, _ value: UInt64, _ name: String = "x")
    -> CapacityLimit
  {
    CapacityLimit(resource, name: name, value: value, source: "test")
  }

  @Test("the concurrency follows from the least limit of each resource")
  func binding() {
    let capacity = Capacity(limits: [
      limit(.processors, 8, "affinity"), limit(.processors, 2, "quota"), limit(.memory, 100),
      limit(.memory, 50),
    ])
    #expect(capacity.binding(.processors)?.name == "quota")
    #expect(capacity.concurrency == 2)
    #expect(capacity.memory == 50)
    #expect(capacity.binding(.descriptors) == nil)
  }

  @Test(
    "the concurrency is at least one and fits an integer",
    arguments: [(0, 1), (.max, .max)] as [(UInt64, Int)])
  func concurrencyBounds(value: UInt64, expected: Int) {
    #expect(Capacity(limits: [limit(.processors, value)]).concurrency == expected)
    #expect(Capacity(limits: []).concurrency == 1)
    #expect(Capacity(limits: []).memory == nil)
  }

  @Test("this machine has processors, memory and descriptors")
  func thisMachine() {
    let capacity = Capacity.current()
    #expect(capacity.limits.contains { $0.source == "sched_getaffinity" && $0.value >= 1 })
    #expect(capacity.limits.contains { $0.name == "physical memory" && $0.value > 1 << 20 })
    #expect(capacity.binding(.descriptors) != nil)
  }

  @Test(
    "the physical memory is read in kibibytes, and is unknown when the file is malformed",
    arguments: [
      ("MemTotal:       16315540 kB\nMemFree: 1 kB\n", 16_315_540 * 1_024),
      ("MemFree: 1 kB\nMemTotal: 1 kB", 1_024),
      ("MemTotal: kB\n", nil), ("MemTotal: -1 kB\n", nil), ("MemTotal: 18446744073709551615 kB\n", nil),
      ("MemTotal: 99999999999999999999 kB\n", nil), ("", nil), ("MemTotal:", nil),
    ] as [(String, UInt64?)])
  func physicalMemory(meminfo: String, expected: UInt64?) throws {
    let proc = try TreeFixture()
    try proc.file("meminfo", meminfo)
    let capacity = Capacity.current(proc: proc.root, controlGroups: proc.root)
    #expect(capacity.limits.first { $0.name == "physical memory" }?.value == expected)
  }

  @Test("without the proc and cgroup file systems, the system calls alone give the capacity")
  func nothingMounted() {
    let capacity = Capacity.current(proc: "/nonexistent", controlGroups: "/nonexistent")
    #expect(capacity.concurrency >= 1)
    #expect(!capacity.limits.contains { $0.source.hasPrefix("/") })
  }
}
