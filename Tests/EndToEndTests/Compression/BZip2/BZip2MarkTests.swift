import BatchEngine
import TestSupport
import Testing

/// The marks of bzip2 within the data of a block, and blocks at wrong places, which are made by hand.
@Suite("Marks in .bz2 files", .timeLimit(.minutes(10)), .enabled(if: Host.hasPython)) struct BZip2MarkTests {
  private let t: TreeFixture

  init() throws { t = try TreeFixture() }

  private static let craft = #"""
    import bz2, os, random, subprocess, sys, zlib
    BLOCK, END = 0x314159265359, 0x177245385090

    def bits(data): return bin(int.from_bytes(b'\1' + data, 'big'))[3:]
    def number(value, count): return format(value, '0%db' % count)

    # The CRC-32 of bzip2 is that of zlib with the bits of each byte, and of the result, in reverse order.
    turned = bytes(int(number(byte, 8)[::-1], 2) for byte in range(256))
    def crc(data): return int(number(zlib.crc32(data.translate(turned)), 32)[::-1], 2)

    def blocks(data):
        text, mark = bits(data), number(BLOCK, 48)
        starts, at = [], text.find(mark)
        while at >= 0:
            starts.append(at)
            at = text.find(mark, at + 48)
        return [text[a:b] for a, b in zip(starts, starts[1:] + [text.rfind(number(END, 48))])]

    def combined(parts):
        c = 0
        for part in parts: c = ((c << 1 | c >> 31) & 0xFFFFFFFF) ^ int(part[48:80], 2)
        return c

    def stream(parts, level=1, check=None):
        text = bits(b'BZh%d' % level) + ''.join(parts) + number(END, 48)
        text += number(combined(parts) if check is None else check, 32)
        text += '0' * (-len(text) % 8)
        return int(text, 2).to_bytes(len(text) // 8, 'big')

    # A block of symbols from 2 to 253, of which each has a code of 8 bits: its own number. With codes of 20 bits, a
    # block of the same size has fewer symbols, and is decoded faster.
    def block(symbols, wrong=0, isWide=False):
        out, order = [], list(range(256))
        for s in symbols:
            order.insert(0, order.pop(s - 1))
            out.append(order[0])
        starts, total = {}, 0
        for byte in range(256):
            starts[byte] = total
            total += out.count(byte)
        links = [0] * len(out)
        for i, byte in enumerate(out):
            links[starts[byte]] = i
            starts[byte] += 1
        content, at = bytearray(), links[5]
        # No symbol repeats the byte before it, so there are no runs except by chance of the order.
        for _ in out:
            content.append(out[at])
            at = links[at]
        plain, run, last = bytearray(), 0, -1
        for byte in content:
            if run == 4:
                plain += bytes([last]) * byte
                run, last = 0, -1
                continue
            run = run + 1 if byte == last else 1
            last = byte
            plain.append(byte)
        groups = (len(symbols) + 50) // 50
        text = number(BLOCK, 48) + number(crc(plain) ^ wrong, 32) + '0' + number(5, 24) + '1' * 272
        text += number(2, 3) + number(groups, 15) + '0' * groups
        if isWide: return text + 2 * (number(20, 5) + '0' * 258) + ''.join(number(s, 20) for s in symbols + [257])
        text += 2 * (number(8, 5) + '0' * 254 + '100000')
        return text + ''.join(number(s, 8) for s in symbols) + '1' * 9

    def symbols(inside):
        s = [random.randrange(2, 254) for _ in range(3000)]
        for at in (700, 706 if len(inside) == 6 else 900, 2500): s[at:at + len(inside)] = inside
        return s

    random.seed(int(sys.argv[1]))
    # Without one of these 12 blocks of 98 kB, a file is still larger than 1 MiB, so that several lanes decode it.
    B = 3 * [block(random.choices(range(2, 254), k=39000), isWide=True) for _ in range(4)]
    two = blocks(bz2.compress(random.randbytes(250000), 2))
    mark, end = BLOCK.to_bytes(6, 'big'), END.to_bytes(6, 'big')
    files = {'good': stream(B), 'swapped': stream(B[:3] + [B[4], B[3]] + B[5:]), 'levels': stream(B[:5] + two + B[5:], 9)}
    c = combined(B)
    files['swapped-check'] = stream(B[:3] + [B[4], B[3]] + B[5:], 1, c)
    for at in (0, 6, len(B) - 1): files['removed%d' % at] = stream(B[:at] + B[at + 1:], 1, c)
    files['twice'] = stream(B[:7] + B[6:], 1, c)
    files['too-large'] = stream(B[:7] + two[:1] + B[7:])
    files['gap'] = stream(B[:6] + [B[6] + '0101'] + B[7:])
    files['short'] = stream(B[:6] + [B[6][:-5]] + B[7:])
    files['joined'] = stream(B) + bz2.compress(b'') + stream(two, 2) + stream(B[:2])
    files['joined-cut'] = files['joined'][:-9]
    for name, inside in (('block', mark), ('end', end), ('header', b'BZh3' + mark), ('stream', end + b'\x09' * 4 + b'BZh3' + mark)):
        # One place is enough outside of a campaign.
        for at in (7,) if sys.argv[2] == 'few' else (0, 1, 7, len(B)):
            files['%s%d' % (name, at)] = stream(B[:at] + [block(symbols(inside))] + B[at:])
        files[name + '-crc'] = stream(B[:7] + [block(symbols(inside), 1)] + B[7:])

    def run(*command):
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        return done.returncode, done.stdout, done.stderr
    ways = [('cat', jobs) for jobs in ('1', '2', '7', '32')]
    for number, (name, data) in enumerate(files.items()):
        open('x.bz2', 'wb').write(data)
        stock = run('bzip2', '-dc', 'x.bz2')
        read = {}
        # Outside of a campaign, two of the three other numbers test each file by turns.
        others = [jobs for turn, jobs in enumerate(('2', '7', '32')) if sys.argv[2] != 'few' or turn != number % 3]
        for command, jobs in ways + [('test', jobs) for jobs in ['1'] + others]:
            read[command, jobs] = run(os.environ['BP'], command, '-q', '-j', jobs, 'x.bz2')
            if read[command, jobs] != read[command, '1']: print(name, 'differs in', command, 'at', jobs)
        if (stock[0] == 0) != (read['test', '1'][0] == 0) or stock[0] == 0 and stock[1] != read['cat', '1'][1]:
            print(name, 'differs from bzip2', stock[0], read['test', '1'])
    print(len(files))
    """#

  @Test("decide nothing that the blocks and their CRC-32 do not confirm")
  func crafted() throws {
    try t.file("craft.py", Self.craft)
    let run = try t.shell("python3 craft.py 1 \(Campaign.isFull ? "all" : "few")")
    #expect(
      run.text == "\(Campaign.isFull ? 33 : 21)\n" && run.errorText.isEmpty, "\(run.text)\(run.errorText)")
  }
}
