import BatchCore
import BatchEngine

extension DigestCache {
  /// The folder of caches; nil when the environment does not define one.
  static func folder(environment: Environment) -> PathBytes? {
    let home = environment("HOME").flatMap { $0.isAbsolute ? $0.appending(".cache".utf8) : nil }
    return environment("XDG_CACHE_HOME").flatMap { $0.isAbsolute ? $0 : nil } ?? home
  }
}

extension Session {
  /// Opens or creates the cache of digests. Returns nil if that fails, which is reported; the run continues without the cache.
  func cache(in folder: PathBytes?, verifiedShare: Double) -> DigestCache? {
    do throws(BatchError) {
      guard let folder else {
        throw BatchError(
          .missing, "there is no cache: neither XDG_CACHE_HOME nor HOME is the path of a folder")
      }
      let diagnostics = diagnostics
      return try DigestCache(in: folder, verifiedShare: verifiedShare, calls: context.calls) {
        diagnostics.report($0, as: .warning)
      }
    } catch {
      diagnostics.report(error, as: .warning)
      return nil
    }
  }
}
