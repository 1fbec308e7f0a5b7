import BatchCore
import BatchEngine
import TestSupport
import Testing

/// Archives with an index whose digests are right and whose members differ from those that stock tools find.
@Suite(
  "An index that differs from the members that stock tools find", .timeLimit(.minutes(5)),
  .enabled(if: Host.hasPython))
struct ArchiveContradictionTests {
  private let t: TreeFixture

  init() throws { t = try TreeFixture() }

  /// Cases for `forge.py`: the frames, then the members in the index, each with its frame.
  private static let cases = [
    "zeros in the middle": "[A + Z + Z], [B], END, [(A, 0), (B, 1)]",
    "a block of zeros in the middle": "[A + Z], [B], END, [(A, 0), (B, 1)]",
    "zeros between two members": "[A, Z + Z, B], END, [(A, 0), (B, 0)]",
    "zeros before a large member": "[A, Z + Z], [B[:512]], [B[512:]], END, [(A, 0), (B, 1)]",
    "the last member of a frame left out": "[A, B], END, [(A, 0)]",
    "the first member of a frame left out": "[A], [B, C], END, [(A, 0), (C, 1)]",
    "the first frame left out": "[A], [B], END, [(B, 1)]",
    "a frame in the middle left out": "[A], [B], [C], END, [(A, 0), (C, 2)]",
    "the last frame left out": "[A], [B], END, [(A, 0)]",
    "all members left out": "[A], [B], END, []",
    "a member with another name": "[A], [B], END, [(A, 0), (named(B, b'innocent'), 1)]",
    "a member of another kind": "[A], [B], END, [(A, 0), (kind(B, b'5'), 1)]",
    "a member of another size": "[A], [B], END, [(A, 0), (sized(B, 1), 1)]",
    "a member with other headers": "[A], [B], END, [(A, 0), (checked(B, 1), 1)]",
    "a member with longer headers": "[A], [B], END, [(A, 0), (headed(B, 1024), 1)]",
    "a folder with a size": "[A], [D, B], END, [(A, 0), (sized(D, 7), 1), (B, 1)]",
    "a link with a size": "[A], [L, B], END, [(A, 0), (sized(L, 1 << 40), 1), (B, 1)]",
    "a member at another place": "[A, B], END, [(A, 0), (moved(B, -512), 0)]",
    "a member that is not there": "[A], [B], END, [(A, 0), (moved(C, 512), 0), (B, 1)]",
    "a header for all that follow": "[G + A], [B], END, [(A, 0), (B, 1)]",
    "a header for the next frame": "[A, X], [B], END, [(A, 0), (B, 1)]",
    "a name of a volume": "[A], [V + B], END, [(A, 0), (B, 1)]",
    "no end": "[A], [B], [Z], [(A, 0), (B, 1)]",
    "members behind the end": "[A], END, [B], END, [(A, 0)]",
  ]

  private static let formats = TreeFixture.indexedFormats + ["tar.bz2"]

  /// GNU tar, with an option for lz4, which it does not recognize.
  private static func tar(_ format: String) -> String { format == "tar.lz4" ? "tar -I lz4" : "tar" }

  private static let forge = #"""
    import bz2, gzip, hashlib, io, lzma, struct, subprocess, sys, tarfile, zlib
    format, what = sys.argv[1], open('what').read()
    def run(data, *tool): return subprocess.run(tool, input=data, stdout=subprocess.PIPE, check=True).stdout
    def zstd(data): return run(data, 'zstd', '-q', '-c', '--stream-size=%d' % len(data))
    compress = {'tar': bytes, 'tar.gz': lambda data: gzip.compress(data, mtime=0), 'tar.zst': zstd, 'tar.bz2': bz2.compress,
      'tar.xz': lzma.compress, 'tar.lz4': lambda data: run(data, 'lz4', '-q', '-c')}[format]
    class Member(bytes):
        pass
    def member(name, data):
        info = tarfile.TarInfo(name); info.size = len(data); info.mtime = 1000
        found = Member(info.tobuf(tarfile.USTAR_FORMAT) + data.ljust((len(data) + 511) // 512 * 512, b'\0'))
        found.claim = [name.encode(), b'0', len(data), 0, hashlib.sha256(data).digest(), 0, 512]
        return found
    def special(name, letter, target=''):
        info = tarfile.TarInfo(name); info.type = letter; info.linkname = target; info.mtime = 1000
        found = Member(info.tobuf(tarfile.USTAR_FORMAT))
        found.claim = [name.encode(), letter, 0, 0, None, 0, 512]
        return found
    def changed(member, at, value):
        copy = Member(member); copy.claim = list(member.claim); copy.claim[at] = value
        return copy
    def named(member, name): return changed(member, 0, name)
    def kind(member, letter):
        copy = changed(member, 1, letter); copy.claim[2] = 0; copy.claim[4] = None
        return copy
    def sized(member, size): return changed(member, 2, size)
    def moved(member, distance): return changed(member, 3, distance)
    def checked(member, difference): return changed(member, 5, difference)
    def headed(member, size): return changed(member, 6, size)
    class Skipped(bytes):
        pass
    def header(letter, data=b''):
        info = tarfile.TarInfo('h'); info.type = letter; info.size = len(data)
        return info.tobuf(tarfile.USTAR_FORMAT) + data.ljust((len(data) + 511) // 512 * 512, b'\0')
    A, B, C = member('a', b'first\n'), member('b', b'second\n' * 200), member('c', b'third\n')
    D, L = special('d', b'5'), special('l', b'2', 'a')
    Z = bytes(512)
    END = [Z + Z]
    G, X, V = header(b'g', b'15 path=global\n'), header(b'x', b'16 path=renamed\n'), header(b'V')
    *frames, claims = eval(what)
    def skippable(magic, payload): return struct.pack('<II', magic, len(payload)) + payload
    out, listed, plain = b'', [], 0
    for parts in frames:
        content = b''.join(part for part in parts if type(part) is not Skipped)
        data = b''.join(skippable(0x184D2A50, compress(part)) for part in parts if type(part) is Skipped) + compress(content)
        listed.append((len(out), len(data), plain, len(content), zlib.crc32(data)))
        out += data; plain += len(content)
    rows = []
    for claimed, frame in claims:
        offset = 0
        for part in frames[frame]:
            if part[:512] == claimed[:512]: break
            if part.endswith(claimed):
                offset += 0 if part[:512] in (G[:512], V[:512]) else len(part) - len(claimed)
                break
            offset += 0 if type(part) is Skipped else len(part)
        rows.append([*claimed.claim[:3], frame, offset + claimed.claim[3], claimed.claim[4],
          zlib.crc32(claimed[:512]) ^ claimed.claim[5], claimed.claim[6]])
    def column(form, values): return b''.join(struct.pack('<' + form, value) for value in values)
    page = struct.pack('<I', len(rows)) + column('I', [len(r[0]) for r in rows]) + b''.join(r[1] for r in rows)
    page += column('B', [r[5] is not None for r in rows]) + column('Q', [r[2] for r in rows]) + column('q', [1000] * len(rows))
    page += column('I', [0] * len(rows)) + column('I', [r[3] for r in rows]) + column('Q', [r[4] for r in rows])
    page += column('I', [r[7] for r in rows]) + b''.join(r[0] for r in rows)
    pages = zstd(page) if rows else b''
    checks = column('I', [r[6] for r in rows]) + b''.join(r[5] or b'' for r in rows)
    # The program reads both versions of the index.
    version = 3 if format in ('tar', 'tar.lz4') else 4
    head = b'BPIDX00%d' % version + struct.pack('<QQQ', len(rows), sum(r[2] for r in rows if r[1] == b'0'), len(listed))
    if version == 4: head += struct.pack('<Q', 1 if rows else 0)
    head += b''.join(struct.pack('<QQQQI', *frame) for frame in listed)
    if version == 4 and rows: head += struct.pack('<QQII', len(pages), len(page), len(rows), sum(r[5] is not None for r in rows))
    head = zstd(head + hashlib.sha256(checks).digest())
    lengths = struct.pack('<QQ', len(pages), len(head))
    packed = pages + head + checks + lengths + hashlib.sha256(pages + head + lengths).digest()
    start = len(out)
    def empty(extra): return bytes.fromhex('1f8b08040000000000ff') + struct.pack('<H', len(extra)) + extra + b'\3' + bytes(9)
    def filled(data): return data.ljust((len(data) + 511) // 512 * 512, b'\0')
    block = filled(packed) + filled(b'BPTAIL01' + struct.pack('<Q', len(packed)))
    if format == 'tar.zst':
        frame = skippable(0x184D2A5A, b'BPIX%c\0' % version + packed)
        sizes = [(f[1], f[3]) for f in listed] + [(len(frame), 0)]
        tail = frame + skippable(0x184D2A5E, b''.join(struct.pack('<II', *pair) for pair in sizes)
          + struct.pack('<IBI', len(sizes), 0, 0x8F92EAB1))
    elif format == 'tar.lz4':
        tail = skippable(0x184D2A5A, b'BPIX%c\0' % version + packed) + skippable(0x184D2A5B, struct.pack('<Q', start) + b'BPTAIL01')
    elif format == 'tar.gz':
        tail = empty(b'BP' + struct.pack('<H', len(packed)) + packed)
        tail += empty(b'BT' + struct.pack('<HQ', 38, start) + b'BPTAIL01' + bytes(22))
    elif format == 'tar.bz2':
        tail = compress(filled(packed)) + compress(filled(b'BPTAIL01' + struct.pack('<QQ', len(packed), start)))
    else: tail = compress(block)
    open('x.' + format, 'wb').write(out + tail)
    """#

  /// The names of the cases that are tested in a format: each case is in one of the formats in turn; in a campaign in
  /// all of them.
  private static func names(_ format: String) -> [String] {
    cases.keys.sorted().enumerated().compactMap { number, name in
      Campaign.isFull || formats[number % formats.count] == format ? name : nil
    }
  }

  /// Makes `x.FORMAT` in each of the folders, from the case in its file `what`.
  private static let forgeAll = """
    import os, sys
    code, (_, format, *folders), top = compile(open('forge.py').read(), 'forge.py', 'exec'), sys.argv, os.getcwd()
    for folder in folders:
        os.chdir(os.path.join(top, folder))
        sys.argv = ['forge.py', format]
        exec(code, {'__name__': '__main__'})
    """

  /// Makes `N/x.FORMAT` for each case with the number N.
  private func forge(_ format: String, _ cases: [String]) throws {
    try t.file("forge.py", Self.forge)
    try t.file("forge-all.py", Self.forgeAll)
    for (number, what) in cases.enumerated() { try t.file(PathBytes("\(number)/what"), what) }
    let folders = cases.indices.map { "\($0)" }.joined(separator: " ")
    let made = try t.shell("python3 forge-all.py \(format) \(folders)")
    try #require(made.status == 0, "\(made.errorText)")
  }

  @Test(
    "is reported by verify and by a complete extraction", arguments: formats)
  func reported(format: String) throws {
    let names = Self.names(format)
    try forge(format, names.compactMap { Self.cases[$0] })
    for (number, name) in names.enumerated() { try expectReported(name, format, in: "\(number)") }
  }

  private func expectReported(_ name: String, _ format: String, in folder: String) throws {
    let jobs = format == "tar.zst" ? "1 2 7 32" : "2"
    let check = try t.batchproc("verify", "-q", PathBytes("\(folder)/x.\(format)"))
    #expect(check.status == 4 && !check.errorText.isEmpty, "\(name): \(check.status) \(check.errorText)")
    let run = try t.shell(
      """
      cd \(folder); mkdir other; \(Self.tar(format)) -xf x.\(format) -C other 2>/dev/null; ls other >stock
      for j in \(jobs); do for option in '' --keep-going; do
        rm -rf out; mkdir out; $BP extract -q $option -j $j -C out x.\(format) 2>errors; s=$?; ls out | cmp -s - stock
        echo "$s $? $([ -s errors ] && echo told) -j $j $option"; cat errors >&2
      done; done
      """)
    let rows = run.text.split(separator: "\n")
    #expect(rows.count == (format == "tar.zst" ? 8 : 2), "\(name): \(run.text)\(run.errorText)")
    for row in rows {
      // An index that is impossible is not used; the output then equals that of other readers.
      let isReported = !row.hasPrefix("0 ") && row.contains(" told ")
      #expect(isReported || row.hasPrefix("0 0 "), "\(name): \(row): \(run.errorText)")
    }
    let stock = try t.shell("\(Self.tar(format)) -tf \(folder)/x.\(format) 2>/dev/null")
    let list = try t.shell("$BP list -q --no-index \(folder)/x.\(format)")
    if stock.status == 0, !["a header for all that follow", "a name of a volume"].contains(name) {
      #expect(list.text == stock.text, "\(name): \(list.text)\(list.errorText)")
    }
  }

  @Test("is accepted when it lists the members of the archive", arguments: formats)
  func right(format: String) throws {
    let cases = [
      "[A], [B, C], END, [(A, 0), (B, 1), (C, 1)]",
      "[A], [B[:512]], [B[512:]], [C], END, [(A, 0), (B, 1), (C, 3)]", "END, []",
      "[D, A], [L], END, [(D, 0), (A, 0), (L, 1)]",
    ]
    try forge(format, cases)
    for number in cases.indices {
      let run = try t.shell(
        """
        \(Steps.functions)
        cd \(number)
        mkdir out
        ends verify $BP verify -q x.\(format)
        ends extract $BP extract -q -C out x.\(format)
        $BP list -q x.\(format) | ends "list" cmp - <(\(Self.tar(format)) -tf x.\(format))
        """)
      run.expectSteps(["verify": "0", "extract": "0", "list": "0"])
    }
  }

  @Test("is what list shows, and --no-index shows the archive itself")
  func lists() throws {
    try forge("tar.zst", ["[A], [B], END, [(A, 0), (named(B, b'innocent'), 1)]"])
    try t.shell("mv 0/x.tar.zst .")
    #expect(try t.shell("$BP list -q x.tar.zst").text == "a\ninnocent\n")
    #expect(try t.shell("$BP list -q --no-index x.tar.zst").text == "a\nb\n")
    #expect(try t.shell("tar -tf x.tar.zst").text == "a\nb\n")
    // A chosen member is read from a frame that contains the member as the index describes it.
    let run = try t.shell("mkdir out; $BP extract -C out x.tar.zst a && ls out")
    #expect(run.status == 0 && run.text == "a\n", "\(run.errorText)")
  }

  @Test("does not list the content of frames that decoders skip", arguments: ["tar.zst", "tar.lz4"])
  func skippable(format: String) throws {
    // A frame with the second member is inside a skipped frame before the third member.
    try forge(format, ["[A], [Skipped(B), C], [Skipped(B), *END], [(A, 0), (C, 1)]"])
    let run = try t.shell(
      "cd 0; $BP verify -q x.\(format) && $BP list -q x.\(format) && $BP list -q --no-index x.\(format) && \(Self.tar(format)) -tf x.\(format)"
    )
    #expect(run.status == 0 && run.text == "a\nc\na\nc\na\nc\n", "\(run.text)\(run.errorText)")
  }
}
