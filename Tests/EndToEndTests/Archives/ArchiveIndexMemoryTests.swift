import BatchCore
import BatchEngine
import TestSupport
import Testing

/// An index that claims to hold hundreds of megabytes of names.
@Suite("An index that needs more than --max-memory", .timeLimit(.minutes(3)), .enabled(if: Host.hasPython))
struct ArchiveIndexMemoryTests {
  private let t: TreeFixture

  init() throws { t = try TreeFixture() }

  private static let forge = #"""
    import hashlib, os, resource, struct, subprocess, sys, tarfile, zlib
    version = int(sys.argv[1])
    def zstd(data): return subprocess.run(['zstd', '-q', '-c', '--stream-size=%d' % len(data)], input=data, stdout=subprocess.PIPE, check=True).stdout
    info = tarfile.TarInfo('a'); info.size = 0
    plain = [info.tobuf(tarfile.USTAR_FORMAT) + bytes(1 << 20), bytes(1024)]
    frames = [zstd(part) for part in plain]
    listed, offset, at = [], 0, 0
    for frame, part in zip(frames, plain):
        listed.append((offset, len(frame), at, len(part), zlib.crc32(frame)))
        offset += len(frame); at += len(part)
    def column(form, values): return b''.join(struct.pack('<' + form, value) for value in values)
    # The names of each page are larger than the limit of 64 MiB.
    n, length, count, pages, sizes = 8192, 8_400, 2, b'', []
    for page in range(count):
        text = struct.pack('<I', n) + column('I', [length] * n) + b'0' * n + bytes(25 * n)
        text += column('Q', range(page * n, page * n + n)) + bytes(4 * n)
        # The noise limits the compression ratio of the names to a plausible one.
        text += os.urandom(250_000).hex().encode() + b'a' * (length * n - 500_000)
        frame = zstd(text)
        pages += frame; sizes.append((len(frame), len(text), n, 0))
    checks = bytes(4 * n * count)
    head = b'BPIDX00%d' % version + struct.pack('<QQQ', n * count, 0, len(listed))
    if version == 4: head += struct.pack('<Q', count)
    head += b''.join(struct.pack('<QQQQI', *frame) for frame in listed)
    if version == 4: head += b''.join(struct.pack('<QQII', *size) for size in sizes)
    head = zstd(head + hashlib.sha256(checks).digest())
    lengths = struct.pack('<QQ', len(pages), len(head))
    packed = pages + head + checks + lengths + hashlib.sha256(pages + head + lengths).digest()
    def skippable(magic, payload): return struct.pack('<II', magic, len(payload)) + payload
    index = skippable(0x184D2A5A, b'BPIX%c\0' % version + packed)
    table = [(frame[1], frame[3]) for frame in listed] + [(len(index), 0)]
    end = skippable(0x184D2A5E, b''.join(struct.pack('<II', *row) for row in table) + struct.pack('<IBI', len(table), 0, 0x8F92EAB1))
    open('x.tar.zst', 'wb').write(b''.join(frames) + index + end)
    """#

  @Test("is ignored with a warning, and the run stays below that memory", arguments: [3, 4])
  func leftOut(version: Int) throws {
    try t.file("forge.py", Self.forge)
    try t.file(
      "peak.py",
      """
      import os, resource, subprocess, sys
      run = subprocess.run([os.environ['BP'], *sys.argv[1:]], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
      peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
      print(run.returncode, run.stdout.count(b'\\n'), b'more memory' in run.stderr, peak < 120_000 or peak)
      """)
    let made = try t.shell("python3 forge.py \(version)")
    try #require(made.status == 0, "\(made.errorText)")
    for command in ["list", "extract -C o --no-fsync", "verify"] {
      let run = try t.shell("mkdir -p o; python3 peak.py \(command) --max-memory 64M x.tar.zst")
      let rows = command == "list" ? 1 : 0
      #expect(run.text == "0 \(rows) True True\n", "\(command): \(run.text)\(run.errorText)")
    }
  }
}
