import BatchEngine
import TestSupport
import Testing

/// `duplicates --folders`.
@Suite(.timeLimit(.minutes(10))) struct DuplicateFolderTests {
  private let t: TreeFixture

  init() throws { t = try TreeFixture() }

  /// Makes random trees, in which parts are copies, hard links or changed copies of others, and compares the groups with those of
  /// a model that compares whole trees.
  private static let model = #"""
    import base64, json, os, random, shutil, stat, subprocess, sys
    BP = os.environ['BP']
    sys.stdout.reconfigure(errors='backslashreplace')

    def content(rng):
        kind = rng.randrange(8)
        if kind == 0: return b''
        if kind < 6: return rng.choice([b'a', b'b', b'cc', b'dd', b'e' * 300])
        # The same beginning and end.
        return b'x' * 9000 + rng.choice([b'y', b'z']) + b'x' * 9000

    def fill(rng, folder, depth):
        for name in rng.sample(['a', 'b', 'c', 'd', '\udcff', 'skip'], rng.randrange(1, 5)):
            path, kind = folder + '/' + name, rng.randrange(20)
            if kind < 10 and depth < 4:
                os.mkdir(path)
                fill(rng, path, depth + 1)
            elif kind < 16: open(path, 'wb').write(content(rng))
            elif kind < 19: os.symlink(rng.choice(['a', 'b', 'nowhere']), path)
            else: os.mkfifo(path)

    def entries(top):
        return [os.path.join(folder, name) for folder, folders, files in sorted(os.walk(top)) for name in sorted(folders + files)]

    def change(rng, top):
        paths = entries(top)
        if not paths: return
        path = rng.choice(paths)
        if os.path.islink(path) or not os.path.isdir(path):
            os.unlink(path)
            if rng.randrange(2): open(path, 'wb').write(content(rng))
        elif rng.randrange(2): shutil.rmtree(path)
        else: os.rename(path, f'{path}{rng.randrange(10 ** 6)}')

    def make(rng, top):
        os.mkdir(top)
        fill(rng, top, 0)
        for number in range(rng.randrange(2, 7)):
            folders = [top] + [path for path in entries(top) if os.path.isdir(path) and not os.path.islink(path)]
            source, place = rng.choice(folders), rng.choice(folders)
            copy = f'{top}.copy'
            subprocess.run(['cp', rng.choice(['-a', '-a', '-al']), source, copy], check=True)
            for _ in range(rng.choice([0, 0, 0, 1, 2])): change(rng, copy)
            os.rename(copy, f'{place}/copy{number}')

    class Folder:
        def __init__(self, path, parent):
            self.path, self.parent, self.items, self.size, self.files = path, parent, [], 0, 0

    class Model:
        def __init__(self, operands, minimum, excluded):
            self.folders, self.files, self.seen, self.excluded = [], [], set(), excluded
            for operand in operands: self.walk(operand, None)
            self.list(max(1, minimum))

        def walk(self, path, parent):
            folder = Folder(path, parent)
            self.folders.append(folder)
            below = []
            for name in sorted(os.listdir(os.fsencode(path))):
                name = os.fsdecode(name)
                if name in self.excluded: continue
                at = path + '/' + name
                status = os.lstat(at)
                if stat.S_ISDIR(status.st_mode): below.append((name, at))
                elif stat.S_ISLNK(status.st_mode):
                    folder.items.append((name, 'l', os.readlink(at), os.readlink(at)))
                elif stat.S_ISREG(status.st_mode):
                    data = open(at, 'rb').read()
                    folder.items.append((name, 'f', data, status.st_ino if data else 0))
                    folder.size += len(data)
                    folder.files += 1
                    if data and status.st_ino not in self.seen:
                        self.seen.add(status.st_ino)
                        self.files.append((at, data, folder))
                # A special file is equal to no other.
                else: folder.items.append((name, 's', at, at))
            for name, at in below:
                child = self.walk(at, folder)
                folder.items.append((name, 'd', child.tree, child.names))
                folder.size += child.size
                folder.files += child.files
            folder.items.sort()
            folder.tree = tuple(item[:3] for item in folder.items)
            folder.names = tuple(item[:2] + item[3:] for item in folder.items)
            return folder

        def covered(self, folder):
            while folder is not None:
                if folder in self.listed: return True
                folder = folder.parent
            return False

        def list(self, minimum):
            trees = {}
            for folder in self.folders: trees.setdefault(folder.tree, []).append(folder)
            self.listed, groups = set(), []
            # A tree that contains another one has a longer text.
            for tree, members in sorted(trees.items(), key=lambda pair: -len(repr(pair[0]))):
                kept = list({folder.names: folder for folder in reversed(members)}.values())[::-1]
                if len(kept) < 2 or kept[0].size < minimum: continue
                if all(self.covered(folder.parent) for folder in kept): continue
                self.listed.update(kept)
                groups.append(kept)
            order = {folder: place for place, folder in enumerate(self.folders)}
            for group in groups: group.sort(key=order.get)
            groups.sort(key=lambda group: (-group[0].size * (len(group) - 1), order[group[0]]))
            self.folder_groups = [(g[0].size, g[0].files, [folder.path for folder in g]) for g in groups]
            contents = {}
            for place, (path, data, folder) in enumerate(self.files): contents.setdefault(data, []).append((place, path, folder))
            found = [(len(data), files) for data, files in contents.items() if len(files) > 1 and len(data) >= minimum]
            found = [(size, files) for size, files in found if not all(self.covered(folder) for _, _, folder in files)]
            found.sort(key=lambda group: (-group[0] * (len(group[1]) - 1), group[1][0][0]))
            self.file_groups = [(size, [path for _, path, _ in files]) for size, files in found]

    def name(entry): return entry['path'] if 'path' in entry else os.fsdecode(base64.b64decode(entry['path_b64']))

    def run(operands, options):
        run = subprocess.run([BP, 'duplicates', '--folders', '--json', *options, *operands], stdout=subprocess.PIPE)
        folders, files = [], []
        for line in run.stdout.splitlines():
            row = json.loads(line)
            if row['type'] == 'duplicate_folders': folders.append((row['size'], row['count'], [name(f) for f in row['folders']]))
            if row['type'] == 'duplicates': files.append((row['size'], [name(f) for f in row['files']]))
        assert run.returncode == 0 and row['type'] == 'summary' and row['complete']
        assert row['seen'] == row['done'] + row['failed'] + row['skipped'], row
        assert row['folder_groups'] == len(folders) and row['groups'] == len(files), row
        return folders, files

    count, seed, found, covering = int(sys.argv[1]), int(sys.argv[2]), 0, 0
    for number in range(count):
        rng = random.Random(seed * 1000003 + number)
        top = f't{number}'
        make(rng, top)
        minimum, excluded = rng.choice([0, 0, 2, 2, 301, 18001]), rng.choice([[], [], ['skip']])
        below = sorted(path for path in entries(top) if os.path.isdir(path) and not os.path.islink(path))
        operands = rng.choice([[top], [top], [top, rng.choice(below or [top])], below[:2] or [top]])
        options = ['-q'] + (['--min-size', str(minimum)] if minimum else []) + [f'--exclude={name}' for name in excluded]
        model = Model(operands, minimum, excluded)
        for concurrency in ['1', rng.choice(['2', '3', '8'])]:
            folders, files = run(operands, options + ['-j', concurrency] + rng.choice([[], ['--stride', '1']]))
            if folders != model.folder_groups or files != model.file_groups:
                print(f'tree {number} of seed {seed} differs: {operands} {options} -j {concurrency}')
                print(folders, model.folder_groups, files, model.file_groups, sep='\n')
                sys.exit(1)
        found += len(folders)
        covering += any(model.covered(folder.parent) for folder in model.folders)
        shutil.rmtree(top)
    assert found > count // 2 and covering > count // 8, (found, covering)
    print('equal')
    """#

  @Test("gives the groups of a model that compares whole trees", .enabled(if: Host.hasPython))
  func model() throws {
    try t.file("model.py", Self.model)
    let seed = Campaign.isFull ? Int.random(in: 0...1_000_000) : 5
    let run = try t.shell("python3 model.py \(Campaign.isFull ? 200 : 20) \(seed)", seconds: 500)
    #expect(run.text == "equal\n", "seed \(seed): \(run.text)\(run.errorText)")
  }

  /// Two equal folders, which contain equal folders and files that have further copies elsewhere.
  private func makeTree() throws {
    let made = try t.shell(
      """
      mkdir -p p/a/sub p/a/empty p/c
      seq 1000 >p/a/big; seq 50 >p/a/sub/one; : >p/a/sub/none; ln -s big p/a/link
      cp -r p/a p/b; cp -r p/a/sub p/c/sub; cp p/a/big p/c/alone; seq 60 >p/c/other
      """)
    try #require(made.status == 0, "\(made.errorText)")
  }

  @Test("prints a folder, or a file, that lies in a folder of a group only if it has a copy elsewhere")
  func nested() throws {
    try makeTree()
    let run = try t.batchproc("duplicates", "--folders", "p")
    let expected = """
      2 folders of 3.9 KiB in 3 files:
        p/a/
        p/b/
      3 folders of 141 B in 2 files:
        p/a/sub/
        p/b/sub/
        p/c/sub/
      3 files of 3.8 KiB:
        p/a/big
        p/b/big
        p/c/alone

      """
    #expect(run.status == 0 && run.text == expected, "\(run.text)\(run.errorText)")
    #expect(
      run.errorText.contains("2 folder groups, 3 surplus folders, 1 group, 2 surplus files"),
      "\(run.errorText)")
    try t.shell("rm -r p/c")
    let rest = try t.shell(
      "$BP duplicates --folders -q --format fdupes p; $BP duplicates --folders -q -z p | tr '\\0' ,")
    #expect(rest.text == "p/a/\np/b/\n\np/a/,p/b/,,", "\(rest.text)")
  }

  @Test("compares files below the minimum size, and only in folders with equal names and sizes")
  func smallFiles() throws {
    try makeTree()
    let run = try t.shell(
      "$BP duplicates --folders -q --min-size 1k p; printf 51 >>p/b/sub/one; printf 15 >>p/a/sub/one")
    #expect(run.text.hasPrefix("2 folders of 3.9 KiB in 3 files:\n  p/a/\n  p/b/\n3 files"), "\(run.text)")
    // Both files have the same size, and other bytes.
    let changed = try t.shell("$BP duplicates --folders -q --min-size 1k p")
    #expect(changed.text == "3 files of 3.8 KiB:\n  p/a/big\n  p/b/big\n  p/c/alone\n", "\(changed.text)")
  }

  @Test("reads no file whose folder can be equal to no other", .enabled(if: Host.canTrace))
  func reads() throws {
    try makeTree()
    let run = try t.shell(
      """
      mkdir q r; seq 9 >q/x; seq 9 >r/y; seq 9 >q/z; ln -s x q/l
      strace -qq -f -o trace -e trace=openat,readlinkat $BP duplicates --folders -q --min-size 1k q r p
      grep -c -e '"[xyzl]"' trace; grep -c '"other"' trace; grep -c -e '"one"' -e '"link"' trace
      """)
    #expect(run.text.hasSuffix("\n0\n0\n4\n"), "\(run.text)\(run.errorText)")
  }

  @Test(
    "takes a folder with something unreadable as equal to no other, and the folders above it",
    .enabled(if: Host.canChangeUser))
  func unreadable() throws {
    try makeTree()
    let run = try t.shell(
      """
      chmod -R a+rX .; as="setpriv --reuid=65534 --regid=65534 --clear-groups $BP duplicates --folders -q --format fdupes p"
      chmod 0 p/b/sub/one; $as; echo $?; chmod 644 p/b/sub/one; chmod 0 p/a/empty; $as; echo $?
      chmod 755 p/a/empty; rmdir p/b/empty; mkfifo p/b/empty; $as; echo $?
      """)
    let without = "p/a/sub/\np/c/sub/\n\n"
    let files = "p/a/big\np/b/big\np/c/alone\n\n"
    let all = "p/a/sub/\np/b/sub/\np/c/sub/\n\n"
    #expect(
      run.text == "\(without)\(files)3\n\(all)\(files)3\n\(all)\(files)0\n", "\(run.text)\(run.errorText)")
  }

  @Test("takes folders whose files are hard links of each other as one folder")
  func hardLinks() throws {
    try makeTree()
    let run = try t.shell(
      "rm -r p/c; cp -al p/b p/d; cp -a p/d/. p/e; $BP duplicates --folders -q --format fdupes p ./p")
    #expect(run.text == "p/a/\np/b/\np/e/\n\n", "\(run.text)")
    let linked = try t.shell("rm -r p/a p/e; $BP duplicates --folders -q p p/d")
    #expect(linked.text.isEmpty, "\(linked.text)")
  }

  @Test("judges folders by what filters leave")
  func filters() throws {
    try makeTree()
    let run = try t.shell(
      "echo more >p/b/more.log; $BP duplicates -q --folders --exclude '*.log' --format fdupes p")
    #expect(run.text.hasPrefix("p/a/\np/b/\n\n"), "\(run.text)")
    #expect(try t.batchproc("duplicates", "-q", "--folders", "p").text.contains("p/b/\n") == false)
  }

  @Test("finds equal folders that are deep, and those of several paths")
  func deep() throws {
    let run = try t.shell(
      """
      python3 -c "
      import os
      for top in 'xy':
          os.mkdir(top); os.chdir(top)
          for level in range(600): os.mkdir('d'); os.chdir('d')
          open('f', 'w').write('deep')
          for level in range(601): os.chdir('..')"
      $BP duplicates --folders -q x y; $BP duplicates --folders -q --format fdupes x/. y/d | head -c 40 | tr '\\n' ' '
      """)
    #expect(run.text.hasPrefix("2 folders of 4 B in 1 file:\n  x/\n  y/\n"), "\(run.text.prefix(300))")
    #expect(run.text.hasSuffix("x/./d/ y/d/  "), "\(run.text.suffix(300))")
  }

  @Test("refuses --link, and says what to type")
  func refused() throws {
    try makeTree()
    let run = try t.shell("$BP duplicates --folders --link hard p")
    #expect(
      run.status == 64 && run.text.isEmpty && run.errorText.contains("Type '--link hard' alone."),
      "\(run.errorText)")
    #expect(try t.path("p/a/big").status().linkCount == 1)
  }
}
