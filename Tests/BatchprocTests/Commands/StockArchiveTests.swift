import BatchEngine
import TestSupport
import Testing

@testable import batchproc

/// Archives of stock tools in less common forms, within this process: verify accepts complete ones and
/// refuses damaged ones.
@Suite(.serialized) struct StockArchiveTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    try t.file("t/a", "first\n")
    try t.file("t/d/b", String(repeating: "second ", count: 3000))
    try t.file("t/d/c", size: 5000)
    try t.file("t/empty", "")
    try t.symbolicLink("t/link", to: "a")
  }

  private func make(_ script: String) throws {
    let made = try Outcome(shell: script, in: t)
    try #require(made.status == 0, "\(made.text)\(made.errorText)")
  }

  private func run(_ arguments: PathBytes...) throws -> CommandRun { try CommandRun(arguments, in: t) }

  private func verified(_ name: PathBytes) throws {
    let verify = try run("verify", "-q", name)
    #expect(verify.status == 0, "\(verify.errorText)")
    let extract = try run("extract", "-q", "--no-fsync", "-C", "out", name)
    #expect(extract.status == 0, "\(extract.errorText)")
    #expect(t.content("out/t/d/b") == t.content("t/d/b") && t.content("out/t/a") == t.content("t/a"))
  }

  /// verify reports the damage, and extract names it.
  private func refused(_ name: PathBytes, _ text: String) throws {
    let verify = try run("verify", "-q", name)
    #expect(verify.status == 4, "\(verify.status): \(verify.errorText)")
    let extract = try run("extract", "-q", "--no-fsync", "--force", "-C", "bad", name)
    #expect(
      extract.status == 5 && extract.errorText.contains(text), "\(extract.status): \(extract.errorText)")
  }

  @Test(
    "a complete cpio of each form is accepted, with its headers",
    arguments: ["newc", "crc", "odc", "bin", "hpodc", "hpbin"])
  func cpio(form: String) throws {
    try make("find t | cpio -o -H \(form) >x.cpio 2>/dev/null")
    try verified("x.cpio")
    var bytes = try #require(t.content("x.cpio"))
    let name = Array("t/d/b\0".utf8)
    let place = try #require(bytes.indices.first { bytes[$0...].starts(with: name) })
    bytes[place + 2] = 0
    try t.file("x.cpio", bytes)
    try refused("x.cpio", "a name in its headers holds a NUL")
  }

  @Test("a complete cpio in the large form of afio is accepted, and each of its headers is checked")
  func afio() throws {
    try t.file(
      "make.py",
      """
      def member(name, content, mode=0o100644):
        return b"070727%08x%016xm%06o%08x%08x%08x%08x%016xn%04x%04x%04xs%016x:" % (
          1, 1, mode, 1 << 20, 7, 1, 0, 1 << 32, len(name) + 1, 0, 0, len(content)) + name + b"\\0" + content
      read = lambda name: (name.encode(), open(name, "rb").read())
      whole = member(*read("t/a")) + member(*read("t/d/b"))
      end = member(b"TRAILER!!!", b"", 0)
      open("x.cpio", "wb").write(whole + end)
      open("y.cpio", "wb").write(whole + member(b"t/x\\0y", b"1") + end)
      open("z.cpio", "wb").write(whole + member(b"TRAILER!!!", b"content") + end)
      """)
    try make("python3 make.py")
    try verified("x.cpio")
    try refused("y.cpio", "a name in its headers holds a NUL")
    try refused("z.cpio", "TRAILER!!!")
  }

  @Test("a cpio member with the name of the end record is found", arguments: ["newc", "odc", "bin"])
  func cpioEnd(form: String) throws {
    try make(
      "cd t && echo content >'TRAILER!!!' && printf '%s\\n' a 'TRAILER!!!' empty | cpio -o -H \(form) >../x.cpio 2>/dev/null"
    )
    try refused("x.cpio", "TRAILER!!!")
  }

  @Test(
    "a complete 7z of each form is accepted",
    arguments: [
      "", "-mhc=off", "-ms=off", "-ms=off -mhc=off", "-m0=BCJ -m1=LZMA", "-m0=copy -mhc=off", "-m0=PPMd",
      "-m0=BZip2 -ms=2f -mhc=off",
      "-mtc=on -mta=on -mhc=off", "-m0=Delta:4 -m1=LZMA2 -mhc=off",
    ])
  func sevenZip(options: String) throws {
    try make("7z a -bd \(options) x.7z t >/dev/null")
    try verified("x.7z")
    let whole = try #require(t.content("x.7z"))
    for cut in [20, 40, whole.count - 3] {
      try t.file("x.7z", whole[..<cut])
      #expect(try run("verify", "-q", "x.7z").status != 0, "\(cut)")
    }
    try t.file("x.7z", whole + [1, 2, 3])
    let more = try run("verify", "x.7z")
    #expect(more.errorText.contains("bytes after the end of the 7z archive"), "\(more.errorText)")
  }

  @Test("a 7z with encrypted headers or names is not reported as damaged")
  func encryptedSevenZip() throws {
    try make("7z a -bd -psecret -mhe=on x.7z t >/dev/null; 7z a -bd -psecret y.7z t >/dev/null")
    for name in ["x.7z", "y.7z"] as [PathBytes] {
      let list = try run("verify", "-q", name)
      #expect(list.status != 0 && list.errorText.contains("encrypted"), "\(name): \(list.errorText)")
    }
  }

  /// A zip of the tree, made by Python. The script may set the limits of zip64 before, or change the file
  /// afterwards as `bytes`.
  private func zip(_ before: String = "", _ after: String = "") throws {
    try t.file(
      "make.py",
      """
      import os, struct, zipfile
      \(before)
      with zipfile.ZipFile("x.zip", "w", zipfile.ZIP_DEFLATED) as z:
        for name in ("t/a", "t/d/b", "t/d/c", "t/empty"): z.write(name)
      bytes = bytearray(open("x.zip", "rb").read())
      end = bytes.rindex(b"PK\\5\\6")
      \(after)
      open("x.zip", "wb").write(bytes)
      """)
    try make("python3 make.py")
  }

  @Test(
    "a complete zip of each form is accepted",
    arguments: [
      ("", ""), ("zipfile.ZIP_FILECOUNT_LIMIT = 1", ""), ("zipfile.ZIP64_LIMIT = 100", ""),
      ("zipfile.ZIP64_LIMIT = 100; zipfile.ZIP_FILECOUNT_LIMIT = 1", ""),
      ("", #"bytes[end + 20:] = struct.pack("<H", 9000) + b"c" * 9000"#),
      ("", ##"bytes = b"#!/bin/sh\nexit\n" + bytes"##),
    ])
  func zips(before: String, after: String) throws {
    try zip(before, after)
    try verified("x.zip")
  }

  @Test(
    "a zip with contradictory records is damaged",
    arguments: [
      ("", "bytes[end + 4] = 1", "the record that ends the zip is not valid"),
      ("", "bytes[end + 8] = 1", "the record that ends the zip is not valid"),
      ("", "bytes[end + 12:end + 16] = b'\\xff' * 4", "damaged"),
      ("", "bytes[end + 16:end + 20] = b'\\xf0' * 4", "the record that ends the zip is not valid"),
      ("zipfile.ZIP_FILECOUNT_LIMIT = 1", "bytes[end - 76] ^= 1", "damaged"),
      ("zipfile.ZIP_FILECOUNT_LIMIT = 1", "bytes[end - 7] ^= 1", "damaged"),
      ("", #"bytes[bytes.index(b"PK\1\2") + 42] += 1"#, ""),
      ("", #"p = bytes.index(b"PK\1\2"); bytes[p + 46] ^= 1"#, ""),
      (
        "", #"p = bytes.index(b"t/d/b"); bytes[p + 1] = 0; p = bytes.rindex(b"t/d/b"); bytes[p + 1] = 0"#,
        "holds a NUL"
      ),
      ("", #"p = bytes.index(b"PK\1\2"); bytes[p + 10] ^= 8"#, ""),
      ("", #"bytes[end + 8] -= 1; bytes[end + 10] -= 1"#, ""),
    ])
  func damagedZips(before: String, after: String, text: String) throws {
    try zip(before, after)
    try refused("x.zip", text)
  }

  @Test("a zip with a comment longer than libarchive searches is accepted", arguments: [17_000, 65_535])
  func longComment(size: Int) throws {
    try zip("", #"bytes[end + 20:] = struct.pack("<H", \#(size)) + b"c" * \#(size)"#)
    try verified("x.zip")
  }

  @Test("a complete tar of each dialect is accepted, also with times before 1970 and long names")
  func tars() throws {
    let long = String(repeating: "long name ", count: 20)
    try t.file(PathBytes("t/\(long)"), "x")
    try make("ln -s '\(long)' t/far")
    for form in ["v7", "oldgnu", "gnu", "ustar", "pax"] {
      let names = ["v7", "ustar"].contains(form) ? "t/a t/d" : "t"
      try make("rm -rf out; tar --format=\(form) -cf x.tar \(names)")
      try verified("x.tar")
    }
    try make("touch -d '1960-01-01 00:00:00.25' t/a; touch -d '1960-01-01 00:00:00' t/d/c")
    for form in ["gnu", "pax"] {
      try make("rm -rf out; tar --format=\(form) -cf x.tar t")
      try verified("x.tar")
      guard form == "pax" else { continue }
      let times = try Outcome(shell: "stat -c %.9Y out/t/a out/t/d/c", in: t)
      #expect(times.text == (try Outcome(shell: "stat -c %.9Y t/a t/d/c", in: t)).text)
    }
    // A long name in the GNU form, with a NUL and more bytes after it.
    try make("tar --format=gnu -cf x.tar t")
    var bytes = try #require(t.content("x.tar"))
    let name = Array("t/\(long)".utf8)
    let place = try #require(bytes.indices.first { bytes[$0...].starts(with: name) })
    bytes[place + 50] = 0
    try t.file("x.tar", bytes)
    try refused("x.tar", "holds a NUL")
  }

  @Test("a sparse member of Solaris is listed and verified to its end, with the member after it")
  func solaris() throws {
    try make(
      """
      python3 - <<'END'
      import tarfile
      def header(name, size, kind=b'0'):
          info = tarfile.TarInfo(name)
          info.size, info.type = size, kind
          return info.tobuf(tarfile.USTAR_FORMAT)
      holes = b'55 SUN.holesdata= 0 131072 393216 524288 786432 819207\\n'
      data = b'a' * 131072 + bytes(262144) + b'b' * 131072 + bytes(262144) + b'c' * (819207 - 786432)
      with open('x.tar', 'wb') as out:
          out.write(header('pax', len(holes), b'x') + holes.ljust(512, b'\\0') + header('hole', len(data)))
          out.write(data + bytes(-len(data) % 512) + header('next', 0) + bytes(1024))
      END
      """)
    let list = try run("list", "-q", "x.tar")
    #expect(list.status == 0 && list.text == "hole\nnext\n", "\(list.text)\(list.errorText)")
    #expect(try run("verify", "-q", "x.tar").status == 0)
    #expect(try run("extract", "-q", "--no-fsync", "-C", "out", "x.tar").status == 0)
    #expect(t.content("out/hole")?.count == 819_207 && t.exists("out/next"))
  }

  @Test("of damage between members, twenty places are named, and the others are counted")
  func flood() throws {
    try make(
      """
      python3 - <<'END'
      import tarfile
      def header(name, size, kind=b'0'):
          info = tarfile.TarInfo(name)
          info.size, info.type = size, kind
          return info.tobuf(tarfile.USTAR_FORMAT)
      record = b'12 path=foo\\n'
      pax = header('pax', len(record), b'x') + record.ljust(512, b'\\0')
      open('x.tar', 'wb').write(pax * 1000 + header('last', 0) + bytes(1024))
      END
      """)
    for command in ["list", "verify"] as [PathBytes] {
      let run = try run(command, "x.tar")
      let lines = (run.text + run.errorText).split(separator: "\n")
      #expect(lines.count < 80, "\(command): \(lines.count) \(lines.prefix(3)) \(lines.suffix(3))")
      #expect(lines.contains { $0.contains(" more places between members") }, "\(lines.suffix(5))")
      // No member can be listed.
      #expect(run.status == (command == "list" ? 1 : 4))
    }
    let extract = try run("extract", "--keep-going", "-q", "--no-fsync", "-C", "out", "x.tar")
    #expect(extract.status == 5, "\(extract.errorText.prefix(300))")
  }

  @Test(
    "formats that are read on request only are refused with a hint, and read on request",
    arguments: ["ar", "iso", "iso.Z", "iso.gz", "iso.zst"])
  func onRequest(form: String) throws {
    let packers = ["iso.Z": "compress -k", "iso.gz": "gzip -k", "iso.zst": "zstd -qk"]
    try make(form == "ar" ? "ar rc x.ar t/a t/d/b 2>/dev/null" : "bsdtar -cf x.iso --format iso9660 t")
    if form == "iso.Z" {
      try make("bsdtar -cf x.iso.Z --format iso9660 -Z t")
    } else if let packer = packers[form] {
      try make("\(packer) x.iso")
    }
    let name = PathBytes("x.\(form)")
    let list = try run("list", "-q", name)
    #expect(list.status == 1 && list.errorText.contains("--all-formats"), "\(list.errorText)")
  }
}
