import BatchEngine
import var Glibc.ENAMETOOLONG

/// Whether the output of a source is written, which depends on an existing file with its name.
package enum OutputDecision: Sendable, Hashable {
  /// Write it: the name is free, or an older file with the name is replaced.
  case write(isReplacing: Bool)
  /// An existing output has the source's modification time.
  case upToDate(FileIdentity)
  /// An existing output has that time, and the source is to be removed: it is removed if the output contains its content.
  case compare(FileIdentity)
  case refused(BatchError)

  /// Examines an existing file with the name; reads its first bytes and its mark if it would be replaced.
  ///
  /// - Parameters:
  ///   - folder: the target's; nil only for a plan, which uses the path.
  ///   - calls: those of the run.
  package static func of(
    _ target: PathBytes, for source: FileRecord, _ options: OutputOptions, in folder: OpenFolder? = nil,
    calls: any FileSystemCalls
  ) -> OutputDecision {
    // If the name exists after all, it is not replaced.
    if folder?.isNew == true { return .write(isReplacing: false) }
    let name = folder == nil ? target : PathBytes(target.lastComponent)
    let output: FileStatus
    do throws(BatchError) {
      output = try calls.status(of: name, in: folder?.raw)
    } catch {
      if error.isNotFound || error.isNoFolder { return .write(isReplacing: false) }
      guard error.errno != ENAMETOOLONG else {
        let suffix = target.bytes.dropFirst(source.path.bytes.count)
        return .refused(
          BatchError(
            .invalid, "the name is too long once \(PathBytes(suffix)) is added", path: source.path,
            errno: 0))
      }
      return .refused(.syscall("look at the output", errno: error.errno, path: target))
    }
    if output.identity == source.status.identity {
      return .refused(BatchError(.invalid, "is its own output", path: source.path))
    }
    if options.replacing == .always, output.kind == .regular || output.kind == .symbolicLink {
      return .write(isReplacing: true)
    }
    if let command = options.command {
      return ofCommand(command, output, target, for: source) {
        try? calls.openFile(name, in: folder?.raw, followingLast: false)
      }
    }
    guard output.kind == .regular else {
      return .refused(
        BatchError(.invalid, "is in the way of the output: it is \(output.kind.text)", path: target))
    }
    // A plain copy has the name of its source, which is never removed.
    let isCopy = target.lastComponent.elementsEqual(source.path.lastComponent)
    func refused(_ message: String, _ remedy: Remedy = .replaceOutput) -> OutputDecision {
      .refused(BatchError(.invalid, message, path: target, remedy: remedy))
    }
    let foreign = "is in the way of the output: it is not compressed"
    // A plain copy and a decompressed file may have any content.
    let isRecognizable = options.naming.marksOutputs && !isCopy
    if output.modified == source.status.modified {
      // An output gets the time of its source. A file whose time was never set has the same one by chance.
      let isByChance = output.statusChanged == output.modified && isRecognizable
      if isByChance, !options.look(into: name, in: folder?.raw, calls).isOutput { return refused(foreign) }
      return options.removesSource && !isCopy ? .compare(output.identity) : .upToDate(output.identity)
    }
    guard options.replacing == .older else { return refused("exists already and is kept") }
    guard output.modified < source.status.modified else {
      let isForeign = isRecognizable && !options.look(into: name, in: folder?.raw, calls).isOutput
      return refused(isForeign ? foreign : "is newer than its source and stays")
    }
    guard options.naming.marksOutputs else { return .write(isReplacing: true) }
    if options.removesSource, !isCopy {
      return refused("exists already and is kept, because no output is replaced when sources are removed")
    }
    let found = options.look(into: name, in: folder?.raw, calls)
    if isRecognizable, !found.isOutput { return refused(foreign) }
    if options.replacesUnmarked { return .write(isReplacing: true) }
    switch found.mark {
    case .mark(.kept): return .write(isReplacing: true)
    case .mark(.removed):
      return refused("may be the only copy of a source that was removed, and is kept", .replaceUnmarked)
    case .none, .unreadable:
      return refused(
        "is not known to be made from a source that was kept, and is kept itself", .replaceUnmarked)
    case .unsupported:
      // A copy may have the name of an output whose source an earlier run removed.
      guard isCopy, options.removesSource, options.naming.pathWithoutSuffix(target) != nil else {
        return .write(isReplacing: true)
      }
      return refused("may be the output of a removed source and is kept")
    }
  }

  package var isWritten: Bool {
    switch self {
    case .write: true
    case .upToDate, .compare, .refused: false
    }
  }

  /// Whether the output replaces a file of its name.
  package var isReplacing: Bool {
    switch self {
    case .write(let isReplacing): isReplacing
    case .upToDate, .compare, .refused: false
    }
  }
}

extension OutputOptions {
  /// Whether a file begins like an output of an earlier run, and its mark. A file that cannot be opened is none.
  fileprivate func look(
    into name: PathBytes, in folder: Int32?, _ calls: any FileSystemCalls
  ) -> (isOutput: Bool, mark: OutputMark.Found) {
    guard let file = try? calls.openFile(name, in: folder, followingLast: false) else {
      return (false, .unreadable)
    }
    let raw = file.raw
    var start = [UInt8](repeating: 0, count: recognition.length)
    let count = start.withUnsafeMutableBytes { calls.read(raw, into: $0, at: 0) }
    return (count > 0 && recognition.isOutput(Array(start[..<count])), OutputMark.find(on: raw))
  }
}
