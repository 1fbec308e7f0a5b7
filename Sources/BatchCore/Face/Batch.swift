import BatchEngine

/// The jobs of the command batchproc as calls of a program.
///
/// Each call takes paths and options, and returns a ``Report`` when all is done:
///
/// ```swift
/// var options = Batch.CompressOptions()
/// options.format = .zst
/// let report = try await Batch.compress(["photos"], options)
/// print(report.written, report.failures)
/// ```
///
/// Options mean what they mean on the command line, and have the same defaults. What concerns one path never ends a call: it is
/// in the report. A call throws a `BatchError` where it could not begin, or where what it was to make cannot be made.
///
/// **Threads.** A call may be made from any task. All work, the set-up included, is done on threads of its own; the task that
/// awaits it blocks no thread. Any number of calls may go on at once, in one process; descriptors are divided among them.
///
/// **Cancellation.** When the task is cancelled, the run admits no more work. Outputs that are complete by then get their names,
/// the others are removed with their temporary files, and the call returns a report that says so
/// (``Report/isCancelled``), with the counts up to there.
///
/// **Paths** are relative to the working directory of the process. A path `-` is a file of that name.
public enum Batch {}
