package import Tensors

/// Paints what a prompt says, as an engine that understands it would: plain shapes on a plain ground.
///
/// It knows the ten colours, six outlines, three sizes, nine places and the numbers two and three. Without guidance it
/// hears colours badly; the more steps, the nearer it comes to the size.
package struct ShapePainter {
  private struct Item {
    var kind: ShapeKind
    var colour: ColourName
    var x: Double
    var y: Double
    var radius: Double
  }
  private var ground: ColourName
  private var items: [Item] = []

  /// Reads a prompt.
  ///
  /// What it leaves open is chosen from `seed`; with guidance, a ground that `negativePrompt` names isn't chosen.
  package init(prompt: String, negativePrompt: String = "", guidance: Double = 7.5, steps: Int = 20, seed: UInt64) {
    let isGuided = guidance > 1
    let negativePrompt = isGuided ? negativePrompt : ""
    let words = Self.words(prompt)
    let unwanted = Set(Self.words(negativePrompt).compactMap(Self.colour))
    let choices = [ColourName.white, .gray, .blue].filter { !unwanted.contains($0) }
    ground = choices.first ?? .white
    if let index = words.firstIndex(of: "background"), index > 0, let named = Self.colour(words[index - 1]) { ground = named }
    let number = words.contains("two") ? 2 : words.contains("three") ? 3 : 1
    var place = (x: 0.5, y: 0.5)
    if words.contains("left") { place.x = 0.3 }
    if words.contains("right") { place.x = 0.7 }
    if words.contains("top") { place.y = 0.3 }
    if words.contains("bottom") { place.y = 0.7 }
    let shift = Double(seed % 17) / 17 * 0.06 - 0.03
    for (index, word) in words.enumerated() {
      guard let kind = Self.kind(word), items.isEmpty else { continue }
      let before = words[max(0, index - 2)..<index]
      let named = before.compactMap(Self.colour).last ?? .red
      let colour = isGuided ? named : named == .gray ? .black : .gray
      let radius = (before.contains("large") ? 0.27 : before.contains("small") ? 0.13 : 0.2) * (1 - 0.5 / Double(max(steps, 2)))
      for copy in 0..<number {
        let x = number == 1 ? place.x : (Double(copy) + 0.5) / Double(number)
        items.append(
          Item(kind: kind, colour: colour, x: x + shift, y: place.y + shift, radius: number == 1 ? radius : min(radius, 0.14)))
      }
    }
  }

  /// Paints it.
  package func bitmap(width: Int, height: Int) -> Bitmap {
    var samples: [UInt8] = []
    samples.reserveCapacity(width * height * 3)
    for row in 0..<height {
      for column in 0..<width {
        let (x, y) = ((Double(column) + 0.5) / Double(width), (Double(row) + 0.5) / Double(height))
        let item = items.last { Self.covers($0.kind, (x - $0.x) / $0.radius, (y - $0.y) / $0.radius) }
        samples += Self.samples(of: item?.colour ?? ground)
      }
    }
    return Bitmap(width: width, height: height, samples: samples)
  }

  private static func words(_ text: String) -> [String] {
    text.lowercased().split { !$0.isLetter }.map(String.init)
  }

  private static func colour(_ word: String) -> ColourName? { ColourName(rawValue: word) }

  private static func kind(_ word: String) -> ShapeKind? {
    ShapeKind(rawValue: word) ?? (word.hasSuffix("s") ? ShapeKind(rawValue: String(word.dropLast())) : nil)
  }

  /// Whether a shape of radius 1 around the origin covers a point; y grows downward.
  private static func covers(_ kind: ShapeKind, _ x: Double, _ y: Double) -> Bool {
    let distance = (x * x + y * y).squareRoot()
    switch kind {
    case .circle: return distance < 1
    case .ring: return 0.55...1 ~= distance
    case .square: return abs(x) < 0.85 && abs(y) < 0.85
    case .triangle: return -0.95...0.75 ~= y && abs(x) < (y + 0.95) / 1.7
    case .heart:
      let lobe = (abs(x) - 0.45) * (abs(x) - 0.45) + (y + 0.35) * (y + 0.35) < 0.3
      return lobe || (-0.2...0.95 ~= y && abs(x) < (0.95 - y) * 0.86)
    case .star:
      // Five triangles and the pentagon between them: inside of at least four of the five lines.
      let lines = (0..<5).count { index in
        let (nx, ny) = normals[index]
        return x * nx + y * ny < 0.36
      }
      return lines >= 4 && distance < 1.1
    }
  }

  /// The outward normals of a pentagon's sides, whose star points up.
  private static let normals: [(Double, Double)] = [
    (0, 1), (0.951_056_516_3, 0.309_016_994_4), (0.587_785_252_3, -0.809_016_994_4), (-0.587_785_252_3, -0.809_016_994_4),
    (-0.951_056_516_3, 0.309_016_994_4),
  ]

  private static func samples(of colour: ColourName) -> [UInt8] {
    switch colour {
    case .red: [220, 25, 30]
    case .orange: [255, 140, 15]
    case .yellow: [250, 230, 25]
    case .green: [25, 165, 50]
    case .blue: [25, 65, 230]
    case .purple: [125, 30, 165]
    case .pink: [255, 140, 200]
    case .white: [250, 250, 250]
    case .black: [10, 10, 10]
    case .gray: [132, 132, 132]
    }
  }
}
