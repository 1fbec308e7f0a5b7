import Glibc

/// How many file descriptors the process may have open.
package struct DescriptorLimit: Sendable, Hashable {
  /// Descriptors kept free for the standard streams, the queues of Dispatch, and the outputs.
  ///
  /// Without a free descriptor the event loop of Dispatch stops the process.
  package static let reserve: UInt64 = 14
  /// With fewer descriptors no run is safe.
  package static let minimum: UInt64 = 16

  /// The limit that the kernel enforces.
  package let soft: UInt64
  /// The highest value to which the soft limit may be raised.
  package let hard: UInt64

  package init(soft: UInt64, hard: UInt64) {
    self.soft = soft
    self.hard = hard
  }

  package static func current() -> DescriptorLimit {
    guard let limit = processLimit(RLIMIT_NOFILE) else {
      let least = UInt64(_POSIX_OPEN_MAX)
      return DescriptorLimit(soft: least, hard: least)
    }
    return DescriptorLimit(soft: UInt64(limit.rlim_cur), hard: UInt64(limit.rlim_max))
  }

  /// Raises the soft limit to the hard one. Called at the start. If the kernel refuses, the limit is unchanged.
  ///
  /// - Returns: the limits afterwards.
  @discardableResult
  package static func raise() -> DescriptorLimit {
    let before = current()
    guard before.soft < before.hard else { return before }
    var limit = rlimit(rlim_cur: rlim_t(before.hard), rlim_max: rlim_t(before.hard))
    _ = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    return current()
  }

  /// How many descriptors besides the standard streams are open, inherited or opened since.
  ///
  /// They are counted only if the limit is below 1,024; with a higher limit they make no difference.
  package var inherited: UInt64 {
    guard soft <= 1_024 else { return 0 }
    return (STDERR_FILENO + 1..<Int32(soft)).reduce(into: 0) { if fcntl($1, F_GETFD) >= 0 { $0 += 1 } }
  }

  /// The limits less the ``inherited`` descriptors.
  package var free: DescriptorLimit {
    let taken = inherited
    return DescriptorLimit(soft: soft - min(soft, taken), hard: hard - min(hard, taken))
  }

  /// How many descriptors files may take at once: half of the limit, as far as the ``reserve`` stays free.
  ///
  /// - Throws: `.exhausted` below ``minimum``.
  package func budget() throws(BatchError) -> Int {
    guard soft >= Self.minimum else {
      throw BatchError(
        .exhausted, "\(soft) file descriptors are too few: at least \(Self.minimum) are needed",
        remedy: "raise `ulimit -n`")
    }
    return Int(clamping: min(soft / 2, soft - Self.reserve))
  }
}
