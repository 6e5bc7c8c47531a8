import Foundation

/// The locale that libarchive translates names by: without one for characters it refuses names in UTF-8.
enum CharacterLocale {
  #if canImport(Darwin)
    private static let name = "en_US.UTF-8"
    /// `LC_CTYPE_MASK` of xlocale.h.
    private static let mask: Int32 = 1 << 1
  #else
    private static let name = "C.UTF-8"
    /// `LC_CTYPE_MASK` of locale.h.
    private static let mask: Int32 = 1 << 0
  #endif

  /// Runs something with UTF-8 as the characters of this thread, whatever the environment says.
  static func withUTF8<Result>(_ body: () throws -> Result) rethrows -> Result {
    guard let locale = newlocale(mask, name, nil) else { return try body() }
    let before = uselocale(locale)
    defer {
      uselocale(before)
      freelocale(locale)
    }
    return try body()
  }
}
