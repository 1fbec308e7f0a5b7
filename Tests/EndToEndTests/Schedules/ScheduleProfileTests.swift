import BatchEngine
import TestSupport
import Testing

@testable import batchproc

/// Schedules with the options of a backup or of a profile, several profiles in one run, and notifications of
/// a monitor.
@Suite(.timeLimit(.minutes(2))) struct ScheduleProfileTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    try t.shell(
      """
      mkdir -p src cfg/batchproc
      echo a >src/a
      for n in a b c; do
        echo "[profile $n]
      command = backup
      to = $PWD/set-$n
      name = $n
      operand = $PWD/src-$n"
      done >cfg/batchproc/config
      ln -s src src-a
      cp -r src src-c
      chmod -R go-w cfg
      """)
  }

  @Test("schedule accepts options of backup and a time, and prints units for drill and age")
  func options() throws {
    let run = try t.shell(
      """
      \(Steps.functions)
      export XDG_CONFIG_HOME=$PWD/none
      $BP schedule --systemd --at 23:30 --to bk --name home --exclude '*.tmp' --keep-daily 7 \\
        --metrics m/x.prom --notify https://h/x src | sed "s#=[^ ]*/\\(debug\\|release\\)/batchproc#=BP#" |
        sed "s#$PWD#PWD#g; s#=[^ ]*batchproc \\(backup\\|drill\\|snapshots\\)#=BP \\1#" >units
      lines() { grep -h "^$1=" units | sed "s/^$1=//" | paste -sd '|' | says "$1"; }
      for key in ExecStart OnCalendar OnFailure SuccessExitStatus ReadWritePaths PrivateNetwork; do lines $key; done
      grep -oE '^(ExecStart|OnCalendar|OnFailure|SuccessExit|ReadWrite|PrivateNetwork)' units | says "order"
      $BP schedule --cron --at 0:05 --to bk --full src | tail -n 3 | cut -d ' ' -f 1-6 | paste -sd '|' | says cron
      $BP schedule --cron --to bk --encrypt-to age1x src | counts "drills of an encrypted set" ' drill '
      $BP schedule --cron --to bk --copy-keep-yearly 9 --copy-to /p --copy-keep-last 1 --copy-to /q src |
        sed "s#$PWD#PWD#g" | grep -o -e '--copy.*/q' | says "places of copies"
      ends "place on another machine" $BP schedule --cron --to host:/x src
      $BP schedule 2>&1 | grep Try | says "without options"
      $BP schedule --cron --to bk --files-from - 2>&1 | head -1 | says "with standard input"
      """)
    let failed = "batchproc-failed@%n.service"
    let writable = "-PWD/bk -PWD/m"
    run.expectSteps([
      "ExecStart":
        "BP backup --to PWD/bk --name home --exclude \"*.tmp\" --keep-daily 7 --metrics PWD/m/x.prom "
        + "--notify https://h/x PWD/src|BP drill --sample 5%% --time-budget 2h --name home PWD/bk|"
        + "BP snapshots --max-age 26h --name home PWD/bk|/bin/sh -c '(echo \"Subject: %i failed on %H\"; echo; "
        + "journalctl -n 40 --no-pager -u %i) | /usr/sbin/sendmail root'",
      "OnCalendar": "*-*-* 23:30:00|Sun *-*-* 02:00:00|*-*-* 05:30:00",
      "OnFailure": "\(failed)|\(failed)|\(failed)",
      "SuccessExitStatus": "20",
      "ReadWritePaths": "\(writable)|\(writable)|\(writable)",
      "PrivateNetwork": "yes|yes",
      "order":
        "OnFailure ExecStart ReadWrite OnCalendar "
        + "OnFailure ExecStart SuccessExit ReadWrite PrivateNetwork OnCalendar "
        + "OnFailure ExecStart ReadWrite PrivateNetwork OnCalendar ExecStart",
      "cron": "5 0 * * * root|35 2 * * 0 root|5 6 * * * root",
      "drills of an encrypted set": "0",
      "places of copies": "--copy-keep-yearly 9 --to PWD/bk --copy-to /p --copy-keep-last 1 --copy-to /q",
      "place on another machine": "64",
      "without options":
        "Try: batchproc schedule --systemd --at 02:30 --to /mnt/backups --name home /home",
      "with standard input": "batchproc: A schedule has no standard input for '--files-from'.",
    ])
    #expect(run.errorText.contains("'host:/x' is a place on another machine"))
  }

  @Test("schedule passes on each option of backup with its value")
  func eachOption() throws {
    for option in CommandSpec.backup.options
    where ![.help, .version, .profile, .dryRun, .target].contains(option.id) {
      for form in option.longForms.map(\.text) {
        let value = option.syntax.map(Self.value)
        let given = value.map { "\(form) \($0)" } ?? form
        let run = try t.shell(
          "export XDG_CONFIG_HOME=$PWD/none; $BP schedule --cron --to /bk --name n \(given) src | sed -n 's/^15 .* backup //p'"
        )
        let words = [form, value].compactMap { $0 }.joined(separator: " ")
        #expect(run.text.contains(words) || option.id == .setName, "\(words): \(run.text)\(run.errorText)")
      }
    }
  }

  /// A value that needs no quotes and does not depend on the working directory.
  private static func value(_ syntax: ValueSyntax) -> String {
    switch syntax {
    case .count, .threads, .whole, .index, .interval, .percentage, .redundancy: "3"
    case .number(let range): "\(range.lowerBound)"
    case .size: "100"
    case .load: "2.5"
    case .time: "2026-01-02"
    case .duration, .step: "10m"
    case .age, .span: "7d"
    case .clock: "01:00"
    case .share: "0.5"
    case .choice(let values, _): values[0]
    case .file, .directory: "/some/path"
    case .glob: "name"
    case .policy: "vanished=ok"
    }
  }

  @Test("--write writes all files or none, and --enable passes the timers to systemctl")
  func writing() throws {
    let run = try t.shell(
      """
      \(Steps.functions)
      export XDG_CONFIG_HOME=$PWD/cfg
      mkdir bin
      printf '#!/bin/sh\\necho systemctl "$@" >>%s/log\\n' "$PWD" >bin/systemctl
      chmod +x bin/systemctl
      PATH=$PWD/bin:$PATH
      schedule="$BP schedule --systemd --profile c --write units"
      $schedule | sort | says "files"
      ends "the same files again" $schedule
      $schedule --at 03:00 2>&1 | cut -c 1-40 | says "other files"
      grep -h '^OnCalendar' units/batchproc-c.timer | says "time that stays"
      ls -A units | wc -l | says "count of files"
      ends "--enable --force" $schedule --at 03:00 --enable --force >/dev/null
      sed "s#$PWD#PWD#g" log | cut -c 1-50 | paste -sd '|' | says "calls of systemctl"
      grep -h '^ExecStart.*backup\\|^Environment=XDG_C' units/batchproc-c.service |
        sed "s#$PWD#PWD#; s#=/[^ ]* backup#=BP backup#" | says "unit of a profile"
      if command -v systemd-analyze >/dev/null; then
        systemd-analyze verify units/*.timer units/batchproc-c*.service 2>&1 | grep units | says "faults of units"
      else
        says "faults of units" </dev/null
      fi
      $BP schedule --cron --name x.y --to bk --write cron src | says "file for cron"
      ends "--cron --enable" $BP schedule --cron --enable --write cron --to bk src 2>/dev/null
      printf '#!/bin/sh\\nexit 1\\n' >bin/systemctl
      ends "systemctl fails" $BP schedule --systemd --profile a --write u --enable >/dev/null
      """)
    run.expectSteps([
      "files":
        "units/batchproc-c-age.service units/batchproc-c-age.timer units/batchproc-c-drill.service "
        + "units/batchproc-c-drill.timer units/batchproc-c.service units/batchproc-c.timer "
        + "units/batchproc-failed@.service",
      "the same files again": "0", "other files": "batchproc: units/batchproc-c.timer: cann",
      "time that stays": "OnCalendar=*-*-* 02:15:00", "count of files": "7", "--enable --force": "0",
      "calls of systemctl":
        "systemctl link PWD/units/batchproc-c.service PWD/u|systemctl enable --now batchproc-c.timer batchproc",
      "unit of a profile": "ExecStart=BP backup --profile c Environment=XDG_CONFIG_HOME=PWD/cfg",
      "faults of units": "", "file for cron": "cron/batchproc-x_y", "--cron --enable": "64",
      "systemctl fails": "5",
    ])
    #expect(run.errorText.contains("systemctl could not enable the timers"))
  }

  @Test("several profiles run in their order, and all run when one fails")
  func profiles() throws {
    let run = try t.shell(
      """
      export XDG_CONFIG_HOME=$PWD/cfg
      $BP backup --profile a --profile b --profile c; echo $?; ls set-a set-c | grep -c manifest.zst
      $BP --profile c --profile a -q; echo $?; $BP backup --profile a --full -q; echo $?
      $BP backup --profile a --profile none; echo $?; $BP --no-config backup --profile a; echo $?
      printf '[profile d]\\ncommand = hash\\n' >>cfg/batchproc/config; $BP backup --profile d 2>&1 | head -1
      """)
    #expect(
      run.text == "1\n2\n0\n0\n64\n64\nbatchproc: the profile 'd' is for 'hash', not for 'backup'.\n",
      "\(run.text)")
    #expect(run.errorText.contains("the profile 'b' ended with 1"), "\(run.errorText)")
    #expect(run.errorText.contains("unknown profile 'none'"))
  }

  /// Answers each request with a status, records its path, and writes the port of the server to a file.
  private static let server = """
    import http.server, sys
    class H(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            open("paths", "a").write(self.path + "\\\\n")
            self.send_response(404 if "missing" in self.path else 200); self.end_headers()
        def log_message(self, *a): pass
    s = http.server.HTTPServer(("127.0.0.1", 0), H)
    open("port.new", "w").write(str(s.server_port)); import os; os.rename("port.new", "port")
    s.serve_forever()
    """

  @Test(
    "--notify requests URL/start, then URL or URL/fail, and does not change the status",
    .enabled(if: Host.hasPython))
  func notify() throws {
    let run = try t.shell(
      """
      \(Steps.functions)
      command -v curl >/dev/null || { echo no curl; exit; }
      printf '%b' '\(Self.server)' >server.py
      python3 server.py &
      server=$!
      trap 'kill $server' EXIT
      while [ ! -e port ]; do sleep 0.05; done
      url=http://127.0.0.1:$(cat port)
      notified() { ends "$1" $BP backup -q --to set --notify "${@:2}"; }
      notified "backup" "$url/ping/x?a=1" src
      notified "failing backup" "$url/y/" gone 2>/dev/null
      $BP backup -n -q --to set --notify "$url/z" src >/dev/null
      notified "answer 404" "$url/missing" src 2>errors
      says "requests" <paths
      kill $server
      notified "without a server" "$url/y" src 2>>errors
      $BP backup -q --to set --notify ftp://x src 2>&1 | head -1 | says "other scheme"
      $BP backup -q --to set --report r.html --notify http://127.0.0.1:1/secret src 2>/dev/null
      counts "address in the report" secret <r.html
      """)
    guard run.text != "no curl\n" else { return }
    run.expectSteps([
      "backup": "0", "failing backup": "1", "answer 404": "0",
      "requests": "/ping/x/start?a=1 /ping/x?a=1 /y/start /y/fail /missing/start /missing",
      "without a server": "0",
      "other scheme":
        "batchproc: the value of '--notify' is not a URL that begins with http:// or https://.",
      "address in the report": "0",
    ])
    let errors = try t.shell("cat errors").text
    #expect(
      errors.contains("the message 'start' of --notify was not delivered: curl ended with 22"), "\(errors)")
    #expect(
      errors.contains("the message 'success' of --notify was not delivered: curl ended with 7"), "\(errors)")
    #expect(!errors.contains("/ping"))
  }
}
