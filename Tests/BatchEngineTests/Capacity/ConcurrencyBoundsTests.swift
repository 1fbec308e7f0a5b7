import Testing

@testable import BatchEngine

@Suite struct ConcurrencyBoundsTests {
  private static let affinity = CapacityLimit(
    .processors, name: "CPU affinity", value: 8, source: "sched_getaffinity")
  private static let memory = CapacityLimit(
    .memory, name: "physical memory", value: 8 << 30, source: "meminfo")

  private func bounds(
    _ limits: [CapacityLimit], descriptors: Int = 1000, memoryOfLane: Int = 0
  ) -> ConcurrencyBounds {
    ConcurrencyBounds(
      Capacity(limits: limits), descriptors: descriptors, descriptorsOfLane: 2, memoryOfLane: memoryOfLane)
  }

  @Test func processorsAreForComputingAlone() {
    let found = bounds([Self.affinity, Self.memory])
    #expect(found.start == 8)
    #expect(found.most == 64)
    #expect(ConcurrencyBounds.binding(found.computing)?.name == "CPU affinity")
    #expect(ConcurrencyBounds.binding(found.waiting)?.name == "requests")
  }

  @Test func aQuotaOfHalfAProcessorIsOneOperation() {
    let quota = CapacityLimit(.processors, name: "cgroup CPU quota", value: 1, exact: 0.5, source: "cpu.max")
    #expect(bounds([Self.affinity, quota, Self.memory]).start == 1)
    #expect(Capacity(limits: [Self.affinity, quota]).processors == 0.5)
  }

  @Test func memoryAndDescriptorsBindBoth() {
    let costly = bounds([Self.affinity, Self.memory], memoryOfLane: 1 << 30)
    #expect((costly.start, costly.most) == (4, 4))
    let narrow = bounds([Self.affinity, Self.memory], descriptors: 6)
    #expect((narrow.start, narrow.most) == (3, 3))
    #expect(ConcurrencyBounds.binding(narrow.waiting)?.name == "descriptors")
  }

  @Test func moreProcessorsThanRequestsAreAllUsed() {
    let many = CapacityLimit(.processors, name: "CPU affinity", value: 128, source: "")
    let found = bounds([many])
    #expect((found.start, found.most) == (128, 128))
  }

  @Test func oneOperationAlwaysRuns() {
    let found = bounds([], descriptors: 1, memoryOfLane: .max)
    #expect((found.start, found.most) == (1, 1))
  }
}
