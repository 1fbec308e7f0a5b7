import BatchEngine

/// A run that is divided into shards: its command, and the ranges of its entries in tree order.
///
/// In the folder of the plan, `plan.json` contains it as lines of JSON, and `plan.entries` contains the entries as records
/// (``PlanRecord``). The last line has the SHA-256 of all lines before it, which is the id of the plan in results; the line of
/// each shard has the SHA-256 of its range.
package struct ShardPlan: Sendable {
  /// A range of the entries.
  package struct Shard: Sendable {
    package let index: Int
    /// The offset in the file of entries.
    let offset: UInt64
    let length: UInt64
    package let entries: Int
    package let bytes: Int64
    package let cost: Int64
    let digest: Digest
    /// The record of the first entries' folder, without its NUL; empty if the range begins with a folder record.
    let folder: [UInt8]
    /// Entries that belong to the shard with the first name of their file; nil without such entries.
    var further: Further?

    /// Its ranges in the file of entries, in that order, each with its SHA-256.
    var ranges: [(range: Range<UInt64>, digest: Digest)] {
      [(offset..<(offset + length), digest)] + (further.map { [($0.range, $0.digest)] } ?? [])
    }
  }

  /// A second range of a shard, after the first ranges of all shards.
  struct Further: Sendable {
    let range: Range<UInt64>
    let digest: Digest
  }

  package static let schema = 1
  package static let fileName = "plan.json"
  static let entriesName = "plan.entries"
  /// The largest size of `plan.json`, in bytes.
  private static let largest = 256 << 20
  package static let mostShards = 100_000

  /// The SHA-256 of the plan.
  package let id: String
  package let version: String
  package let command: String
  /// The folder in which relative paths begin.
  package let workingFolder: PathBytes
  package let arguments: [PathBytes]
  /// How many shards were requested; there are fewer if there is little work.
  package let asked: Int
  package let operandCount: Int
  /// Paths that the options left out.
  package let filtered: Int
  package let shards: [Shard]

  package var entries: Int { shards.reduce(0) { $0 &+ $1.entries } }
  /// How many entries the shards before one have.
  package func entries(before shard: Shard) -> Int {
    shards.prefix(shard.index).reduce(0) { $0 &+ $1.entries }
  }

  package var bytes: Int64 { shards.reduce(0) { $0 &+ $1.bytes } }
  /// The cost of the most expensive range, as a multiple of the mean.
  package var imbalance: Double {
    let total = shards.reduce(0.0) { $0 + Double($1.cost) }
    guard total > 0, let most = shards.map(\.cost).max() else { return 1 }
    return Double(most) * Double(shards.count) / total
  }

  /// The lines without the last one.
  static func lines(
    version: String, command: String, workingFolder: PathBytes, arguments: [PathBytes], asked: Int,
    operandCount: Int, filtered: Int, shards: [Shard]
  ) -> [UInt8] {
    var head = JSONLine("plan")
    head.add("schema", schema)
    head.add("version", version)
    head.add("command", command)
    head.add("folder", bytes: workingFolder.bytes)
    head.add("asked", asked)
    head.add("operands", operandCount)
    head.add("filtered", filtered)
    head.add("shards", shards.count)
    var bytes = head.finished()
    for argument in arguments {
      var line = JSONLine("argument")
      line.add("value", bytes: argument.bytes)
      bytes += line.finished()
    }
    for shard in shards {
      var line = JSONLine("shard")
      line.add("index", shard.index)
      line.add("offset", shard.offset)
      line.add("length", shard.length)
      line.add("entries", shard.entries)
      line.add("bytes", shard.bytes)
      line.add("cost", shard.cost)
      line.add("sha256", shard.digest.hex)
      line.add("folder", bytes: shard.folder)
      if let further = shard.further {
        line.add("further_offset", further.range.lowerBound)
        line.add("further_length", further.range.upperBound - further.range.lowerBound)
        line.add("further_sha256", further.digest.hex)
      }
      bytes += line.finished()
    }
    return bytes
  }

  static func finished(_ lines: [UInt8]) throws(BatchError) -> [UInt8] {
    var end = JSONLine("end")
    end.add("sha256", try Digest.sha256(of: lines).hex)
    return lines + end.finished()
  }

  // MARK: Reading

  /// Reads the plan of a folder.
  ///
  /// - Throws: `unwritable` for an incomplete plan, to get the exit status of missing parts; `missing` when there is no plan.
  package static func read(in folder: PlanFolder) throws(BatchError) -> ShardPlan {
    let content: [UInt8]
    do throws(BatchError) {
      content = try folder.content(of: fileName, limit: largest)
    } catch {
      guard error.isNotFound else { throw error }
      throw BatchError(.missing, "there is no plan in this folder", path: folder.path)
    }
    do throws(BatchError) {
      return try ShardPlan(content)
    } catch {
      throw BatchError(
        .unwritable, "the plan \(error.message)", path: folder.path(of: fileName))
    }
  }

  /// - Throws: `malformed` when the file is not a plan.
  init(_ content: [UInt8]) throws(BatchError) {
    var lines = content.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    guard lines.popLast()?.isEmpty == true, let last = lines.popLast(), lines.count > 0 else {
      throw BatchError(.malformed, "is cut")
    }
    let end = try JSONFields(last)
    guard try end.text("type") == "end" else { throw BatchError(.malformed, "is cut") }
    let digest = try Digest.sha256(of: Array(content[..<last.startIndex]))
    guard try end.digest("sha256") == digest else {
      throw BatchError(.malformed, "was edited or damaged")
    }
    id = digest.hex
    let head = try JSONFields(lines[0])
    guard try head.text("type") == "plan" else { throw BatchError(.malformed, "has no first line") }
    let schema: Int = try head.number("schema")
    guard schema == Self.schema else {
      throw BatchError(.malformed, "has the unknown form \(schema)")
    }
    version = try head.text("version")
    command = try head.text("command")
    workingFolder = PathBytes(try head.bytes("folder"))
    asked = try head.number("asked")
    operandCount = try head.number("operands")
    filtered = try head.number("filtered")
    let count: Int = try head.number("shards")
    guard (0...Self.mostShards).contains(count), (1...Self.mostShards).contains(asked),
      count <= asked,
      filtered >= 0, operandCount >= 0, workingFolder.isAbsolute, !workingFolder.containsNUL
    else { throw BatchError(.malformed, "has numbers that cannot be") }
    var (arguments, shards): ([PathBytes], [Shard]) = ([], [])
    var offset: UInt64 = 0
    for line in lines.dropFirst() {
      let fields = try JSONFields(line)
      switch try fields.text("type") {
      case "argument":
        let value = PathBytes(try fields.bytes("value"))
        guard shards.isEmpty, !value.containsNUL else {
          throw BatchError(.malformed, "has a misplaced line")
        }
        arguments.append(value)
      case "shard":
        let shard = try Self.shard(fields)
        let (next, isTooLarge) = shard.offset.addingReportingOverflow(shard.length)
        guard shard.index == shards.count, shard.offset == offset, !isTooLarge,
          next <= UInt64(Int64.max),
          shard.entries >= 0, shard.bytes >= 0, shard.cost >= 0
        else { throw BatchError(.malformed, "has ranges that do not follow one another") }
        offset = next
        shards.append(shard)
      default: throw BatchError(.malformed, "has a line of an unknown kind")
      }
    }
    guard shards.count == count else { throw BatchError(.malformed, "does not have all of its shards") }
    for case let further? in shards.map(\.further) {
      guard further.range.lowerBound == offset else {
        throw BatchError(.malformed, "has ranges that do not follow one another")
      }
      offset = further.range.upperBound
    }
    self.arguments = arguments
    self.shards = shards
  }

  private static func shard(_ fields: JSONFields) throws(BatchError) -> Shard {
    var shard = Shard(
      index: try fields.number("index"), offset: try fields.number("offset"),
      length: try fields.number("length"), entries: try fields.number("entries"),
      bytes: try fields.number("bytes"), cost: try fields.number("cost"),
      digest: try fields.digest("sha256"), folder: try fields.bytes("folder"))
    guard fields.has("further_offset") else { return shard }
    let start: UInt64 = try fields.number("further_offset")
    let (end, isTooLarge) = start.addingReportingOverflow(try fields.number("further_length"))
    guard !isTooLarge, end <= UInt64(Int64.max) else {
      throw BatchError(.malformed, "has numbers that cannot be")
    }
    shard.further = Further(range: start..<end, digest: try fields.digest("further_sha256"))
    return shard
  }
}

extension ShardPlan {
  /// - Throws: `unwritable` for a plan of another program version, which may cut or write differently.
  package func require(version: String, in folder: PlanFolder) throws(BatchError) {
    guard self.version != version else { return }
    throw BatchError(
      .unwritable, "the plan was made by version \(self.version), and this is version \(version)",
      path: folder.path(of: Self.fileName), remedy: "use that version, or make a new plan")
  }

  /// The name of a file that belongs to a shard, such as `shard-0007.result`.
  package static func name(_ shard: Int, _ suffix: String) -> String {
    let digits = String(shard)
    return "shard-" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits + "."
      + suffix
  }
}
