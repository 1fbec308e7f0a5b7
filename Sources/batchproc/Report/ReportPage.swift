import BatchCore
import BatchEngine
import struct Foundation.Data

/// The frame of every report: one self-contained HTML page without scripts.
enum ReportPage {
  /// - Parameter title: the title of the page, and its first heading.
  /// - Throws: `invalid` if libcrypto has no SHA-256.
  static func html(
    title: String, subtitle: (inout HTMLWriter) -> Void, body: (inout HTMLWriter) -> Void
  ) throws(BatchError) -> [UInt8] {
    var writer = HTMLWriter()
    writer.markup(beginning)
    writer.text(Version.number)
    writer.markup("\">\n")
    writer.markup("<meta http-equiv=\"Content-Security-Policy\"")
    let policy = try "default-src 'none'; style-src '\(styleHash())'; base-uri 'none'; form-action 'none'"
    writer.markup(" content=\"")
    writer.text(policy)
    writer.markup("\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n")
    writer.markup("<meta name=\"color-scheme\" content=\"light dark\">\n")
    writer.markup("<meta name=\"referrer\" content=\"no-referrer\">\n")
    writer.element("title", title)
    writer.markup("\n<style>")
    writer.markup(style)
    writer.markup("</style>\n</head>\n<body>\n<main>\n<header>\n")
    writer.element("h1", title)
    writer.element("p", ["class": "subtitle"], subtitle)
    writer.markup("\n</header>\n")
    body(&writer)
    writer.markup("<footer>")
    writer.element("p", "Made by batchproc \(Version.number). Sizes are in powers of 1024.")
    writer.markup("</footer>\n</main>\n</body>\n</html>\n")
    return writer.bytes
  }

  /// The beginning of every page, before the version.
  private static let beginning: StaticString = """
    <!DOCTYPE html>
    <html lang="en">
    <head>
    <meta charset="utf-8">
    <meta name="generator" content="batchproc\u{20}
    """

  /// Whether a file is a page written by batchproc, which a new one may replace.
  static func isOne(_ path: PathBytes) -> Bool {
    var expected = [UInt8]()
    expected.append(literal: beginning)
    let start = try? SmallFile.start(of: path, count: expected.count, isRegular: true)
    return start == expected
  }

  /// The hash of the only style that the page's policy allows.
  private static func styleHash() throws(BatchError) -> String {
    var bytes = [UInt8]()
    bytes.append(literal: style)
    return "sha256-" + Data(try Digest.sha256(of: bytes).bytes).base64EncodedString()
  }
}

extension HTMLWriter {
  /// A part of the page under a heading.
  mutating func section(_ heading: String, _ content: (inout HTMLWriter) -> Void) {
    section({ $0.text(heading) }, content)
  }

  /// - Parameter id: for links to the part.
  mutating func section(
    id: String? = nil, _ heading: (inout HTMLWriter) -> Void, _ content: (inout HTMLWriter) -> Void
  ) {
    element("section", id.map { ["id": $0] } ?? [:]) { writer in
      writer.element("h2", [:], heading)
      writer.markup("\n")
      content(&writer)
    }
    markup("\n")
  }

  /// Numbers with labels, as tiles.
  ///
  /// - Parameter warned: labels of the tiles that need attention.
  mutating func tiles(
    _ tiles: [(label: String, value: String, note: String)], warned: Set<String> = []
  ) {
    element("dl", ["class": "tiles"]) { writer in
      for tile in tiles {
        writer.element("div") { writer in
          writer.element("dt", tile.label)
          writer.element("dd") { writer in
            writer.element(
              "span", ["class": warned.contains(tile.label) ? "value warn" : "value"], tile.value)
            if !tile.note.isEmpty { writer.element("span", ["class": "note"], tile.note) }
          }
        }
      }
    }
    markup("\n")
  }

  /// A table that scrolls separately on a narrow page.
  ///
  /// - Parameters:
  ///   - columns: headings; columns of numbers are right-aligned.
  ///   - rows: writes the rows with ``row(_:)``.
  mutating func table(
    _ caption: String, _ columns: [(title: String, isNumber: Bool)], _ rows: (inout HTMLWriter) -> Void
  ) {
    element("div", ["class": "scroll", "role": "region", "tabindex": "0", "aria-label": caption]) { writer in
      writer.element("table") { writer in
        writer.element("caption") { $0.element("span", caption) }
        writer.element("thead") { writer in
          writer.element("tr") { writer in
            for column in columns {
              writer.element(
                "th", column.isNumber ? ["scope": "col", "class": "number"] : ["scope": "col"], column.title)
            }
          }
        }
        writer.element("tbody", [:], rows)
      }
    }
    markup("\n")
  }

  /// Adds a table with one row for each item; `cells` writes the cells of a row.
  mutating func table<Items: Sequence>(
    _ caption: String, _ columns: [(title: String, isNumber: Bool)], of items: Items,
    _ cells: (inout HTMLWriter, Items.Element) -> Void
  ) {
    table(caption, columns) { page in
      for item in items { page.row { cells(&$0, item) } }
    }
  }

  mutating func row(_ cells: (inout HTMLWriter) -> Void) {
    element("tr", [:], cells)
    markup("\n")
  }

  mutating func cell(_ text: String) { element("td", text) }

  mutating func number(_ text: String) { element("td", ["class": "number"], text) }

  /// A cell whose text stays in one line.
  mutating func fixed(_ text: String) { element("td", ["class": "fixed"], text) }

  mutating func cell(name: PathBytes) { element("td") { $0.name(name) } }

  mutating func charts(_ charts: [Chart]) {
    element("div", ["class": "charts"]) { page in
      for chart in charts { chart.append(to: &page) }
    }
  }

  mutating func verdict(_ word: String, _ kind: Verdict) { element("span", ["class": kind.rawValue], word) }

  enum Verdict: String { case good, warn, bad, plain }
}
