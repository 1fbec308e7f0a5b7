import BatchCore
import BatchEngine
import TestSupport
import Testing

/// With `-o FILE`, the name always holds the old file or the complete new one.
@Suite struct OutputTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    try t.writeTree()
  }

  @Test("the file holds the bytes that standard output would get, and standard output stays empty")
  func same() throws {
    let plain = try t.batchproc("hash", "t")
    let run = try t.batchproc("hash", "-o", "m", "t")
    #expect(run.status == 0)
    #expect(run.output.isEmpty)
    #expect(t.content("m") == plain.output)
    #expect(try t.batchproc("hash", "-o", "-", "t").output == plain.output)
  }

  @Test("an existing file is refused, and replaced with --force")
  func force() throws {
    try t.file("m", "old")
    let refused = try t.batchproc("hash", "-o", "m", "t")
    #expect(refused.status == 1)
    #expect(refused.messages.count == 1)
    #expect(t.content("m") == Array("old".utf8))
    #expect(try t.batchproc("hash", "--force", "-o", "m", "t").status == 0)
    #expect(t.content("m")?.count ?? 0 > 100)
    #expect(t.temporaries().isEmpty)
  }

  @Test("a file behind a link or another name of it is never written to", arguments: ["", "--force"])
  func targets(force: String) throws {
    let run = try t.shell(
      """
      echo keep >c; ln -s c o1; ln c o2; mkdir o3; mkfifo o4; echo x >o5; chmod 444 o5; ln -s nowhere o6
      for o in o1 o2 o3 o4 o5 o6; do timeout 10 $BP hash -q \(force) -o $o t 2>/dev/null; echo $o $?; done
      cat c; stat -c '%F' o1 o2 o3 o4 o5 o6; ls -A
      """)
    let replaced = force.isEmpty ? 1 : 0
    let link = force.isEmpty ? "symbolic link" : "regular file"
    #expect(
      run.text == """
        o1 \(replaced)
        o2 \(replaced)
        o3 1
        o4 1
        o5 \(replaced)
        o6 \(replaced)
        keep
        \(link)
        regular file
        directory
        fifo
        regular file
        \(link)
        c
        o1
        o2
        o3
        o4
        o5
        o6
        t

        """)
  }

  @Test(
    "a device is not replaced", .enabled(if: Host.isRoot, "only root could replace one"),
    arguments: ["", "--force"])
  func devices(force: String) throws {
    let run = try t.shell(
      """
      mknod null c 1 3; mknod full c 1 7
      for d in null full; do $BP hash -q \(force) -o $d t 2>/dev/null; echo $?; stat -c %F $d; done; ls -A
      """)
    #expect(run.text == "0\ncharacter special file\n5\ncharacter special file\nfull\nnull\nt\n")
  }

  @Test(
    "a missing folder or an invalid name is reported before any file is read",
    arguments: [
      "nosuch/m", "t/text/m", "", ".", "..", "t/", "t/.",
    ])
  func badNames(name: PathBytes) throws {
    let run = try t.batchproc("hash", "-o", name, "t")
    #expect(run.status == 1 || run.status == 5 || run.status == 64, "\(run.ending)")
    #expect(!run.errors.isEmpty)
    #expect(!run.errorText.contains("hashed"))
    #expect(t.names() == ["t"])
  }

  @Test("the longest possible file name works")
  func longName() throws {
    let name = PathBytes([UInt8](repeating: 0x6d, count: 255))
    #expect(try t.batchproc("hash", "-o", name, "t").status == 0)
    #expect(t.names() == [name, "t"])
    let run = try t.batchproc("hash", "-o", PathBytes([UInt8](repeating: 0x6d, count: 256)), "t")
    #expect(run.status == 5 || run.status == 1)
    #expect(run.errorText.contains("File name too long"))
  }

  @Test(
    "the file has the mode that the umask allows",
    arguments: [("000", "666"), ("022", "644"), ("077", "600"), ("777", "0")])
  func mode(umask: String, mode: String) throws {
    let run = try t.shell("umask \(umask); $BP hash -q -o m t; stat -c %a m")
    #expect(run.text == mode + "\n")
  }

  @Test(
    "a full disk ends with 5 and the reason, and leaves no file",
    .enabled(if: Host.canMount, "needs to mount"))
  func fullDisk() throws {
    let run = try t.shell(
      """
      mkdir m; cd t; mkdir many; cd many; for i in $(seq 2000); do : >a-long-name-so-that-the-disk-is-full-soon-$i; done
      cd ../..; unshare -m sh -c 'mount -t tmpfs -o size=64k none m; echo old >m/old
      $BP hash -q -o m/o t; echo $?; $BP hash -q --force -o m/old t; echo $?; $BP hash -q t >m/std; echo $?
      rm m/std; ls -A m; cat m/old'
      """)
    #expect(run.text == "5\n5\n5\nold\nold\n", "\(run.text)")
    #expect(run.messages.count == 3)
    #expect(run.messages.allSatisfy { $0.contains("No space left on device") }, "\(run.errorText)")
    #expect(run.messages.first?.hasPrefix("batchproc: m/o: ") == true)
  }

  @Test(
    "a read-only file system is reported before any file is read",
    .enabled(if: Host.canMount, "needs to mount"))
  func readOnly() throws {
    let run = try t.shell(
      "mkdir m; unshare -m sh -c 'mount -t tmpfs -o ro none m; $BP hash -o m/o t; echo $?'")
    #expect(run.text == "5\n")
    #expect(run.errorText.contains("Read-only file system"))
    #expect(!run.errorText.contains("hashed"))
  }

  @Test(
    "an immutable file keeps its content under --force",
    .enabled(if: Host.canMountImages, "needs an image to mount"))
  func immutable() throws {
    let run = try t.shell(
      """
      truncate -s 8M i; mkfs.ext4 -qF i; mkdir m; unshare -m sh -c 'mount -o loop i m; echo keep >m/f; chattr +i m/f
      $BP hash -q --force -o m/f t; echo $?; chattr -i m/f; cat m/f; ls -A m'
      """)
    #expect(run.text == "5\nkeep\nf\nlost+found\n", "\(run.text) \(run.errorText)")
    #expect(run.errorText.contains("Operation not permitted"))
  }

  @Test("the temporary folder of the system is not used")
  func temporaryFolder() throws {
    #expect(try t.batchproc("hash", "-o", "m", "t", environment: ["TMPDIR": "/nonexistent"]).status == 0)
  }

  @Test(
    "a file is created exclusively, written, synced and renamed, and then the folder is synced",
    .enabled(if: Host.canTrace, "needs strace"))
  func durability() throws {
    let run = try t.shell(
      """
      strace -qq -f --seccomp-bpf -y -o trace -e trace=openat,write,fsync,fdatasync,rename,renameat,renameat2,linkat $BP hash -q -o m t
      sed -E 's|^[0-9]+ +||' trace | grep -E '["/][.]batchproc-|fsync' | grep -oE '^[a-z0-9]+|O_EXCL|O_NOFOLLOW|, 0600' | uniq | tr '\n' ' '
      """)
    #expect(run.text == "openat O_EXCL O_NOFOLLOW , 0600 write fsync renameat2 fsync ")
    let quick = try t.shell(
      "strace -qq -f --seccomp-bpf -o trace -e trace=fsync $BP hash -q --no-fsync -o m2 t; grep -c 'fsync(' trace"
    )
    #expect(quick.text == "0\n")
  }

  @Test("files that look like remains of other programs are kept, and links are not followed")
  func foreignFiles() throws {
    let run = try t.shell(
      """
      echo keep >canary
      for n in .m.tmp m.tmp m.partial .m.lock m.lock .batchproc-m.tmp .batchproc-x.tmp; do ln -s canary $n; done
      touch .batchproc-.tmp .batchproc-12345678-1234567812345678123456781234567z.tmp
      ln -s canary .batchproc-12345678-12345678123456781234567812345678.tmp
      touch after before m; ls -A >before; rm m; $BP hash -q -o m t; echo $?; cat canary; ls -A >after; cmp before after
      """)
    #expect(run.text == "0\nkeep\n")
  }

  @Test("of several runs with one output, one succeeds and the others report that the name is taken")
  func sameTarget() throws {
    let run = try t.shell(
      "for i in 1 2 3 4 5; do ($BP hash -q -o m t 2>/dev/null; echo $?) & done; wait; sha256sum -c --quiet m; ls -A | tr '\\n' ' '"
    )
    #expect(run.text.split(separator: "\n").sorted() == ["0", "1", "1", "1", "1", "m t "], "\(run.text)")
    let forced = try t.shell(
      "for i in 1 2 3 4 5; do ($BP hash -q --force -o m t; echo $?) & done; wait; sha256sum -c --quiet m; ls -A | tr '\\n' ' '"
    )
    #expect(forced.text == "0\n0\n0\n0\n0\nm t ", "\(forced.text) \(forced.errorText)")
  }

  @Test("a reader sees the old file or the new one while it is replaced")
  func neverTorn() throws {
    let run = try t.shell(
      """
      $BP hash -q -o m t
      for i in 1 2 3 4 5; do $BP hash -q --force -o m t & sha256sum -c --quiet --strict m || echo TORN; $BP check -q m || echo TORN; wait; done
      """)
    #expect(run.text == "")
  }

  @Test("the sources are not changed")
  func sourcesUnchanged() throws {
    let look = "find t -printf '%p %i %s %m %T@ %C@\\n' | sort"
    let run = try t.shell("\(look) >before; $BP hash -o m t; $BP check m; \(look) | cmp - before")
    #expect(run.status == 0)
  }
}
