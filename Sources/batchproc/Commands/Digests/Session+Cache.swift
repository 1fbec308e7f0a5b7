import BatchCore
import BatchEngine

extension Session {
  /// Opens or creates the cache of digests. Returns nil if that fails, which is reported; the run continues without the cache.
  func cache(verifiedShare: Double) -> DigestCache? {
    do throws(BatchError) {
      guard let caches else {
        throw BatchError(
          .missing, "there is no cache: neither XDG_CACHE_HOME nor HOME is the path of a folder")
      }
      let diagnostics = diagnostics
      return try DigestCache(in: caches, verifiedShare: verifiedShare, calls: context.calls) {
        diagnostics.report($0, as: .warning)
      }
    } catch {
      diagnostics.report(error, as: .warning)
      return nil
    }
  }
}
