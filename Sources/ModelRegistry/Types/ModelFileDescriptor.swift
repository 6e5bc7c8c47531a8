public import Foundation

/// One file of a model: where it comes from, what it's called, what it should be.
public struct ModelFileDescriptor: Sendable, Hashable, Codable {
  /// What a file is for.
  public enum Role: String, Sendable, Hashable, Codable, CaseIterable {
    /// The model itself.
    case primary
    /// Weights beside it.
    case companion
    /// The vision tower and projector of a vision-language model.
    case visionProjector
    case tokenizer, config, vocabulary, merges, labels
  }

  /// Where it comes from: `https`, `http` or `file`.
  public let url: URL
  /// Its name in the model's folder; may have folders of its own, as `unet/config.json`.
  public let filename: String
  /// What it's for; nil leaves it to the order: the first is the model, a second one of a multimodal model its projector.
  public let role: Role?
  /// Its exact size in bytes; another size is refused.
  public let sizeBytes: Int?
  /// Its SHA-256 in hexadecimal digits; another sum is refused.
  public let sha256: String?
  /// Whether the model works without it.
  public let isOptional: Bool

  /// Makes a description.
  public init(
    url: URL, filename: String, role: Role? = nil, sizeBytes: Int? = nil, sha256: String? = nil, isOptional: Bool = false
  ) {
    self.url = url
    self.filename = filename
    self.role = role
    self.sizeBytes = sizeBytes
    self.sha256 = sha256
    self.isOptional = isOptional
  }

  private enum CodingKeys: String, CodingKey { case url, filename, role, sizeBytes, sha256, isOptional }

  /// Writes it with the address as it may be shown: without a password or a token.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(url.shown, forKey: .url)
    try container.encode(filename, forKey: .filename)
    try container.encodeIfPresent(role, forKey: .role)
    try container.encodeIfPresent(sizeBytes, forKey: .sizeBytes)
    try container.encodeIfPresent(sha256, forKey: .sha256)
    try container.encode(isOptional, forKey: .isOptional)
  }

  /// The same file of another address.
  func at(_ url: URL) -> ModelFileDescriptor {
    ModelFileDescriptor(
      url: url, filename: filename, role: role, sizeBytes: sizeBytes, sha256: sha256, isOptional: isOptional)
  }
}
