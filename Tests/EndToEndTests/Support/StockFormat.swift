import BatchEngine
import TestSupport
import Testing

/// The writable formats, each with its stock tool.
enum StockFormat: String, CaseIterable, Sendable, CustomTestStringConvertible {
  case gz, zst, xz, lz4

  /// The stock tool in quiet mode, to which `-t` or `-dc` is added.
  var tool: String {
    switch self {
    case .gz: "gzip -q"
    case .zst: "zstd -q"
    case .xz: "xz -q"
    case .lz4: "lz4 -q"
    }
  }

  /// The stock tool with options to replace the given files with decompressed ones.
  var decodeInPlace: String {
    switch self {
    case .gz: "gzip -qd"
    case .zst: "zstd -qd --rm"
    case .xz: "xz -qd"
    case .lz4: "lz4 -qdm --rm"
    }
  }

  /// The stock tool with options to compress standard input.
  var encode: String { "\(tool) -c" }

  /// A level at which noise is compressed fast too: for xz, level 1 takes twice as long as level 0.
  var fastLevel: Int { self == .xz ? 0 : 1 }

  var testDescription: String { rawValue }
}

extension TreeFixture {
  /// Makes `src`: texts of several sizes in folders, one of which has several blocks in each format.
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

  /// The files of `src` that `folder` contains neither unchanged nor as an output that decodes to them.
  func lost(in folder: String, _ format: StockFormat) throws -> String {
    try shell(
      """
      # One process decodes copies of all outputs; only if a digest of a file is missing then, each is compared alone.
      [ -n "$(ls -A src)" ] || echo "src is empty"
      sums() { (cd "$1" && find . -type f -exec b2sum {} + | sort); }
      d=$PWD/.decoded; mkdir "$d"
      (cd \(folder) && find . -type f -name '*.\(format)' -exec cp --parents -t "$d" {} +)
      find "$d" -type f -exec \(format.decodeInPlace) {} + 2>/dev/null
      missing=$(comm -23 <(sums src) <({ sums \(folder); sums "$d"; } | sort -u))
      rm -rf "$d"; [ -n "$missing" ] || exit 0
      cd src; find . -type f | while IFS= read -r f; do
        { [ -e "../\(folder)/$f" ] && cmp -s "$f" "../\(folder)/$f"; } ||
          \(format.tool) -dc <"../\(folder)/$f.\(format)" | cmp -s "$f" - || echo "$f"
      done
      """
    ).text
  }

  /// The files with final names that the stock tool refuses.
  func damaged(in folder: String, _ format: StockFormat) throws -> String {
    try shell(
      """
      # One process tests all files; only if it refuses one, each is tested alone.
      find \(folder) -name '*.\(format)' -print0 |
        xargs -0r \(format == .lz4 ? "lz4 -qm" : format.tool) -t >/dev/null 2>&1 && exit
      find \(folder) -name '*.\(format)' | while IFS= read -r f; do
        \(format.tool) -t <"$f" >/dev/null 2>&1 || echo "$f"
      done
      """
    ).text
  }

  /// The temporary files in the fixture.
  func allTemporaries() throws -> String { try shell("find . -name '.batchproc-*'").text }
}
