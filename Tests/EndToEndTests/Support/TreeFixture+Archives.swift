import BatchCore
import BatchEngine
import TestSupport
import Testing

/// Trees for archives, archives with an index that a separate program made, and a comparison of trees.
extension TreeFixture {
  /// Makes `src`: names of any bytes, sizes near those of blocks, links of both kinds, holes, a FIFO, empty
  /// folders, attributes, access control lists, and times with nanoseconds.
  func writeArchiveTree() throws { try copy("archive-tree") { try $0.makeArchiveTree() } }

  private func makeArchiveTree() throws {
    let made = try shell(
      #"""
      mkdir -p src/a/b src/c src/empty src/sticky
      cd src
      for i in $(seq 25); do seq $((i * 90)) >a/f$i; seq $i $((i * 50 + 900)) >a/b/g$i; done
      seq 150000 >c/big
      for n in 0 1 511 512 513 4096 65537; do head -c $n /dev/urandom >c/s$n; done
      printf x >$'new\nline'; printf y >$'not\xffutf8'; printf z >$'e\xcc\x81'; printf u >$'\xc3\xa9'
      printf e >$'esc\e[2J'; : >-rf; : >..data; : >$(printf 'n%.0s' $(seq 255))
      mkdir -p $(printf 'd%.0s' $(seq 200))/$(printf 'e%.0s' $(seq 200)); (cd d*/e* && : >leaf)
      ln -s a/f1 link; ln -s ../a c/up; ln -s nowhere dangling; ln -s $'not\xffutf8' bytes
      ln a/f2 c/hard; ln a/f2 hard2; mkfifo fifo
      truncate -s 3M hole; printf end >>hole; truncate -s 1M allhole
      setfattr -n user.note -v value a/f3; setfattr -n user.empty a/f4
      setfacl -m u:65534:r,g:65534:rw a/f5; setfacl -d -m u:65534:rx a/b
      chmod 600 a/f6; chmod 444 a/f7; chmod 755 a/f8; chmod 1777 sticky; chmod 500 c
      touch -d @1.123456789 a/f9; touch -d @-1 a/f10; touch -h -d @5.5 link; touch -d @77.000000001 empty
      touch -d @1234567890.987654321 a/b
      """#)
    try #require(made.status == 0, "\(made.errorText)")
  }

  /// Compares two trees: kind, content, and the properties in `what`: mode, time, owner, attributes
  /// (including access control lists), holes, links.
  ///
  /// - Returns: the differences.
  func differences(_ one: String, _ other: String, _ what: String = "mode time owner xattr hole link") throws
    -> String
  {
    try differences(one, [other], what)
  }

  /// The same for several trees, each of which is compared with the first one.
  func differences(
    _ one: String, _ others: [String], _ what: String = "mode time owner xattr hole link"
  ) throws -> String {
    let others = others.map { "'\($0)'" }.joined(separator: " ")
    let run = try shell(
      #"""
      python3 - '\#(what)' '\#(one)' \#(others) <<'END'
      import os, stat, sys
      what, one, *others = sys.argv[1:]
      what = what.split()
      def about(path):
          s = os.lstat(path)
          found = {'kind': stat.S_IFMT(s.st_mode)}
          if stat.S_ISLNK(s.st_mode): found['target'] = os.readlink(path)
          if stat.S_ISREG(s.st_mode): found['content'] = open(path, 'rb').read()
          if 'mode' in what: found['mode'] = oct(s.st_mode)
          if 'time' in what: found['time'] = s.st_mtime_ns
          if 'second' in what: found['time'] = s.st_mtime_ns // 10**9
          if 'owner' in what: found['owner'] = (s.st_uid, s.st_gid)
          if 'xattr' in what and not stat.S_ISLNK(s.st_mode):
              found['xattr'] = sorted((n, os.getxattr(path, n)) for n in os.listxattr(path))
          if 'hole' in what and s.st_size > 1 << 20: found['holes'] = s.st_blocks * 512 < s.st_size // 2
          if 'link' in what and not stat.S_ISDIR(s.st_mode): found['link'] = s.st_nlink
          return found
      def tree(root):
          root = os.fsencode(root)
          names = [os.path.relpath(os.path.join(f, n), root) for f, d, m in os.walk(root) for n in d + m]
          return {n: about(os.path.join(root, n)) for n in names + [b'.']}
      a = tree(one)
      for other in others:
          b, which = tree(other), others[1:] and [other]
          for name in sorted(set(a) ^ set(b)): print('only in', one if name in a else other, name)
          for name in sorted(set(a) & set(b)):
              for key in a[name]:
                  if a[name][key] != b[name][key]: print(name, key, str(a[name][key])[:60], str(b[name][key])[:60], *which)
      END
      """#
    )
    return run.text + run.errorText
  }

  /// The formats that can have our index.
  static let indexedFormats = ["tar", "tar.gz", "tar.zst", "tar.xz", "tar.lz4"]

  /// Makes `x.FORMAT` with our index from a tar in the pax format, and `x.json`, which gives the places of
  /// all parts.
  ///
  /// - Parameters:
  ///   - segment: a frame ends with the member that reaches this many bytes.
  ///   - part: larger members are cut into frames of this size.
  func writeIndexed(_ tar: String, _ format: String, segment: Int = 30_000, part: Int = 200_000) throws {
    try file("index.py", Self.indexer)
    let made = try shell("python3 index.py \(tar) \(format) \(segment) \(part)")
    try #require(made.status == 0, "\(made.errorText)")
  }

  private static let indexer = #"""
    import gzip, hashlib, json, lzma, os, shutil, struct, subprocess, sys, tarfile, zlib
    source, format, segment, part = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    plain = open(source, 'rb').read()
    def run(data, *tool): return subprocess.run(tool, input=data, stdout=subprocess.PIPE, check=True).stdout
    def zstd(data): return run(data, 'zstd', '-q', '-c', '--stream-size=%d' % len(data))
    # Each part as a frame, all made by one process.
    def files(parts, suffix, *tool):
        names = [str(number) for number in range(len(parts))]
        os.mkdir('frames')
        for name, part in zip(names, parts):
            with open('frames/' + name, 'wb') as file: file.write(part)
        subprocess.run([*tool, *names], cwd='frames', check=True)
        packed = []
        for name in names:
            with open('frames/' + name + suffix, 'rb') as file: packed.append(file.read())
        shutil.rmtree('frames')
        return packed
    compress = {'tar': list, 'tar.gz': lambda parts: [gzip.compress(part, mtime=0) for part in parts],
      'tar.zst': lambda parts: files(parts, '.zst', 'zstd', '-q'), 'tar.lz4': lambda parts: files(parts, '.lz4', 'lz4', '-q', '-m'),
      'tar.xz': lambda parts: [lzma.compress(part, preset=1) for part in parts]}[format]
    members = []
    with tarfile.open(source, errors='surrogateescape', encoding='utf-8') as tar:
        for info in tar:
            seconds, _, fraction = info.pax_headers.get('mtime', str(int(info.mtime))).partition('.')
            content = tar.extractfile(info).read() if info.isreg() else None
            members.append((info.offset, os.fsencode(info.name.rstrip('/')), b'0' if info.isreg() else info.type,
              info.size if info.isreg() else 0, int(seconds), int(fraction.ljust(9, '0')[:9]),
              None if content is None else hashlib.sha256(content).digest(), info.offset_data,
              info.offset_data - info.offset, zlib.crc32(plain[info.offset:info.offset_data])))
            end = info.offset_data + (info.size + 511) // 512 * 512 if info.isreg() and not info.issparse() else info.offset_data
    starts = [member[0] for member in members] + [end]
    frames, places, start = [], [], 0
    for number in range(len(members)):
        begin, stop = starts[number], starts[number + 1]
        if stop - begin > part:
            if start < begin: frames.append((start, begin))
            places.append((len(frames), 0))
            frames += [(at, min(stop, at + part)) for at in range(begin, stop, part)]
            start = stop
        else:
            places.append((len(frames), begin - start))
            if stop - start >= segment:
                frames.append((start, stop))
                start = stop
    if start < end: frames.append((start, end))
    out, listed = bytearray(), []
    spans = frames + [(end, end + 1024)]
    for (a, b), data in zip(spans, compress([plain[a:b].ljust(b - a, b'\0') for a, b in spans])):
        listed.append((len(out), len(data), a, b - a, zlib.crc32(data)))
        out += data
    def column(form, values): return b''.join(struct.pack('<' + form, value) for value in values)
    pages = b''
    for first in range(0, len(members), 8192):
        rows = members[first:first + 8192]
        page = struct.pack('<I', len(rows)) + column('I', [len(m[1]) for m in rows]) + b''.join(m[2] for m in rows)
        page += column('B', [m[6] is not None for m in rows])
        for form, at in ('Q', 3), ('q', 4), ('I', 5): page += column(form, [m[at] for m in rows])
        for form, at in ('I', 0), ('Q', 1): page += column(form, [place[at] for place in places[first:first + 8192]])
        pages += zstd(page + column('I', [m[8] for m in rows]) + b''.join(m[1] for m in rows))
    checks = column('I', [m[9] for m in members]) + b''.join(m[6] or b'' for m in members)
    head = b'BPIDX003' + struct.pack('<QQQ', len(members), sum(m[3] for m in members), len(listed))
    head += b''.join(struct.pack('<QQQQI', *frame) for frame in listed) + hashlib.sha256(checks).digest()
    packed, head = pages, zstd(head)
    lengths = struct.pack('<QQ', len(pages), len(head))
    packed += head + checks + lengths + hashlib.sha256(pages + head + lengths).digest()
    start, tail = len(out), []
    slices = [packed[at:at + 900] for at in range(0, len(packed), 900)]
    def skippable(magic, payload): return struct.pack('<II', magic, len(payload)) + payload
    def empty(extra): return bytes.fromhex('1f8b08040000000000ff') + struct.pack('<H', len(extra)) + extra + b'\3' + bytes(9)
    def filled(data): return data.ljust((len(data) + 511) // 512 * 512, b'\0')
    block = filled(packed) + filled(b'BPTAIL01' + struct.pack('<Q', len(packed)))
    if format in ('tar.zst', 'tar.lz4'):
        tail = [skippable(0x184D2A5A, b'BPIX\3\0' + piece) for piece in slices]
    if format == 'tar.zst':
        sizes = [(f[1], f[3]) for f in listed] + [(len(piece), 0) for piece in tail]
        tail.append(skippable(0x184D2A5E, b''.join(struct.pack('<II', *pair) for pair in sizes)
          + struct.pack('<IBI', len(sizes), 0, 0x8F92EAB1)))
    elif format == 'tar.lz4':
        tail.append(skippable(0x184D2A5B, struct.pack('<Q', start) + b'BPTAIL01'))
    elif format == 'tar.gz':
        tail = [empty(b'BP' + struct.pack('<H', len(piece)) + piece) for piece in slices]
        tail.append(empty(b'BT' + struct.pack('<HQ', 38, start) + b'BPTAIL01' + bytes(22)))
    else:
        tail = compress([block])
    open('x.' + format, 'wb').write(out + b''.join(tail))
    def of(number):
        if format == 'tar': return starts[number], starts[number + 1]
        first = places[number][0]
        last = max(f for f in range(first, len(frames)) if frames[f][0] < starts[number + 1])
        return listed[first][0], listed[last][0] + listed[last][1]
    # The start of the tail, the starts of the frames and the parts of the tail; for each member its bytes in
    # the archive, and its content in an uncompressed tar.
    json.dump({'start': start, 'frames': [f[0] for f in listed], 'tail': [start + sum(map(len, tail[:n])) for n in range(len(tail))],
      'members': [[os.fsdecode(m[1]), *of(number), m[7], min(m[7] + (m[3] if m[6] else 0), starts[number + 1])] for number, m in enumerate(members)]},
      open('x.json', 'w'))
    """#
}
