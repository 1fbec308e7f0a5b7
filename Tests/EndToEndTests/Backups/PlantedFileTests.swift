import BatchEngine
import TestSupport
import Testing

/// Another user may be able to put something in the place of a small file of a set. No command waits for it, follows it, or writes
/// through it.
@Suite(.timeLimit(.minutes(5))) struct PlantedFileTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    try t.shell(
      """
      mkdir src; for i in 1 2 3; do seq $i 300 >src/$i; done; echo precious >victim
      "$BP" backup -q --to whole src; echo 4 >src/4; "$BP" backup -q --to whole src; "$BP" drill -q --all whole; "$BP" copy -q whole far
      """)
  }

  /// Commands that read or change a set in `set`, and copies in `far`.
  private static let commands = #"""
    commands() { printf '%s\n' 'drill -q --all set' 'prune -q --keep-last 1 set' 'report -q -o page.html set' 'snapshots -q set' \
      'backup -q --keep-last 1 --metrics metrics --to set src' 'verify -q set' 'restore -q -C out set' 'copy -q set far' 'snapshots -q far'; }
    """#

  private static let names = [
    "set/.backup.lock", "set/.backup.id", "set/.backup.copy", "set/.backup.drill", "far/.backup.copy",
    "metrics",
    "set/NEWEST.manifest.zst", "set/NEWEST.tar.zst", "far/NEWEST.manifest.zst", "page.html",
  ]

  /// The kinds that are put in the place of a file: each one in a campaign; else one at which a reader may wait, one that a writer may
  /// follow, and in some places a third one.
  private static func kinds(of name: String) -> [String] {
    if Campaign.isFull { return ["fifo", "link", "dangling", "folder", "device", "sparse"] }
    let number = names.firstIndex(of: name) ?? 0
    let fewer = number.isMultiple(of: 2) ? ["fifo", "link"] : ["device", "dangling"]
    let third = number.isMultiple(of: 4) ? ["folder"] : number.isMultiple(of: 5) ? ["sparse"] : []
    return fewer + third
  }

  @Test("beside a set", arguments: names)
  func planted(name: String) throws {
    let run = try t.shell(
      """
      \(Self.commands)
      newest=$(ls whole/*.manifest.zst | tail -1); newest=${newest##*/}; newest=${newest%.manifest.zst}
      name=\(name); name=${name/NEWEST/$newest}
      mkdir good; cp -a whole good/set; cp -a far good/far
      for kind in \(Self.kinds(of: name).joined(separator: " ")); do commands | while read -r command; do
        rm -rf set out page.html metrics far
        cp -a good/set good/far .
        rm -rf "$name"
        case $kind in
          fifo) mkfifo "$name" ;;
          link) ln -s "$PWD/victim" "$name" ;;
          dangling) ln -s "$PWD/made" "$name" ;;
          folder) mkdir "$name" ;;
          device) ln -s /dev/zero "$name" ;;
          sparse) truncate -s 1G "$name" ;;
        esac
        timeout -s KILL 60 "$BP" $command >>log 2>&1 </dev/null
        s=$?
        [ $s -le 5 ] || [ $s = 11 ] || [ $s = 64 ] || echo "$kind, $command: $s"
        [ "$(<victim)" = precious ] && [ ! -e made ] && [ -c /dev/zero ] || echo "$kind, $command: followed"
      done; done
      """, seconds: 280)
    #expect(run.text.isEmpty, "\(run.text)\(run.errorText)\(t.text("log")?.suffix(2000) ?? "")")
  }

  @Test(
    "a state of drills that cannot be read is no damage of the snapshots",
    arguments: ["mkfifo", "mkdir", "ln -s /dev/zero"])
  func drillState(make: String) throws {
    let run = try t.shell(
      """
      \(Steps.functions)
      rm whole/.backup.drill
      \(make) whole/.backup.drill
      ends drill timeout -s KILL 60 "$BP" drill -q whole 2>errors
      counts "named state" 'results of drills cannot be read' <errors
      """)
    run.expectSteps(["drill": "1", "named state": "1"])
  }

  @Test("an archive of a set that is a link is damaged, and its target is not read")
  func linkedArchive() throws {
    let run = try t.shell(
      """
      a=$(ls whole/*.tar.zst | head -1); mv $a elsewhere; ln -s ../elsewhere $a
      "$BP" verify -q whole >rows 2>&1; echo $?; "$BP" restore -q -C out whole 2>/dev/null; [ $? -gt 0 ] && find out -type f | wc -l
      """)
    #expect(run.text.hasPrefix("4\n"), "\(run.text)\(run.errorText)")
  }

  @Test(
    "rows of a manifest that lead outside are named: restore ends with 5, verify with 4",
    .enabled(if: Host.hasPython))
  func outside() throws {
    let run = try t.shell(
      #"""
      \#(Steps.plain)
      plain whole/*.manifest.zst
      cat >rows.py <<'EOF'
      import glob, hashlib, json
      f = sorted(glob.glob("whole/*.manifest.zst"))[-1]
      lines = open(f, "rb").read().splitlines(True)
      out = [line.replace(b'/src/2"', b'/../../../../victim"', 1) for line in lines[:-1]]
      body = b"".join(out)
      end = json.loads(lines[-1])
      end["manifest_sha256"] = hashlib.sha256(body).hexdigest()
      end["footer"] = sum(map(len, out[:next(i for i, line in enumerate(out) if b'"type":"total"' in line)]))
      open(f, "wb").write(body + json.dumps(end, separators=(",", ":")).encode() + b"\n")
      EOF
      python3 rows.py; "$BP" restore -q -C out whole; echo $?; find out -type f | wc -l; "$BP" verify -q whole; echo $?; cat victim
      """#)
    #expect(run.text == "5\n3\n4\nprecious\n", "\(run.text)\(run.errorText)")
    #expect(
      run.errorText.split(separator: "\n").count { $0.contains("a row leads outside of the folder") } == 2)
  }

  @Test("a digest in a manifest that is none is not ignored", .enabled(if: Host.hasPython))
  func wrongDigest() throws {
    let run = try t.shell(
      #"""
      \#(Steps.plain)
      plain whole/*.manifest.zst
      cat >digest.py <<'EOF'
      import glob, hashlib, json, re
      f = sorted(glob.glob("whole/*.manifest.zst"))[-1]
      rows, end = open(f).read().rstrip().rsplit("\n", 1)
      rows = re.sub('"sha256":"[0-9a-f]{64}"', '"sha256":"no digest"', rows, count=1)
      end = json.loads(end)
      end["footer"] = rows.index('{"type":"total"')
      end["manifest_sha256"] = hashlib.sha256((rows + "\n").encode()).hexdigest()
      open(f, "w").write(rows + "\n" + json.dumps(end, separators=(",", ":")) + "\n")
      EOF
      python3 digest.py
      "$BP" restore -q -C out whole; echo $?
      "$BP" verify -q whole; echo $?
      "$BP" drill -q whole; echo $?
      """#)
    #expect(run.text == "5\n4\n4\n", "\(run.text)\(run.errorText)")
    #expect(run.errorText.contains(#"a row that is not valid: "sha256" is missing or not possible"#))
  }
}
