import Testing

@testable import BatchCore

@Suite struct RepeatedNamesTests {
  @Test func areNamesThatOccurMoreThanOnce() {
    var names = RepeatedNames(upTo: 2)
    for name in ["a", "b", "a", "c", "b", "a", ""] { names.add(Array(name.utf8)) }
    let repeated = names.takeAll()
    #expect(repeated == [Array("a".utf8).hashValue, Array("b".utf8).hashValue])
    names.add(Array("c".utf8))
    #expect(names.takeAll().isEmpty)
  }
}
