import BatchEngine
import TestSupport
import Testing

/// In each row of docs/coming-from.md, the stock command and ours leave the same files and print the same.
@Suite("docs/coming-from.md", .timeLimit(.minutes(2))) struct ComingFromTests {
  /// The two commands of a row of the page.
  struct Pair: Sendable, CustomTestStringConvertible {
    let theirs: String
    let ours: String

    var testDescription: String { "\(theirs) | \(ours)" }
  }

  static let pairs = page.filter { !$0.theirs.hasPrefix("restic") }

  private static let page: [Pair] = {
    let text = (try? DocumentationTests.document("docs/coming-from.md")) ?? ""
    return text.split(separator: "\n").filter { $0.hasPrefix("| `") }.compactMap { row -> Pair? in
      let cells = row.split(separator: "`").filter { !$0.allSatisfy { " |".contains($0) } }
      guard cells.count == 2 else { return nil }
      let plain = cells.map { $0.replacing("\\|", with: "|") }
      return Pair(theirs: String(plain[0]), ours: String(plain[1]))
    }
  }()

  /// Prints names, modes, times and decompressed contents of a folder.
  private static let state = #"""
    state() {
      find . -mindepth 1 -printf '%y %m %P\n' | sort
      find . -type f | sort | while read -r f; do
        case $f in
        *.tar|*.tgz|*.txz|*.tar.zst) tar -tvf "$f" | sed 's/^\(.*\) [0-9-]* [0-9:]* /\1 /; s/  */ /g' | sort; tar -xOf "$f" | wc -c ;;
        *.gz|*.z) gzip -dc <"$f" | sha256sum ;;
        *.zst) zstd -qdc "$f" | sha256sum ;;
        *.xz) xz -dc "$f" | sha256sum ;;
        *) sha256sum <"$f" ;;
        esac
      done
    }
    """#

  @Test("has the expected number of rows") func hasRows() {
    #expect(Self.pairs.count > 55)
  }

  @Test("a row's two commands give the same result", arguments: pairs) func row(_ pair: Pair) throws {
    let t = try TreeFixture()
    let run = try t.shell(
      Self.state + "\n" + #"""
        command -v "${THEIRS%% *}" >/dev/null || { echo same; exit; }
        mkdir start; cd start
        mkdir -p d/sub d/.git out; seq 3000 >a; seq 200 >b; seq 99 >d/one; seq 5 >d/x.log; seq 1000 >d/sub/two; seq 3 >d/.git/HEAD
        ln -s one d/link; chmod 600 b; touch -d @1000000000 a d/one
        seq 700 >p; seq 800 >q; gzip -k p q; zstd -q p; xz -k p; rm p q
        tar -czf t.tgz d; sha256sum a b >sums
        cd ..; cp -a start theirs; cp -a start ours
        batchproc() { "$BP" "$@"; }
        (cd theirs; eval "$THEIRS") >theirs.out 2>theirs.err; echo $? >theirs.status
        (cd ours; eval "$OURS") >ours.out 2>ours.err; echo $? >ours.status
        (cd theirs; state) >theirs.state; (cd ours; state) >ours.state
        case $THEIRS in
        tar*) for side in theirs ours; do sort $side.out -o $side.out; done ;;
        esac
        diff theirs.out ours.out && diff theirs.status ours.status && diff theirs.state ours.state && echo same
        cat ours.err >&2
        """#, environment: ["THEIRS": pair.theirs, "OURS": pair.ours])
    #expect(run.text == "same\n", "\(run.text) \(run.errorText)")
  }

  @Test(
    "the rows for restic, one after the other, leave the same snapshots and the same files",
    .enabled(if: Host.hasRestic, "needs restic"))
  func restic() throws {
    let t = try TreeFixture()
    try t.shell(
      "mkdir -p d/sub repo theirs ours; seq 3000 >d/one; seq 5 >d/x.log; ln -s one d/link; restic -q init",
      environment: Self.repository(of: t))
    let pairs = Self.page.filter { $0.theirs.hasPrefix("restic") }
    #expect(pairs.count == 7)
    for pair in pairs {
      let theirs = pair.theirs.replacing(" out", with: " theirs")
      let ours = pair.ours.replacing(" out", with: " ours").replacing("/mnt/backups", with: "set")
      let run = try t.shell(
        "batchproc() { \"$BP\" \"$@\"; }; \(theirs) >/dev/null && \(ours) >/dev/null",
        environment: Self.repository(of: t))
      #expect(run.status == 0, "\(pair): \(run.errorText)")
    }
    let state = try t.shell(
      """
      restic snapshots --json | tr '{' '\\n' | grep -c short_id; "$BP" snapshots set | wc -l
      one=$(find theirs -type d -name d); other=$(find ours -type d -name d)
      diff -r "$one" "$other" && ls "$other"
      """, environment: Self.repository(of: t))
    #expect(
      state.text.hasSuffix("link\none\nsub\n") && state.text.hasPrefix("1\n1\n"),
      "\(state.text) \(state.errorText)")
  }

  private static func repository(of t: TreeFixture) -> [String: String] {
    ["RESTIC_REPOSITORY": "repo", "RESTIC_PASSWORD": "x", "HOME": "\(t.root)"]
  }
}
