import Glibc

/// Whether the limits of the kernel leave room for more threads.
///
/// Reading the limits takes much less time than starting the threads. The limits that count threads are `RLIMIT_NPROC`,
/// `threads-max`, `pid_max` and `pids.max` of the control groups; those of memory can refuse a stack. See proc(5), getrlimit(2),
/// namespaces(7), and cgroup-v1 and cgroup-v2 in the documentation of the kernel.
struct ThreadRoom: Sendable {
  /// How many threads are left for other processes, which may start theirs at the same moment.
  private static let reserve: UInt64 = 1_024
  /// The stack of a thread has the size of its limit (`ulimit -s`). Outside of overcommit mode 2, the kernel refuses no stack up to
  /// this size.
  private static let largestStack: UInt64 = 64 << 20
  /// The first namespaces of a machine have these numbers (`PROC_USER_INIT_INO` and others in the kernel). In a later one some
  /// limits are not visible: of the user who made it, of the processes around it, of the groups above it.
  private static let firstNamespaces: [(name: String, target: PathBytes)] = [
    ("user", "user:[4026531837]"), ("pid", "pid:[4026531836]"), ("cgroup", "cgroup:[4026531835]"),
  ]

  private let proc: PathBytes
  private let controlGroups: PathBytes
  private let processLimits: ProcessLimits

  /// The limits of the process; nil for one that cannot be read.
  struct ProcessLimits: Sendable {
    var threadsOfUser = current(__RLIMIT_NPROC)
    var stack = current(RLIMIT_STACK)
    var data = current(RLIMIT_DATA)
    var addressSpace = current(RLIMIT_AS)

    private static func current(_ resource: __rlimit_resource) -> UInt64? {
      processLimit(resource).map { UInt64($0.rlim_cur) }
    }
  }

  init(
    proc: PathBytes = "/proc", controlGroups: PathBytes = "/sys/fs/cgroup",
    processLimits: ProcessLimits = ProcessLimits()
  ) {
    self.proc = proc
    self.controlGroups = controlGroups
    self.processLimits = processLimits
  }

  /// Whether all limits of threads are visible and allow so many more threads.
  ///
  /// - Returns: `false` as well when a limit cannot be read.
  func holds(_ count: Int) -> Bool {
    let needed = UInt64(clamping: count) + Self.reserve
    // All threads of the machine: those of the user are among them.
    guard let used = threadsOfMachine, let ofUser = processLimits.threadsOfUser,
      let most = number(in: "sys/kernel/threads-max"),
      let mostNumbers = number(in: "sys/kernel/pid_max")
    else { return false }
    let limit = min(ofUser, most, mostNumbers)
    guard limit > used, limit - used >= needed else { return false }
    return stacksAreUnlimited && isInFirstNamespaces
      && ControlGroups(proc: proc, root: controlGroups).haveRoom(forThreads: needed)
  }

  /// In `/proc/loadavg`: the fourth word has the number of threads after its slash.
  private var threadsOfMachine: UInt64? {
    guard let words = KernelFile.words(of: proc.appending("loadavg".utf8)), words.count == 5 else {
      return nil
    }
    let parts = words[3].split(separator: UInt8(ascii: "/"))
    return parts.count == 2 ? UInt64(decimalIn: parts[1]) : nil
  }

  /// Whether nothing limits the memory for stacks.
  private var stacksAreUnlimited: Bool {
    let unlimited = UInt64(rlim_t.max)
    guard processLimits.addressSpace == unlimited, processLimits.data == unlimited,
      let stack = processLimits.stack, stack <= Self.largestStack || stack == unlimited
    else { return false }
    return number(in: "sys/vm/overcommit_memory").map { $0 < 2 } ?? false
  }

  private var isInFirstNamespaces: Bool {
    Self.firstNamespaces.allSatisfy { namespace in
      let link = proc.appending("self/ns".utf8).appending(namespace.name.utf8)
      return (try? LinkTarget.read(link)) == namespace.target
    }
  }

  private func number(in name: String) -> UInt64? { KernelFile.number(in: proc.appending(name.utf8)) }
}
