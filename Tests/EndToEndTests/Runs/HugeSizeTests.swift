import TestSupport
import Testing

private enum HugeFiles {
  static let make = "mkdir t; truncate -s 9223372036854775807 t/a t/b t/c 2>/dev/null"

  /// Whether the file system of fixtures has such files, as tmpfs does.
  static let arePossible = (try? TreeFixture().shell(make).status) == 0
}

/// Sparse files of the largest size that there is; their sum is not a 64-bit number.
@Suite(.enabled(if: HugeFiles.arePossible), .timeLimit(.minutes(2))) struct HugeSizeTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    try t.shell("\(HugeFiles.make); echo x >t/d")
  }

  @Test(
    "no run traps",
    arguments: [
      "hash --progress plain t", "hash --dry-run t", "compress --progress plain --dry-run t",
      "compress -k --progress plain t", "archive --progress plain -o x.tar t", "archive --dry-run -o x.tar t",
      "backup --to set2 --dry-run t", "backup --to set2 --progress plain t", "test t", "duplicates t",
      "audit t t",
      "tune --max 1 --seconds 1s t",
    ])
  func traps(command: String) throws {
    let run = try t.shell("timeout 60 $BP \(command) >/dev/null; echo $?")
    #expect(["0\n", "1\n", "3\n", "4\n"].contains(run.text), "\(run.text)\(run.errorText)")
  }

  @Test("an archive and a backup of them are whole")
  func archive() throws {
    let run = try t.shell(
      """
      $BP archive -q -o x.tar.zst t; echo $?; $BP verify -q x.tar.zst; echo $?
      $BP backup -q --to set2 t; echo $?; $BP verify -q set2; echo $?
      """)
    #expect(run.text == "0\n0\n0\n0\n", "\(run.text)\(run.errorText)")
  }
}
