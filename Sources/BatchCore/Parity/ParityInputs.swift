import BatchEngine

/// The files whose blocks are read, each opened when it is needed.
package struct ParityInputs: Sendable {
  /// One file.
  struct File: Sendable {
    enum Place: Sendable {
      /// Below an open folder, not through a link.
      case below(OpenFolder, RelativePath)
      /// A file without its final name, whose owner keeps it open.
      case open(HeldOutput)
    }

    let place: Place
    /// For messages.
    let shown: PathBytes
  }

  var files: [File] = []

  /// Opens a file that is reached by its name: no symbolic link, and nothing but a regular file.
  ///
  /// - Throws: the error of opening it, with its path.
  static func open(
    _ path: RelativePath, below base: OpenFolder, shown: PathBytes, by folders: FolderOpener
  ) throws(BatchError) -> Descriptor {
    do throws(BatchError) {
      let folder =
        path.parent.isEmpty ? base : try folders.folder(path.parent, below: base, shown: shown.parent)
      let descriptor = try folder.openFile(path.name)
      let status = try folders.calls.status(of: descriptor)
      guard status.kind == .regular else {
        throw BatchError(.special, "is \(status.kind.text)", path: shown)
      }
      return descriptor
    } catch {
      throw error.at(shown)
    }
  }
}

/// An output that has no name yet, and can be read.
package final class HeldOutput: Sendable {
  private let descriptor: Descriptor

  package init(_ descriptor: consuming Descriptor) { self.descriptor = descriptor }

  /// Valid as long as this object lives.
  var raw: Int32 { descriptor.raw }
}

/// Where the bytes of a block are. After them it is filled up with zeros.
struct BlockPlace: Sendable, Hashable {
  /// An index of the files.
  let file: Int
  let offset: UInt64
  let length: Int
}

/// Reads blocks on one lane. The file that was read last stays open.
final class BlockReader {
  private static let pageSize = 4096

  private let inputs: ParityInputs
  private let folders: FolderOpener
  private let last = OpenInput()

  private final class OpenInput {
    var index = -1
    var raw: Int32 = -1
    var descriptor: Descriptor?
  }

  init(_ inputs: ParityInputs, by folders: FolderOpener) { (self.inputs, self.folders) = (inputs, folders) }

  /// Reads bytes of a file.
  ///
  /// - Returns: how many there are; fewer than asked for only at the end.
  /// - Throws: the error of opening or reading it, with its path.
  func read(_ file: Int, at offset: UInt64, into bytes: UnsafeMutableRawBufferPointer) throws(BatchError)
    -> Int
  {
    try open(file)
    return try folders.calls.fill(bytes, from: last.raw, at: offset, path: inputs.files[file].shown)
  }

  /// Reads bytes of a file. What cannot be read or is after its end becomes zeros.
  ///
  /// - Returns: whether all bytes before the end could be read.
  /// - Throws: the error of opening it.
  func readAround(
    _ file: Int, at offset: UInt64, into bytes: UnsafeMutableRawBufferPointer
  ) throws(BatchError) -> Bool {
    try open(file)
    if let count = try? folders.calls.fill(bytes, from: last.raw, at: offset) {
      bytes[count...].clear()
      return true
    }
    // A damaged sector: page by page.
    var position = 0
    while position < bytes.count {
      let inPage = Self.pageSize - Int((offset + UInt64(position)) % UInt64(Self.pageSize))
      let piece = UnsafeMutableRawBufferPointer(
        rebasing: bytes[position..<min(bytes.count, position + inPage)])
      let count = (try? folders.calls.fill(piece, from: last.raw, at: offset + UInt64(position))) ?? 0
      piece[count...].clear()
      position += piece.count
    }
    return false
  }

  /// Reads some columns of a block, with the zeros that fill it up.
  ///
  /// - Parameter column: the first one.
  func read(
    _ place: BlockPlace, from column: Int, into bytes: UnsafeMutableRawBufferPointer
  ) throws(BatchError) {
    let count = min(bytes.count, max(0, place.length - column))
    if count > 0 {
      let piece = UnsafeMutableRawBufferPointer(rebasing: bytes[..<count])
      let found = try read(place.file, at: place.offset + UInt64(column), into: piece)
      guard found == count else {
        throw BatchError(.changed, "became shorter while it was read", path: inputs.files[place.file].shown)
      }
    }
    bytes[count...].clear()
  }

  private func open(_ file: Int) throws(BatchError) {
    guard last.index != file else { return }
    close()
    switch inputs.files[file].place {
    case .below(let base, let path):
      let opened = try ParityInputs.open(path, below: base, shown: inputs.files[file].shown, by: folders)
      last.raw = opened.raw
      last.descriptor = consume opened
    case .open(let held): last.raw = held.raw
    }
    last.index = file
  }

  func close() {
    last.descriptor = nil
    (last.index, last.raw) = (-1, -1)
  }
}

extension Slice<UnsafeMutableRawBufferPointer> {
  func clear() {
    guard !isEmpty else { return }
    UnsafeMutableRawBufferPointer(rebasing: self).initializeMemory(as: UInt8.self, repeating: 0)
  }
}
