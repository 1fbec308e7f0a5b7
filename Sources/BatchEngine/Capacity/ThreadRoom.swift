import Glibc

/// How many more threads the limits of the kernel allow, as far as its files show them.
///
/// To read the limits takes much less time than to start the threads. The limits that count threads are `RLIMIT_NPROC`,
/// `threads-max`, `pid_max` and `pids.max` of the control groups: see proc(5), getrlimit(2), and cgroup-v1 and cgroup-v2 in the
/// documentation of the kernel.
struct ThreadRoom: Sendable {
  /// How many threads are left for other processes, which may start theirs at the same moment.
  private static let reserve: UInt64 = 1_024

  private let proc: PathBytes
  private let controlGroups: PathBytes
  private let userLimit: UInt64?

  /// - Parameter userLimit: `RLIMIT_NPROC`; nil when it cannot be read.
  init(
    proc: PathBytes = "/proc", controlGroups: PathBytes = "/sys/fs/cgroup",
    userLimit: UInt64? = processLimit(__RLIMIT_NPROC).map { UInt64($0.rlim_cur) }
  ) {
    self.proc = proc
    self.controlGroups = controlGroups
    self.userLimit = userLimit
  }

  /// Whether so many more threads can certainly be started.
  ///
  /// - Returns: `false` as well when a limit cannot be read, or when there may be one that is not visible here.
  func holds(_ count: Int) -> Bool {
    let needed = UInt64(clamping: count) + Self.reserve
    // All threads of the machine: those of the user are among them.
    guard let used = threadsOfMachine, let userLimit, let most = number(in: "sys/kernel/threads-max"),
      let mostNumbers = number(in: "sys/kernel/pid_max")
    else { return false }
    let limit = min(userLimit, most, mostNumbers)
    guard limit > used, limit - used >= needed else { return false }
    return stacksAreUnlimited && isInFirstUserNamespace
      && ControlGroups(proc: proc, root: controlGroups).haveRoom(forThreads: needed)
  }

  /// In `/proc/loadavg`: the fourth word has the number of threads after its slash.
  private var threadsOfMachine: UInt64? {
    guard let words = words(of: "loadavg"), words.count == 5 else { return nil }
    let parts = words[3].split(separator: UInt8(ascii: "/"))
    return parts.count == 2 ? UInt64(decimalIn: parts[1]) : nil
  }

  /// Mode 2 of overcommit refuses address space for stacks as `ulimit -v` does.
  private var stacksAreUnlimited: Bool {
    !AddressSpace.isLimited && number(in: "sys/vm/overcommit_memory").map { $0 < 2 } ?? false
  }

  /// The limit of the user who made a user namespace counts in it, but is not visible there.
  private var isInFirstUserNamespace: Bool {
    words(of: "self/uid_map")?.map { UInt64(decimalIn: $0) } == [0, 0, UInt64(UInt32.max)]
  }

  private func number(in name: String) -> UInt64? { words(of: name)?.first.flatMap { UInt64(decimalIn: $0) } }

  private func words(of name: String) -> [ArraySlice<UInt8>]? {
    guard let content = try? SmallFile.read(proc.appending(name.utf8)) else { return nil }
    return content.split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\n") }
  }
}
