import BatchCore
import BatchEngine

extension DigestCache {
  /// The folder of caches; nil when the environment does not define one.
  static func folder(environment: (String) -> PathBytes?) -> PathBytes? {
    let home = environment("HOME").flatMap { $0.isAbsolute ? $0.appending(".cache".utf8) : nil }
    return environment("XDG_CACHE_HOME").flatMap { $0.isAbsolute ? $0 : nil } ?? home
  }

  /// Opens the cache, or creates it.
  ///
  /// - Throws: the reason when the cache cannot be opened.
  static func open(
    in folder: PathBytes?, verifiedShare: Double, _ session: Session
  ) throws(BatchError) -> DigestCache {
    guard let folder else {
      throw BatchError(
        .missing, "there is no cache: neither XDG_CACHE_HOME nor HOME is the path of a folder")
    }
    return try DigestCache(in: folder, verifiedShare: verifiedShare, calls: session.context.calls) {
      session.diagnostics.report($0, as: .warning)
    }
  }
}
