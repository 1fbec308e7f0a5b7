import BatchEngine

/// A remote of rclone: `NAME:path`, with the configuration of the user.
struct RcloneRemote: Remote {
  let place: PathBytes
  private let temporary: PathBytes
  private let run: RunContext

  /// The exit statuses of rclone for a missing directory and a missing file.
  private static let missing: Set<Int32> = [3, 4]
  /// No time limit: rclone has its own for stalled connections.
  private static let longest = 1e8
  private static let largestAnswer = 64 << 20
  /// Files that are fetched by one start of rclone, and how many of them at once.
  private static let filesOfFetch = 256
  private static let streamsOfFetch: PathBytes = "8"
  /// The number that rclone itself uses.
  let mostTransfers = 4

  /// - Parameter temporary: the directory for rclone's output.
  init(_ place: PathBytes, temporary: PathBytes, in run: RunContext) {
    self.place = place
    self.temporary = temporary
    self.run = run
  }

  func files() throws(BatchError) -> [PathBytes: UInt64] {
    let answer: [UInt8]
    do throws(BatchError) {
      answer = try rclone(["lsf", "--files-only", "--format", "sp", "--separator", ";", "--", folder])
    } catch {
      guard error.code == .missing else { throw error }
      return [:]
    }
    return Self.files(answer)
  }

  /// Files of sets by name with their sizes, from lines of `SIZE;NAME`. Other lines are left out.
  static func files(_ answer: [UInt8]) -> [PathBytes: UInt64] {
    var files: [PathBytes: UInt64] = [:]
    for line in answer.split(separator: UInt8(ascii: "\n")) {
      guard let end = line.firstIndex(of: UInt8(ascii: ";")), let size = DecimalDigits.value(of: line[..<end])
      else { continue }
      let name = PathBytes(line[(end + 1)...])
      if SnapshotName.isOfSet(name) { files[name] = size }
    }
    return files
  }

  func put(_ file: PathBytes, as name: PathBytes, isNew: Bool) throws(BatchError) {
    if isNew, try transfers(["copyto", "--no-check-dest", "--", local(file), path(name)]) { return }
    _ = try rclone(["copyto", "--ignore-times", "--", local(file), path(name)])
  }

  /// Transfers files without asking whether the remote has them, and only once: after a lost answer some backends would store a
  /// second file with the same name.
  ///
  /// - Returns: whether all files were transferred.
  private func transfers(_ arguments: [PathBytes], input: [UInt8] = []) throws(BatchError) -> Bool {
    do throws(BatchError) {
      _ = try rclone(arguments, input: input, retries: 1)
      return true
    } catch {
      try run.cancellation.check()
      return false
    }
  }

  func put(new names: [PathBytes], from folder: PathBytes) throws(BatchError) {
    let words: [PathBytes] = [
      "copy", "--no-check-dest", "--no-traverse", "--transfers", "1", "--checkers", "1", "--order-by", "name",
      "--files-from-raw", "-", "--", local(folder), self.folder,
    ]
    let list = names.count > 1 ? Self.list(names) : nil
    if let list, try transfers(words, input: list) { return }
    for name in names { try put(folder.appending(name.bytes), as: name, isNew: list == nil) }
  }

  func fetch(_ names: [PathBytes], into folder: PathBytes) throws(BatchError) {
    var rest = names[...]
    while !rest.isEmpty {
      let batch = Array(rest.prefix(Self.filesOfFetch))
      rest = rest.dropFirst(batch.count)
      if batch.count > 1, let list = Self.list(batch) {
        _ = try rclone(
          [
            "copy", "--no-check-dest", "--no-traverse", "--transfers", Self.streamsOfFetch, "--checkers",
            Self.streamsOfFetch,
            "--files-from-raw", "-", "--", self.folder, local(folder),
          ], input: list)
      }
      // A file that is not there is left out without an error.
      for name in batch where (try? folder.appending(name.bytes).status()) == nil {
        _ = try rclone(["copyto", "--", path(name), local(folder.appending(name.bytes))])
      }
    }
  }

  /// The names as lines; nil if one of them has a newline.
  private static func list(_ names: [PathBytes]) -> [UInt8]? {
    let newline = UInt8(ascii: "\n")
    guard !names.contains(where: { $0.bytes.contains(newline) }) else { return nil }
    return names.reduce(into: []) { $0 += $1.bytes + [newline] }
  }

  func part(_ range: Range<UInt64>, of name: PathBytes) throws(BatchError) -> [UInt8] {
    try rclone([
      "cat", "--offset", Self.word(range.lowerBound), "--count", Self.word(UInt64(range.count)), "--",
      path(name),
    ])
  }

  func digest(of name: PathBytes) throws(BatchError) -> Digest? {
    let answer = try rclone(["hashsum", "sha256", "--download", "--", path(name)])
    return Digest(.sha256, hex: answer.prefix(64))
  }

  func remove(_ name: PathBytes) throws(BatchError) {
    do throws(BatchError) {
      _ = try rclone(["deletefile", "--", path(name)])
    } catch {
      throw error.recoded(.unwritable)
    }
  }

  private static func word(_ number: UInt64) -> PathBytes { PathBytes(Array("\(number)".utf8)) }

  private func path(_ name: PathBytes) -> PathBytes { PathBytes(folder.bytes + name.bytes) }

  /// The place with a slash at its end, without which some backends ask first whether it is a file.
  private var folder: PathBytes {
    let needsSlash = ![UInt8(ascii: "/"), UInt8(ascii: ":")].contains(place.bytes.last)
    return PathBytes(place.bytes + (needsSlash ? [UInt8(ascii: "/")] : []))
  }

  /// A local path as an absolute one, so that rclone does not read a colon in it as a remote.
  private func local(_ path: PathBytes) -> PathBytes { WorkingFolder.absolute(path) }

  /// Runs rclone.
  ///
  /// - Parameters:
  ///   - input: its standard input.
  ///   - retries: how often it tries at most.
  /// - Returns: its output.
  /// - Throws: `unreadable` with rclone's message; the exit status is the error number.
  private func rclone(
    _ arguments: [PathBytes], input: [UInt8] = [], retries: Int = 3
  ) throws(BatchError) -> [UInt8] {
    try run.cancellation.check()
    let folder = try TemporaryFolder(in: temporary, for: "rclone", calls: run.calls)
    defer { withExtendedLifetime(folder) {} }
    let (output, errors) = (folder.path.appending("out".utf8), folder.path.appending("err".utf8))
    var command = Array("exec rclone --log-level ERROR --retries \(retries)".utf8)
    if let rate = run.pace?.bytesPerSecond { command += Array(" --bwlimit \(rate)B".utf8) }
    for argument in arguments { command += [UInt8(ascii: " ")] + Self.quoted(argument) }
    command += Array(" >".utf8) + Self.quoted(output) + Array(" 2>".utf8) + Self.quoted(errors)
    let ending: Hook.Ending
    do throws(BatchError) {
      ending = try Hook(PathBytes(command), limit: Self.longest).run(
        environment: Self.environment, input: input, isCancelled: { run.cancellation.isCancelled })
    } catch {
      try run.cancellation.check()
      throw error
    }
    guard ending == .exit(0) else { throw Self.failure(ending, errors, place) }
    return try SmallFile.readRegular(output, limit: Self.largestAnswer)
  }

  /// Otherwise the terminal library in rclone fills a table at each start, which takes half of the time of the start.
  private static let environment: [PathBytes] = ["TCELL_MINIMIZE=1"]

  private static func failure(_ ending: Hook.Ending, _ errors: PathBytes, _ place: PathBytes) -> BatchError {
    let content = (try? SmallFile.readRegular(errors)) ?? []
    let lines = content.split(separator: UInt8(ascii: "\n")).map { String(decoding: $0, as: UTF8.self) }
    let status: Int32 = if case .exit(let status) = ending { status } else { -1 }
    guard status != 127 else {
      return BatchError(
        .unreadable, "cannot be reached: rclone is not installed", path: place,
        remedy: "install the package rclone")
    }
    // A message may continue on lines without a time stamp.
    let message = lines.compactMap(message).last ?? lines.last ?? "ended with \(status)"
    return BatchError(missing.contains(status) ? .missing : .unreadable, "rclone: \(message)", path: place)
  }

  /// The message in a line after its time stamp; nil without a time stamp.
  private static func message(_ line: String) -> String? {
    let words = line.split(separator: " ")
    guard words.count > 2, words[0].contains("/"), words[1].contains(":") else { return nil }
    return words.dropFirst(2).joined(separator: " ")
  }

  /// Quotes a text for a shell.
  private static func quoted(_ text: PathBytes) -> [UInt8] {
    var quoted = [UInt8(ascii: "'")]
    for byte in text.bytes {
      quoted += byte == UInt8(ascii: "'") ? Array(#"'\''"#.utf8) : [byte]
    }
    return quoted + [UInt8(ascii: "'")]
  }
}
