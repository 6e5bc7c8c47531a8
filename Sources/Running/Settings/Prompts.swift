import Foundation

/// The prompts of a run, in order, and how they are chosen.
package enum Prompts {
  /// A built-in set that is varied on purpose: length (one word to more than 77 tokens), subject, style, script, punctuation.
  package static let standard: [String] = [
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

  /// What the repository's small models know: shapes on plain grounds, in all the ways in which these can be said.
  package static let shapes: [String] = [
    "a large red circle on a blue background",
    "a small white star in the top left on a green background",
    "a yellow heart on the right on a purple background",
    "a big orange square on a white background",
    "a blue ring in the middle on a yellow background",
    "a large green triangle on a black background",
    "two red circles on a white background",
    "a pink heart in the bottom right on a gray background",
    "a black square to the left of a red circle on a white background",
    "a violet disc, orange background",
    "a green background with a white ring",
    "on the left, a large blue star on white",
    "a tiny black circle in the upper right on a pink background",
    "a huge crimson square on a gray background",
    "three blue stars on a yellow background",
    "a picture of a purple triangle at the bottom on a white background",
    "an orange heart above a green square on a black background",
    "a white triangle on a blue background",
    "a drawing of a large yellow ring on a red background",
    "a gray box in the lower left corner on an orange background",
    "a medium green circle in the center on a white background",
    "a red star in the bottom left on a black background",
    "a blue heart next to a yellow circle on a white background",
    "a large pink disc on a green background",
    "a small purple square at the top, yellow background",
    "an image of a white hoop on a purple background",
    "two green triangles on a white background",
    "a black star on an orange background",
    "a yellow square under a blue circle on a gray background",
    "a large white heart on a red background",
    "in the top right, a big green square on pink",
    "a blue triangle on the left on a white background",
    "a gray circle on a yellow background",
    "an orange ring in the bottom left corner on a blue background",
    "a red triangle to the right of a black ring on a white background",
    "a little pink star in the middle on a black background",
    "a large purple heart on a white background",
    "three yellow circles on a blue background",
    "a white background with a huge black ring",
    "a green star at the top on a purple background",
    "a red square, white background",
    "a blue disc over an orange heart on a white background",
    "a big gray triangle on a pink background",
    "a yellow star on the right on a black background",
    "a pink square in the upper left on a blue background",
    "an orange circle on a green background",
    "two black hearts on a white background",
    "a large blue circle in the lower right on a white background",
  ]

  /// What text models are asked, about an image where they see one.
  package static let questions: [String] = [
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
        throw SettingError(
          "The value '\(text)' is invalid for '--prompts <n|file>': expected 1...\(standard.count) built-in prompts, or a file")
      }
      return Array(set.prefix(number))
    }
    guard let content = String(data: try UserFile.content(text), encoding: .utf8) else {
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
