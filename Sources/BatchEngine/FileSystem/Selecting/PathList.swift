import Glibc

/// The paths in a file or a stream, one on each line or one before each NUL.
package struct PathList: Sequence, Sendable {
  /// A longer path could not be opened, and the input is probably not a list.
  private static let longestPath = 1 << 20

  private let path: PathBytes
  private let isNULEnded: Bool
  private let cancellation: Cancellation
  private let calls: any FileSystemCalls

  /// - Parameters:
  ///   - path: `-` for standard input.
  ///   - cancellation: ends the wait for input, and is cancelled when the list cannot be read.
  ///   - calls: open the list. The run must reserve a descriptor for lists.
  package init(
    _ path: PathBytes, isNULEnded: Bool, cancellation: Cancellation, calls: any FileSystemCalls
  ) {
    self.path = path
    self.isNULEnded = isNULEnded
    self.cancellation = cancellation
    self.calls = calls
  }

  package var isStandardInput: Bool { path == "-" }

  package func makeIterator() -> AnyIterator<PathBytes> {
    var lines: PathLines?
    return AnyIterator {
      do throws(BatchError) {
        if lines == nil { lines = try PathLines(self) }
        return try lines?.next()
      } catch {
        cancellation.cancel(error)
        return nil
      }
    }
  }

  private final class PathLines {
    private let path: PathBytes
    private let terminator: UInt8
    private let descriptor: Descriptor?
    private let reader: StreamReader
    private var buffer = [UInt8](repeating: 0, count: 64 << 10)
    private var unread = 0..<0

    init(_ list: PathList) throws(BatchError) {
      path = list.path
      terminator = list.isNULEnded ? 0 : UInt8(ascii: "\n")
      if path == "-" {
        descriptor = nil
        reader = StreamReader(descriptor: STDIN_FILENO, cancellation: list.cancellation)
      } else {
        // Without O_NONBLOCK, opening a FIFO without a writer would block.
        let flags = O_RDONLY | O_NONBLOCK | O_NOCTTY
        let number = path.withCString { list.calls.open($0, at: AT_FDCWD, flags: flags) }
        guard number >= 0 else { throw .syscall("open the list of paths", errno: -number, path: path) }
        descriptor = Descriptor(owning: number)
        reader = StreamReader(descriptor: number, cancellation: list.cancellation)
      }
    }

    func next() throws(BatchError) -> PathBytes? {
      var name = [UInt8]()
      while true {
        if unread.isEmpty, try fill() == 0 { return name.isEmpty ? nil : PathBytes(name) }
        let part = buffer[unread]
        if let end = part.firstIndex(of: terminator) {
          name += part[..<end]
          unread = (end + 1)..<unread.upperBound
          // A blank line is skipped; an empty name between two NULs is a mistake and is reported.
          if name.isEmpty, terminator != 0 { continue }
          return PathBytes(name)
        }
        name += part
        unread = 0..<0
        guard name.count <= PathList.longestPath else {
          throw BatchError(
            .malformed, "holds a path of more than \(PathList.longestPath) bytes", path: path,
            remedy: .readListWithNUL)
        }
      }
    }

    private func fill() throws(BatchError) -> Int {
      let reader = reader
      do throws(BatchError) {
        let count = try withMutableBytes(of: &buffer) { (room) throws(BatchError) in
          try reader.read(into: room)
        }
        unread = 0..<count
        return count
      } catch {
        throw error.path == nil ? error.at(path) : error
      }
    }
  }
}
