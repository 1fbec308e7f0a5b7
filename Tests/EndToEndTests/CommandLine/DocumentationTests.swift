import BatchCore
import BatchEngine
import Foundation
import TestSupport
import Testing

@testable import batchproc

/// The documents agree with the program.
@Suite struct DocumentationTests {
  private let t: TreeFixture
  private static let root = Repository.root

  init() throws { t = try TreeFixture() }

  static let folder = root.path

  static func document(_ name: String) throws -> String {
    try String(contentsOf: root.appendingPathComponent(name), encoding: .utf8)
  }

  private static func options(in text: String) -> Set<String> {
    Set(text.matches(of: /(?:^|[^-\w])(--[a-z][a-z0-9-]*)/).map { String($0.output.1) })
  }

  /// Options of other programs that the documents name on the same line, and the start of some of ours.
  private static let others: Set<String> = [
    "--work", "--quick", "--allow-empty", "--adapt", "--rsyncable", "--experimental-",
  ]

  /// The help of all commands, which several tests read.
  private static let allHelp = Result {
    let t = try TreeFixture()
    let commands = CommandTable.standard.commands.map { PathBytes($0.name) }
    return try ([[]] + commands.map { [$0] }).map { try t.batchproc($0 + ["--help"]).text }.joined()
  }

  @Test("the manual has exactly the options of the help")
  func manual() throws {
    let manual = try t.batchproc("--experimental-generate-man").text.replacing("\\-", with: "-")
      .replacing(/\\f[BIRP]/, with: " ")
    let hidden: Set<String> = [
      "--experimental-generate-man", "--experimental-dump-help", "--generate-completion-script",
    ]
    let help = Self.options(in: try Self.allHelp.get())
    #expect(help.count > 30)
    #expect(help.subtracting(Self.options(in: manual)).isEmpty)
    #expect(Self.options(in: manual).subtracting(help).subtracting(hidden).isEmpty)
  }

  @Test("man shows the manual without a warning")
  func manualIsValid() throws {
    let run = try t.shell(
      """
      $BP --experimental-generate-man >b.1
      command -v man >/dev/null || exit 0
      LC_ALL=C.UTF-8 MANROFFSEQ= MANWIDTH=80 man --warnings -l b.1 2>&1 >/dev/null | head
      """)
    #expect(run.text == "")
  }

  @Test("each command has a manual page, which make install adds and make uninstall removes")
  func installation() throws {
    let page = try t.batchproc("--experimental-generate-man", "hash")
    #expect(page.text.hasPrefix(#".TH BATCHPROC\-HASH 1 "#))
    #expect(try t.batchproc("--experimental-generate-man", "hsh").status == 64)
    let make = "make -s -C '\(Self.root.path)' RELEASE='\(Host.binary)' PREFIX=/usr DESTDIR=$PWD/root"
    let install = try t.shell(
      "umask 077; \(make) install; cd root && find usr -type f ! -perm -044 && find usr -type f")
    #expect(install.status == 0, "\(install.errorText)")
    let files = Set(install.text.split(separator: "\n").map(String.init))
    let commands = try t.shell("$BP --help").text.matches(of: /\n  ([a-z]+) +[A-Z]/).map {
      String($0.output.1)
    }
    #expect(commands.count > 10)
    for command in commands { #expect(files.contains("usr/share/man/man1/batchproc-\(command).1")) }
    #expect(files.contains("usr/bin/batchproc") && files.contains("usr/share/man/man1/batchproc.1"))
    // The links of the README have targets.
    for name in [
      "docs/commands.md", "docs/json.schema.json", "samples/cron/offsite.sh", "samples/cron/backup.service",
    ] {
      #expect(files.contains("usr/share/doc/batchproc/\(name)"), "\(name)")
    }
    #expect(files.contains("usr/share/man/man5/batchproc.conf.5"))
    let removal = try t.shell("\(make) uninstall; find root -type f")
    #expect(removal.status == 0 && removal.text == "", "\(removal.errorText)")
  }

  @Test(
    "the long options of batchproc that the documents mention exist",
    arguments: [
      "README.md", "docs/commands.md", "docs/scripting.md", "docs/tuning.md", "docs/design.md",
      "docs/concurrency.md",
      "docs/security.md", "docs/backup.md", "docs/configuration.md", "docs/reports.md", "docs/cluster.md",
      "docs/README.md", "docs/glossary.md", "docs/installing.md", "docs/library.md", "docs/stability.md",
      "Sources/BatchOutputs/README.md", "Sources/BatchCore/Archiving/README.md",
      "Sources/BatchCore/Compression/README.md", "Sources/BatchCore/Hashing/README.md",
      "samples/README.md",
      "samples/cron/batchproc.cron", "samples/cron/batchproc-photos.service",
      "samples/cron/backup.cron", "samples/cron/backup.service",
    ])
  func documents(name: String) throws {
    let help = Self.options(in: try Self.allHelp.get())
    for line in try Self.document(name).split(separator: "\n") {
      let ours = line.contains("batchproc") || line.contains("`--") ? String(line) : ""
      let own = ours.split(separator: "|").filter { !$0.contains("sha256sum") && !$0.contains("systemctl") }
        .joined()
      for option in Self.options(in: own) {
        #expect(help.contains(option) || Self.others.contains(option), "\(option): \(line)")
      }
    }
  }

  @Test("the version is in the changelog and the manual, with its date")
  func version() throws {
    let text = try t.batchproc("--version").text
    let number = try #require(text.split(separator: "\n").first?.split(separator: " ").dropFirst().first)
    let title = try #require(try t.batchproc("--experimental-generate-man").text.split(separator: "\n").first)
    let date = try #require(title.firstMatch(of: /"(\d{4}-\d\d-\d\d)"/)).output.1
    #expect(title.contains("\"batchproc \(number.replacing("-", with: "\\-"))\""))
    let changelog = try Self.document("CHANGELOG.md")
    // A version that is not released yet has no heading of its own.
    let isReleased = !number.hasSuffix("-dev")
    #expect(changelog.contains("\n## [Unreleased]\n"))
    #expect(changelog.contains("\n## [\(number)] - \(date)\n") == isReleased)
    for library in ["libcrypto", "libxxhash", "zlib"] { #expect(text.contains(library + " ")) }
  }

  @Test("the page about scripts has the exit codes of the help")
  func exitCodes() throws {
    let document = try Self.document("docs/scripting.md")
    let help = try t.batchproc("hash", "--help").text
    for code in ["0", "1", "3", "4", "5", "64"] {
      #expect(document.contains("| \(code) |"))
      #expect(help.contains(try Regex("(?m)^ *\(code) +[A-Z]")), "\(code)")
    }
  }

  @Test("the README has the table of the results", .enabled(if: Host.hasPython))
  func ratios() throws {
    let run = try t.shell("python3 '\(Self.root.path)/Benchmarks/readme.py' --check")
    #expect(run.status == 0, "\(run.errorText)")
  }

  @Test("help is printed on standard output with 0, and usage errors on standard error with 64")
  func usage() throws {
    let help = try t.batchproc("hash", "--help")
    #expect(help.status == 0 && help.errors.isEmpty && help.text.contains("USAGE: "))
    let wrong = try t.batchproc("hash", "--nosuch", "x")
    #expect(wrong.status == 64 && wrong.output.isEmpty && wrong.errorText.contains("--nosuch"))
  }
}
