import BatchCore
import BatchEngine
import TestSupport
import Testing

/// Malicious archives: no file is written outside of the target, each refusal is named, and no run crashes or
/// hangs.
@Suite("Hostile archives", .timeLimit(.minutes(5))) struct ArchiveHostileTests {
  private let t: TreeFixture

  init() throws { t = try TreeFixture() }

  /// Makes `x.tar` with a Python writer that allows any content.
  private func make(_ body: String) throws {
    let script = """
      import io, tarfile
      tar = tarfile.open('x.tar', 'w')
      def file(name, data=b'evil', **fields):
          info = tarfile.TarInfo(name); info.size = len(data)
          for key in fields: setattr(info, key, fields[key])
          tar.addfile(info, io.BytesIO(data))
      def node(name, kind, **fields):
          info = tarfile.TarInfo(name); info.type = kind
          for key in fields: setattr(info, key, fields[key])
          tar.addfile(info)
      LINK, HARD, CHAR, FIFO, DIR = tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE, tarfile.DIRTYPE

      """
    try t.file("make.py", script + body + "\ntar.close()\n")
    let made = try t.shell("python3 make.py && rm make.py && mkdir -p out && echo keep >secret")
    try #require(made.status == 0, "\(made.errorText)")
  }

  /// The files next to `out`.
  private func outside() throws -> String {
    try t.shell("find . -path ./out -prune -o -printf '%p %M %s %l\\n' | LC_ALL=C sort; cat secret").text
  }

  @Test("write nothing outside of the target", arguments: ["1", "4"])
  func traversal(jobs: String) throws {
    try make(
      """
      file('../up'); file('a/../../up2'); file('..'); file('good')
      file('\(t.root)/absolute')
      node('l', LINK, linkname='\(t.root)'); file('l/through')
      node('up', LINK, linkname='..'); file('up/through')
      node('p/q/r', LINK, linkname='../..'); node('s', LINK, linkname='p/q/r/..'); node('s2', LINK, linkname='nodir/../x')
      node('abs', LINK, linkname='/etc/hostname'); node('dotdot', LINK, linkname='../secret')
      node('h', HARD, linkname='../secret'); node('h2', HARD, linkname='/etc/passwd'); node('h3', HARD, linkname='none')
      node('in', LINK, linkname='p/q/../x'); file('p/q/z')
      """)
    let before = try outside()
    for safe in [false, true] {
      try t.shell("rm -rf out; mkdir out")
      let options: [PathBytes] = safe ? ["--safe-links"] : []
      let run = try t.batchproc(["extract", "-j", PathBytes(jobs), "-C", "out"] + options + ["x.tar"])
      #expect(run.status == 3, "\(run.errorText)")
      #expect(try outside() == before)
      let outward = ["s", "s2", "abs", "dotdot"]
      for name in ["../up", "a/../../up2", "..", "l", "up", "h", "h2", "h3"] + (safe ? outward : []) {
        #expect(run.messages.contains { $0.hasPrefix("batchproc: \(name): ") }, "\(name): \(run.errorText)")
      }
      #expect(t.exists("out/good") && t.exists("out/in") && t.exists("out/p/q/r"))
      #expect(t.exists(PathBytes("out\(t.root)/absolute")))
      #expect(run.errorText.contains("absolute names were made relative"))
      #expect(
        try t.shell("find out -type l | LC_ALL=C sort | tr '\\n' ' '").text
          == (safe ? "out/in out/p/q/r " : "out/abs out/dotdot out/in out/p/q/r out/s out/s2 "))
      // The names of folders that this run made.
      #expect(
        t.content("out/l/through") == Array("evil".utf8) && t.content("out/up/through") == Array("evil".utf8))
    }
  }

  @Test("are not extracted through links that existed before")
  func linksBefore() throws {
    try make("file('l/f'); file('f2'); node('d', DIR); file('d/g')")
    try t.shell("mkdir away; ln -s ../away out/l; ln -s ../secret out/f2; ln -s ../away out/d")
    let before = try outside()
    for mode in ["never", "always"] {
      let run = try t.batchproc("extract", "--overwrite", PathBytes(mode), "-C", "out", "x.tar")
      #expect(run.status != 0)
      #expect(run.errorText.contains("batchproc: l/f: "), "\(run.errorText)")
      #expect(try outside() == before)
    }
    #expect(t.content("out/f2") == Array("evil".utf8))
  }

  @Test("are extracted with their symbolic links, for any target of these", arguments: ["1", "2", "7", "32"])
  func ordinaryLinks(jobs: String) throws {
    let made = try t.shell(
      """
      mkdir -p src/zone src/d; ln -s /etc/localtime src/zone/local; ln -s ../../../above src/d/up; ln -s d/f src/inside
      echo x >src/d/f; ln -s /none/at/all src/d/none; ln -s d src/folder; mkdir stock
      tar cf x.tar src; tar czf x.tgz src; bsdtar cf x.zip --format zip src; $BP archive -q -o x.tar.zst src; tar xf x.tar -C stock
      """)
    try #require(made.status == 0, "\(made.errorText)")
    for archive in ["x.tar", "x.tgz", "x.zip", "x.tar.zst"] as [PathBytes] {
      try t.shell("rm -rf out; mkdir out")
      let run = try t.batchproc("extract", "-j", PathBytes(jobs), "-C", "out", archive)
      #expect(run.status == 0 && run.messages.isEmpty, "\(archive) \(run.errorText)")
      #expect(try t.differences("stock/src", "out/src", "mode second link") == "", "\(archive)")
    }
    let refused = try t.batchproc("extract", "--safe-links", "--overwrite", "always", "-C", "out", "x.tar")
    #expect(refused.status == 3, "\(refused.errorText)")
    for name in ["src/zone/local", "src/d/up", "src/d/none"] {
      #expect(refused.errorText.contains("\(name): refused: a symbolic link that leads outside"))
    }
    // An option of earlier versions, which is accepted and has no effect.
    #expect(
      try t.batchproc(
        "extract", "--unsafe-links", "--safe-links", "--overwrite", "always", "-C", "out", "x.tar"
      ).status
        == 3)
  }

  @Test("give no devices and no setuid files without an option")
  func privileges() throws {
    try make(
      "node('dev', CHAR, devmajor=1, devminor=3, mode=0o666); file('suid', mode=0o6755); node('p', FIFO)")
    let run = try t.batchproc("extract", "-C", "out", "x.tar")
    #expect(run.status == 3)
    #expect(run.errorText.contains("dev: refused") && run.errorText.contains("suid: made without"))
    #expect(try t.shell("stat -c %A out/suid").text == "-rwxr-xr-x\n")
    #expect(!t.exists("out/dev") && t.exists("out/p"))
    guard Host.isRoot else { return }
    let asked = try t.batchproc(
      "extract", "-p", "--devices", "--overwrite", "always", "-C", "out", "x.tar")
    #expect(asked.status == 0 || asked.errorText.contains("dev"), "\(asked.errorText)")
    #expect(try t.shell("stat -c %A out/suid").text == "-rwsr-sr-x\n")
  }

  @Test("give each name once, with the last member's content", arguments: ["never", "always"])
  func duplicates(mode: String) throws {
    try make("file('f', b'1'); file('f', b'2'); file('./f', b'3'); file('d/x'); file('d')")
    let run = try t.batchproc("extract", "-j", "1", "--overwrite", PathBytes(mode), "-C", "out", "x.tar")
    #expect(run.status == 3)
    #expect(t.content("out/f") == Array("3".utf8))
    #expect(run.messages.count == 1 && run.errorText.contains("d: a folder has its name"), "\(run.errorText)")
    #expect(t.exists("out/d/x"))
  }

  @Test("print no control bytes")
  func names() throws {
    try make(#"file('\x1b[2J\x1b]0;pwn\x07'); file('a\u202eb'); file('../\x1b[31m')"#)
    let listed = try t.batchproc("list", "x.tar")
    let run = try t.batchproc("extract", "-v", "-C", "out", "x.tar")
    for bytes in [listed.output, run.errors] {
      #expect(!bytes.contains { ($0 < 0x20 && $0 != 0x0a) || $0 == 0x7f })
      #expect(!String(decoding: bytes, as: UTF8.self).unicodeScalars.contains("\u{202e}"))
    }
  }

  @Test("stop at --max-output and --max-ratio before they fill the disk")
  func bombs() throws {
    let made = try t.shell(
      "mkdir out; truncate -s 60M zeros; tar c zeros | zstd -q >x.tar.zst; tar cz zeros >x.tgz; bsdtar cf x.zip --format zip zeros"
    )
    try #require(made.status == 0)
    for archive in ["x.tar.zst", "x.tgz", "x.zip"] as [PathBytes] {
      for limit in [["--max-output", "10M"], ["--max-ratio", "50"]] as [[PathBytes]] {
        let run = try t.batchproc(["extract", "-C", "out"] + limit + [archive])
        #expect(run.status == 1 || run.status == 5, "\(archive) \(limit)")
        #expect(run.errorText.contains("content is"), "\(run.errorText)")
        #expect(t.names(in: "out").isEmpty)
      }
    }
  }

  @Test("with impossible sizes are refused at once")
  func sizes() throws {
    let made = try t.shell(
      #"""
      mkdir out; python3 - <<'END'
      import tarfile
      def header(size, kind=b'0'):
          h = bytearray(tarfile.TarInfo('huge').tobuf())
          h[124:136] = size; h[156:157] = kind; h[148:156] = b' ' * 8
          h[148:156] = b'%06o\0 ' % sum(h)
          return bytes(h)
      sizes = [b'77777777777\0', b'\x80' + b'\0' * 3 + b'\x7f' + b'\xff' * 7, b'\xff' * 12, b'\x80' + b'\xff' * 11]
      for number, size in enumerate(sizes):
          for kind in [b'0', b'x', b'L', b'g', b'S', b'K']:
              open('x%d%s.tar' % (number, kind.decode()), 'wb').write(header(size, kind) + b'data' * 512)
      END
      for f in x*.tar; do timeout 20 $BP extract -q -C out $f; r=$?; [ $r -eq 1 ] || [ $r -eq 5 ] || echo $f $r; done
      for f in x*.tar; do timeout 20 $BP verify -q $f >/dev/null; r=$?; [ $r -eq 4 ] || echo verify $f $r; done; ls -A out
      """#)
    #expect(made.text == "", "\(made.errorText.prefix(2000))")
  }

  @Test("with random changes end with an error or a tree, within the time limit")
  func mutations() throws {
    try t.shell(
      """
      mkdir -p src/d; seq 200 >src/d/f; ln -s d/f src/l; ln src/d/f src/h; truncate -s 1M src/hole; echo x >>src/hole
      setfattr -n user.a -v b src/d/f
      tar --format=pax --xattrs -Scf w.tar src; tar --format=gnu -Scf w.gnu src; find src | bsdcpio -oH newc >w.cpio
      zip -qry w.zip src; bsdtar --format 7zip -cf w.7z src
      """)
    let run = try t.shell(
      #"""
      python3 - <<'END'
      import os, random, subprocess
      random.seed(7)
      for name in ['w.tar', 'w.gnu', 'w.cpio', 'w.zip', 'w.7z']:
          whole = open(name, 'rb').read()
          for number in range(16):
              data = bytearray(whole)
              for _ in range(random.choice([1, 3, 20])):
                  at = random.randrange(min(len(data), 6000))
                  data[at] = random.choice([0, 255, 0x80, random.randrange(256)])
              open('m', 'wb').write(data)
              subprocess.run('rm -rf out; mkdir out', shell=True)
              run = subprocess.run([os.environ['BP'], 'extract', '-q', '--no-fsync', '--max-output', '64M', '-C', 'out', 'm'],
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=20)
              if run.returncode not in (0, 1, 3, 5): print(name, number, run.returncode, run.stderr[-300:])
      END
      """#)
    #expect(run.text == "" && run.status == 0, "\(run.errorText)")
  }

  @Test("are handled in the same way without the calls of new kernels", .enabled(if: Host.canTrace))
  func oldKernel() throws {
    try make("file('../up'); file('d/good'); node('l', LINK, linkname='..'); file('l/x')")
    let before = try outside()
    for fault in ["openat2:error=ENOSYS", "linkat:error=ENOENT"] {
      try t.shell("rm -rf out; mkdir out")
      let call = fault.split(separator: ":")[0]
      let run = try t.shell(
        "strace -qq -f --seccomp-bpf -o /dev/null -e trace=\(call) -e inject=\(fault) $BP extract -C out x.tar"
      )
      #expect(run.status == 3 || run.status == 1, "\(fault) \(run.errorText)")
      if call == "openat2" { #expect(t.content("out/d/good") == Array("evil".utf8)) }
      #expect(try outside() == before)
      #expect(try t.allTemporaries() == "")
    }
  }
}
