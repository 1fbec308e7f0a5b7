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
      mkdir -p src cfg/batchproc; echo a >src/a
      for n in a b c; do echo "[profile $n]
      command = backup
      to = $PWD/set-$n
      name = $n
      operand = $PWD/src-$n"; done >cfg/batchproc/config; ln -s src src-a; cp -r src src-c; chmod -R go-w cfg
      """)
  }

  @Test("schedule accepts options of backup and a time, and prints units for drill and age")
  func options() throws {
    let run = try t.shell(
      """
      export XDG_CONFIG_HOME=$PWD/none
      $BP schedule --systemd --at 23:30 --to bk --name home --exclude '*.tmp' --keep-daily 7 --metrics m/x.prom --notify https://h/x src >units
      grep -hE '^(ExecStart|OnCalendar|OnFailure|SuccessExit|ReadWrite|PrivateNetwork)' units | sed "s#=[^ ]*/\\(debug\\|release\\)/batchproc#=BP#; s#$PWD#PWD#g; s#=[^ ]*batchproc \\(backup\\|drill\\|snapshots\\)#=BP \\1#"
      $BP schedule --cron --at 0:05 --to bk --full src | tail -n 3 | cut -d ' ' -f 1-6; $BP schedule --cron --to bk --encrypt-to age1x src | grep -c ' drill '
      $BP schedule --cron --to host:/x src; echo $?; $BP schedule 2>&1 | grep Try; $BP schedule --cron --to bk --files-from - 2>&1 | head -1
      """)
    #expect(
      run.text == """
        OnFailure=batchproc-failed@%n.service
        ExecStart=BP backup --to PWD/bk --name home --exclude "*.tmp" --keep-daily 7 --metrics PWD/m/x.prom --notify https://h/x PWD/src
        ReadWritePaths=-PWD/bk -PWD/m
        OnCalendar=*-*-* 23:30:00
        OnFailure=batchproc-failed@%n.service
        ExecStart=BP drill --sample 5%% --time-budget 2h --name home PWD/bk
        SuccessExitStatus=20
        ReadWritePaths=-PWD/bk -PWD/m
        PrivateNetwork=yes
        OnCalendar=Sun *-*-* 02:00:00
        OnFailure=batchproc-failed@%n.service
        ExecStart=BP snapshots --max-age 26h --name home PWD/bk
        ReadWritePaths=-PWD/bk -PWD/m
        PrivateNetwork=yes
        OnCalendar=*-*-* 05:30:00
        ExecStart=/bin/sh -c '(echo "Subject: %i failed on %H"; echo; journalctl -n 40 --no-pager -u %i) | /usr/sbin/sendmail root'
        5 0 * * * root
        35 2 * * 0 root
        5 6 * * * root
        0
        64
        Try: batchproc schedule --systemd --at 02:30 --to /mnt/backups --name home /home
        batchproc: A schedule has no standard input for '--files-from'.

        """, "\(run.text)\(run.errorText)")
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
    case .count, .threads, .whole, .index: "3"
    case .number(let range): "\(range.lowerBound)"
    case .size: "100"
    case .load: "2.5"
    case .time: "2026-01-02"
    case .duration: "10m"
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
      export XDG_CONFIG_HOME=$PWD/cfg; mkdir bin; printf '#!/bin/sh\\necho systemctl "$@" >>%s/log\\n' "$PWD" >bin/systemctl; chmod +x bin/systemctl
      PATH=$PWD/bin:$PATH
      $BP schedule --systemd --profile c --write units | sort; $BP schedule --systemd --profile c --write units; echo again $?
      $BP schedule --systemd --at 03:00 --profile c --write units 2>&1 | cut -c 1-40; grep -h '^OnCalendar' units/batchproc-c.timer; ls -A units | wc -l
      $BP schedule --systemd --at 03:00 --profile c --write units --enable --force >/dev/null; echo $?; sed "s#$PWD#PWD#g" log | cut -c 1-50
      grep -h '^ExecStart.*backup\\|^Environment=XDG_C' units/batchproc-c.service | sed "s#$PWD#PWD#; s#=/[^ ]* backup#=BP backup#"
      if command -v systemd-analyze >/dev/null; then systemd-analyze verify units/*.timer units/batchproc-c*.service 2>&1 | grep -c units; fi
      $BP schedule --cron --name x.y --to bk --write cron src; $BP schedule --cron --enable --write cron --to bk src 2>/dev/null; echo $?
      printf '#!/bin/sh\\nexit 1\\n' >bin/systemctl; $BP schedule --systemd --profile a --write u --enable >/dev/null; echo $?
      """)
    let names = ["-age.service", "-age.timer", "-drill.service", "-drill.timer", ".service", ".timer"]
    #expect(
      run.text == names.map { "units/batchproc-c\($0)\n" }.joined() + """
        units/batchproc-failed@.service
        again 0
        batchproc: units/batchproc-c.timer: cann
        OnCalendar=*-*-* 02:15:00
        7
        0
        systemctl link PWD/units/batchproc-c.service PWD/u
        systemctl enable --now batchproc-c.timer batchproc
        ExecStart=BP backup --profile c
        Environment=XDG_CONFIG_HOME=PWD/cfg
        0
        cron/batchproc-x_y
        64
        5

        """, "\(run.text)\(run.errorText)")
    #expect(run.errorText.contains("systemctl could not enable the timers"))
  }

  @Test("several profiles run in their order, and all run when one fails")
  func profiles() throws {
    let run = try t.shell(
      """
      export XDG_CONFIG_HOME=$PWD/cfg
      $BP backup --profile a --profile b --profile c; echo $?; ls set-a set-c | grep -c manifest
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
      command -v curl >/dev/null || { echo no curl; exit; }
      printf '%b' '\(Self.server)' >server.py; python3 server.py & server=$!; trap 'kill $server' EXIT
      while [ ! -e port ]; do sleep 0.05; done; url=http://127.0.0.1:$(cat port)
      $BP backup -q --to set --notify "$url/ping/x?a=1" src; echo $?; $BP backup -q --to set --notify "$url/y/" gone 2>/dev/null; echo $?
      $BP backup -n -q --to set --notify "$url/z" src >/dev/null; $BP backup -q --to set --notify "$url/missing" src 2>errors; echo $?; cat paths
      kill $server; $BP backup -q --to set --notify "$url/y" src 2>>errors; echo $?
      $BP backup -q --to set --notify ftp://x src 2>&1 | head -1; $BP backup -q --to set --report r.html --notify http://127.0.0.1:1/secret src 2>/dev/null; grep -c secret r.html
      """)
    guard run.text != "no curl\n" else { return }
    #expect(
      run.text == """
        0
        1
        0
        /ping/x/start?a=1
        /ping/x?a=1
        /y/start
        /y/fail
        /missing/start
        /missing
        0
        batchproc: the value of '--notify' is not a URL that begins with http:// or https://.
        0

        """, "\(run.text)\(run.errorText)")
    let errors = try t.shell("cat errors").text
    #expect(
      errors.contains("the message 'start' of --notify was not delivered: curl ended with 22"), "\(errors)")
    #expect(
      errors.contains("the message 'success' of --notify was not delivered: curl ended with 7"), "\(errors)")
    #expect(!errors.contains("/ping"))
  }
}
