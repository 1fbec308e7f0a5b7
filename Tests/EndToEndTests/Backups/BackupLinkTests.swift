import TestSupport
import Testing

/// Hard-linked files in folders that are renamed: a content that is known is not archived again.
@Suite(.timeLimit(.minutes(2)), .enabled(if: Host.canPreload)) struct BackupLinkTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    try t.preloadClock()
    let made = try t.shell(
      Self.tools + """
        mkdir -p t/d t/k t/z outside
        echo one >t/d/a
        ln t/d/a t/z/b
        echo two >t/k/x
        ln t/k/x outside/y
        echo three >t/d/other
        ln t/d/other t/z/third
        backup -q --to set t
        mv t/d t/e
        backup -q --to set t
        """)
    try #require(made.status == 0, "\(made.errorText)")
  }

  private static let tools =
    Steps.functions + """

      # The program's clock is a day ahead; files that have just changed are archived again in any case.
      backup() { LD_PRELOAD=$PWD/preload.so $BP backup "$@"; }
      # groups FOLDER: numbers the files, so that names of one file have the same number.
      groups() {
        cd $1
        find . -type f -printf '%i %P\\n' | sort -k2 | awk '{ if (!($1 in n)) n[$1] = ++c; print n[$1], $2 }'
        cd - >/dev/null
      }
      # linked NAME: the restored tree has the files of the live one, with the same names for each file.
      linked() { groups t >live; groups out/$PWD/t | ends "$1" diff live -; }
      last() { ls set/*.manifest.zst | tail -n 1; }
      archive() { last | sed s/manifest/tar/; }
      # archived NAME: prints which files are in the last archive.
      archived() {
        $BP list $(archive) | sed 's|.*/t/||' | grep -v '/$' | grep . | sort | says "$1"
      }

      """

  @Test("the increment after a folder was renamed has all names, and is restored by us and by tar")
  func renamedFolder() throws {
    let run = try t.shell(
      Self.tools + """
        archived "archived files"
        for j in 1 2 7 32; do
          rm -rf out
          ends "restore -j $j" $BP restore -q -j $j -C out set
          linked "links of it"
        done
        ends drill $BP drill -q --all set
        '\(Repository.restoreByHand)' set $(last | grep -o '[0-9]*T[0-9]*Z') hand
        ends "links by hand" test hand/$PWD/t/z/b -ef hand/$PWD/t/e/a
        rm -rf out
        first=$(ls set/*.manifest.zst | head -n 1 | sed 's/.*-\\(.*\\).manifest.zst/\\1/')
        $BP restore -q -C out set --at $first
        (cd out/$PWD/t; find . -type f | sort) | says "files of the first snapshot"
        """)
    run.expectSteps([
      "archived files": "",
      "restore -j 1": "0", "links of it": "0", "restore -j 2": "0", "links of it": "0",
      "restore -j 7": "0", "links of it": "0", "restore -j 32": "0", "links of it": "0",
      "drill": "0", "links by hand": "0",
      "files of the first snapshot": "./d/a ./d/other ./k/x ./z/b ./z/third",
    ])
  }

  @Test("a name that moves into the sources with its folder has one content with all other names")
  func namesFromOutside() throws {
    let run = try t.shell(
      Self.tools + """
        mv outside t/in
        backup -q --to set t
        archived "archived after the move"
        $BP restore -q -C out set
        linked "links after the move"
        mv t/in outside
        backup -q --to set t
        archived "archived after the move back"
        rm -rf out
        $BP restore -q -C out set
        linked "links after the move back"
        backup -q --to set t
        archived "archived at the end"
        """)
    run.expectSteps([
      "archived after the move": "", "links after the move": "0",
      "archived after the move back": "", "links after the move back": "0", "archived at the end": "",
    ])
  }

  @Test("each name in nested sources is restored once")
  func nestedSources() throws {
    let run = try t.shell(
      Self.tools + """
        for n in 1 2; do backup -q --to nested t t/e t/e/a; done
        ends restore $BP restore -q -C out nested
        linked links
        ends drill $BP drill -q --all nested
        """)
    run.expectSteps(["restore": "0", "links": "0", "drill": "0"])
  }

  @Test(
    "some of the names are restored without the others, no matter which one has the content in the archive")
  func partOfNames() throws {
    let run = try t.shell(
      Self.tools + """
        p=$(echo $PWD | cut -c2-)/t
        for names in "$p/z/b" "$p/e/a" "$p/e" "$p/z/b $p/e/a $p/z/third"; do
          rm -rf out
          ends "restore of ${names//"$p/"}" $BP restore -q -C out set $names
          (cd out/$p; find . -type f | sort | xargs grep . /dev/null) | says contents
          groups out/$p | says links
        done
        """)
    run.expectSteps([
      "restore of z/b": "0", "contents": "./z/b:one", "links": "1 z/b",
      "restore of e/a": "0", "contents": "./e/a:one", "links": "1 e/a",
      "restore of e": "0", "contents": "./e/a:one ./e/other:three", "links": "1 e/a 2 e/other",
      "restore of z/b e/a z/third": "0", "contents": "./e/a:one ./z/b:one ./z/third:three",
      "links": "1 e/a 1 z/b 2 z/third",
    ])
  }

  @Test(
    "without link groups in the manifests, only certain links are restored and others give a warning")
  func earlierManifests() throws {
    let run = try t.shell(
      Self.tools + """
        # As version 0.2.0 wrote manifests: without link groups, and with the row of the day before for an
        # unchanged name.
        earlier() {
          sed -i 's/"link_group":[0-9]*,//; s/"linked":[0-9]*,//' $1
          grep -v '"type":"end"' $1 >body
          grep '"type":"end"' $1 >end
          footer=$(sed '/"type":"total"/,$d' body | wc -c)
          digest=$(sha256sum <body | cut -c-64)
          sed -i "s/\\"footer\\":[0-9]*/\\"footer\\":$footer/; s/\\(manifest_sha256\\":\\"\\)[0-9a-f]*/\\1$digest/" end
          cat body end >$1
        }
        first=$(ls set/*.manifest.zst | head -n 1)
        backup -q --full --to set t
        plain set/*.manifest.zst
        old=$(grep '"path":"[^"]*/t/z/b"' $first | sed 's/"link_group":[0-9]*,//')
        sed -i "s|^.*\\"path\\":\\"[^\\"]*/t/z/b\\".*|$old|" $(last)
        earlier $first
        earlier $(last)
        ends restore $BP restore -q -C out set
        linked links
        ends drill $BP drill -q --all set
        # A different status time means that the file changed while it was backed up.
        sed -i '/"path":"[^"]*t.z.b"/s/"ctime":"[0-9]*/"ctime":"12345/' $(last)
        earlier $(last)
        rm -rf out
        $BP restore -C out set 2>&1 >/dev/null | counts "uncertain links" 'does not tell whether 1 files'
        (cd out/$PWD/t; find . -type f | sort) | says "files with uncertain links"
        says "content of a file" <out/$PWD/t/z/b
        # The next backup stores all groups again.
        backup -q --to set t
        rm -rf out
        $BP restore -q -C out set 2>&1
        linked "links of the next one"
        """)
    run.expectSteps([
      "restore": "0", "links": "0", "drill": "0", "uncertain links": "1",
      "files with uncertain links": "./e/a ./e/other ./k/x ./z/b ./z/third", "content of a file": "one",
      "links of the next one": "0",
    ])
  }
}
