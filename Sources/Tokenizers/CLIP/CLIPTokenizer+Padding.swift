/// A sequence of fixed length for a text encoder.
public struct PaddedEncoding: Sendable, Equatable {
  /// The ids: beginning-of-text, the tokens, end-of-text, padding.
  public var ids: [Int]
  /// How many tokens of the text had no room.
  public var droppedTokenCount: Int

  /// Makes an encoding.
  public init(ids: [Int], droppedTokenCount: Int) {
    self.ids = ids
    self.droppedTokenCount = droppedTokenCount
  }
}

extension CLIPTokenizer {
  /// The context length of CLIP's text encoders.
  public static let contextLength = 77

  /// The ids of a text in a sequence of fixed length: cut before the end-of-text token, or padded after it.
  ///
  /// - Parameter maxLength: The length of the result; at least 2.
  public func encodePadded(_ text: String, maxLength: Int = contextLength) throws -> PaddedEncoding {
    try Self.checkLength(maxLength)
    let body = encodeBody(text)
    let kept = min(body.count, maxLength - 2)
    return PaddedEncoding(ids: padded(body[..<kept], to: maxLength), droppedTokenCount: body.count - kept)
  }

  /// The ids of a text of any length in windows of `tokenCount` tokens, each framed and padded on its own.
  ///
  /// A text without tokens gives one window.
  ///
  /// - Parameter tokenCount: The tokens of the text in a window, which is two ids longer; at least 1.
  public func chunks(_ text: String, of tokenCount: Int = contextLength - 2) throws -> [[Int]] {
    try Self.checkLength(tokenCount == 0 ? 0 : tokenCount &+ 2)
    let body = encodeBody(text)
    return stride(from: 0, to: max(body.count, 1), by: tokenCount).map { start in
      padded(body[start..<min(start + tokenCount, body.count)], to: tokenCount + 2)
    }
  }

  private func padded(_ body: ArraySlice<Int>, to length: Int) -> [Int] {
    let ids = [beginningOfTextID] + body + [endOfTextID]
    return ids + Array(repeating: paddingID, count: length - ids.count)
  }

  private static func checkLength(_ length: Int) throws {
    guard 2...65_536 ~= length else {
      throw TokenizerError(
        .invalid, source: "maximum length", "expected 2 to 65536 ids, found \(length); CLIP takes \(contextLength)")
    }
  }
}
