import BatchCore
import BatchEngine
import Foundation
import TestSupport
import Testing

/// Compressed content without a check that could be compared.
@Suite(.timeLimit(.minutes(2))) struct CheckGapTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    try t.shell(
      """
      mkdir w; cd w; seq 9000 >t; xz -c -C none t >none.xz; xz -c -C crc32 t >crc32.xz
      zstd -q -c --no-check t >without.zst; zstd -q -c t >with.zst
      lz4 -q -c --no-frame-crc t >without.lz4; lz4 -q -c --no-frame-crc -BX t >blocks.lz4; lz4 -q -c t >with.lz4
      gzip -c t >with.gz; bzip2 -c t >with.bz2; lzip -c t >with.lz; compress -c t >without.Z; xz --format=lzma -c t >without.lzma
      """)
    try t.file("unknown.py", Self.unknown)
  }

  /// A script that gives an xz file of one block without checks a check of 4 bytes, of a type that liblzma
  /// does not know.
  private static let unknown = #"""
    import binascii, struct
    d = open('w/none.xz', 'rb').read()
    crc = lambda b: struct.pack('<I', binascii.crc32(b))
    size = (struct.unpack('<I', d[-8:-4])[0] + 1) * 4
    index = d[-12 - size:-12]
    def number(at):
        value = shift = 0
        while True:
            value |= (index[at] & 127) << shift; shift += 7; at += 1
            if index[at - 1] < 128: return value, at
    def coded(value):
        out = b''
        while value > 127: out += bytes([value & 127 | 128]); value >>= 7
        return out + bytes([value])
    unpadded, at = number(2)
    plain, _ = number(at)
    new = b'\0\1' + coded(unpadded + 4) + coded(plain)
    new += b'\0' * (-len(new) % 4)
    new += crc(new)
    flags = b'\0\2'
    tail = struct.pack('<I', len(new) // 4 - 1) + flags
    open('w/unknown.xz', 'wb').write(
        d[:6] + flags + crc(flags) + d[12:-12 - size] + b'beef' + new + crc(tail) + tail + b'YZ')
    """#

  private static let gaps = [
    "without.zst": "no checksum", "without.lz4": "no checksum", "without.Z": "no checksum",
    "without.lzma": "no checksum", "none.xz": "check cannot be verified: none",
    "unknown.xz": "check cannot be verified: type 2, unknown to liblzma",
  ]

  @Test(
    "content without a check is named by -v and counted, by test and by decompress",
    .enabled(if: Host.hasPython),
    arguments: [1, 2, 7, 32])
  func words(concurrency: Int) throws {
    try t.shell("python3 unknown.py; rm w/t")
    let stock = try t.shell("cd w; xz -t none.xz crc32.xz; echo $?; xz -tqq unknown.xz; echo $?")
    #expect(stock.text == "0\n2\n" || stock.text == "0\n0\n", "\(stock.errorText)")
    let run = try t.batchproc("test", "-v", "-j", PathBytes("\(concurrency)"), "w")
    #expect(run.status == 0, "\(run.errorText)")
    // The summary is followed by the files that were slow.
    let lines = run.errorText.split(separator: "\n").prefix { !$0.hasPrefix("slowest ") }
    #expect(lines.count == 14)
    for line in lines.dropLast() {
      let name = String(line.dropFirst(2).prefix { $0 != ":" })
      #expect(line == "w/\(name): OK" + (Self.gaps[name].map { ", \($0)" } ?? ""))
    }
    #expect(lines.last?.contains("; 4 without checksum, 2 with a check that cannot be verified") == true)
    let quiet = try t.batchproc("test", "-q", "w")
    #expect(quiet.status == 0 && quiet.errors.isEmpty)
    let back = try t.batchproc("decompress", "-v", "--output-dir", "o", "w/without.zst", "w/with.gz")
    #expect(back.status == 0)
    #expect(back.errorText.contains("o/w/without, no checksum\n") && back.errorText.contains("o/w/with\n"))
    #expect(back.errorText.contains("1 without checksum"))
  }

  @Test("content without a check is reported in --json", .enabled(if: Host.hasPython))
  func events() throws {
    try t.shell("python3 unknown.py; rm w/t")
    let run = try t.batchproc("test", "--json", "w")
    #expect(run.status == 0)
    for (name, _) in Self.gaps {
      let check =
        name.hasSuffix("xz")
        ? #""check":"cannot be verified","check_type":\#(name == "none.xz" ? 0 : 2)"#
        : #""check":"no checksum""#
      #expect(run.text.contains(#""path":"w/\#(name)","outcome":"whole",\#(check)}"#), "\(run.text)")
    }
    #expect(run.text.components(separatedBy: #""check""#).count == 7)
    #expect(run.text.contains(#""damaged":0,"no_checksum":4,"check_unverified":2"#))
  }

  @Test("content without a check is noticed when several lanes decode one file")
  func parts() throws {
    let run = try t.shell(
      """
      rm w/*; for i in 1 2 3; do head -c 4M /dev/urandom; done >p; split -b 3M p part; for f in part*; do
        zstd -q -c --no-check $f >>w/without.zst; zstd -q -c $f >>w/with.zst
      done; head -c 5M p | xz -0 -C none --block-size=2MiB >stream; cat stream stream >w/none.xz
      for j in 1 2 7 32; do $BP test -v -j $j w 2>&1 | head -3; done
      """)
    let rows =
      "w/none.xz: OK, check cannot be verified: none\nw/with.zst: OK\nw/without.zst: OK, no checksum\n"
    #expect(run.text == String(repeating: rows, count: 4))
  }
}
