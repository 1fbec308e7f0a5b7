import BatchEngine
import Synchronization
import func Glibc.time
import var Glibc.EEXIST

/// A cache of digests by inode, in a database that several runs may use at the same time.
///
/// A digest is valid while size, modification time and change time are the same. It is stored only for a file that is settled
/// (``ChangeSettling``) when it is read: another file could change again with the same times.
package final class DigestCache: Sendable {
  /// Increased when the format of tables or values changes.
  private static let version: Int64 = 1
  /// Entries that are written together.
  private static let batchSize = 8192
  /// Entries wait for others at most as long as this, so that a run that is killed loses little work.
  package static let longestWait = Duration.seconds(20)

  private struct Entry: Sendable {
    let table: String
    let inode: UInt64
    let value: [UInt8]
  }

  private enum Rows {
    case loading
    /// Nil if there are too many.
    case loaded(CachedRows?)
  }

  private struct State {
    var entries: [Entry] = []
    /// When entries were taken to be written.
    var takenAt = ContinuousClock.now
    var fileSystems: [UInt64: String] = [:]
    /// The rows, by the names of their tables.
    var rows: [String: Rows] = [:]
    var failure: String?
    var isDamaged = false
  }

  let path: PathBytes
  let settling: ChangeSettling
  /// The share of known files that are still read, from 0 to 1.
  package let verifiedShare: Double
  private let calls: any FileSystemCalls
  private let longestWait: Duration
  private let seed = UInt64.random(in: 0...UInt64.max)
  private let state = Mutex(State())
  private let rotten = Atomic<Int>(0)
  private let known = Atomic<Int>(0)

  /// - Parameters:
  ///   - folder: the folder of caches, an absolute path; the database is in `batchproc` below it, and only its owner may read
  ///     it.
  ///   - trust: decides which owners of folders and files are trusted; nil for the rule of this process.
  ///   - longestWait: how long the first entry may wait for others before all are written.
  ///   - now: the clock that file systems use for their times.
  ///   - warn: called with a warning when a database is rebuilt.
  /// - Throws: the error of creating the folder or the database; `.unreadable` or `.malformed` for a folder or file that
  ///   another user can change, or that is a link.
  package init(
    in folder: PathBytes, verifiedShare: Double, calls: any FileSystemCalls, trust: TrustedFile? = nil,
    longestWait: Duration = DigestCache.longestWait,
    now: @escaping @Sendable () -> FileStatus.Time = {
      FileStatus.Time(seconds: Int64(time(nil)), nanoseconds: 0)
    },
    warn: (BatchError) -> Void
  ) throws(BatchError) {
    self.calls = calls
    self.longestWait = longestWait
    settling = ChangeSettling(calls: calls, now: now)
    self.verifiedShare = verifiedShare
    path = try Self.place(in: folder, trust ?? TrustedFile(calls: calls))
    do throws(SQLiteFile.Failure) {
      try Self.prepare(path)
    } catch {
      guard error.isDamage || error.code == 0 else { throw Self.error(error, path) }
      warn(
        BatchError(
          .malformed,
          error.code == 0
            ? "the cache has another version, and is created again"
            : "the cache is damaged, and is created again",
          path: path))
      remove()
      do throws(SQLiteFile.Failure) {
        try Self.prepare(path)
      } catch {
        throw Self.error(error, path)
      }
    }
  }

  /// The path of the database; creates its folder if missing.
  ///
  /// SQLite opens the database and its auxiliary files by path. That is safe here: the path contains no links, every folder on
  /// the way belongs to root or the user, and no other user can write there, so no link can be inserted between this check and
  /// the opening.
  private static func place(in folder: PathBytes, _ trust: TrustedFile) throws(BatchError) -> PathBytes {
    let caches = try made(folder.lastComponent, in: folder.parent, trust)
    let own = try made("batchproc".utf8, in: caches, trust)
    guard own == caches.appending("batchproc".utf8) else {
      throw BatchError(
        .malformed, "is a symbolic link, and not a directory", path: caches.appending("batchproc".utf8))
    }
    let path = own.appending("digests.sqlite".utf8)
    for file in files(of: path) { try trust.checkFile(file) }
    // Other users must not see which files exist.
    do throws(BatchError) {
      _ = try trust.calls.openToChange(path)
    } catch {
      throw .syscall("open the cache", errno: error.errno, path: path)
    }
    return path
  }

  /// The path of a folder without links; creates the folder if missing.
  private static func made(
    _ name: some Collection<UInt8>, in parent: PathBytes, _ trust: TrustedFile
  ) throws(BatchError) -> PathBytes {
    let path = try trust.folder(parent, isOnTheWay: true).appending(name)
    let failed = -trust.calls.makeFolder(path, permissions: 0o700)
    guard failed == 0 || failed == EEXIST else {
      throw .syscall("make the folder of the cache", errno: failed, path: path)
    }
    return try trust.folder(path)
  }

  private static func files(of path: PathBytes) -> [PathBytes] {
    ["", "-wal", "-shm", "-journal"].map { PathBytes(path.bytes + Array($0.utf8)) }
  }

  private static func prepare(_ path: PathBytes) throws(SQLiteFile.Failure) {
    let file = try SQLiteFile(path)
    let found = try file.number("PRAGMA user_version") ?? 0
    let tables = try file.number("SELECT count(*) FROM sqlite_master") ?? 0
    guard found == version || (found == 0 && tables == 0) else {
      throw SQLiteFile.Failure(code: 0, message: "")
    }
    // Nothing is written if the version is already correct.
    guard found != version else { return }
    try file.execute("PRAGMA journal_mode=WAL; PRAGMA user_version=\(version)")
  }

  private static func error(_ failure: SQLiteFile.Failure, _ path: PathBytes) -> BatchError {
    BatchError(.unwritable, "cannot use the cache: \(failure.message)", path: path)
  }

  private func remove() {
    for file in Self.files(of: path) { _ = calls.remove(file) }
  }

  // MARK: Calls of the lanes

  /// Files whose digest was taken from the cache.
  package var knownCount: Int { known.load(ordering: .relaxed) }
  /// Files whose content has changed although size and times have not.
  package var rottenCount: Int { rotten.load(ordering: .relaxed) }

  func countKnown() { known.add(1, ordering: .relaxed) }
  func countRotten() { rotten.add(1, ordering: .relaxed) }

  /// The part of table names for the file system of a file; nil if unknown.
  func fileSystem(of record: FileRecord) -> String? {
    let device = record.status.identity.device
    if let known = state.withLock({ $0.fileSystems[device] }) { return known }
    guard let identity = try? record.path.fileSystemID() else { return nil }
    let name = identity == 0 ? "d\(device)" : "f" + String(identity, radix: 16)
    state.withLock { $0.fileSystems[device] = name }
    return name
  }

  static func table(of algorithm: DigestAlgorithm, on fileSystem: String) -> String {
    "\(fileSystem)_\(algorithm.tableName)"
  }

  /// All rows of a table; nil while another lane loads them, and if there are too many.
  func rows(of table: String, _ algorithm: DigestAlgorithm) throws(SQLiteFile.Failure) -> CachedRows? {
    let known = state.withLock { state in
      let known = state.rows[table]
      if known == nil { state.rows[table] = .loading }
      return known
    }
    switch known {
    case .loaded(let rows): return rows
    case .loading: return nil
    case nil: break
    }
    let rows = try load(table, algorithm)
    state.withLock { $0.rows[table] = .loaded(rows) }
    return rows
  }

  private func load(_ table: String, _ algorithm: DigestAlgorithm) throws(SQLiteFile.Failure) -> CachedRows? {
    let file = try SQLiteFile(path)
    try file.execute("PRAGMA query_only=1; BEGIN")
    let statement = try SQLiteStatement(file, "SELECT inode, value FROM \(table) ORDER BY inode")
    return try CachedRows(algorithm) { (take) throws(SQLiteFile.Failure) in
      guard try statement.step() else { return false }
      let inode = statement.number(0)
      statement.withBlob(1) { take(inode, $0) }
      return true
    }
  }

  /// Whether a known file must still be read.
  func isSampled(_ inode: UInt64) -> Bool {
    guard verifiedShare > 0 else { return false }
    var mixed = (inode ^ seed) &* 0x9e37_79b9_7f4a_7c15
    mixed = (mixed ^ (mixed >> 32)) &* 0xbf58_476d_1ce4_e5b9
    return Double(mixed >> 11) / Double(UInt64(1) << 53) < verifiedShare
  }

  /// Records the digest of a settled file.
  ///
  /// - Parameter status: the status of the file after it was read.
  func add(_ table: String, _ status: FileStatus, _ digest: Digest) {
    let entry = Entry(
      table: table, inode: status.identity.inode, value: CachedDigest(status, digest).bytes)
    let full = state.withLock { state -> [Entry]? in
      state.entries.append(entry)
      let now = ContinuousClock.now
      guard state.entries.count >= Self.batchSize || now - state.takenAt >= longestWait else { return nil }
      state.takenAt = now
      defer { state.entries = [] }
      return state.entries
    }
    if let full { write(full) }
  }

  func damaged(_ failure: SQLiteFile.Failure) {
    state.withLock {
      $0.failure = failure.message
      if failure.isDamage { $0.isDamaged = true }
    }
  }

  /// Writes the remaining entries.
  ///
  /// - Returns: why the cache was not used for the whole run; a damaged cache is removed.
  package func finish() -> BatchError? {
    write(
      state.withLock { state in
        defer { state.entries = [] }
        return state.entries
      })
    let (failure, isDamaged) = state.withLock { ($0.failure, $0.isDamaged) }
    if isDamaged { remove() }
    return failure.map {
      BatchError(.malformed, "the cache could not be used for all files: \($0)", path: path)
    }
  }

  private func write(_ entries: [Entry]) {
    guard !entries.isEmpty else { return }
    do throws(SQLiteFile.Failure) {
      let file = try SQLiteFile(path)
      try file.execute("PRAGMA synchronous=NORMAL; BEGIN IMMEDIATE")
      var statements: [String: SQLiteStatement] = [:]
      for entry in entries {
        let statement: SQLiteStatement
        if let made = statements[entry.table] {
          statement = made
        } else {
          try file.execute(
            "CREATE TABLE IF NOT EXISTS \(entry.table) (inode INTEGER PRIMARY KEY, value BLOB NOT NULL)")
          statement = try SQLiteStatement(file, "INSERT OR REPLACE INTO \(entry.table) VALUES (?1, ?2)")
          statements[entry.table] = statement
        }
        statement.bind(Int64(bitPattern: entry.inode), at: 1)
        try statement.run(entry.value, at: 2)
      }
      statements.removeAll()
      try file.execute("COMMIT")
    } catch {
      damaged(error)
    }
  }
}

extension DigestAlgorithm {
  fileprivate var tableName: String { rawValue.replacing("-", with: "_") }
}
