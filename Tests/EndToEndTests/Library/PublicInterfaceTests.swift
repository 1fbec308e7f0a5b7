import BatchEngine
import Foundation
import TestSupport
import Testing

/// The size of the public interface, from the symbol graph of the compiler.
@Suite struct PublicInterfaceTests {
  /// The part of a symbol graph that the tests read.
  private struct Graph: Decodable {
    struct Symbol: Decodable {
      struct Kind: Decodable { let identifier: String }
      struct Comment: Decodable { let lines: [Line] }
      struct Line: Decodable { let text: String }

      let kind: Kind
      let pathComponents: [String]
      let docComment: Comment?
    }

    let symbols: [Symbol]
  }

  private static let types: Set<String> = ["swift.struct", "swift.class", "swift.enum", "swift.protocol"]

  private static func symbols(of library: String) throws -> [Graph.Symbol] {
    let t = try TreeFixture()
    let run = try t.symbolGraph(of: library)
    #expect(run.status == 0, "\(run.errorText)")
    let graphs = t.names().filter { $0.description.hasSuffix(".symbols.json") }
    return try graphs.flatMap { name in
      try JSONDecoder().decode(Graph.self, from: Data(t.content(name) ?? [])).symbols
    }
  }

  /// The types that are not nested.
  private static func outerTypes(_ symbols: [Graph.Symbol]) -> Set<String> {
    Set(
      symbols.filter { types.contains($0.kind.identifier) && $0.pathComponents.count == 1 }.map {
        $0.pathComponents[0]
      })
  }

  @Test("the engine and its outputs have at most 45 public types")
  func engine() throws {
    let engine = Self.outerTypes(try Self.symbols(of: "BatchEngine"))
    let outputs = Self.outerTypes(try Self.symbols(of: "BatchOutputs"))
    #expect(engine.contains("BatchRunner") && outputs.contains("OutputFile"))
    #expect(engine.count + outputs.count <= 45, "\(engine.union(outputs).sorted())")
  }

  @Test("the jobs have at most 25 public types, and each type and call of Batch has a comment")
  func jobs() throws {
    let symbols = try Self.symbols(of: "BatchCore")
    let outer = Self.outerTypes(symbols)
    #expect(outer.contains("Batch"))
    #expect(outer.count <= 25, "\(outer.sorted())")
    for symbol in symbols
    where Self.types.contains(symbol.kind.identifier) || symbol.kind.identifier == "swift.type.method" {
      guard symbol.pathComponents.first == "Batch" else { continue }
      #expect(symbol.docComment != nil, "\(symbol.pathComponents.joined(separator: "."))")
    }
  }
}
