import BatchCore
import BatchEngine
import Glibc
import TestSupport
import Testing

/// `--report FILE` of a run, and `report DIR` of backup sets.
@Suite(.enabled(if: Host.hasPython, "needs python3")) struct ReportTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    try t.writeTree()
  }

  /// Names that try to act as markup.
  private static let hostile: [PathBytes] = [
    "<script>alert(1)<", "\"onload='x'", "a&amp;b", "-->]]>", "new\nline\r\t", "esc\u{1b}[2J", "back\\slash",
    PathBytes([0x6e, 0xff, 0xfe, 0x80]), "\u{202e}gpj.exe", "\u{2066}x\u{2069}", "\u{5d0}\u{5d1} 12",
    "\u{feff}bom",
    PathBytes([0x6e, 0xef, 0xbf, 0xbf]),
    "<!--", "javascript:alert(1)", "{{x}}",
    "&#x3c;svg onload=x",
  ]

  private func writeHostileTree() throws {
    for name in Self.hostile { try t.file(PathBytes("h").appending(name.bytes), "x") }
    try t.shell("mkfifo $'h/<b>fifo'; ln -s nowhere $'h/\"link\"'; mkdir 'h/</td>'; echo 1 >'h/</td>/f'")
  }

  // MARK: A run

  @Test("each command that processes files writes a valid page")
  func commands() throws {
    try writeHostileTree()
    let script = #"""
      r() { name=$1; shift; "$BP" "$@" --report "$name.html" >/dev/null 2>>errors; echo $name $?; }
      r hash hash t h nowhere; "$BP" hash -q t h 2>/dev/null >m; r check check m; echo 2 >t/text; r different check m
      r compress compress --output-dir o --compress-all h t; r test test o; r decompress decompress --output-dir p o
      r cat cat o; r archive archive -o a.tar.zst t h; mkdir x; r extract extract -C x a.tar.zst; r verify verify a.tar.zst
      echo 3 >t/d/one; r against verify --against . a.tar.zst; r audit audit m .; r backup backup --to set t h
      mkdir y; r restore restore set -C y; r drill drill --all set; r missing extract -C x none.tar; r locked hash -j 2 t
      """#
    let run = try t.shell(script)
    let errors = try t.shell("cat errors").text
    let expected = """
      hash 3, check 0, different 4, compress 0, test 0, decompress 0, cat 0, archive 0, extract 0, verify 0, against 4, \
      audit 4, backup 0, restore 0, drill 0, missing 1, locked 0
      """
    #expect(
      run.text.split(separator: "\n").joined(separator: ", ") == expected, "\(errors)"
    )
    let pages = run.text.split(separator: "\n").map { String($0.prefix { $0 != " " }) + ".html" }
    #expect(try t.faults(ofPages: pages) == "")
    #expect(t.temporaries().isEmpty)
    let different = try t.text(ofPage: "different.html")
    #expect(different.contains("t/text") && different.contains("the digest differs from the recorded one"))
    #expect(try t.text(ofPage: "missing.html").contains("Fatal: nothing usable was produced."))
    let compress = try t.text(ofPage: "compress.html")
    for word in ["In", "Out", "Files", "--compress-all"] {
      #expect(compress.contains(word), "\(word)")
    }
    #expect(compress.contains { $0.hasSuffix(" % of the input") })
  }

  @Test("names are shown as plain text")
  func hostileNames() throws {
    try writeHostileTree()
    try t.shell(
      "$BP hash -q h >m; for f in h/*; do [ ! -f \"$f\" ] || [ -L \"$f\" ] || echo changed >\"$f\"; done")
    let run = try t.batchproc("check", "-q", "--report", "r.html", "m")
    #expect(run.status == 4)
    #expect(try t.faults(ofPage: "r.html") == "")
    let page = try #require(t.content("r.html").map { String(decoding: $0, as: UTF8.self) })
    #expect(!page.contains("<script") && !page.contains("\u{202e}") && !page.contains("\u{1b}"))
    for name in [
      "h/&lt;script&gt;alert(1)&lt;", "h/&quot;onload=&#39;x&#39;", "h/a&amp;amp;b", #"h/new\nline\r\t"#,
      #"h/esc\x1b[2J"#, #"h/n\xff\xfe\x80"#, #"h/\xe2\x80\xaegpj.exe"#, #"h/back\\slash"#,
    ] {
      #expect(page.contains("<bdi class=\"name\">\(name)</bdi>"), "\(name)")
    }
  }

  @Test("a page of batchproc is replaced; a link, a pipe or another file with the name is kept")
  func replacing() throws {
    let run = try t.shell(
      """
      $BP hash -q --report r.html t >rows; cp r.html first; $BP check -q --report r.html rows; echo $?; cmp -s r.html first; echo $?
      ln -s first link; $BP hash -q --report link t >/dev/null 2>&1; echo $?; [ -L link ]; echo $?
      (echo notes; cat first) >notes; cp notes copy; $BP hash -q --report notes t >/dev/null 2>&1; echo $?; cmp notes copy
      : >empty; $BP hash -q --report empty t 2>/dev/null; echo $?
      $BP backup -q --to set --report r.html --after 'echo mine >new; mv new r.html' t 2>errors; echo $?; cat r.html; cat errors
      """)
    #expect(run.text.hasPrefix("0\n1\n1\n0\n1\n1\n5\nmine\n"), "\(run.text)")
    #expect(run.text.contains("r.html: another file got this name during the run"), "\(run.text)")
    #expect(t.temporaries().isEmpty)
  }

  @Test("an existing page is refused before the run begins, and replaced with --force")
  func force() throws {
    try t.file("r.html", "old")
    let refused = try t.batchproc("hash", "--report", "r.html", "t")
    #expect(refused.status == 1 && refused.output.isEmpty && refused.messages.count == 1)
    #expect(refused.errorText.contains("r.html: cannot write the output: it exists already (--force"))
    #expect(t.content("r.html") == Array("old".utf8))
    let replaced = try t.shell(
      "ln r.html other; umask 027; $BP hash -q --force --report r.html t >/dev/null; echo $?; cat other; stat -c %a r.html"
    )
    #expect(replaced.text == "0\nold640\n")
    #expect(try t.faults(ofPage: "r.html") == "")
    #expect(t.temporaries().isEmpty)
    // A run that is refused does not change its outputs.
    try t.shell("$BP archive -q -o a.tar t; echo x >page; cp a.tar b.tar")
    #expect(try t.batchproc("archive", "--report", "page", "-o", "c.tar", "t").status == 1)
    #expect(!t.names().contains("c.tar"))
  }

  @Test("a folder in which no page can be written ends the run before it begins; a dry run writes no page")
  func places() throws {
    #expect(try t.batchproc("hash", "--report", "none/r.html", "t").status != 0)
    #expect(try t.batchproc("hash", "--report", "-", "t").status == 64)
    #expect(try t.batchproc("hash", "--report", "t", "t").status == 1)
    #expect(try t.batchproc("hash", "-n", "--report", "r.html", "t").status == 0)
    #expect(!t.names().contains("r.html"))
    let pipe = try t.shell(
      "$BP hash -q --report >(cat >piped) t >/dev/null; echo $?; until grep -qs '</html>' piped; do sleep 0.01; done"
    )
    #expect(pipe.text == "0\n")
    #expect(try t.faults(ofPage: "piped") == "")
  }

  @Test("a full device leads to status 5", .enabled(if: Host.isRoot, "makes a device"))
  func fullDevice() throws {
    try t.shell("mknod full c 1 7; chmod 666 full")
    #expect(try t.batchproc("hash", "--report", "full", "t").status == 5)
    #expect(try t.batchproc("hash", "--report", "full", "t", "nowhere").status == 5)
  }

  @Test("the page is not one of the processed files")
  func ownFile() throws {
    let plain = try t.batchproc("hash", "t")
    try t.file("t/r.html", "old")
    for _ in 0..<2 {
      let run = try t.batchproc("hash", "--force", "--report", "t/r.html", "t")
      #expect(run.output == plain.output)
    }
    let archive = try t.shell(
      """
      \(Steps.functions)
      $BP archive -q --force --report t/r.html -o a.tar t
      tar -tf a.tar | grep html | says "pages in the archive"
      $BP verify --force --report t/r.html --against . a.tar | grep html | says "differences of pages"
      """)
    archive.expectSteps(["pages in the archive": "", "differences of pages": ""])
  }

  @Test("a run that is stopped writes its page", arguments: [SIGINT, SIGTERM])
  func stopped(number: Int32) throws {
    try t.shell("mkfifo input")
    let program = try t.startShell("exec $BP hash --report r.html t - 0<>input")
    try #require(eventually { !t.temporaries().isEmpty && program.handlesSignals })
    program.signal(number)
    #expect(program.wait().ending == .signal(number))
    #expect(try t.faults(ofPage: "r.html") == "")
    let page = try t.text(ofPage: "r.html")
    #expect(page.contains("Stopped by a signal."))
    #expect(page.contains("Exit status \(128 + number)."))
    #expect(t.temporaries().isEmpty)
  }

  @Test("a run that is killed leaves no page, and the next run removes its remains")
  func killed() throws {
    try t.shell("mkfifo input")
    let program = try t.startShell("exec $BP hash --report r.html t - 0<>input")
    try #require(eventually { !t.temporaries().isEmpty && program.handlesSignals })
    program.signal(SIGKILL)
    _ = program.wait()
    #expect(!t.names().contains("r.html"))
    #expect(try t.batchproc("hash", "-q", "--report", "r.html", "t").status == 0)
    #expect(t.temporaries().isEmpty)
  }

  // MARK: The same at every concurrency

  /// The rows of a section up to the next heading.
  private func section(_ title: String, of page: [String]) -> [String] {
    let headings: Set<String> = [
      "Over time", "Differences", "Failures", "Warnings", "Skipped", "Slowest files and folders",
      "Changes of the concurrency", "Options",
    ]
    guard let start = page.firstIndex(of: title) else { return [] }
    return Array(page[(start + 1)...].prefix { !headings.contains($0) })
  }

  @Test("failures, differences and skipped files are the same at every concurrency")
  func concurrencies() throws {
    try t.shell(
      """
      mkdir w; seq 400 | awk '{ for (n = 1; n <= $1; n++) print n >("w/f" $1); close("w/f" $1) }'
      $BP compress -q --remove-source --compress-all w
      truncate -s -3 $(seq -f w/f%g.gz 3 9 400); mkfifo $(seq -f w/p%g 40)
      $BP hash -q w >m; rm $(seq -f w/f%g.gz 2 7 400); for i in $(seq 1 7 400); do echo x >>w/f$i.gz; done
      """)
    for (command, titles) in [
      ("test", ["Differences", "Skipped"]), ("check", ["Differences", "Failures"]),
      ("decompress", ["Failures", "Skipped"]),
    ] {
      var first: [[String]]?
      for concurrency in [1, 2, 7, 32] {
        let arguments =
          command == "check" ? "m" : command == "test" ? "w" : "--output-dir out\(concurrency) w"
        _ = try t.shell(
          "$BP \(command) -q -j \(concurrency) --report \(command)\(concurrency).html \(arguments)")
        let page = try t.text(ofPage: "\(command)\(concurrency).html")
        let sections = titles.map { section($0, of: page) }
        for (title, rows) in zip(titles, sections) { #expect(rows.count > 4, "\(command) \(title)") }
        if let first { #expect(sections == first, "\(command) -j \(concurrency)") } else { first = sections }
      }
    }
  }

  // MARK: Slow files

  @Test("-v names slow files and folders, and --json has lines for them")
  func slowest() throws {
    try t.shell("mkdir -p s/deep; head -c 400K /dev/urandom >s/deep/slow; echo 1 >s/quick")
    let run = try t.batchproc("backup", "-v", "--rate", "1M", "--to", "set", "s")
    #expect(run.status == 0)
    let lines = run.errorText.split(separator: "\n")
    let start = try #require(lines.firstIndex(of: "slowest files:"))
    #expect(lines[start + 1].hasSuffix(" s  \(t.root)/s/deep/slow"))
    #expect(lines[start + 2] == "slowest folders, by the files directly in them:")
    #expect(lines[start + 3].hasSuffix(" s  \(t.root)/s/deep"))
    let rows = try t.batchproc("hash", "-v", "--json", "s").text.split(separator: "\n")
    #expect(rows.count { $0.contains(#""type":"slowest""#) } == 4)
    #expect(rows.last?.contains(#""type":"summary""#) == true)
    #expect(try !t.batchproc("hash", "--json", "s").text.contains("slowest"))
  }

  // MARK: Backup sets

  private static let snapshotCount = Campaign.isFull ? 100 : 30

  @Test("many snapshots give one valid page with less than 10 kB for each")
  func snapshots() throws {
    let count = Self.snapshotCount
    try t.shell(
      "for n in $(seq \(count)); do echo $n >t/n$n; $BP backup -q --no-fsync --to set t || echo $?; done; $BP drill -q set",
      seconds: 300)
    let run = try t.batchproc("report", "-q", "set", "-o", "r.html")
    #expect(run.status == 0 && run.errors.isEmpty && run.output.isEmpty)
    #expect(t.content("r.html")?.count ?? .max < count * 10_000)
    #expect(try t.faults(ofPage: "r.html") == "")
    let page = try t.text(ofPage: "r.html")
    #expect(page.contains("1 full, \(count - 1) incremental"))
    #expect(page.count { $0 == "verified" } == count)
    #expect(page.contains { $0.hasSuffix(", no damage found") })
    // The duration of each snapshot is known, so no dash stands for an unknown one.
    #expect(!page.contains("\u{2013}"))
  }

  @Test("a page shows several sets or one by name, with unusual names, in a file or on standard output")
  func sets() throws {
    try t.shell(
      #"$BP backup -q --to 'b<x>' --name 'a<b>"c' t; $BP backup -q --no-verify --to 'b<x>' --name $'caf\303\251' t"#
    )
    let run = try t.batchproc("report", "b<x>")
    #expect(run.status == 0 && run.errors.isEmpty)
    try t.file("r.html", run.output)
    #expect(try t.faults(ofPage: "r.html") == "")
    let page = try t.text(ofPage: "r.html")
    #expect(page.contains("a<b>\"c") && page.contains("café") && page.contains("\(t.root)/b<x>"))
    #expect(page.contains("not verified"))
    let one = try t.batchproc("report", "--name", "café", "b<x>").text
    #expect(one.contains(">café</bdi>") && !one.contains("a&lt;b"))
    #expect(try t.batchproc("report", "--name", "none", "b<x>").status == 1)
    #expect(try t.batchproc("report", "t").status == 1)
    #expect(try t.batchproc("report").status == 64)
    #expect(try t.batchproc("report", "b<x>", "-o", "r.html").status == 0)
    try t.file("r.html", "notes")
    #expect(try t.batchproc("report", "b<x>", "-o", "r.html").status == 1)
    #expect(try t.batchproc("report", "--force", "b<x>", "-o", "r.html").status == 0)
  }

  @Test("missing and damaged files are on the page, and the status is 4")
  func damaged() throws {
    let run = try t.shell(
      """
      for n in 1 2 3; do echo $n >t/n$n; $BP backup -q --to set t; done; rm $(ls set/*.tar.zst | head -n 1)
      truncate -s -5 $(ls set/*.manifest.zst | tail -n 1); $BP report set -o r.html; echo $?
      """)
    #expect(run.text == "4\n")
    #expect(
      run.errorText.contains("is missing or has") && run.errorText.contains("is damaged"))
    #expect(try t.faults(ofPage: "r.html") == "")
    let page = try t.text(ofPage: "r.html")
    #expect(
      page.contains { $0.hasSuffix("cannot be restored: an archive is missing or has the wrong size.") })
    #expect(page.contains("Manifests that are not valid"))
  }
}
