/// Options that affect how images are made.
public struct ImagePlaygroundOptions: Sendable, Hashable {
  /// Whether people of the person's library may be included.
  public enum Personalization: String, Sendable, Hashable, Codable, CaseIterable {
    /// The same as `enabled`.
    case automatic
    case enabled
    /// No picker of people, and no names are looked for.
    case disabled

    /// Whether people may be included.
    public var isEnabled: Bool { self != .disabled }
  }

  /// How much several images of the same inputs differ.
  public enum CreationVariety: String, Sendable, Hashable, Codable, CaseIterable {
    /// Each from its own noise.
    case automatic
    /// Close together: noise that is mostly shared.
    case low
    /// Far apart: noise of its own, and another view each.
    case high
  }

  /// What becomes of an input image.
  public enum CreationStrategy: String, Sendable, Hashable, Codable, CaseIterable {
    /// The same as `generateNew`.
    case automatic
    /// The new image resembles the input.
    case editExisting
    /// The input is inspiration only.
    case generateNew
  }

  /// Whether people may be included; on unless it's disabled.
  public var personalization: Personalization = .automatic
  /// How much several images differ.
  public var creationVariety: CreationVariety = .automatic
  /// What becomes of an input image.
  public var creationStrategy: CreationStrategy = .automatic
  /// The size; the smallest square unless told otherwise.
  public var sizeSpecification = SizeSpecification.smallestSquare

  /// Makes options with the defaults.
  public init() {}
}
