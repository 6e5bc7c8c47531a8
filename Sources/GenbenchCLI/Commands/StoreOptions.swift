import Foundation
import Reporting
import Running

/// Where baselines, the noise of machines and the history are kept.
enum StoreOptions {
  static let option = CommandOption.value(
    "store", "dir", "The folder of baselines, noise and history.", default: ".genbench, or GENBENCH_STORE")

  static func store(_ values: ParsedValues, _ context: CommandContext) -> ResultStore {
    ResultStore(folder: URL(fileURLWithPath: values.string("store") ?? context.environment["GENBENCH_STORE"] ?? ".genbench"))
  }

  /// Reads a run or baseline; what isn't there ends the command with 5 (a baseline) or 66 (a file).
  static func load(_ name: String, store: ResultStore?) throws -> RunReference {
    do { return try RunReference.load(name, store: store) } catch {
      let looksLikePath = name.contains("/") || name.hasSuffix(".json")
      throw CommandError(
        error.kind == .damaged ? .badInput : looksLikePath || store == nil ? .inputMissing : .baselineNotFound, error.message)
    }
  }
}
