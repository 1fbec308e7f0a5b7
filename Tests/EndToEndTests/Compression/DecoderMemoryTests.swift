import BatchEngine
import TestSupport
import Testing

@Suite("The decoders of xz, lzma and zstd", .timeLimit(.minutes(3)), .enabled(if: Host.hasPython))
struct DecoderMemoryTests {
  private let t: TreeFixture

  init() throws { t = try TreeFixture() }

  @Test("need no more than --max-memory, or name the remedy")
  func bounded() throws {
    let made = try t.shell(
      #"""
      python3 - <<'END'
      import lzma
      def write(name, **options):
          open(name, 'wb').write(lzma.compress(b'x' * 99999, **options))
      wide = {'id': lzma.FILTER_LZMA2, 'dict_size': 200 << 20, 'preset': 0}
      write('a.xz', filters=[wide])
      wide = {'id': lzma.FILTER_LZMA1, 'dict_size': 256 << 20, 'preset': 0}
      write('b.lzma', format=lzma.FORMAT_ALONE, filters=[wide])
      END
      head -c 1M /dev/zero | zstd -q --ultra --long=27 -c >c.zst
      echo one >f
      tar c f | xz --lzma2=dict=200MiB >d.tar.xz
      """#)
    try #require(made.status == 0, "\(made.errorText)")
    let messages = [
      "a.xz: the data needs more than 64 MiB of memory to be decoded (see --max-memory)",
      "b.lzma: the data needs more than 64 MiB of memory to be decoded (see --max-memory)",
      "c.zst: the zstd frame needs a window of more than 2^26 bytes (see --max-memory)",
    ].map { "batchproc: " + $0 }
    for jobs in ["1", "2", "7", "32"] {
      for command in ["test", "cat", "decompress"] {
        let run = try t.batchproc(
          PathBytes(command), "-q", "-j", PathBytes(jobs), "--max-memory", "64M", "a.xz", "b.lzma", "c.zst")
        #expect(
          run.status == 3 && run.messages == messages, "\(command) \(jobs): \(run.status) \(run.errorText)")
      }
    }
    #expect(t.names() == ["a.xz", "b.lzma", "c.zst", "d.tar.xz", "f"])
    for command in [["list"], ["verify"], ["extract", "-O"]] as [[PathBytes]] {
      let run = try t.batchproc(command + ["-q", "--max-memory", "64M", "d.tar.xz"])
      #expect(
        run.status == 1 && run.messages == [messages[0].replacing("a.xz", with: "d.tar.xz")],
        "\(command): \(run.status) \(run.errorText)")
      #expect(try t.batchproc(command + ["-q", "--max-memory", "512M", "d.tar.xz"]).status == 0)
    }
    #expect(try t.batchproc("test", "-q", "--max-memory", "512M", "a.xz", "b.lzma", "c.zst").status == 0)
  }

  @Test(
    "report a wrong size in a header as damage, and need no memory for that size",
    arguments: [1 << 20, 1 << 33, 1 << 45, UInt64.max - 9])
  func claims(size: UInt64) throws {
    let run = try t.shell(
      """
      mkdir w; python3 - <<'END'
      import os, struct
      def frame(size):
          body = os.urandom(100000)
          return struct.pack('<IBBQ', 0xFD2FB528, 0xC0, 0x50, size) + struct.pack('<I', len(body) << 3 | 1)[:3] + body
      whole = b''.join(frame(100000) for _ in range(90))
      open('w/behind.zst', 'wb').write(whole + frame(\(size)))
      open('w/before.zst', 'wb').write(frame(\(size)) + whole)
      open('w/between.zst', 'wb').write(whole + frame(\(size)) + frame(\(size)) + whole)
      open('w/whole.zst', 'wb').write(whole)
      END
      ulimit -v 4000000; $BP test w; echo $?; $BP decompress -q w; ls w | grep -v zst
      """)
    #expect(run.text == "4\nwhole\n", "\(run.errorText.prefix(300))")
    #expect(run.messages.count == 6)
    #expect(run.messages.allSatisfy { $0.hasSuffix(".zst: corrupt compressed data") }, "\(run.messages)")
  }

  @Test("need little memory for hundreds of thousands of frames")
  func manyFrames() throws {
    let run = try t.shell(
      """
      mkdir w; python3 -c "
      import struct
      open('w/x.zst', 'wb').write((struct.pack('<II', 0x184D2A50, 24) + bytes(24)) * 290000)"
      seq 9 | zstd -q >>w/x.zst; /usr/bin/time -f %M $BP test -q w
      """)
    #expect(run.status == 0, "\(run.errorText)")
    let kibibytes = Int(run.errorText.split(separator: "\n").last ?? "") ?? .max
    #expect(kibibytes < 100_000, "\(kibibytes) KiB")
  }
}
