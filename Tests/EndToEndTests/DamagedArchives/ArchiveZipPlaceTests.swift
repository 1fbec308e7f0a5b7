import BatchCore
import BatchEngine
import TestSupport
import Testing

/// Zip archives within larger files, and 7z headers with wrong counts.
@Suite("A zip in a larger file", .timeLimit(.minutes(5)), .enabled(if: Host.hasPython))
struct ArchiveZipPlaceTests {
  private let t: TreeFixture

  init() throws { t = try TreeFixture() }

  /// Makes a tree `t`, and an `x.zip` of it within a larger file.
  private func write(_ placing: String) throws {
    let made = try t.shell(
      """
      mkdir t; seq 5000 >t/a; head -c 20000 /dev/urandom >t/b; ln -s a t/l; echo hi >$'t/caf\\xc3\\xa9'
      $BP archive -q -o p.zip t; \(placing)
      """)
    try #require(made.status == 0, "\(made.errorText)")
  }

  /// The exit codes of list, verify and extract, and the differences from `t`.
  private func results(_ jobs: Int) throws -> (text: String, errors: [String]) {
    let run = try t.shell(
      """
      rm -rf o; mkdir o; $BP list -q x.zip >/dev/null; echo -n $?; $BP verify -q -j \(jobs) x.zip; echo -n $?
      $BP extract -q -j \(jobs) -C o x.zip; echo $?; diff -r --no-dereference t o/t
      """)
    return (run.text, run.messages)
  }

  @Test(
    "after a program or padding is complete, with adjusted and unadjusted offsets",
    arguments: [
      "cat /bin/true p.zip >x.zip", "{ echo '#!/bin/sh'; cat p.zip; } >x.zip",
      "{ head -c 3000 /dev/zero; cat p.zip; } >x.zip",
      """
      python3 -c "
      import zipfile
      open('x.zip', 'wb').write(b'MZ' * 700)
      z = zipfile.ZipFile('x.zip', 'a')
      p = zipfile.ZipFile('p.zip')
      [z.writestr(i, p.read(i)) for i in p.infolist()]
      z.close()"
      """,
    ])
  func behindProgram(placing: String) throws {
    try write(placing)
    for jobs in [1, 2, 7, 32] {
      let (text, errors) = try results(jobs)
      #expect(text == "000\n" && errors.isEmpty, "\(text) \(errors)")
    }
  }

  @Test(
    "before other bytes is complete, with a warning: few, many, zeros, and after a comment",
    arguments: [
      "{ cat p.zip; head -c 700 /dev/urandom; } >x.zip", "{ cat p.zip; head -c 30000 /dev/urandom; } >x.zip",
      "{ cat p.zip; head -c 5000 /dev/zero; } >x.zip", "{ cat /bin/true p.zip; echo more; } >x.zip",
      "cp p.zip c.zip; python3 -c \"import zipfile; zipfile.ZipFile('c.zip', 'a').comment = b'c' * 9000\"; { cat c.zip; seq 5000; } >x.zip",
    ])
  func beforeOthers(placing: String) throws {
    try write(placing)
    for jobs in [1, 2, 7, 32] {
      let (text, errors) = try results(jobs)
      #expect(text == "000\n", "\(text)")
      #expect(
        errors
          == Array(
            repeating:
              "batchproc: warning: x.zip: there are bytes after the end of the zip, which are not read",
            count: 3),
        "\(errors)")
    }
  }

  @Test("with a damaged member is damaged at any place")
  func damaged() throws {
    try write(
      "{ cat /bin/true p.zip; seq 500; } >x.zip; printf XXXX | dd of=x.zip bs=1 seek=$(($(stat -c %s /bin/true) + 900)) conv=notrunc status=none"
    )
    let lines = try results(2).text.split(separator: "\n")
    #expect(lines.count > 2 && lines[0].hasSuffix("DAMAGED") && lines[1].hasPrefix("45"), "\(lines)")
  }

  @Test(
    "A 7z header with more folders, files or streams than bytes is refused before memory is allocated",
    arguments: ["folders", "packed", "files", "contents"])
  func claims(what: String) throws {
    let made = try t.shell(
      #"""
      python3 - <<'END'
      import struct, zlib
      huge = bytes([0xE3, 0x21, 0x9D, 0x01])
      name = 'a.txt\0'.encode('utf-16-le')
      packed = b'\6\0' + (huge if '\#(what)' == 'packed' else b'\1') + b'\x09\x04\0'
      folders = b'\7\x0b' + (huge if '\#(what)' == 'folders' else b'\1') + b'\0\1\1\0\x0c\x04\0'
      contents = b'\x08\x0d' + (huge if '\#(what)' == 'contents' else b'\1') + b'\x0a\1' + struct.pack('<I', zlib.crc32(b'text')) + b'\0'
      files = b'\5' + (huge if '\#(what)' == 'files' else b'\1') + bytes([0x11, len(name) + 1, 0]) + name + b'\0'
      for ending, header in ('plain', b'\1\4' + packed + folders + contents + b'\0' + files + b'\0'),:
          start = struct.pack('<QQI', 4, len(header), zlib.crc32(header))
      open('x.7z', 'wb').write(b"7z\xbc\xaf'\x1c\0\4" + struct.pack('<I', zlib.crc32(start)) + start + b'text' + header)
      END
      ulimit -v 1000000; mkdir o; $BP list -q x.7z; echo $?; $BP verify -q x.7z; echo $?; $BP extract -q -C o x.7z; echo $?
      """#)
    #expect(made.text == "1\n4\n1\n" || made.text == "1\n4\n5\n", "\(made.text)\(made.errorText)")
    #expect(
      made.messages.count == 3
        && made.messages.allSatisfy { $0.hasSuffix("its header claims more than it has bytes for") },
      "\(made.errorText)")
  }

  @Test("The same 7z header with the right numbers is accepted")
  func right() throws {
    let run = try t.shell(
      """
      \(Steps.functions)
      mkdir t
      seq 99 >t/a
      : >t/e
      $BP archive -q -o x.7z t
      ends "our archive" $BP verify -q x.7z
      7z a -bd -mhc=off y.7z t >/dev/null
      ends "archive of 7z" $BP verify -q y.7z
      """)
    run.expectSteps(["our archive": "0", "archive of 7z": "0"])
  }
}
