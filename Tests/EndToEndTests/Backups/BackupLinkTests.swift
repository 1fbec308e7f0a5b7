import TestSupport
import Testing

/// Hard-linked files in folders that are renamed: an increment has all names of a file or none.
@Suite(.timeLimit(.minutes(2)), .enabled(if: Host.canPreload)) struct BackupLinkTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    try t.preloadClock()
    let made = try t.shell(
      Self.tools + """
        mkdir -p t/d t/k t/z outside; echo one >t/d/a; ln t/d/a t/z/b; echo two >t/k/x; ln t/k/x outside/y; echo three >t/d/other; ln t/d/other t/z/third
        backup -q --to set t; rename() { mv $1 $2; backup -q --to set t; }
        rename t/d t/e
        """)
    try #require(made.status == 0, "\(made.errorText)")
  }

  private static let tools = """
    # The program's clock is a day ahead; files that have just changed are archived again in any case.
    backup() { LD_PRELOAD=$PWD/preload.so $BP backup "$@"; }
    groups() { (cd $1 && find . -type f -printf '%i %P\\n' | sort -k2 | awk '{ if (!($1 in n)) n[$1] = ++c; print n[$1], $2 }'); }
    last() { ls set/*.manifest | tail -n 1; }
    id() { last | sed 's/.*-\\(.*\\).manifest/\\1/'; }

    """

  @Test("the increment after a folder was renamed has all names, and is restored by us and by tar")
  func renamedFolder() throws {
    let run = try t.shell(
      Self.tools + """
        $BP list $(last | sed s/manifest/tar.zst/) | sed 's|.*/t/||' | grep -v '/$' | grep . | sort
        for j in 1 2 7 32; do rm -rf out; $BP restore -q -j $j -C out set; echo $?; (cd t; groups .) >live; groups out/$PWD/t | diff live - && echo same; done
        $BP drill -q --all set; echo $?; mkdir hand; tar --zstd -xf $(last | sed s/manifest/tar.zst/) -C hand; ls -i hand/$PWD/t/z/b hand/$PWD/t/e/a | awk '{ print $1 }' | uniq | wc -l
        rm -rf out; $BP restore -q -C out set --at $(ls set/*.manifest | head -n 1 | sed 's/.*-\\(.*\\).manifest/\\1/'); (cd out/$PWD/t; find . -type f | sort)
        """)
    #expect(
      run.text
        == "e/a\ne/other\nz/b\nz/third\n" + String(repeating: "0\nsame\n", count: 4) + "0\n1\n"
        + "./d/a\n./d/other\n./k/x\n./z/b\n./z/third\n", "\(run.text)\(run.errorText)")
  }

  @Test("a name that moves into the sources with its folder is archived again with all other names")
  func namesFromOutside() throws {
    let run = try t.shell(
      Self.tools + """
        mv outside t/in; backup -q --to set t; $BP list $(last | sed s/manifest/tar.zst/) | sed 's|.*/t/||' | grep -v '/$' | grep . | sort
        $BP restore -q -C out set; groups t >live; groups out/$PWD/t | diff live - && echo same
        mv t/in outside; backup -q --to set t; $BP list $(last | sed s/manifest/tar.zst/) | sed 's|.*/t/||' | grep -v '/$' | grep . | sort
        rm -rf out; $BP restore -q -C out set; groups t >live; groups out/$PWD/t | diff live - && echo same
        backup -q --to set t; $BP list $(last | sed s/manifest/tar.zst/) | grep -cv '/$'
        """)
    #expect(run.text == "in/y\nk/x\nsame\nk/x\nsame\n0\n", "\(run.text)\(run.errorText)")
  }

  @Test("each name in nested sources is restored once")
  func nestedSources() throws {
    let run = try t.shell(
      Self.tools + """
        backup -q --to nested t t/e t/e/a; backup -q --to nested t t/e t/e/a
        $BP restore -q -C out nested; echo $?; groups t >live; groups out/$PWD/t | diff live - && echo same; $BP drill -q --all nested; echo $?
        """)
    #expect(run.text == "0\nsame\n0\n", "\(run.text)\(run.errorText)")
  }

  @Test(
    "some of the names are restored without the others, no matter which one has the content in the archive")
  func partOfNames() throws {
    let run = try t.shell(
      Self.tools + """
        p=$(echo $PWD | cut -c2-)/t
        for names in "$p/z/b" "$p/e/a" "$p/e" "$p/z/b $p/e/a $p/z/third"; do
          rm -rf out; $BP restore -q -C out set $names; echo $?; (cd out/$p; find . -type f | sort | xargs grep . /dev/null); groups out/$p
        done
        """)
    #expect(
      run.text == """
        0
        ./z/b:one
        1 z/b
        0
        ./e/a:one
        1 e/a
        0
        ./e/a:one
        ./e/other:three
        1 e/a
        2 e/other
        0
        ./e/a:one
        ./z/b:one
        ./z/third:three
        1 e/a
        1 z/b
        2 z/third

        """, "\(run.text)\(run.errorText)")
  }

  @Test(
    "without link groups in the manifests, only certain links are restored and others give a warning")
  func earlierManifests() throws {
    let run = try t.shell(
      Self.tools + """
        # As version 0.2.0 wrote manifests: without link groups, and with the row of the day before for an
        # unchanged name.
        earlier() {
          sed -i 's/"link_group":[0-9]*,//; s/"linked":[0-9]*,//' $1; grep -v '"type":"end"' $1 >body; grep '"type":"end"' $1 >end
          footer=$(sed '/"type":"total"/,$d' body | wc -c)
          (cat body; sed "s/\\"footer\\":[0-9]*/\\"footer\\":$footer/; s/\\(manifest_sha256\\":\\"\\)[0-9a-f]*/\\1$(sha256sum <body | cut -c-64)/" end) >$1
        }
        first=$(ls set/*.manifest | head -n 1); old=$(grep '"path":"[^"]*/t/z/b"' $first | sed 's/"link_group":[0-9]*,//')
        sed -i "s|^.*\\"path\\":\\"[^\\"]*/t/z/b\\".*|$old|" $(last); earlier $first; earlier $(last)
        $BP restore -q -C out set; echo $?; groups t >live; groups out/$PWD/t | diff live - && echo same
        $BP drill -q --all set; echo $?
        # A different status time means that the file changed while it was backed up.
        sed -i '/"path":"[^"]*t.z.b"/s/"ctime":"[0-9]*/"ctime":"12345/' $(last); earlier $(last); rm -rf out
        $BP restore -C out set 2>&1 >/dev/null | grep -c 'does not tell whether 1 files'; (cd out/$PWD/t; find . -type f | sort; cat z/b)
        # The next backup stores all groups again.
        backup -q --to set t; rm -rf out; $BP restore -q -C out set 2>&1; groups out/$PWD/t | diff live - && echo same
        """)
    #expect(
      run.text == "0\nsame\n0\n1\n./e/a\n./e/other\n./k/x\n./z/b\n./z/third\none\nsame\n",
      "\(run.text)\(run.errorText)")
  }
}
