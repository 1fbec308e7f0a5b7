import BatchEngine

extension ScheduleText {
  /// The units for systemd: each service with its timer, and a unit that is started when one fails.
  var units: [File] {
    var files = [
      service(
        "", description: "Back up with batchproc", words: ["backup"] + arguments, remark: hookRemark,
        hasHooks: hasHooks, usesNetwork: usesNetwork),
      timer("", description: "Back up every night", days: "*-*-*", minutes: start),
    ]
    if isReadable {
      files += [
        service(
          "-drill", description: "Restore a sample of the backup", words: ["drill"] + drillArguments,
          remark: "SuccessExitStatus=20\n"),
        timer("-drill", description: "Restore a sample every week", days: "Sun *-*-*", minutes: drillStart),
      ]
    }
    return files + [
      service(
        "-age", description: "See that the backup is not too old", words: ["snapshots"] + ageArguments,
        remark: "StandardOutput=null\n"),
      timer("-age", description: "See every day how old the backup is", days: "*-*-*", minutes: ageStart),
      Self.failure,
    ]
  }

  var timers: [String] { units.map(\.name).filter { $0.hasSuffix(".timer") } }

  /// Whether systemd accepts the path of the program, quoted or not.
  var isExecutable: Bool { !program.bytes.contains { "'\"\\".utf8.contains($0) } }

  private var unit: String { fileName(allowing: "-_.:") }

  private var hookRemark: String {
    hasHooks
      ? """
      # The commands of hooks run under these restrictions too. They may change their user, and use the network; what they
      # write has to be below a folder of ReadWritePaths=.

      """ : ""
  }

  private func service(
    _ suffix: String, description: String, words: [PathBytes], remark: String, hasHooks: Bool = false,
    usesNetwork: Bool = false
  ) -> File {
    let file = "\(unit)\(suffix).service"
    let command = ([word(program)] + words.map { word($0, doubling: "%$") }).joined(separator: " ")
    let privileges = """
      NoNewPrivileges=yes
      CapabilityBoundingSet=CAP_DAC_READ_SEARCH CAP_DAC_OVERRIDE

      """
    let home = configuration.map { "Environment=\(word(PathBytes("XDG_CONFIG_HOME=\($0)")))\n" } ?? ""
    let text = """
      # /etc/systemd/system/\(file); journalctl -u \(unit)\(suffix) shows what it said.
      [Unit]
      Description=\(description): \(word(name))
      RequiresMountsFor=\((sources + [target]).map { word($0) }.joined(separator: " "))
      OnFailure=batchproc-failed@%n.service

      [Service]
      Type=oneshot
      ExecStart=\(command)
      \(remark)UMask=0077
      Nice=10
      CPUSchedulingPolicy=batch
      IOSchedulingClass=idle
      NotifyAccess=main
      \(hasHooks ? "" : privileges)ProtectSystem=strict
      ProtectHome=read-only
      ReadWritePaths=\(([target] + written).map { "-" + word($0) }.joined(separator: " "))
      StateDirectory=batchproc
      Environment=XDG_STATE_HOME=%S
      \(home)PrivateTmp=yes
      PrivateDevices=yes
      \(hasHooks || usesNetwork ? "" : "PrivateNetwork=yes\n")ProtectKernelTunables=yes
      ProtectKernelModules=yes
      ProtectControlGroups=yes
      RestrictSUIDSGID=yes
      LockPersonality=yes

      """
    return File(name: file, text: text)
  }

  private func timer(_ suffix: String, description: String, days: String, minutes: Int) -> File {
    let file = "\(unit)\(suffix).timer"
    func padded(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
    let text = """
      # /etc/systemd/system/\(file); systemctl enable --now \(file)
      [Unit]
      Description=\(description): \(word(name))

      [Timer]
      OnCalendar=\(days) \(padded(minutes / 60)):\(padded(minutes % 60)):00
      RandomizedDelaySec=15min
      Persistent=true

      [Install]
      WantedBy=timers.target

      """
    return File(name: file, text: text)
  }

  /// One for all sets.
  private static let failure = File(
    name: "batchproc-failed@.service",
    text: """
      # /etc/systemd/system/batchproc-failed@.service; started with the name of a unit that failed. Change the command to what
      # reaches you.
      [Unit]
      Description=Report that %i failed

      [Service]
      Type=oneshot
      ExecStart=/bin/sh -c '(echo "Subject: %i failed on %H"; echo; journalctl -n 40 --no-pager -u %i) | /usr/sbin/sendmail root'

      """)

  /// A word of a unit. Only in the arguments of a command does systemd replace variables, so that `$` is doubled too.
  private func word(_ path: PathBytes, doubling special: String = "%") -> String {
    var bytes: [UInt8] = []
    for byte in path.bytes {
      if special.utf8.contains(byte) { bytes.append(byte) }
      if "\\\"".utf8.contains(byte) { bytes.append(UInt8(ascii: "\\")) }
      bytes.append(byte)
    }
    let text = String(decoding: bytes, as: UTF8.self)
    return bytes.allSatisfy(ShellWord.isPlain) && !bytes.isEmpty ? text : "\"\(text)\""
  }
}
