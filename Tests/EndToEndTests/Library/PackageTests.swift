import BatchEngine
import Foundation
import TestSupport
import Testing

/// The packages that `make deb` and `make dist` build.
@Suite(.serialized) struct PackageTests {
  private let t: TreeFixture
  private static let root = Repository.root.path
  private static let hasDebianTools =
    (try? Outcome(shell: "command -v dpkg-deb && command -v dpkg-shlibdeps"))?.status == 0

  init() throws { t = try TreeFixture() }

  private func package(_ kind: String) throws -> String {
    let run = try t.shell("'\(Self.root)/scripts/package.sh' \(kind) \"$BP\"", seconds: 120)
    try #require(run.status == 0, "\(run.errorText)")
    return String(run.text.dropLast())
  }

  @Test(
    "the Debian package can be unpacked, and its program, files and checksums are right",
    .enabled(if: hasDebianTools && Campaign.isFull, "needs Debian's tools; a part of the campaign"))
  func debian() throws {
    let file = try package("deb")
    let install = try t.shell(
      """
      mkdir root && dpkg-deb -x '\(file)' root && dpkg-deb -e '\(file)' control && cat control/conffiles
      root/usr/bin/batchproc --version | head -1; cat control/control
      (cd root && md5sum --quiet -c ../control/md5sums) && find root -perm /022 ! -type l
      """)
    #expect(install.status == 0, "\(install.errorText)")
    let version = try t.batchproc("--version").text.split(separator: "\n").first ?? ""
    #expect(install.text.hasPrefix("/etc/batchproc.conf\n\(version)\n"))
    #expect(install.text.contains("\nVersion: \(version.split(separator: " ").dropFirst().first ?? "")\n"))
    #expect(!install.text.contains("root/"))
    for name in ["lib/systemd/system/batchproc@.service", "usr/share/man/man1/batchproc-hash.1.gz"] {
      #expect(t.exists(PathBytes("root/\(name)")))
    }
    let unit = try t.shell(
      """
      grep ^ExecStart= 'root/lib/systemd/system/batchproc@.service'; echo a >a; mkdir set
      root/usr/bin/batchproc schedule --systemd --to set a | sed -n 's/^ExecStart=\\([^ ]* backup .*\\)/\\1/p' >start; cut -d ' ' -f 1 start
      sh start; echo $?
      """)
    #expect(
      unit.text.hasPrefix("ExecStart=/usr/bin/batchproc --profile %i\n")
        && unit.text.hasSuffix("/root/usr/bin/batchproc\n0\n"),
      "\(unit.text)\(unit.errorText)")
    // A debug build looks for the Swift libraries in the folder of the compiler.
    let lint = try t.shell(
      "command -v lintian >/dev/null || exit 0; lintian --no-cfg '\(file)' 2>/dev/null | grep '^[EW]:' | grep -v RUNPATH"
    )
    #expect(lint.text == "")
  }

  @Test("the tarball has a valid manifest")
  func tarball() throws {
    let file = try package("dist")
    let check = try t.shell(
      """
      set -e
      tar -xf '\(file)'
      cd batchproc-*
      sha256sum -c --quiet SHA256SUMS
      bin/batchproc --version
      find . -type f | wc -l
      wc -l <SHA256SUMS
      """)
    #expect(check.status == 0, "\(check.errorText)")
    let counts = check.text.split(separator: "\n").suffix(2).compactMap { Int($0) }
    #expect(counts.count == 2 && counts[0] == counts[1] + 1)
  }
}
