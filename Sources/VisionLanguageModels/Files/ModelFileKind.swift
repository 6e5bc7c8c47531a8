public import Checkpoints

/// What a GGUF file is, by its `general.architecture`.
public enum ModelFileKind: Sendable, Hashable {
  /// A language model of one of the families that are run here.
  case language(DecoderArchitecture)
  /// The vision tower and projector that belong to a language model: an `mmproj` file.
  case projector
  /// Something else, by its name.
  case other(String)

  /// Tells what a file is.
  public init(_ file: GGUFFile) {
    let name = file.metadata["general.architecture"]?.string ?? "none"
    if name == "clip" {
      self = .projector
    } else if let architecture = DecoderArchitecture(rawValue: name) {
      self = .language(architecture)
    } else {
      self = .other(name)
    }
  }
}
