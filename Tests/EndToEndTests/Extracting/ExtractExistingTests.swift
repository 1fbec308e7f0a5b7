import BatchEngine
import TestSupport
import Testing

/// Archives that contain names several times, extracted into folders that are not empty.
@Suite("Without --force an extraction", .enabled(if: Host.hasPython), .timeLimit(.minutes(5)))
struct ExtractExistingTests {
  private let t: TreeFixture

  init() throws { t = try TreeFixture() }

  /// Makes archives, extracts them in all ways into copies of a folder, and prints what is lost of the folder.
  private static let script = #"""
    import io, os, random, shutil, subprocess, sys, tarfile
    program, first, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    # Another process for each archive would take longer.
    make_index = compile(open('index.py').read(), 'index.py', 'exec')
    names = ['a', 'a/x', 'a/x/z', 'a/y', 'b', 'b/x']
    ways = [[], ['-k'], ['--keep-going'], ['--overwrite', 'newer']]

    def write(members):
        tar = tarfile.open('x.tar', 'w', format=tarfile.PAX_FORMAT)
        for kind, name, value in members:
            info = tarfile.TarInfo(name); info.mtime = 1000000; info.mode = 0o755; info.linkname = value
            info.type = {'f': b'0', 'h': b'1', 'l': b'2', 'd': b'5', 'p': b'6'}[kind]
            if kind == 'f': info.linkname = ''; info.size = len(value)
            tar.addfile(info, io.BytesIO(value.encode() if kind == 'f' else b''))
        tar.close()

    def prepare(entries):
        shutil.rmtree('old', ignore_errors=True); os.mkdir('old')
        for kind, name in entries:
            path = 'old/' + name
            try:
                os.makedirs(os.path.dirname(path), exist_ok=True)
                if kind == 'd': os.makedirs(path, exist_ok=True)
                elif kind == 'l': os.symlink('nowhere', path)
                else: open(path, 'x').write('' if kind == 'e' else 'old ' + name)
            except OSError: pass

    def state(root):
        found = {}
        for folder, folders, files in os.walk(root):
            for name in folders + files:
                path = os.path.join(folder, name)
                found[os.path.relpath(path, root)] = (
                    'l ' + os.readlink(path) if os.path.islink(path) else 'd' if os.path.isdir(path)
                    else 'f ' + open(path).read() if os.path.isfile(path) else 'other')
        return found

    def check(label, members, entries, ways=ways):
        write(members); prepare(entries)
        before = state('old')
        sys.argv = ['index.py', 'x.tar', 'tar.zst', '1', '300000']
        exec(make_index, {'__name__': '__main__'})
        for archive in ['x.tar', '-', 'x.tar.zst']:
            for options in ways:
                shutil.rmtree('out', ignore_errors=True); shutil.copytree('old', 'out', symlinks=True)
                run = subprocess.run([program, 'extract', '-q', '-j', '4', '-C', 'out', *options, archive],
                    stdin=open('x.tar'), stderr=subprocess.PIPE)
                after = state('out')
                lost = [name for name in before if after.get(name) != before[name]]
                if lost or run.returncode not in (0, 1, 3):
                    print(label, archive, options, run.returncode, lost, str(members)[:300], entries, run.stderr[:300])

    under = [('f', 'd/x', '1'), ('f', 'd', 'NEW')]
    check('file', under, [('f', 'd')])
    check('link', under, [('l', 'd')])
    check('pipe', [('f', 'd/x', '1'), ('p', 'd', '')], [('f', 'd')])
    check('again', [('d', 'd', ''), ('f', 'd', 'NEW'), ('f', 'd', 'NEWER')], [('f', 'd')])
    check('refused', [('f', 'e', '1'), ('f', 'e/f', '2'), ('f', 'x', '3'), ('f', 'q/r', '4'), ('d', 'e', ''), ('f', 'e/x', 'NEW')],
        [('f', 'e/x')])
    check('itself', [('f', 'e', '1'), ('d', 'e', ''), ('h', 'e/a', 'e/a'), ('f', 'e/a', 'NEW')], [('f', 'e/a')])

    for seed in range(first, first + count):
        number = random.Random(seed)
        def member():
            kind = number.choice('ffffdddllhhp')
            value = number.choice(names) if kind in 'lh' else ''
            if kind == 'f': value = number.choice(['', 'new', 'newer', 'n' * 1100000 if number.random() < 0.1 else 'n'])
            return kind, number.choice(names), value
        check(seed, [member() for _ in range(number.randint(2, 9))],
            [(number.choice('fffedl'), number.choice(names)) for _ in range(number.randint(1, 4))],
            [number.choice(ways)])
    """#

  @Test("never loses what existed before, whatever names the archive repeats")
  func nothingIsLost() throws {
    try t.file("existing.py", Self.script)
    try t.shell("printf x >f; tar cf x.tar f; rm f")
    try t.writeIndexed("x.tar", "tar.zst")
    let cases = Campaign.isFull ? 1000 : 10
    let run = try t.shell("python3 existing.py \"$BP\" 0 \(cases)", seconds: 280)
    #expect(run.status == 0 && run.text.isEmpty, "\(run.text.prefix(2000))\(run.errorText)")
  }

  @Test("names the damage of a large member whose file is kept", arguments: ["1", "4"])
  func keptAndCut(jobs: String) throws {
    let run = try t.shell(
      """
      mkdir t out; head -c 3000000 /dev/urandom >t/large; touch -d @1000 t/large; tar czf x.tgz t; cp -r t out
      head -c 2000000 x.tgz >cut.tgz; $BP extract -j \(jobs) --overwrite newer -C out cut.tgz; echo $?; cmp t/large out/t/large
      """)
    #expect(run.text == "5\n" && run.errorText.contains(" s; 1 failed\n"), "\(run.text)\(run.errorText)")
    #expect(run.errorText.contains("truncated") || run.errorText.contains("damaged"), "\(run.errorText)")
  }
}
