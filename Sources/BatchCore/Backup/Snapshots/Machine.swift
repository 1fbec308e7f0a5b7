import BatchEngine

/// The machine that makes a snapshot.
package struct Machine: Sendable, Hashable {
  /// 32 hexadecimal digits, made by a digest from `/etc/machine-id`, which must not be published; without such a file, from
  /// the host name.
  package let id: String
  package let host: String
  /// Not published: a part of ``word(for:)``.
  private let secret: String

  /// - Parameters:
  ///   - identity: the content of `/etc/machine-id`; for anything else the host name takes its place.
  ///   - host: the name of the machine, for people.
  package init(identity: [UInt8]?, host: String) throws(BatchError) {
    let known = identity.map { $0.split(separator: UInt8(ascii: "\n"), maxSplits: 1).first ?? [] }
    let isValid = known?.count == 32 && known?.allSatisfy { Hexadecimal.value(of: $0) != nil } ?? false
    let source = isValid ? Array(known ?? []) : Array("host \(host)".utf8)
    id = try Self.digest("batchproc machine", source)
    secret = try Self.digest("batchproc sources", source)
    self.host = host
  }

  package static func current() throws(BatchError) -> Machine {
    try Machine(identity: try? SmallFile.readNamed("/etc/machine-id", limit: 4096), host: HostName.current)
  }

  /// A word for a list of sources, which only this machine can compute.
  ///
  /// It is the same for the same list, and does not confirm a guess of a list.
  func word(for sources: SourceList) throws(BatchError) -> String {
    try Self.digest("\(secret) sources", Array(sources.digest.hex.utf8))
  }

  private static func digest(_ purpose: String, _ bytes: [UInt8]) throws(BatchError) -> String {
    String(try Digest.sha256(of: Array("\(purpose)\n".utf8) + bytes).hex.prefix(32))
  }

  /// Whether text is an id or a word.
  static func isWord(_ text: String) -> Bool {
    text.utf8.count == 32 && text.utf8.allSatisfy { Hexadecimal.value(of: $0) != nil }
  }
}
