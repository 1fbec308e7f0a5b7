import TestSupport
import Testing

@testable import BatchCore
@testable import BatchEngine

@Suite(.timeLimit(.minutes(3))) struct MachineReportTests {
  private let t: TreeFixture

  init() throws { t = try TreeFixture() }

  private func gather(_ folder: PathBytes? = nil, devices: PathBytes? = nil) async throws -> MachineReport {
    let (root, folder) = (t.root, folder ?? t.root)
    return try await onThread {
      MachineReport.gather(
        folder, devices: devices, descriptors: DescriptorLimit(soft: 100, hard: 200),
        proc: root.appending("proc".utf8), controlGroups: root.appending("cgroup".utf8))
    }
  }

  @Test(
    "A quota of half a processor limits the concurrency, in version 1 and in version 2",
    arguments: [
      ("0::/job\n", "cgroup/job/cpu.max", "50000 100000\n", "", ""),
      (
        "4:cpu,cpuacct:/job\n", "cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "50000\n",
        "cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "100000\n"
      ),
    ])
  func quota(group: String, file: String, content: String, second: String, period: String) async throws {
    try t.file("proc/self/cgroup", group)
    try t.file(PathBytes(file), content)
    if !second.isEmpty { try t.file(PathBytes(second), period) }
    let report = try await gather()
    let binding = try #require(ConcurrencyBounds.binding(report.bounds.computing))
    #expect(binding.name == "cgroup CPU quota")
    #expect(report.bounds.start == 1)
    #expect(report.capacity.processors == 0.5)
  }

  @Test func aMemoryLimitLimitsTheConcurrency() async throws {
    try t.file("proc/self/cgroup", "0::/job\n")
    try t.file("proc/meminfo", "MemTotal: 8000000 kB\n")
    try t.file("cgroup/job/memory.max", "\(FileReader.largeMemory * 3)\n")
    let report = try await gather()
    #expect(report.capacity.binding(.memory)?.name == "cgroup memory limit")
    #expect(report.bounds.most == 1)
    #expect(ConcurrencyBounds.binding(report.bounds.waiting)?.name == "memory")
  }

  @Test func theReportHasAllProbes() async throws {
    try t.file("proc/loadavg", "1.25 1 1 1/2 3\n")
    try t.file("proc/cpuinfo", "processor: 0\nflags\t: fpu sha_ni avx2 other\n")
    let device = try DeviceFacts(of: t.root)
    try t.file("devices", "# Saved\n\(device.fileSystemID) 12\n")
    let report = try await gather(devices: t.root.appending("devices".utf8))
    #expect(report.load == 1.25)
    #expect(report.features == ["sha_ni", "avx2"])
    #expect(report.descriptors.soft == 100)
    #expect(report.libraries.contains { $0.name == "libzstd" })
    #expect(report.device == device)
    #expect(report.savedNumber == 12)
    #expect(report.deviceError == nil)
  }

  @Test func aMissingFolderIsAnErrorAndTheOtherFactsAreKnown() async throws {
    let report = try await gather(t.root.appending("none".utf8))
    #expect(report.device == nil)
    #expect(report.deviceError?.errno == 2)
    #expect(!report.capacity.limits.isEmpty)
  }

  @Test("The other facts are known when the file system does not answer")
  func silence() async throws {
    let root = t.root
    try t.file("proc/loadavg", "1.25 1 1 1/2 3\n")
    let gate = Gate()
    let report = try await onThread {
      MachineReport.gather(
        "held", devices: nil, descriptors: DescriptorLimit(soft: 100, hard: 200),
        proc: root.appending("proc".utf8), controlGroups: root.appending("cgroup".utf8), patience: 0
      ) { folder throws(BatchError) in
        gate.pass()
        throw BatchError(.missing, "too late", path: folder)
      }
    }
    gate.open()
    #expect(report.isSilent)
    #expect(report.deviceError == BatchError(.unreadable, "does not answer", path: "held"))
    #expect(report.device == nil)
    #expect(report.load == 1.25)
    #expect(report.libraries.contains { $0.name == "libzstd" })
  }

  @Test func aFolderIsLeftAsItWas() async throws {
    try t.file("d/one", "")
    let device = try DeviceFacts(of: t.root.appending("d".utf8))
    #expect(device.canMakeUnnamedFiles != .untried)
    #expect(device.canOpenBeneath != .untried)
    #expect(device.fileSystemID.utf8.count == 16)
    #expect(DeviceFacts.fileSystemID(of: t.root.appending("d/one".utf8)) == device.fileSystemID)
    #expect(t.names(in: "d") == ["one"])
    let proc = try DeviceFacts(of: "/proc")
    #expect((proc.kind, proc.fileSystem) == (.virtual, "proc"))
    #expect(proc.canKeepAttributes == .untried)
  }
}
