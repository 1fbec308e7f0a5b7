/// The former form of a job, for those that are not a worker and a collector yet.
public protocol ChunkJob<Item, Output>: Sendable {
  associatedtype Item: Sendable
  associatedtype Output: Sendable
  func process(_ chunk: Chunk<Item>, in context: ChunkContext) throws(BatchError) -> Output
  var descriptors: Int { get }
  func collect(_ output: Output) throws(BatchError)
}

extension ChunkJob {
  public var descriptors: Int { DescriptorBudget.tokensToRead }
}

public struct LegacyJob<Job: ChunkJob>: BatchJob {
  public typealias Item = Job.Item
  let job: Job
  public init(_ job: Job) { self.job = job }
  public var descriptors: Int { job.descriptors }
  public func makeWorker(in run: RunContext) -> Worker { Worker(job) }
  public func makeCollector(in run: RunContext) -> sending Collector { Collector(job) }

  public final class Worker: BatchWorker {
    public typealias Item = Job.Item
    public typealias Output = [Job.Output]
    let job: Job
    init(_ job: Job) { self.job = job }
    public func begin(
      _ chunk: Chunk<Item>, in context: ChunkContext, into output: inout Output
    ) throws(BatchError) {
      output = [try job.process(chunk, in: context)]
    }
    public func process(_ item: Item, in context: ChunkContext, into output: inout Output) {}
  }

  public final class Collector: BatchCollector {
    public typealias Output = [Job.Output]
    let job: Job
    init(_ job: Job) { self.job = job }
    public func collect(_ output: Output) throws(BatchError) {
      for output in output { try job.collect(output) }
    }
    public typealias Summary = Void
  }
}
