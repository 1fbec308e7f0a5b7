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

  /// `names` prints names and modes of a folder, and `content` the decompressed content of a file. `differences` prints the files of
  /// two folders that differ; of most files the bytes are equal, which `diff` finds without another process for each one.
  private static let state = #"""
    names() { (cd $1; find . -mindepth 1 -printf '%y %m %P\n' | sort); }
    content() {
      case $1 in
      *.tar|*.tgz|*.txz|*.tar.zst) tar -tvf "$1" | sed 's/^\(.*\) [0-9-]* [0-9:]* /\1 /; s/  */ /g' | sort; tar -xOf "$1" | wc -c ;;
      *.gz|*.z) gzip -dc <"$1" | sha256sum ;;
      *.zst) zstd -qdc "$1" | sha256sum ;;
      *.xz) xz -dc "$1" | sha256sum ;;
      *) sha256sum <"$1" ;;
      esac
    }
    differences() {
      diff <(names $1) <(names $2)
      diff -rq --no-dereference $1 $2 | sed -n "s,^Files $1/\(.*\) and $2/.* differ\$,\1,p" | while read -r f; do
        diff <(content "$1/$f") <(content "$2/$f") || echo "$f differs"
      done
    }
    """#

  /// Makes the folder `start`, in which the commands of each row run.
  private static func makeStart(_ t: TreeFixture) throws {
    let made = try t.shell(
      """
      mkdir start; cd start
      mkdir -p d/sub d/.git out; seq 3000 >a; seq 200 >b; seq 99 >d/one; seq 5 >d/x.log; seq 1000 >d/sub/two; seq 3 >d/.git/HEAD
      ln -s one d/link; chmod 600 b; touch -d @1000000000 a d/one
      seq 700 >p; seq 800 >q; gzip -k p q; zstd -q p; xz -k p; rm p q
      tar -czf t.tgz d; sha256sum a b >sums
      """)
    try #require(made.status == 0, "\(made.errorText)")
  }

  @Test("has the expected number of rows") func hasRows() {
    #expect(Self.pairs.count > 55)
  }

  @Test("a row's two commands give the same result", arguments: pairs) func row(_ pair: Pair) throws {
    let t = try TreeFixture()
    try t.copy("coming-from", make: Self.makeStart)
    let run = try t.shell(
      Self.state + "\n" + #"""
        command -v "${THEIRS%% *}" >/dev/null || { echo same; exit; }
        cp -a start theirs; mv start ours
        batchproc() { "$BP" "$@"; }
        (cd theirs; eval "$THEIRS") >theirs.out 2>theirs.err; echo $? >theirs.status
        (cd ours; eval "$OURS") >ours.out 2>ours.err; echo $? >ours.status
        case $THEIRS in
        tar*) for side in theirs ours; do sort $side.out -o $side.out; done ;;
        esac
        diff theirs.out ours.out && diff theirs.status ours.status && differences theirs ours && echo same
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
