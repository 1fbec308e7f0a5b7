@testable import BatchCore
@testable import BatchEngine

/// Answers of the process that reads a foreign archive: an accepted answer must be the same after it was
/// encoded and decoded again.
func fuzzReaderMessages(_ start: UnsafePointer<UInt8>, _ count: Int) {
  guard count >= ReaderMessage.headSize else { return }
  let input = UnsafeRawBufferPointer(start: start, count: count)
  let head = UnsafeRawBufferPointer(rebasing: input[..<ReaderMessage.headSize])
  if let length = ReaderMessage.length(head) {
    precondition(length <= ReaderMessage.largest, "longer than any answer")
  }
  let body = UnsafeRawBufferPointer(rebasing: input[ReaderMessage.headSize...])
  guard let message = ReaderMessage(kind: start[0], body) else { return }
  let written = message.bytes
  written.withUnsafeBytes { raw in
    precondition(
      ReaderMessage.length(UnsafeRawBufferPointer(rebasing: raw.prefix(ReaderMessage.headSize)))
        == raw.count - ReaderMessage.headSize, "another length than is there")
    let rest = UnsafeRawBufferPointer(rebasing: raw.dropFirst(ReaderMessage.headSize))
    guard let again = ReaderMessage(kind: raw[0], rest) else {
      preconditionFailure("an answer that cannot be read again")
    }
    precondition(again.bytes == written, "two forms of one answer")
  }
  if case .entry(let entry, _) = message {
    precondition(entry.mode <= 0o7777 && !entry.path.isEmpty && !entry.path.containsNUL, "no entry")
  }
}
