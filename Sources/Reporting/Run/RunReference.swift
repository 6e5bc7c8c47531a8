public import Foundation

/// A run as it's named on a command line: its folder, a `run.json`, or a baseline; with `#SIDE` one side of it.
public struct RunReference: Sendable {
  /// The run.
  public var run: RunDocument
  /// The folder that its files lie in; nil for baselines.
  public var folder: URL?
  /// How it was named.
  public var name: String

  /// Makes a reference.
  public init(run: RunDocument, folder: URL?, name: String) {
    self.run = run
    self.folder = folder
    self.name = name
  }

  /// Why a run can't be had.
  public struct Failure: Error, Sendable, Hashable, CustomStringConvertible {
    /// What kind of trouble.
    public enum Kind: Sendable, Hashable {
      /// Neither a file nor a baseline has that name.
      case missing
      /// It's no run, or a damaged one.
      case damaged
    }
    /// What kind of trouble.
    public let kind: Kind
    /// What was expected and found.
    public let message: String
    /// The message.
    public var description: String { message }
  }

  /// Reads what a name means; files come before baselines.
  ///
  /// - Parameter store: Where baselines are; nil knows none.
  public static func load(_ name: String, store: ResultStore?) throws(Failure) -> RunReference {
    if let exact = try read(name, store: store) { return RunReference(run: exact.0, folder: exact.1, name: name) }
    if let mark = name.lastIndex(of: "#") {
      let (path, side) = (String(name[..<mark]), String(name[name.index(after: mark)...]))
      if let (run, folder) = try read(path, store: store) {
        guard run.sides.contains(side) else {
          throw Failure(
            kind: .missing,
            message:
              "\(name): the run has no side '\(side)'; it has \(run.sides.isEmpty ? "none" : run.sides.joined(separator: ", "))")
        }
        return RunReference(run: run.side(side), folder: folder, name: name)
      }
    }
    let known = store?.baselineNames ?? []
    throw Failure(
      kind: .missing,
      message: "\(name): no such run: expected a run's folder, a run.json"
        + (store == nil ? "" : ", or a baseline (\(known.isEmpty ? "there are none" : known.joined(separator: ", ")))"))
  }

  private static func read(_ path: String, store: ResultStore?) throws(Failure) -> (RunDocument, URL?)? {
    var isFolder: ObjCBool = false
    if FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) {
      let url = URL(fileURLWithPath: path)
      let file = isFolder.boolValue ? url.appendingPathComponent("run.json") : url
      guard let data = FileManager.default.contents(atPath: file.path) else {
        throw Failure(kind: .missing, message: "\(file.path): no such file, or it can't be read")
      }
      do { return (try RunDocument(json: data), file.deletingLastPathComponent()) } catch {
        throw Failure(kind: .damaged, message: "\(file.path): \(error.message)")
      }
    }
    guard let store else { return nil }
    do { return try store.baseline(path).map { ($0, nil) } } catch let error {
      // A path can't be a baseline's name; that isn't the trouble then.
      if (try? store.file(ofBaseline: path)) == nil { return nil }
      throw Failure(kind: .damaged, message: error.message)
    }
  }
}
