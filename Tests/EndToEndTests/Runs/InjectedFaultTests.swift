import BatchCore
import BatchEngine
import Glibc
import TestSupport
import Testing

/// System calls that fail, one at a time: the failed file is named, all others are processed, and the exit
/// code reports the failure.
@Suite(.enabled(if: Host.canTrace, "needs strace")) struct InjectedFaultTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    try t.writeTree()
  }

  private func paths(_ run: Outcome) -> [String] {
    run.rows.map { String(decoding: $0.dropFirst(66), as: UTF8.self) }
  }

  /// Fails one call on a regular file, counted over all threads. If `FAULT_SIZE` is set, only files of that
  /// size are counted.
  private static let fault = """
    #include <stdatomic.h>
    #include <stdlib.h>
    #include <sys/stat.h>
    static atomic_int calls;
    static int fails(const char *call, int f) {
      struct stat s;
      if (strcmp(call, getenv("FAULT_CALL")) || fstat(f, &s) || !S_ISREG(s.st_mode)) return 0;
      char *size = getenv("FAULT_SIZE");
      if (size && atoll(size) != s.st_size) return 0;
      if (atomic_fetch_add(&calls, 1) + 1 != atoi(getenv("FAULT_AT"))) return 0;
      errno = atoi(getenv("FAULT_ERRNO"));
      return 1;
    }
    ssize_t read(int f, void *b, size_t n) {
      static ssize_t (*r)(int, void *, size_t);
      if (!r) r = dlsym(RTLD_NEXT, "read");
      return fails("read", f) ? -1 : r(f, b, n);
    }
    ssize_t write(int f, const void *b, size_t n) {
      static ssize_t (*w)(int, const void *, size_t);
      if (!w) w = dlsym(RTLD_NEXT, "write");
      return fails("write", f) ? -1 : w(f, b, n);
    }
    """

  @Test(
    "a file whose reading fails is named and has no digest, and all others have theirs",
    .enabled(if: Host.canPreload, "needs cc"), arguments: [1, 2, 3, 5, 8, 12])
  func readFails(call: Int) throws {
    try t.preload(Self.fault)
    // A file of 3 MiB is read in turn with hashing, one of 12 MiB at the same time.
    for size in [3, 12] {
      try t.shell("head -c \(size)M /dev/urandom >t/bad")
      let run = try t.shell(
        "LD_PRELOAD=$PWD/preload.so FAULT_CALL=read FAULT_SIZE=\(size << 20) FAULT_AT=\(call) FAULT_ERRNO=5 $BP hash t"
      )
      #expect(run.status == 3)
      #expect(paths(run) == ["t/big", "t/empty", "t/text", "t/d/one", "t/d/two"])
      #expect(run.messages == ["batchproc: t/bad: cannot read: Input/output error"], "\(run.errorText)")
    }
  }

  @Test("a file that can be read at the second attempt is read again when the policy says so")
  func readIsRetried() throws {
    let run = try t.shell(
      """
      strace -qq -f --seccomp-bpf -o /dev/null -P t/big -e trace=read -e inject=read:error=EIO:when=1 \
        $BP hash --on unreadable=retry:1 t
      """)
    #expect(run.status == 0, "\(run.errorText)")
    #expect(run.rows.count == 5)
  }

  @Test(
    "an unreadable file is a warning or ignored when the policy says so",
    arguments: [
      ("warn", "batchproc: warning: t/big: cannot read: Input/output error"), ("ok", ""),
    ])
  func readFailsByPolicy(action: String, message: String) throws {
    let run = try t.shell(
      """
      strace -qq -f --seccomp-bpf -o /dev/null -P t/big -e trace=read -e inject=read:error=EIO \
        $BP hash --on unreadable=\(action) t
      """)
    #expect(run.status == 0)
    #expect(run.rows.count == 4)
    #expect(run.messages.joined() == message)
  }

  @Test("check distinguishes a file that cannot be read from one that differs")
  func checkReadFails() throws {
    let run = try t.shell(
      """
      $BP hash -q t >m
      strace -qq -f --seccomp-bpf -o /dev/null -P t/big -e trace=read -e inject=read:error=EIO $BP check m
      """)
    #expect(run.status == 3)
    #expect(run.text.contains("t/big: FAILED open or read\n"))
    #expect(run.rows.count == 5)
  }

  @Test(
    "a folder or file that cannot be opened, listed or examined is named",
    arguments: ["getdents64", "newfstatat", "fstat", "statx", "openat", "readlinkat"])
  func walkFails(name: String) throws {
    let run = try t.shell(
      """
      for call in 1 2 3 4 6; do
        strace -qq -f --seccomp-bpf -o /dev/null -P t -P t/d -P t/text -e trace=\(name) -e inject=\(name):error=EIO:when=$call \
          timeout 30 $BP hash t >rows 2>errors
        echo "$call $? $(wc -l <rows) $(grep -c '^batchproc: ' errors) $(grep '^batchproc: ' errors | grep -vc 'Input/output error$')"
      done
      """)
    let lines = run.text.split(separator: "\n")
    #expect(lines.count == 5, "\(run.text)\(run.errorText)")
    for line in lines {
      // The number of the call, the status, and the numbers of rows, of messages, and of messages about another error.
      let numbers = line.split(separator: " ").compactMap { Int($0) }
      try #require(numbers.count == 5, "\(line)")
      if numbers[1] == 0 {
        #expect(numbers[2] == 5, "\(line)")
      } else {
        #expect([1, 3].contains(numbers[1]), "\(line)")
        // The failing call may be the one that reports the end of the listing.
        #expect(numbers[2] <= 5, "\(line)")
        #expect(numbers[3] > 0 && numbers[4] == 0, "\(line)")
      }
    }
  }

  @Test("interrupted system calls are repeated")
  func interrupted() throws {
    let run = try t.shell(
      """
      $BP hash -q t >plain; : >m
      strace -qq -f --seccomp-bpf -o /dev/null -P t -P t/d -P t/text -P t/big -P "$PWD" -P . -P "$PWD/m" \
        -e trace=read,write,openat,fsync,getdents64 -e inject=read,write,openat,fsync,getdents64:error=EINTR:when=1+2 \
        $BP hash -q --force -o out t; echo $?
      strace -qq -f --seccomp-bpf -o /dev/null -P "$PWD/m" -e trace=write -e inject=write:error=EINTR:when=1+2 $BP hash -q t >>m
      cmp plain out && cmp plain m; echo $?
      """)
    #expect(run.text == "0\n0\n", "\(run.errorText)")
  }

  @Test(
    "a write that fails leaves neither a final name nor a temporary file",
    .enabled(if: Host.canPreload, "needs cc"), arguments: [EIO, ENOSPC, EDQUOT], [1, 2, 5, 9])
  func writeFails(error: Int32, call: Int) throws {
    try t.preload(Self.fault)
    try t.shell("mkdir t/many; cd t/many; for i in $(seq 200); do echo $i >f$i; done")
    let before = t.names()
    let fault = "LD_PRELOAD=$PWD/preload.so FAULT_CALL=write FAULT_AT=\(call) FAULT_ERRNO=\(error)"
    let run = try t.shell("\(fault) $BP hash -q --stride 10 -o m t")
    #expect(run.status == 5, "\(run.errorText)")
    #expect(run.messages.count == 1)
    #expect(run.errorText.contains("batchproc: m: cannot write: "))
    #expect(t.names() == before)
    // The standard streams of this run are regular files.
    let plain = try t.shell("\(fault) $BP hash -q --stride 10 t 2>&-")
    #expect(plain.status == 5)
  }

  @Test(
    "a file that cannot be synced, closed or renamed does not get its final name",
    arguments: ["fsync", "renameat2"])
  func publishingFails(name: String) throws {
    try t.file("old", "old")
    for arguments in ["-o m t", "--force -o old t"]
    where !(name == "renameat2" && arguments.contains("force")) {
      let run = try t.shell(
        "strace -qq -f --seccomp-bpf -o /dev/null -e trace=\(name) -e inject=\(name):error=EIO:when=1 $BP hash -q \(arguments)"
      )
      #expect(run.status == 5, "\(run.errorText)")
      #expect(run.errorText.contains("Input/output error"))
      #expect(t.names() == ["old", "t"])
      #expect(t.content("old") == Array("old".utf8))
    }
  }

  @Test("an existing file is kept when it cannot be replaced")
  func replacingFails() throws {
    try t.file("old", "old")
    for error in ["EIO", "EXDEV", "EPERM"] {
      let run = try t.shell(
        """
        strace -qq -f --seccomp-bpf -o /dev/null -e trace=rename,renameat -e inject=rename,renameat:error=\(error) \
          $BP hash -q --force -o old t
        """)
      #expect(run.status == 5, "\(run.errorText)")
      #expect(t.names() == ["old", "t"])
      #expect(t.content("old") == Array("old".utf8))
    }
  }

  @Test("a folder that cannot be synced makes the run fail")
  func folderSyncFails() throws {
    let run = try t.shell(
      "strace -qq -f --seccomp-bpf -o /dev/null -e trace=fsync -e inject=fsync:error=EIO:when=2 $BP hash -q -o m t"
    )
    #expect(run.status == 5)
    #expect(run.errorText.contains("Input/output error"))
    #expect(t.names() == ["m", "t"])
  }

  /// System calls that the kernel may lack.
  private static let newCalls = [
    "openat2", "copy_file_range", "statx", "io_uring_setup", "fallocate", "fadvise64", "getrandom",
    "sendfile",
    "renameat2", "ioprio_set", "sched_getaffinity",
  ]

  @Test("system calls that the kernel lacks are replaced by others")
  func missingCalls() throws {
    let run = try t.shell(
      """
      for call in \(Self.newCalls.joined(separator: " ")); do
        strace -qq -f --seccomp-bpf -o /dev/null -e trace=$call -e inject=$call:error=ENOSYS $BP hash -q -o m t; echo "$call: $?"
        sha256sum -c --quiet m; wc -l <m; rm m; ls -A | grep '^\\.batchproc-'
      done
      """)
    #expect(run.text == Self.newCalls.map { "\($0): 0\n5\n" }.joined(), "\(run.text)\(run.errorText)")
  }

  @Test("an existing file is not replaced when renameat2 is missing")
  func noReplaceWithoutTheCall() throws {
    try t.file("old", "old")
    let run = try t.shell(
      "strace -qq -f --seccomp-bpf -o /dev/null -e trace=renameat2 -e inject=renameat2:error=EINVAL $BP hash -q -o old t"
    )
    #expect(run.status == 1)
    #expect(t.content("old") == Array("old".utf8))
  }
}
