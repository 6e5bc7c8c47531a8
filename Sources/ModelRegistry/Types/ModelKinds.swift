/// What runs a model.
public enum ModelFramework: String, Sendable, Hashable, Codable, CaseIterable {
  /// GGUF files, as llama.cpp reads them.
  case llamaCpp
  /// A diffusers folder, or one checkpoint file, of safetensors.
  case diffusers
  /// Apple's compiled packages; can be registered, but not run here.
  case coreml
  case onnx, mlx, fluidAudio, foundationModels, systemTTS
  /// Part of the system or of the app.
  case builtIn
  case unknown
}

/// What a model takes and makes.
public enum ModelModality: String, Sendable, Hashable, Codable, CaseIterable {
  case language
  case imageGeneration
  /// Text from images and text.
  case multimodal
  case vision, speechRecognition, speechSynthesis, voiceActivityDetection, audio, embedding
}

/// The kinds of archive that can be unpacked.
public enum ArchiveFormat: String, Sendable, Hashable, Codable, CaseIterable {
  case zip
  case tarGz, tarBz2, tarXz
  case tar
}

/// How a model lies in its archive.
public enum ArchiveStructure: String, Sendable, Hashable, Codable, CaseIterable {
  /// One file, possibly within folders.
  case singleFileNested
  /// The model's files at the top.
  case directoryBased
  /// The model's folder within one or more others.
  case nestedDirectory
  /// To be found out.
  case unknown
}

/// What is transferred, and what is made of it.
public enum ModelArtifactType: Sendable, Hashable, Codable {
  /// One file that is the model.
  case singleFile
  /// An archive that is unpacked and deleted.
  case archive(ArchiveFormat, structure: ArchiveStructure)
  /// Several files, the main one first.
  case multiFile
  /// A folder of this machine, copied as a whole.
  case folder
  /// Files that stay where they are: never copied, never deleted, not counted as storage.
  case builtIn
}
