public import Checkpoints
public import KernelContract
public import Tensors
import Tokenizers

/// A language model with eyes: what a GGUF file and its mmproj file hold together.
public struct VisionLanguageModel: Sendable {
  /// The language model.
  public let language: LanguageModel
  /// The eyes.
  public let vision: any ImageEncoder
  /// Weights of both files.
  public let parameterCount: Int
  /// Their bytes.
  public let weightBytes: Int
  /// The text that stands for an image before it is known how many tokens it takes.
  public let imageMarker: String
  private let imageTokenID: Int

  /// Builds the model from its two files.
  ///
  /// - Throws: `CheckpointError` or `TokenizerError` when a file is of another kind (the two may be swapped), incomplete or
  ///   damaged, or when the two don't belong together.
  public init(_ file: GGUFFile, projector: GGUFFile, kernels: any KernelSet) throws {
    let config = try DecoderConfig(file)
    let visionConfig = try VisionConfig(projector)
    func mismatch(_ message: String) -> CheckpointError { CheckpointError(.invalid, file: projector.location, message) }
    switch (visionConfig.projector, config.architecture) {
    case (.idefics3, .llama), (.qwen2VL, .qwen2vl): break
    case (let kind, let architecture):
      throw mismatch(
        "the projector is of kind '\(kind.rawValue)', the language model \(file.location) of architecture "
          + "'\(architecture.rawValue)'; they don't belong together")
    }
    vision = try visionConfig.makeEncoder(projector, kernels: kernels, languageWidth: config.hiddenSize)
    language = try LanguageModel(file, kernels: kernels)

    let (marker, token, others) =
      switch visionConfig.projector {
      case .idefics3: ("<image>", "<image>", ["<fake_token_around_image>", "<global-img>"])
      case .qwen2VL: ("<|vision_start|><|image_pad|><|vision_end|>", "<|image_pad|>", ["<|vision_start|>", "<|vision_end|>"])
      }
    imageMarker = marker
    for name in [token] + others where language.tokenizer.id(of: name) == nil {
      throw CheckpointError(
        .invalid, file: file.location,
        "the vocabulary has no token '\(name)', which stands for images; the language model doesn't belong to this projector")
    }
    imageTokenID = language.tokenizer.id(of: token) ?? 0
    let views = projector.weightNames.compactMap { projector.weight(named: $0) }
    parameterCount = language.parameterCount + views.reduce(0) { $0 + $1.shape.elementCount }
    weightBytes = language.weightBytes + views.reduce(0) { $0 + $1.bytes.count }
  }

  /// The ids of a prompt with the image's tokens in place of its marker.
  ///
  /// - Parameter framed: See ``LanguageModel/encode(_:framed:)``.
  /// - Throws: ``VisionLanguageError`` when the text doesn't hold the marker exactly once, or the image takes tokens that the
  ///   vocabulary doesn't have.
  public func ids(_ text: String, image: PreprocessedImage, framed: Bool = true) throws(VisionLanguageError) -> [Int] {
    let (before, after) = try cutAtMarker(text)
    let ids = language.encode(before + vision.placeholder(for: image) + after, framed: framed)
    let expected = tokenCount(of: image)
    let found = ids.count { $0 == imageTokenID }
    guard found == expected else {
      throw VisionLanguageError(
        .invalidPrompt, "image tokens: expected \(expected) in the prompt, found \(found); is the image's marker in the text?")
    }
    if image.rows > 0, vision.config.projector == .idefics3,
      language.tokenizer.id(of: "<row_\(image.rows)_col_\(image.columns)>") == nil
    {
      throw VisionLanguageError(
        .invalidImage, "the vocabulary has no token for \(image.rows) rows of \(image.columns) tiles; crop the image")
    }
    return ids
  }

  /// Tokens that an image takes in the prompt.
  public func tokenCount(of image: PreprocessedImage) -> Int {
    let config = vision.config
    switch config.projector {
    case .idefics3:
      let side = config.imageSize / config.patchSize / config.mergeSize
      return image.pixels.shape[0] * side * side
    case .qwen2VL: return image.rows * image.columns / (config.mergeSize * config.mergeSize)
    }
  }

  private func cutAtMarker(_ text: String) throws(VisionLanguageError) -> (before: String, after: String) {
    let bytes = Array(text.utf8)
    let marker = Array(imageMarker.utf8)
    let places = bytes.ranges(of: marker)
    guard places.count == 1, let place = places.first else {
      throw VisionLanguageError(
        .invalidPrompt,
        "the prompt holds the image's marker '\(imageMarker)' \(places.count) times; it must be there once for the one image")
    }
    return (
      String(decoding: bytes[..<place.lowerBound], as: UTF8.self), String(decoding: bytes[place.upperBound...], as: UTF8.self)
    )
  }

  /// Whether a text holds the token that stands for a piece of an image, which a prompt without image mustn't.
  public func mentionsImage(_ ids: [Int]) -> Bool { ids.contains(imageTokenID) }

  /// The prompt with the image's features in place of its tokens, each token at its position.
  ///
  /// - Parameter features: `[tokenCount, D]`, as ``ImageEncoder/features(of:_:)`` gives them.
  public func prompt(ids: [Int], image: PreprocessedImage, features: Tensor) -> PreparedPrompt {
    precondition(features.shape[0] == ids.count { $0 == imageTokenID }, "one feature for each image token")
    var prompt = language.prompt(ids: ids)
    let width = features.shape[1]
    prompt.embeddings.withUnsafeMutableBuffer { target in
      features.withUnsafeBuffer { source in
        guard let to = target.baseAddress, let from = source.baseAddress else { return }
        var feature = 0
        for (index, id) in ids.enumerated() where id == imageTokenID {
          (to + index * width).update(from: from + feature * width, count: width)
          feature += 1
        }
      }
    }
    // The tokens of an image with positions of its own are one run.
    if let first = ids.firstIndex(of: imageTokenID), let placed = vision.positions(of: image, from: first) {
      let end = first + placed.tokens.count
      let rest = (0..<(ids.count - end)).map { TokenPosition(placed.next + $0) }
      prompt.positions = Array(prompt.positions[..<first]) + placed.tokens + rest
      prompt.nextPosition = placed.next + rest.count
    }
    return prompt
  }
}
