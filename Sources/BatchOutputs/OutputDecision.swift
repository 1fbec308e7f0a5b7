import BatchEngine
import var Glibc.ENAMETOOLONG

/// Whether the output of a source is written, which depends on an existing file with its name.
package enum OutputDecision: Sendable, Hashable {
  /// Write it: the name is free, or an older file with the name is replaced.
  case write(isReplacing: Bool)
  /// An existing output has the source's modification time.
  case upToDate(FileIdentity)
  /// An existing output has that time, but the source is to be removed: an earlier run may have been killed before it did that.
  /// The output is written again if it contains the source's content.
  case rewrite
  case refused(BatchError)

  /// Examines an existing file with the name; reads its first bytes if it would be replaced.
  ///
  /// - Parameters:
  ///   - folder: the target's; nil only for a plan, which uses the path.
  ///   - looksInside: whether an older file is replaced only when it is recognized as an output.
  ///   - calls: those of the run.
  package static func of(
    _ target: PathBytes, for source: FileRecord, _ options: OutputOptions, in folder: OpenFolder? = nil,
    looksInside: Bool = true, calls: any FileSystemCalls
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
    guard output.kind == .regular else {
      return .refused(
        BatchError(.invalid, "is in the way of the output: it is \(output.kind.text)", path: target))
    }
    // A plain copy has the name of its source, which is never removed.
    let isCopy = target.lastComponent.elementsEqual(source.path.lastComponent)
    if output.modified == source.status.modified {
      return options.removesSource && !isCopy ? .rewrite : .upToDate(output.identity)
    }
    guard options.replacing == .older else {
      return .refused(
        BatchError(.invalid, "exists already and is kept", path: target, remedy: .replaceOutput))
    }
    if output.modified < source.status.modified {
      // An earlier run may have written it for a source that it removed.
      if isCopy, options.removesSource, options.naming.pathWithoutSuffix(target) != nil {
        return .refused(
          BatchError(
            .invalid, "may be the output of a removed source and is kept", path: target,
            remedy: .replaceOutput))
      }
      if case .adding = options.naming.direction, !isCopy, looksInside,
        !options.isOutput(name, in: folder?.raw, calls)
      {
        return .refused(
          BatchError(
            .invalid, "is in the way of the output: it is not compressed", path: target,
            remedy: .replaceOutput))
      }
      return .write(isReplacing: true)
    }
    return .refused(
      BatchError(
        .invalid, "is newer than its source and stays", path: target, remedy: .replaceOutput))
  }

  package var isWritten: Bool {
    switch self {
    case .write, .rewrite: true
    case .upToDate, .refused: false
    }
  }

  /// Whether the output replaces a file of its name.
  package var isReplacing: Bool {
    switch self {
    case .write(let isReplacing): isReplacing
    case .rewrite: true
    case .upToDate, .refused: false
    }
  }
}

extension OutputOptions {
  /// Whether a file begins like an output of an earlier run.
  fileprivate func isOutput(
    _ name: PathBytes, in folder: Int32?, _ calls: any FileSystemCalls
  ) -> Bool {
    guard let file = try? calls.openFile(name, in: folder, followingLast: false) else { return false }
    let raw = file.raw
    var start = [UInt8](repeating: 0, count: recognition.length)
    let count = start.withUnsafeMutableBytes { calls.read(raw, into: $0, at: 0) }
    return count > 0 && recognition.isOutput(Array(start[..<count]))
  }
}
