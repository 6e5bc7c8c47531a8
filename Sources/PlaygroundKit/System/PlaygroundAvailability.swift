public import Foundation

/// Whether images can be made here: the device can, the language and region are supported, and the person has it on.
public struct PlaygroundAvailability: Sendable, Hashable {
  /// Whether the device has what it takes.
  public var isDeviceCapable: Bool
  /// Whether the current language and region are supported.
  public var isLanguageAndRegionSupported: Bool
  /// Whether the person has image generation enabled.
  public var isEnabledByUser: Bool

  /// Makes a value.
  public init(isDeviceCapable: Bool, isLanguageAndRegionSupported: Bool, isEnabledByUser: Bool) {
    self.isDeviceCapable = isDeviceCapable
    self.isLanguageAndRegionSupported = isLanguageAndRegionSupported
    self.isEnabledByUser = isEnabledByUser
  }

  /// All three together: whether an app may show the sheet, or must show its fallback.
  public var supportsImagePlayground: Bool { isDeviceCapable && isLanguageAndRegionSupported && isEnabledByUser }
  /// The same value under its other documented name.
  public var supportsImageGeneration: Bool { supportsImagePlayground }

  /// Why it's not available; empty when it is.
  public var reasons: [String] {
    [
      isDeviceCapable ? nil : "the device can't make images",
      isLanguageAndRegionSupported ? nil : "the language or region isn't supported",
      isEnabledByUser ? nil : "image generation is turned off",
    ].compactMap { $0 }
  }
}

/// The languages and regions that images can be made in: data, not code.
public struct PlaygroundLocales: Sendable, Hashable {
  /// Language codes, as in ISO 639.
  public var languages: Set<String>
  /// Region codes, as in ISO 3166, where it isn't offered.
  public var excludedRegions: Set<String>

  /// Makes a table.
  public init(languages: Set<String>, excludedRegions: Set<String> = []) {
    self.languages = languages
    self.excludedRegions = excludedRegions
  }

  /// The usual languages, everywhere.
  public static let usual = PlaygroundLocales(languages: [
    "en", "fr", "de", "it", "pt", "es", "zh", "ja", "ko", "da", "nl", "nb", "no", "sv", "tr", "vi",
  ])

  /// Whether a locale's language and region are both supported.
  public func supports(_ locale: Locale) -> Bool {
    guard let language = locale.language.languageCode?.identifier, languages.contains(language) else { return false }
    return locale.region.map { !excludedRegions.contains($0.identifier) } ?? true
  }

  /// Whether a text is in a supported language, as far as its script tells.
  ///
  /// Letters are counted by script. When more than half of them belong to scripts of which no language is supported, the text
  /// isn't. Texts in Latin letters always are when any of the languages is written with them.
  public func supports(text: String) -> Bool {
    var counts: [Script: Int] = [:]
    for scalar in text.unicodeScalars where scalar.properties.isAlphabetic {
      counts[Script(of: scalar), default: 0] += 1
    }
    let unsupported = counts.filter { languages.isDisjoint(with: $0.key.languages) }.reduce(0) { $0 + $1.value }
    return unsupported * 2 <= counts.values.reduce(0, +)
  }
}

/// Scripts that tell languages apart.
private enum Script: Hashable {
  case latin, cyrillic, greek, hebrew, arabic, devanagari, thai, han, kana, hangul, other

  init(of scalar: Unicode.Scalar) {
    switch scalar.value {
    case 0x0041...0x024F, 0x1E00...0x1EFF, 0xFF21...0xFF5A: self = .latin
    case 0x0370...0x03FF, 0x1F00...0x1FFF: self = .greek
    case 0x0400...0x052F: self = .cyrillic
    case 0x0590...0x05FF: self = .hebrew
    case 0x0600...0x06FF, 0x0750...0x077F: self = .arabic
    case 0x0900...0x097F: self = .devanagari
    case 0x0E00...0x0E7F: self = .thai
    case 0x3040...0x30FF: self = .kana
    case 0x3400...0x4DBF, 0x4E00...0x9FFF, 0xF900...0xFAFF, 0x20000...0x2FA1F: self = .han
    case 0x1100...0x11FF, 0x3130...0x318F, 0xAC00...0xD7AF: self = .hangul
    default: self = .other
    }
  }

  /// Languages that are written with it.
  var languages: Set<String> {
    switch self {
    case .latin:
      ["en", "fr", "de", "it", "pt", "es", "da", "nl", "nb", "no", "sv", "tr", "vi", "pl", "cs", "fi", "hu", "id", "ro"]
    case .cyrillic: ["ru", "uk", "bg", "sr"]
    case .greek: ["el"]
    case .hebrew: ["he"]
    case .arabic: ["ar", "fa", "ur"]
    case .devanagari: ["hi", "mr", "ne"]
    case .thai: ["th"]
    case .han: ["zh", "ja", "ko"]
    case .kana: ["ja"]
    case .hangul: ["ko"]
    case .other: []
    }
  }
}
