import BatchCore
import BatchEngine
import TestSupport
import Testing

/// Runs of archive: options, outputs and failures.
@Suite(.timeLimit(.minutes(3))) struct ArchiveRunTests {
  private let t: TreeFixture

  init() throws { t = try TreeFixture() }

  @Test("equal trees make equal archives", arguments: ["tar", "tar.zst", "tar.gz"])
  func reproducible(format: String) throws {
    try t.writeTree("one/t")
    let run = try t.shell(
      """
      mkdir two; cp -r one/t two/t; find two -exec touch -d '2031-05-05' {} +; find one -exec touch -d '2030-01-01' {} +
      [ $(id -u) != 0 ] || chown -R 1234:4321 two
      $BP archive -q --reproducible --mtime 2026-01-01 -C one -o a.\(format) t
      SOURCE_DATE_EPOCH=1767225600 $BP archive -q --reproducible -C two -o b.\(format) t
      cmp a.\(format) b.\(format); tar --full-time --numeric-owner -tvf a.\(format) | grep -c '0/0 .* 2026-01-01 00:00:00'
      """, environment: ["TZ": "UTC"])
    #expect(run.text == "7\n" && run.errorText == "", "\(run.text)\(run.errorText)")
  }

  @Test("the output appears when it is complete, and an existing one is replaced only with --force")
  func output() throws {
    try t.writeTree()
    #expect(try t.batchproc("archive", "-q", "-o", "a.tar", "t").status == 0)
    let before = t.content("a.tar")
    let refused = try t.batchproc("archive", "-o", "a.tar", "t/d")
    #expect(
      refused.status == 1 && refused.errorText.contains("exists already") && t.content("a.tar") == before)
    #expect(try t.batchproc("archive", "-q", "--force", "-o", "a.tar", "t/d").status == 0)
    #expect(t.content("a.tar") != before && t.temporaries().isEmpty)
  }

  @Test("an output inside the tree does not contain itself")
  func outputInside() throws {
    try t.writeTree()
    let run = try t.shell(
      """
      $BP archive -q -o t/a.tar t; $BP archive -q --force -o t/a.tar t; tar -tf t/a.tar | grep -c a.tar
      ln t/text t/l.tar; $BP archive --force -o t/l.tar t; echo $?; cat t/text
      """)
    #expect(run.text == "0\n1\na small text\n", "\(run.text)\(run.errorText)")
    #expect(run.errorText.contains("further names"))
  }

  @Test("members have the names of the operands, also of those outside the working folder")
  func operands() throws {
    try t.writeTree()
    let run = try t.shell(
      """
      for p in t t/ ./t t/. "$PWD/t" t//; do $BP archive -q --force -o o.tar "$p" && tar -tf o.tar | grep text; done
      mkdir x; cd x; $BP archive -q --force -o ../o.tar ../t; tar -tf ../o.tar | grep text
      echo t/text >l; $BP archive -q --force -o o.tar -C .. --files-from l; tar -tf o.tar
      """)
    let root = t.root.description.dropFirst()
    #expect(
      run.text == "t/text\nt/text\n./t/text\nt/./text\n\(root)/t/text\nt//text\nt/text\nt/text\n",
      "\(run.errorText)")
  }

  @Test("a missing operand is named, and no archive is made when no other operand exists")
  func missing() throws {
    try t.writeTree()
    let some = try t.batchproc("archive", "-o", "a.tar", "gone", "t")
    #expect(some.status == 3 && some.messages == ["batchproc: gone: cannot find: No such file or directory"])
    let none = try t.batchproc("archive", "-o", "b.tar", "gone")
    #expect(none.status == 1 && !t.exists("b.tar") && t.temporaries().isEmpty)
  }

  @Test("a file that cannot be read is named, and all others are archived", .enabled(if: Host.canChangeUser))
  func unreadable() throws {
    try t.writeTree()
    let run = try t.shell(
      """
      chmod -R a+rwX .; chmod 777 .; ln t/text t/twin; chmod 0 t/text t/big; head -c 5M /dev/zero >t/huge; chmod 0 t/huge
      setpriv --reuid=65534 --regid=65534 --clear-groups $BP archive -o a.tar.gz t; echo $?
      tar -tzf a.tar.gz
      """)
    #expect(run.text == "3\nt/\nt/empty\nt/d/\nt/d/one\nt/d/two\n", "\(run.text)")
    let named = run.messages.filter { $0.contains("Permission denied") }.count
    #expect(named == 3, "\(run.errorText)")
    let linked = run.messages.filter {
      $0.hasPrefix("batchproc: t/twin: is a further name of a file that could not be archived")
    }
    #expect(linked.count == 1, "\(run.errorText)")
  }

  @Test(
    "a full disk ends the run with code 5, and no output is left", .enabled(if: Host.canMount, "needs mounts")
  )
  func fullDisk() throws {
    let run = try t.shell(
      """
      mkdir m src; head -c 3M /dev/urandom >src/noise; unshare -m sh -c 'mount -t tmpfs -o size=1m none m
        $BP archive -o m/a.tar src; echo $?; ls -A m'
      """)
    #expect(run.text == "5\n" && run.errorText.contains("No space left on device"), "\(run.errorText)")
  }

  /// The file is truncated, extended or replaced at its first read.
  private func runChanging(_ size: String, _ call: String, format: String) throws -> Outcome {
    try t.preload(
      """
      #include <sys/stat.h>
      #include <stdlib.h>
      #include <stdio.h>
      static int done;
      static void change(int fd) {
        char path[64], name[4096]; ssize_t n;
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        n = readlink(path, name, sizeof name - 1);
        if (n < 0) return;
        name[n] = 0;
        if (strstr(name, "/victim") && !__sync_lock_test_and_set(&done, 1)) { \(call); }
      }
      ssize_t read(int fd, void *b, size_t n) {
        static ssize_t (*real)(int, void *, size_t);
        if (!real) real = dlsym(RTLD_NEXT, "read");
        ssize_t r = real(fd, b, n);
        change(fd);
        return r;
      }
      ssize_t pread64(int fd, void *b, size_t n, off_t o) {
        static ssize_t (*real)(int, void *, size_t, off_t);
        if (!real) real = dlsym(RTLD_NEXT, "pread64");
        ssize_t r = real(fd, b, n, o);
        change(fd);
        return r;
      }
      ssize_t pread(int fd, void *b, size_t n, off_t o) { return pread64(fd, b, n, o); }
      """)
    return try t.shell(
      """
      mkdir t; head -c \(size) /dev/urandom >t/victim; echo after >t/z
      LD_PRELOAD=$PWD/preload.so $BP archive -j 2 -o a.\(format) t; echo $?
      tar -tf a.\(format); tar -xOf a.\(format) t/z
      """)
  }

  @Test(
    "a file that changes while it is read is named, and all other members are correct",
    .enabled(if: Host.canPreload, "needs cc"),
    arguments: [
      ("900k", "truncate(name, 300000)", "3"), ("900k", "truncate(name, 9000000)", "0"),
      ("9M", "truncate(name, 100)", "3"), ("9M", "truncate(name, 90000000)", "0"),
      ("9M", "struct timespec x[2] = {{1, 1}, {1, 1}}; futimens(fd, x)", "0"),
    ])
  func changing(size: String, call: String, status: String) throws {
    let run = try runChanging(size, call, format: "tar.gz")
    #expect(run.text == "\(status)\nt/\nt/victim\nt/z\nafter\n", "\(run.text)\(run.errorText)")
    #expect(run.errorText.contains("t/victim: "), "\(run.errorText)")
  }

  @Test("generated files with a size of 0 are archived with their content")
  func kernelFiles() throws {
    let run = try t.shell(
      """
      $BP archive -q -o a.tar /proc/version /sys/kernel/mm/transparent_hugepage/enabled
      tar -xOf a.tar proc/version | cmp - /proc/version
      tar -xOf a.tar sys/kernel/mm/transparent_hugepage/enabled | cmp - /sys/kernel/mm/transparent_hugepage/enabled
      """)
    #expect(run.status == 0 && run.errorText == "", "\(run.errorText)")
  }

  @Test("sockets are skipped, and a dry run writes no file")
  func others() throws {
    try t.writeTree()
    let run = try t.shell(
      """
      python3 -c "import socket; socket.socket(socket.AF_UNIX).bind('t/s')"
      $BP archive -v -o a.tar t; echo $?; $BP archive -nq -o b.tar t; ls b.tar
      $BP archive --json -o c.tar t | grep -c '"type":"file"'; $BP archive --json -o c.tar t | grep -c sha256
      """)
    #expect(
      run.text == "0\nt/\nt/big\nt/empty\nt/text\nt/d/\nt/d/one\nt/d/two\n7\n0\n",
      "\(run.text)\(run.errorText)")
    #expect(run.errorText.contains("t/s: is a socket, passed over"))
  }
}
