import GenBackend
public import Tensors

/// Two traces of one request, entry by entry, in the order in which a pipeline makes them.
public struct TraceDiff: Sendable {
  /// One tensor that both have.
  public struct Entry: Sendable, Hashable {
    /// Its name in the trace.
    public var name: String
    /// The part of the pipeline that makes it.
    public var stage: String
    /// The step of the loop, from 0; nil outside of it.
    public var step: Int?
    /// The largest |a - b| over the largest |a|; infinite when their shapes differ or one isn't finite.
    public var maxRelative: Double
    /// The largest |a - b|.
    public var maxAbsolute: Double
    /// Mean squared difference over mean square.
    public var nmse: Double
    /// The cosine of the angle between them; nil when one is zero.
    public var cosine: Double?
    /// Shapes that differ, in words.
    public var shapes: String?

    /// Whether it's more than `tolerance` off; NaN counts as off.
    public func isOff(_ tolerance: Double) -> Bool { !(maxRelative <= tolerance) }
  }

  /// The entries that both have, in the order of their making.
  public var entries: [Entry]
  /// Names that only one has.
  public var onlyFirst: [String]
  /// See ``onlyFirst``.
  public var onlySecond: [String]

  /// Compares two traces.
  public init(_ first: [String: Tensor], _ second: [String: Tensor]) {
    let order = { (name: String) in TraceOrder.rank(name) }
    entries = first.keys.filter { second[$0] != nil }.sorted { order($0) < order($1) }.compactMap { name in
      guard let a = first[name], let b = second[name] else { return nil }
      return Self.entry(name, a, b)
    }
    onlyFirst = first.keys.filter { second[$0] == nil }.sorted { order($0) < order($1) }
    onlySecond = second.keys.filter { first[$0] == nil }.sorted { order($0) < order($1) }
  }

  /// The first entry that is more than `tolerance` off; nil when they agree.
  public func firstOff(_ tolerance: Double) -> Entry? { entries.first { $0.isOff(tolerance) } }

  private static func entry(_ name: String, _ a: Tensor, _ b: Tensor) -> Entry {
    guard let comparison = Comparison(actual: b, expected: a) else {
      return Entry(
        name: name, stage: TraceOrder.stage(name), step: TraceOrder.step(name), maxRelative: .infinity, maxAbsolute: .infinity,
        nmse: .infinity, cosine: nil, shapes: "\(a.shape) and \(b.shape)")
    }
    var (dot, aa, bb) = (0.0, 0.0, 0.0)
    for (x, y) in zip(a.elements, b.elements) {
      dot += Double(x) * Double(y)
      aa += Double(x) * Double(x)
      bb += Double(y) * Double(y)
    }
    return Entry(
      name: name, stage: TraceOrder.stage(name), step: TraceOrder.step(name), maxRelative: comparison.maxRelative,
      maxAbsolute: comparison.maxAbsolute, nmse: comparison.normalizedMeanSquaredError,
      cosine: aa > 0 && bb > 0 ? dot / (aa * bb).squareRoot() : nil, shapes: nil)
  }
}

/// Where the entries of a trace stand in the making of an image, blocks included.
///
/// Blocks are `name.i`, with i counting their runs: the text encoder's and the VAE's run 0 is before and behind the loop, the
/// UNet's run i is in step i (or in half of it, when guidance takes two passes).
public enum TraceOrder {
  /// Sorts by stage, step, and place within the network.
  static func rank(_ name: String) -> Rank {
    if let known = fixed(name) { return known }
    let (block, run) = split(name)
    switch network(block) {
    case .text: return Rank(stage: 0, step: 0, place: 0, path: path(block))
    case .unet: return Rank(stage: 3, step: run, place: 0, path: path(block))
    case .vae: return Rank(stage: 4, step: 0, place: 0, path: path(block))
    }
  }

  struct Rank: Comparable {
    var stage: Int
    var step: Int
    /// Blocks come before what the loop makes of them.
    var place: Int
    var path: [Piece]

    static func < (left: Rank, right: Rank) -> Bool {
      if left.stage != right.stage { return left.stage < right.stage }
      if left.step != right.step { return left.step < right.step }
      if left.place != right.place { return left.place < right.place }
      return left.path.lexicographicallyPrecedes(right.path)
    }
  }

  /// A part of a block's name: its place in the network, then its text or number.
  struct Piece: Comparable {
    var order: Int
    var number: Int
    var text: String
    static func < (left: Piece, right: Piece) -> Bool {
      (left.order, left.number, left.text) < (right.order, right.number, right.text)
    }
  }

  private enum Network { case text, unet, vae }

  private static func fixed(_ name: String) -> Rank? {
    let (stage, step, text) = TraceEntry.order(name)
    let isNamed =
      stage < 3 || name == "image" || name.hasPrefix("noise_pred.") || (name.hasPrefix("latents.") && name != "latents.init")
    guard isNamed else { return nil }
    // Embeddings come behind the text encoder's blocks, the image behind the VAE's.
    return Rank(
      stage: stage, step: stage == 3 ? step / 2 : 0, place: stage == 3 ? 1 + step % 2 : 1,
      path: [Piece(order: 0, number: 0, text: text)])
  }

  private static func split(_ name: String) -> (block: String, run: Int) {
    guard let dot = name.lastIndex(of: "."), let run = Int(name[name.index(after: dot)...]) else { return (name, 0) }
    return (String(name[..<dot]), run)
  }

  private static func network(_ block: String) -> Network {
    if block.hasPrefix("decoder.") || block.hasPrefix("encoder.") || block.hasPrefix("post_quant") || block.hasPrefix("vae") {
      return .vae
    }
    return block.contains("text_model") || block.hasPrefix("text_encoder") ? .text : .unet
  }

  /// The order of a network's parts: by their names as diffusers has them.
  private static let parts = [
    "post_quant_conv", "conv_in", "time_proj", "time_embedding", "add_embedding", "down_blocks", "mid_block", "up_blocks",
    "conv_norm_out", "conv_out",
  ]

  private static func path(_ block: String) -> [Piece] {
    block.split(separator: ".").map { part in
      let text = String(part)
      if let number = Int(text) { return Piece(order: 0, number: number, text: "") }
      return Piece(order: 1 + (parts.firstIndex(of: text) ?? parts.count), number: 0, text: within(text))
    }
  }

  /// Within a block, resnets come before the attention that follows them; samplers are last.
  private static func within(_ text: String) -> String {
    switch text {
    case "resnets": "a " + text
    case "attentions": "b " + text
    case "downsamplers", "upsamplers": "z " + text
    default: "m " + text
    }
  }

  /// The step of the loop that makes an entry; nil outside of it.
  static func step(_ name: String) -> Int? {
    let rank = rank(name)
    return rank.stage == 3 ? rank.step : nil
  }

  /// The part of the pipeline that makes an entry.
  static func stage(_ name: String) -> String {
    if fixed(name) != nil { return TraceEntry.stage(of: name) }
    let (block, run) = split(name)
    switch network(block) {
    case .text: return "text encoder, block \(block)"
    case .unet: return "entry \(run): the UNet, block \(block)\(op(block))"
    case .vae: return "the VAE, block \(block)\(op(block))"
    }
  }

  /// What the last part of a block's name says about the operator.
  private static func op(_ block: String) -> String {
    guard let last = block.split(separator: ".").last(where: { Int($0) == nil }) else { return "" }
    let kinds: [(String, String)] = [
      ("conv", "convolution"), ("norm", "normalisation"), ("attn", "attention"), ("attentions", "transformer"),
      ("resnets", "residual block"), ("downsamplers", "downsampling"), ("upsamplers", "upsampling"), ("embedding", "embedding"),
      ("ff", "feed-forward"), ("proj", "projection"),
    ]
    return kinds.first { last.contains($0.0) }.map { " (\($0.1))" } ?? ""
  }
}
