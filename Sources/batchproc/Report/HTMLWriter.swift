import BatchCore
import BatchEngine

/// Writes HTML. Markup comes only from literals of the program; all other text is escaped here, so that no name can become an
/// element or an attribute, or change the direction of the text around it.
struct HTMLWriter {
  typealias Attributes = KeyValuePairs<StaticString, String>

  private(set) var bytes: [UInt8] = []

  mutating func markup(_ literal: StaticString) { bytes.append(literal: literal) }

  mutating func element(
    _ tag: StaticString, _ attributes: Attributes = [:], _ content: (inout HTMLWriter) -> Void
  ) {
    open(tag, attributes)
    bytes.append(UInt8(ascii: ">"))
    content(&self)
    bytes.append(literal: "</")
    bytes.append(literal: tag)
    bytes.append(UInt8(ascii: ">"))
  }

  mutating func element(_ tag: StaticString, _ attributes: Attributes, _ content: String) {
    element(tag, attributes) { $0.text(content) }
  }

  mutating func element(_ tag: StaticString, _ content: String) { element(tag, [:], content) }

  /// A shape of SVG, which has no content.
  mutating func shape(_ tag: StaticString, _ attributes: Attributes) {
    open(tag, attributes)
    bytes.append(literal: "/>")
  }

  /// Writes text; characters that could control a display are escaped as for a terminal.
  mutating func text(_ text: String) { append(text.utf8) }

  /// Writes the name of a file, isolated from the direction of the text around it. A name longer than ``longestName`` bytes is
  /// shortened in its middle.
  mutating func name(_ name: PathBytes) {
    element("bdi", ["class": "name"]) { writer in
      guard name.bytes.count > Self.longestName else { return writer.append(name.bytes) }
      writer.append(name.bytes[..<Self.boundary(in: name.bytes, from: Self.longestName * 2 / 3)])
      writer.bytes.append(literal: " \u{2026} ")
      writer.append(
        name.bytes[Self.boundary(in: name.bytes, from: name.bytes.count - Self.longestName / 3)...])
    }
  }

  static let longestName = 600

  private mutating func open(_ tag: StaticString, _ attributes: Attributes) {
    bytes.append(UInt8(ascii: "<"))
    bytes.append(literal: tag)
    for (key, value) in attributes {
      bytes.append(UInt8(ascii: " "))
      bytes.append(literal: key)
      bytes.append(literal: "=\"")
      append(value.utf8)
      bytes.append(UInt8(ascii: "\""))
    }
  }

  /// The first index, from an index on, at which a UTF-8 character begins.
  private static func boundary(in bytes: [UInt8], from index: Int) -> Int {
    bytes[index...].prefix(3).firstIndex { $0 & 0xc0 != 0x80 } ?? index
  }

  private mutating func append(_ text: some Collection<UInt8>) {
    for scalar in TerminalText.string(text).unicodeScalars {
      switch scalar {
      case "&": bytes.append(literal: "&amp;")
      case "<": bytes.append(literal: "&lt;")
      case ">": bytes.append(literal: "&gt;")
      case "\"": bytes.append(literal: "&quot;")
      case "'": bytes.append(literal: "&#39;")
      case _ where scalar.properties.isNoncharacterCodePoint:
        for byte in String(scalar).utf8 {
          bytes += "\\x\(String(byte, radix: 16))".utf8
        }
      default: bytes += String(scalar).utf8
      }
    }
  }
}
