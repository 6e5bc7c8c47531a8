public import Foundation
public import Goldens

/// The repository's fixtures, found from this source file upward.
public enum Fixtures {
  /// The package's folder.
  public static let packageFolder: URL = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

  /// The `Fixtures` folder.
  public static let folder: URL = packageFolder.appendingPathComponent("Fixtures")

  /// All cases of an area, sorted by id.
  public static func cases(in area: String) throws -> [GoldenCase] { try ProjectHome.cases(in: area, fixtures: folder) }
}
