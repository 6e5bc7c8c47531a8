import Foundation

/// The prompts of a run, in order, and how they are chosen.
enum Prompts {
  /// A built-in set that is varied on purpose: length (one word to more than 77 tokens), subject, style, script, punctuation.
  static let standard: [String] = [
    "a red bicycle leaning against a whitewashed wall in the afternoon sun",
    "lighthouse",
    "portrait of an old fisherman with a grey beard, window light, 85 mm lens",
    "an isometric drawing of a tiny bakery with a striped awning, pastel colours",
    "watercolour of a heron standing in shallow water at dawn",
    "macro photograph of dew on a spider web, shallow depth of field",
    "a chess board seen from above, marble pieces, hard shadows",
    "two cats asleep in one cardboard box",
    "a bowl of ramen with a soft-boiled egg, steam rising, dark wooden table",
    "blueprint of a mechanical wristwatch, white lines on navy paper, labelled parts",
    "a winding mountain road after rain, seen from a drone",
    "low-poly fox in a birch forest",
    "an astronaut repairing a grandfather clock inside a greenhouse on Mars",
    "stained glass window showing the four seasons",
    "a cross-section of the Earth as a layered cake",
    "black and white street photograph, commuters under umbrellas, 1950s",
    "a wooden toy train on a carpet, warm lamp light",
    "the inside of a cathedral built from ice, blue light through the walls",
    "pixel art of a wizard's study, 16 colours",
    "a paper boat on a puddle that mirrors neon signs",
    "oil painting of a stormy sea in the manner of the Romantic period, heavy brush strokes",
    "an empty swimming pool at night, lit from below",
    "a robot gardener watering tulips, children's book illustration",
    "satellite view of a river delta, false colours",
    "a still life with lemons, a pewter jug and a half-peeled orange on a linen cloth, chiaroscuro",
    "charcoal sketch of a dancer in mid-leap",
    "a market stall full of spices in open sacks, Marrakesh",
    "an owl made of folded newspaper",
    "a suspension bridge vanishing into fog",
    "retro travel poster for the rings of Saturn, flat shapes, limited palette",
    "a kitchen window with herbs in tin cans; outside it snows",
    "three glass bottles: one green, one brown, one clear - backlit",
    "a mouse in a knitted jumper reading by candlelight (cosy, detailed, soft focus)",
    "the number 7 carved out of granite",
    "ein verschneites Dorf bei Nacht, Fachwerkhäuser, goldene Fenster",
    "un café parisien sous la pluie, reflets sur les pavés",
    "桜の下の小さな神社、浮世絵風",
    "старый трамвай на осенней улице, акварель",
    "🐙 playing a piano underwater 🎹",
    "product photo, wireless headphones, white background, softbox lighting, no text",
    "a knight resting beside a vending machine, cinematic, wide shot, 35 mm film grain, overcast",
    "an aerial photograph of a crowded beach where every parasol is a different colour",
    "a treehouse village connected by rope bridges at blue hour, lanterns",
    "a microscope image of crystals in polarised light",
    "a blue whale swimming through clouds above a wheat field",
    "an art deco lobby with a marble floor and brass lifts, symmetrical",
    """
    a detailed matte painting of a harbour town at sunset with fishing boats, gulls, crates of oranges, a lighthouse on the cliff, \
    laundry between the houses, cobbled stairs, a brass band in front of the town hall, children chasing a dog, long shadows, warm \
    haze over the water, distant mountains, a single red balloon drifting above the roofs, painted with visible brushwork and an eye \
    for small stories in every corner of the frame
    """,
    "nothing but sky",
  ]

  /// What text models are asked, about an image where they see one.
  static let questions: [String] = [
    "Describe this image.", "Which colours do you see?", "What is in the middle?",
    "Is there any text in the picture? If so, what does it say?", "Write a caption of at most ten words.",
    "List three things that are not in this picture, and say why somebody might expect them there.",
  ]

  /// Reads `--prompts`: a number takes the first of a built-in set, anything else is a file with one prompt a line.
  ///
  /// - Parameter count: How many of the set when nothing is said; nil is all.
  static func choose(_ text: String?, from set: [String], default count: Int?) throws -> [String] {
    guard let text else { return Array(set.prefix(count ?? set.count)) }
    if let number = Int(text) {
      guard (1...standard.count).contains(number) else {
        throw UsageError(
          "The value '\(text)' is invalid for '--prompts <n|file>': expected 1...\(standard.count) built-in prompts, or a file")
      }
      return Array(set.prefix(number))
    }
    guard let data = FileManager.default.contents(atPath: text) else {
      throw CommandError(.inputMissing, "--prompts \(text): no such file, or it can't be read")
    }
    guard let content = String(data: data, encoding: .utf8) else {
      throw CommandError(.badInput, "--prompts \(text): expected UTF-8 text, one prompt a line")
    }
    let lines = content.split(whereSeparator: \.isNewline).map { $0.trimmingSpaces() }.filter {
      !$0.isEmpty && !$0.hasPrefix("#")
    }
    guard !lines.isEmpty else { throw CommandError(.badInput, "--prompts \(text): no prompts; expected one a line") }
    return lines
  }

  /// A file name's part for a prompt: `a-red-bicycle-leaning`.
  static func slug(_ prompt: String) -> String {
    let words = prompt.lowercased().split { !($0.isASCII && ($0.isLetter || $0.isNumber)) }
    var slug = ""
    for word in words {
      if slug.count + 1 + word.count > 32 { break }
      slug += (slug.isEmpty ? "" : "-") + word
    }
    return slug.isEmpty ? "prompt" : slug
  }
}
