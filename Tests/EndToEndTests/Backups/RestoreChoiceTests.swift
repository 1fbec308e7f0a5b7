import BatchEngine
import Foundation
import TestSupport
import Testing

/// Ways to restore a part of a snapshot or archive, and to preview a restore.
@Suite(.timeLimit(.minutes(2))) struct RestoreChoiceTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    let made = try t.shell(
      """
      mkdir -p p/docs/deep; echo sec >p/docs/security.md; echo d >p/docs/deep/note.md; echo t >p/docs/text; ln p/docs/text p/hard; ln -s docs p/link
      $BP archive -q -o p.tar.zst p; $BP backup -q --to bk p
      """)
    try #require(made.status == 0, "\(made.errorText)")
  }

  @Test("a pattern without a match suggests a path with the same end")
  func suggestions() throws {
    let run = try t.shell(
      """
      root=${PWD#/}; $BP restore -q bk -C r p/docs/text 2>&1 | sed "s|$root/||"; $BP restore -q bk -C r text; echo $?
      $BP extract -q p.tar.zst docs/security.md 2>&1; $BP list -q p.tar.zst deep/note.md/ 2>&1; $BP extract -q p.tar.zst nosuch 2>&1; $BP extract -q -O p.tar.zst deep/note.md 2>&1; echo $?
      """)
    #expect(
      run.text
        == """
        batchproc: p/docs/text: nothing in the snapshot matches (did you mean 'p/docs/text'?)
        0
        batchproc: docs/security.md: no member of the archive matches (did you mean 'p/docs/security.md'?)
        batchproc: deep/note.md/: no member of the archive matches (did you mean 'p/docs/deep/note.md'?)
        batchproc: nosuch: no member of the archive matches
        batchproc: deep/note.md: no member of the archive matches (did you mean 'p/docs/deep/note.md'?)
        1

        """,
      "\(run.text)\(run.errorText)")
  }

  @Test("wildcards match slashes in archives and snapshots")
  func wildcards() throws {
    let run = try t.shell(
      """
      $BP extract -q -C x1 p.tar.zst '*/security.md'; $BP list -q p.tar.zst 'p/*.md'; $BP restore -q bk -C x2 '*/deep/*'; (cd x2; find . -type f | sed "s|.*$OLDPWD/||")
      tar --zstd -tf p.tar.zst --wildcards '*/security.md' 'p/*.md'; find x1 -type f
      """)
    #expect(
      run.text
        == "p/docs/security.md\np/docs/deep/note.md\np/docs/deep/note.md\np/docs/security.md\np/docs/deep/note.md\nx1/p/docs/security.md\n",
      "\(run.text)\(run.errorText)")
  }

  private static let names = [
    "Photo [2024].jpg", "[abc].txt", "[.txt", #"b\c"#, "*", "x?", "{p}", "!bang", "dir[1]", "dir[1]/",
    "README",
  ]

  @Test(
    "a text that is exactly a name chooses that name, and a glob is the second meaning", arguments: Self.names
  )
  func exactNames(name: String) throws {
    try t.file("name", name)
    let run = try t.shell(
      #"""
      mkdir -p n/sub 'n/dir[1]' n/dir1; cd n; for f in 'Photo [2024].jpg' 'Photo 2.jpg' '[abc].txt' a.txt '[.txt' 'b\c' bc '*' 'x?' xy '{p}' p '!bang' bang README sub/README 'dir[1]/f' dir1/f; do echo "$f" >"$f"; done
      $BP archive -q -o ../i.tar.zst *; $BP archive -q -o ../i.zip *; tar -cf ../s.tar *; gzip -k ../s.tar; cd ..; $BP backup -q --to nb n
      name=$(cat name); at=${PWD#/}/n; want=${name%/}; [ -d "n/$want" ] && want="$want/f"
      for a in i.tar.zst i.zip s.tar s.tar.gz; do
        $BP extract -q -C o $a "$name" || echo status $?; (cd o; find . -type f | diff - <(echo "./$want") && cmp "$want" "../n/$want"); rm -r o
        $BP list -qz $a "$name" | tr '\0' '\n' | grep -v '/$' | diff - <(echo "$want"); $BP extract -qO $a "$name" | cmp - "n/$want"
        cat $a | $BP extract -q --escaped -C o - "${name//\\/\\\\}" || echo status $?; (cd o; find . -type f | diff - <(echo "./$want")); rm -r o
      done
      $BP list -qz --no-index i.tar.zst "$name" | tr '\0' '\n' | grep -v '/$' | diff - <(echo "$want")
      $BP restore -q nb -C o "$at/$name" || echo status $?; (cd o/$at; find . -type f | diff - <(echo "./$want"))
      $BP snapshots -qz nb --list latest "$at/$name" | tr '\0' '\n' | grep -v '/$' | diff - <(echo "$at/$want")
      $BP snapshots -qz nb --find "$name" | tr '\0' '\n' | grep -cF "$at/$name"
      $BP snapshots -qz nb --escaped --find "${at//\\/\\\\}/${name//\\/\\\\}" | tr '\0' '\n' | wc -l
      """#)
    #expect(run.text == "1\n1\n" && run.errorText == "", "\(run.text)\(run.errorText)")
  }

  @Test(
    "in a stream, a name behind members that match it as a glob is an error, and the next ones are left out")
  func streamedNames() throws {
    let run = try t.shell(
      """
      mkdir n; cd n; for f in 'a[1]' a1 'b[1]' b1; do echo "$f" >"$f"; done; tar -cf ../s.tar a1 'a[1]' 'b[1]' b1; cd ..
      cat s.tar | $BP list -q - 'a[1]'; echo $?; cat s.tar | $BP list -q - 'b[1]'; echo $?; cat s.tar | $BP extract -qO - 'a[1]'; echo $?; cat s.tar | $BP extract -q -C o - '[ab][1]'; echo $?; ls o
      """)
    #expect(run.text == "a1\na[1]\n3\nb[1]\n0\na1\na[1]\n3\n0\na1\nb1\n", "\(run.text)\(run.errorText)")
    #expect(run.errorText.contains("a[1]: is a name, but earlier members"), "\(run.errorText)")
  }

  @Test("names are accepted as they are printed, with --escaped, and suggestions lead to their file")
  func escapedNames() throws {
    let run = try t.shell(
      #"""
      mkdir n; for f in $'new\nline' 'b\c' $'\x01' $'k\xff' '[abc].txt' a.txt; do echo "$f" >"n/$f"; done; $BP archive -q -o n.tar.zst n; $BP backup -q --to nb n; cp nb/*.manifest m
      $BP list -q n.tar.zst | grep -v '/$' | while IFS= read -r f; do $BP extract -q --escaped -C o n.tar.zst "$f" || echo no "$f"; $BP restore -q nb -C r --escaped "${PWD#/}/$f" || echo no "$f"; $BP snapshots -q nb --escaped --find "$f" | wc -l; done; diff -r n o/n; diff -r n r/$PWD/n
      $BP list --escaped n.tar.zst '\q' 2>/dev/null; echo $?; $BP snapshots -z nb 2>&1 | head -n 1; $BP list --null n.tar.zst 2>&1 | head -n 1
      $BP restore -q nb -C s 'n/[abc].txt' 2>&1 | sed "s|${PWD#/}/||"; $BP list -q n.tar.zst 'b\\c' 2>&1
      """#)
    #expect(
      run.text == #"""
        1
        1
        1
        1
        1
        1
        64
        batchproc: --zero needs --find or --list.
        batchproc: '--null': use --zero.
        batchproc: n/[abc].txt: nothing in the snapshot matches (did you mean 'n/[abc].txt'?)
        n/b\\c

        """#, "\(run.text)\(run.errorText)")
  }

  @Test(
    "folders on the way to a chosen file are those of the snapshot; folders above a source are private",
    .enabled(if: Host.isRoot))
  func foldersOnWay() throws {
    let run = try t.shell(
      """
      umask 022; mkdir -p top/s/priv/deep; echo x >top/s/priv/f; echo y >top/s/priv/deep/g; chown 1234:1235 top/s top/s/priv; chmod 750 top/s; chmod 700 top/s/priv
      setfacl -m u:77:rx top/s/priv; setfattr -n user.n -v v top/s/priv; touch -d @1000000 top/s/priv top/s
      $BP backup -q --no-fsync --to b top/s; echo z >top/s/new; touch -d @1000000 top/s; $BP backup -q --no-fsync --to b top/s; at=${PWD#/}/top/s
      show() { (cd $1/$at; find . -printf '%m %U:%G %Ts %y %P\\n'; getfacl -cn priv | grep user:77; getfattr --only-values -n user.n priv; echo; cd ..; stat -c '%a %u' .); }
      $BP restore b -C o $at/priv/f 2>&1 | grep -o ': .*B'; show o
      mkdir -p e/$at/priv; chmod 777 e/$at/priv; touch -d @5 e/$at/priv; $BP restore -q --force -C e b $at/priv/deep/g; (cd e/$at; find . -printf '%m %U:%G %y %P\\n')
      $BP restore -q -C t --strip-components $(echo $at | tr / '\\n' | wc -l) b $at/priv/f; (cd t; find . -mindepth 1 -printf '%m %U:%G %Ts %y %P\\n')
      $BP restore -nq -C d b $at/priv/f | grep -c .; $BP restore -q -C a b; stat -c '%a' a/$at a/$at/..
      """)
    #expect(
      run.text == """
        : 1 file, 2 B
        750 1234:1235 1000000 d 
        750 1234:1235 1000000 d priv
        644 0:0 \(try t.shell("stat -c %Y top/s/priv/f").text.dropLast()) f priv/f
        user:77:r-x
        v
        700 0
        755 0:0 d 
        777 0:0 d priv
        755 0:0 d priv/deep
        644 0:0 f priv/deep/g
        750 1234:1235 1000000 d priv
        644 0:0 \(try t.shell("stat -c %Y top/s/priv/f").text.dropLast()) f priv/f
        1
        750
        700

        """, "\(run.text)\(run.errorText)")
  }

  @Test("--dry-run shows the files of a restore, and --strip-components drops the folders of the sources")
  func dry() throws {
    let run = try t.shell(
      """
      depth=$(echo ${PWD#/} | tr / '\\n' | wc -l); mkdir out; echo mine >out/security.md
      $BP restore -n bk -C out --strip-components $((depth + 2)) 2>error | sort; grep -o 'would restore.*Z: [0-9]* files' error | sed 's/2[0-9T]*Z/ID/'; ls out
      $BP restore -q bk -C out --strip-components $((depth + 2)) 2>&1 | sed "s| (.*||; s|${PWD#/}/||"; (cd out; find . -type f | sort; cat security.md)
      $BP restore -q bk -C all --strip-components $depth; [ all/p/hard -ef all/p/docs/text ] && diff -r --no-dereference p all/p; echo $?
      $BP restore -q -n bk -C none | sed "s|${PWD#/}/||" | sort; [ -e none ]; echo $?
      """)
    #expect(
      run.text == """
        out/deep
        out/deep/note.md
        out/security.md: kept
        out/text
        would restore ID: 2 files
        security.md
        batchproc: p/docs/security.md: exists already
        ./deep/note.md
        ./security.md
        ./text
        mine
        0
        none/p
        none/p/docs
        none/p/docs/deep
        none/p/docs/deep/note.md
        none/p/docs/security.md
        none/p/docs/text
        none/p/hard
        none/p/link
        1

        """, "\(run.text)\(run.errorText)")
  }

  @Test("options of restic are answered with ours")
  func restic() throws {
    let run = try t.shell(
      """
      for call in "restore bk --target out" "restore bk -C out --snapshot latest" "restore bk -C out --include x" "verify bk --read-data-subset=1/5"; do $BP $call 2>&1 | head -n 1; done
      $BP restore latest -C out 2>&1; $BP restore -q bk -C out latest 2>&1
      """)
    #expect(
      run.text == """
        batchproc: '--target': use -C DIR.
        batchproc: '--snapshot': use --at ID; the newest one is the default.
        batchproc: '--include': name the files after the directory of the snapshots.
        batchproc: '--read-data-subset': use --share 1/30.
        batchproc: latest: cannot open the folder: No such file or directory (the directory of the snapshots comes first: 'batchproc restore DIR --at latest')
        batchproc: latest: nothing in the snapshot matches (the newest snapshot is the default; use --at ID for another one)

        """, "\(run.text)\(run.errorText)")
  }

  @Test(
    "a second backup at once says why files are archived again; list -v is list -l; verify is brief"
  )
  func small() throws {
    let run = try t.shell(
      """
      mkdir now; echo x >now/x; $BP backup -q --no-fsync --to s now; $BP backup --no-fsync --to s now 2>&1 | grep -o '[0-9]* archived again: changed shortly before the last backup'
      $BP list -v p.tar.zst 2>/dev/null | cmp - <($BP list -l p.tar.zst 2>/dev/null); echo $?
      $BP verify p.tar.zst 2>&1 | wc -l; $BP verify -v p.tar.zst 2>&1 | grep -c 'SHA-256 of the index'
      """)
    #expect(
      run.text.contains("1 archived again: changed shortly before the last backup\n0\n1\n1\n"),
      "\(run.text)\(run.errorText)")
  }
}
