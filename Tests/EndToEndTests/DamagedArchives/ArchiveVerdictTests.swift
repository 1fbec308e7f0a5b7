import BatchEngine
import TestSupport
import Testing

/// What `verify` and `extract` say about an archive is the same, and right.
@Suite(.timeLimit(.minutes(5)), .enabled(if: Host.hasPython)) struct ArchiveVerdictTests {
  private let t: TreeFixture

  init() throws { t = try TreeFixture() }

  private func make(_ script: String) throws {
    try t.file("make.py", Self.tools + script)
    let made = try t.shell("python3 make.py")
    try #require(made.status == 0, "\(made.text)\(made.errorText)")
  }

  /// The statuses of `verify` and `extract` of a file `x`, by a file and by a pipe where the format allows it.
  private func statuses(_ name: String = "x", isStream: Bool = true) throws -> (text: String, errors: String)
  {
    let run = try t.shell(
      """
      mkdir o p; $BP verify -q \(name) >v; echo -n "$? "; $BP extract -q -C o \(name); echo -n "$? "
      \(isStream ? "cat \(name) | $BP verify -q - >v; echo -n \"$? \"; cat \(name) | $BP extract -q -C p -; echo -n $?" : "")
      """)
    return (run.text, run.errorText)
  }

  private static let tools = """
    import io, struct, tarfile, zipfile, zlib
    def patched(data, place, new): return data[:place] + new + data[place + len(new):]
    def block(data): return data + bytes(-len(data) % 512)
    def zipped(*members, **keys):
        out = io.BytesIO()
        with zipfile.ZipFile(out, 'w', **keys) as z:
            for name, content in members: z.writestr(name, content)
        return out.getvalue()
    def header(name, size, kind=b'0', extra=b''):
        info = tarfile.TarInfo(name)
        info.size, info.type = size, kind
        data = bytearray(info.tobuf(tarfile.GNU_FORMAT))
        data[386:386 + len(extra)] = extra
        data[148:156] = b' ' * 8
        data[148:156] = b'%06o\\0 ' % sum(data)
        return bytes(data)
    def seven(packed, header):
        start = struct.pack('<QQI', len(packed), len(header), zlib.crc32(header))
        return b"7z\\xbc\\xaf'\\x1c\\0\\4" + struct.pack('<I', zlib.crc32(start)) + start + packed + header

    """

  @Test(
    "a zip member that claims content and has none is damaged",
    arguments: [0, 8])
  func missingContent(method: Int) throws {
    try make(
      """
      data = zipped(('a', b''), ('b', b'more'))
      local, entry = data.index(b'PK\\3\\4'), data.index(b'PK\\1\\2')
      for place, method, size in (local, 8, 22), (entry, 10, 24):
          data = patched(data, place + method, struct.pack('<H', \(method)))
          data = patched(data, place + size, struct.pack('<I', 4000))
      open('x', 'wb').write(data)
      """)
    let (text, errors) = try statuses()
    #expect(text == "4 5 4 5" && errors.contains("less content"), "\(text) \(errors)")
    let printed = try t.shell("$BP extract -qO x a | wc -c; $BP extract -qO x a >z; echo $?")
    #expect(printed.text == "0\n5\n", "\(printed.text)\(printed.errorText)")
  }

  /// Old GNU form: the map in the header, then the real size.
  private static let sparse = """
    def sparse(ranges, real, stored):
        numbers = [number for pair in ranges for number in pair]
        fields = b''.join(b'%011o\\0' % number for number in numbers).ljust(96, b'\\0')
        return header('s', len(stored), b'S', fields + b'\\0' + b'%011o\\0' % real) + block(stored)
    def put(member): open('x', 'wb').write(member + header('z', 0) + bytes(1024))

    """

  @Test(
    "sparse members with more or less content than they say are damaged; those that end in a hole are whole",
    arguments: [
      ("put(sparse([(0, 512), (4096, 512)], 8192, b'a' * 1024))", "0 0 0 0"),
      ("put(sparse([(0, 512), (8192, 0)], 8192, b'a' * 512))", "0 0 0 0"),
      ("put(sparse([(8192, 0)], 8192, b''))", "0 0 0 0"),
      ("put(sparse([(0, 512), (4096, 512)], 8192, b'a' * 700))", "4 5 4 5"),
      ("put(sparse([(0, 512), (4096, 512)], 8192, b'a' * 512))", "4 5 4 5"),
      ("put(sparse([(0, 512), (4096, 512)], 4200, b'a' * 1024))", "4 5 4 5"),
    ])
  func sparse(script: String, expected: String) throws {
    try make(Self.sparse + script)
    let (text, errors) = try statuses()
    #expect(text == expected, "\(text) \(errors)")
  }

  @Test("the rest of a file from another volume of a GNU tar is refused", arguments: [0, 200])
  func laterVolume(padding: Int) throws {
    let run = try t.shell(
      """
      name=$(printf 'c%.0s' $(seq \(padding + 1))); mkdir t o; cd t; head -c 30000 /dev/zero | tr '\\0' x >$name; cd ..
      tar -cM -L 20 -f one -f two -C t $name; cat two >x; echo
      """)
    try #require(t.exists("x") && !(t.content("x") ?? []).isEmpty, "\(run.errorText)")
    let (text, errors) = try statuses()
    #expect(text == "4 5 4 5", "\(text) \(errors)")
    #expect(errors.contains("it continues a file of another volume"), "\(errors)")
    #expect(t.names(in: "o").isEmpty && t.names(in: "p").isEmpty)
  }

  @Test("an empty LZMA member of a zip is decoded, and damaged bytes of it are found")
  func emptyLZMA() throws {
    try make(
      """
      data = zipped(('e', b''), ('f', b'text' * 99), compression=zipfile.ZIP_LZMA)
      open('x', 'wb').write(data)
      open('y', 'wb').write(patched(data, 31 + 12, b'\\x55'))
      """)
    #expect(try statuses().text == "0 0 0 0")
    let damaged = try t.shell("mkdir q; $BP verify -q y >v; echo $?; $BP extract -q -C q y; echo $?")
    #expect(damaged.text == "4\n5\n", "\(damaged.text)\(damaged.errorText)")
  }

  @Test(
    "the record that ends a zip is the one whose directory is where it says",
    arguments: [
      // A comment that holds an empty record, and one that holds a record of other members.
      ("put(comment=b'PK\\5\\6' + bytes(18))", "0 0"),
      ("put(comment=zipped(('q', b''))[-22:])", "0 0"),
      ("put(comment=b'PK\\5\\6' + bytes(18) + b'more')", "0 0"),
      // zip64, with all other numbers in its record; a locator in a name.
      ("put(after=b'\\xff' * 16)", "0 0"),
      ("put(name='name PK\\6\\7' + 'x' * 16)", "0 0"),
      ("put(name='name PK\\6\\7' + '\\1' * 16)", "0 0"),
      // Headers of members before an empty directory.
      (
        "data = zipped(('a', b'1'))\nopen('x', 'wb').write(data[:data.index(b'PK\\1\\2')] + b'PK\\5\\6' + bytes(18))",
        "4 5"
      ),
      ("open('x', 'wb').write(b'MZ' * 99 + b'PK\\5\\6' + bytes(18))", "4 5"),
      ("open('x', 'wb').write(b'PK\\5\\6' + bytes(18))", "0 0"),
    ])
  func endRecord(script: String, expected: String) throws {
    try make(
      """
      def put(comment=b'', after=None, name='a'):
          if after: zipfile.ZIP_FILECOUNT_LIMIT = 0
          data = zipped(('first', b'1'), (name, b'content'))
          if after: data = patched(data, len(data) - 18, after)
          data = data[:-2] + struct.pack('<H', len(comment)) + comment
          open('x', 'wb').write(data)

      """ + script)
    let (text, errors) = try statuses(isStream: false)
    #expect(text == expected + " ", "\(text) \(errors)")
    if expected == "0 0", script.contains("put") { #expect(t.content("o/first") == Array("1".utf8)) }
  }

  @Test("a symbolic link without a target in a zip is damaged")
  func emptyLink() throws {
    try make(
      """
      link = zipfile.ZipInfo('l')
      link.external_attr, link.create_system = 0o120777 << 16, 3
      open('x', 'wb').write(zipped((link, b''), ('z', b'1')))
      """)
    let (text, errors) = try statuses(isStream: false)
    #expect(
      text == "4 5 " && errors.contains("l: damaged: a symbolic link without a target"), "\(text) \(errors)")
  }

  @Test(
    "coders of 7z that libarchive cannot decode, or not to the end, are unsupported by their name",
    arguments: [
      ("-m0=ARM -m1=LZMA", "ARM over LZMA"), ("-m0=ARMT -m1=LZMA", "ARMT over LZMA"),
      ("-m0=IA64 -m1=LZMA", "IA64 over LZMA"), ("-m0=PPC -m1=LZMA", "PPC over LZMA"),
      ("-m0=SPARC -m1=LZMA", "SPARC over LZMA"), ("-m0=ARM64 -m1=LZMA2", "ARM64 over LZMA2"),
      ("-m0=PPC -m1=Deflate", "PPC over Deflate"), ("-m0=BCJ -m1=Delta -m2=LZMA", "BCJ over Delta over LZMA"),
      ("-m0=Deflate64", "Deflate64"),
    ])
  func coders(options: String, name: String) throws {
    let made = try t.shell(
      """
      head -c 3001 /bin/sh >a; head -c 1009 /dev/urandom >>a
      7z a -bd \(options) x.7z a >/dev/null && 7z t x.7z >/dev/null
      """)
    try #require(made.status == 0, "\(made.errorText)")
    let (text, errors) = try statuses("x.7z", isStream: false)
    #expect(text == "1 1 ", "\(text) \(errors)")
    #expect(errors.contains("a: unsupported: 7z with \(name)") && !errors.contains("damaged"), "\(errors)")
  }

  @Test(
    "parts of a 7z header that libarchive cannot read are unsupported, and its checks still hold",
    arguments: [
      ("properties=b'\\2\\x19\\2xx\\0'", "1 1 "), ("contents=b''", "1 1 "),
      ("properties=b'\\2\\x19\\0\\0'", "0 0 "),
      ("crc=1", "4 5 "), ("", "0 0 "),
    ])
  func headerParts(keys: String, expected: String) throws {
    try make(
      """
      def put(properties=b'', contents=None, crc=0):
          name = 'a.txt\\0'.encode('utf-16-le')
          packed = b'\\6\\0\\1\\x09\\x04\\0'
          check = b'\\x0a\\1' + struct.pack('<I', zlib.crc32(b'text') ^ crc)
          folders = b'\\7\\x0b\\1\\0\\1\\1\\0\\x0c\\x04' + (check if contents == b'' else b'') + b'\\0'
          contents = b'\\x08\\x0d\\1' + check + b'\\0' if contents is None else contents
          files = b'\\5\\1' + bytes([0x11, len(name) + 1, 0]) + name + b'\\0'
          header = b'\\1' + properties + b'\\4' + packed + folders + contents + b'\\0' + files + b'\\0'
          open('x.7z', 'wb').write(seven(b'text', header))
      put(\(keys))
      """)
    let (text, errors) = try statuses("x.7z", isStream: false)
    #expect(text == expected, "\(text) \(errors)")
    if expected == "1 1 " { #expect(errors.contains("in the header of a 7z archive"), "\(errors)") }
  }

  @Test(
    "a part of several is called so",
    arguments: [
      ("zip -q -s 64k x.zip a", "x.zip"), ("zip -q -s 64k x.zip a", "x.z01"),
      ("zip -q -s 64k x.zip a", "x.z02"),
      ("7z a -bd -v100k x.7z a >/dev/null", "x.7z.001"), ("7z a -bd -v100k x.7z a >/dev/null", "x.7z.002"),
    ])
  func parts(maker: String, name: String) throws {
    try t.shell("head -c 250000 /dev/urandom >a; \(maker)")
    let (text, errors) = try statuses(name, isStream: false)
    #expect(text == "1 1 " && errors.contains("unsupported: a part of several"), "\(text) \(errors)")
  }
}
