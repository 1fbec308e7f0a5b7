import BatchEngine
import TestSupport
import Testing

/// Hard links that are chosen without the file that they link to.
@Suite(.timeLimit(.minutes(3))) struct LoneLinkTests {
  private let t: TreeFixture

  init() throws { t = try TreeFixture() }

  private static let makers = [
    "tar -cf x t/0 t/a t/b t/c t/sub/a t/sub/b t/z", "tar -czf x t/0 t/a t/b t/c t/sub/a t/sub/b t/z",
    "$BP archive -q --format tar.zst -o x t", "$BP archive -q --format tar -o x t",
    "$BP archive -q -l 1 --format tar.xz --stride 1 -o x t",
  ]

  private func make(_ maker: String) throws {
    let made = try t.shell(
      "mkdir -p t/sub o; echo 0 >t/0; seq -s ' ' 180000 | fold -w 4000 >t/a; ln t/a t/b; ln t/a t/c; echo sub >t/sub/a; ln t/sub/a t/sub/b; echo z >t/z; \(maker)"
    )
    try #require(made.status == 0, "\(made.errorText)")
  }

  @Test("are printed with the content of that file, once", arguments: makers)
  func printed(maker: String) throws {
    try make(maker)
    let run = try t.shell(
      """
      $BP extract -qO x t/b | cmp - t/a; echo $?
      $BP extract -qO x t/b t/c | cmp - t/a; echo $?
      $BP extract -qO x t/a t/b | cmp - t/a; echo $?
      $BP extract -qO x t/sub/b t/z; echo $?
      $BP extract -qO x | sort | cmp - <(cat t/0 t/a t/sub/a t/z | sort); echo $?
      """)
    // The contents of links follow the others.
    #expect(run.text == "0\n0\n0\nz\nsub\n0\n0\n", "\(run.text)\(run.errorText)")
  }

  @Test("are extracted as files, and links among each other", arguments: makers)
  func extracted(maker: String) throws {
    try make(maker)
    let run = try t.shell(
      """
      $BP extract -q -C o x t/b t/c t/z; echo $?; cmp o/t/b t/a; stat -c '%h %n' o/t/*
      stat -c '%Y %a' o/t/b t/b | uniq | wc -l
      rm -rf o/*; $BP extract -q -C o x t/a t/b; stat -c %h o/t/a
      rm -rf o/*; $BP extract -q --strip-components 2 -C o x t/sub/b; echo $?; ls o; cat o/b
      rm -rf o/*; $BP extract -q -C o --exclude t/a x; echo $?; stat -c '%h %n' o/t/[bc]; cmp o/t/c t/a
      rm -rf o/*; $BP extract -n -C o x t/b >n; echo $?; ls o | wc -l
      """)
    #expect(
      run.text == """
        0
        2 o/t/b
        2 o/t/c
        1 o/t/z
        1
        2
        0
        b
        sub
        0
        2 o/t/b
        2 o/t/c
        0
        0

        """, "\(run.text)\(run.errorText)")
  }

  @Test("of a stream, or whose file is missing, are reported", arguments: makers.prefix(1))
  func missing(maker: String) throws {
    try make(maker)
    let run = try t.shell(
      """
      cat x | $BP extract -qO - t/b t/z; echo $?
      cat x | $BP extract -q -C o - t/b t/z; echo $?
      tar -cf y t/0; python3 - <<'END'
      import tarfile
      tar = tarfile.open('y', 'a')
      link = tarfile.TarInfo('t/b')
      link.type, link.linkname = tarfile.LNKTYPE, 't/gone'
      tar.addfile(link)
      tar.addfile(tarfile.TarInfo('t/gone'))
      tar.close()
      END
      $BP extract -qO y t/b t/0; echo $?; $BP extract -q --force -C o y t/b t/0; echo $?; ls o/t
      """)
    #expect(run.text == "z\n3\n3\n0\n3\n3\n0\nz\n", "\(run.text)\(run.errorText)")
    #expect(run.errorText.contains("t/b: "), "\(run.errorText)")
  }

  @Test("that a later member supersedes do not come back")
  func superseded() throws {
    let run = try t.shell(
      """
      mkdir o; echo old >a; ln a b; tar -cf x a b; rm b; echo new >b; tar -rf x b
      $BP extract -q -C o x b; echo $?; cat o/b
      echo newest >a; tar -rf x a; rm b; ln a b; tar -rf x a b; $BP extract -q --force -C o x b; echo $?; cat o/b
      """)
    #expect(run.text == "0\nnew\n0\nnewest\n", "\(run.text)\(run.errorText)")
  }
}
