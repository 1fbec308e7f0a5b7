import BatchEngine
import TestSupport
import Testing

/// The formats, each with the stock tool that judges it.
enum StockFormat: String, CaseIterable, Sendable, CustomTestStringConvertible {
  case gz, zst, xz, lz4

  /// The stock tool, quiet, ready for `-t` and `-dc`.
  var tool: String {
    switch self {
    case .gz: "gzip -q"
    case .zst: "zstd -q"
    case .xz: "xz -q"
    case .lz4: "lz4 -q"
    }
  }

  /// The stock tool, ready to put decompressed files in the place of those that it is given.
  var decodeInPlace: String {
    switch self {
    case .gz: "gzip -qd"
    case .zst: "zstd -qd --rm"
    case .xz: "xz -qd"
    case .lz4: "lz4 -qdm --rm"
    }
  }

  /// The stock tool, ready to compress standard input.
  var encode: String { "\(tool) -c" }

  var testDescription: String { rawValue }
}

extension TreeFixture {
  /// Makes `src`: texts of several sizes in folders, one of them in several blocks of each format.
  func writeTexts(files: Int = 40) throws {
    try copy(PathBytes("texts-\(files)")) { try $0.makeTexts(files: files) }
  }

  private func makeTexts(files: Int) throws {
    let made = try shell(
      """
      mkdir -p src/a/b src/c
      for i in $(seq \(files)); do seq $((i * 90)) >src/a/f$i; seq $i $((i * 50 + 900)) >src/a/b/g$i; done
      seq 500000 >src/c/big; echo small >src/small; : >src/empty
      """)
    try #require(made.status == 0, "\(made.errorText)")
  }

  /// The contents of `src` that are in `folder` neither as they are nor in an output that decodes to them.
  func lost(in folder: String, _ format: StockFormat) throws -> String {
    try shell(
      """
      cd src; find . -type f | while IFS= read -r f; do
        cmp -s "$f" "../\(folder)/$f" || \(format.tool) -dc <"../\(folder)/$f.\(format)" | cmp -s "$f" - || echo "$f"
      done
      """
    ).text
  }

  /// Files under final names that their tool refuses.
  func damaged(in folder: String, _ format: StockFormat) throws -> String {
    try shell(
      """
      find \(folder) -name '*.\(format)' | while IFS= read -r f; do
        \(format.tool) -t <"$f" >/dev/null 2>&1 || echo "$f"
      done
      """
    ).text
  }

  /// The temporary files in a tree.
  func allTemporaries() throws -> String { try shell("find . -name '.batchproc-*'").text }
}
