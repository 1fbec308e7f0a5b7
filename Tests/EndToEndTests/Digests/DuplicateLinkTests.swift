import BatchEngine
import TestSupport
import Testing

/// `duplicates --link`: which copies are linked, which are not and why, and what is left after a fault.
@Suite(.timeLimit(.minutes(2))) struct DuplicateLinkTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    try t.shell(
      """
      mkdir -p src/d; seq 1000 >src/a; cp -p src/a src/b; cp -p src/a src/d/c; echo other >src/o
      touch -d '2020-01-01' src/a; touch -d '2021-01-01' src/b src/d/c
      """)
  }

  @Test(
    "a dry run names the copies and changes nothing; then the copies become names of the first file")
  func hard() throws {
    let run = try t.shell(
      """
      before=$(find src -printf '%p %i %n %T@ %C@\\n' | sort); $BP duplicates --link hard -n src; echo $?
      [ "$before" = "$(find src -printf '%p %i %n %T@ %C@\\n' | sort)" ] || echo changed
      $BP duplicates --link hard src; echo $?; find src -type f -printf '%p %n %TY\\n' | sort; seq 1000 | cmp - src/d/c
      [ $(stat -c %i src/a) = $(stat -c %i src/d/c) ] || echo no; $BP duplicates --link hard src; echo $?
      """)
    #expect(
      run.text == """
        src/b => src/a
        src/d/c => src/a
        0
        0
        src/a 3 2020
        src/b 3 2020
        src/d/c 3 2020
        src/o 1 \(try t.shell("date +%Y").text)0

        """, "\(run.text)")
    let lines = run.errorText.split(separator: "\n")
    #expect(lines.first?.hasPrefix("would link 2 files, 7.6 KiB in ") == true, "\(run.errorText)")
    #expect(lines.dropFirst().first?.hasSuffix("; 1 group") == true, "\(run.errorText)")
    #expect(t.temporaries().isEmpty)
  }

  @Test(
    "copies with another owner, mode, attribute or file system are not linked, and the reason is given",
    .enabled(if: Host.isRoot))
  func left() throws {
    let run = try t.shell(
      """
      for f in m1 m2 u x l w; do cp -p src/a src/$f; done
      chmod 600 src/m1 src/m2
      chown 65534 src/u
      setfattr -n user.k -v v src/x 2>/dev/null || chmod 604 src/x
      setfacl -m u:65534:r src/l 2>/dev/null || chmod 606 src/l
      cp -p src/a twin
      ln twin src/t
      exec 3<>src/w
      $BP duplicates --link hard -v src 2>errors
      echo $?
      grep 'left alone:' errors | sed 's/^batchproc: //' | sort
      """)
    #expect(
      run.text == """
        src/b => src/a
        src/m2 => src/m1
        src/d/c => src/a
        0
        src/l: left alone: another owner, mode, access control list or attribute (the same bytes as src/a)
        src/m1: left alone: another owner, mode, access control list or attribute (the same bytes as src/a)
        src/t: left alone: it has names outside of the paths given (the same bytes as src/a)
        src/u: left alone: another owner, mode, access control list or attribute (the same bytes as src/a)
        src/w: left alone: it is open for writing (the same bytes as src/a)
        src/x: left alone: another owner, mode, access control list or attribute (the same bytes as src/a)

        """, "\(run.text)\(run.errorText)")
    #expect(try t.shell("stat -c '%h %a %u' src/u twin src/w").text == "1 644 65534\n2 644 0\n1 644 0\n")
  }

  @Test("no copy becomes a name of a file that a program has open for writing")
  func openKept() throws {
    let run = try t.shell(
      "exec 3<>src/a; $BP duplicates --link hard -v src 2>errors; echo $?; grep -c 'the file that it would become' errors; stat -c %h src/a"
    )
    #expect(run.text == "0\n2\n1\n", "\(run.text)\(run.errorText)")
  }

  @Test("all names of a copy are linked when they are all below the paths")
  func names() throws {
    let run = try t.shell(
      "ln src/b src/b2; ln src/b src/d/b3; $BP duplicates -q --link hard src src/d; echo $?; stat -c %h src/a src/b2 src/d/b3"
    )
    #expect(run.text == "0\n5\n5\n5\n", "\(run.text)\(run.errorText)")
  }

  @Test("no link is followed, neither on the way to a copy nor in the place of one")
  func links() throws {
    let run = try t.shell(
      """
      mkdir out; cp -p src/a out/a; ln -s ../out src/way; ln -s a src/z; $BP duplicates -q --link hard src; echo $?
      stat -c %h out/a src/a; readlink src/z
      """)
    #expect(run.text == "0\n1\n3\na\n", "\(run.text)\(run.errorText)")
  }

  @Test("JSON has a line for each copy", .enabled(if: Host.hasPython))
  func json() throws {
    let run = try t.shell(
      """
      chmod 600 src/d/c; $BP duplicates --json --link hard src | python3 -c '
      import json, sys
      for row in map(json.loads, sys.stdin):
          if row["type"] == "link": print(row["path"], row["kept"], row["outcome"], row.get("reason", "-"), row["size"])
          if row["type"] == "summary": print(row["linked"], row["left"], row["groups"])'
      """)
    #expect(
      run.text == """
        src/b src/a linked - 3893
        src/d/c src/a left another owner, mode, access control list or attribute 3893
        1 1 1

        """, "\(run.text)\(run.errorText)")
  }

  @Test("a file system that cannot share blocks is reported once, and no file is changed")
  func reflink() throws {
    let run = try t.shell(
      """
      before=$(find src -type f -printf '%p %i %T@\\n' | sort); $BP duplicates --link reflink src 2>errors; echo $?
      [ "$before" = "$(find src -type f -printf '%p %i %T@\\n' | sort)" ] || echo changed; seq 1000 | cmp - src/b; grep -c 'shares no blocks' errors
      """)
    // A file system that can share blocks gives no message.
    #expect(run.text == "3\n1\n" || run.text == "0\n0\n", "\(run.text)\(run.errorText)")
  }

  @Test(
    "on a file system that shares blocks, copies use the space of one file and stay separate files",
    .enabled(if: Host.isRoot), arguments: [Host.SharingFileSystem.btrfs, .xfs].filter(\.canBeMounted))
  func sharedBlocks(system: Host.SharingFileSystem) throws {
    let run = try t.shell(
      """
      truncate -s 400M i; \(system.make) i >make.log; mkdir m; unshare -m sh -c '
        mount -o loop i m; mkdir -p m/t/d; head -c 20000000 /dev/urandom >m/t/a; cp --reflink=never -p m/t/a m/t/b
        cp --reflink=never m/t/a m/t/d/c; chmod 600 m/t/d/c; chown 65534 m/t/b; touch -d 2020-01-01 m/t/b
        state() { find m/t -type f -exec stat -c "%n %i %h %a %u %Y" {} + | sort; sha256sum m/t/a m/t/b m/t/d/c; }
        room() { sync -f m; df --output=used -k m | tail -n 1; }
        state >before; used=$(room); $BP duplicates --link reflink -v m/t; echo $?
        state | cmp - before; freed=$((used - $(room))); [ $freed -gt 35000 ] || echo freed $freed'
      """)
    #expect(run.text == "m/t/b => m/t/a\nm/t/d/c => m/t/a\n0\n", "\(run.text)\(run.errorText)")
  }

  @Test(
    "a folder without write permission is named, and all other copies are linked", .enabled(if: Host.isRoot))
  func refused() throws {
    let run = try t.shell(
      """
      \(Steps.functions)
      chmod -R a+rX .
      chown -R 65534 src
      chown 0 src/d
      chmod 755 src/d
      ends duplicates setpriv --reuid=65534 --regid=65534 --clear-groups $BP duplicates --link hard src 2>errors
      stat -c %h src/a src/d/c | says "names of each file"
      counts "named folder" '^batchproc: src/d/c: cannot link' <errors
      """)
    run.expectSteps(["duplicates": "3", "names of each file": "2 1", "named folder": "1"])
    #expect(t.temporaries().isEmpty)
  }
}
