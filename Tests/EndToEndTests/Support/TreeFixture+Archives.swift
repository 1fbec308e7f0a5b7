import BatchCore
import Testing

/// Trees for archives, archives with an index that no part of the program made, and a judge.
extension TreeFixture {
  /// Makes `src`: names of any bytes, lengths around those of blocks, links of both kinds, holes, a FIFO, empty
  /// folders, attributes and access control lists, times of nanoseconds.
  func writeArchiveTree() throws {
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

  /// Compares two trees: kind, content, and what `what` names of mode, time, owner, attributes (access control
  /// lists are among them), holes, links.
  ///
  /// - Returns: what differs, or nothing.
  func differences(_ one: String, _ other: String, _ what: String = "mode time owner xattr hole link") throws
    -> String
  {
    try shell(
      #"""
      python3 - '\#(one)' '\#(other)' '\#(what)' <<'END'
      import os, stat, sys
      one, other, what = sys.argv[1:]
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
      a, b = tree(one), tree(other)
      for name in sorted(set(a) ^ set(b)): print('only in', one if name in a else other, name)
      for name in sorted(set(a) & set(b)):
          for key in a[name]:
              if a[name][key] != b[name][key]: print(name, key, str(a[name][key])[:60], str(b[name][key])[:60])
      END
      """#
    ).text
  }

  /// Makes a `.tar.zst` with our index of a tar in the pax format.
  ///
  /// - Parameters:
  ///   - segment: a frame ends with the member that reaches this many bytes.
  ///   - part: larger members are cut into frames of this size.
  ///   - countsEnd: whether the index counts the frame of the blocks that end the archive.
  func writeIndexed(
    _ tar: String, as archive: String, segment: Int = 30_000, part: Int = 200_000, countsEnd: Bool = false
  ) throws {
    try write("index.py", Self.indexer)
    let made = try shell("python3 index.py \(tar) \(archive) \(segment) \(part) \(countsEnd ? "end" : "")")
    try #require(made.status == 0, "\(made.errorText)")
  }

  private static let indexer = #"""
    import hashlib, os, struct, subprocess, sys, tarfile
    source, target, segment, part = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    counts_end = len(sys.argv) > 5
    plain = open(source, 'rb').read()
    def zstd(data):
        return subprocess.run(['zstd', '-q', '-c', '--stream-size=%d' % len(data)], input=data,
          stdout=subprocess.PIPE, check=True).stdout
    members = []
    with tarfile.open(source, errors='surrogateescape', encoding='utf-8') as tar:
        for info in tar:
            seconds, _, fraction = info.pax_headers.get('mtime', str(int(info.mtime))).partition('.')
            content = tar.extractfile(info).read() if info.isreg() else None
            members.append((info.offset, os.fsencode(info.name.rstrip('/')), b'0' if info.isreg() else info.type,
              info.size if info.isreg() else 0, int(seconds), int(fraction.ljust(9, '0')[:9]),
              None if content is None else hashlib.sha256(content).digest()))
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
    out, table, listed = b'', [], []
    for a, b in frames + [(end, end + 1024)]:
        data = zstd(plain[a:b].ljust(b - a, b'\0'))
        listed.append((len(out), len(data), a, b - a))
        table.append((len(data), b - a))
        out += data
    if not counts_end: listed.pop()
    index = b'BPIDX001' + struct.pack('<QQQ', len(members), sum(m[3] for m in members), len(listed))
    index += b''.join(struct.pack('<QQQQ', *frame) for frame in listed)
    for m, place in zip(members, places):
        index += struct.pack('<I', len(m[1])) + m[1] + m[2]
        index += struct.pack('<QqIIQB', m[3], m[4], m[5], place[0], place[1], m[6] is not None) + (m[6] or b'')
    packed = zstd(index + hashlib.sha256(index).digest())
    for at in range(0, len(packed), 900):
        payload = b'BPIX\x01\x00' + packed[at:at + 900]
        table.append((len(payload) + 8, 0))
        out += struct.pack('<II', 0x184D2A5A, len(payload)) + payload
    body = b''.join(struct.pack('<II', *sizes) for sizes in table) + struct.pack('<IBI', len(table), 0, 0x8F92EAB1)
    open(target, 'wb').write(out + struct.pack('<II', 0x184D2A5E, len(body)) + body)
    """#
}
