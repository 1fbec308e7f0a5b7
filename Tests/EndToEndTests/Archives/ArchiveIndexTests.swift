import BatchCore
import BatchEngine
import TestSupport
import Testing

/// The index after the archive's end, read by a program that was written from its documented layout.
@Suite(.timeLimit(.minutes(3)), .enabled(if: Host.hasPython)) struct ArchiveIndexTests {
  private let t: TreeFixture

  init() throws { t = try TreeFixture() }

  /// Reads the index of `a.FORMAT` and compares it with the archive and the tree.
  private static let reader = #"""
    import hashlib, os, struct, subprocess, sys, zlib
    format = sys.argv[1]
    raw = open('a.' + format, 'rb').read()
    tools = {'tar.zst': 'zstd', 'tar.gz': 'gzip', 'tar.xz': 'xz', 'tar.lz4': 'lz4'}
    def decode(bytes, tool): return subprocess.run([tool, '-dcq'], input=bytes, stdout=subprocess.PIPE, check=True).stdout
    def block_tail(plain):
        assert plain[-512:-504] == b'BPTAIL01'
        size, = struct.unpack('<Q', plain[-504:-496])
        start = len(plain) - 512 - (size + 511) // 512 * 512
        return plain[start:start + size]
    if format == 'tar.zst':
        magic, = struct.unpack('<I', raw[-4:]); assert magic == 0x8F92EAB1
        count, = struct.unpack('<I', raw[-9:-5])
        table = len(raw) - 17 - 8 * count
        assert struct.unpack('<II', raw[table:table + 8]) == (0x184D2A5E, 8 * count + 9)
        sizes = [struct.unpack_from('<II', raw, table + 8 + 8 * n) for n in range(count)]
        assert sum(c for c, _ in sizes) == table
        start = sum(c for c, _ in sizes[:-1])
        assert struct.unpack('<I', raw[start:start + 4])[0] == 0x184D2A5A and raw[start + 8:start + 14] == b'BPIX\x04\x00'
        packed = raw[start + 14:table]
    elif format == 'tar.lz4':
        start, text = struct.unpack('<Q8s', raw[-16:]); assert text == b'BPTAIL01'
        assert raw[start + 8:start + 14] == b'BPIX\x04\x00'
        packed = raw[start + 14:-24]
    elif format == 'tar.gz':
        start, = struct.unpack('<Q', raw[-48:-40]); assert raw[-64:-62] == b'\x1f\x8b' and raw[-52:-50] == b'BT'
        packed = b''
        while start < len(raw) - 64:
            size, = struct.unpack('<H', raw[start + 14:start + 16])
            packed += raw[start + 16:start + 16 + size]
            start += 26 + size
    elif format == 'tar.xz':
        packed = block_tail(decode(raw[raw.rindex(b'\xfd7zXZ\0'):], 'xz'))
    else:
        packed = block_tail(raw)
    pages, head = struct.unpack('<QQ', packed[-48:-32])
    assert hashlib.sha256(packed[:pages + head] + packed[-48:-32]).digest() == packed[-32:]
    table, index, checks = decode(packed[:pages], 'zstd') if pages else b'', decode(packed[pages:pages + head], 'zstd'), packed[pages + head:-48]
    assert index[:8] == b'BPIDX004' and hashlib.sha256(checks).digest() == index[-32:]
    members, total, frames, page_count = struct.unpack_from('<QQQQ', index, 8)
    position = 40
    places = []
    for _ in range(frames):
        places.append(struct.unpack_from('<QQQQI', index, position)); position += 36
    plain = []
    for offset, size, at, length, check in places:
        frame = raw[offset:offset + size]
        assert zlib.crc32(frame) == check
        plain.append(decode(frame, tools[format]) if format in tools else frame)
        assert len(plain[-1]) == length and at == sum(map(len, plain[:-1]))
    sizes = [struct.unpack_from('<QQII', index, position + 24 * n) for n in range(page_count)]
    assert plain[-1] == bytes(1024) and position + 24 * page_count == len(index) - 32
    assert sum(s[0] for s in sizes) == pages and sum(s[1] for s in sizes) == len(table) and sum(s[2] for s in sizes) == members
    found = {}
    digests = checks[4 * members:]
    rows, position = [], 0
    while position < len(table):
        count, = struct.unpack_from('<I', table, position); position += 4
        columns = []
        for form in 'IcBQqIIQI':
            columns.append(struct.unpack_from('<%d%s' % (count, form), table, position)); position += count * struct.calcsize('<' + form)
        paths = []
        for size in columns[0]:
            paths.append(table[position:position + size]); position += size
        assert len(rows) % 8192 == 0
        rows += zip(paths, *columns[1:])
    assert len(rows) == members
    for number, (path, kind, has, size, seconds, nanoseconds, frame, offset, length) in enumerate(rows):
        check, = struct.unpack_from('<I', checks, 4 * number)
        assert length >= 512 and zlib.crc32(plain[frame][offset:offset + length]) == check
        digest = digests[:32] if has else None
        digests = digests[32 * has:]
        header = plain[frame][offset:offset + 512]
        assert header[257:262] == b'ustar' and offset % 512 == 0, path
        status = os.lstat(path)
        assert status.st_mtime_ns == seconds * 10**9 + nanoseconds, path
        if kind == b'0':
            content = open(path, 'rb').read()
            assert size == len(content) and digest == hashlib.sha256(content).digest(), path
        else:
            assert digest is None
        found[path] = kind
    assert digests == b'' and total == sum(os.path.getsize(p) for p in found if found[p] == b'0')
    walked = {os.path.join(f, n) for f, d, names in os.walk(b'src') for n in names + d} | {b'src'}
    assert set(found) == walked, set(found) ^ walked
    print(members, len([p for p in found if found[p] == b'1']), frames > 3)
    """#

  @Test(
    "the index has each member, its place and its digest",
    arguments: ["tar", "tar.zst", "tar.gz", "tar.xz", "tar.lz4"])
  func index(format: String) throws {
    try t.writeTexts(files: 20)
    let made = try t.shell(
      """
      { seq 100000; head -c 16M /dev/zero; seq 100000; } >src/c/huge
      ln src/c/huge src/c/twin; ln -s x src/link; mkfifo src/fifo; truncate -s 2M src/sparse
      echo x >>src/sparse; $BP archive -q \(format == "tar" ? "" : "-l 1") -o a.\(format) src
      """)
    try #require(made.status == 0, "\(made.errorText)")
    try t.file("read.py", Self.reader)
    let run = try t.shell("python3 read.py \(format)")
    #expect(run.text == "52 1 True\n", "\(run.text)\(run.errorText)")
    let read = try t.shell(
      """
      $BP list -qz a.\(format) | sed -z 's|/$||' | sort -z | cmp - <(find src -print0 | sort -z)
      $BP verify -v a.\(format) 2>&1 | grep -c "SHA-256 of the index"
      """)
    #expect(read.text == "1\n" && read.status == 0, "\(read.text)\(read.errorText)")
  }
}
