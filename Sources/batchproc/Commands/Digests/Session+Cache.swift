import BatchCore
import BatchEngine

extension Session {
  /// Opens the cache of digests, or makes it. Nil where that cannot be done, which is reported: a run goes on without it.
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
