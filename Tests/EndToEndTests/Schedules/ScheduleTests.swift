import BatchEngine
import Foundation
import TestSupport
import Testing

/// The output of `schedule`, compared with the samples.
@Suite struct ScheduleTests {
  private let t: TreeFixture
  private static let folder = Repository.root.appendingPathComponent("samples/cron").path

  init() throws { t = try TreeFixture() }

  @Test("the samples equal the output, with the path of an installed program")
  func samples() throws {
    let run = try t.shell(
      """
      installed() { sed "s#$(readlink -f "$BP") #/usr/local/bin/batchproc #"; }
      $BP schedule --cron --to /mnt/backups --name home /home | installed | cmp - '\(Self.folder)/backup.cron'
      $BP schedule --systemd --to /mnt/backups --name home --write u /home >names; [ $(wc -l <names) = 7 ] || cat names
      for f in .service .timer -drill.service -drill.timer -age.service -age.timer; do
        installed <u/batchproc-home$f | cmp - '\(Self.folder)/backup'$f; done
      installed <u/batchproc-failed@.service | cmp - '\(Self.folder)/batchproc-failed@.service'
      for f in $(cat names); do cat $f; echo; done | grep -v '^$' >all; $BP schedule --systemd --to /mnt/backups --name home /home | grep -v '^$' | cmp - all
      """)
    #expect(run.text == "" && run.errorText == "", "\(run.text)\(run.errorText)")
  }

  @Test("the unit of a profile has the same restrictions as the printed one")
  func restrictions() throws {
    let run = try t.shell(
      """
      service() { sed -n '/^\\[Service\\]/,/^\\[/ { /^[A-Z]/ { /^ExecStart=/d; /^ReadWritePaths=/d; /^SuccessExitStatus=/d; p } }'; }
      $BP schedule --systemd --to /mnt/backups --name home --write u /home >names; service <u/batchproc-home.service >printed
      service <u/batchproc-home-drill.service | cmp - printed; service <u/batchproc-home-age.service | grep -v StandardOutput | diff printed -
      service <'\(Self.folder)/batchproc@.service' | diff printed -; grep -c = printed
      """)
    #expect((Int(run.text.dropLast()) ?? 0) > 10, "\(run.text)\(run.errorText)")
  }

  @Test("the printed commands run unchanged, also when names need quotes")
  func quoted() throws {
    let run = try t.shell(
      """
      mkdir "it's 5%" 'to $x' to; echo a >"it's 5%/f"; cp "$BP" "it's 5%/program"
      "./it's 5%/program" schedule --cron --to 'to $x' --name n "it's 5%/f" | sed -n '/ backup /{ s/^15 2 [*] [*] [*] root //; s/\\\\%/%/g; p }' >line
      sh -c "$(cat line)"; echo $?; $BP snapshots 'to $x' | wc -l
      "./it's 5%/program" schedule --systemd --to to --name n "it's 5%/f" 2>/dev/null; echo $?
      mkdir 'its 5%'; mv "it's 5%/program" 'its 5%'
      './its 5%/program' schedule --systemd --to to --name n "it's 5%/f" | sed -n '/^ExecStart=.* backup /{ s/^ExecStart=//; s/%%/%/g; p }' >line
      sh -c "$(cat line)" 2>/dev/null; echo $?; $BP snapshots to | wc -l; $BP schedule --to a b 2>/dev/null; echo $?
      """)
    #expect(run.text == "0\n1\n64\n0\n1\n64\n", "\(run.text)\(run.errorText)")
  }

  @Test("dollars are doubled in commands alone, and the names of files have only characters of unit names")
  func units() throws {
    let run = try t.shell(
      """
      $BP schedule --systemd --to '/b/$a"x' --name 'my set@x\\' --write u '/s/$d%' >/dev/null; ls u
      grep -hE '^(RequiresMountsFor|ReadWritePaths|ExecStart|Description)=' u/batchproc-my_set_x_.service | sed 's/=[^ ]* backup/=backup/; s/ --keep-daily.*12//'
      """)
    #expect(
      run.text == #"""
        batchproc-failed@.service
        batchproc-my_set_x_-age.service
        batchproc-my_set_x_-age.timer
        batchproc-my_set_x_-drill.service
        batchproc-my_set_x_-drill.timer
        batchproc-my_set_x_.service
        batchproc-my_set_x_.timer
        Description=Back up with batchproc: "my set@x\\"
        RequiresMountsFor="/s/$d%%" "/b/$a\"x"
        ExecStart=backup --to "/b/$$a\"x" --name "my set@x\\" "/s/$$d%%"
        ReadWritePaths=-"/b/$a\"x"

        """#, "\(run.text)\(run.errorText)")
  }

  @Test("a percent sign is escaped for cron also before an accent")
  func percent() throws {
    let run = try t.shell(
      #"$BP schedule --cron --to to --name n "$(printf '/s%%\314\201')" | LC_ALL=C grep -cF '/s\%'"#)
    #expect(run.text == "1\n", "\(run.text)\(run.errorText)")
  }

  @Test(
    "an invalid name of a set, or one with control characters, is a usage error",
    arguments: [
      #"x\n* * * * * root id"#, #"x\nExecStartPre=/bin/id"#, #"x\033[2J"#, #"\302\205"#, #"\342\200\250"#,
      "a/b",
      ".a", "",
    ])
  func names(_ name: String) throws {
    let run = try t.shell(
      """
      echo a >f; name=$(printf '\(name)_'); name=${name%_}
      for command in 'schedule --cron' 'schedule --systemd' backup; do $BP $command --to to --name "$name" f; echo $?; done; ls
      """)
    #expect(run.text == "64\n64\n64\nf\n", "\(run.text)")
    #expect(run.errorText.contains("'--name"), "\(run.errorText)")
  }
}
