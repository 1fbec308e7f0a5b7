/// How short memory is for this process now, as the kernel reports it.
package struct MemoryShortage: Sendable, Hashable {
  /// The percentage of the last 10 s in which all threads waited for memory at once: those of the control group of the process,
  /// or of the machine. Nil if the kernel does not report it.
  package var stalled: Double?
  /// The bytes that everything in this process may use together; nil if no limit is known.
  package var limit: UInt64?

  package init(stalled: Double?, limit: UInt64?) {
    (self.stalled, self.limit) = (stalled, limit)
  }

  /// Reads some small files of the kernel.
  ///
  /// - Parameters:
  ///   - proc: where proc(5) is mounted.
  ///   - controlGroups: where the cgroup file systems are mounted.
  package static func current(
    proc: PathBytes = "/proc", controlGroups: PathBytes = "/sys/fs/cgroup"
  ) -> MemoryShortage {
    let own = ControlGroups(proc: proc, root: controlGroups).ownFile(named: "memory.pressure")
    let files = [own, proc.appending("pressure/memory".utf8)]
    let stalled = files.lazy.compactMap { $0 }.compactMap(stalled(in:)).first
    return MemoryShortage(
      stalled: stalled, limit: Capacity.current(proc: proc, controlGroups: controlGroups).memory)
  }

  private static func stalled(in file: PathBytes) -> Double? {
    guard let content = try? KernelFile.read(file) else { return nil }
    let key = Array("full avg10=".utf8)
    let line = content.split(separator: UInt8(ascii: "\n")).first { $0.starts(with: key) }
    return line.flatMap { LoadAverage.number($0.dropFirst(key.count)) }
  }
}
