import BatchEngine
import Glibc

extension TreeFixture {
  /// Where trees are kept during a run of the tests; nil if this process was not started by
  /// `scripts/run-tests.py`, which removes them.
  private static let kept = getenv("BATCHPROC_TEST_TREES").map { PathBytes(String(cString: $0)) }

  /// Fills the fixture with a tree that many tests use. The tree is made once in a run of the tests, and then
  /// copied.
  package func copy(_ name: PathBytes, make: (TreeFixture) throws -> Void) throws {
    guard let kept = Self.kept else { return try make(self) }
    let model = kept.appending(name.bytes)
    if model.withCString({ access($0, F_OK) }) != 0 {
      let made = try TreeFixture()
      try make(made)
      // Another process may make the same tree, and rename it first.
      let unfinished = PathBytes("\(model).\(getpid())")
      try Self.copy(made.root, to: unfinished)
      guard
        unfinished.withCString({ from in model.withCString { Glibc.rename(from, $0) } }) == 0
          || errno == EEXIST || errno == ENOTEMPTY
      else { throw BatchError.syscall("rename", errno: errno, path: unfinished) }
    }
    try Self.copy(PathBytes("\(model)/."), to: root)
  }

  private static func copy(_ from: PathBytes, to target: PathBytes) throws {
    let copied = try Outcome(of: ["cp", "-a", "--", from, target])
    guard copied.status == 0 else { throw BatchError(.invalid, copied.errorText, path: from) }
  }
}
