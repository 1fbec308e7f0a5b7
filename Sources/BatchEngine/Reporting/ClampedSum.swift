extension FixedWidthInteger {
  /// Adds a number that is not negative; stays at the largest number, since sparse files can have any size.
  package mutating func addClamped(_ number: Self) {
    let (sum, isHuge) = addingReportingOverflow(number)
    self = isHuge ? .max : sum
  }
}
