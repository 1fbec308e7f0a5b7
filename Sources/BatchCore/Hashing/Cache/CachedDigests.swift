import BatchEngine
import Glibc

/// What one lane asks the cache.
final class CachedDigests {
  let cache: DigestCache
  private let algorithms: [DigestAlgorithm]
  private var file: SQLiteFile?
  private var statements: [String: SQLiteStatement] = [:]
  /// Tables that are not there yet.
  private var missing: Set<String> = []
  private var isUsable = true

  init(_ cache: DigestCache, _ algorithms: [DigestAlgorithm]) {
    self.cache = cache
    self.algorithms = algorithms
  }

  /// What is known of a file.
  struct Known {
    let keys: [DigestCache.Key]
    /// In the order of the algorithms; of the size and time of modification that the file has now.
    let digests: [Digest]
    /// Whether the time of its status is that of before, too.
    let isCertain: Bool
  }

  func keys(of record: FileRecord) -> [DigestCache.Key]? {
    var keys = [DigestCache.Key]()
    for algorithm in algorithms {
      guard let key = cache.key(of: record, algorithm) else { return nil }
      keys.append(key)
    }
    return keys
  }

  /// Nil when a digest is missing, or of another content.
  func known(of record: FileRecord, _ keys: [DigestCache.Key]) -> Known? {
    guard isUsable else { return nil }
    var digests = [Digest]()
    var isCertain = true
    do throws(SQLiteFile.Failure) {
      for (key, algorithm) in zip(keys, algorithms) {
        guard let value = try value(of: key), value.hasContent(of: record.status),
          let digest = Digest(algorithm, bytes: value.digest)
        else { return nil }
        isCertain = isCertain && value.changed == record.status.statusChanged
        digests.append(digest)
      }
    } catch {
      isUsable = false
      cache.damaged(error)
      return nil
    }
    return Known(keys: keys, digests: digests, isCertain: isCertain)
  }

  private func value(of key: DigestCache.Key) throws(SQLiteFile.Failure) -> CachedDigest? {
    guard let statement = try statement(for: key.table) else { return nil }
    defer { statement.reset() }
    statement.bind(Int64(bitPattern: key.inode), at: 1)
    return try statement.step() ? statement.withBlob(0) { CachedDigest($0) } : nil
  }

  private func statement(for table: String) throws(SQLiteFile.Failure) -> SQLiteStatement? {
    if let made = statements[table] { return made }
    guard !missing.contains(table) else { return nil }
    let file: SQLiteFile
    if let open = self.file {
      file = open
    } else {
      file = try SQLiteFile(cache.path)
      // One look at all: each would take a lock otherwise.
      try file.execute("PRAGMA query_only=1; BEGIN")
      self.file = file
    }
    guard try file.number("SELECT 1 FROM sqlite_master WHERE name='\(table)'") == 1 else {
      missing.insert(table)
      return nil
    }
    let statement = try SQLiteStatement(file, "SELECT value FROM \(table) WHERE inode=?1")
    statements[table] = statement
    return statement
  }
}
