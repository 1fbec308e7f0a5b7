/// Members of an index that stand side by side, as they are asked for.
public struct IndexSlice: Sendable {
  let index: MemberIndex
  let numbers: Range<Int>

  /// Hands over one member after the other.
  func forEach(_ body: (ListedMember) -> Void) {
    for number in numbers { body(ListedMember(index[number])) }
  }
}
