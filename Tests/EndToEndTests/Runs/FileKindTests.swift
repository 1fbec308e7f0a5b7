import BatchCore
import BatchEngine
import Foundation
import TestSupport
import Testing

/// Trees with entries other than ordinary files: none of them stops a run, and none is read by mistake.
@Suite struct FileKindTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    try t.writeTree()
  }

  private func paths(_ run: Outcome) -> [String] {
    run.rows.map { String(decoding: $0.dropFirst(66), as: UTF8.self) }
  }

  private static let files = ["t/big", "t/empty", "t/text", "t/d/one", "t/d/two"]

  @Test("FIFOs, sockets and links of each kind are skipped and counted by kind")
  func special() throws {
    let made = try t.shell(
      """
      mkfifo t/fifo; python3 -c "import socket;socket.socket(socket.AF_UNIX).bind('t/socket')"
      ln -s nowhere t/dangling; ln -s loop t/loop; ln -s . t/self; ln -s ../t t/up
      ln -s /etc t/outside; ln -s /dev/zero t/zero; ln -s text t/link
      """)
    try #require(made.status == 0)
    let run = try t.batchproc("hash", "t")
    #expect(run.status == 0)
    #expect(paths(run) == Self.files)
    #expect(run.messages.isEmpty)
    #expect(run.errorText.contains("9 skipped (7 symbolic links, 1 FIFO, 1 socket)"), "\(run.errorText)")
    for j in ["1", "2", "7", "32"] as [PathBytes] {
      let events = try t.batchproc("hash", "--json", "-j", j, "t").text
      #expect(
        events.contains(#""skipped":9,"skipped_symbolic_link":7,"skipped_fifo":1,"skipped_socket":1,"#),
        "\(events)")
    }
    let archive = try t.batchproc("archive", "-o", "a.tar", "t")
    #expect(archive.status == 0 && archive.errorText.contains("1 skipped (1 socket)"), "\(archive.errorText)")
    let compressed = try t.batchproc("compress", "t")
    #expect(
      compressed.errorText.contains(
        "13 skipped (7 symbolic links, 1 FIFO, 1 socket, 4 would not be smaller)"),
      "\(compressed.errorText)")
    try t.shell("rm t/*.gz t/*/*.gz")

    let verbose = try t.batchproc("hash", "-v", "-j", "2", "t")
    #expect(verbose.output == run.output)
    #expect(verbose.messages.count == 9)
    #expect(verbose.errorText.contains("t/fifo: is a FIFO, passed over"), "\(verbose.errorText)")
    #expect(verbose.errorText.contains("t/socket: is a socket, passed over"), "\(verbose.errorText)")
  }

  @Test("devices are never read", .enabled(if: Host.isRoot, "only root makes devices"))
  func devices() throws {
    let made = try t.shell("mknod t/zero c 1 5 && mknod t/null c 1 3 && mknod t/block b 7 0")
    try #require(made.status == 0)
    let run = try t.batchproc("hash", "t")
    #expect(run.status == 0)
    #expect(paths(run) == Self.files)
    #expect(run.errorText.contains("3 skipped (2 character devices, 1 block device)"), "\(run.errorText)")
  }

  @Test(
    "a special file as an operand is refused without being opened", arguments: ["fifo", "/dev/zero"])
  func specialOperand(operand: PathBytes) throws {
    try t.shell("mkfifo fifo")
    let run = try t.batchproc("hash", "t/text", operand)
    #expect(run.status == 3)
    #expect(paths(run) == ["t/text"])
    #expect(run.messages.count == 1)
    #expect(run.errorText.contains("batchproc: \(operand): is "))
  }

  @Test("a dangling link is a special file in a tree, and a missing file as an operand")
  func dangling() throws {
    try t.shell("ln -s nowhere t/dangling")
    let both = try t.batchproc("hash", "t/dangling", "t/text")
    #expect(both.status == 3)
    #expect(
      both.errorText.contains("batchproc: t/dangling: cannot find: No such file or directory"),
      "\(both.errorText)")
    #expect(try t.batchproc("hash", "t/dangling").status == 1)
  }

  @Test("links are followed with -L, each cycle is reported once, and the run ends")
  func followed() throws {
    try t.file("out/file", "outside")
    try t.shell("ln -s loop t/loop; ln -s . t/self; ln -s ../t t/d/up; ln -s ../out t/out; ln -s text t/link")
    let run = try t.batchproc("hash", "-L", "t")
    #expect(paths(run).contains("t/out/file"))
    #expect(paths(run).contains("t/link"))
    #expect(Set(paths(run)).count == paths(run).count)
    #expect(!paths(run).contains { $0.contains("self/") || $0.contains("up/") })
  }

  @Test("the target of a link that is an operand is read")
  func linkOperands() throws {
    try t.shell("ln -s t/text link; ln -s t folder")
    #expect(paths(try t.batchproc("hash", "link")) == ["link"])
    #expect(paths(try t.batchproc("hash", "folder")).count == 5)
  }

  @Test("each hard link is hashed as a separate file")
  func hardLinks() throws {
    try t.shell("ln t/big t/d/big2")
    let rows = try t.batchproc("hash", "t").rows.filter { $0.contains(UInt8(ascii: "g")) }
    #expect(Set(rows.map { $0.prefix(64) }).count == 1)
    #expect(rows.count == 2)
  }

  @Test("files with sizes near those of buffers have the digests of sha256sum")
  func sizes() throws {
    let made = try t.shell(
      """
      rm -r t; mkdir t
      for n in 0 1 511 512 513 4095 4096 4097 65535 65536 65537 262143 262144 262145 \
        1048575 1048576 1048577 8388607 8388608 8388609; do
        head -c $n /dev/urandom >t/s$n
      done
      $BP hash t >m && sha256sum --check --quiet --strict m && wc -l <m
      """)
    #expect(made.text == "20\n", "\(made.text) \(made.errorText)")
    let empty = try t.batchproc("hash", "t/s0")
    #expect(empty.text.hasPrefix("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  "))
  }

  @Test("a sparse file has the digest of its content with zeros")
  func sparse() throws {
    let run = try t.shell("truncate -s 300M t/sparse; echo end >>t/sparse; $BP hash t | sha256sum -c --quiet")
    #expect(run.status == 0, "\(run.text)")
  }

  @Test(
    "a file that the kernel generates is read to its end, whatever its reported size",
    arguments: [
      "/proc/version", "/proc/cpuinfo", "/proc/filesystems", "/sys/kernel/mm/transparent_hugepage/enabled",
    ])
  func kernelFiles(path: String) throws {
    let run = try t.shell("test ! -e \(path) || cmp <($BP hash \(path)) <(sha256sum \(path))")
    #expect(run.status == 0, "\(run.text)")
  }

  @Test("5,000 nested folders need a small stack and few descriptors")
  func deepNesting() throws {
    let run = try t.shell(
      """
      mkdir deep; python3 -c "
      import os
      os.chdir('deep')
      for _ in range(5000): os.mkdir('n'); os.chdir('n')
      open('leaf','w')"
      ulimit -n 64; ulimit -s 1024; $BP hash --max-levels 5001 deep >m; echo $?; wc -l <m; tail -c 6 m; $BP check --quiet m; echo $?
      """)
    #expect(run.text == "0\n1\n/leaf\n0\n", "\(run.errorText.suffix(300))")
  }

  @Test(
    "a folder on another file system is left out with -x", .enabled(if: Host.canMount, "needs to mount"))
  func oneFileSystem() throws {
    let run = try t.shell(
      """
      mkdir t/mnt; unshare -m sh -c 'mount -t tmpfs none t/mnt && echo x >t/mnt/f
      $BP hash -q t | cut -c67- ; echo $?; $BP hash -q -x t | cut -c67-; $BP hash -q -x t/mnt | cut -c67-'
      """)
    let all = Self.files + ["t/mnt/f"]
    #expect(run.text == (all + ["0"] + Self.files + ["t/mnt/f", ""]).joined(separator: "\n"))
  }

  @Test(
    "the walk of a folder that is mounted below itself ends", .enabled(if: Host.canMount, "needs to mount"))
  func bindCycle() throws {
    let run = try t.shell(
      "mkdir t/b; unshare -m sh -c 'mount --bind t t/b; $BP hash t >m; echo $?; cut -c67- m'")
    #expect(run.text == "3\n" + Self.files.map { "\($0)\n" }.joined())
    #expect(run.messages.count == 1)
    #expect(run.errorText.hasPrefix("batchproc: t/b: leads back to a folder"), "\(run.errorText)")
  }

  @Test(
    "files without read permission are named once, and all others are read",
    .enabled(if: Host.canChangeUser, "only root changes the user"))
  func unreadable() throws {
    let run = try t.shell(
      """
      mkdir t/closed t/unlisted t/unentered; echo x >t/closed/f; echo x >t/unentered/f
      chmod 700 t/closed; chmod 311 t/unlisted; chmod 644 t/unentered; chmod 600 t/text
      setpriv --reuid=65534 --regid=65534 --clear-groups $BP hash t
      """)
    #expect(run.status == 3)
    #expect(paths(run) == ["t/big", "t/empty", "t/d/one", "t/d/two"])
    let names = ["t/text", "t/closed", "t/unlisted", "t/unentered/f"]
    #expect(run.messages.count == names.count, "\(run.errorText)")
    for name in names {
      #expect(
        run.messages.contains { $0.hasPrefix("batchproc: \(name): ") && $0.contains("Permission denied") },
        "\(name)")
    }
  }

  @Test(
    "check names files without read permission, and checks all others",
    .enabled(if: Host.canChangeUser, "only root changes the user"))
  func uncheckable() throws {
    let run = try t.shell(
      """
      $BP hash t >m; chmod 600 t/text; chmod 700 t/d
      setpriv --reuid=65534 --regid=65534 --clear-groups $BP check m; echo $?
      setpriv --reuid=65534 --regid=65534 --clear-groups sha256sum -c m 2>/dev/null
      """)
    let parts = run.text.components(separatedBy: "3\n")
    #expect(parts.count == 2, "\(run.text)")
    #expect(parts.first == parts.last)
  }

  @Test(
    "an output within the tree contains neither itself nor its temporary file",
    arguments: [
      "-o t/MANIFEST t", "--force -o t/text t", "t >t/MANIFEST", "t >>t/text",
    ])
  func outputInTree(arguments: String) throws {
    let run = try t.shell("$BP hash -v \(arguments)")
    #expect(run.status == 0, "\(run.errorText)")
    let name: PathBytes = arguments.contains("MANIFEST") ? "t/MANIFEST" : "t/text"
    let manifest = String(decoding: t.content(name) ?? [], as: UTF8.self)
    #expect(manifest.contains("  t/big\n"))
    #expect(!manifest.contains(name.description))
    #expect(!manifest.contains(".tmp"))
    #expect(t.temporaries(in: "t").isEmpty)
  }

  @Test("an output that is also an operand is refused, and stays unchanged")
  func outputIsInput() throws {
    let before = t.content("t/text")
    let run = try t.batchproc("hash", "-o", "t/text", "t/text")
    #expect(run.status == 1)
    #expect(t.content("t/text") == before)
    try t.shell("ln t/text t/hard")
    #expect(try t.batchproc("hash", "-o", "t/hard", "t/text").status == 1)
    #expect(t.content("t/text") == before)
  }

  @Test("each operand has separate rows, in the order of the operands")
  func overlapping() throws {
    let run = try t.batchproc("hash", "t/d", "t/text", "./t/d", "t/d")
    #expect(paths(run) == ["t/d/one", "t/d/two", "t/text", "./t/d/one", "./t/d/two", "t/d/one", "t/d/two"])
  }

  @Test("a missing operand is named, and the others are read; if all are missing, no output is written")
  func missingOperands() throws {
    let some = try t.batchproc("hash", "nosuch", "t/text", "t/nosuch")
    #expect(some.status == 3)
    #expect(paths(some) == ["t/text"])
    #expect(some.messages.count == 2)
    let none = try t.batchproc("hash", "nosuch", "t/nosuch")
    #expect(none.status == 1)
    #expect(none.messages.count == 2)
    let written = try t.batchproc("hash", "-o", "m", "nosuch")
    #expect(written.status == 1)
    #expect(!t.exists("m"))
  }
}
