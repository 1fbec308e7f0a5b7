import BatchCore
import BatchEngine
import Foundation
import TestSupport
import Testing

/// Limits of the process: the run respects them, or reports why it cannot.
@Suite struct LimitTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    try t.writeTree()
  }

  private func writeMany(_ count: Int) throws {
    try t.shell("mkdir -p t/many; cd t/many; for i in $(seq \(count)); do echo $i >f$i; done")
  }

  @Test("a run without /proc ends with a message and without an output", .enabled(if: Host.isRoot, "mounts"))
  func noProc() throws {
    let run = try t.shell(
      """
      unshare -m sh -c 'mount -t tmpfs none /proc; $BP hash t/text; echo $?; $BP compress t/text; echo $?
        $BP archive -o a.tar.zst t; echo $?; $BP hash --wrong; echo $?; $BP --version | grep -c batchproc'; ls t/text* a.tar.zst
      """)
    #expect(run.text == "1\n1\n1\n64\n1\nt/text\n", "\(run.text)\(run.errorText)")
    #expect(run.messages.filter { $0.contains("mount -t proc proc /proc") }.count == 3, "\(run.errorText)")
  }

  @Test("16 operations with 16 descriptors give a row for each file", arguments: [16, 20, 24, 64])
  func fewDescriptors(limit: Int) throws {
    try writeMany(300)
    let run = try t.shell(
      "ulimit -n \(limit); $BP hash -j 16 --stride 1 t >m; echo $?; wc -l <m; sha256sum -c --quiet m; $BP check -j 16 --quiet m"
    )
    #expect(run.text == "0\n305\n", "\(run.errorText)")
  }

  @Test(
    "too little address space ends the run with a message and without an output",
    arguments: [150_000, 250_000])
  func littleAddressSpace(limit: Int) throws {
    let run = try t.shell("ulimit -v \(limit); $BP archive -o a.tar.xz t; echo $?; ls a.tar.xz")
    #expect(run.text == "1\n", "\(run.errorText)")
    #expect(run.errorText.contains("ulimit -v"), "\(run.errorText)")
  }

  @Test(
    "too few descriptors end the run with a message and without an output", arguments: [4, 5, 6, 8, 10, 11])
  func noDescriptors(limit: Int) throws {
    let run = try t.shell("ulimit -n \(limit); $BP hash -o m t")
    // The dynamic loader needs descriptors as well, and reports when it has too few.
    #expect([1, 127].contains(run.status), "\(run.ending)")
    #expect(!run.errors.isEmpty)
    #expect(!t.exists("m"))
    if run.status == 1 { #expect(run.errorText.contains("file descriptors are too few")) }
  }

  @Test("the exit code says whether the descriptors were sufficient", arguments: [12, 13, 14, 15])
  func scarceDescriptors(limit: Int) throws {
    let run = try t.shell("ulimit -c 0; ulimit -n \(limit); $BP hash -q -j 16 -o m t")
    #expect([0, 1, 3, 5].contains(run.status), "\(run.ending)")
    if run.status == 0 { #expect(try t.shell("sha256sum -c --quiet m; wc -l <m").text == "5\n") }
    if run.status != 0 { #expect(!run.messages.isEmpty) }
  }

  @Test("inherited descriptors do not count as free")
  func inheritedDescriptors() throws {
    try writeMany(300)
    let run = try t.shell(
      """
      for i in $(seq 20 29); do eval "exec $i</dev/null"; done
      ulimit -n 32; $BP hash -j 16 --stride 1 -o m t; echo $?; wc -l <m
      """)
    #expect(run.text == "0\n305\n", "\(run.errorText)")
  }

  @Test("too little memory leads to a complete output or none")
  func addressSpace() throws {
    var ends: Set<Bool> = []
    for kilobytes in [60_000, 100_000, 150_000, 200_000, 300_000, 400_000, 600_000, 1_000_000, 4_000_000] {
      let run = try t.shell("ulimit -c 0; ulimit -v \(kilobytes); $BP hash -o m t", seconds: 20)
      #expect(run.ending != .deadline)
      if run.status == 0 {
        #expect(try t.shell("sha256sum -c --quiet m && rm m").status == 0)
      } else {
        #expect(!t.exists("m"), "\(run.ending) at \(kilobytes) KiB")
      }
      ends.insert(run.status == 0)
    }
    #expect(ends == [true, false])
    try t.batchproc("hash", "-o", "m", "t")
    #expect(t.temporaries().isEmpty)
  }

  @Test(
    "a limit of file sizes is reported like a full disk, and no file is left",
    arguments: ["", "trap '' XFSZ;"], ["-j 1", "-j 2", "--format mtree -j 1"])
  func fileSize(trap: String, options: String) throws {
    try writeMany(300)
    let run = try t.shell("ulimit -f 4; \(trap) $BP hash \(options) -o m t")
    #expect(run.status == 5, "\(run.ending) \(run.errorText)")
    #expect(run.errorText.contains("File too large"))
    #expect(t.names() == ["t"])
  }

  @Test("a manifest on standard output that reaches the limit of file sizes is incomplete")
  func fileSizeOfOutput() throws {
    try writeMany(300)
    let run = try t.shell("ulimit -f 4; $BP hash t >m; echo $? >&2; rm m")
    #expect(run.errorText.hasSuffix("5\n"), "\(run.errorText)")
    #expect(run.errorText.contains("File too large"))
  }

  /// A limit of threads that root need not obey, but is near enough that a run tries how many it can start.
  static let nearLimit = "ulimit -u $(($(cut -d / -f 2 /proc/loadavg | cut -d ' ' -f 1) + 1000))"

  @Test(
    "a run that cannot start a thread ends with all rows or an error",
    .enabled(if: Host.canTrace, "needs strace"), arguments: [2, 3, 4, 6, 12])
  func noThreads(first: Int) throws {
    try writeMany(100)
    let run = try t.shell(
      """
      ulimit -c 0; \(Self.nearLimit)
      strace -qq -f --seccomp-bpf -o /dev/null -e trace=clone,clone3 -e inject=clone,clone3:error=EAGAIN:when=\(first)+ \
        timeout -k 1 20 $BP hash -j 8 --stride 1 -o m t; echo $?
      """)
    let status = Int(run.text.split(separator: "\n").last ?? "")
    #expect(status == 0 || status == 1, "124 and 137 are a run that hangs: \(run.errorText)")
    #expect(t.exists("m") == (status == 0))
    if status == 0 { #expect(try t.shell("sha256sum -c --quiet m; wc -l <m").text == "105\n") }
  }

  @Test("threads that run out, although the limits show nothing, lead to all rows, or a message and status 1")
  func threadsThatRunOut() throws {
    try writeMany(100)
    let source = Repository.root.appendingPathComponent("Tests")
      .appendingPathComponent("SlowDevice/few-threads.c").path
    // All runs wait at the same time, each in its own folder.
    let run = try t.shell(
      """
      ulimit -c 0; cc -shared -fPIC -O2 -Wall -Wextra -Werror \(source) -o few.so -ldl -lpthread || exit 9
      library=$PWD/few.so
      start() ( # folder, limit
        mkdir $1; cd $1
        timeout -k 1 50 env LD_PRELOAD=$library FEW_THREADS=$2 $BP hash -j 8 --stride 1 -o m ../t 2>errors; echo $? >status
      )
      start none 0 & start few 3:forever & start many 64 & wait
      """, seconds: 90)
    try #require(run.status == 0, "\(run.errorText)")
    for (folder, isEnough) in [("none", false), ("few", false), ("many", true)] {
      let errors = t.text(PathBytes("\(folder)/errors")) ?? ""
      #expect(t.text(PathBytes("\(folder)/status")) == (isEnough ? "0\n" : "1\n"), "\(folder): \(errors)")
      #expect(t.exists(PathBytes("\(folder)/m")) == isEnough)
      #expect(t.temporaries(in: PathBytes(folder)).isEmpty)
      if isEnough {
        #expect(try t.shell("cd \(folder); sha256sum -c --quiet m; wc -l <m").text == "105\n")
      } else {
        #expect(errors.contains("no more can be started"), "\(folder): \(errors)")
      }
    }
  }

  @Test(
    "a limit of threads lowers the number of operations, or is an error",
    .enabled(if: Host.canChangeUser, "only root changes the user"))
  func fewThreads() throws {
    try writeMany(100)
    var ends: Set<Int32> = []
    for limit in [3, 8, 14, 18, 24, 60] {
      let run = try t.shell(
        "setpriv --reuid=\(60_000 + limit) --regid=65534 --clear-groups bash -c 'ulimit -u \(limit); exec $BP hash -j 8 t'"
      )
      #expect(run.rows.count == (run.status == 0 ? 105 : 0))
      if run.status != 0 { #expect(run.errorText.contains("threads can be started")) }
      ends.insert(run.status)
    }
    #expect(ends == [0, 1])
  }

  @Test(
    "a control group of few threads lowers the number of operations, or is an error",
    .enabled(if: Host.threadGroups != nil, "needs control groups that limit threads"))
  func fewThreadsOfGroup() throws {
    try writeMany(100)
    let groups = try #require(Host.threadGroups)
    var ends: [Int32] = []
    for limit in [8, 24, 40, 3000] {
      let run = try t.shell(
        """
        group=\(groups)/batchproc-test-$$; mkdir $group; echo \(limit) >$group/pids.max
        (echo $BASHPID >$group/cgroup.procs; exec $BP hash -j 8 t); end=$?; rmdir $group; exit $end
        """)
      #expect(run.rows.count == (run.status == 0 ? 105 : 0))
      if run.status != 0 { #expect(run.errorText.contains("threads can be started")) }
      ends.append(run.status)
    }
    #expect(ends == [1, 0, 0, 0])
  }

  @Test(
    "an invalid number of operations is a usage error",
    arguments: [
      "0", "-1", "1e3", "18446744073709551616", "", "x", "1 ", "0x10", "99999999999999999999999999", "+", "٣",
    ])
  func absurdConcurrency(value: PathBytes) throws {
    for option in ["-j", "--stride", "--max-open-files"] as [PathBytes] {
      let run = try t.batchproc("hash", option, value, "t")
      #expect(run.status == 64, "\(option) \(value): \(run.ending)")
      #expect(run.output.isEmpty)
      #expect(run.errorText.contains("batchproc: "))
    }
  }

  @Test(
    "a number of operations that is too high is lowered",
    arguments: [
      ["-j", "999999"], ["-j", "9223372036854775807"], ["--stride", "9223372036854775807"],
      ["--max-open-files", "9223372036854775807", "-j", "500"], ["--max-memory", "1"],
      ["--max-memory", "7E"],
      ["--max-open-files", "1"], ["-j", "64", "--max-open-files", "3"],
    ] as [[PathBytes]])
  func highConcurrency(options: [PathBytes]) throws {
    try writeMany(100)
    let run = try t.batchproc(["hash"] + options + ["t"])
    #expect(run.status == 0, "\(run.errorText)")
    #expect(run.rows.count == 105)
  }

  @Test("the environment can set the number of operations, and the option overrides it")
  func environment() throws {
    let bad = try t.batchproc("hash", "t", environment: ["BATCHPROC_MAX_CONCURRENCY": "many"])
    #expect(bad.status == 64)
    #expect(bad.errorText.contains("BATCHPROC_MAX_CONCURRENCY"))
    let good = try t.batchproc("hash", "-j", "2", "t", environment: ["BATCHPROC_MAX_CONCURRENCY": "3"])
    #expect(good.status == 0)
  }

  @Test("64 files are read at once with -j 64", .enabled(if: Host.canPreload, "needs cc"))
  func inFlight() throws {
    try writeMany(200)
    try t.preload(
      """
      #include <stdatomic.h>
      #include <poll.h>
      #include <sys/stat.h>
      static atomic_int inside, most;
      ssize_t read(int f, void *b, size_t n) {
        static ssize_t (*r)(int, void *, size_t);
        if (!r) r = dlsym(RTLD_NEXT, "read");
        struct stat s;
        // Applies to the small files of the tree only. Each read waits for 64 concurrent reads, up to a limit.
        if (fstat(f, &s) || !S_ISREG(s.st_mode) || s.st_size > 4 || s.st_size < 2) return r(f, b, n);
        int now = atomic_fetch_add(&inside, 1) + 1, seen = atomic_load(&most);
        while (now > seen && !atomic_compare_exchange_weak(&most, &seen, now)) {}
        if (now == 64) { int o = open("reached", O_CREAT | O_WRONLY, 0644); close(o); }
        for (int i = 0; i < 20000 && atomic_load(&most) < 64; i++) poll(0, 0, 1);
        ssize_t c = r(f, b, n);
        atomic_fetch_sub(&inside, 1);
        return c;
      }
      """)
    let run = try t.shell("LD_PRELOAD=$PWD/preload.so $BP hash -j 64 --stride 1 --max-open-files 400 t/many")
    #expect(run.status == 0)
    #expect(run.rows.count == 200)
    #expect(t.exists("reached"))
  }

  @Test("short reads and writes do not change the output", .enabled(if: Host.canPreload, "needs cc"))
  func shortCalls() throws {
    try writeMany(50)
    try t.shell("head -c 9M /dev/urandom >t/large")
    try t.preload(
      """
      ssize_t read(int f, void *b, size_t n) {
        static ssize_t (*r)(int, void *, size_t);
        if (!r) r = dlsym(RTLD_NEXT, "read");
        return r(f, b, n > 7 ? n / 3 + 1 : n);
      }
      ssize_t write(int f, const void *b, size_t n) {
        static ssize_t (*w)(int, const void *, size_t);
        if (!w) w = dlsym(RTLD_NEXT, "write");
        return w(f, b, n > 7 ? n / 3 + 1 : n);
      }
      """)
    let run = try t.shell(
      """
      $BP hash -q t >plain; export LD_PRELOAD=$PWD/preload.so
      $BP hash -q t >short; $BP hash -q -o file t; $BP hash -q t | cat >piped; $BP check -q short; echo $?
      unset LD_PRELOAD; cmp plain short && cmp plain file && cmp plain piped; echo $?
      """)
    #expect(run.text == "0\n0\n", "\(run.errorText)")
  }
}
