import CLinux
import Glibc

/// The processors, memory and descriptors that this process may use on this machine and in this container.
public struct Capacity: Sendable, Hashable {
  /// All limits that were found, including those that a lower limit overrides.
  package let limits: [CapacityLimit]

  package init(limits: [CapacityLimit]) {
    self.limits = limits
  }

  /// Reads the current limits. A limit that cannot be read is left out.
  ///
  /// - Parameters:
  ///   - proc: where proc(5) is mounted.
  ///   - controlGroups: where the cgroup file systems are mounted.
  public static func current(
    proc: PathBytes = "/proc", controlGroups: PathBytes = "/sys/fs/cgroup"
  ) -> Capacity {
    var limits: [CapacityLimit] = []
    let affinity = clinux_affinity_count()
    if affinity > 0 {
      limits.append(
        CapacityLimit(.processors, name: "CPU affinity", value: UInt64(affinity), source: "sched_getaffinity")
      )
    }
    if let memory = physicalMemory(proc: proc) { limits.append(memory) }
    limits += ControlGroups(proc: proc, root: controlGroups).limits()
    if let space = processLimit(RLIMIT_AS), space.rlim_cur != rlim_t.max {
      limits.append(
        CapacityLimit(.memory, name: "address space", value: UInt64(space.rlim_cur), source: "RLIMIT_AS"))
    }
    let descriptors = DescriptorLimit.current()
    limits.append(
      CapacityLimit(.descriptors, name: "open files", value: descriptors.soft, source: "RLIMIT_NOFILE"))
    return Capacity(limits: limits)
  }

  /// The lowest limit of a resource; nil when none was found.
  package func binding(_ resource: CapacityLimit.Resource) -> CapacityLimit? {
    limits.filter { $0.resource == resource }.min { $0.value < $1.value }
  }

  /// How many operations can compute at once under CPU affinity and quota, at least 1.
  public var concurrency: Int {
    guard let limit = binding(.processors) else { return 1 }
    return max(1, Int(clamping: limit.value))
  }

  /// The number of processors that may be used; a fraction if a quota limits them.
  public var processors: Double {
    limits.filter { $0.resource == .processors }.map(\.exact).min() ?? 1
  }

  /// The bytes of memory that everything in this process may use together; nil when no limit was found.
  public var memory: UInt64? { binding(.memory)?.value }

  private static func physicalMemory(proc: PathBytes) -> CapacityLimit? {
    let file = proc.appending("meminfo".utf8)
    guard let content = try? KernelFile.read(file) else { return nil }
    for line in content.split(separator: UInt8(ascii: "\n")) where line.starts(with: "MemTotal:".utf8) {
      guard let kibibytes = UInt64(decimalIn: line.dropFirst("MemTotal:".utf8.count)) else { return nil }
      let (bytes, overflow) = kibibytes.multipliedReportingOverflow(by: 1_024)
      guard !overflow else { return nil }
      return CapacityLimit(.memory, name: "physical memory", value: bytes, source: file.description)
    }
    return nil
  }
}

/// The limit of a resource of the process; nil when the kernel does not know the resource.
func processLimit(_ resource: __rlimit_resource) -> rlimit? {
  var limit = rlimit()
  return getrlimit(__rlimit_resource_t(resource.rawValue), &limit) == 0 ? limit : nil
}

extension UInt64 {
  /// Reads a decimal number at the start of the bytes, with blanks around it; nil when there is none or it is too large.
  package init?(decimalIn bytes: some Sequence<UInt8>) {
    let digits = bytes.drop { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
      .prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    guard let number = UInt64(String(decoding: Array(digits), as: UTF8.self)) else { return nil }
    self = number
  }
}
