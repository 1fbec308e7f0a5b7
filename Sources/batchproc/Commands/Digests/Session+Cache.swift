import BatchCore
import BatchEngine

extension Session {
  /// The cache of digests for a shard of a plan, as ``cache(verifiedShare:)``. Nil also if other machines may have the folder of
  /// caches mounted: SQLite cannot share a database between machines.
  func cacheOfShard() -> DigestCache? {
    if var place = caches {
      while place != "/", (try? place.status()) == nil { place = place.parent }
      guard DeviceFacts.isLocal(place) else { return nil }
    }
    return cache(verifiedShare: 0)
  }

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
