import GenBackend
import Imaging
import Tensors

/// A prompt and what its picture must show.
struct Expectation: Sendable {
  var prompt: String
  var kind: ShapeKind
  var colour: ColourName
  var ground: ColourName
  var x: ClosedRange<Double> = 0.38...0.62
  var y: ClosedRange<Double> = 0.38...0.62

  /// What of it a picture shows: outline, colour of the shape, colour of the ground, place.
  func score(_ contents: PictureContents) -> (kind: Bool, colour: Bool, ground: Bool, place: Bool) {
    guard let shape = contents.shapes.first else { return (false, false, contents.ground == ground, false) }
    return (shape.kind == kind, shape.colour == colour, contents.ground == ground, x ~= shape.x && y ~= shape.y)
  }

  /// One shape in the middle.
  static let central: [Expectation] = [
    Expectation(prompt: "a large red circle on a blue background", kind: .circle, colour: .red, ground: .blue),
    Expectation(prompt: "a large yellow square on a green background", kind: .square, colour: .yellow, ground: .green),
    Expectation(prompt: "a large white star on a purple background", kind: .star, colour: .white, ground: .purple),
    Expectation(prompt: "a large blue triangle on a white background", kind: .triangle, colour: .blue, ground: .white),
    Expectation(prompt: "a large green ring on a black background", kind: .ring, colour: .green, ground: .black),
    Expectation(prompt: "a large pink heart on a white background", kind: .heart, colour: .pink, ground: .white),
  ]

  /// One shape at an edge; what is left and what is above can't be taken for each other.
  static let placed: [Expectation] = [
    Expectation(
      prompt: "a red square in the top right on a white background", kind: .square, colour: .red, ground: .white, x: 0.55...0.95,
      y: 0.05...0.45),
    Expectation(
      prompt: "a blue circle in the bottom left on a yellow background", kind: .circle, colour: .blue, ground: .yellow,
      x: 0.05...0.45, y: 0.55...0.95),
    Expectation(
      prompt: "a green star on the left on a white background", kind: .star, colour: .green, ground: .white, x: 0.05...0.45,
      y: 0.35...0.65),
    Expectation(
      prompt: "a black heart at the bottom on a pink background", kind: .heart, colour: .black, ground: .pink, x: 0.35...0.65,
      y: 0.55...0.95),
  ]
}

/// Meaning: whether pictures show what prompts say. Small pictures of plain shapes, so that any engine can be asked.
extension Catalogue {
  /// Twenty steps of a prompt.
  private static func options(_ context: CheckContext<DiffusionSurface>, _ prompt: String, seed: Int64 = 7)
    -> DiffusionSurface.Options
  {
    var options = context.options(prompt)
    options.steps = 20
    options.seed = seed
    return options
  }

  /// An implementation with a model that understands plain prompts; without one the check is skipped.
  private static func understanding(_ context: CheckContext<DiffusionSurface>) async throws -> DiffusionRig {
    guard context.facts.promptedVariants.contains(.sd15) else {
      throw CheckSkip("the model of sd15 isn't one that understands prompts")
    }
    var script = Script()
    script.paintsPrompt = true
    return try await context.loaded(script: script)
  }

  private static func read(_ context: CheckContext<DiffusionSurface>, _ rig: DiffusionRig, _ options: DiffusionSurface.Options)
    async throws -> PictureContents
  {
    PictureReader.read(try context.decode(try await rig.image(options).data))
  }

  /// Fails unless as many pictures as asked for agree with their prompts.
  private static func expectMost(
    _ context: CheckContext<DiffusionSurface>, _ rig: DiffusionRig, _ expectations: [Expectation], atLeast wanted: Int,
    _ what: String,
    _ agrees: (Expectation, PictureContents) -> Bool
  ) async throws {
    var wrong: [String] = []
    for expectation in expectations {
      let contents = try await read(context, rig, options(context, expectation.prompt))
      if !agrees(expectation, contents) { wrong.append("'\(expectation.prompt)' shows \(shown(contents))") }
    }
    try context.expect(
      expectations.count - wrong.count >= wanted, "\(what) in at least \(wanted) of \(expectations.count) pictures",
      seen: wrong.joined(separator: "; "))
    if !wrong.isEmpty { context.note(wrong.joined(separator: "; ")) }
  }

  /// How many facts of the central prompts their pictures show: outline, colour, ground and place of each.
  private static func facts(
    _ context: CheckContext<DiffusionSurface>, _ rig: DiffusionRig, _ change: (inout DiffusionSurface.Options) -> Void
  ) async throws -> (right: Int, of: Int, pictures: [Bitmap]) {
    var (right, pictures) = (0, [Bitmap]())
    for expectation in Expectation.central {
      var options = options(context, expectation.prompt)
      change(&options)
      let picture = try context.decode(try await rig.image(options).data)
      let score = expectation.score(PictureReader.read(picture))
      right += [score.kind, score.colour, score.ground, score.place].count { $0 }
      pictures.append(picture)
    }
    return (right, 4 * Expectation.central.count, pictures)
  }

  /// Fails unless more of a setting makes other pictures, of which no fewer facts are right.
  private static func expectMoreHelps<Value>(
    _ context: CheckContext<DiffusionSurface>, _ rig: DiffusionRig, _ what: String, from low: Value, to high: Value,
    _ set: (inout DiffusionSurface.Options, Value) -> Void
  ) async throws {
    let less = try await facts(context, rig) { set(&$0, low) }
    let more = try await facts(context, rig) { set(&$0, high) }
    context.note("\(more.right) of \(more.of) facts right with \(what) \(high), \(less.right) with \(low)")
    try context.expect(
      more.right >= less.right, "at least as many facts right with \(what) \(high) as with \(low)",
      seen: "\(more.right) and \(less.right) of \(more.of)")
    let same = zip(more.pictures, less.pictures).count { $0 == $1 }
    try context.expect(same == 0, "other pictures with \(what) \(high) than with \(low)", seen: "\(same) of them are the same")
  }

  private static func shown(_ contents: PictureContents) -> String {
    let shapes = contents.shapes.map { shape in
      let place = "\(Int((shape.x * 100).rounded())), \(Int((shape.y * 100).rounded()))"
      return "\(shape.colour.rawValue) \(shape.kind?.rawValue ?? "shape") at \(place)"
    }
    return "\(shapes.isEmpty ? "nothing" : shapes.joined(separator: " and ")) on \(contents.ground.rawValue)"
  }

  /// Prompts and pictures.
  static let semanticChecks: [SurfaceCheck<DiffusionSurface>] = [
    SurfaceCheck(
      "S-01", "The shape and the ground have the colours that the prompt says.", level: .derived, group: .semantics,
      environments: [.scripted, .engine]
    ) { context in
      let rig = try await understanding(context)
      try await expectMost(context, rig, Expectation.central, atLeast: 5, "the prompt's colours") { expectation, contents in
        let score = expectation.score(contents)
        return score.colour && score.ground
      }
    },
    SurfaceCheck(
      "S-02", "The shape has the outline that the prompt says.", level: .derived, group: .semantics,
      environments: [.scripted, .engine]
    ) { context in
      let rig = try await understanding(context)
      try await expectMost(context, rig, Expectation.central, atLeast: 5, "the prompt's shape") { $0.score($1).kind }
    },
    SurfaceCheck(
      "S-03", "The shape is where the prompt says: left is left, and top is top.", level: .derived, group: .semantics,
      environments: [.scripted, .engine]
    ) { context in
      let rig = try await understanding(context)
      try await expectMost(context, rig, Expectation.placed, atLeast: 3, "the prompt's place") { $0.score($1).place }
    },
    SurfaceCheck(
      "S-04", "Another seed makes another picture of the same prompt.", level: .derived, group: .semantics,
      environments: [.scripted, .engine], needs: [.seed]
    ) { context in
      let rig = try await understanding(context)
      let expectation = Expectation.central[0]
      var pictures: [Bitmap] = []
      var right = 0
      for seed in [11, 12, 13] as [Int64] {
        let picture = try context.decode(try await rig.image(options(context, expectation.prompt, seed: seed)).data)
        let score = expectation.score(PictureReader.read(picture))
        if score.colour && score.ground { right += 1 }
        pictures.append(picture)
      }
      try context.expect(right >= 2, "the prompt's colours whatever the seed", seen: "\(right) of 3")
      try context.expect(Set(pictures).count == 3, "three pictures of three seeds", seen: "\(Set(pictures).count)")
    },
    SurfaceCheck(
      "S-05", "As many shapes are there as the prompt says.", level: .derived, group: .semantics,
      environments: [.scripted, .engine]
    ) { context in
      let rig = try await understanding(context)
      var counts: [Int] = []
      for prompt in ["a red circle on a white background", "two red circles on a white background"] {
        counts.append(try await read(context, rig, options(context, prompt)).shapes.count)
      }
      try context.expectEqual(counts, [1, 2], "shapes of one and of two:")
    },
    SurfaceCheck(
      "S-06", "What a negative prompt names is less in the picture.", level: .derived, group: .semantics,
      environments: [.scripted, .engine], needs: [.negativePrompt]
    ) { context in
      let rig = try await understanding(context)
      var (before, after) = (0, 0)
      for seed in [21, 22, 23] as [Int64] {
        var options = options(context, "a red circle", seed: seed)
        let plain = try await read(context, rig, options).ground
        options.negativePrompt = "\(plain.rawValue) background"
        before += 1
        if try await read(context, rig, options).ground == plain { after += 1 }
      }
      try context.expect(
        after < before, "another ground where the negative prompt names the one that comes by itself",
        seen: "the same ground in \(after) of \(before)")
    },
    SurfaceCheck(
      "S-07", "Image-to-image with little strength keeps where things are.", level: .derived, group: .semantics,
      environments: [.scripted, .engine], needs: [.imageToImage]
    ) { context in
      let rig = try await understanding(context)
      var wrong: [String] = []
      for side in ["left", "right"] {
        let start = ShapePainter(prompt: "a large red circle on the \(side) on a white background", seed: 8)
        var options = options(context, "a large red circle on a white background")
        options.mode = .imageToImage
        options.image = try TestImages.png(start.bitmap(width: options.width ?? 512, height: options.height ?? 512))
        options.strength = 0.2
        let contents = try await read(context, rig, options)
        let x = contents.shapes.first?.x ?? 0.5
        if side == "left" ? x >= 0.45 : x <= 0.55 { wrong.append("on the \(side): \(shown(contents))") }
      }
      try context.expect(wrong.isEmpty, "the shape on its side of the start image", seen: wrong.joined(separator: "; "))
    },
    SurfaceCheck(
      "S-08", "More guidance makes other pictures, and they follow their prompts no less.", level: .derived, group: .semantics,
      environments: [.scripted, .engine]
    ) { context in
      let rig = try await understanding(context)
      try await expectMoreHelps(context, rig, "guidance", from: 1, to: 7.5) { $0.guidanceScale = $1 }
    },
    SurfaceCheck(
      "S-09", "More steps make other pictures, and they follow their prompts no less.", level: .derived, group: .semantics,
      environments: [.scripted, .engine]
    ) { context in
      let rig = try await understanding(context)
      try await expectMoreHelps(context, rig, "steps", from: 10, to: 30) { $0.steps = $1 }
    },
    SurfaceCheck(
      "S-10", "A vision-language model sees in the picture what the prompt says.", level: .derived, group: .semantics,
      environments: [.scripted, .engine]
    ) { context in
      let rig = try await understanding(context)
      var wrong: [String] = []
      for expectation in Expectation.central {
        let picture = try context.decode(try await rig.image(options(context, expectation.prompt)).data)
        guard let describe = context.facts.describe else { throw CheckSkip("no vision-language model is at hand") }
        let said = try await describe(picture).lowercased()
        let isSeen =
          said.contains("\(expectation.colour.rawValue) \(expectation.kind.rawValue)")
          && said.contains("\(expectation.ground.rawValue) background")
        if !isSeen { wrong.append("'\(expectation.prompt)' is told as '\(said)'") }
      }
      try context.expect(
        wrong.count <= 1, "the prompt's shape, its colour and the ground's in at least 5 of 6 descriptions",
        seen: wrong.joined(separator: "; "))
      if !wrong.isEmpty { context.note(wrong.joined(separator: "; ")) }
    },
    SurfaceCheck(
      "S-11", "Inpainting puts what the prompt says where the mask is white, and leaves what lies elsewhere.", level: .derived,
      group: .semantics, environments: [.scripted, .engine], needs: [.inpainting]
    ) { context in
      let rig = try await understanding(context)
      let start = TestImages.square(side: 512, at: 10, of: 44, [25, 65, 230], ground: [250, 230, 25])
      let mask = TestImages.square(side: 512, at: 64, of: 384, [255, 255, 255], ground: [0, 0, 0])
      var wrong: [String] = []
      for seed in [31, 32, 33] as [Int64] {
        var options = options(context, "a large red circle on a yellow background", seed: seed)
        options.mode = .inpainting
        options.image = try TestImages.png(start)
        options.mask = try TestImages.png(mask)
        options.strength = 1
        let contents = try await read(context, rig, options)
        let isThere = contents.shapes.contains { $0.colour == .red && 0.3...0.7 ~= $0.x && 0.3...0.7 ~= $0.y }
        let isLeft = contents.shapes.contains { $0.colour == .blue && $0.x < 0.15 && $0.y < 0.15 }
        if !isThere || !isLeft || contents.ground != .yellow { wrong.append(shown(contents)) }
      }
      try context.expect(
        wrong.count <= 1, "a red shape in the middle, the blue one in its corner, in at least 2 of 3 pictures",
        seen: wrong.joined(separator: "; "))
    },
  ]
}
