import BatchEngine
import TestSupport
import Testing

/// Archives that are intact, although this program or libarchive cannot read all of them.
@Suite("Intact archives", .enabled(if: Host.hasPython), .timeLimit(.minutes(5))) struct ArchiveIntactTests {
  private let t: TreeFixture

  init() throws { t = try TreeFixture() }

  @Test("in 7z on standard input are unsupported, with a way to read them")
  func streamedSevenZip() throws {
    try t.shell("mkdir t out; echo 1 >t/a; $BP archive -q -o x.7z t; gzip -k x.7z")
    for command in ["list", "verify", "extract -C out", "list --all-formats"] {
      for archive in ["x.7z", "x.7z.gz"] {
        let run = try t.shell("cat \(archive) | $BP \(command) -")
        #expect(run.status == 1, "\(command) \(archive): \(run.errorText)")
        #expect(
          run.errorText.contains(
            "unsupported: the archive cannot be read as a stream (give the archive itself"),
          "\(command): \(run.errorText)")
      }
    }
    #expect(try t.batchproc("verify", "x.7z").status == 0)
  }

  @Test("with a socket are verified, except for the socket")
  func sockets() throws {
    let made = try t.shell(
      #"""
      mkdir t; echo 1 >t/a; echo 2 >t/z; python3 -c "import socket; socket.socket(socket.AF_UNIX).bind('t/s')"
      find t | LC_ALL=C sort | cpio -oH newc --quiet >x.cpio
      python3 - <<'END'
      import stat, zipfile
      with zipfile.ZipFile('x.zip', 'w') as z:
          for name, kind in [('a', stat.S_IFREG), ('s', stat.S_IFSOCK), ('z', stat.S_IFREG)]:
              info = zipfile.ZipInfo(name); info.create_system = 3; info.external_attr = (kind | 0o644) << 16
              z.writestr(info, name)
      END
      """#)
    try #require(made.status == 0, "\(made.errorText)")
    for (archive, name) in [("x.cpio", "t/s"), ("x.zip", "s")] {
      let run = try t.shell("$BP verify \(archive)")
      #expect(run.status == 3, "\(archive): \(run.text)\(run.errorText)")
      #expect(run.errorText.contains("\(name): is of a kind"), "\(run.errorText)")
      #expect(
        !run.text.contains("DAMAGED") && !run.errorText.contains("damaged"), "\(run.text)\(run.errorText)")
    }
  }

  @Test("whose later frames need more memory are not damaged")
  func memory() throws {
    try t.shell(
      """
      head -c 600000 /dev/urandom >m; tar cf m.tar m m; xz -9 <m.tar >nine
      (head -c 600000 m.tar | xz -0; tail -c +600001 m.tar | xz -9) >mix
      (head -c 600000 m.tar | zstd -q; tail -c +600001 m.tar | zstd -q --long=31) >long
      """)
    for (archive, options) in [
      ("nine", "--max-memory 32M"), ("mix", "--max-memory 32M"), ("long", "--max-memory 64M"),
    ] {
      for command in ["verify", "verify --against ."] {
        let run = try t.shell("$BP \(command) \(options) \(archive)")
        #expect(run.status == 1, "\(command) \(archive): \(run.text)\(run.errorText)")
        #expect(!(run.text + run.errorText).lowercased().contains("damage"), "\(run.text)\(run.errorText)")
        #expect(run.errorText.contains("memory") || run.errorText.contains("window"), "\(run.errorText)")
      }
    }
  }

  @Test("in cpio with an empty file of several names give each name, and show when it has content")
  func emptyCpioNames() throws {
    let run = try t.shell(
      """
      mkdir t; : >t/e; ln t/e t/f; touch -d 2020-01-01 t/e t; find t -type f | LC_ALL=C sort | cpio -oH newc --quiet >x.cpio
      for name in e f; do $BP extract -O x.cpio t/$name; echo $?; rm -rf out; mkdir out; $BP extract -q -C out x.cpio t/$name; echo $?; ls out/t; done
      rm -rf out; mkdir out; $BP extract -q -C out x.cpio; stat -c %h out/t/e
      $BP list -q --digests x.cpio; $BP verify -q --against . x.cpio; echo $?
      printf CHANGED >t/e; touch -d 2020-01-01 t/e t; $BP verify -q --against . x.cpio; echo $?; $BP audit -q x.cpio t; echo $?
      """)
    #expect(
      run.text == """
        0
        0
        e
        0
        0
        f
        2
        e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  t/f
        0
        t/f: MODIFIED (size 0 -> 7)
        4
        f: MODIFIED (size 0 -> 7)
        4

        """, "\(run.text)\(run.errorText)")
  }

  @Test("in zip that were encrypted into a pipe are encrypted, not damaged")
  func encryptedZip() throws {
    let made = try t.shell(
      "command -v zip >/dev/null && mkdir z && echo a >z/a && seq 1000 >z/b && zip -q -P pw -r - z | cat >x.zip; zip -q -P pw -r y.zip z"
    )
    guard made.status == 0 else { return }
    let piped = try t.batchproc("verify", "x.zip")
    #expect(piped.status == 3 && piped.text.isEmpty, "\(piped.text)\(piped.errorText)")
    #expect(piped.errorText.contains("unsupported: encrypted"), "\(piped.errorText)")
    #expect(!piped.errorText.contains("damaged"), "\(piped.errorText)")
    let read = try t.shell(
      """
      echo c >c
      zip -q y.zip c
      zip -q w.zip c
      zip -q -P pw w.zip z/a
      for zip in x.zip y.zip w.zip; do
        for file in $zip "- <$zip"; do
          for command in "list -q" "verify -q" "extract -q -C out --force"; do
            eval $BP $command $file >text 2>&1
            printf "$? "
            grep -c damaged text
          done
        done
      done
      """)
    // In a stream, the end of encrypted content of unknown length cannot be found.
    let whole = "0 0\n3 0\n3 0\n"
    #expect(
      read.text == whole + "5 0\n3 0\n5 0\n" + String(repeating: whole, count: 4),
      "\(read.text)\(read.errorText)")
  }

  @Test(
    "in the older forms of cpio are links only where their contents are equal, also large ones",
    arguments: ["odc", "bin"])
  func cpioCopies(form: String) throws {
    let run = try t.shell(
      """
      mkdir t out; seq 400000 >t/a; ln t/a t/b; ln t/a t/c; ls t/* | LC_ALL=C sort | cpio -oH \(form) --quiet >x.cpio
      python3 - <<'END'
      data = open('x.cpio', 'rb').read()
      place = data.rindex(b'\\n399999\\n')
      open('x.cpio', 'wb').write(data[:place + 3] + b'8' + data[place + 4:])
      END
      $BP extract -q -C out x.cpio; echo $?; stat -c %h out/t/*; cmp out/t/a out/t/b; cmp t/a out/t/a; cmp -s out/t/a out/t/c; echo $?
      """)
    #expect(run.text == "0\n2\n2\n1\n1\n", "\(run.text)\(run.errorText)")
  }

  @Test("in cpio give the content of a file with several names at each chosen name")
  func cpioNames() throws {
    let made = try t.shell(
      """
      mkdir -p t out; echo content >t/a; ln t/a t/b; ln t/a t/c; : >t/e; ln t/e t/f; touch -d @1000 t/*
      for f in newc odc bin; do find t | LC_ALL=C sort | cpio -oH $f --quiet >$f.cpio; done
      """)
    try #require(made.status == 0, "\(made.errorText)")
    for archive in ["newc.cpio", "odc.cpio", "bin.cpio"] {
      func extract(_ words: String) throws -> String {
        let run = try t.shell(
          "rm -rf out; mkdir out; $BP extract -q -C out \(archive) \(words); echo $?; cd out; cat t/*")
        return run.text + run.errorText
      }
      for names in ["t/a", "t/c", "--exclude t/b --exclude t/c --exclude 't/[ef]'"] {
        #expect(try extract(names) == "0\ncontent\n", "\(archive) \(names)")
      }
      #expect(try extract("t/a t/b") == "0\ncontent\ncontent\n", "\(archive)")
      #expect(try t.shell("stat -c %h out/t/a").text == "2\n", "\(archive)")
      #expect(try extract("") == "0\ncontent\ncontent\ncontent\n", "\(archive)")
      #expect(try extract("t/e t/f") == "0\n", "\(archive)")
      let printed = try t.shell("for n in '' t/a t/c; do $BP extract -O \(archive) $n; done")
      #expect(printed.text == "content\ncontent\ncontent\n", "\(archive) \(printed.text)")
      // Names with a content have a digest, and the last name of an empty file.
      let listed = try t.shell(
        "$BP list --digests \(archive) >sums; sha256sum -c --quiet sums; grep -c . sums")
      #expect(
        listed.text == (archive == "newc.cpio" ? "2\n" : "4\n"),
        "\(archive) \(listed.text)\(listed.errorText)")
      let same = try t.shell("$BP verify -q --against . \(archive)")
      #expect(!same.text.contains("t/"), "\(archive) \(same.text)")
      let other = try t.shell(
        "cp -a t s; printf CONTENT >t/a; touch -d @1000 t/a; $BP verify -q --against . \(archive); rm -r t; mv s t"
      )
      #expect(other.text.contains("MODIFIED"), "\(archive) \(other.text)")
    }
    // `archive` stores the content at the first name.
    let first = try t.shell(
      "rm -rf out; mkdir out; $BP archive -q -o our.cpio t; $BP extract -q -C out our.cpio t/b; echo $?; $BP extract -qO our.cpio t/b; echo $?"
    )
    #expect(
      first.text == "1\n3\n" && first.messages.count { $0.contains(": t/b: ") } == 2,
      "\(first.text)\(first.errorText)")
    let cut = try t.shell(
      "rm -rf out; mkdir out; head -c 462 newc.cpio >cut.cpio; $BP extract -q -C out cut.cpio t/a; echo $?; ls out/t"
    )
    #expect(cut.text == "5\n", "\(cut.text)")
  }

  @Test("without modes of Unix are extracted under the umask", arguments: ["022", "077", "002"])
  func modes(umask: String) throws {
    let made = try t.shell(
      #"""
      mkdir -p t/d out; echo 1 >t/f; chmod 666 t/f; chmod 777 t/d
      python3 - <<'END'
      import zipfile
      for name, system, mode in [('dos.zip', 0, 0), ('unix.zip', 3, 0o100664)]:
          with zipfile.ZipFile(name, 'w') as z:
              info = zipfile.ZipInfo('t/f'); info.create_system = system; info.external_attr = mode << 16
              z.writestr(info, b'1\n')
      END
      command -v 7z >/dev/null && (cd t && 7z a -bd -mtr=off ../x.7z . >/dev/null) || true
      """#)
    try #require(made.status == 0, "\(made.errorText)")
    let mask = try #require(Int(umask, radix: 8))
    for (archive, mode) in [
      ("dos.zip", 0o664 & ~mask), ("unix.zip", 0o664),
      ("- <unix.zip", 0o664 & ~mask),
    ] {
      let run = try t.shell(
        "rm -rf out; mkdir out; umask \(umask); $BP extract -q -C out \(archive); echo $?; stat -c %a out/t/f"
      )
      #expect(run.text == "0\n\(String(mode, radix: 8))\n", "\(archive) \(run.text)\(run.errorText)")
    }
    guard t.content("x.7z") != nil else { return }
    let run = try t.shell(
      "rm -rf out; mkdir out; umask \(umask); $BP extract -q -C out x.7z; echo $?; stat -c %a out/f out/d; $BP verify -q --against t x.7z"
    )
    let (file, folder) = (String(0o666 & ~mask, radix: 8), String(0o777 & ~mask, radix: 8))
    #expect(run.text == "0\n\(file)\n\(folder)\n", "\(run.text)\(run.errorText)")
  }
}
