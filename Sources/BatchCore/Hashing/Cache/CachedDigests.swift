import BatchEngine

/// The access of one lane to the cache.
final class CachedDigests {
  /// After this many look-ups, all rows of a table are loaded at once.
  private static let few = 256

  private struct Table {
    let name: String
    let algorithm: DigestAlgorithm
    /// Nil if the table does not exist yet, or nothing was looked up.
    var statement: SQLiteStatement?
    var isLookedFor = false
    var rows: CachedRows?
    /// The position of the last row that was found.
    var position = -1
    /// How many rows were looked up one by one.
    var asked = 0
  }

  let cache: DigestCache
  private let algorithms: [DigestAlgorithm]
  private var file: SQLiteFile?
  /// The tables of the last device, in the order of the algorithms.
  private var tables: [Table] = []
  private var device: UInt64?
  private var isUsable = true

  init(_ cache: DigestCache, _ algorithms: [DigestAlgorithm]) {
    self.cache = cache
    self.algorithms = algorithms
  }

  struct Known {
    /// The digests for the file's current size and time of modification, in the order of the algorithms.
    let digests: [Digest]
    /// Whether its change time is unchanged too.
    let isCertain: Bool
  }

  /// The names of the tables for a file; nil if its file system is unknown.
  func tables(of record: FileRecord) -> [String]? {
    use(record) ? tables.map(\.name) : nil
  }

  /// Nil when a digest is missing or belongs to other content.
  func known(of record: FileRecord) -> Known? {
    guard isUsable, use(record) else { return nil }
    var digests = [Digest]()
    var isCertain = true
    do throws(SQLiteFile.Failure) {
      for index in tables.indices {
        guard let value = try value(of: record.status.identity.inode, in: &tables[index]),
          value.hasContent(of: record.status)
        else { return nil }
        isCertain = isCertain && value.changed == record.status.statusChanged
        digests.append(value.digest)
      }
    } catch {
      isUsable = false
      cache.damaged(error)
      return nil
    }
    return Known(digests: digests, isCertain: isCertain)
  }

  /// Selects the tables for the file system of a file.
  private func use(_ record: FileRecord) -> Bool {
    guard record.status.identity.device != device else { return !tables.isEmpty }
    device = record.status.identity.device
    tables = []
    guard let fileSystem = cache.fileSystem(of: record) else { return false }
    tables = algorithms.map {
      Table(name: DigestCache.table(of: $0, on: fileSystem), algorithm: $0)
    }
    return true
  }

  private func value(
    of inode: UInt64, in table: inout Table
  ) throws(SQLiteFile.Failure) -> CachedDigest? {
    let inode = Int64(bitPattern: inode)
    if let rows = table.rows { return rows.value(of: inode, near: &table.position) }
    guard let statement = try statement(for: &table) else { return nil }
    table.asked += 1
    if table.asked >= Self.few, table.asked % Self.few == 0,
      let rows = try cache.rows(of: table.name, table.algorithm)
    {
      table.rows = rows
      return rows.value(of: inode, near: &table.position)
    }
    defer { statement.reset() }
    statement.bind(inode, at: 1)
    let algorithm = table.algorithm
    return try statement.step() ? statement.withBlob(0) { CachedDigest($0, algorithm) } : nil
  }

  private func statement(for table: inout Table) throws(SQLiteFile.Failure) -> SQLiteStatement? {
    guard !table.isLookedFor else { return table.statement }
    table.isLookedFor = true
    let file: SQLiteFile
    if let open = self.file {
      file = open
    } else {
      file = try SQLiteFile(cache.path)
      // One transaction for all look-ups: otherwise each would take a lock.
      try file.execute("PRAGMA query_only=1; BEGIN")
      self.file = file
    }
    if try file.hasTable(table.name) {
      table.statement = try SQLiteStatement(file, "SELECT value FROM \(table.name) WHERE inode=?1")
    }
    return table.statement
  }
}
