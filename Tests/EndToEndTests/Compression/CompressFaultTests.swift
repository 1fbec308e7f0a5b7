import BatchCore
import BatchEngine
import Foundation
import Glibc
import TestSupport
import Testing

/// Full disks, targets that accept no file, and sources that cannot be read or that change.
@Suite(.timeLimit(.minutes(3))) struct CompressFaultTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    try t.writeTexts()
  }

  @Test(
    "a full disk ends the run with 5, each source without an output is named, and no partial file is left",
    .enabled(if: Host.canMount, "needs mounts"), arguments: ["200k", "4k"])
  func fullDisk(size: String) throws {
    let run = try t.shell(
      """
      mkdir m o; unshare -m sh -c 'mount -t tmpfs -o size=\(size) none m
        $BP compress -v --compress-all --remove-source --output-dir m src; s=$?; cp -a m o; exit $s'
      """)
    #expect(run.status == 5, "\(run.errorText)")
    #expect(run.messages.contains { $0.contains("m/src/c/big.gz") && $0.contains("No space left on device") })
    #expect(try t.allTemporaries() == "")
    #expect(try t.damaged(in: "o", .gz) == "")
    // Each source or its output exists.
    let counts = try t.shell("{ find src -type f; find o -name '*.gz'; } | wc -l").text
    #expect(counts == "83\n")
  }

  @Test(
    "a full disk during decompress ends the run in the same way", .enabled(if: Host.canMount, "needs mounts"))
  func fullDiskDecompressing() throws {
    let run = try t.shell(
      """
      mkdir m o; gzip -r src; unshare -m sh -c 'mount -t tmpfs -o size=200k none m
        $BP decompress --remove-source --output-dir m src; s=$?; cp -a m o; exit $s'
      """)
    #expect(run.status == 5, "\(run.errorText)")
    #expect(run.messages.contains { $0.contains("No space left on device") })
    #expect(try t.allTemporaries() == "")
    #expect(try t.shell("{ find src -type f; find o -type f; } | wc -l").text == "83\n")
  }

  @Test(
    "a device that fails for many files gives 20 messages and a count, and all messages with -v and --json",
    .enabled(if: Host.canTrace, "needs strace"), arguments: ["1", "2", "7", "32"])
  func failingDevice(concurrency: String) throws {
    let command = "compress --compress-all --force -j \(concurrency)"
    let run = try t.shell(
      """
      trace() { strace -qq -f --seccomp-bpf -o /dev/null -e trace=syncfs -e inject=syncfs:error=EIO "$@"; }
      trace $BP \(command) -q src 2>some; echo $?; trace $BP \(command) -v src 2>all
      trace $BP \(command) --json src 2>/dev/null | grep -c '"message":"cannot sync its file system"'
      grep -c ': cannot sync its file system: Input/output error$' all; wc -l <some
      tail -1 some
      """)
    let all = run.rows.dropFirst().first.flatMap { Int(String(decoding: $0, as: UTF8.self)) } ?? 0
    #expect(all > 40, "\(run.text)")
    #expect(
      run.text
        == "5\n\(all)\n\(all)\n21\nbatchproc: \(all - 20) more: cannot sync its file system: Input/output error\n",
      "\(run.text)\(run.errorText)")
  }

  @Test(
    "outputs that cannot be renamed give the same messages in the same order at each -j, as text and as JSON",
    .enabled(if: Host.canPreload, "needs cc"), arguments: ["-v", "--json"])
  func unnamedOutputs(form: String) throws {
    try t.preload(
      """
      int renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags) {
        int (*real)(int, const char *, int, const char *, unsigned) = dlsym(RTLD_NEXT, "renameat2");
        size_t length = strlen(to);
        if (length > 4 && !strcmp(to + length - 4, "7.gz")) { errno = EIO; return -1; }
        return real(from_dir, from, to_dir, to, flags);
      }
      """)
    let run = try t.shell(
      """
      mkdir w; for i in $(seq 100 170); do seq $i 400 >w/f$i; done; ln w/f107 w/g; ln w/f108 w/h
      seq 1 400000 >w/f121-large
      for j in 1 2 7 32; do
        LD_PRELOAD=./preload.so $BP compress \(form) --stride 2 -j $j --output-dir o w >$j 2>&1; echo $?; rm -r o
        # The summary is followed by the files that were slow.
        sed -i -e '/^compressed /,$d' -e '/"type":"summary"/d' $j; cmp $j 1
      done
      grep -c 'its name' 1; grep -c -e '"written"' -e ' %, ' 1; grep -n 'f1[34]7' 1 | cut -d : -f 1
      """)
    #expect(run.text == "5\n5\n5\n5\n7\n65\n39\n49\n", "\(run.text)\(run.errorText)")
  }

  @Test("a limit of file sizes is reported like a full disk", .enabled(if: Host.canPreload, "needs cc"))
  func fileSizeLimit() throws {
    let run = try t.shell("ulimit -f 100; $BP compress --remove-source --format lz4 src")
    #expect(run.status == 5, "\(run.errorText)")
    #expect(
      run.messages == [
        "batchproc: src/c/big.lz4: cannot write: File too large (the file size limit is reached; see `ulimit -f`)"
      ])
    #expect(t.exists("src/c/big"))
    #expect(try t.allTemporaries() == "")
  }

  @Test(
    "a read-only target gives one message and code 5", .enabled(if: Host.canMount, "needs mounts"),
    arguments: [
      "compress --remove-source m", "compress --output-dir m src", "decompress m",
      "decompress --output-dir m src",
    ])
  func readOnlyTarget(command: String) throws {
    if command.hasPrefix("d") { try t.shell("gzip -r src") }
    let run = try t.shell(
      """
      mkdir m; unshare -m sh -c 'mount --bind src m; mount -o remount,ro,bind m
        $BP \(command); exit $?'
      """)
    #expect(run.status == 5, "\(run.errorText)")
    #expect(
      run.messages == [
        "batchproc: m: no output could be written: Read-only file system (the file system is mounted read-only)"
      ])
    #expect(try t.shell("find src -type f | wc -l").text == "83\n")
    let each = try t.shell(
      """
      unshare -m sh -c 'mount --bind src m; mount -o remount,ro,bind m
        $BP \(command) --json; exit $?'
      """)
    #expect(each.status == 5 && each.text.components(separatedBy: #""type":"problem""#).count > 80)
  }

  @Test(
    "a target without write permission gives 5; if some folders are writable, the others are named, with 3",
    .enabled(if: Host.canChangeUser), arguments: [1, 2, 7, 32])
  func forbiddenTarget(concurrency: Int) throws {
    let run = try t.shell(
      """
      chmod -R a+rX,a-w src; chmod 777 .; user="setpriv --reuid=65534 --regid=65534 --clear-groups"
      $user $BP compress -j \(concurrency) src; echo $?; mkdir o; chmod 755 o
      $user $BP compress -j \(concurrency) --output-dir o src; echo $?
      chmod a+w src/a; $user $BP compress -j \(concurrency) -q src; echo $?
      """)
    #expect(run.text == "5\n5\n3\n", "\(run.errorText)")
    let whole = run.messages.prefix(2)
    #expect(
      whole == [
        "batchproc: src: no output could be written: Permission denied",
        "batchproc: o: no output could be written: Permission denied",
      ])
    let rest = run.messages.dropFirst(2)
    #expect(
      rest.count > 10 && !rest.contains { $0.contains("no output") || $0.contains(": src/a/f") }, "\(rest)")
  }

  @Test("unreadable sources are named, and all others are compressed", .enabled(if: Host.canChangeUser))
  func unreadable() throws {
    let run = try t.shell(
      """
      chmod -R a+rwX src; chmod 0 src/a/f1
      setpriv --reuid=65534 --regid=65534 --clear-groups $BP compress src
      """)
    #expect(run.status == 3)
    #expect(run.messages == ["batchproc: src/a/f1: cannot open: Permission denied"], "\(run.messages)")
    #expect(try t.shell("find src -name '*.gz' | wc -l").text == "80\n")
  }

  @Test(
    "a source that cannot be removed from its folder is kept next to its output",
    .enabled(if: Host.canMountImages))
  func immutableSource() throws {
    let run = try t.shell(
      """
      truncate -s 16M i; mkfs.ext4 -qF i; mkdir m
      unshare -m sh -c 'mount -o loop i m; cp -r src/a m; chattr +i m/a/f9; $BP compress --remove-source m; s=$?
        ls m/a | grep "^f9"; chattr -i m/a/f9; exit $s'
      """)
    #expect(run.status == 3, "\(run.errorText)")
    #expect(run.text == "f9\nf9.gz\n")
    #expect(run.messages == ["batchproc: m/a/f9: cannot remove the source: Operation not permitted"])
  }

  @Test(
    "a file whose name with the suffix is too long is named, and all others are compressed",
    arguments: [("gz", 253), ("gz", 255), ("zst", 252)])
  func longNames(format: String, length: Int) throws {
    let long = String(repeating: "x", count: length)
    try t.shell("mkdir w; seq 999 >w/\(long); seq 998 >w/a")
    let run = try t.batchproc("compress", "--remove-source", "--format", PathBytes(format), "w")
    #expect(run.status == 3)
    #expect(run.messages.count == 1)
    #expect(
      run.messages.allSatisfy { $0.hasSuffix(": the name is too long once .\(format) is added") },
      "\(run.messages)")
    #expect(t.names(in: "w") == [PathBytes("a.\(format)"), PathBytes(long)])
    // The longest name that still works.
    let just = String(repeating: "y", count: 254 - format.utf8.count)
    try t.shell("seq 999 >w/\(just)")
    #expect(try t.batchproc("compress", "--format", PathBytes(format), PathBytes("w/" + just)).status == 0)
  }

  @Test(
    "a file that changes while it is read is not removed",
    .enabled(if: Host.canTrace, "needs strace"),
    arguments: ["echo more >>w/x", "truncate -s 100 w/x"], [3000, 900_000])
  func changing(change: String, lines: Int) throws {
    try t.shell("mkdir w; seq \(lines) >w/x; seq 2000 >w/other")
    let run = try t.shell(
      """
      strace -qq -f --seccomp-bpf -o trace -e trace=read,pread64 -e inject=read,pread64:delay_exit=100000 -P $PWD/w/x -P w/x \
        $BP compress --remove-source w & p=$!
      until grep -q . trace 2>/dev/null; do :; done; \(change); wait $p
      """)
    #expect(run.status == 3, "\(run.errorText)")
    #expect(run.messages.count == 1)
    #expect(run.messages.allSatisfy { $0.contains("w/x: changed") }, "\(run.messages)")
    #expect(t.exists("w/x") && t.names(in: "w").first == "other.gz")
    #expect(try t.damaged(in: "w", .gz) == "")
  }

  @Test("a file that grows constantly does not delay the run")
  func growing() throws {
    let run = try t.shell(
      """
      mkdir w; (for i in $(seq 100000); do echo line $i; done >>w/log; touch done) & 
      until [ -s w/log ]; do :; done; timeout 30 $BP compress w; s=$?; kill %1; exit $s
      """)
    #expect([0, 3].contains(run.status), "\(run.errorText)")
    #expect(try t.damaged(in: "w", .gz) == "")
  }

  @Test(
    "few descriptors are sufficient for many lanes",
    arguments: ["compress -j 16 src", "compress -j 16 --remove-source src"])
  func fewDescriptors(command: String) throws {
    try t.shell("for i in $(seq 60); do seq $i 2000 >src/c/$i; done; cp -a src w")
    let run = try t.shell("ulimit -n 24; $BP \(command)")
    #expect(run.status == 0, "\(run.errorText)")
    #expect(try t.shell("find src -name '*.gz' | wc -l").text == "141\n")
    #expect(try t.damaged(in: "src", .gz) == "")
    try t.shell("mv w x; mv src w; mv x src")
    #expect(try t.lost(in: "w", .gz) == "")
    let back = try t.shell("ulimit -n 24; rm -rf o; $BP decompress -j 16 --output-dir o w; diff -r src o/w")
    #expect(back.text == "Only in src: empty\nOnly in src: small\n", "\(back.text)")
  }

  @Test("mounts, links and pipes in a hostile tree are skipped and counted")
  func kinds() throws {
    try t.shell("mkfifo src/pipe; ln -s small src/link; ln -s nowhere src/dangling; ln -s . src/self")
    let run = try t.shell("timeout 30 $BP compress src")
    #expect(run.status == 0, "\(run.errorText)")
    #expect(
      run.errorText.contains("6 skipped (3 symbolic links, 1 FIFO, 2 would not be smaller)"),
      "\(run.errorText)")
    #expect(!t.exists("src/link.gz") && !t.exists("src/pipe.gz"))
  }
}
