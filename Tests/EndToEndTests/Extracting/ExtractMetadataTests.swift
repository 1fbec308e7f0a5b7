import BatchCore
import BatchEngine
import TestSupport
import Testing

/// Impossible owners, modes and times in archives, and attempts of other processes to redirect them.
@Suite("Metadata of extracted members", .timeLimit(.minutes(5))) struct ExtractMetadataTests {
  private let t: TreeFixture

  init() throws { t = try TreeFixture() }

  /// Makes `x.tar` with empty members that have these pax records.
  private func makePax(_ members: [(name: String, records: String)], mode: String = "0o4755") throws {
    let rows = members.map { "('\($0.name)', {\($0.records)})" }.joined(separator: ", ")
    try t.file(
      "make.py",
      """
      import tarfile
      tar = tarfile.open('x.tar', 'w', format=tarfile.PAX_FORMAT)
      for name, records in [\(rows)]:
          info = tarfile.TarInfo(name); info.mode = \(mode); info.uname = info.gname = ''; info.mtime = 5
          info.pax_headers = records
          tar.addfile(info)
      tar.close()

      """)
    let made = try t.shell("python3 make.py && mkdir out")
    try #require(made.status == 0, "\(made.errorText)")
  }

  @Test(
    "never give a file to root because the owner number is impossible", .enabled(if: Host.isRoot),
    arguments: ["1", "2", "7", "32"])
  func owners(jobs: String) throws {
    let bad = [
      ("big", "'uid': '4294967297'"), ("negative", "'uid': '-2'"), ("leave", "'uid': '4294967295'"),
      ("huge", "'uid': '99999999999999999999'"), ("group", "'gid': '4294967296'"),
    ]
    try makePax(bad + [("good", "'uid': '4294967294', 'gid': '7'")])
    try t.writeIndexed("x.tar", "tar.zst")
    for archive in ["x.tar", "x.tar.zst"] as [PathBytes] {
      try t.shell("rm -rf out; mkdir out")
      let run = try t.batchproc("extract", "-p", "-j", PathBytes(jobs), "-C", "out", archive)
      #expect(run.status == 3, "\(run.errorText)")
      for (name, _) in bad {
        #expect(
          run.errorText.contains("\(name): the archive has no valid number for its owner"),
          "\(run.errorText)")
        #expect(try t.shell("stat -c '%u:%g %a' out/\(name)").text == "0:0 755\n")
      }
      #expect(!run.errorText.contains("good: "))
      #expect(try t.shell("stat -c '%u:%g %a' out/good").text == "4294967294:7 4755\n")
    }
    // An impossible number is not reported when owners are not restored.
    try t.shell("rm -rf out; mkdir out")
    #expect(try t.batchproc("extract", "-p", "--no-same-owner", "-C", "out", "x.tar").status == 0)
  }

  @Test(
    "give FIFOs and devices their access control lists, also where a folder has a default list",
    .enabled(if: Host.isRoot), arguments: ["$BP archive -q --verify -o x.tar t", "tar --acls -cf x.tar t"])
  func listsOfNodes(maker: String) throws {
    let run = try t.shell(
      """
      mkdir t out; mkfifo t/p t/plain; mknod t/d c 1 3; setfacl -m u:1000:rw,g:100:r t/p t/d; setfacl -d -m u:1:rwx t
      \(maker); echo $?; (cd t; getfacl -cnp p d plain) >one
      $BP extract -q --devices -C out x.tar; echo $?; (cd out/t; getfacl -cnp p d plain) | diff one -; echo $?
      rm -rf out/t; $BP extract -q --no-xattrs --devices -C out x.tar; (cd out/t; getfacl -cnp p | grep -c user:)
      mkdir set back; $BP backup -q --to set t; $BP restore -q -C back set; echo $?
      getfacl -cnp $(find back -name p) $(find back -name plain) >two; getfacl -cnp t/p t/plain | diff two -; echo $?
      """)
    #expect(run.text == "0\n0\n0\n1\n0\n0\n", "\(run.text)\(run.errorText)")
  }

  @Test(
    "give folders their modes at any depth, for each umask, whatever the target folder passes on",
    arguments: [("022", "755"), ("002", "775"), ("077", "700"), ("033", "755")],
    [":", "chmod g+s out", "setfacl -d -m u:8:rwx,g::rwx out"])
  func modesOfFolders(umask: (String, plain: String), target: String) throws {
    let run = try t.shell(
      """
      umask \(umask.0); mkdir -p s/a/b/c/d s/x/y out; chmod 711 s/a/b; chmod 750 s/x; echo >s/a/b/c/d/f; echo >s/x/y/f
      tar --no-recursion -cf x.tar s/a/b s/a/b/c/d/f s/x s/x/y/f; \(target)
      $BP extract -q -C out x.tar; echo $?; find out/s -type d -printf '%P=%m ' | tr ' ' '\\n' | LC_ALL=C sort | tr '\\n' ' '
      getfacl -Rpn out/s | grep -c 'default:\\|user:8\\|mask:'
      """)
    let plain = umask.plain
    #expect(
      run.text
        == "0\n=\(plain) a/b/c/d=\(plain) a/b/c=\(plain) a/b=711 a=\(plain) x/y=\(plain) x=750 0\n",
      "\(run.text)\(run.errorText)")
  }

  @Test("use the owner name when it is known here, with any number", .enabled(if: Host.isRoot))
  func ownerNames() throws {
    try makePax([("f", "'uid': '-2', 'gid': '-2', 'uname': 'daemon', 'gname': 'daemon'")])
    #expect(try t.batchproc("extract", "-p", "-C", "out", "x.tar").status == 0)
    #expect(try t.shell("stat -c '%U:%G %a' out/f").text == "daemon:daemon 4755\n")
    let numeric = try t.batchproc(
      "extract", "-p", "--numeric-owner", "--overwrite", "always", "-C", "out", "x.tar")
    #expect(numeric.status == 3, "\(numeric.errorText)")
    #expect(try t.shell("stat -c '%u:%g %a' out/f").text == "0:0 755\n")
  }

  @Test("report impossible times", arguments: ["1", "32"])
  func times(jobs: String) throws {
    let bad = [
      ("far", "'mtime': '99999999999999999999'"), ("past", "'mtime': '-99999999999999999999.5'"),
      ("end", "'mtime': '9223372036854775807'"),
    ]
    try makePax(bad + [("old", "'mtime': '-1000.5'"), ("good", "'mtime': '20.25'")], mode: "0o644")
    let run = try t.batchproc("extract", "-j", PathBytes(jobs), "-C", "out", "x.tar")
    #expect(run.status == 3, "\(run.errorText)")
    for (name, _) in bad {
      #expect(run.errorText.contains("\(name): the archive has no possible time for it"), "\(run.errorText)")
      #expect(t.exists(PathBytes("out/\(name)")))
    }
    #expect(!run.errorText.contains("good: ") && !run.errorText.contains("old: "), "\(run.errorText)")
    #expect(try t.shell("stat -c %.Y out/good out/old").text == "20.250000000\n-1000.500000000\n")
  }

  @Test(
    "report owners and times that are not numbers", .enabled(if: Host.isRoot),
    arguments: ["1", "2", "7", "32"])
  func noNumbers(jobs: String) throws {
    let owners = ["abc", "", "+5", " 5", "5.7", "0x10", "-99999999999999999999"].enumerated().map {
      ("u\($0)", "'uid': '\($1)'")
    }
    let times = ["nan", "inf", "1e30", "", "5.x", "-"].enumerated().map { ("t\($0)", "'mtime': '\($1)'") }
    try makePax(owners + times + [("good", "'uid': '12', 'gid': '34', 'mtime': '0.25'")])
    let run = try t.batchproc("extract", "-p", "-j", PathBytes(jobs), "-C", "out", "x.tar")
    #expect(run.status == 3, "\(run.errorText)")
    for (name, _) in owners {
      #expect(
        run.errorText.contains("\(name): the archive has no valid number for its owner"),
        "\(run.errorText)")
      #expect(try t.shell("stat -c '%u:%g %a' out/\(name)").text == "0:0 755\n")
    }
    for (name, _) in times {
      #expect(run.errorText.contains("\(name): the archive has no possible time for it"), "\(run.errorText)")
    }
    #expect(run.messages.count == owners.count + times.count, "\(run.errorText)")
    #expect(try t.shell("stat -c '%u:%g %a %.Y' out/good").text == "12:34 4755 0.250000000\n")
  }

  @Test("follow global headers as stock tar does, or report that they are ignored", .enabled(if: Host.isRoot))
  func globalHeaders() throws {
    let made = try t.shell(
      """
      python3 - <<'END'
      import io, tarfile
      def make(name, globals):
          tar = tarfile.open(name, 'w', format=tarfile.PAX_FORMAT, pax_headers=globals)
          for member, own in [('plain', {}), ('own', {'uid': '99', 'mtime': '5.5'}), ('last', {})]:
              info = tarfile.TarInfo(member); info.mtime = 3; info.pax_headers = own
              tar.addfile(info)
          tar.close()
      make('x.tar', {'uid': '1234', 'gid': '4321', 'mtime': '77.5', 'comment': 'of no effect'})
      make('y.tar', {'path': 'elsewhere', 'SCHILY.xattr.user.a': 'b'})
      make('z.tar', {'uid': '4294967296', 'mtime': 'nan'})
      make('w.tar', {'comment': '0123456789abcdef'})
      END
      mkdir stock out; tar --numeric-owner -xpf x.tar -C stock
      """)
    try #require(made.status == 0, "\(made.errorText)")
    let run = try t.batchproc("extract", "-p", "-C", "out", "x.tar")
    #expect(run.status == 0 && run.messages.isEmpty, "\(run.errorText)")
    let look = "stat -c '%n %u:%g %.Y' plain own last"
    #expect(try t.shell("cd out; \(look)").text == (try t.shell("cd stock; \(look)").text))
    #expect(try t.shell("cd out; \(look)").text.hasPrefix("plain 1234:4321 77.5"))
    for command in ["verify", "list -l", "extract --overwrite always -C out"] {
      let said = try t.shell("$BP \(command) y.tar")
      #expect(
        said.errorText.contains("a global header sets SCHILY.xattr.user.a, path, which is not applied"),
        "\(command) \(said.errorText)")
      #expect(!(try t.shell("$BP \(command) w.tar").errorText.contains("global")), "\(command)")
    }
    let bad = try t.batchproc("extract", "-p", "--overwrite", "always", "-C", "out", "z.tar")
    #expect(bad.status == 3)
    #expect(bad.messages.count { $0.contains("no valid number") } == 2, "\(bad.errorText)")
    #expect(bad.messages.count { $0.contains("no possible time") } == 2, "\(bad.errorText)")
  }

  @Test("find the number of a group that has very many members", .enabled(if: Host.canMount))
  func largeGroup() throws {
    try makePax([("f", "'gid': '1', 'gname': 'crowd'")], mode: "0o644")
    let run = try t.shell(
      """
      { cat /etc/group; printf 'crowd:x:54321:'; seq -f 'member%06g' -s , 200000; } >group
      unshare -m sh -c 'mount --bind group /etc/group && $BP extract -C out x.tar && $BP archive -q -o y.tar out'
      stat -c %g out/f; tar tvf y.tar out/f
      """)
    #expect(run.text.contains("54321\n") && run.text.contains("/crowd"), "\(run.text) \(run.errorText)")
  }

  @Test(
    "are not applied to a file that another process put in the place of a FIFO, a device or a link",
    .enabled(if: Host.isRoot && Host.canPreload))
  func swapped() throws {
    let made = try t.shell(
      """
      python3 - <<'END'
      import tarfile
      tar = tarfile.open('x.tar', 'w')
      for name, kind in [('fifo', tarfile.FIFOTYPE), ('dev', tarfile.CHRTYPE), ('link', tarfile.SYMTYPE)]:
          info = tarfile.TarInfo(name); info.type = kind; info.mode = 0o666; info.uid = info.gid = 12345; info.mtime = 5
          info.uname = info.gname = ''; info.linkname = 'anywhere' if name == 'link' else ''
          info.devmajor, info.devminor = 1, 3
          tar.addfile(info)
      tar.close()
      END
      mkdir out; for n in file fifo link; do mkdir $n; done; echo secret >file/victim; chmod 600 file/victim; mkfifo -m 600 fifo/victim
      ln -s elsewhere link/victim
      """)
    try #require(made.status == 0, "\(made.errorText)")
    // Another process may do this at any time in a folder to which it may write.
    try t.preload(
      """
      #include <stdlib.h>
      #include <sys/stat.h>
      static void swap(int folder, const char *name) {
        unlinkat(folder, name, 0);
        if (linkat(AT_FDCWD, getenv("VICTIM"), folder, name, 0)) abort();
      }
      int mknodat(int folder, const char *name, mode_t mode, dev_t device) {
        static int (*real)(int, const char *, mode_t, dev_t);
        if (!real) real = (int (*)(int, const char *, mode_t, dev_t))dlsym(RTLD_NEXT, "mknodat");
        int result = real(folder, name, mode, device);
        if (!result) swap(folder, name);
        return result;
      }
      int symlinkat(const char *target, int folder, const char *name) {
        static int (*real)(const char *, int, const char *);
        if (!real) real = (int (*)(const char *, int, const char *))dlsym(RTLD_NEXT, "symlinkat");
        int result = real(target, folder, name);
        if (!result) swap(folder, name);
        return result;
      }
      """)
    for kind in ["file", "fifo", "link"] {
      let before = try t.shell("stat -c '%u:%g %a %y' \(kind)/victim").text
      let run = try t.shell(
        "rm -rf out; mkdir out; VICTIM=$PWD/\(kind)/victim LD_PRELOAD=$PWD/preload.so $BP extract --devices -C out x.tar"
      )
      #expect(run.status != 0)
      for name in ["fifo", "dev", "link"] {
        #expect(run.errorText.contains("\(name): "), "\(kind) \(run.errorText)")
      }
      #expect(try t.shell("stat -c '%u:%g %a %y' \(kind)/victim").text == before, "\(kind)")
    }
  }

  @Test("are restored for FIFOs, devices and links", .enabled(if: Host.isRoot))
  func special() throws {
    let made = try t.shell(
      """
      mkdir src out stock; mkfifo -m 640 src/fifo; mknod -m 600 src/null c 1 3; ln -s x src/link; touch -hd @7.5 src/*; chown -h 12:34 src/*
      tar --format=pax -cf x.tar src; tar xpf x.tar -C stock
      """)
    try #require(made.status == 0, "\(made.errorText)")
    for mode in ["never", "always"] {
      let run = try t.batchproc(
        "extract", "-p", "--devices", "--overwrite", PathBytes(mode), "-C", "out", "x.tar")
      #expect(run.status == 0, "\(run.errorText)")
      #expect(try t.differences("stock/src", "out/src", "mode time owner") == "")
      #expect(try t.allTemporaries() == "")
    }
  }

  /// Makes a file with odd names of attributes, and `names` with these names.
  private static let oddAttributes = #"""
    touch f
    for n in 'a=b' 'my key' '100%' $'caf\xc3\xa9' 'p%20q' '%3D%' '%41' 'DosStream.x y:$DATA' $'a\nb' '=' $'\xff'; do
      setfattr -n "user.$n" -v "of $n" f
    done
    names() {
      cd $1
      python3 -c "import os; print(sorted((n, os.getxattr('f', n)) for n in os.listxattr(b'f')))" 2>&1
      cd - >/dev/null
    }
    names . >names
    """#

  @Test(
    "keep the names of attributes, in our archives and in those of other tools", .enabled(if: Host.hasPython),
    arguments: [
      "$BP archive -q --verify -o a.tar f", "$BP archive -q --verify -o a.tar.zst f; mv a.tar.zst a.tar",
      "tar --xattrs -cf a.tar f", "bsdtar --xattrs -cf a.tar f",
      "bsdtar --xattrs --options xattrheader=SCHILY -cf a.tar f",
      "bsdtar --xattrs --options xattrheader=LIBARCHIVE -cf a.tar f",
    ])
  func attributeNames(maker: String) throws {
    let run = try t.shell(
      Self.oddAttributes + """

        \(maker); $BP extract -q -C o a.tar; names o | diff names -; $BP extract -q -C p - <a.tar; names p | diff names -
        """)
    #expect(run.status == 0 && run.text == "" && run.errorText == "", "\(run.text)\(run.errorText)")
  }

  @Test(
    "have names of attributes that GNU tar and bsdtar restore from our archives and backups",
    .enabled(if: Host.hasPython))
  func attributesForOthers() throws {
    let run = try t.shell(
      Self.oddAttributes + """

        \(Steps.functions)
        $BP archive -q -o a.tar f
        mkdir g b
        tar --xattrs -xf a.tar -C g 2>/dev/null
        names g | ends "by GNU tar" diff names -
        bsdtar --xattrs -xf a.tar -C b
        # For a name with codes bsdtar creates a second attribute, as from its own archives.
        python3 - <<'END' | says "names that bsdtar loses and adds"
        import os
        ours, theirs = os.listxattr('f'), os.listxattr('b/f')
        print(*(set(ours) - set(theirs)), len(theirs) - len(ours))
        END
        $BP backup -q --to bk f
        $BP restore -q bk -C r
        names r/$PWD | ends "by restore" diff names -
        """)
    run.expectSteps(["by GNU tar": "0", "names that bsdtar loses and adds": "4", "by restore": "0"])
    #expect(run.errorText == "")
  }

  @Test(
    "never keep an access control list that comes from the target folder",
    arguments: [
      "$BP extract -q -C o a.tar.zst", "$BP extract -q -C o a.tar", "$BP extract -q -C o - <a.tar",
      "cp -r s o/ && $BP extract -q --force -C o a.tar", "$BP extract -q -j 1 -C o a.tar 's/*'",
      "$BP restore -q bk -C o && mv o/$PWD/s o/s",
      "mkdir -p o/$PWD && cp -r s o/$PWD/ && $BP restore -q --force bk -C o && mv o/$PWD/s o/s",
    ], ["u:9:rwx", "u::rwx,g::rwx,o::rwx"])
  func defaultLists(call: String, list: String) throws {
    let run = try t.shell(
      """
      umask 022; mkdir -p s/dir s/lists; echo a >s/plain; chmod 640 s/plain; echo b >s/acl; setfacl -m u:7:r s/acl
      chmod 750 s/dir; echo c >s/dir/in; mkfifo s/fifo; ln -s x s/link; ln s/plain s/dir/hard; head -c 3000000 /dev/zero | tr '\\0' x >s/large
      setfacl -d -m u:8:rx s/lists; setfacl -m u:8:rx s/lists; echo d >s/lists/x; setfacl -b s/lists/x
      $BP archive -q -o a.tar.zst s; tar --acls -cf a.tar s; $BP backup -q --to bk s
      mkdir o; setfacl -d -m \(list) o; \(call); echo $?
      getfacl -R s | sort >before; (cd o; getfacl -R s) | sort | diff before -; getfacl -c o | grep -c default
      """)
    #expect(
      run.text.hasPrefix("0\n") && run.text.split(separator: "\n").count == 2, "\(run.text)\(run.errorText)")
    #expect(run.errorText == "", "\(run.errorText)")
  }

  @Test(
    "are set on another temporary file when the first one is locked by another run",
    .enabled(if: Host.canPreload))
  func locked() throws {
    // A file that is written in one call is not locked, so this one is larger.
    try t.shell("mkdir src out; seq 99999 >src/f; tar cf x.tar src")
    try t.preload(
      """
      #include <stdarg.h>
      #include <sys/file.h>
      static int locks;
      int openat(int folder, const char *path, int flags, ...) {
        static int (*real)(int, const char *, int, ...);
        if (!real) real = (int (*)(int, const char *, int, ...))dlsym(RTLD_NEXT, "openat");
        va_list list; va_start(list, flags); unsigned mode = va_arg(list, unsigned); va_end(list);
        if ((flags & O_TMPFILE) == O_TMPFILE) { errno = EOPNOTSUPP; return -1; }
        return real(folder, path, flags, mode);
      }
      int flock(int fd, int operation) {
        (void)fd; (void)operation;
        if (locks++ < 2) { errno = EWOULDBLOCK; return -1; }
        dprintf(2, "locked at %d\\n", locks);
        return 0;
      }
      """)
    let run = try t.shell(
      "LD_PRELOAD=$PWD/preload.so $BP extract -q -C out x.tar; echo $?; diff -r src out/src")
    #expect(run.text == "0\n", "\(run.text)")
    #expect(run.errorText.contains("locked at 3"), "\(run.errorText)")
    #expect(try t.allTemporaries() == "")
  }
}
