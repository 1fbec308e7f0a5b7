/// One step of an extraction: a member with its content, or a segment of an archive that has an index.
public struct ExtractionItem: Sendable {
  enum Step: Sendable {
    /// A member with all of its content, or without any.
    case member(ExtractionOrder, [UInt8])
    /// A member that the source has seen to, such as a large file.
    case settled(ExtractionOrder, ExtractionVerdict, bytes: Int)
    /// Members of an archive that has an index.
    case segment(SegmentPlan)
    /// Something that is none, or that cannot be read.
    case problem(BatchError)
    /// Members that nobody asked for, or that nothing is left of.
    case passed
  }

  let step: Step
}
