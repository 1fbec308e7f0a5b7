/// Lets code read and decode the content of files.
///
/// Workers get it from their ``WorkerContext``; a program has it outside of its runs. Only this module can make one, so that a
/// source or a collector that reads or decodes does not compile.
package struct ReadingRight: Sendable {
  init() {}
}

/// Lets code rename, link and remove files: the last step of every output.
///
/// Collectors get it from their ``CollectorContext``; a program has it outside of its runs. Only this module can make one, so
/// that a worker or a source that commits, links or removes does not compile.
package struct CommitRight: Sendable {
  init() {}
}
