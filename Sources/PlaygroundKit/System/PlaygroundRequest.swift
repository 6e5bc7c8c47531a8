import GenBackend
import Imaging
import Tensors

/// What is to be made, before it's put into an engine's words.
struct PlaygroundRequest: Sendable {
  var concepts: [ImagePlaygroundConcept]
  var style: ImagePlaygroundStyle
  var options: ImagePlaygroundOptions
  /// An image to start from, beside those of the concepts.
  var sourceImage: Bitmap?
  /// People who were picked.
  var people: [PlaygroundEnvironment.Person] = []
  /// The seed of the first image of the same inputs.
  var seed: UInt64
  /// The place of the image among those of the same inputs, from 0.
  var index = 0

  /// Pixels: a glyph's are the smallest square whatever was asked for.
  var size: ImageSize {
    style == .emoji
      ? ImagePlaygroundOptions.SizeSpecification.smallestSquare.imageSize : options.sizeSpecification.imageSize
  }

  /// The words of all concepts, with the looks of the people in them.
  func words(_ environment: PlaygroundEnvironment) -> String {
    var parts = concepts.map(\.words).filter { !$0.isEmpty }
    if options.personalization.isEnabled {
      let named = PersonNames.found(in: parts.joined(separator: ". "), among: environment.people)
      var looks: [String] = []
      for person in named + people.filter({ !named.contains($0) }) {
        if let appearance = person.appearance { looks.append("\(person.name) is \(appearance)") }
      }
      parts += looks
    }
    if options.creationVariety == .high { parts.append(Self.views[index % Self.views.count]) }
    return parts.joined(separator: ", ")
  }

  /// What makes images of high variety differ beside their noise.
  private static let views = ["medium shot", "close-up", "wide shot", "seen from above", "seen from below", "at golden hour"]

  /// The drawing and the image to start from, in one picture of a size; nil without either.
  func start(size: ImageSize) -> (image: Bitmap, hasSource: Bool)? {
    var source = sourceImage
    var drawing: PlaygroundDrawing?
    for concept in concepts {
      switch concept.content {
      case .image(let bitmap): source = source ?? bitmap
      case .drawing(let strokes): drawing = strokes
      case .text, .extracted: break
      }
    }
    let fitted = source.map { $0.rgbOnWhite().filling(width: size.width, height: size.height) }
    if let drawing, !drawing.isEmpty {
      let image = DrawingRasterizer(width: size.width, height: size.height).draw(drawing, on: fitted)
      return (image, fitted != nil)
    }
    return fitted.map { ($0, true) }
  }
}

/// Names of people in texts.
enum PersonNames {
  /// The people whose name stands in a text as whole words, in the order of the library.
  static func found(in text: String, among people: [PlaygroundEnvironment.Person]) -> [PlaygroundEnvironment.Person] {
    let words = words(of: text)
    return people.filter { person in
      let name = self.words(of: person.name)
      guard !name.isEmpty, name.count <= words.count else { return false }
      return (0...(words.count - name.count)).contains { Array(words[$0..<($0 + name.count)]) == name }
    }
  }

  private static func words(of text: String) -> [String] {
    text.lowercased().split { !($0.isLetter || $0.isNumber) }.map { String($0) }
      // "Anna's" names Anna.
      .filter { $0 != "s" }
  }
}
