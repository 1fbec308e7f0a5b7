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
      \(Steps.functions)
      samples='\(Self.folder)'
      installed() { sed "s#$BP #/usr/local/bin/batchproc #"; }
      $BP schedule --cron --to /mnt/backups --name home /home | installed | ends "cron" diff - $samples/backup.cron
      $BP schedule --systemd --to /mnt/backups --name home --write u /home >names
      wc -l <names | says "units"
      for f in .service .timer -drill.service -drill.timer -age.service -age.timer; do
        installed <u/batchproc-home$f | ends "unit $f" diff - $samples/backup$f
      done
      installed <u/batchproc-failed@.service | ends "unit of failures" diff - $samples/batchproc-failed@.service
      for f in $(cat names); do
        cat $f
        echo
      done | grep -v '^$' >all
      $BP schedule --systemd --to /mnt/backups --name home /home | grep -v '^$' | ends "printed units" diff - all
      """)
    run.expectSteps([
      "cron": "0", "units": "7", "unit .service": "0", "unit .timer": "0", "unit -drill.service": "0",
      "unit -drill.timer": "0", "unit -age.service": "0", "unit -age.timer": "0", "unit of failures": "0",
      "printed units": "0",
    ])
    #expect(run.errorText == "")
  }

  @Test("the unit of a profile has the same restrictions as the printed one")
  func restrictions() throws {
    let run = try t.shell(
      """
      \(Steps.functions)
      # The keys of the section Service, apart from those that differ.
      others='^(ExecStart|ReadWritePaths|SuccessExitStatus)='
      service() { sed -n '/^\\[Service\\]/,/^\\[/p' | grep '^[A-Z]' | grep -vE "$others"; }
      $BP schedule --systemd --to /mnt/backups --name home --write u /home >names
      service <u/batchproc-home.service >printed
      service <u/batchproc-home-drill.service | ends "drill" diff printed -
      service <u/batchproc-home-age.service | grep -v StandardOutput | ends "age" diff printed -
      service <'\(Self.folder)/batchproc@.service' | ends "profile" diff printed -
      ends "more than 10 keys" test $(grep -c = printed) -gt 10
      """)
    run.expectSteps(["drill": "0", "age": "0", "profile": "0", "more than 10 keys": "0"])
  }

  @Test("the printed commands run unchanged, also when names need quotes")
  func quoted() throws {
    let run = try t.shell(
      """
      \(Steps.functions)
      mkdir "it's 5%" 'to $x' to
      echo a >"it's 5%/f"
      cp "$BP" "it's 5%/program"
      "./it's 5%/program" schedule --cron --to 'to $x' --name n "it's 5%/f" >crontab
      sed -n '/ backup /{ s/^15 2 [*] [*] [*] root //; s/\\\\%/%/g; p }' crontab >line
      ends "line of cron" sh -c "$(cat line)"
      $BP snapshots 'to $x' | wc -l | says "snapshots by cron"
      ends "units for a path with a quote" \\
        "./it's 5%/program" schedule --systemd --to to --name n "it's 5%/f" 2>/dev/null
      mkdir 'its 5%'
      mv "it's 5%/program" 'its 5%'
      './its 5%/program' schedule --systemd --to to --name n "it's 5%/f" >units
      sed -n '/^ExecStart=.* backup /{ s/^ExecStart=//; s/%%/%/g; p }' units >line
      ends "line of systemd" sh -c "$(cat line)" 2>/dev/null
      $BP snapshots to | wc -l | says "snapshots by systemd"
      ends "without a kind" $BP schedule --to a b 2>/dev/null
      """)
    run.expectSteps([
      "line of cron": "0", "snapshots by cron": "1", "units for a path with a quote": "64",
      "line of systemd": "0", "snapshots by systemd": "1", "without a kind": "64",
    ])
  }

  @Test("dollars are doubled in commands alone, and the names of files have only characters of unit names")
  func units() throws {
    let run = try t.shell(
      """
      \(Steps.functions)
      $BP schedule --systemd --to '/b/$a"x' --name 'my set@x\\' --write u '/s/$d%' >/dev/null
      ls u | sed 's/batchproc-//' | says files
      for key in Description RequiresMountsFor ExecStart ReadWritePaths; do
        sed -n "s/^$key=//p" u/batchproc-my_set_x_.service |
          sed 's/^[^ ]* backup/backup/; s/ --keep-daily.*12//' | says $key
      done
      """)
    run.expectSteps([
      "files":
        "failed@.service my_set_x_-age.service my_set_x_-age.timer my_set_x_-drill.service "
        + "my_set_x_-drill.timer my_set_x_.service my_set_x_.timer",
      "Description": #"Back up with batchproc: "my set@x\\""#,
      "RequiresMountsFor": #""/s/$d%%" "/b/$a\"x""#,
      "ExecStart": #"backup --to "/b/$$a\"x" --name "my set@x\\" "/s/$$d%%""#,
      "ReadWritePaths": #"-"/b/$a\"x""#,
    ])
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
