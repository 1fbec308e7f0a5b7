import BatchEngine
import func Glibc.regcomp
import func Glibc.regerror
import func Glibc.regexec
import func Glibc.regfree
import func Glibc.tolower
import func Glibc.toupper
import struct Glibc.regex_t
import struct Glibc.regmatch_t
import var Glibc.REG_EXTENDED
import var Glibc.REG_ICASE
import var Glibc.REG_NOTBOL

/// Changes the names of members by sed rules, as `--transform` of GNU tar: `s/pattern/replacement/flags`, separated by `;`.
///
/// The pattern is a basic regular expression of POSIX, with the flag `x` an extended one; names are bytes. Flags: `g` for every
/// match, a number for only that match (with `g`: from it on), `i` to ignore case; `r`, `s` and `h` apply the rule to names,
/// targets of symbolic links and targets of hard links, and `R`, `S` and `H` exclude these. In the replacement `&` and `\1` to
/// `\9` are replaced by the match and its groups; `\L`, `\U`, `\l`, `\u` and `\E` change the case.
package struct NameTransform: Sendable, Hashable {
  /// What a name is used for.
  enum Use: Sendable {
    case member, symbolicLink, hardLink
  }

  fileprivate enum Case: Sendable, Hashable {
    case lower, upper, end, lowerNext, upperNext
  }

  fileprivate enum Token: Sendable, Hashable {
    case literal([UInt8])
    /// 0 is the whole match.
    case group(Int)
    case `case`(Case)
  }

  fileprivate struct Rule: Sendable, Hashable {
    var pattern: [UInt8] = []
    var replacement: [Token] = []
    var isGlobal = false
    /// The match that is replaced, from 1.
    var first = 1
    var options: Int32 = 0
    var uses: Set<Use> = [.member, .symbolicLink, .hardLink]
  }

  fileprivate let rules: [Rule]

  /// - Throws: `invalid` with the error in the rule.
  package init(_ text: PathBytes) throws(BatchError) {
    var parser = TransformParser(rest: text.bytes[...])
    var rules: [Rule] = []
    repeat { rules.append(try parser.rule()) } while parser.hasMore
    self.rules = rules
    for rule in rules { _ = try NamePattern(rule) }
  }
}

/// The compiled rules of several transformations, for one worker.
final class NameTransformer {
  private let patterns: [NamePattern]

  /// - Throws: `invalid` if an expression cannot be compiled.
  init(_ transforms: [NameTransform]) throws(BatchError) {
    var patterns: [NamePattern] = []
    for rule in transforms.flatMap(\.rules) { patterns.append(try NamePattern(rule)) }
    self.patterns = patterns
  }

  /// - Throws: `invalid`, without a path, when the new name is empty.
  func name(_ name: PathBytes, as use: NameTransform.Use) throws(BatchError) -> PathBytes {
    guard !patterns.isEmpty else { return name }
    let result = patterns.reduce(name.bytes) { $1.uses.contains(use) ? $1.applied(to: $0) : $0 }
    guard !result.isEmpty else {
      throw BatchError(
        .invalid,
        use == .member ? "nothing is left of the name" : "nothing is left of the name that it links to")
    }
    return use == .symbolicLink ? PathBytes(result) : MemberNaming.name(of: PathBytes(result))
  }
}

/// A compiled rule.
private final class NamePattern {
  private static let groups = 10

  private var expression = regex_t()
  private let rule: NameTransform.Rule

  init(_ rule: NameTransform.Rule) throws(BatchError) {
    self.rule = rule
    let result = (rule.pattern + [0]).withUnsafeBytes { raw in
      regcomp(&expression, raw.assumingMemoryBound(to: CChar.self).baseAddress, rule.options)
    }
    guard result == 0 else {
      var room = [CChar](repeating: 0, count: 256)
      regerror(result, &expression, &room, room.count)
      let text = String(decoding: room.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
      throw BatchError(.invalid, "the pattern of the rule is wrong: \(text)")
    }
    let group = rule.replacement.map { if case .group(let number) = $0 { number } else { 0 } }.max() ?? 0
    guard group <= Int(expression.re_nsub) else {
      throw BatchError(.invalid, "the replacement refers to \\\(group), and the pattern has no such group")
    }
  }

  deinit { regfree(&expression) }

  var uses: Set<NameTransform.Use> { rule.uses }

  func applied(to name: [UInt8]) -> [UInt8] {
    let text = name.map { CChar(bitPattern: $0) } + [0]
    var output: [UInt8] = []
    var position = 0
    var number = 0
    /// The end of the last match: an empty match at this offset is ignored, as in sed.
    var lastEnd = -1
    var matches = [regmatch_t](repeating: regmatch_t(), count: Self.groups)
    while position <= name.count {
      let found = text.withUnsafeBufferPointer { buffer in
        buffer.baseAddress.map {
          regexec(&expression, $0 + position, matches.count, &matches, position > 0 ? REG_NOTBOL : 0)
        }
      }
      guard found == 0 else { break }
      let (start, end) = (position + Int(matches[0].rm_so), position + Int(matches[0].rm_eo))
      output += name[position..<start]
      if start == end, start == lastEnd {
        guard end < name.count else { return output }
        output.append(name[end])
        position = end + 1
        continue
      }
      lastEnd = end
      number += 1
      let isReplaced = rule.isGlobal ? number >= rule.first : number == rule.first
      if isReplaced {
        append(matches, of: name, from: position, to: &output)
      } else {
        output += name[start..<end]
      }
      position = end
      if isReplaced, !rule.isGlobal { break }
      // An empty match would repeat forever.
      if start == end {
        guard end < name.count else { return output }
        output.append(name[end])
        position += 1
      }
    }
    return output + name[min(position, name.count)...]
  }

  private func append(_ matches: [regmatch_t], of name: [UInt8], from base: Int, to output: inout [UInt8]) {
    var lasting: NameTransform.Case?
    var next: NameTransform.Case?
    func add(_ bytes: some Sequence<UInt8>) {
      for byte in bytes {
        switch next ?? lasting {
        case .upper, .upperNext: output.append(UInt8(truncatingIfNeeded: toupper(Int32(byte))))
        case .lower, .lowerNext: output.append(UInt8(truncatingIfNeeded: tolower(Int32(byte))))
        case .end, nil: output.append(byte)
        }
        next = nil
      }
    }
    for token in rule.replacement {
      switch token {
      case .literal(let bytes): add(bytes)
      case .group(let index):
        let match = matches[index]
        if match.rm_so >= 0 { add(name[(base + Int(match.rm_so))..<(base + Int(match.rm_eo))]) }
      case .case(.lowerNext): next = .lowerNext
      case .case(.upperNext): next = .upperNext
      case .case(.end): lasting = nil
      case .case(let other): lasting = other
      }
    }
  }
}

/// Reads rules.
private struct TransformParser {
  var rest: ArraySlice<UInt8>
  private(set) var hasMore = false

  init(rest: ArraySlice<UInt8>) { self.rest = rest }

  mutating func rule() throws(BatchError) -> NameTransform.Rule {
    hasMore = false
    guard rest.popFirst() == UInt8(ascii: "s"), let delimiter = rest.popFirst(), delimiter != 0 else {
      throw Self.error("it has to begin with s, as in s/old/new/")
    }
    var rule = NameTransform.Rule()
    rule.pattern = try part(until: delimiter).flatMap { escaped, byte -> [UInt8] in
      if escaped, byte == delimiter { return [byte] }
      return escaped ? [UInt8(ascii: "\\"), byte] : [byte]
    }
    rule.replacement = try Self.tokens(of: try part(until: delimiter), delimiter)
    try flags(&rule)
    guard !rule.pattern.contains(0) else { throw Self.error("the pattern holds a NUL") }
    return rule
  }

  /// The bytes up to a delimiter, each with whether a backslash is before it.
  private mutating func part(until delimiter: UInt8) throws(BatchError) -> [(escaped: Bool, byte: UInt8)] {
    var part: [(escaped: Bool, byte: UInt8)] = []
    while let byte = rest.popFirst() {
      if byte == delimiter { return part }
      guard byte == UInt8(ascii: "\\") else {
        part.append((false, byte))
        continue
      }
      guard let next = rest.popFirst() else { break }
      part.append((true, next))
    }
    throw Self.error("a delimiter is missing: s/old/new/ has three")
  }

  private static func tokens(
    of part: [(escaped: Bool, byte: UInt8)], _ delimiter: UInt8
  ) throws(BatchError) -> [NameTransform.Token] {
    var tokens: [NameTransform.Token] = []
    var literal: [UInt8] = []
    func flushed(_ token: NameTransform.Token) {
      if !literal.isEmpty { tokens.append(.literal(literal)) }
      literal = []
      tokens.append(token)
    }
    for (escaped, byte) in part {
      switch (escaped, byte) {
      case (false, UInt8(ascii: "&")): flushed(.group(0))
      case (true, UInt8(ascii: "0")...UInt8(ascii: "9")): flushed(.group(Int(byte - UInt8(ascii: "0"))))
      case (true, UInt8(ascii: "L")): flushed(.case(.lower))
      case (true, UInt8(ascii: "U")): flushed(.case(.upper))
      case (true, UInt8(ascii: "E")): flushed(.case(.end))
      case (true, UInt8(ascii: "l")): flushed(.case(.lowerNext))
      case (true, UInt8(ascii: "u")): flushed(.case(.upperNext))
      case (true, UInt8(ascii: "n")): literal.append(UInt8(ascii: "\n"))
      case (_, 0): throw error("the replacement holds a NUL")
      default: literal.append(byte)
      }
    }
    if !literal.isEmpty { tokens.append(.literal(literal)) }
    return tokens
  }

  private mutating func flags(_ rule: inout NameTransform.Rule) throws(BatchError) {
    while let flag = rest.popFirst() {
      switch flag {
      case UInt8(ascii: ";"):
        hasMore = true
        return
      case UInt8(ascii: "g"): rule.isGlobal = true
      case UInt8(ascii: "i"): rule.options |= REG_ICASE
      case UInt8(ascii: "x"): rule.options |= REG_EXTENDED
      case UInt8(ascii: "r"): rule.uses.insert(.member)
      case UInt8(ascii: "R"): rule.uses.remove(.member)
      case UInt8(ascii: "s"): rule.uses.insert(.symbolicLink)
      case UInt8(ascii: "S"): rule.uses.remove(.symbolicLink)
      case UInt8(ascii: "h"): rule.uses.insert(.hardLink)
      case UInt8(ascii: "H"): rule.uses.remove(.hardLink)
      case UInt8(ascii: "1")...UInt8(ascii: "9"):
        var number = Int(flag - UInt8(ascii: "0"))
        while let digit = rest.first, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit),
          number < 100_000
        {
          number = number * 10 + Int(digit - UInt8(ascii: "0"))
          rest = rest.dropFirst()
        }
        rule.first = number
      default:
        throw Self.error("unknown flag; flags are g, i, x, r, R, s, S, h, H and a number")
      }
    }
  }

  private static func error(_ message: String) -> BatchError {
    BatchError(.invalid, message)
  }
}
