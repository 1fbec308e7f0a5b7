import BatchEngine
import TestSupport
import Testing

@testable import BatchCore

@Suite("A rule for names")
struct NameTransformTests {
  private static let names = [
    "abc", "baaac", "aaa", "x", "b", "dir/file.txt", "a1b22c333", "aXbXcXdXeXfXgXhXiXjXkXlXm",
  ]

  @Test(
    "gives the same result as sed, also when a match is empty",
    arguments: [
      "s/x*/-/g", "s/x*/-/2", "s/a*/X/g", "s/a*/X/2", "s/a*/X/2g", "s/b*/<&>/g", "s/$/!/", "s/^/!/g",
      "s/X/_/12", "s/X/_/10g",
      #"s/\([a-z]\)\([0-9]*\)/\2\1/g"#, "s/[0-9]*$/N/", "s/./&&/3", #"s/b\|$/Z/g"#, "s,/,_,", "s/A/_/gi",
      #"s/\(a*\)*/X/g"#,
    ])
  func likeSed(rule: String) throws {
    let made = try Outcome(
      shell: "sed -e '\(rule.replacing("gi", with: "gI"))'",
      input: Array((Self.names.joined(separator: "\n") + "\n").utf8))
    try #require(made.status == 0, "\(made.errorText)")
    let transformer = try NameTransformer([NameTransform(PathBytes(rule))])
    for (name, expected) in zip(Self.names, made.rows) {
      let found = try transformer.name(PathBytes(name), as: .symbolicLink)
      #expect(found == PathBytes(expected), "\(name)")
    }
  }

  @Test("refuses a reference to a group that the pattern does not have, as sed does")
  func references() throws {
    let rules = [
      (#"s,a,\2,"#, false), (#"s,\(a\)\(b\),\2\1,"#, true), (#"s,(a),\1,"#, false), (#"s,a,\0&,"#, true),
    ]
    for (rule, isRight) in rules {
      #expect((try Outcome(shell: "sed -e '\(rule)' </dev/null").status == 0) == isRight, "\(rule)")
      #expect(((try? NameTransform(PathBytes(rule))) != nil) == isRight, "\(rule)")
    }
    #expect((try? NameTransform(#"s,(a),\1,x"#)) != nil)
  }
}
