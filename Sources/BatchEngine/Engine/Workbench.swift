/// What a lane keeps from operation to operation: the reader with its buffers, and what a job puts there.
///
/// Only code that runs on the lane touches it, one operation at a time.
package final class Workbench {
  package let reader: FileReader
  private var tools: [ObjectIdentifier: AnyObject] = [:]

  init(calls: any FileSystemCalls) {
    reader = FileReader(calls: calls)
  }

  /// The tool of a type, made when the lane first needs it.
  package func tool<Tool: AnyObject, Failure: Error>(
    owner: AnyObject, _ make: () throws(Failure) -> Tool
  ) throws(Failure) -> Tool {
    let key = ObjectIdentifier(owner)
    if let tool = tools[key] as? Tool { return tool }
    let tool = try make()
    tools[key] = tool
    return tool
  }
}
