import TestSupport
import Testing

/// Large files of which a part changes from night to night.
@Suite("Changed blocks", .timeLimit(.minutes(4)), .enabled(if: Host.hasPython)) struct ChangedBlocksTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    try t.shell(
      #"""
      cat >make.py <<'EOF'
      import os, random, sys
      r = random.Random(1)
      os.mkdir("src")
      def make(name, size): open("src/" + name, "wb").write(r.randbytes(size))
      make("five", 5 << 20)
      make("small", 90000)
      if sys.argv[1:] == ["all"]:
        # From 16 MiB on a file is archived in blocks, by several lanes. One file grows beyond that, and one has three blocks.
        make("grows", (15 << 20) + 5)
        make("img", (18 << 20) + 7)
        with open("src/holes", "wb") as f:
          f.truncate(18 << 20)
          f.seek(7 << 20)
          f.write(r.randbytes(5 << 20))
        os.link("src/img", "src/zimg")
      EOF
      cat >night.py <<'EOF'
      import random, sys
      n = int(sys.argv[1])
      r = random.Random(n)
      def put(name, place, data):
        with open("src/" + name, "r+b") as f:
          f.seek(place)
          f.write(data)
      put("five", 2000000 + n, b"xyzzy")
      for i in range(3):
        put("img", r.randrange(17 << 20), r.randbytes(60000))
      put("img", (n << 20) + 5, b"\0" * (1 << 20))
      with open("src/grows", "ab") as f:
        f.write(r.randbytes(700000))
      put("holes", (13 + n) << 20, r.randbytes(100000))
      put("holes", (8 << 20) + n * 100000, b"\0" * 90000)
      EOF
      cat >same.py <<'EOF'
      import os, subprocess, sys
      def tree(root):
        found, inodes = {}, {}
        for name in sorted(os.listdir(root)):
          s = os.lstat(os.path.join(root, name))
          found[name] = (s.st_mode, s.st_uid, s.st_gid, s.st_mtime_ns, s.st_nlink, s.st_size)
          inodes.setdefault(s.st_ino, []).append(name)
        return found, sorted(inodes.values())
      same = tree(sys.argv[1]) == tree(sys.argv[2]) and subprocess.call(["diff", "-rq", *sys.argv[1:]]) == 0
      print("equal" if same else "different")
      EOF
      """#)
  }

  private func shell(_ script: String) throws -> Outcome {
    try t.shell(
      """
      \(Steps.functions)
      size() { stat -c %s $(ls $1/*.tar.zst | tail -n 1); }
      back() { ends "$1" $BP backup -q --to set "${@:2}" src; }
      checks() {
        rm -rf out; ends "restore of $1" $BP restore -q set -C out "${@:2}"; python3 same.py src out$PWD/src | says "trees after $1"
      }
      \(script)
      """)
  }

  @Test("what changed is stored, and each version is restored exactly", arguments: [1, 2, 7, 32])
  func nights(jobs: Int) throws {
    let run = try shell(
      """
      python3 make.py all; back first -j \(jobs); cp -a src was0; checks first -j \(jobs)
      for n in 1 2; do
        python3 night.py $n; back "night $n" -j \(jobs); cp -a src was$n; checks "night $n" -j \(jobs)
        [ $(size set) -lt 4000000 ]; echo "small archive: $?"
      done
      archive=$(ls set/*.tar.zst | tail -n 1)
      tar --zstd -tf $archive | sed 's,.*/,,;s/[0-9T]*Z$/ID/' | grep . | says members
      tar --zstd -tvf $archive | grep img | awk '{print $3}' | says "size of the sparse member"
      mv src/img src/moved; cp -a src/five src/five2; back moved -j \(jobs); checks moved
      [ $(size set) -lt 5000 ]; echo "nothing stored: $?"
      truncate -s 17M src/moved; truncate -s 17920K src/moved; truncate -s 5M src/holes; back cut -j \(jobs); checks cut
      n=0; for id in $(ls set/*.manifest.zst | grep -o '[0-9]*T[0-9]*Z' | head -n 3); do
        rm -rf old; $BP restore -q set --at $id -C old; python3 same.py was$n old$PWD/src; n=$((n + 1))
      done | says "all versions"
      ends drill $BP drill -q --all set; ends verify $BP verify -q set
      ends audit $BP audit -q $(ls set/*.manifest.zst | tail -n 1) /
      ls set/*.blocks | wc -l | says "files of blocks"
      """)
    run.expectSteps([
      "first": "0", "restore of first": "0", "trees after first": "equal",
      "night 1": "0", "restore of night 1": "0", "trees after night 1": "equal", "small archive": "0",
      "night 2": "0", "restore of night 2": "0", "trees after night 2": "equal", "small archive": "0",
      "members":
        "five.changed-blocks-ID grows.changed-blocks-ID holes.changed-blocks-ID img.changed-blocks-ID",
      "size of the sparse member": "18874375", "moved": "0", "restore of moved": "0",
      "trees after moved": "equal", "nothing stored": "0", "cut": "0", "restore of cut": "0",
      "trees after cut": "equal", "all versions": "equal equal equal", "drill": "0", "verify": "0",
      "audit": "0", "files of blocks": "1",
    ])
  }

  @Test("without usable hashes files are stored whole; wrong hashes never give wrong content")
  func hashes() throws {
    let run = try shell(
      """
      python3 make.py
      edit() { zstdcat set/*.blocks >lines; "$@" <lines >changed; cat changed >$(ls set/*.blocks); }
      change() { printf "$1" | dd of=src/five bs=1 seek=3000000 conv=notrunc status=none; }
      sums() {
        python3 -c '
      import hashlib, sys
      lines = sys.stdin.buffer.read().splitlines(True)
      body = b"".join(lines[:-1])
      sys.stdout.buffer.write(body + b"{\\"type\\":\\"end\\",\\"sha256\\":\\"%s\\"}\\n" % hashlib.sha256(body).hexdigest().encode())'
      }
      back first
      rm set/*.blocks; change a; back "no file"; size set | sed 's/^5.*/whole/' | says stored
      change b; back "the file is there again"; size set | sed 's/^6....$/one block/' | says stored
      edit sed 's/"block_size":65536/"block_size":65537/'; change c; back "damaged"; size set | sed 's/^5.*/whole/' | says stored
      edit head -n 1; change d; back "cut"; size set | sed 's/^5.*/whole/' | says stored
      edit sed 's/"hashes":"..../"hashes":"AAAA/;$d' ; sums <changed >$(ls set/*.blocks)
      change e; back "a wrong hash"; checks "a wrong hash"
      cp -a set good
      # All hashes say that nothing has changed but the last block.
      zstdcat set/*.blocks >lines; change f; cp -a set before; back new; zstdcat set/*.blocks >new; rm -rf set; mv before set
      sed '$d' new | sed "s/$(sed -n 2p new | grep -o 'archive":"[^"]*')/$(sed -n 2p lines | grep -o 'archive":"[^"]*')/" >forged
      sed -i "s|$(sed -n 2p new | grep -o 'member":"[^"]*')|$(sed -n 2p lines | grep -o 'member":"[^"]*')|" forged
      (cat forged; echo) | sums >$(ls set/*.blocks); back forged
      rm -rf out; ends "restore is refused" $BP restore -q set -C out; find out -name five | wc -l | says "wrong files"
      ends "drill finds it" $BP drill -q --all set >rows
      back "stored again"; checks "stored again"
      """)
    run.expectSteps([
      "first": "0", "no file": "0", "stored": "whole", "the file is there again": "0", "stored": "one block",
      "damaged": "0", "stored": "whole", "cut": "0", "stored": "whole", "a wrong hash": "0",
      "restore of a wrong hash": "0", "trees after a wrong hash": "equal", "new": "0", "forged": "0",
      "restore is refused": "5", "wrong files": "0", "drill finds it": "4", "stored again": "0",
      "restore of stored again": "0", "trees after stored again": "equal",
    ])
  }

  @Test(
    "a forged row is refused",
    arguments: [
      #"s,"base":"[^"]*","base":"../../x","#, #"s,"base":"[^"]*","base":"20200101T000000Z/../x","#,
      #"s,"member":"[^"]*","member":"../x","#, #"s,"base":"\([^"]*\)","base":"\1//\1","#,
      #"s|"member":"\([^"]*\)","base":"[^"]*"|"member":"\1","base":"ID/\1"|"#,
      #"s,"base":"[^/]*,"base":"20200101T000000Z,"#, #"s,"base":"\([^/]*\)/[^"]*","base":"\1/nothing","#,
      #"s,"size":5242880,"size":9242880,"#, #"s,"size":5242880,"size":4242880,"#,
    ])
  func forged(change: String) throws {
    let run = try shell(
      """
      python3 make.py; back first; python3 - <<'EOF'
      open("src/five", "r+b").write(b"other")
      EOF
      back second; manifest=$(ls set/*.manifest.zst | tail -n 1); id=$(echo $manifest | grep -o '[0-9]*T[0-9]*Z')
      cat >forge.py <<'EOF'
      import hashlib, re, subprocess, sys
      text = subprocess.run(["zstdcat", sys.argv[1]], stdout=subprocess.PIPE, check=True).stdout
      text = subprocess.run(["sed", sys.argv[2]], input=text, stdout=subprocess.PIPE, check=True).stdout
      lines = text.splitlines(True)
      body = b"".join(lines[:-1])
      start = body.index(b'{"type":"total"')
      last = re.sub(b'"footer":[0-9]*', b'"footer":%d' % start, lines[-1])
      last = re.sub(b'manifest_sha256":"[0-9a-f]*', b'manifest_sha256":"' + hashlib.sha256(body).hexdigest().encode(), last)
      open(sys.argv[1], "wb").write(body + last)
      EOF
      python3 forge.py $manifest "$(echo '\(change)' | sed "s/ID/$id/")"
      timeout 60 $BP restore -q set -C out 2>errors; s=$?; [ $s = 1 ] || [ $s = 5 ]; echo "status: $?"
      find out -name five 2>/dev/null | wc -l | says "files"; grep -c . errors | sed 's/[1-9][0-9]*/some/' | says errors
      """)
    run.expectSteps(["first": "0", "second": "0", "status": "0", "files": "0", "errors": "some"])
  }
}
