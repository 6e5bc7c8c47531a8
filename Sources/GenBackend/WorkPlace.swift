/// Where an engine does its work, so that its memory can be found.
public enum WorkPlace: Sendable, Hashable {
  /// In this process.
  case thisProcess
  /// In the processes of a group, which is named by its leader.
  case processGroup(Int32)
  /// Where this process can't look: on a server, or nowhere yet.
  case elsewhere(reason: String)
}

extension GenBackend {
  /// In this process, unless a backend says otherwise.
  public var workPlace: WorkPlace { .thisProcess }

  /// Ends what the backend holds beside its models, after which it can't be used.
  public func close() async {}
}
