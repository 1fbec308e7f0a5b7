import BatchEngine
import func Glibc.sysconf
import var Glibc._SC_CLK_TCK

/// The process that holds a lock of a file. The kernel shows it only to the user of that process and to root.
struct LockHolder {
  let process: Int
  /// When the process was started, in seconds since 1970; nil if unknown.
  let since: Int64?

  /// `process 1234 since 2026-11-23 02:15:00 +01:00`
  var text: String { "process \(process)" + (since.map { " since \(LocalClock.text(of: $0))" } ?? "") }

  /// - Parameters:
  ///   - byte: the locked byte of the file.
  ///   - inode: the inode number of the file.
  /// - Returns: nil if no process is found.
  init?(byte: Int64, ofFile inode: UInt64, calls: any FileSystemCalls) {
    for name in (try? calls.names(in: "/proc")) ?? [] {
      guard let process = name.text.flatMap({ Int($0) }) else { continue }
      let folder = PathBytes("/proc/\(process)")
      let files = folder.appending("fdinfo".utf8)
      guard let descriptors = try? calls.names(in: files) else { continue }
      let holds = descriptors.contains { descriptor in
        guard let text = try? KernelFile.read(files.appending(descriptor.bytes)) else { return false }
        return Self.tells(text, byte: byte, inode: inode)
      }
      guard holds else { continue }
      self.process = process
      since = Self.start(of: folder)
      return
    }
    return nil
  }

  /// Whether a text of `/proc/PID/fdinfo` contains the lock: `lock:	1: OFDLCK  ADVISORY  WRITE -1 08:02:1234 0 0`.
  static func tells(_ text: [UInt8], byte: Int64, inode: UInt64) -> Bool {
    text.split(separator: UInt8(ascii: "\n")).contains { line in
      let words = String(decoding: line, as: UTF8.self).split(whereSeparator: \.isWhitespace)
      guard words.first == "lock:", words.count >= 3, let first = Int64(words[words.count - 2]) else {
        return false
      }
      return words[words.count - 3].hasSuffix(":\(inode)") && first == byte
    }
  }

  private static func start(of process: PathBytes) -> Int64? {
    guard let status = try? KernelFile.read(process.appending("stat".utf8)),
      let system = try? KernelFile.read("/proc/stat")
    else { return nil }
    // The name of the program is in parentheses, and may contain any bytes.
    let words = String(decoding: status, as: UTF8.self).split(separator: ")").last?.split(separator: " ")
    let boot = String(decoding: system, as: UTF8.self).split(separator: "\n")
      .first { $0.hasPrefix("btime ") }?.split(separator: " ").last
    let ticks = Int64(sysconf(Int32(_SC_CLK_TCK)))
    guard let words, words.count > 19, let started = Int64(words[19]), let boot = boot.flatMap({ Int64($0) }),
      ticks > 0
    else { return nil }
    return boot + started / ticks
  }
}
