import TestSupport
import Testing

@testable import BatchCore
@testable import BatchEngine

/// Manifests for which coreutils and our reader must give the same result, line by line.
@Suite struct CoreutilsComparisonTests {
  static let h = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
  static let g = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

  static let manifests: [String] = [
    "", "\n", "\r\n", " \n", "#\n", " # a\n", "\(h)  f\n", "\(h)  f", "\(h) *f\n", "\(h.uppercased())  f\n",
    // Line ends.
    "\(h)  f\r\n\(g)  g\r\n", "\(h)  f\r\r\n", "\(h)  f\r", "\r\n\(h)  f\r\n",
    // Blanks.
    "  \(h)  f\n", "\t\(h)  f\n", "\(h)\t f\n", "\(h)\tf\n", "\(h)   f\n", "\(h)  f \n", "\(h)  \n",
    "\(h) \n",
    "\(h)\n", "\(h)   \n", "\(h)  *\n", "\(h) *\n", "\(h) **\n", "\(h)\u{b} f\n",
    // Reversed forms, which the first line selects.
    "\(h) f\n", "\(h) fg\n", "\(h) f\n\(g)  g\n", "\(h)  f\n\(g) g\n", "\(h) f\n\(g) *g\n", "\(h) (f) g\n",
    "SHA256 (f) = \(h)\n\(g) g\n\(h)  f\n",
    // Invalid digests.
    "\(h.dropLast())  f\n", "\(h.dropLast(2))  f\n", "\(h)0  f\n", "\(h)00  f\n", "\(h.dropLast())g  f\n",
    "\(h)f\n", "f\n", "0\n", "\(h)\\  f\n", "\(h)  f\nnonsense\n\n#\n\(g)  g\n",
    // Escapes.
    "\\\(h)  a\\nb\n", "\\\(h)  a\\rb\n", "\\\(h)  a\\\\b\n", "\\\(h)  f\n", "\\\(h)  a\\tb\n",
    "\\\(h)  a\\\n",
    "\\\(h)  \\\\\\n\n", "\(h)  a\\nb\n", "\(h)  a\\\n", "  \\\(h)  f\n", "\\ \(h)  f\n", "\\\\\(h)  f\n",
    "\\\(h) f\n", "\\\(h) *a\\\\b\n", "\\#\n", "\\\n",
    // Tags.
    "SHA256 (f) = \(h)\n", "SHA256(f)= \(h)\n", "SHA256(f)=\(h)\n", "SHA256 (f) \t= \t\(h)\n",
    "sha256 (f) = \(h)\n",
    "SHA256  (f) = \(h)\n", "SHA256 (f) = \(h) \n", "SHA256 (f) = \(h)\r\n", "SHA256 (f) = \(h.dropLast())\n",
    "SHA256 (f) = \(h)0\n", "SHA256 (f) - \(h)\n", "SHA256 (f = \(h)\n", "SHA256 f) = \(h)\n",
    "SHA256 () = \(h)\n",
    "SHA256 (f)) = \(h)\n", "SHA256 (f) = x) = \(h)\n", "SHA256 ( f ) = \(h)\n", "  SHA256 (f) = \(h)\n",
    "\\SHA256 (a\\nb) = \(h)\n", "\\SHA256 (a\\xb) = \(h)\n", "\\SHA256 (a\\) = \(h)\n",
    "SHA256 (a\\nb) = \(h)\n",
    "SHA256 (f) =\n", "SHA256 (\n", "SHA256\n", "SHA256 (f)\n", "SHA257 (f) = \(h)\n",
    "SHA256 (f) = \(h) f\n",
    // Names that lead elsewhere or look like another form.
    "\(h)  ../f\n", "\(h)  /nowhere/f\n", "\(h)  a,b type=file\n", "\(h)  caf\u{e9}\n", "\(h)  %s%n\n",
    "\(h)  (f)\n",
    "SHA256 (a type=file) = \(h)\n", "{x\n\(h)  f\n", "%%%%\n\(h)  f\n",
  ]

  @Test(arguments: manifests)
  func judgesEachLineAsCoreutilsDoes(manifest: String) throws {
    let input = Array(manifest.utf8)
    let folder = try TreeFixture()
    try folder.file("manifest", input)
    let stock = try Outcome(shell: "sha256sum --warn -c manifest", in: folder)

    // No file exists, so coreutils prints each name that it recognizes.
    let suffix = Array(": FAILED open or read".utf8)
    let lines = stock.output.split(separator: UInt8(ascii: "\n")).map(Array.init)
    let stockNames = lines.map { Array($0.dropLast(suffix.count)) }
    let stockFaults = String(decoding: stock.errors, as: UTF8.self).split(separator: "\n")
      .filter { $0.contains("improperly formatted SHA256") }
      .compactMap { $0.split(separator: ":").dropFirst(2).first.flatMap { Int($0.dropFirst()) } }

    let names = try ManifestReader.entries(in: input).map { entry in
      var name = [UInt8]()
      // coreutils escapes only those names that contain a newline.
      let isEscaped = entry.path.bytes.contains(UInt8(ascii: "\n"))
      if isEscaped { name.append(EscapedName.mark) }
      EscapedName.append(entry.path.bytes, isEscaped: isEscaped, to: &name)
      return name
    }
    #expect(names == stockNames)
    #expect(try ManifestReader.faults(in: input) == stockFaults)
  }

  @Test(arguments: [
    "\(h)  f\0g\n", "\(h)  \0\n", "SHA256 (f\0) = \(h)\n", "\\\(h)  f\0\n", "\0\n", "\(h)\0  f\n",
  ])
  func refusesANULAtWhichCoreutilsMayCutTheName(manifest: String) throws {
    #expect(try ManifestReader.faults(in: Array(manifest.utf8)) == [1])
    #expect(try ManifestReader.entries(in: Array(manifest.utf8)).isEmpty)
  }
}
