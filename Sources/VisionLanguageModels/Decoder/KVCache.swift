import Tensors

/// The keys and values of the tokens so far, for each layer.
///
/// All room is taken at once, so that a generation that has begun doesn't run out of memory.
public struct KVCache: Sendable {
  /// The most tokens.
  public let capacity: Int
  /// Tokens whose keys and values are complete in all layers.
  public private(set) var count = 0
  private let width: Int
  /// `[1, capacity, width]` for each layer.
  private var keys: [Tensor]
  private var values: [Tensor]

  /// Makes an empty cache.
  ///
  /// - Parameters:
  ///   - config: The decoder that it is for.
  ///   - capacity: The most tokens, at least 1.
  public init(_ config: DecoderConfig, capacity: Int) {
    precondition(capacity >= 1, "a cache holds at least one token")
    self.capacity = capacity
    width = config.keyValueHeadCount * config.headWidth
    let (shape, layers): (Shape, Int) = ([1, capacity, width], config.layerCount)
    // Not filled, so that pages are taken only as tokens come.
    keys = (0..<layers).map { _ in Tensor(shape: shape) { _ in } }
    values = (0..<layers).map { _ in Tensor(shape: shape) { _ in } }
  }

  /// Bytes of a cache.
  public static func byteCount(_ config: DecoderConfig, capacity: Int) -> Int {
    2 * config.layerCount * capacity * config.keyValueHeadCount * config.headWidth * MemoryLayout<Float>.stride
  }

  /// Puts a layer's keys and values after those that are complete, `[1, tokens, width]`.
  mutating func append(layer: Int, key: Tensor, value: Tensor) {
    let tokens = key.shape[1]
    precondition(count + tokens <= capacity, "\(count + tokens) tokens don't fit into a cache of \(capacity)")
    Self.write(key, into: &keys[layer], at: count * width)
    Self.write(value, into: &values[layer], at: count * width)
  }

  // Static, as a method would hold on to the cache and so make its tensors shared, which are then copied on writing.
  private static func write(_ source: Tensor, into target: inout Tensor, at start: Int) {
    target.withUnsafeMutableBuffer { target in
      source.withUnsafeBuffer { source in
        guard let to = target.baseAddress, let from = source.baseAddress else { return }
        (to + start).update(from: from, count: source.count)
      }
    }
  }

  /// Calls `body` with the first `tokens` keys and values of a layer, where they lie: `[1, tokens, width]`.
  func withEntries<Result>(layer: Int, tokens: Int, _ body: (_ keys: Tensor, _ values: Tensor) -> Result) -> Result {
    body(keys[layer].leading([1, tokens, width]), values[layer].leading([1, tokens, width]))
  }

  /// Counts tokens as complete after all layers have had them.
  mutating func advance(by tokens: Int) { count += tokens }
}
