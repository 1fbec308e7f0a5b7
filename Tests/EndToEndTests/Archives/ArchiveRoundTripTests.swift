import BatchCore
import BatchEngine
import TestSupport
import Testing

/// Stock tar extracts our archives, and the result is compared with the original tree.
@Suite(.timeLimit(.minutes(3))) struct ArchiveRoundTripTests {
  private let t: TreeFixture
  private static let extract =
    "tar --warning=no-unknown-keyword --warning=no-timestamp --acls --xattrs '--xattrs-include=*' --same-owner -xpf"

  init() throws { t = try TreeFixture() }

  @Test(
    "names, bytes, modes, times, owners, attributes and access control lists are restored",
    .enabled(if: Host.hasPython))
  func everything() throws {
    try t.writeOddTree(files: 700)
    let run = try t.shell(
      """
      touch -d '1969-12-31 23:59:58.5' src/early; touch -d '2500-01-01' src/late; touch -d @1.123456789 src/one/ns
      mkdir out; $BP archive -q -o a.tar.zst src && zstd -dcq a.tar.zst | \(Self.extract) - -C out
      """)
    #expect(run.status == 0 && run.errorText == "", "\(run.errorText)")
    #expect(try t.compare("src", "out/src") == "703 files\n")
  }

  @Test("folders, links, FIFOs and devices are restored")
  func kinds() throws {
    let run = try t.shell(
      """
      mkdir -p t/d/empty t/mode; chmod 1775 t/mode; setfacl -d -m u:65534:rx t/d; setfattr -n user.k -v v t/d
      echo x >t/file; ln t/file t/d/twin; ln t/file t/mode/third; ln -s nowhere t/dangling; ln -s . t/loop
      ln -s "$(printf 'long%.0s' $(seq 60))" t/long; mkfifo -m 600 t/fifo; touch -h -d @5.25 t/dangling
      if [ $(id -u) = 0 ]; then mknod t/null c 1 3; mknod t/block b 259 70000; cp /bin/true t/cap; chmod 4755 t/cap; fi
      touch -d @1000000000.5 t/d t/fifo; mkdir out; $BP archive -q -o a.tar t && \(Self.extract) a.tar -C out
      look() {
        (cd $1; find t -printf '%p %y %l %m %n %U:%G %T@\\n' | sort; find t \\( -type c -o -type b \\) -exec stat -c '%n %t %T' {} + | sort
        find t ! -type l | sort | xargs getfacl; find t ! -type l | sort | xargs getfattr -d 2>/dev/null)
      }
      look . >one; look out >two; diff one two; tar -tvf a.tar | grep -c 'link to t/file'
      """)
    #expect(run.text == "2\n", "\(run.text)\(run.errorText)")
    #expect(run.errorText == "")
  }

  @Test("holes of sparse files are not read, and are restored")
  func sparse() throws {
    let run = try t.shell(
      """
      mkdir t; truncate -s 3M t/a; seq 100 | dd of=t/a bs=1 seek=1500000 conv=notrunc status=none
      truncate -s 1T t/huge; echo end >>t/huge; truncate -s 9G t/hole; seq 4000000 >t/large
      fallocate -p -o 1M -l 20M t/large; seq 20 >t/plain
      $BP archive -o a.tar.zst t; echo $?; mkdir out; zstd -dcq a.tar.zst | \(Self.extract) - -C out
      for f in a plain large; do cmp t/$f out/t/$f; done; stat -c '%n %s' t/*; (cd out; stat -c '%n %s' t/*); tail -c 4 out/t/huge
      du -k out | tail -1 | awk '{ print ($1 < 20000) }'; zstd -dcq a.tar.zst | wc -c | awk '{ print ($1 < 20000000) }'
      """, seconds: 100)
    let rows = run.text.split(separator: "\n")
    try #require(rows.count == 14, "\(run.text)\(run.errorText)")
    #expect(rows[0] == "0" && rows[1..<6] == rows[6..<11], "\(run.text)")
    #expect(rows.suffix(3) == ["end", "1", "1"], "\(run.text)\(run.errorText)")
  }

  @Test("bsdtar reads long names, and names that are not UTF-8")
  func names() throws {
    let run = try t.shell(
      """
      mkdir -p "t/$(printf 'd%.0s' $(seq 200))/$(printf 'e%.0s' $(seq 200))"; cd t
      touch "$(printf 'x%.0s' $(seq 255))" $'k\\xfe' $'k\\xff' $'new\\nline' $'\\xed\\xa0\\xbd\\xed\\xb8\\x80' fé é
      touch "$(printf 'd%.0s' $(seq 200))/$(printf 'e%.0s' $(seq 200))/leaf"
      sparse=$'\\xff'$(printf 's%.0s' $(seq 150)); truncate -s 1M "$sparse"; echo end >>"$sparse"; cd ..
      $BP archive -q -o a.tar.gz t; $BP verify -q a.tar.gz; mkdir one two
      env -i LC_ALL=C $BP archive -q -o c.tar.gz t; cmp a.tar.gz c.tar.gz
      bsdtar -xf a.tar.gz -C one 2>/dev/null; tar --warning=no-unknown-keyword -xzf a.tar.gz -C two
      find t -print0 | sort -z >names; for d in one two; do (cd $d; find t -print0 | sort -z | cmp - ../names); done
      """)
    #expect(run.status == 0 && run.errorText == "", "\(run.errorText)")
  }

  @Test("a tree deeper than PATH_MAX is restored")
  func deep() throws {
    let run = try t.shell(
      """
      mkdir t; (cd t; for i in $(seq 40); do n=$(printf 'd%.0s' $(seq 200)); mkdir $n; cd $n; done; echo x >leaf; ln -s leaf s)
      $BP archive -q -o a.tar t; tar -tf a.tar | wc -l; tar -xOf a.tar --wildcards '*/leaf'
      """)
    #expect(run.text == "43\nx\n" && run.errorText == "", "\(run.text)\(run.errorText)")
  }

  @Test(
    "owners and modes are those of the archive, not those that the target folder gives to new files",
    .enabled(if: Host.hasPython), arguments: ["022", "077", "0777"], ["never", "always"])
  func target(umask: String, overwrite: String) throws {
    let run = try t.shell(
      """
      mkdir -p src/d/e out; for n in 1 2 3; do for m in 0 400 600 640 644 666 755 777; do
        echo $n >src/d/f$m-$n; chmod $m src/d/f$m-$n; cp -p src/d/f$m-$n src/d/e; done; done
      if [ $(id -u) = 0 ]; then chown 65534:65533 src/d/f*-2 out; fi
      chmod 2777 out; setfacl -d -m u:1234:rwx,g::r,o::- out; $BP archive -q -o a.tar.zst src
      umask \(umask); $BP extract -q --overwrite \(overwrite) -C out a.tar.zst
      """)
    #expect(run.status == 0 && run.errorText == "", "\(run.errorText)")
    #expect(try t.differences("src", "out/src", "mode time owner") == "")
    // A second run finds all files, and a folder with the name of one file.
    let again = try t.shell("rm out/src/d/f0-1; mkdir out/src/d/f0-1; $BP extract -C out a.tar.zst")
    #expect(again.status == 3, "\(again.errorText)")
    #expect(again.errorText.contains("src/d/f0-1: a folder has its name"), "\(again.errorText)")
    #expect(again.errorText.contains("src/d/e/f777-3: exists already"), "\(again.errorText)")
  }

  @Test(
    "the archived mode of a file with an access control list is that of stat, in every format",
    arguments: ["tar", "tar.zst", "cpio", "zip"])
  func modeBesideList(format: String) throws {
    let run = try t.shell(
      """
      mkdir -p t/d; echo x >t/f; chmod 644 t/f; setfacl -m u:65534:rw t/f
      echo y >t/g; chmod 640 t/g; setfacl -m g:65534:rwx,m::x t/g; setfacl -m u:65534:rwx t/d; chmod 2755 t/d
      setfacl -m m::rwx t/d; truncate -s 1M t/s; chmod 600 t/s; setfacl -m u:65534:rw t/s
      $BP archive -q -o a.\(format) t; $BP list -lq a.\(format) >rows
      (find t -printf '%M %p\n'; ) | cut -c1-10 | sort >modes; cut -c1-10 rows | sort | diff - modes
      case \(format) in tar*) tar -tvf a.\(format) | cut -c1-10 | sort | diff - modes; $BP verify -q --against . a.\(format);;
      zip) unzip -Z a.zip | grep -a t/ | cut -c1-10 | sort | diff - modes;; esac
      """)
    #expect(run.text == "" && run.errorText == "", "\(run.text)\(run.errorText)")
  }

  @Test(
    "an ordinary user gets attributes and lists of read-only files back",
    .enabled(if: Host.canChangeUser && Host.hasPython))
  func readOnlyAttributes() throws {
    try t.file(
      "run.sh",
      """
      umask 022; mkdir -p src/d; echo x >src/f; echo y >src/d/g; setfattr -n user.note -v 1 src/f src/d src/d/g
      setfacl -m u:12345:r src/f; chmod 444 src/f src/d/g; chmod 555 src/d; mkdir out
      echo z >src/h; setfattr -n user.note -v 2 src/h; setfacl -m u::r,u:12345:r src/h
      $BP archive -q -o a.tar.zst src && $BP extract -q -C out a.tar.zst
      """)
    let run = try t.shell("chmod 777 .; setpriv --reuid=65534 --regid=65534 --clear-groups bash run.sh")
    #expect(run.status == 0 && run.errorText == "", "\(run.errorText)")
    #expect(try t.differences("src", "out/src") == "")
  }
}
