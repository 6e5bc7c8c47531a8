/// The name and the bounds of the protocol between genbench and an engine in a process of its own.
///
/// What its messages mean is told in `docs/backend-protocol.md`.
public enum BackendProtocol {
  /// What both sides say that they speak.
  public static let version = "genbench.backend/1"
  /// The most bytes of a line, its end included.
  public static let longestLine = 1 << 20
  /// The bytes of the child's stderr that are kept.
  public static let keptLogBytes = 64 << 10
  /// The largest file that is read from the exchange folder, in bytes.
  public static let largestFile = 8 << 30
  /// The most pixels of an image in either direction.
  public static let largestSide = 16_384
}
