import BatchEngine
import TestSupport
import Testing

/// The first commands that users of stock tools try, unless another suite compares them with those tools.
@Suite("Habits") struct HabitTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    try t.shell(
      """
      mkdir -p w/sub; seq 5000 >w/a; seq 6000 >w/b; seq 50 >w/sub/c; head -c 300 /dev/urandom >w/noise
      ln w/noise w/sub/noise2; printf BZh >w/no; seq 900 | bzip2 >w/z.bz2
      """)
  }

  // MARK: No file is overwritten without a message

  @Test("compress replaces an older output and counts it, and keeps it with --no-replace")
  func replaced() throws {
    #expect(try t.batchproc("compress", "-q", "w/a").status == 0)
    try t.shell("seq 10 >>w/a; touch -d '+1 hour' w/a; cp -p w/a.gz kept.gz")
    let kept = try t.batchproc("compress", "--no-replace", "w/a")
    #expect(
      kept.status == 3 && kept.errorText.contains("w/a.gz: exists already and is kept (--force replaces it)"))
    #expect(try t.shell("cmp w/a.gz kept.gz").status == 0)
    let run = try t.batchproc("compress", "-v", "w/a")
    #expect(run.status == 0 && run.errorText.contains("w/a: ") && run.errorText.contains("w/a.gz, replaced"))
    #expect(run.errorText.contains("; 1 replaced"), "\(run.errorText)")
    #expect(try t.shell("gzip -dc w/a.gz | cmp - w/a").status == 0)
  }

  @Test("every refusal to replace names the option that allows it")
  func refusals() throws {
    try t.shell(
      "$BP archive -q -o x.tar w; $BP hash -o m w/a; gzip -k w/a w/b; echo old | tee w/a >w/b; touch -d '+1 hour' w/?.gz"
    )
    for line in [
      ["archive", "-o", "x.tar", "w"], ["hash", "-o", "m", "w/a"], ["decompress", "w/b.gz"],
      ["compress", "w/a"],
      ["extract", "x.tar", "w/a"],
    ] as [[PathBytes]] {
      let run = try t.batchproc(line)
      #expect(run.status != 0 && run.errorText.contains("--force"), "\(line): \(run.errorText)")
      #expect(try t.batchproc(line + ["--force"]).status == 0, "\(line)")
    }
  }

  // MARK: Standard output

  private static func manyFiles(lines: Int = 700_000) -> String {
    "seq \(lines) >w/large; for i in $(seq 40); do seq $i >w/sub/f$i; done"
  }

  @Test(
    "several files go to standard output in their order, at every concurrency",
    arguments: ["gz", "zst", "xz", "lz4"])
  func toStdout(format: String) throws {
    // For xz still more than a block of 4 MiB.
    let run = try t.shell(
      """
      \(Self.manyFiles(lines: format == "xz" ? 620_000 : 700_000))
      cat w/large $(find w/sub -type f | LC_ALL=C sort) w/b >plain
      for j in 1 2 7 32; do
        $BP compress -qc1 -j $j --format \(format) w/large w/sub w/b >packed$j || echo "compress -j $j: $?"
        cmp packed1 packed$j || echo "compress -j $j differs"
        $BP cat -q -j $j packed1 | cmp - plain || echo "cat -j $j differs"
      done
      """)
    #expect(run.text == "" && run.status == 0, "\(run.text) \(run.errorText)")
  }

  @Test("the contents of compressed files go to standard output in their order, at every concurrency")
  func contentsToStdout() throws {
    let run = try t.shell(
      """
      \(Self.manyFiles())
      $BP compress -q w; rm w/noise w/sub/noise2 w/no
      (cat w/large; for f in $(find w/sub -name '*.gz' | LC_ALL=C sort); do zcat $f; done; seq 900) >plain
      for j in 1 2 7 32; do
        $BP cat -j $j --max-load 999 w/large.gz w/sub w/z.bz2 >out; echo $?
        cmp plain out || echo "cat -j $j differs"
      done
      """)
    #expect(run.text == "0\n0\n0\n0\n", "\(run.text) \(run.errorText)")
  }

  @Test("a damaged file ends --stdout with 3, and is named")
  func damagedToStdout() throws {
    let run = try t.shell(
      "gzip -k w/a; printf damaged | dd of=w/a.gz bs=1 seek=3000 conv=notrunc status=none; $BP cat w/a.gz w/z.bz2 | tail -n 1"
    )
    #expect(run.text == "900\n" && run.errorText.contains("batchproc: w/a.gz: "), "\(run.errorText)")
    #expect(try t.batchproc("cat", "w/a.gz").status == 3)
    #expect(try t.batchproc("cat", "w/no").status == 3)
    let json = try t.batchproc("cat", "--json", "w/z.bz2")
    #expect(
      json.status == 64
        && json.errorText.contains("--json cannot be used with --stdout: standard output carries the data"))
  }

  @Test("without a path, standard input is read unless it is /dev/null")
  func standardInput() throws {
    #expect(
      try t.shell("seq 9 | $BP compress -q | gunzip; seq 9 | gzip | $BP decompress -q | tail -n 1").text
        .hasSuffix("9\n9\n"))
    #expect(
      try t.shell("seq 9 | $BP hash -q; $BP hash -q <w/a").text
        == t.shell("seq 9 | sha256sum; sha256sum <w/a").text)
    #expect(try t.shell("sha256sum w/a | $BP check; gzip <w/a | $BP test -q; echo $?").text == "w/a: OK\n0\n")
    for command: PathBytes in ["compress", "decompress", "cat", "test", "hash", "check"] {
      let run = try t.batchproc(command)
      #expect(
        run.status == 64 && run.errorText.hasPrefix("batchproc: missing expected argument"), "\(command)")
    }
  }

  @Test(
    "--copy-others copies files without an output, so that the directory is complete",
    arguments: [1, 2, 7, 32])
  func copyOthers(concurrency: Int) throws {
    try t.shell("head -c 3000000 /dev/urandom >w/large; chmod 640 w/large; touch -d @1000000000 w/large")
    let few = try t.batchproc("compress", "--output-dir", "few", "w")
    #expect(
      few.errorText.contains("few: 5 files without an output here; --copy-others copies"), "\(few.errorText)")
    let line: [PathBytes] = [
      "compress", "--output-dir", "all", "--copy-others", "-j", PathBytes("\(concurrency)"), "w",
    ]
    let run = try t.batchproc(line)
    #expect(run.status == 0 && run.errorText.contains("copied"), "\(run.errorText)")
    let state = try t.shell(
      "cd all/w; find . -type f | sort; cmp large ../../w/large; stat -c '%a %Y' large; stat -c %h noise sub/noise2"
    )
    #expect(
      state.text
        == "./a.gz\n./b.gz\n./large\n./no\n./noise\n./sub/c.gz\n./sub/noise2\n./z.bz2\n640 1000000000\n2\n2\n",
      "\(state.text)")
    let again = try t.batchproc(line)
    #expect(again.errorText.hasPrefix("compressed 0 files in "), "\(again.errorText)")
  }

  @Test("when all outputs are up to date, another level is answered with how to compress again")
  func levelOfUpToDate() throws {
    #expect(try t.batchproc("compress", "-q", "w/a").status == 0)
    let run = try t.batchproc("compress", "-9", "w/a")
    #expect(run.errorText.contains("outputs that are up to date keep their level; --force compresses again"))
  }

  // MARK: Archives

  @Test("names, owners and modes are changed like with tar")
  func transforms() throws {
    try t.shell(
      "ln w/a w/hard; ln -s a w/soft; mkfifo w/pipe; chmod 4751 w/b; chmod 2775 w/sub; touch 'w/A b.TXT'")
    let lines = [
      "--transform s,^w/,new/,", "--xform 's/[ab]/X/g'", "--transform 's/w/v/;s/a$/b/S'",
      "--transform 's/\\(.\\)\\./\\U\\1_/'", "--transform 's/.*/\\u&/x'", "--transform 's/(a|b)/<\\1>/xg'",
      "--transform 's/txt/doc/i'", "--transform 's,a,z,RS'", "--transform 's,a,z,Hs'",
      "--owner 12345 --group 777",
      "--owner root --group 0", "--owner me:5 --group us:6", "--mode 640", "--mode 02751",
      "--mode u+rwX,go-w",
      "--mode a=rX", "--mode g=u,o-r", "--mode +x", "--mode u-s,g-s,+t",
    ]
    for line in lines {
      let run = try t.shell(
        """
        rows() {
          tar --numeric-owner -tvf $1 | sed -E 's/ +[0-9]+ [0-9-]+ [0-9:]+ / /' | grep -v '^l' | sort
          tar -tvf $1 | grep '^l' | sed -E 's/.* [0-9:]+ //'
        }
        tar --sort=name -cf theirs.tar \(line) w || exit; $BP archive -q --force -o ours.tar \(line) w || exit
        diff <(rows theirs.tar) <(rows ours.tar) && tar -tf ours.tar | wc -l
        """)
      #expect(run.text == "13\n" && run.errors.isEmpty, "\(line): \(run.text) \(run.errorText)")
    }
  }

  @Test(
    "rules change names like sed",
    arguments: ["s/[ab]/X/2", "s/x*/-/g", "s/a*/-/2g", "s/[a-z]/<&>/3g", "s/b*$/Z/"])
  func rules(rule: String) throws {
    let run = try t.shell(
      """
      touch w/aabxxa w/sub/bb; $BP archive -q -o x.tar --transform '\(rule)' w
      diff <(tar -tf x.tar | sed 's,/$,,' | sort) <(find w | sed '\(rule)' | sort) && echo same
      """)
    #expect(run.text == "same\n", "\(run.text) \(run.errorText)")
  }

  @Test(
    "a dry run of extract shows which files would be made, replaced and kept", arguments: ["tar", "tar.zst"])
  func preview(format: String) throws {
    try t.shell(
      "$BP archive -q -o x.\(format) w; mkdir -p o/w; echo old >o/w/a; touch -d '-1 day' o/w/a; echo new >o/w/b; touch -d '+1 day' o/w/b"
    )
    func preview(_ options: String) throws -> String {
      let run = try t.shell(
        """
        $BP extract -q -n -C o \(options) -f x.\(format) w/a w/b w/sub 2>told | sort; told=${PIPESTATUS[0]}
        cp -a o copy; $BP extract -q -C copy \(options) -f x.\(format) w/a w/b w/sub 2>done; did=$?
        [ $told = $did ] || echo "$told, then $did"
        diff told done; rm -r copy
        """)
      return run.text
    }
    // The other name of w/sub/noise2 is not chosen, so this one gets the content.
    let rest = "o/w/sub\no/w/sub/c\no/w/sub/noise2\n"
    #expect(try preview("") == "o/w/a: kept\no/w/b: kept\n" + rest)
    #expect(try preview("--overwrite newer") == "o/w/a: replaced\no/w/b: kept\n" + rest)
    #expect(try preview("--force") == "o/w/a: replaced\no/w/b: replaced\n" + rest)
    #expect(try preview("--force -k --exclude sub") == "o/w/a: kept\no/w/b: kept\n")
    #expect(try t.shell("cat o/w/a; ls o/w").text == "old\na\nb\n")
    let json = try t.shell("$BP extract -n --json -C o x.\(format) w/a w/sub/c")
    #expect(
      json.text.contains(#""path":"o/w/a","outcome":"kept"}"#) && json.text.contains(#""outcome":"made"}"#))
  }

  @Test(
    "a dry run of extract counts and ends like the run, for existing files, damage, links and refusals",
    arguments: ["tar", "tar.zst"])
  func previewCounts(format: String) throws {
    let run = try t.shell(
      #"""
      mkdir d; cd d; mkdir -p t/in; echo one >t/a; ln t/a t/b; ln -s a t/l; mkfifo t/p; head -c 3000000 /dev/zero >t/in/big
      chmod u+s t/a; python3 - <<'END'
      import io, tarfile
      with tarfile.open('x.tar', 'w') as tar:
          tar.add('t')
          for name in ('../out', 'new/f', 'new/f', 't/a/below'):
              info = tarfile.TarInfo(name); info.size = 3; tar.addfile(info, io.BytesIO(b'abc'))
          info = tarfile.TarInfo('gone'); info.type = tarfile.LNKTYPE; info.linkname = 'none'; tar.addfile(info)
          info = tarfile.TarInfo('device'); info.type = tarfile.CHRTYPE; tar.addfile(info)
      END
      [ FORMAT = tar ] || { $BP archive -q -o x.FORMAT t; }
      cp x.FORMAT cut; head -c $(($(stat -c %s cut) / 2)) x.FORMAT >cut
      for setup in 'true' 'mkdir o' 'mkdir -p o/t; touch o/t/a' 'mkdir -p o/t/a' 'mkdir o; ln -s /tmp o/t' 'mkdir -p o/t/in; ln -s x o/t/l'; do
        for options in x.FORMAT '--force x.FORMAT' '-p x.FORMAT' '--overwrite newer x.FORMAT' '--keep-going cut' cut; do
          rm -rf o; eval "$setup"; find o >before 2>/dev/null
          $BP extract -j 2 --no-fsync -n -C o $options >rows 2>told; told=$?
          find o 2>/dev/null | cmp before - || echo "changed: $setup, $options"
          $BP extract -j 2 --no-fsync -C o $options 2>did; did=$?
          [ $told = $did ] || echo "$setup, $options: $told, then $did"
          # The last line of each is the summary.
          sed -i -e '$ { s/would extract/extracted/; s/ in [0-9.]* s.*;/;/; s/ in [0-9.]* s.*//; }' told did
          cmp -s told did || { echo "messages: $setup, $options"; diff told did; }
        done
      done
      """#.replacing("FORMAT", with: format))
    #expect(run.text == "" && run.errorText == "", "\(run.text)\(run.errorText)")
  }

  @Test("a dry run of archive has the counts and the status of the run")
  func archivePreview() throws {
    let run = try t.shell(
      """
      mkdir -p d/t/sub; cd d; head -c 100000 /dev/urandom >t/a; ln t/a t/b; ln -s a t/l; mkfifo t/p; echo x >t/sub/c
      summary() { tail -n 1 $1 | sed -e 's/would archive/archived/' -e 's/ -> .*//' -e 's/: /, /' -e 's/ in [0-9.]* s.*//'; }
      for options in "-o x.tar t" "-o x.tar.zst t none" "-o x.zip t" "-o x.tar --exclude sub t" "-o x.tar none"; do
        rm -f x.*; $BP archive -n $options >rows 2>told; told=$?; ls x.* 2>/dev/null
        $BP archive $options 2>did; did=$?
        [ $told = $did ] || echo "$options: $told, then $did"
        case "$(summary did)" in "$(summary told)"*) ;; *) summary told; summary did;; esac
      done
      touch x.tar; $BP archive -n -o x.tar t 2>told >&2; echo $?; $BP archive -o x.tar t 2>did; echo $?; cmp told did
      """)
    #expect(run.text == "1\n1\n" && run.errorText == "", "\(run.text)\(run.errorText)")
  }

  @Test(
    "patterns choose members and filters leave them out, in lists and extractions",
    arguments: ["tar", "tar.zst", "zip"])
  func chosenMembers(format: String) throws {
    try t.shell("$BP archive -q -o x.\(format) w; ln -s x.\(format) x")
    #expect(try t.shell("$BP list -q x w/sub --exclude 'noise*' | sort").text == "w/sub/\nw/sub/c\n")
    #expect(
      try t.shell("$BP list -q x --exclude sub --exclude z.bz2 | sort").text
        == "w/\nw/a\nw/b\nw/no\nw/noise\n")
    let missing = try t.batchproc("list", "x", "w/a", "nosuch*")
    #expect(missing.status == 3 && missing.text == "w/a\n")
    #expect(missing.errorText.contains("nosuch*: no member of the archive matches"))
    #expect(
      try t.shell(
        "$BP extract -q -C new x --exclude sub --exclude-from <(echo z.bz2) && find new -type f | sort"
      ).text == "new/w/a\nnew/w/b\nnew/w/no\nnew/w/noise\n")
    #expect(
      try t.shell("$BP extract -q -O x w/a --exclude a; $BP extract -q -O x 'w/[ab]' --exclude a | cmp - w/b")
        .text == "")
  }

  @Test("-C and -o make the last folder of a path, but not its parents")
  func newFolders() throws {
    #expect(try t.batchproc("archive", "-q", "-o", "new/x.tar", "w").status == 0)
    #expect(try t.batchproc("extract", "-q", "-C", "there", "new/x.tar").status == 0)
    #expect(try t.shell("cmp there/w/a w/a").status == 0)
    let run = try t.batchproc("archive", "-o", "one/two/x.tar", "w")
    #expect(run.status == 5 && run.errorText.contains("one/two: cannot make the folder"), "\(run.errorText)")
    #expect(try t.batchproc("extract", "-C", "one/two", "new/x.tar").status == 5)
    #expect(!t.exists("one"))
  }

  // MARK: Numbers

  @Test("summaries report the result")
  func summaries() throws {
    let archived = try t.batchproc("archive", "-o", "x.tar.zst", "w")
    #expect(
      archived.errorText.hasPrefix("archived 6 files, 2 folders, 1 link: 52.8 KiB -> "),
      "\(archived.errorText)")
    let verified = try t.batchproc("verify", "-q", "x.tar.zst")
    #expect(verified.status == 0)
    // zip and 7z store the content of a further name again.
    for (format, size) in [("zip", "53.1"), ("cpio", "52.8"), ("7z", "53.1"), ("tar", "52.8")] {
      let run = try t.shell("$BP archive -q -o x.\(format) w && $BP verify x.\(format) 2>&1 | tail -n 1")
      #expect(run.text.contains("verified 9 members, \(size) KiB in "), "\(run.text)")
    }
    let extracted = try t.batchproc("extract", "--keep-going", "-C", "o", "x.tar.zst")
    #expect(
      extracted.errorText.hasPrefix("extracted 6 files, 2 folders, 1 link, 52.8 KiB in "),
      "\(extracted.errorText)")
    #expect(try t.batchproc("compress", "-q", "w").status == 0)
    let again = try t.batchproc("compress", "w")
    #expect(again.errorText.hasPrefix("compressed 0 files in "), "\(again.errorText)")
    let back = try t.shell("rm w/a; $BP decompress w/a.gz w/b.gz")
    #expect(
      back.errorText.hasPrefix("decompressed 1 file: ") && back.errorText.contains(" KiB -> 23.3 KiB in "))
  }

  @Test("a damaged frame gives one message with the number of its members and the way to get the others")
  func damagedFrame() throws {
    try t.shell(
      """
      mkdir m; for i in $(seq 3000); do echo $i >m/$i; done; $BP archive -q -o x.tar.zst m
      printf damaged | dd of=x.tar.zst bs=1 seek=2000 conv=notrunc status=none
      """)
    let run = try t.batchproc("extract", "-C", "o", "x.tar.zst")
    #expect(run.status == 5)
    #expect(run.messages.count == 1, "\(run.messages)")
    #expect(
      run.errorText.contains(" are damaged and hold 1024 members: ")
        && run.errorText.contains("(add --keep-going to extract all members that are undamaged)"),
      "\(run.errorText)")
    let events = try t.shell("$BP extract --json -C o2 x.tar.zst | tail -n 1").text
    #expect(events.contains(#""failed":1024"#), "\(events)")
    let going = try t.shell(
      "$BP extract -q --keep-going -C o3 x.tar.zst 2>/dev/null; find o3 -type f | wc -l")
    #expect(going.text > "1976")
  }

  @Test("verify counts the bytes of the undamaged members of a damaged frame")
  func bytesOfDamagedFrame() throws {
    try t.shell(
      """
      mkdir m; for i in 1 2 3 4; do head -c 50000 /dev/urandom >m/$i; done; $BP archive -q -o x.tar m
      printf damaged | dd of=x.tar bs=1 seek=120000 conv=notrunc status=none
      """)
    let run = try t.batchproc("verify", "x.tar")
    #expect(run.status == 4)
    #expect(run.errorText.contains("verified 4 members, 146.5 KiB in "), "\(run.errorText)")
  }

  @Test("names that begin with the compared folder itself give one message")
  func againstItself() throws {
    try t.shell("$BP archive -q -o x.tar w")
    let run = try t.batchproc("verify", "--against", "w", "x.tar")
    #expect(run.status == 4 && run.output.isEmpty)
    #expect(
      run.messages == [
        "batchproc: w: the names in the archive begin with w/, and this is w itself (did you mean --against .?)"
      ])
    #expect(try t.batchproc("verify", "-q", "--against", ".", "x.tar").status == 0)
  }

  @Test("times in JSON have one form everywhere, with all digits")
  func times() throws {
    try t.shell("touch -d @1000000000.123456789 w/a; touch -d @-1.5 w/b; $BP archive -q -o x.tar w")
    #expect(try t.shell("$BP hash --json w/a").text.contains(#""mtime":"1000000000.123456789""#))
    #expect(try t.shell("$BP list --json x.tar w/a").text.contains(#""mtime":"1000000000.123456789""#))
    #expect(try t.shell("$BP hash --format json w/a w/b >m; $BP check m").status == 0)
  }

  @Test("a name that is too long with the suffix is reported")
  func longName() throws {
    let name = String(repeating: "n", count: 254)
    try t.shell("seq 99 >w/\(name)")
    let run = try t.batchproc("compress", "w")
    #expect(run.status == 3)
    #expect(run.errorText.contains("w/\(name): the name is too long once .gz is added\n"), "\(run.errorText)")
  }

  @Test(
    "a closed pipe ends a run without a message, also with --json",
    arguments: ["hash", "list", "extract", "verify"])
  func closedOutput(command: String) throws {
    try t.shell("for i in $(seq 3000); do echo $i >w/sub/$i; done; $BP archive -q -o x.tar.zst w")
    let operands = command == "hash" ? "w" : command == "extract" ? "-C o x.tar.zst" : "x.tar.zst"
    let run = try t.shell(
      """
      for turn in 1 2 3 4 5; do
        rm -rf o; $BP \(command) --json \(operands) | head -n 2 | wc -l; echo ${PIPESTATUS[0]}
      done
      """)
    #expect(
      run.text == String(repeating: "2\n141\n", count: 5) && run.errors.isEmpty,
      "\(run.text) \(run.errorText)")
  }

  @Test(
    "an interrupted run clears its line and reports its progress",
    .enabled(if: Host.hasPython, "needs python3"))
  func interrupted() throws {
    try t.shell("mkfifo pipe")
    // The run waits for the pipe when the signal arrives, so the test does not depend on time.
    let run = try t.shell(
      #"""
      python3 - <<'EOF'
      import os, pty, select, signal, sys
      pid, terminal = pty.fork()
      if pid == 0:
          os.environ["TERM"] = "xterm"
          os.execvp("bash", ["bash", "-c", 'exec "$BP" hash -j1 --progress bar w - <>pipe >/dev/null'])
      seen = b""
      while b"7 files" not in seen:
          seen += os.read(terminal, 4096)
      os.kill(pid, signal.SIGINT)
      try:
          while True:
              piece = os.read(terminal, 4096)
              if not piece: break
              seen += piece
      except OSError: pass
      _, status = os.waitpid(pid, 0)
      lines = seen.replace(b"\r\n", b"\n").split(b"\n")
      assert os.WTERMSIG(status) == signal.SIGINT, status
      last = [line.rsplit(b"\x1b[K", 1)[-1] for line in lines if line]
      print(last[-1].decode())
      EOF
      """#, seconds: 30)
    #expect(run.text == "batchproc: interrupted: 7 files done\n", "\(run.text) \(run.errorText)")
  }

  @Test("plain progress ends at 100 %")
  func plainProgress() throws {
    let run = try t.batchproc("hash", "--progress", "plain", "w")
    #expect(run.errorText.contains("100 %: "), "\(run.errorText)")
  }
}
