import TestSupport
import Testing

/// Outputs of a command: whole, with the facts of their sources, made again only when needed.
@Suite(.timeLimit(.minutes(3))) struct RunOutputTests {
  private let t: TreeFixture
  private static let mark = "getfattr --only-values -n user.batchproc.command"

  init() throws {
    t = try TreeFixture()
    try t.shell(
      "mkdir -p d/sub; echo a >d/a.txt; echo b >d/sub/b.txt; chmod 640 d/a.txt; touch -d 2020-01-01 d/a.txt d/sub/b.txt"
    )
  }

  @Test(
    "an output has mode and time of its source; the next run opens no source and starts no child",
    .enabled(if: Host.canTrace),
    arguments: [
      ("--suffix .up", "sh -c 'tr a-z A-Z <\"$1\" >\"$2\"' x {} {out}", "d/a.txt.up"),
      ("--suffix .up --stdin", "tr a-z A-Z", "d/a.txt.up"),
      ("--replace-suffix .up", "sh -c 'tr a-z A-Z <\"$1\"' x {}", "d/a.up"),
      ("--suffix .up --output-dir o", "sh -c 'tr a-z A-Z <\"$1\" >\"$2\"' x {} {out}", "o/d/a.txt.up"),
    ], [1, 7])
  func again(use: (options: String, command: String, output: String), concurrency: Int) throws {
    let (options, command, output) = use
    let run = try t.shell(
      """
      "$BP" run -q -j \(concurrency) \(options) d -- \(command); echo $?; cat \(output); stat -c '%a %Y' \(output) d/a.txt
      strace -f -qq -e trace=openat,execve -o trace "$BP" run -j \(concurrency) \(options) d -- \(command) 2>summary; echo $?
      grep -c -e 'a\\.txt", O_RDONLY' -e '"b\\.txt", O_RDONLY' -e 'execve("/[a-z/]*/\\(tr\\|sh\\)"' trace; grep -o '2 up to date' summary; find . -name '.batchproc*'
      """)
    #expect(
      run.text == "0\nA\n640 1577836800\n640 1577836800\n0\n0\n2 up to date\n", "\(run.text)\(run.errorText)")
  }

  @Test("a source that changed, another command, and --force make the output again; -v says so")
  func stale() throws {
    let run = try t.shell(
      """
      up() { "$BP" run -v --suffix .o d -- "$@" 2>&1 >/dev/null | grep -c replaced; }
      up cat; up cat; echo c >d/a.txt; up cat; up cat {}; up cat {}; cat d/a.txt.o; "$BP" run -v --suffix .o d -- cat - {} 2>&1 | grep -c 'replaced: another command made it'
      "$BP" run -q -f --suffix .o d -- cat; echo $?
      """)
    // The summary line counts the replaced ones too.
    #expect(run.text == "0\n0\n2\n3\n0\nc\n2\n0\n", "\(run.text)\(run.errorText)")
  }

  @Test("a file that was not made by a run is kept and named, unless --force replaces it")
  func kept() throws {
    let run = try t.shell(
      """
      echo mine >d/a.txt.o; touch -r d/a.txt d/a.txt.o; "$BP" run --suffix .o d -- cat; echo $?; cat d/a.txt.o
      "$BP" run -q -f --suffix .o d -- cat; echo $?; cat d/a.txt.o; echo edited >>d/a.txt.o; "$BP" run -q --suffix .o d -- cat; echo $?
      """)
    #expect(run.text == "3\nmine\n0\na\n3\n", "\(run.text)\(run.errorText)")
    #expect(
      run.errorText.contains("batchproc: d/a.txt.o: was not made by this program, and is kept (")
        && run.errorText.contains("d/a.txt.o: is newer than its source and stays"), "\(run.errorText)")
  }

  @Test(
    "of two sources with one output the first one in the order of the tree gets it", arguments: [1, 2, 7, 32])
  func conflict(concurrency: Int) throws {
    let run = try t.shell(
      """
      mkdir e; echo 1 >e/x.a; echo 2 >e/x.b; echo 3 >e/y.b
      "$BP" run -j \(concurrency) --replace-suffix .o e -- cat; echo $?; cat e/x.o e/y.o; "$BP" run -q -j \(concurrency) --replace-suffix .o e -- cat; echo $?
      mkdir -p p/s q/s; echo 4 >p/s/z; echo 5 >q/s/z; cd p; "$BP" run -j \(concurrency) --output-dir ../o s ../q/../q/s -- cat; ls ../o
      """)
    #expect(run.text == "3\n1\n3\n3\nq\ns\n", "\(run.text)\(run.errorText)")
    #expect(
      run.errorText.contains("batchproc: e/x.b: has the same output as another source: e/x.o"),
      "\(run.errorText)")
  }

  @Test("the mark is not copied by other commands from their sources, and not from the source to the output")
  func marks() throws {
    let run = try t.shell(
      """
      "$BP" run -q --suffix .o d -- cat; m=$(\(Self.mark) d/a.txt.o); "$BP" compress -q --compress-all d/a.txt.o; getfattr -d d/a.txt.o.gz | grep -c command
      "$BP" run -q --suffix .p d/a.txt.o -- cat; [ "$m" = "$(\(Self.mark) d/a.txt.o.p)" ]; echo $?
      setfattr -n user.note -v hi d/a.txt; touch -d 2021-01-01 d/a.txt; "$BP" run -q --suffix .o d/a.txt -- cat; getfattr --only-values -n user.note d/a.txt.o
      """)
    #expect(run.text == "0\n0\nhi", "\(run.text)\(run.errorText)")
  }

  @Test("an output of a user who may not read the source does not get readable", .enabled(if: Host.isRoot))
  func rights() throws {
    let run = try t.shell(
      """
      chown 1001:1002 d/a.txt; chmod 600 d/a.txt; (umask 0; "$BP" run -q --suffix .o d -- cp {} {out}); stat -c '%a %u:%g' d/a.txt.o
      chmod 777 . d d/sub; cd d/sub; touch c; chmod 4 c; chown 1001 c
      setpriv --reuid=1001 --regid=1001 --clear-groups env HOME=$PWD XDG_STATE_HOME=$PWD "$BP" run --suffix .o c -- sh -c 'umask 777; echo x >"$2"' x {} {out}
      echo $?
      """)
    #expect(run.text.hasPrefix("600 1001:1002\n"), "\(run.text)\(run.errorText)")
  }

  @Test(
    "a file system without attributes: an output with the time of its source is up to date, and no other one is replaced",
    .enabled(if: Host.canMount, "needs mounts"))
  func withoutAttributes() throws {
    let run = try t.shell(
      """
      mkdir m; unshare -m sh -c 'mount -t ramfs none m; echo 1 >m/a; "$BP" run -q --suffix .o m -- cat; echo $?
      "$BP" run -q --suffix .o m -- cat; echo $?; echo 2 >m/a; touch -d tomorrow m/a; "$BP" run -q --suffix .o m/a -- cat; echo $?; cat m/a.o
      "$BP" run -q --in-place m/a -- true; echo $?; "$BP" run -q -f --in-place m/a -- sed -i s/2/3/; echo $?; cat m/a'
      """)
    #expect(run.text == "0\n0\n3\n1\n3\n0\n3\n", "\(run.text)\(run.errorText)")
  }
}
