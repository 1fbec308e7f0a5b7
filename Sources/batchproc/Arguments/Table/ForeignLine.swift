import BatchEngine

/// The line of this program that does what a line of another tool does, such as `zip -r x.zip dir`.
enum ForeignLine {
  /// Tools, and the command with the options that do the same.
  private static let tools: [(names: [String], words: String)] = [
    (["gzip", "pigz"], "compress"), (["zstd", "pzstd"], "compress --format zst"),
    (["xz", "pixz"], "compress --format xz"), (["lz4"], "compress --format lz4"),
    (["gunzip", "unzstd", "unxz", "unlz4", "bunzip2", "unpigz", "uncompress"], "decompress"),
    (["zcat", "zstdcat", "xzcat", "lz4cat", "bzcat", "gzcat"], "cat"),
    (["sha256sum", "sha256"], "hash"), (["sha512sum", "sha512"], "hash -a sha512"),
    (["sha1sum", "sha1"], "hash -a sha1"), (["md5sum", "md5"], "hash -a md5"),
    (["b2sum", "blake2"], "hash -a blake2b"), (["b3sum", "blake3"], "hash -a blake3"),
  ]

  /// The command with the options that do what a tool does without options; nil for an unknown tool.
  static func words(for tool: some Collection<UInt8>) -> String? {
    tools.first { $0.names.contains { $0.utf8.elementsEqual(tool) } }?.words
  }

  /// - Parameter line: a line of a tool, with its name.
  /// - Returns: nil if it is not understood. The result may have options that this program does not have.
  static func translation(of line: [PathBytes]) -> [PathBytes]? {
    guard let name = line.first else { return nil }
    let rest = Array(line.dropFirst())
    switch name {
    case "tar", "bsdtar": return rest.first.flatMap { tar($0, Array(rest.dropFirst())) }
    case "zip": return zip(rest)
    case "unzip": return unzip(rest)
    case "7z", "7za", "7zz": return rest.first.flatMap { sevenZip($0, Array(rest.dropFirst())) }
    default: break
    }
    guard let words = words(for: name.bytes) else { return tar(name, rest) }
    let plain = words.split(separator: " ").map { PathBytes(String($0)) }
    let mode: (PathBytes, [PathBytes]) -> [PathBytes]? = { command, letters in
      rest.contains(where: letters.contains) ? [command] + rest.filter { !letters.contains($0) } : nil
    }
    return switch plain.first {
    case "compress":
      mode("cat", ["-dc", "-cd"]) ?? mode("decompress", ["-d", "--decompress"]) ?? mode(
        "test", ["-t", "--test"])
        ?? plain + rest
    case "hash": mode("check", ["-c", "--check"]) ?? plain + rest
    default: plain + rest
    }
  }

  /// - Parameters:
  ///   - letters: the rest of a cluster such as `-xzf`; without another one, a compression means that an archive is made.
  ///   - rest: the words after the cluster.
  static func translation(ofLetters letters: [UInt8], _ rest: [PathBytes]) -> [PathBytes]? {
    let makes = letters.first.map { "zJ".utf8.contains($0) } ?? false
    return tar(PathBytes((makes ? [UInt8(ascii: "c")] : []) + letters), rest)
  }

  /// - Parameter letters: such as `-xzf` or `cvf`.
  private static func tar(_ letters: PathBytes, _ rest: [PathBytes]) -> [PathBytes]? {
    let letters = letters.bytes.drop { $0 == UInt8(ascii: "-") }
    guard letters.count <= 6, letters.allSatisfy({ "cxtzjJavfp".utf8.contains($0) }),
      letters.last == UInt8(ascii: "f"), let file = rest.first
    else { return nil }
    let operands = rest.dropFirst()
    if letters.contains(UInt8(ascii: "c")) { return ["archive", "-o", file] + operands }
    if letters.contains(UInt8(ascii: "x")) { return ["extract", file] + operands }
    return letters.contains(UInt8(ascii: "t")) ? ["list", file] + operands : nil
  }

  private static func zip(_ rest: [PathBytes]) -> [PathBytes]? {
    let operands = rest.filter { !isOption($0) }
    guard let file = operands.first else { return nil }
    let suffix = Array(".zip".utf8)
    let output = file.bytes.suffix(suffix.count).elementsEqual(suffix) ? file : PathBytes(file.bytes + suffix)
    return ["archive", "-o", output] + operands.dropFirst()
  }

  private static func unzip(_ rest: [PathBytes]) -> [PathBytes]? {
    if let letter = rest.first(where: { ["-l", "-t"].contains($0) }) {
      return [letter == "-l" ? "list" : "verify"] + rest.filter { $0 != letter }
    }
    return ["extract"] + rest.map { $0 == "-d" ? "-C" : $0 == "-o" ? "--force" : $0 }
  }

  private static func sevenZip(_ letter: PathBytes, _ rest: [PathBytes]) -> [PathBytes]? {
    let commands: [PathBytes: [PathBytes]] = [
      "a": ["archive", "-o"], "x": ["extract"], "e": ["extract"], "l": ["list"], "t": ["verify"],
    ]
    return commands[letter].map { words in
      words
        + rest.flatMap { word in
          word.bytes.starts(with: "-o".utf8) ? ["-C", PathBytes(Array(word.bytes.dropFirst(2)))] : [word]
        }
    }
  }

  private static func isOption(_ word: PathBytes) -> Bool {
    word.bytes.count > 1 && word.bytes.first == UInt8(ascii: "-")
  }
}
