import BatchCore
import BatchEngine
import TestSupport
import Testing

/// `check`, compared with `sha256sum --check`: the rows are the same, and so is the judgement of each line,
/// except that an invalid row counts as a difference.
@Suite struct CheckTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    try t.writeTree()
    try t.shell("sha256sum t/text t/big t/empty t/d/one t/d/two >m")
  }

  @Test(
    "rows and exit codes are those of coreutils, with 4 in place of 1",
    arguments: [
      "true", "echo changed >t/text", "rm t/text", "rm t/text; echo changed >t/big", "rm -r t",
      "chmod 0 t/text",
      "rm t/text; mkdir t/text", "mv t/d t/e", "rm t/text; ln -s big t/text",
      "rm t/text; ln -s nowhere t/text",
    ])
  func outcomes(change: String) throws {
    let run = try t.shell(
      """
      \(change)
      for options in "" --quiet --status --ignore-missing "--quiet --ignore-missing"; do
        $BP check $options m >ours; ours=$?; LC_ALL=C sha256sum --check $options m >theirs; echo "$ours $?"
        cmp ours theirs || echo "rows differ with $options"
      done
      """)
    let codes = run.text.split(separator: "\n")
    #expect(codes.count == 5, "\(run.text)\(run.errorText)")
    let isDirectory = change.contains("mkdir t/text")
    let usual: [Substring] = ["0 0", isDirectory ? "3 1" : "4 1"]
    #expect(codes.allSatisfy { usual.contains($0) }, "\(codes)")
  }

  /// Lines that coreutils treats as rows, and lines that it does not.
  private static let lines: [String] = [
    "DIGEST  t/text", "DIGEST *t/text", "DIGEST t/text", "DIGEST\tt/text", " DIGEST  t/text",
    "\tDIGEST  t/text",
    "DIGEST  t/text\r", "DIGEST  t/text\r\r", "DIGEST   t/text", "DIGEST", "DIGEST  ", "DIGEST ", "", " ",
    "\r", "#DIGEST  t/text",
    "# comment", "\\DIGEST  t/text", "\\DIGEST  t\\/text", "\\DIGEST  t/te\\\\xt",
    "\\DIGEST  t/text\\", "\\\\DIGEST  t/text", "UPPER  t/text", "0DIGEST  t/text", "DIGESTg  t/text",
    "zz8ea1f6b7e2ff0c1da1b0c0bdf0e2dd4b6f5a7c6f0b8b6a3b2f5a4d8e7c6b5aa  t/text", "DIGEST  ../x/t/text",
    "DIGEST  ./t/text",
    "DIGEST  /nosuch", "DIGEST  t//text", "SHA256 (t/text) = DIGEST", "SHA256(t/text)= DIGEST",
    "SHA256 (t/text) =DIGEST",
    "SHA256 (t/text)  = DIGEST", "SHA256 (t/text = DIGEST", "sha256 (t/text) = DIGEST",
    "SHA256 (t/text) = UPPER",
    "SHA256 (t/text) = DIGEST ", "SHA1 (t/text) = DIGEST", "nonsense", "d41d8cd98f00b204e9800998ecf8427e",
    "=", "()",
    "\\SHA256 (t/text) = DIGEST", "DIGEST ?t/text", "-", "DIGEST  t/nosuch",
  ]

  @Test("no file was verified if one list names only missing files and another cannot be read")
  func withoutProof() throws {
    let run = try t.shell(
      """
      echo "$(printf x | sha256sum | cut -c-64)  none" >gone; $BP check --ignore-missing gone nofile; echo $?
      $BP check --ignore-missing gone; echo $?
      """)
    #expect(run.text == "4\n4\n", "\(run.errorText)")
    #expect(run.messages.count { $0.hasSuffix("no file was verified") } == 2, "\(run.errorText)")
  }

  @Test("each line is judged as coreutils judges it")
  func judgement() throws {
    for (number, line) in Self.lines.enumerated() { try t.file(PathBytes("given/\(number)"), line) }
    let run = try t.shell(
      """
      # coreutils 9.5 and later escape names here like we do; earlier versions print a name without a newline
      # unchanged.
      plain() { sed -e 's/^\\\\//' -e 's/\\\\r/\\r/g' -e 's/\\\\\\\\/\\\\/g' $1; }
      # judge STATUS STATUS: prints ours and theirs unless they say the same.
      judge() { case "$1 $2" in '0 0'|'4 1') ;; *) echo "line $number$after: $1 $2" ;; esac; }
      mkdir x; ln -s ../t x/t; digest=$(sha256sum <t/text | cut -c1-64)
      for number in $(seq 0 \(Self.lines.count - 1)); do
        line=$(cat given/$number; echo .)
        line=${line//DIGEST/$digest}; line=${line//UPPER/${digest^^}}
        for after in "" " after another"; do
          head=; [ -z "$after" ] || head="$digest  t/text"$'\\n'
          printf '%s%s\\n' "$head" "${line%.}" >lines
          $BP check --ignore-malformed lines >ours 2>errors; ours=$?
          LC_ALL=C sha256sum --check lines >theirs 2>>errors; judge $ours $?
          cmp -s ours theirs || cmp <(plain ours) <(plain theirs) || { echo "line $number$after"; cat ours theirs errors; }
          $BP check --strict --ignore-malformed -q lines >/dev/null 2>&1; ours=$?
          sha256sum --check --strict lines >/dev/null 2>&1; judge $ours $?
        done
      done
      echo end
      """)
    #expect(run.text == "end\n", "\(run.text) \(run.errorText)")
  }

  @Test(
    "an invalid row is named with its line number, and the exit code is 4 even when that of coreutils is 0",
    arguments: [
      "gnu": "sha256sum t/*", "bsd": "sha256sum --tag t/*", "hashdeep": "hashdeep -c sha256 -l t/*",
      "mtree": "bsdtar -cf - --format=mtree --options=sha256 t/big t/empty t/text",
      "json": "$BP hash -q --format json t/big t/empty t/text",
    ])
  func malformed(form: String, command: String) throws {
    let run = try t.shell(
      """
      rm -r t/d; \(command) >lines; tac lines | sed -n 2p | grep -oE '[0-9a-f]{64}' >digest; digest=$(cat digest)
      number=$(grep -n $digest lines | cut -d: -f1); echo changed >$(sed -n ${number}p lines | grep -oE 't/[a-z]+')
      $BP check -q lines >rows 2>/dev/null; echo $? $(wc -l <rows)
      for damage in "s/$digest/${digest%?}/" "s/$digest/${digest%?}g/" "s/${digest:60}/\\x00${digest:61}/" "s/$digest//"; do
        sed "${number}$damage" lines >bad
        for j in 1 2 7 32; do
          $BP check -q -j $j bad >rows 2>errors; echo $? $(wc -l <rows) $(grep -c "^batchproc: bad: line $number: " errors)
        done
        $BP check -q --ignore-malformed bad >rows 2>errors; echo $? $(wc -l <rows) $(grep -c 'line [0-9]' errors)
      done
      """)
    let each = Array(repeating: "4 0 1\n", count: 4).joined() + "0 0 0\n"
    #expect(run.text == "4 1\n" + Array(repeating: each, count: 4).joined(), "\(run.text)\(run.errorText)")
  }

  @Test(
    "a signed manifest, a byte order mark and text before the rows give 0 and a warning, as with coreutils")
  func text() throws {
    let run = try t.shell(
      """
      { echo '-----BEGIN PGP SIGNED MESSAGE-----'; echo 'Hash: SHA256'; echo; cat m
        echo '-----BEGIN PGP SIGNATURE-----'; echo; echo iQIzBAEBCAAdFiEEtest+/AAAA; echo =aBcD
        echo '-----END PGP SIGNATURE-----'; } >signed
      { echo 'Files of version 1.2'; echo; echo SHA256:; cat m; echo MD5:; md5sum t/big; } >announced
      for file in signed announced; do
        $BP check $file 2>ours; echo $?; LC_ALL=C sha256sum -c $file 2>&1 >/dev/null | sed 's/.*WARNING: //' >theirs
        sed -n 's/.*warning: //p' ours | cmp - theirs && echo same
      done
      { printf '\\xef\\xbb\\xbf'; cat m; } >marked; $BP check marked 2>&1 | head -6
      """)
    let rows = ["text", "big", "empty", "d/one", "d/two"].map { "t/\($0): OK\n" }.joined()
    #expect(run.text.hasPrefix(rows + "0\nsame\n" + rows + "t/big: OK\n"), "\(run.text)")
    #expect(run.text.contains("\n0\n") && run.text.contains(rows + "checked 5 files"), "\(run.text)")
  }

  @Test("lines of several forms can be mixed, and --warn names each bad one with its number")
  func mixed() throws {
    try t.file(
      "lines",
      "nonsense\n" + String(decoding: t.content("m") ?? [], as: UTF8.self)
        + "zz  t/text\n# comment\n\nMD5 (t/empty) = d41d8cd98f00b204e9800998ecf8427e\n")
    let run = try t.batchproc("check", "--warn", "lines")
    #expect(run.status == 4)
    #expect(run.rows.count == 6)
    #expect(run.messages.contains { $0.hasPrefix("batchproc: warning: lines: line 1: ") }, "\(run.errorText)")
    #expect(run.messages.contains { $0.hasPrefix("batchproc: lines: line 7: ") }, "\(run.errorText)")
    #expect(run.messages.contains("batchproc: warning: 2 lines are improperly formatted"))
    let tolerant = try t.batchproc("check", "--ignore-malformed", "lines")
    #expect(tolerant.status == 0)
    #expect(tolerant.messages == ["batchproc: warning: 2 lines are improperly formatted"])
    #expect(try t.batchproc("check", "--strict", "--ignore-malformed", "lines").status == 4)
  }

  @Test(
    "a manifest without a valid line verifies nothing",
    arguments: [
      "", "\n", "\n\n\n", "# only a comment\n", "nonsense\n", "\0\0\0\n", "\u{feff}\n", "\r\n",
      "%%%% HASHDEEP-1.0\n", "#mtree\n", "{}\n",
    ])
  func nothing(content: String) throws {
    try t.file("lines", content)
    let run = try t.batchproc("check", "lines")
    #expect(run.status == 4)
    #expect(run.output.isEmpty)
    #expect(run.errorText.contains("no properly formatted checksum lines found"))
    #expect(try t.batchproc("check", "-", input: Array(content.utf8)).status == 4)
  }

  @Test(
    "each manifest without a valid line is named, and the code is 4, also when other manifests are verified")
  func nothingInOne() throws {
    let run = try t.shell(
      """
      : >none; echo words >words
      for m in "m none" "m words" "none m"; do
        $BP check $m >ours 2>messages; echo $? $(sha256sum -c $m 2>/dev/null | cmp - ours && grep -c ': no properly' messages)
      done
      $BP check -q --exclude '*' m 2>&1
      """)
    #expect(run.text == "4 1\n4 1\n4 1\nbatchproc: warning: no file was verified\n", "\(run.errorText)")
  }

  @Test("rows with newlines, carriage returns and backslashes in names are those of sha256sum")
  func escapedRows() throws {
    let run = try t.shell(
      """
      mkdir e; cd e; touch 'a\\b' $'c\\rd' $'e\\nf' $'g\\n\\\\h'; sha256sum -- * >../e.m
      $BP check ../e.m | cmp - <(sha256sum -c ../e.m); echo $?
      """)
    #expect(run.text.hasPrefix("0\n"), "\(run.errorText)")
  }

  @Test("standard input is compared with each algorithm that a row fits, and is no file of mtree")
  func standardInputOfOneRow() throws {
    let run = try t.shell(
      """
      b2sum <t/big >b; $BP check b <t/big
      mkdir v; cd v; echo a >./-; $BP hash -q --format mtree . >../v.m; $BP check ../v.m </dev/null
      echo b >./-; echo a | $BP check -q ../v.m; echo $?
      """)
    #expect(run.text == "-: OK\n./-: OK\n./-: FAILED\n4\n", "\(run.text)\(run.errorText)")
  }

  @Test("a line with a NUL byte is malformed")
  func nul() throws {
    let run = try t.shell("sed 's,t/big,t/\\x00big,' m >lines; $BP check lines")
    #expect(run.status == 4)
    #expect(run.rows.count == 4)
    #expect(run.errorText.contains("lines: line 2: "), "\(run.errorText)")
  }

  @Test("a line of 100 MB needs little memory, and the lines around it are read")
  func longLine() throws {
    let run = try t.shell(
      """
      (cat m; head -c 100M /dev/zero | tr '\\0' 'a'; echo; cat m) >lines
      /usr/bin/time -f '%M KiB' $BP check -w -j 1 lines; echo $?; rm lines
      """)
    #expect(run.rows.count == 11, "\(run.text)")
    #expect(run.text.hasSuffix("\n4\n"))
    #expect(run.errorText.contains("lines: line 6: a line of more than"), "\(run.errorText)")
    let memory = run.errorText.split(separator: "\n").last { $0.hasSuffix(" KiB") }?.dropLast(4)
    #expect(Int(memory ?? "") ?? .max < 60_000, "\(run.errorText)")
  }

  @Test("manifests with CRLF line ends are verified, as with coreutils")
  func carriageReturns() throws {
    #expect(
      try t.shell("sed 's/$/\\r/' m | $BP check - | cmp - <(sed 's/$/\\r/' m | sha256sum -c)").status == 0)
  }

  @Test("-C changes the folder of relative names, but not of absolute ones")
  func directory() throws {
    let run = try t.shell(
      """
      mkdir copy; mv t copy; $BP check -C copy m; echo $?; $BP check -C copy - <m >/dev/null; echo $?
      sha256sum $PWD/copy/t/text >a; $BP check -q -C /nonexistent a; echo $?; $BP check -q -C /nonexistent m; echo $?
      """)
    #expect(run.rows.prefix(5).allSatisfy { $0.suffix(4).elementsEqual(": OK".utf8) })
    #expect(run.text.contains("\n0\n0\n0\n"), "\(run.text)")
    #expect(run.text.hasSuffix("\n4\n"))
  }

  @Test("when manifests cannot be read, the code is 1 for all and 3 for some, and a difference is 4")
  func unreadableManifests() throws {
    #expect(try t.batchproc("check", "nosuch").status == 1)
    #expect(try t.batchproc("check", "nosuch", "nor this").status == 1)
    #expect(try t.batchproc("check", "t").status == 1)
    let some = try t.batchproc("check", "nosuch", "m")
    #expect(some.status == 3)
    #expect(some.rows.count == 5)
    #expect(some.messages == ["batchproc: nosuch: cannot open: No such file or directory"])
    try t.file("t/text", "changed")
    #expect(try t.batchproc("check", "nosuch", "m").status == 4)
  }

  @Test("--ignore-missing fails when no entry is left to verify")
  func nothingVerified() throws {
    try t.shell("rm -r t")
    let run = try t.batchproc("check", "--ignore-missing", "m")
    #expect(run.status == 4)
    #expect(run.messages == ["batchproc: warning: no file was verified"])
  }

  @Test(
    "digests whose length fits several algorithms are verified with the right one",
    arguments: [
      ("blake2b", "b2sum"), ("sha512", "sha512sum"), ("sha256", "sha256sum"), ("sha3-256", ""),
      ("sha3-512", ""), ("md5", "md5sum"),
      ("xxh128", ""), ("xxh3", ""), ("crc32", ""), ("sha1", "sha1sum"),
    ])
  func ambiguous(algorithm: String, tool: String) throws {
    // An xxh128 digest is as long as an MD5 digest. The fast checksum is tried only on request.
    let named = algorithm == "xxh128" ? "-a xxh128" : ""
    let run = try t.shell(
      """
      $BP hash -q -a \(algorithm) t >lines; $BP check -q \(named) lines; echo $?; $BP check -q -a \(algorithm) lines; echo $?
      $BP hash -q -a \(algorithm) -z t | $BP check -q \(named) -z -; echo $?
      echo x >>t/text; $BP check \(named) lines 2>/dev/null | grep -v OK; $BP check -q \(named) lines >/dev/null 2>&1; echo $?
      """)
    #expect(run.text == "0\n0\n0\nt/text: FAILED\n4\n", "\(run.text)")
  }

  @Test(
    "check reads each form that hash writes, with any names",
    arguments: ["gnu", "bsd", "hashdeep", "mtree", "json"])
  func forms(form: String) throws {
    // The rows of hashdeep end at a newline, also within a name.
    for name in NameTests.nasty
    where form != "hashdeep" || !name.bytes.contains(where: { [0x0a, 0x0d].contains($0) }) {
      try t.file(PathBytes("n").appending(name.bytes), name.bytes)
    }
    let run = try t.shell(
      "$BP hash -q --format \(form) n >lines; echo $?; $BP check lines | grep -c ': OK$'; $BP check -q lines; echo $?"
    )
    let count = t.names(in: "n").count
    #expect(run.text == "0\n\(count)\n0\n", "\(run.errorText)")
  }

  @Test("an entry for - is standard input")
  func standardInput() throws {
    try t.shell("sha256sum <t/big >lines")
    #expect(try t.batchproc("check", "lines", input: t.content("t/big") ?? []).text == "-: OK\n")
    #expect(try t.batchproc("check", "lines", input: [1]).status == 4)
  }

  @Test("a special file named in a manifest is not read", arguments: ["fifo", "/dev/zero", "t"])
  func special(name: String) throws {
    let run = try t.shell("mkfifo fifo; sed 's,t/big,\(name),' m >lines; $BP check lines")
    #expect(run.status == 3)
    #expect(run.text.contains("\(name): FAILED open or read\n"))
    #expect(run.rows.count == 5)
  }

  @Test("rows are printed as soon as they are known")
  func rowsComeEarly() throws {
    let run = try t.shell(
      """
      mkfifo input rows; $BP hash -q --stride 1 t - 0<>input >rows & pid=$!
      exec 8<rows; read -r row <&8; echo "${row:66}"; kill $pid; wait $pid; echo $?
      """, seconds: 30)
    #expect(run.text == "t/big\n143\n")
  }
}
