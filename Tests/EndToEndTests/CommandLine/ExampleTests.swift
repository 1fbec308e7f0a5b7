import BatchEngine
import Foundation
import TestSupport
import Testing

/// Runs each example of the README and of docs/, and compares its output with the page.
///
/// An example is an indented line that begins with `$ `, followed by lines that begin with `> ` if it
/// continues, and by its output. An example without output must end with 0, and its output is not compared.
/// `…` stands for any lines. One shell runs a page from top to bottom, with separate folders for `/home`,
/// `/srv` and `/mnt`. A comment `<!-- before: COMMAND -->` is run before the next example.
@Suite(.enabled(if: Host.canMount, "needs mounts"), .timeLimit(.minutes(5))) struct ExampleTests {
  struct Page: Sendable, CustomTestStringConvertible {
    let name: String
    /// Prepares the files that the page assumes, in the folder in which its examples run.
    let setup: String
    /// First lines of indented blocks that are not examples: files, and commands for the checkout of the
    /// project.
    var shown: [String] = []

    var testDescription: String { name }
  }

  private static let samples = """
    cp -r "$CHECKOUT/samples" . && samples/make-odd-names.sh && samples/make-log.sh && cp -r samples/notes samples/logs .
    mkdir -p photos/2023 /home/anna/letters; seq 900 >photos/2023/harbour.png; seq 700 >photos/2023/market.png
    for n in one two three; do echo "a letter, number $n" >/home/anna/letters/$n; done
    for n in a b; do seq 100 >/srv/$n; done; echo /srv/a >/srv/list.txt
    seq 10 >disk.iso; touch -d 2020-01-01 stamp
    """

  /// A clock that shows a night in November, for names that contain the time.
  private static let clock = """
    cat >clock.c <<'END'
    #define _GNU_SOURCE
    #include <dlfcn.h>
    #include <stdlib.h>
    #include <time.h>
    int clock_gettime(clockid_t id, struct timespec *t) {
      static int (*real)(clockid_t, struct timespec *);
      if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
      int result = real(id, t);
      if (id == CLOCK_REALTIME) t->tv_sec = atol(getenv("NOW"));
      return result;
    }
    END
    cc -shared -fPIC -o clock.so clock.c -ldl; rm ../bin/batchproc
    printf '#!/bin/sh\\nLD_PRELOAD=%s exec "%s" "$@"\\n' "$PWD/clock.so" "$BP" >../bin/batchproc; chmod +x ../bin/batchproc
    day() { export NOW=$(date -u -d "2026-11-$1T02:00" +%s); }
    for day in 15 16; do
      day $day; echo "$day" >/home/anna/letters/one; batchproc backup -q --to /mnt/backups --name home /home
    done
    day 20; rm /home/anna/letters/two; mkdir /home/bert; echo Bert >/home/bert/notes
    """

  static let pages = [
    Page(name: "README.md", setup: samples, shown: ["make demo"]),
    Page(name: "docs/commands.md", setup: samples),
    Page(name: "docs/backup.md", setup: samples + "\n" + clock, shown: [#"{"type":"snapshot","#]),
    Page(
      name: "docs/configuration.md",
      setup: """
        cp -r /etc/passwd /etc/group . ; mkdir etc; mv passwd group etc; mount --bind etc /etc
        printf '# one\\n\\n# two\\n[hash]\\nalgorithm = md5\\n' >/etc/batchproc.conf; chmod 644 /etc/batchproc.conf
        export BATCHPROC_MAX_CONCURRENCY=2
        """, shown: ["# Lines before the first section"]),
    Page(name: "docs/formats.md", setup: samples),
    Page(
      name: "docs/scripting.md",
      setup: samples
        + "\nbatchproc hash -q -o photos.sha256 photos; printf '#!/bin/sh\\ncat\\n' >../bin/mail; chmod +x ../bin/mail"
    ),
    Page(
      name: "docs/reports.md", setup: samples + "\nbatchproc backup -q --to /mnt/backups --name home /home"),
    Page(name: "docs/tuning.md", setup: "", shown: ["make bench  "]),
  ]

  struct Example {
    var command: String
    var before: [String] = []
    var output: [String] = []
  }

  /// The examples of a page, and the first lines of its other indented blocks.
  static func read(_ page: String) -> (examples: [Example], others: [String]) {
    var (examples, others, before) = ([Example](), [String](), [String]())
    var (isInBlock, isExample) = (false, false)
    var isFenced = false
    for line in page.split(separator: "\n", omittingEmptySubsequences: false) {
      if line.hasPrefix("```") { isFenced.toggle() }
      guard !isFenced, line.hasPrefix("    "), line.first(where: { $0 != " " }) != nil else {
        isInBlock = isInBlock && line.isEmpty
        if let comment = line.wholeMatch(of: /<!-- before: (.*) -->/) {
          before.append(String(comment.output.1))
        }
        continue
      }
      let text = line.dropFirst(4)
      if text.hasPrefix("$ ") {
        examples.append(Example(command: String(text.dropFirst(2)), before: before))
        before = []
        isExample = true
      } else if !isInBlock {
        others.append(String(text))
        isExample = false
      } else if isExample, text.hasPrefix("> ") {
        examples[examples.count - 1].command += "\n" + text.dropFirst(2)
      } else if isExample {
        examples[examples.count - 1].output.append(String(text))
      }
      isInBlock = true
    }
    return (examples, others)
  }

  /// A line without the parts that depend on the machine and the time.
  static func plain(_ line: some StringProtocol) -> String {
    String(line).replacing(/<64 hex digits>|\b[0-9a-f]{64}\b/, with: "<digest>")
      .replacing(/\b\d{8}T\d{6}Z\b/, with: "<id>")
      .replacing(/@\d+\.\d{9}/, with: "@time")
      // A time that changed to another minute is printed in minutes.
      .replacing(/\b\d{4}-\d\d-\d\d \d\d:\d\d -> \d{4}-\d\d-\d\d \d\d:\d\d/, with: "@time -> @time")
      .replacing(#/ \([0-9.]+ [KMG]?i?B/s\)/#, with: "")
      // The number of files that are archived again depends on the file system.
      .replacing(#/\d+ archived again: [a-z ]+, /#, with: "")
      .replacing(/[0-9.]+ ([KMG]iB|B|s|%)\b/, with: { "# \($0.output.1)" })
      .split(separator: " ").joined(separator: " ")
  }

  /// Whether the lines match the expected ones, in which `…` stands for any lines.
  private static func match(_ lines: ArraySlice<String>, _ expected: ArraySlice<String>) -> Bool {
    guard let first = expected.first else { return lines.isEmpty }
    if first == "…" {
      return (lines.startIndex...lines.endIndex).contains { match(lines[$0...], expected.dropFirst()) }
    }
    return lines.first == first && match(lines.dropFirst(), expected.dropFirst())
  }

  @Test("prints the output that the page shows", arguments: pages) func runs(_ page: Page) throws {
    let t = try TreeFixture()
    let (examples, others) = Self.read(try DocumentationTests.document(page.name))
    for line in others { #expect(page.shown.contains { line.hasPrefix($0) }, "\(page.name): \(line)") }
    for (number, example) in examples.enumerated() {
      try t.file(PathBytes("before.\(number)"), example.before.joined(separator: "\n"))
      try t.file(PathBytes("command.\(number)"), example.command)
    }
    try t.file("setup", page.setup)
    try t.file(
      "run",
      """
      shopt -s expand_aliases
      top=$PWD; mkdir -p bin place home mounts/home mounts/srv mounts/mnt && ln -s "$BP" bin/batchproc || exit 99
      for d in home srv mnt; do mount --bind mounts/$d /$d || exit 99; done
      export PATH=$PWD/bin:$PATH HOME=$PWD/place LC_ALL=C.UTF-8 TZ=UTC; cd place
      . "$top/setup" >"$top/setup.log" 2>&1
      for n in $(seq 0 \(examples.count - 1)); do
        . "$top/before.$n" >/dev/null 2>&1
        { . "$top/command.$n"; } >"$top/out.$n" 2>&1; echo $? >"$top/status.$n"
      done
      """)
    let run = try t.shell(
      "unshare -m bash ./run", environment: ["CHECKOUT": DocumentationTests.folder], seconds: 240)
    #expect(run.status == 0, "\(run.errorText)")
    for (number, example) in examples.enumerated() {
      let output = String(decoding: t.content(PathBytes("out.\(number)")) ?? [], as: UTF8.self)
      let status = String(decoding: t.content(PathBytes("status.\(number)")) ?? [], as: UTF8.self)
      guard !example.output.isEmpty else {
        #expect(status == "0\n", "\(page.name): \(example.command): \(output)")
        continue
      }
      let lines = output.split(separator: "\n").map(Self.plain)
      let expected = example.output.map(Self.plain)
      #expect(Self.match(lines[...], expected[...]), "\(page.name): \(example.command):\n\(output)")
    }
  }

  @Test("all pages with indented blocks are run")
  func allPages() throws {
    let folder = DocumentationTests.folder + "/docs"
    let names = try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasSuffix(".md") }.map
    { "docs/\($0)" }
    for name in names + ["README.md"] where !Self.pages.contains(where: { $0.name == name }) {
      let (examples, others) = Self.read(try DocumentationTests.document(name))
      #expect(examples.isEmpty && others.isEmpty, "\(name)")
    }
    #expect(try Self.read(DocumentationTests.document("README.md")).examples.count == 5)
  }

  @Test("commands for the checkout name existing targets")
  func targets() throws {
    let makefile = try DocumentationTests.document("Makefile")
    for page in ["README.md", "docs/tuning.md", "CONTRIBUTING.md"] {
      for match in try DocumentationTests.document(page).matches(of: /(?m)^    (?:sudo )?make ([a-z-]+)/) {
        #expect(
          makefile.contains("\n\(match.output.1):") || makefile.contains(" \(match.output.1) "),
          "\(match.output.0)")
      }
    }
  }
}
