import Foundation

/// The language of a prompt.
public enum TSAILanguage: Int, Sendable, Hashable, Codable, CaseIterable {
  /// Not set: the app's localization is used.
  case unknown = -1
  /// To be detected; only for features that listen or translate, never for images.
  case auto = 0
  case chineseSimplified = 1
  case chineseTraditional = 2
  case englishUS = 3
  case englishUK = 4
  case japanese = 5
  case korean = 6
  case french = 7
  case german = 8
  case spanish = 9
  case russian = 10

  /// The tag of the language, as in RFC 5646; nil for `unknown` and `auto`.
  public var tag: String? {
    switch self {
    case .unknown, .auto: nil
    case .chineseSimplified: "zh-CN"
    case .chineseTraditional: "zh-TW"
    case .englishUS: "en-US"
    case .englishUK: "en-GB"
    case .japanese: "ja-JP"
    case .korean: "ko-KR"
    case .french: "fr-FR"
    case .german: "de-DE"
    case .spanish: "es-ES"
    case .russian: "ru-RU"
    }
  }

  /// The language of a tag, by its language, script and region; nil when there's none.
  ///
  /// English is American and Chinese is simplified unless the tag says otherwise.
  public init?(tag: String) {
    let parts = tag.replacing("_", with: "-").split(separator: "-").map { $0.lowercased() }
    let rest = Set(parts.dropFirst())
    switch parts.first {
    case "zh": self = rest.isDisjoint(with: ["hant", "tw", "hk", "mo"]) ? .chineseSimplified : .chineseTraditional
    case "en": self = rest.isDisjoint(with: ["gb", "uk", "ie", "au", "nz"]) ? .englishUS : .englishUK
    case "ja": self = .japanese
    case "ko": self = .korean
    case "fr": self = .french
    case "de": self = .german
    case "es": self = .spanish
    case "ru": self = .russian
    default: return nil
    }
  }

  /// The app's own language: the first of its localizations that is known, else that of the user, else American English.
  public static var ofApp: TSAILanguage {
    let tags = Bundle.main.preferredLocalizations.filter { $0 != "Base" } + [Locale.current.identifier]
    return tags.lazy.compactMap { TSAILanguage(tag: $0) }.first ?? .englishUS
  }
}
