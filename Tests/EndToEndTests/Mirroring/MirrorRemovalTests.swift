import BatchEngine
import TestSupport
import Testing

/// `mirror --delete` removes what the source does not have, and nothing else.
@Suite(.timeLimit(.minutes(4))) struct MirrorRemovalTests {
  private let t: TreeFixture

  init() throws { t = try TreeFixture() }

  @Test("what is missing in the source goes, links are not followed, and a dry run shows it")
  func removes() throws {
    let run = try t.shell(
      """
      mkdir -p src/d out; for n in $(seq 9); do echo $n >src/d/f$n; done; echo safe >out/safe; "$BP" mirror -q src dst
      mkdir -p dst/src/gone/deep; echo 1 >dst/src/gone/deep/f; ln -s "$PWD/out" dst/src/gone/link; ln -s "$PWD/out" dst/src/link; mkfifo dst/src/d/p
      echo other >dst/beside; $BP mirror --delete --dry-run src dst 2>/dev/null; find dst | wc -l
      "$BP" mirror --delete -v src dst 2>&1 | grep -v ^mirrored; rsync -anHAXS --delete --itemize-changes src dst/; cat out/safe dst/beside
      """)
    let removed = """
      delete src/link
      delete src/gone/link
      delete src/gone/deep/f
      delete src/gone/deep
      delete src/gone
      delete src/d/p

      """
    #expect(
      Set(run.text.split(separator: "\n")).isSuperset(of: Set(removed.split(separator: "\n"))),
      "\(run.text)\(run.errorText)")
    #expect(run.text.contains("\n19\n") && run.text.hasSuffix("safe\nother\n"), "\(run.text)\(run.errorText)")
    #expect(
      run.text.split(separator: "\n").count { $0.hasPrefix("delete ") } == 12 && !run.text.contains("rsync"),
      "\(run.text)\(run.errorText)")
  }

  @Test(
    "nothing is removed if that may be a mistake",
    arguments: [
      ("rm -rf src/*", "the source is empty"),
      ("rm src/d/f[1-6]", "more than half"),
      ("mv src away; mkdir src", "the source is empty"),
      ("rm src/d/f1; chmod 0 src/d", "could not be read"),
      ("rm src/d/f1; mkfifo x; mkdir src/deny; chmod 0 src/deny", "could not be read"),
    ])
  func refuses(mistake: (script: String, reason: String)) throws {
    let run = try t.shell(
      """
      mkdir -p src/d; for n in $(seq 9); do echo $n >src/d/f$n; done; "$BP" mirror -q src/ dst; \(mistake.script)
      [ $(id -u) = 0 ] && chown -R 1001 . && u='setpriv --reuid=1001 --regid=1001 --clear-groups'
      $u "$BP" mirror -q --delete src/ dst 2>errors; echo $?; grep -c '\(mistake.reason)' errors; find dst -type f | wc -l
      """)
    #expect(run.text == "1\n1\n9\n", "\(run.text)\(run.errorText)")
  }

  @Test("--max-delete allows a number and refuses more")
  func limit() throws {
    let run = try t.shell(
      """
      mkdir src; for n in $(seq 9); do echo $n >src/f$n; done; "$BP" mirror -q src/ dst; rm src/f[1-6]
      $BP mirror -q --delete --max-delete 5 src/ dst 2>errors; echo $?; grep -c 'more than 5' errors; ls dst | wc -l
      $BP mirror -q --delete --max-delete 6 src/ dst; echo $?; ls dst | wc -l; "$BP" mirror -q --max-delete 6 src/ dst; echo $?
      """)
    #expect(run.text == "1\n1\n9\n0\n3\n64\n", "\(run.text)\(run.errorText)")
  }

  @Test("names that a filter leaves out are protected unless --delete-excluded is given")
  func filters() throws {
    let run = try t.shell(
      """
      mkdir -p src/d src/keep; for n in $(seq 9); do echo $n >src/d/f$n; done; "$BP" mirror -q src/ dst
      mkdir -p dst/old/keep dst/keep; echo 1 >dst/old/keep/x; echo 1 >dst/keep/y; echo 1 >dst/d/a.log; echo 1 >dst/old/z
      "$BP" mirror -q --delete --exclude keep --exclude '*.log' src/ dst; echo $?; (cd dst; find . -type f ! -name 'f*' | sort)
      $BP mirror -q --delete --delete-excluded --exclude keep --exclude '*.log' src/ dst; echo $?; (cd dst; find . -type f ! -name 'f*' | sort); ls dst
      """)
    #expect(
      run.text == "0\n./d/a.log\n./keep/y\n./old/keep/x\n0\nd\n", "\(run.text)\(run.errorText)")
  }

  @Test("a file takes the place of a folder, or the reverse, only with --delete; links lead nowhere")
  func kinds() throws {
    let run = try t.shell(
      """
      mkdir -p src/one/in out; echo 1 >src/one/in/f; echo 2 >src/two; for n in $(seq 9); do echo $n >src/f$n; done; echo safe >out/f; cp -a src dst
      rm -rf dst/one; ln -s "$PWD/out" dst/one; rm dst/two; mkdir dst/two; echo 3 >dst/two/x
      "$BP" mirror -q src/ dst 2>errors; echo $?; grep -c 'a run with --delete' errors; ls out
      "$BP" mirror -q --delete src/ dst; echo $?; rsync -anHAXS --delete --itemize-changes src/ dst/; cat out/f
      """)
    #expect(run.text == "3\n4\nf\n0\nsafe\n", "\(run.text)\(run.errorText)")
  }

  @Test("a file system that is mounted in the target is not removed", .enabled(if: Host.canMount))
  func mounted() throws {
    let run = try t.shell(
      """
      cat >go <<'E'
      mkdir -p src dst/gone/m dst/top; for n in $(seq 9); do echo $n >src/f$n; done
      mount -t tmpfs t dst/gone/m; mount -t tmpfs t dst/top; echo 1 >dst/gone/m/x; echo 2 >dst/top/y; echo 3 >dst/gone/z
      "$BP" mirror -q --delete src/ dst; cat dst/gone/m/x dst/top/y; ls dst/gone
      E
      unshare -m --propagation private bash go
      """)
    #expect(run.text == "1\n2\nm\n", "\(run.text)\(run.errorText)")
  }

  /// Makes random pairs of trees, mirrors each, and compares the result with a model.
  private static let model = #"""
    import os, random, shutil, subprocess, sys
    seed, count, binary = int(sys.argv[1]), int(sys.argv[2]), os.environ["BP"]
    names = [b"a", b"b", b"c", b"d.x", b"e.x", b"\xff", b"n\nl"]

    def grow(dice, depth=0):
        tree = {}
        for name in dice.sample(names, dice.randrange(len(names))):
            kind = dice.randrange(6)
            if kind < 2 and depth < 3:
                tree[name] = grow(dice, depth + 1)
            elif kind == 2:
                tree[name] = ("link", dice.choice([b"a", b"../b", b"/", b"c/d.x"]))
            else:
                tree[name] = ("file", b"%d" % dice.randrange(4) * dice.randrange(4), dice.randrange(3))
        return tree

    def write(tree, path):
        os.mkdir(path)
        for name, entry in tree.items():
            place = os.path.join(path, name)
            if isinstance(entry, dict):
                write(entry, place)
            elif entry[0] == "link":
                os.symlink(entry[1], place)
            else:
                with open(place, "wb") as file:
                    file.write(entry[1])
                os.utime(place, (10**9 + entry[2], 10**9 + entry[2]))

    def read(path):
        tree = {}
        for name in os.listdir(path):
            place = os.path.join(path, name)
            if os.path.islink(place):
                tree[name] = ("link", os.readlink(place))
            elif os.path.isdir(place):
                tree[name] = read(place)
            else:
                tree[name] = ("file", open(place, "rb").read(), int(os.stat(place).st_mtime) - 10**9)
        return tree

    def is_excluded(name, filtered):
        return filtered and name.endswith(b".x")

    def expect(source, target, filtered, excluded):
        result = {}
        for name in set(source) | set(target):
            there, here = source.get(name), target.get(name)
            if is_excluded(name, filtered):
                if here is not None and not excluded:
                    result[name] = here
            elif there is not None:
                if isinstance(there, dict):
                    result[name] = expect(there, here if isinstance(here, dict) else {}, filtered, excluded)
                else:
                    result[name] = there
            elif isinstance(here, dict) and filtered and not excluded:
                kept = expect({}, here, filtered, excluded)
                if kept:
                    result[name] = kept
        return result

    def has_protected(tree, filtered, excluded):
        return filtered and not excluded and any(
            is_excluded(name, filtered) or isinstance(entry, dict) and has_protected(entry, filtered, excluded) for name, entry in tree.items())

    def clashes(source, target, filtered, excluded):
        """Whether a file would replace a folder that has something that is protected."""
        for name, there in source.items():
            here = target.get(name)
            if is_excluded(name, filtered) or not isinstance(here, dict):
                continue
            if not isinstance(there, dict):
                if has_protected(here, filtered, excluded):
                    return True
            elif clashes(there, here, filtered, excluded):
                return True
        return False

    done = 0
    for number in range(seed, seed + count):
        dice = random.Random(number)
        source, target = grow(dice), grow(dice)
        source[b"z"] = ("file", b"", 0)
        filtered, excluded = dice.randrange(2), dice.randrange(2)
        shutil.rmtree("w", ignore_errors=True)
        os.mkdir("w")
        write(source, b"w/src")
        write(target, b"w/dst")
        os.mkdir("w/out")
        command = [binary, "mirror", "-q", "--no-fsync", "--delete", "--max-delete", "100000", "-j", str(dice.choice([1, 2, 7]))]
        command += ["--exclude", "*.x"] if filtered else []
        command += ["--delete-excluded"] if excluded else []
        before = read("w/src".encode())
        ended = subprocess.run(command + ["w/src/", "w/dst"], capture_output=True)
        expected = expect(source, target, filtered, excluded)
        found = read(b"w/dst")
        if clashes(source, target, filtered, excluded):
            expected = found if ended.returncode == 3 else None
        elif ended.returncode:
            expected = None
        if found != expected or read(b"w/src") != before:
            print("seed", number, "ended with", ended.returncode, ended.stderr.decode(), source, target, found, expected)
            sys.exit(1)
        done += 1
    print(done, "pairs")
    """#

  @Test("random pairs of trees become what the model says", .enabled(if: Host.hasPython), arguments: [1, 2])
  func pairs(half: Int) throws {
    try t.file("model.py", Self.model)
    let count = Campaign.cases(500)
    let run = try t.shell("python3 model.py \(half * 1_000_000) \(count)", seconds: 220)
    #expect(run.text == "\(count) pairs\n", "\(run.text)\(run.errorText)")
  }
}
