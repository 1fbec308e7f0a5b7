import BatchEngine

/// A backup as a line for cron, or as units for systemd.
struct ScheduleText: Sendable {
  /// The absolute path of the program.
  let program: PathBytes
  let sources: [PathBytes]
  let target: PathBytes
  let name: PathBytes

  private static let keep = "--keep-daily 14 --keep-weekly 8 --keep-monthly 12"

  /// A file for `/etc/cron.d`.
  var cron: String {
    let backup = (["--to", quoted(target), "--name", quoted(name), Self.keep] + sources.map(quoted))
    let drill = ["--sample 5%", "--time-budget 2h", "--name", quoted(name), quoted(target)]
    return """
      # /etc/cron.d/batchproc-\(name): a snapshot every night, and a drill every Sunday. cron mails what is printed: nothing
      # after a good night, else the errors and one line. Status 11 means that the run before is still at work.
      SHELL=/bin/sh
      PATH=/usr/local/bin:/usr/bin:/bin
      MAILTO=root
      15 2 * * * root \(escaped("\(quoted(program)) backup -q --qos background \(backup.joined(separator: " "))"))
      45 4 * * 0 root \(escaped("\(quoted(program)) drill -q \(drill.joined(separator: " "))"))

      """
  }

  /// A unit that backs up.
  var service: String {
    let arguments = ["--to", unit(target), "--name", unit(name), Self.keep] + sources.map(unit)
    return """
      # /etc/systemd/system/batchproc-\(name).service; journalctl -u batchproc-\(name) shows what it said.
      [Unit]
      Description=Back up with batchproc: \(specifiers(name.description))
      RequiresMountsFor=\((sources + [target]).map(unit).joined(separator: " "))

      [Service]
      Type=oneshot
      ExecStart=\(executable) backup \(arguments.joined(separator: " "))
      SuccessExitStatus=20
      UMask=0077
      Nice=10
      CPUSchedulingPolicy=batch
      IOSchedulingClass=idle
      NotifyAccess=main
      NoNewPrivileges=yes
      CapabilityBoundingSet=CAP_DAC_READ_SEARCH CAP_DAC_OVERRIDE
      ProtectSystem=strict
      ProtectHome=read-only
      ReadWritePaths=\(unit(target))
      StateDirectory=batchproc
      Environment=XDG_STATE_HOME=%S
      PrivateTmp=yes
      PrivateDevices=yes
      PrivateNetwork=yes
      ProtectKernelTunables=yes
      ProtectKernelModules=yes
      ProtectControlGroups=yes
      RestrictSUIDSGID=yes
      LockPersonality=yes

      """
  }

  /// A unit that starts the other one every night.
  var timer: String {
    """
    # /etc/systemd/system/batchproc-\(name).timer; systemctl enable --now batchproc-\(name).timer
    [Unit]
    Description=Back up every night: \(specifiers(name.description))

    [Timer]
    OnCalendar=*-*-* 02:15:00
    RandomizedDelaySec=15min
    Persistent=true

    [Install]
    WantedBy=timers.target

    """
  }

  /// A word for a shell.
  private func quoted(_ path: PathBytes) -> String {
    let text = String(decoding: path.bytes, as: UTF8.self)
    guard !text.allSatisfy(Self.isPlain) || text.isEmpty else { return text }
    return "'" + text.replacing("'", with: "'\\''") + "'"
  }

  /// For a crontab, where a percent sign begins a new line.
  private func escaped(_ line: String) -> String { line.replacing("%", with: "\\%") }

  /// A word for a unit.
  private func unit(_ path: PathBytes) -> String {
    word(specifiers(String(decoding: path.bytes, as: UTF8.self)).replacing("$", with: "$$"))
  }

  /// The first word of a command in a unit, in which systemd replaces no variables.
  private var executable: String { word(specifiers(String(decoding: program.bytes, as: UTF8.self))) }

  /// Whether systemd takes the path of the program, quoted or not.
  var isExecutable: Bool { !program.bytes.contains { "'\"\\".utf8.contains($0) } }

  private func word(_ text: String) -> String {
    guard !text.allSatisfy(Self.isPlain) else { return text }
    return "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
  }

  private func specifiers(_ text: String) -> String { text.replacing("%", with: "%%") }

  private static func isPlain(_ character: Character) -> Bool {
    character.isASCII && (character.isLetter || character.isNumber || "/._-+@:,".contains(character))
  }
}
