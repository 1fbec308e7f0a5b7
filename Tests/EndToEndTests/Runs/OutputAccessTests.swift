import BatchCore
import BatchEngine
import TestSupport
import Testing

/// A user who cannot read a source must not be able to read its output.
@Suite(.timeLimit(.minutes(2)))
struct OutputAccessTests {
  private let t: TreeFixture

  init() throws { t = try TreeFixture() }

  @Test(
    "when the target has no access control lists, group and others get fewer rights, with a message",
    .enabled(if: Host.canMount))
  func lostList() throws {
    let run = try t.shell(
      """
      mkdir src m; seq 9000 >src/a; seq 900000 >src/large; seq 9000 >src/plain; chmod 660 src/*
      setfacl -m g::-,u:1001:rw src/a src/large; setfacl -m u:1002:-,g::rw,o:r src/plain
      unshare -m bash -c 'mount -t ramfs none m; $BP compress -q --output-dir m src; echo $?; stat -c "%a" m/src/*
        $BP compress --output-dir m --force -j 1 src 2>&1 | grep -c "access control list"'
      """)
    // ramfs has no access control lists. The mode 0660 was the mask, and the owning group had no rights.
    #expect(run.text == "0\n600\n600\n600\n3\n", "\(run.text) \(run.errorText)")
  }

  @Test(
    "a default list of the folder does not give access to an output whose source has no list",
    arguments: ["", "--no-fsync"])
  func inheritedList(option: String) throws {
    let run = try t.shell(
      """
      mkdir w; seq 9000 >w/a; seq 9000 >w/b; seq 900000 >w/large; chmod 640 w/*; chmod 644 w/b
      setfacl -d -m u:1001:rw w; $BP compress -q \(option) w; getfacl -c w/*.gz | grep -c 1001; stat -c %a w/*.gz
      """)
    #expect(run.text == "0\n640\n644\n640\n", "\(run.text) \(run.errorText)")
  }

  @Test(
    "mirrored folders give group and others the rights of the source folders",
    arguments: ["", "--no-fsync"])
  func mirroredFolders(option: String) throws {
    let run = try t.shell(
      """
      umask 022; mkdir -p w/private/below w/group w/open w/listed o; setfacl -d -m u:1001:rwx o
      for d in private private/below group open listed; do seq 9000 >w/$d/a; done
      chmod 700 w/private; chmod 750 w/group; chmod 755 w/private/below w/open; chmod 777 w; chmod 550 w/group
      setfacl -m g::-,u:1001:rx w/listed
      $BP compress -q \(option) --output-dir o w; cd o; stat -c '%n %a' w w/* w/*/below; getfacl -cR w | grep -c 1001
      """)
    #expect(
      run.text == """
        w 755
        w/group 750
        w/listed 705
        w/open 755
        w/private 700
        w/private/below 755
        0

        """, "\(run.text) \(run.errorText)")
  }

  @Test("an existing mirrored folder with more rights is restricted before an output is written to it")
  func narrowed() throws {
    let run = try t.shell(
      """
      mkdir -p w/private o/w/private; seq 9000 >w/private/a; chmod 700 w/private; chmod 755 o/w/private
      $BP compress -q --output-dir o w; echo $?; stat -c %a o/w/private
      """)
    #expect(run.text == "0\n700\n", "\(run.text) \(run.errorText)")
  }

  @Test(
    "a run that is stopped leaves its folders with these permissions", .enabled(if: Host.canTrace))
  func stopped() throws {
    let run = try t.shell(
      """
      umask 022; mkdir w; seq 2000000 >w/a; for i in $(seq 300); do seq 9000 >w/f$i; done
      strace -qq -f -o /dev/null -e trace=linkat -e inject=linkat:signal=TERM:when=20 $BP compress -q --no-fsync \
        --output-dir o w; stat -c %a o/w
      """)
    #expect(run.text == "755\n", "\(run.text) \(run.errorText)")
  }
}
