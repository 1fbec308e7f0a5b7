import Foundation
import Glibc
import TestSupport

/// The tested binary, and the tests that this machine allows.
enum Host {
  /// `BATCHPROC_BIN`, or the binary in the folder of these tests.
  static let binary: String = {
    if let given = ProcessInfo.processInfo.environment["BATCHPROC_BIN"], !given.isEmpty {
      return URL(fileURLWithPath: given).path
    }
    let tests = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    let besides = tests.deletingLastPathComponent().appendingPathComponent("batchproc").path
    if access(besides, X_OK) == 0 { return besides }
    return FileManager.default.currentDirectoryPath + "/.build/debug/batchproc"
  }()

  static let isRoot = geteuid() == 0

  /// Root may mount in a separate namespace, but not in each container.
  static let canMount =
    isRoot
    && succeeds(
      "unshare -m sh -c 'd=$(mktemp -d); mount -t tmpfs none $d; s=$?; umount $d; rmdir $d; exit $s'")

  static let canMountImages =
    canMount
    && succeeds(
      """
      d=$(mktemp -d) && cd "$d" && truncate -s 4M i && mkfs.ext4 -qF i && mkdir m &&
      unshare -m mount -o loop i m; s=$?; rm -rf "$d"; exit $s
      """)

  /// File systems whose files may share blocks, made and mounted as an image.
  enum SharingFileSystem: String, Sendable {
    case btrfs, xfs

    /// The command that makes the file system in an image of 400 MiB.
    var make: String {
      switch self {
      case .btrfs: "mkfs.btrfs -q"
      case .xfs: "mkfs.xfs -q -m reflink=1"
      }
    }

    var canBeMounted: Bool {
      Host.canMount
        && Host.succeeds(
          """
          d=$(mktemp -d) && cd "$d" && truncate -s 400M i && \(make) i && mkdir m &&
          unshare -m mount -o loop i m; s=$?; rm -rf "$d"; exit $s
          """)
    }
  }

  /// strace injects faults into system calls, which not each container allows.
  ///
  /// With `--seccomp-bpf` the program stops only at the traced calls, which is faster. strace then delivers no injected signals.
  static let canTrace = succeeds("strace -qq -f --seccomp-bpf -o /dev/null -e trace=openat true")

  /// Functions of the C library are replaced by a small library that the test compiles.
  static let canPreload =
    succeeds("command -v cc") && succeeds("ldd '\(binary)' | grep -q libc.so")

  static let canChangeUser = isRoot && succeeds("setpriv --reuid=65534 --regid=65534 --clear-groups true")

  /// A small program that the test compiles attacks a run as another user.
  static let canAttack = canChangeUser && succeeds("command -v cc")

  /// Where a control group with a limit of threads can be made: version 1, or version 2.
  static let threadGroups = ["/sys/fs/cgroup/pids", "/sys/fs/cgroup"].first {
    succeeds("g=\($0)/batchproc-look-$$; mkdir $g && { test -w $g/pids.max; s=$?; rmdir $g; exit $s; }")
  }

  /// Where a control group with a limit of memory can be made, and the file with the limit: version 1, or version 2.
  static let memoryGroups: (folder: String, file: String)? = [
    ("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max"),
  ].first { folder, file in
    succeeds("g=\(folder)/batchproc-look-$$; mkdir $g && { test -w $g/\(file); s=$?; rmdir $g; exit $s; }")
  }

  static let hasRestic = succeeds("command -v restic")

  static let hasTmux = succeeds("command -v tmux")

  static let hasBrowser = succeeds("command -v chromium")

  static let hasPython = succeeds("python3 -c 'import json, pty'")

  /// Whether to run the long tests as well.
  static let runsLargeTests = ProcessInfo.processInfo.environment["BATCHPROC_LARGE_TESTS"] == "1"

  private static func succeeds(_ script: String) -> Bool {
    (try? Outcome(shell: script))?.status == 0
  }
}
