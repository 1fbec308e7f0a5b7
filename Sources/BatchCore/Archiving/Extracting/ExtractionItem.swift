import BatchEngine

/// One step of an extraction: a member with its content, or a segment of an archive that has an index.
public struct ExtractionItem: Sendable {
  enum Step: Sendable {
    /// A member with all of its content, or without any.
    case member(ExtractionOrder, [UInt8])
    /// A member that the source has seen to, such as a large file.
    case settled(ExtractionOrder, ExtractionVerdict, bytes: Int)
    /// A large file that the source has written, and that waits for the members before it.
    case staged(ExtractionOrder, StagedFile, bytes: Int)
    /// A member whose content cannot be read.
    case lost(ExtractionOrder, BatchError)
    /// Members of an archive that has an index.
    case segment(SegmentPlan)
    /// Something that is none, or that cannot be read.
    case problem(BatchError)
    /// Members that nobody asked for, or that nothing is left of.
    case passed
  }

  let step: Step
}
