import BatchEngine

/// A nightly backup, a weekly drill and a daily check of the newest snapshot's age, for cron or for systemd.
struct ScheduleText: Sendable {
  /// A file of a schedule.
  struct File: Sendable {
    let name: String
    let text: String
  }

  /// The absolute path of the program.
  let program: PathBytes
  /// The arguments after `batchproc backup`.
  let arguments: [PathBytes]
  /// The arguments with the keys of the set, for the drill.
  let keyArguments: [PathBytes]
  let sources: [PathBytes]
  let target: PathBytes
  let name: PathBytes
  /// The start in minutes since midnight.
  let start: Int
  /// Folders to which a run writes in addition to the target.
  let written: [PathBytes]
  let hasHooks: Bool
  let usesNetwork: Bool
  /// Whether this machine can read what it writes.
  let isReadable: Bool
  /// The folder of the user's profile; nil if the profile is in the file for all users.
  let configuration: PathBytes?

  static let keep = ["--keep-daily", "14", "--keep-weekly", "8", "--keep-monthly", "12"]
    .map { PathBytes($0) }
  static let longestAge = "26h"
  private static let minutesOfDay = 24 * 60

  /// When the drill begins.
  var drillStart: Int { (start + 150) % Self.minutesOfDay }
  /// When the age of the newest snapshot is checked.
  var ageStart: Int { (start + 360) % Self.minutesOfDay }

  var drillArguments: [PathBytes] {
    ["--sample", "5%", "--time-budget", "2h"] + keyArguments + ["--name", name, target]
  }

  var ageArguments: [PathBytes] { ["--max-age", PathBytes(Self.longestAge), "--name", name, target] }

  /// A file for `/etc/cron.d`, where cron ignores names with dots.
  var cron: File {
    let file = fileName(allowing: "-_")
    var lines = [
      "# /etc/cron.d/\(file): a snapshot every night\(isReadable ? ", a drill every Sunday" : ""), and a look at the age of the newest",
      "# snapshot. cron mails what is printed: nothing after a good night, else the errors and one line. Status 11 means that the",
      "# run before is still at work.",
      "SHELL=/bin/sh", "PATH=/usr/local/bin:/usr/bin:/bin", "MAILTO=root",
    ]
    if let configuration { lines.append("XDG_CONFIG_HOME=\(configuration.description)") }
    lines.append(line(start, day: "*", command: "backup -q --qos background", words: arguments))
    if isReadable {
      lines.append(line(drillStart, day: "0", command: "drill -q", words: drillArguments))
    } else {
      lines.append("# No drill: it would need the identity that opens the set.")
    }
    lines.append(line(ageStart, day: "*", command: "snapshots", words: ageArguments) + " >/dev/null")
    return File(name: file, text: lines.joined(separator: "\n") + "\n")
  }

  /// The name for a file of the set; other characters become `_`.
  func fileName(allowing marks: String) -> String {
    "batchproc-"
      + String(
        String(decoding: name.bytes, as: UTF8.self).map {
          $0.isASCII && ($0.isLetter || $0.isNumber || marks.contains($0)) ? $0 : "_"
        })
  }

  private func line(_ minutes: Int, day: String, command: String, words: [PathBytes]) -> String {
    let command = ([ShellWord.quoted(program), command] + words.map(ShellWord.quoted)).joined(separator: " ")
    // A percent sign begins a new line in a crontab.
    let escaped = command.utf8.flatMap { $0 == UInt8(ascii: "%") ? Array("\\%".utf8) : [$0] }
    return "\(minutes % 60) \(minutes / 60) * * \(day) root \(String(decoding: escaped, as: UTF8.self))"
  }
}
