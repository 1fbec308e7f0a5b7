import TestSupport
import Testing

/// A mirrored tree equals its source: rsync finds nothing to do, and `audit` no difference.
@Suite(.timeLimit(.minutes(3))) struct MirrorTests {
  private let t: TreeFixture

  init() throws { t = try TreeFixture() }

  /// A tree with each kind of entry, and a shell function `equal A B` that compares it with a copy.
  static let everyKind = #"""
    mkdir -p src/a/b src/empty src/links $'src/\xff\xfe \n\t' src/-x
    for n in $(seq 40); do echo $n >src/a/f$n; done
    echo hi >src/a/f; ln src/a/f src/a/b/g; ln src/a/f src/links/h; ln -s ../x src/a/dangling; ln -s / src/links/root
    mkfifo src/p; printf x >$'src/new\nline'; printf z >$'src/\xff\xfe \n\t/ and so'; echo q >'src/-x/*'; : >src/none
    truncate -s 10M src/sparse; printf data | dd of=src/sparse bs=1 seek=5000000 conv=notrunc status=none
    truncate -s 3M src/hole; head -c 3000000 /dev/urandom >src/big
    touch -d '1950-01-01 00:00:00.123456789' src/a/f src/links; touch -d '2100-01-01 00:00:00.987654321' src/big
    touch -hd '2001-02-03' src/a/dangling; touch -d '1999-12-31 23:59:59.5' src/p
    chmod 600 src/a/f2; chmod 4711 src/a/f3; chmod 2750 src/a/b; chmod 1777 src/empty; chmod 0 src/none
    setfattr -n user.note -v 1 src/a; setfattr -n user.note -v $'\x00\x01' src/a/f4
    setfacl -m u:1:rw,g:2:r src/big; setfacl -d -m u:3:rwx src/empty
    if [ $(id -u) = 0 ]; then
      chown 12:34 src/a/f5 src/a/b; chown -h 56:78 src/a/dangling; chown 9:9 src/p; mknod src/null c 1 3; mknod src/loop b 7 250
      setfattr -n trusted.t -v 2 src/a/f6; chown 1:1 src/a/f7; chmod 6755 src/a/f7
    fi
    touch -d '2003-03-03 03:03:03.333333333' src/a/b src/empty src/-x src/a src
    equal() {
      rsync -anHAXS --delete --itemize-changes "$1/" "$2/" 2>&1
      "$BP" audit -q "$1" "$2" || echo audit $?
      (cd "$1"; find . -printf '%P %y %m %U %G %T@ %n %l\n' | sort) >one; (cd "$2"; find . -printf '%P %y %m %U %G %T@ %n %l\n' | sort) >two; diff one two
      find "$2" -name '.batchproc-*'
    }
    """#

  @Test(
    "each kind of entry, with hostile names, is copied on a disk and in memory, and the second run copies nothing",
    .enabled(if: Host.isRoot), arguments: [Place.memory, .disk])
  func everything(place: Place) throws {
    let t = try TreeFixture(on: place)
    let run = try t.shell(
      """
      \(Self.everyKind)
      for j in 1 2 7 32; do
        "$BP" mirror -q -j $j --devices src dst$j; echo $?; equal src dst$j/src
        "$BP" mirror -j $j --devices src dst$j 2>summary; echo $?; sed 's/ in .*;/;/' summary; equal src dst$j/src
      done
      """)
    let lines = run.text.split(separator: "\n")
    try #require(lines.count == 4 * 3, "\(run.text)\(run.errorText)")
    for first in stride(from: 0, to: lines.count, by: 3) {
      #expect(
        lines[first] == "0" && lines[first + 1] == "0" && lines[first + 2].hasPrefix("mirrored 0 files; "),
        "\(run.text)\(run.errorText)")
    }
  }

  @Test("many folders get their metadata by several threads, with the same rows at each concurrency")
  func folders() throws {
    let run = try t.shell(
      """
      mkdir -p $(for n in $(seq 400); do echo src/$((n % 20))/$n; done)
      for n in $(seq 400); do echo $n >src/$((n % 20))/$n/f; done
      chmod 0500 src/3/* src/5; chmod 0755 src/7; setfattr -n user.note -v x src/7 src/7/*
      find src -depth -type d | while read -r folder; do touch -d "2001-02-03 04:05:06.$((RANDOM))" "$folder"; done
      for j in 1 2 7 32; do
        "$BP" mirror -j $j --json src dst$j 2>/dev/null | grep '"path"' | sed "s/dst$j/dst/g" >rows$j; echo $?
        rsync -anHAXS --delete --itemize-changes src/ dst$j/src/; cmp rows1 rows$j
        chmod 0700 dst$j/src/9; touch dst$j/src/9/29; "$BP" mirror -q -j $j src dst$j
        rsync -anHAXS --delete --itemize-changes src/ dst$j/src/
      done
      [ $(wc -l <rows1) -gt 400 ]; echo $?
      """)
    #expect(run.text == "0\n0\n0\n0\n0\n", "\(run.text)\(run.errorText)")
  }

  @Test(
    "a file whose copy has an attribute of XFS alone is up to date, also if it has several names",
    .enabled(if: Host.isRoot))
  func attributesOfKernel() throws {
    let run = try t.shell(
      """
      mkdir -p src/d; echo 1 >src/d/a; ln src/d/a src/d/b; setfattr -n user.note -v 1 src/d/a
      "$BP" mirror -q src dst
      setfattr -n trusted.SGI_MAC_FILE -v 0x01 dst/src/d/a
      setfattr -n trusted.SGI_CAP_FILE -v 0x01 dst/src/d
      (cd dst; find . -printf '%P %i %C@\\n' | sort) >before
      "$BP" mirror -q src dst; echo $?
      (cd dst; find . -printf '%P %i %C@\\n' | sort) | diff before -; "$BP" audit -q src dst/src; echo $?
      """)
    #expect(run.text == "0\n0\n", "\(run.text)\(run.errorText)")
  }

  @Test("the second run opens no file, and nothing of the target is changed", .enabled(if: Host.canTrace))
  func unopened() throws {
    let run = try t.shell(
      """
      mkdir -p src/a; for n in $(seq 300); do echo $n >src/a/f$n; done; "$BP" mirror -q src dst
      (cd dst; find . -printf '%P %i %C@\\n' | sort) >before
      strace -f -o trace -e trace=openat,openat2,fchmod,fchown,utimensat,linkat,renameat2,unlinkat "$BP" mirror -q src dst; echo $?
      (cd dst; find . -printf '%P %i %C@\\n' | sort) | diff before -; grep -cE '"f[0-9]+"' trace; grep -c 'a/f' trace
      grep -cE 'fchmod|fchown|utimensat|linkat|renameat|unlinkat' trace
      """)
    #expect(run.text == "0\n0\n0\n0\n", "\(run.text)\(run.errorText)")
  }

  @Test("a slash at the end means the contents; several sources share a target")
  func places() throws {
    let run = try t.shell(
      """
      mkdir -p a/x b/x; echo 1 >a/x/one; echo 2 >b/x/two; echo 3 >b/x/one; echo 4 >file
      "$BP" mirror -q a b/ file t1; echo $?; (cd t1; find . -type f | sort)
      "$BP" mirror -q a/ b/ t2; echo $?; (cd t2; find . -type f | sort); cat t2/x/one
      (cd a; "$BP" mirror -q . ../t3); echo $?; (cd t3; find . -type f)
      "$BP" mirror -q a a/ t4; echo $?; (cd t4; find . -type f | sort)
      "$BP" mirror -q missing t5; echo $?; "$BP" mirror -q a; echo $?; echo x >t6; "$BP" mirror -q a t6; echo $?
      """)
    #expect(
      run.text == """
        0
        ./a/x/one
        ./file
        ./x/one
        ./x/two
        3
        ./x/one
        ./x/two
        1
        0
        ./x/one
        0
        ./a/x/one
        ./x/one
        1
        64
        5

        """, "\(run.text)\(run.errorText)")
  }

  @Test("a target inside the source is left out, and a source is never its own target")
  func insideOut() throws {
    let run = try t.shell(
      """
      mkdir -p src/d; echo 1 >src/d/f; for n in 1 2 3; do "$BP" mirror -q src src/d/copy; echo $?; done; find src -type f | sort
      "$BP" mirror -q src src; echo $?; "$BP" mirror -q src/ src; echo $?; "$BP" mirror -q src/d src; echo $?; find src -type f | sort
      """)
    let files = "src/d/copy/src/d/f\nsrc/d/f\n"
    #expect(run.text == "0\n0\n0\n\(files)1\n1\n1\n\(files)", "\(run.text)\(run.errorText)")
  }

  @Test("only what differs is copied or set: content, time, mode, owner, attributes, links")
  func changes() throws {
    let run = try t.shell(
      """
      mkdir -p src/d; for n in a b c d e f g; do echo $n >src/d/$n; done; ln -s a src/d/l; touch -d '2001-01-01 01:01:01.5' src/d/*
      "$BP" mirror -q src dst; echo 22 >src/d/b; touch -d '2001-01-01 01:01:01.6' src/d/c; chmod 640 src/d/d; ln -sfn b src/d/l
      setfattr -n user.x -v 1 src/d/e; setfattr -n user.y -v 1 dst/src/d/f; rm src/d/g; ln src/d/a src/d/g
      "$BP" mirror --dry-run src dst | sort; "$BP" mirror -v src dst 2>&1 | grep -v ^mirrored | sort; rsync -anHAXS --itemize-changes src dst/
      "$BP" mirror --json src dst | grep -c '"outcome":"up_to_date"'
      """)
    let changed = """
      describe src/d/d
      describe src/d/e
      describe src/d/f
      link src/d/g
      update src/d/b
      update src/d/c
      update src/d/l

      """
    #expect(run.text == changed + "describe src/d\n" + changed + "10\n", "\(run.text)\(run.errorText)")
  }

  @Test("--update, --ignore-existing and --checksum decide what is copied")
  func deciding() throws {
    let run = try t.shell(
      """
      mkdir src; for n in old new same; do echo $n >src/$n; touch -d 2010-01-01 src/$n; done; "$BP" mirror -q src/ dst
      echo OLD >src/old; touch -d 2015-01-01 src/old; echo NEW >dst/new; touch -d 2020-01-01 dst/new
      printf sAme\\\\n >dst/same; touch -d 2010-01-01 dst/same
      "$BP" mirror -q --ignore-existing src/ dst; cat dst/*; "$BP" mirror -q --update src/ dst; cat dst/*
      "$BP" mirror -q --checksum src/ dst; cat dst/*; touch -d 2011-01-01 dst/same
      "$BP" mirror -v -c src/ dst 2>&1 | grep same; stat -c %y dst/same | cut -c 1-4
      """)
    #expect(
      run.text == "NEW\nold\nsAme\nNEW\nOLD\nsAme\nnew\nOLD\nsame\ndescribe same\n2010\n",
      "\(run.text)\(run.errorText)")
  }

  @Test("files of the target with further names are replaced and never changed in place")
  func sharedNames() throws {
    let run = try t.shell(
      """
      mkdir src; echo 1 >src/a; echo 2 >src/b; "$BP" mirror -q src/ dst; ln dst/a outside; ln dst/b other
      chmod 600 src/a; echo 3 >src/b; "$BP" mirror -q src/ dst; stat -c '%a %h' outside dst/a; cat other dst/b
      """)
    #expect(run.text == "644 1\n600 1\n2\n3\n", "\(run.text)\(run.errorText)")
  }

  @Test("--link-dest shares equal files with other copies, which are not changed")
  func linkDest() throws {
    let run = try t.shell(
      """
      mkdir -p src/d snap; for n in a b c d; do echo $n >src/d/$n; done; ln src/d/a src/d/again; "$BP" mirror -q src snap/1
      echo B >src/d/b; chmod 600 src/d/c; "$BP" mirror -q --link-dest ../1 src snap/2; echo $?; rm src/d/d; echo new >src/d/e
      $BP mirror -q --link-dest ../2 --link-dest "$PWD/snap/1" src snap/3; echo $?; rsync -anHAXS --itemize-changes src snap/3/
      for f in a again b c d e; do stat -c "%h %n" snap/[123]/src/d/$f 2>/dev/null; done; cat snap/1/src/d/b; stat -c %a snap/1/src/d/c
      """)
    #expect(
      run.text == """
        0
        0
        6 snap/1/src/d/a
        6 snap/2/src/d/a
        6 snap/3/src/d/a
        6 snap/1/src/d/again
        6 snap/2/src/d/again
        6 snap/3/src/d/again
        1 snap/1/src/d/b
        2 snap/2/src/d/b
        2 snap/3/src/d/b
        1 snap/1/src/d/c
        2 snap/2/src/d/c
        2 snap/3/src/d/c
        2 snap/1/src/d/d
        2 snap/2/src/d/d
        1 snap/3/src/d/e
        b
        644

        """, "\(run.text)\(run.errorText)")
  }

  @Test("devices are left out and named without --devices", .enabled(if: Host.isRoot))
  func devices() throws {
    let run = try t.shell(
      """
      mkdir src; mknod src/null c 1 3; echo 1 >src/f; "$BP" mirror src dst 2>errors; echo $?; ls dst/src; grep -c 'src/null: is a character device' errors
      $BP mirror -q --devices src dst; echo $?; stat -c %t,%T dst/src/null
      """)
    #expect(run.text == "0\nf\n1\n0\n1,3\n", "\(run.text)\(run.errorText)")
  }

  @Test(
    "a user who is not root copies what belongs to others, and can update folders without write permission",
    .enabled(if: Host.isRoot))
  func otherUser() throws {
    let run = try t.shell(
      """
      mkdir -p src/d; echo 1 >src/d/f; echo 2 >src/d/s; chown 1001:1001 src src/d; chmod 4755 src/d/s; chmod 555 src/d; mkdir out; chown 1001 out
      me() { setpriv --reuid=1001 --regid=1001 --clear-groups "$@"; }
      me "$BP" mirror src out 2>errors; echo $?; grep -c 'without their owner or group' errors; stat -c '%a %u' out/src/d out/src/d/f out/src/d/s
      echo 3 >src/d/g; me "$BP" mirror -q src out; echo $?; cat out/src/d/g; stat -c %a out/src/d
      """)
    #expect(run.text == "0\n1\n555 1001\n644 1001\n755 1001\n0\n3\n555\n", "\(run.text)\(run.errorText)")
  }

  @Test("a tree that is deeper than any path the kernel takes is copied", .enabled(if: Host.hasPython))
  func deep() throws {
    let run = try t.shell(
      """
      mkdir src; python3 -c 'import os
      os.chdir("src")
      for n in range(2200): os.mkdir("d"); os.chdir("d")
      open("end", "w").write("x")'
      "$BP" mirror -q src dst; echo $?; "$BP" mirror -q src dst; echo $?; "$BP" mirror --delete --dry-run src dst 2>/dev/null; echo $?
      python3 -c 'import os
      os.chdir("dst/src")
      for n in range(2200): os.chdir("d")
      print(open("end").read())'
      """, seconds: 100)
    #expect(run.text == "0\n0\n0\nx\n", "\(run.text)\(run.errorText)")
  }

  @Test("a large file is copied in ranges by all lanes, with its holes", arguments: [1, 3])
  func large(concurrency: Int) throws {
    let run = try t.shell(
      """
      mkdir src; head -c 70000000 /dev/urandom >src/data; truncate -s 100M src/holes; echo end >>src/holes
      printf mid | dd of=src/holes bs=1 seek=80000000 conv=notrunc status=none; chmod 640 src/data; touch -d 2002-02-02 src/*
      "$BP" mirror -q -j \(concurrency) --no-fsync src dst; echo $?; rsync -anHAXS --checksum --itemize-changes src dst/; stat -c %b dst/src/holes | awk '{ print ($1 < 4000) }'
      "$BP" mirror -q -j \(concurrency) --rate 1G src slow; echo $?; cmp src/data slow/src/data; cmp src/holes slow/src/holes
      "$BP" mirror -v src dst 2>&1 | grep -c '^update'
      """, seconds: 100)
    #expect(run.text == "0\n1\n0\n0\n", "\(run.text)\(run.errorText)")
  }

  @Test("filters choose what is copied, and a letter of rsync that changes nothing is accepted")
  func selection() throws {
    let run = try t.shell(
      """
      mkdir -p src/.git src/d; echo 1 >src/.git/HEAD; echo 2 >src/d/a.c; echo 3 >src/d/a.o; "$BP" mirror -q -aHAXS --exclude '*.o' --exclude .git src dst; echo $?
      (cd dst; find . -type f); "$BP" mirror -q --inplace src dst; echo $?
      """)
    #expect(run.text == "0\n./src/d/a.c\n64\n", "\(run.text)\(run.errorText)")
  }
}
