/// All checks, by id.
public enum Catalogue {
  /// The checks of every group but numerics, in the order of their ids.
  public static let all: [Check] =
    (list(
      defaultsChecks + inputChecks + loadChecks + resultChecks + seedChecks + safetyChecks + cancellationChecks
        + concurrencyChecks + progressChecks + modeChecks + resourceChecks + tensorChecks + crossChecks + semanticChecks)
    + list(visionLoadChecks + visionInputChecks + visionAnswerChecks + visionCancelChecks)
    + list(registryStoreChecks + registryDownloadChecks)
    + list(tsaiStyleChecks + tsaiImageChecks + tsaiCancelChecks) + list(playgroundSheetChecks + playgroundCreatorChecks))
    .sorted { ($0.group.rawValue, $0.id) < ($1.group.rawValue, $1.id) }

  private static func list<Surface>(_ checks: [SurfaceCheck<Surface>]) -> [Check] { checks.map(\.check) }

  /// The check of an id.
  public static func check(_ id: String) -> Check? { all.first { $0.id == id } }
}
