public import Foundation

/// The words in which checks speak about an SDK for vision-language models.
public enum VisionSurface: APISurface {
  /// Which API it is.
  public static let kind = SurfaceKind.vision
  /// Its place in ``AnySubject``.
  public static var slot: any WritableKeyPath<AnySubject, Subject<VisionSurface>?> & Sendable { \.vision }

  /// What an SDK can do beyond the documented minimum.
  public enum Capability: String, Sendable, Hashable, Codable, CaseIterable {
    /// Tells tokens, times and why an answer ended.
    case metrics
    /// Takes sampling options.
    case sampling
    /// Gives an answer as a whole too.
    case wholeAnswers
    /// Takes pixels with opacity.
    case rgbaPixels
    /// Takes the bytes of image files.
    case encodedImages
    /// Takes image files by their path.
    case imageFiles
  }

  /// One file of a model.
  public struct File: Sendable, Hashable {
    /// Where it is on this machine.
    public var url: URL
    /// Its name.
    public var name: String
    /// Makes an entry.
    public init(url: URL, name: String) {
      self.url = url
      self.name = name
    }
  }

  /// A model to register: the main file first, the projector second.
  public struct Model: Sendable, Hashable {
    /// The id.
    public var id: String
    /// The files.
    public var files: [File]
    /// `llamaCpp`, or another one that must be refused.
    public var framework = "llamaCpp"
    /// `multimodal`, or another one that must be refused.
    public var modality = "multimodal"
    /// Makes a model.
    public init(id: String, files: [File]) {
      self.id = id
      self.files = files
    }
  }

  /// An image in one of its forms.
  public enum Image: Sendable, Hashable {
    case rgb(Data, width: Int, height: Int)
    case rgba(Data, width: Int, height: Int)
    case encoded(Data)
    case file(URL)
  }

  /// How tokens are chosen; nil leaves a value to the SDK.
  public struct Options: Sendable, Hashable {
    /// Divides the logits.
    public var temperature: Double?
    /// Keeps the likeliest tokens up to this probability.
    public var topP: Double?
    /// Keeps the k likeliest tokens.
    public var topK: Int?
    /// Seed of the draws.
    public var seed: Int64?
    /// Makes options that leave all to the SDK.
    public init(temperature: Double? = nil, topP: Double? = nil, topK: Int? = nil, seed: Int64? = nil) {
      self.temperature = temperature
      self.topP = topP
      self.topK = topK
      self.seed = seed
    }
  }

  /// What is told of an answer; nil where the SDK doesn't tell.
  public struct Metrics: Sendable, Hashable {
    /// Tokens of the prompt, those of the image included.
    public var promptTokens: Int?
    /// Tokens of the answer.
    public var completionTokens: Int?
    /// From the call to the first token, in milliseconds.
    public var firstTokenMs: Double?
    /// From the call to the end, in milliseconds.
    public var totalMs: Double?
    /// Tokens a second while decoding.
    public var tokensPerSecond: Double?
    /// `stop`, `length`, `cancelled`, `error`, or the SDK's own word.
    public var finishReason: String?
    /// Makes metrics.
    public init(
      promptTokens: Int? = nil, completionTokens: Int? = nil, firstTokenMs: Double? = nil, totalMs: Double? = nil,
      tokensPerSecond: Double? = nil, finishReason: String? = nil
    ) {
      self.promptTokens = promptTokens
      self.completionTokens = completionTokens
      self.firstTokenMs = firstTokenMs
      self.totalMs = totalMs
      self.tokensPerSecond = tokensPerSecond
      self.finishReason = finishReason
    }
  }

  /// An answer that is being made.
  public struct Answer: Sendable {
    /// The text, piece by piece.
    public var stream: any AsyncSequence<String, any Error> & Sendable
    /// The metrics, once it's over; nil when there are none.
    public var metrics: @Sendable () async -> Metrics?
    /// Makes an answer.
    public init(
      stream: any AsyncSequence<String, any Error> & Sendable, metrics: @escaping @Sendable () async -> Metrics? = { nil }
    ) {
      self.stream = stream
      self.metrics = metrics
    }
  }
}
