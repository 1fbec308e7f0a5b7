import BatchCore
import BatchEngine
import Glibc
import TestSupport
import Testing

/// Which files are selected and which are left out, compared with the tools that define the rules.
@Suite struct SelectionTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    try t.writeTree()
  }

  private func paths(_ arguments: PathBytes..., input: [UInt8] = []) throws -> [String] {
    let run = try t.batchproc(["hash", "-q"] + arguments, input: input)
    #expect(run.status == 0, "\(run.errorText)")
    return run.rows.map { String(decoding: $0.dropFirst(66), as: UTF8.self) }
  }

  @Test("the last matching rule decides, as in gitignore")
  func rules() throws {
    #expect(try paths("--exclude", "big", "t") == ["t/empty", "t/text", "t/d/one", "t/d/two"])
    #expect(try paths("--exclude", "*", "--include", "text", "t") == ["t/text"])
    #expect(try paths("--exclude", "d/", "t") == ["t/big", "t/empty", "t/text"])
    #expect(
      try paths("--exclude", "d/*", "--include", "two", "t") == ["t/big", "t/empty", "t/text", "t/d/two"])
    #expect(try paths("--exclude", "/one", "t") == ["t/big", "t/empty", "t/text", "t/d/one", "t/d/two"])
    #expect(try paths("--exclude", "**/one", "--exclude", "[be]*", "t") == ["t/text", "t/d/two"])
    try t.file("rules", "# comment\n\n*\n!*/\n!one\n\\!x\n")
    #expect(try paths("--exclude-from", "rules", "t") == ["t/d/one"])
    #expect(
      try paths("--exclude-from", "-", "t", input: Array("t?*\n".utf8)) == ["t/big", "t/empty", "t/d/one"])
  }

  @Test(
    "a rule may be a path as it is typed, and a rule without a match is named", arguments: [1, 2, 7, 32])
  func typed(concurrency: Int) throws {
    let run = try t.shell(
      """
      export BATCHPROC_MAX_CONCURRENCY=\(concurrency); printf 'none\\nt/text\\nnone/*\\n' >rules
      names() { sed 's/^.*  //' | tr '\\n' ' '; echo; }
      $BP hash -q --exclude t/d --exclude $PWD/t/big t | names
      (cd t; $BP hash -q --exclude ./d --exclude ../t/big . | names)
      $BP archive -q --exclude t/d -o a.tar t; tar -tf a.tar | tr '\\n' ' '; echo
      $BP backup -q --to set --exclude t/d t && $BP snapshots --digests set 2>&1 | sed 's|  .*/t/|  t/|' | names
      $BP compress -q --compress-all --exclude t/d --output-dir out t; find out -name '*.gz' | sort | tr '\\n' ' '; echo
      $BP hash --exclude nothing --exclude d --include one --exclude-from rules t 2>&1 >/dev/null | grep warning; echo $?
      $BP hash -q --exclude nothing t 2>&1 >/dev/null; echo $?
      $BP hash --json --exclude nothing t 2>/dev/null | grep unmatched | cut -d, -f1,4-
      $BP list --exclude nothing a.tar 2>&1 >/dev/null | grep warning
      $BP archive --exclude-vcs -o b.tar t 2>&1 | grep -c warning
      """)
    #expect(
      run.text
        == """
        t/empty t/text\u{20}
        ./empty ./text\u{20}
        t/ t/big t/empty t/text\u{20}
        t/big t/empty t/text\u{20}
        out/t/big.gz out/t/empty.gz out/t/text.gz\u{20}
        batchproc: warning: --exclude 'nothing' matched nothing
        batchproc: warning: --include 'one' matched nothing
        batchproc: warning: --exclude-from 'rules': these rules matched nothing: 'none', 'none/*'
        0
        0
        {"type":"unmatched_rule","option":"exclude","pattern":"nothing"}
        batchproc: warning: --exclude 'nothing' matched nothing
        0

        """, "\(run.text)\(run.errorText)")
  }

  @Test("--gitignore leaves out the files that git ignores")
  func gitignore() throws {
    let run = try t.shell(
      """
      cd t; git init -q .; rm -rf .git/*; mkdir -p b/c node_modules/x; touch a.o keep.o b/x.log b/c/y.log b/c/z node_modules/x/f
      printf '*.o\\n!keep.o\\nnode_modules/\\n/text\\n' >.gitignore; printf '*.log\\n!y.log\\n' >b/.gitignore; rm -rf .git
      $BP hash -q --gitignore . | cut -c69- | sort >../ours; git init -q .; git ls-files -co --exclude-standard | sort | cmp - ../ours
      """)
    #expect(run.status == 0, "\(run.text) \(run.errorText)")
  }

  @Test("a folder with a valid cache tag is left out")
  func caches() throws {
    try t.file("t/d/CACHEDIR.TAG", "Signature: 8a477f597d28d172789f06886806bc55\n")
    try t.file("t/e/CACHEDIR.TAG", "no signature\n")
    let taken = try paths("--exclude-caches", "t")
    #expect(!taken.contains("t/d/one"))
    #expect(taken.contains("t/e/CACHEDIR.TAG"))
    #expect(try paths("t").contains("t/d/one"))
  }

  @Test(
    "the limits of size include their value",
    arguments: [
      (["--min-size", "1"], 4), (["--max-size", "0"], 1), (["--min-size", "2", "--max-size", "2"], 2),
      (["--min-size", "13"], 2),
      (["--min-size", "1K"], 1), (["--max-size", "1M"], 5),
      (["--min-size", "200000", "--max-size", "200000"], 1),
      (["--min-size", "200001"], 0),
    ] as [([PathBytes], Int)])
  func sizes(options: [PathBytes], count: Int) throws {
    let run = try t.batchproc(["hash"] + options + ["t"])
    #expect(run.rows.count == count)
    #expect(run.status == 0)
  }

  @Test("--older-than 7d and --newer-than 7d select by modification time, in each command that walks")
  func ages() throws {
    let run = try t.shell(
      """
      mkdir l; echo old >l/old; echo new >l/new; touch -d '8 days ago' l/old; touch -d '6 days ago' l/new
      for o in '--older-than 7d' '--newer-than 7d' '--older-than 7d --newer-than 9d' '--newer-than 1h'; do
        $BP hash -q $o l | cut -c67- | tr '\\n' ' '; done; echo
      $BP hash -q l >m
      $BP check --older-than 7d m 2>/dev/null | tr '\\n' ' '
      $BP archive -q --newer-than 7d -o a.tar l
      tar -tf a.tar | tr '\\n' ' '
      $BP duplicates -n -q --older-than 7d l; $BP compress -n -q --older-than 1w l; $BP backup -n -q --older-than 7d --to set l
      export TZ=Europe/Berlin; touch -d '2026-03-29 00:00:00' l/new; touch -d '2026-03-28 23:59:59' l/old
      $BP hash -q --older-than 2026-03-29 l | cut -c67-; $BP hash -q --newer-than '2026-03-28 23:59:59' l | cut -c67-
      $BP hash -q --older-than @1774738800 l | cut -c67-
      for o in '--older-than x' '--older-than 1.5h' '--newer-than 2026-02-30' '--older-than 7d --newer-than 7d' '--older-than 2020'; do
        $BP hash -q $o l 2>/dev/null; echo $?; done
      """)
    #expect(
      run.text == """
        l/old l/new l/old\u{20}
        l/old: OK l/ l/new l/old
        l/old.gz
        \(t.root.description.dropFirst())/l
        \(t.root.description.dropFirst())/l/old
        l/old
        l/new
        l/old
        64
        64
        64
        64
        64

        """, "\(run.text)\(run.errorText)")
  }

  @Test("a plan stores the current time, so that all shards select the same files")
  func plannedAge() throws {
    let run = try t.shell(
      """
      mkdir l; for i in 1 2 3 4; do echo $i >l/$i; touch -d "$i days ago" l/$i; done
      $BP plan -q --shards 2 --out p -- hash --older-than 36h l; touch -d 'now' l/4
      for i in 0 1; do $BP hash -q --plan p --shard $i >/dev/null 2>&1; done
      grep -o 'older-than=@[0-9]*' p/plan.json | wc -l; $BP hash --older-than 36h --plan p --shard 0 2>&1 | head -1
      """)
    #expect(
      run.text.hasPrefix("1\nbatchproc: the plan fixes --older-than: it has '@"),
      "\(run.text)\(run.errorText)")
  }

  @Test("paths are read from lists, by lines or NUL, in their order")
  func lists() throws {
    try t.file("lines", "t/text\nt/d\n\nt/big")
    #expect(try paths("--files-from", "lines") == ["t/text", "t/d/one", "t/d/two", "t/big"])
    #expect(try paths("t/empty", "--files-from", "lines").first == "t/empty")
    try t.file("zeros", Array("t/text\0t/d/two\0".utf8))
    #expect(try paths("--files0-from", "zeros") == ["t/text", "t/d/two"])
    #expect(try paths("--files0-from", "-", input: Array("t/text\0t/big".utf8)) == ["t/text", "t/big"])
    #expect(
      try paths("--files-from", "-", "--files0-from", "zeros", input: Array("t/big\n".utf8)) == [
        "t/big", "t/text", "t/d/two",
      ])
    #expect(try paths("--files-from", "/dev/null") == [])
  }

  @Test("find and hash select the same files through a pipe")
  func find() throws {
    for name in NameTests.nasty { try t.file(PathBytes("n").appending(name.bytes), name.bytes) }
    let run = try t.shell(
      "find n -type f -print0 | $BP hash -q --files0-from - >m; echo $?; sha256sum -c --quiet m; wc -l <m")
    #expect(run.text == "0\n\(NameTests.nasty.count)\n")
  }

  @Test("a list that is still being written is read to its end")
  func slowList() throws {
    try t.shell("mkfifo list")
    let program = try t.startShell("$BP hash -q --files0-from - <list | cut -c67-")
    let writer = t.path("list").withCString { open($0, O_RDWR | O_CLOEXEC) }
    try #require(writer >= 0)
    for name in ["t/text", "t/big", "t/empty"] {
      try #require(write(writer, name + "\0", name.utf8.count + 1) == name.utf8.count + 1)
      #expect(eventually { t.isEmpty("list") })
    }
    close(writer)
    let run = program.wait()
    #expect(run.text == "t/text\nt/big\nt/empty\n", "\(run.text)")
  }

  @Test("a list that cannot be read is fatal, and a missing path in it is not")
  func badLists() throws {
    #expect(try t.batchproc("hash", "--files-from", "nosuch").status == 1)
    #expect(try t.batchproc("hash", "--files-from", "t").status == 1)
    #expect(try t.batchproc("hash", "--exclude-from", "nosuch", "t").status == 1)
    try t.file("lines", "t/nosuch\nt/text\n")
    let run = try t.batchproc("hash", "--files-from", "lines")
    #expect(run.status == 3)
    #expect(run.rows.count == 1)
    #expect(try t.batchproc("hash", "--files-from", "-", "-").status == 64)
  }

  @Test(
    "check with filters selects the files that a walk would select",
    arguments: [
      ["--exclude", "big"], ["--exclude", "*", "--include", "text"], ["--exclude", "d/"],
      ["--exclude", "/d/*", "--include", "two"], ["--include", "t*"], ["--exclude-from", "rules"],
      ["--gitignore"], ["--exclude-caches"], ["--gitignore", "--exclude-caches", "--exclude", "*.c"],
      ["--min-size", "3"], ["--max-size", "2"], ["-x"],
    ])
  func checked(selection: [String]) throws {
    try t.file("t/d/.gitignore", "*.log\n!keep.log\n")
    try t.file("t/d/e/a.log", "1")
    try t.file("t/d/e/keep.log", "2")
    try t.file("t/d/e/f/a.c", "3")
    try t.file("t/f/CACHEDIR.TAG", "Signature: 8a477f597d28d172789f06886806bc55\n")
    try t.file("t/f/g/cached", "4")
    try t.file("rules", "*.c\n/d/e/*\n!keep*\n")
    let options = selection.map { $0 == "rules" ? "../rules" : $0 }.joined(separator: " ")
    let run = try t.shell(
      """
      set -f; cd t; $BP hash -q . | shuf --random-source=<(yes) >../all; $BP hash -q \(options) . | cut -c67- | sort >../walked
      $BP check \(options) ../all | sed 's/: OK$//' | sort >../checked; diff ../walked ../checked && wc -l <../walked
      """)
    #expect(run.status == 0, "\(run.text) \(run.errorText)")
    #expect(run.text != "0\n")
  }

  @Test("an excluded entry is not reported as missing, and folder rules match the names in the manifest")
  func checkedMissing() throws {
    try t.shell("$BP hash -q t >m; rm t/text t/d/one")
    let run = try t.batchproc("check", "--exclude", "text", "--exclude", "/t/d/", "m")
    #expect(run.status == 0, "\(run.errorText)")
    #expect(run.text == "t/big: OK\nt/empty: OK\n")
    #expect(try t.batchproc("check", "-C", "t/..", "--exclude", "*", "m").status == 4)
  }

  @Test("a dry run names the files to read, and reads none")
  func dryRun() throws {
    try t.shell("chmod 0 t/big; mkfifo t/fifo")
    let run = try t.batchproc("hash", "--dry-run", "--exclude", "text", "-o", "m", "t")
    #expect(run.status == 0)
    #expect(run.text == "t/big\nt/empty\nt/d/one\nt/d/two\n")
    #expect(!t.exists("m"))
    try t.shell(
      "chmod 644 t/big; $BP hash -q t >m; printf 'x\\n' >>m; gzip -k t/text; rm t/d/one; chmod 0 t/big")
    let check = try t.batchproc("check", "--dry-run", "--exclude", "two", "m")
    #expect(check.status == 3)
    #expect(check.text == "t/big\nt/empty\nt/text\n")
    #expect(check.errorText.contains("t/d/one: ") && check.errorText.contains("would check 3 files"))
    let test = try t.batchproc("test", "--dry-run", "--include", "*.gz", "t")
    #expect(test.status == 0)
    #expect(test.text == "t/text.gz\n")
    let compress = try t.batchproc("compress", "--dry-run", "--json", "t")
    #expect(compress.status == 0)
    #expect(compress.rows.count { $0.starts(with: #"{"type":"file""#.utf8) } == 3)
    #expect(!t.exists("t/empty.gz"))
  }

  @Test("check reads the names of its manifests from lists")
  func checkLists() throws {
    let run = try t.shell("$BP hash -q t >m; echo m >lines; $BP check -q --files-from lines; echo $?")
    #expect(run.text == "0\n")
  }

  @Test("an invalid load is refused, and a load below the limit does not hold the run")
  func maximalLoad() throws {
    #expect(try t.batchproc("hash", "--max-load", "0", "t").status == 64)
    #expect(try t.batchproc("hash", "--max-load", "nan", "t").status == 64)
    #expect(try t.batchproc("hash", "--max-load", "1000000", "t").status == 0)
  }

  @Test(
    "special files are a warning or a failure when the policy says so",
    arguments: [("warn", 0), ("fail", 3)] as [(PathBytes, Int32)])
  func specialPolicy(action: PathBytes, status: Int32) throws {
    try t.shell("mkfifo t/fifo")
    let run = try t.batchproc("hash", "--on", PathBytes("special=\(action)"), "t")
    #expect(run.status == status)
    #expect(run.messages.count == 1)
    #expect(run.errorText.contains("t/fifo: is a FIFO"))
  }

  @Test(
    "an invalid policy is a usage error",
    arguments: [
      "special", "special=", "=ok", "nothing=ok", "special=maybe", "special=retry", "special=retry:0",
      "special=retry:-1",
      "special=retry:99999999999999999999",
    ])
  func badPolicy(policy: PathBytes) throws {
    #expect(try t.batchproc("hash", "--on", policy, "t").status == 64)
  }
}
