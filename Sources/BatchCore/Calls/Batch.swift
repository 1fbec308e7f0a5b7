import BatchEngine

/// The jobs of the command batchproc as calls of a program.
///
/// Each call takes paths and options, and returns a ``Report`` when all work is done:
///
/// ```swift
/// var options = Batch.CompressOptions()
/// options.format = .zst
/// let report = try await Batch.compress(["photos"], options)
/// print(report.written, report.failures)
/// ```
///
/// Options have the same meaning and defaults as on the command line. A problem with one path never ends a call: it is in the
/// report. A call throws a `BatchError` if it could not begin, or if its one output, such as an archive, cannot be written.
///
/// **Threads.** A call may be made from any task. All work, including the preparation, is done on threads of the call; the task
/// that awaits it blocks no thread. A process may have any number of calls in progress at once; descriptors are divided among
/// them.
///
/// **Cancellation.** When the task is cancelled, the run admits no more work. Complete outputs get their names, the temporary
/// files of the others are removed, and the call returns a report with ``Report/isCancelled`` and the counts up to that moment.
///
/// **Paths** are relative to the working directory of the process. The path `-` means a file of that name.
public enum Batch {}
