/// A file that a worker opened and that stays open after its chunk, with its token of the budget.
package final class HeldFile: Sendable {
  private let file: Descriptor
  /// The status when it was opened.
  package let status: FileStatus
  private let budget: DescriptorBudget

  /// Valid as long as this object lives.
  package var raw: Int32 { file.raw }

  /// - Parameter budget: one descriptor of it was taken with ``DescriptorBudget/tryHold()``.
  init(_ file: consuming Descriptor, _ status: FileStatus, of budget: DescriptorBudget) {
    self.file = file
    self.status = status
    self.budget = budget
  }

  deinit { budget.endHold() }
}
