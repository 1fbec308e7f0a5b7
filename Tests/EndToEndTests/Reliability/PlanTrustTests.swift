import TestSupport
import Testing

/// A plan controls what a run reads, writes and removes. So nothing of it is used that another user could have written.
@Suite("A plan", .enabled(if: Host.canChangeUser), .timeLimit(.minutes(2)))
struct PlanTrustTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    try t.shell(
      """
      mkdir t own shared; for n in 1 2 3 4; do seq $n 900 >t/$n; done; chown 65534 own; chmod 1777 shared
      "$BP" plan -q --shards 2 --out p -- hash --stride 2 -o many t; "$BP" hash -q --plan p --shard 0
      """)
  }

  private static let user = "user() { setpriv --reuid=65534 --regid=65534 --clear-groups \"$BP\" \"$@\"; }"

  @Test(
    "that another user can change or replace is refused by each command, with what to do",
    arguments: [
      "chown 65534 p", "chmod 770 p", "chmod 707 p", "chown 65534 p/plan.json", "chmod 664 p/plan.json",
      "mv p own; ln -s own/p p", "mkdir g; chmod 775 g; mv p g; ln -s g/p p",
      "mkdir w; chmod 777 w; mv p w; ln -s w/p p",
    ])
  func refused(change: String) throws {
    let run = try t.shell(
      """
      \(change)
      "$BP" hash -q --plan p --shard 1; echo $?; "$BP" merge -q p; echo $?; "$BP" status p; echo $?
      "$BP" submit --slurm --shards 2 --dir p -- hash t; echo $?; ls p/ | grep -c shard-0001; ls many
      """)
    // submit does not read the file of the plan.
    let submitted = change.contains("plan.json") ? "" : "64\n"
    #expect(
      run.text.hasPrefix("64\n64\n64\n" + submitted) && run.text.hasSuffix("\n0\n"),
      "\(run.text)\(run.errorText)")
    #expect(run.errorText.contains("is refused, since"), "\(run.errorText)")
    #expect(
      run.errorText.contains("chmod go-w") || run.errorText.contains("chown")
        || run.errorText.contains("below folders of root"))
  }

  @Test(
    "whose entries or results another user could have written is refused",
    arguments: [
      ("plan.entries", "hash -q --plan p --shard 1"), ("shard-0000.result", "merge -q --allow-missing p"),
      ("shard-0000.result", "hash -q --plan p --shard 0"),
    ])
  func files(name: String, command: String) throws {
    for change in ["chown 65534", "chmod 662"] {
      let run = try t.shell(
        "\(change) p/\(name); \"$BP\" \(command); echo $?; ls many; chown 0 p/*; chmod 600 p/*")
      #expect(run.text == "64\n", "\(run.text)\(run.errorText)")
    }
  }

  @Test("is not made in a folder that another user can change", arguments: ["own/q", "own/q/r", "group"])
  func made(folder: String) throws {
    let run = try t.shell(
      """
      mkdir -p group own/q; chown 65534 own/q; chmod 775 group
      "$BP" plan -q --shards 2 --out \(folder) -- hash t; echo $?; find own group -name 'plan*'
      """)
    #expect(run.text == "64\n", "\(run.text)\(run.errorText)")
  }

  @Test(
    "works with any umask, and its results are for their owner only", arguments: ["000", "002", "022", "077"])
  func umask(_ umask: String) throws {
    let run = try t.shell(
      """
      umask \(umask); "$BP" plan -q --shards 2 --out q -- archive --stride 2 -o a.tar.zst t
      for i in 0 1; do "$BP" archive -q --plan q --shard $i; echo $?; done; stat -c %a q/*.result
      "$BP" merge -q q; echo $?; find q -perm /022
      """)
    #expect(run.text == "0\n0\n600\n600\n0\n", "\(run.text)\(run.errorText)")
  }

  @Test("of a user works in folders that a group or all users share, as long as they cannot exchange it")
  func sharedFolders() throws {
    let run = try t.shell(
      """
      \(Self.user)
      mkdir shared/group; chmod 2775 shared/group; chgrp 65534 shared/group; chown 65534 t
      for d in shared/mine shared/group/mine; do
        user plan -q --shards 2 --out $d -- hash --stride 2 t; echo $?
        for i in 0 1; do user hash -q --plan $d --shard $i; echo $?; done; user merge -q $d | wc -l
      done
      "$BP" merge -q shared/mine; echo $?; chmod 777 shared/group; user merge -q shared/group/mine; echo $?
      """)
    #expect(run.text == "0\n0\n0\n4\n0\n0\n0\n4\n64\n64\n", "\(run.text)\(run.errorText)")
  }

  @Test("of root does not decide which file of another user a merge replaces")
  func mergeOfAnother() throws {
    let run = try t.shell(
      """
      \(Self.user)
      "$BP" plan -q --shards 1 --out r -- archive --force -o own/a.tar.zst t; "$BP" archive -q --plan r --shard 0; chmod a+r r/*
      echo old >own/a.tar.zst; chown 65534 own/a.tar.zst; user merge -q r; echo $?; cat own/a.tar.zst
      user merge -q -o own/a.tar.zst r; echo $?; user merge -q --force -o own/a.tar.zst r; echo $?; "$BP" verify -q own/a.tar.zst; echo $?
      """)
    #expect(
      run.text == "64\nold\n5\n0\n0\n" || run.text == "64\nold\n1\n0\n0\n", "\(run.text)\(run.errorText)")
    #expect(run.errorText.contains("name the output with '--output <file>'"))
  }
}
