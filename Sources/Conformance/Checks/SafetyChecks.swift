import Foundation
import GenBackend
import Synchronization

extension Catalogue {
  /// Fails when bytes hold a picture.
  private static func expectNoPixels(_ context: CheckContext<DiffusionSurface>, _ data: Data?, _ what: String) throws {
    guard let data, !data.isEmpty else { return }
    let image = try context.decode(data, what)
    try context.expect(
      image.isOneColour, "\(what): no pixels of an image that was flagged", seen: "\(data.count) bytes with a picture")
  }

  /// The safety checker.
  static let safetyChecks: [SurfaceCheck<DiffusionSurface>] = [
    SurfaceCheck(
      "D-34", "A flagged image has an outcome of its own, and its pixels are never handed out.", level: .normative,
      group: .diffusion, needs: [.safety]
    ) { context in
      var script = Script()
      script.flaggedImages = [0]
      let rig = try await context.loaded(.sd15, checksSafety: true, script: script)
      let record = try await rig.run(context.options())
      guard case .success(let result) = record.outcome else {
        throw CheckFailure(expected: "an outcome that isn't a failure", seen: "\(record.outcome)")
      }
      try context.expectEqual(result.safety, .filtered, "outcome of a flagged image:")
      try expectNoPixels(context, result.data, "imageData")
      rig.scripted?.script.flaggedImages = []
      try context.expectEqual(try await rig.image(context.options()).safety, .passed, "outcome of a harmless image:")
    },
    SurfaceCheck(
      "D-35", "With the checker off nothing is flagged or blanked.", level: .normative, group: .diffusion,
      environments: [.scripted, .engine], needs: [.safety]
    ) { context in
      let rig = try await context.loaded(.sd15, checksSafety: false)
      let plain = try await rig.image(context.options())
      rig.scripted?.script.flaggedImages = [0]
      let result = try await rig.image(context.options())
      try context.expect(
        result.safety == .unchecked || result.safety == nil, "unchecked", seen: result.safety?.rawValue ?? "nothing told")
      try context.expect(result.data == plain.data, "the same image", seen: "another one")
      try context.expect(!(try context.decode(result.data).isOneColour), "a picture", seen: "one colour")
    },
    SurfaceCheck(
      "D-36", "A checker that is asked for and absent, or silent, is an error or an explicit \"unchecked\": never a pass.",
      level: .recommended, group: .diffusion, environments: [.scripted, .engine], needs: [.safety]
    ) { context in
      let rig = try await context.rig()
      var path = ScriptedModels.withoutChecker
      var variant = DiffusionSurface.Variant.sd15
      if !context.isScripted {
        let facts = context.facts
        guard
          let bare = facts.models.keys.filter({ !facts.checkedVariants.contains($0) }).min(by: { $0.rawValue < $1.rawValue })
        else { throw CheckSkip("every model at hand has a checker") }
        (variant, path) = (bare, try context.modelPath(bare))
      }
      if let failure = try await rig.tryLoad(.init(variant: variant, checksSafety: true), path: path) {
        try context.expect(
          [.modelLoadFailed, .modelNotFound, .notSupported, .invalidInput].contains(failure.code), "an error about the model",
          seen: failure.description)
        try context.expectEqual(await rig.implementation.isLoaded(), false, "loaded after the refusal:")
      } else {
        let record = try await rig.run(context.options("a boat", variant))
        if case .success(let result) = record.outcome {
          try context.expectEqual(result.safety, .unchecked, "outcome without a checker:")
        }
      }
      guard rig.scripted != nil else { return }
      var silent = Script()
      silent.isCheckerSilent = true
      let record = try await context.loaded(.sd15, checksSafety: true, script: silent).run(context.options())
      if case .success(let result) = record.outcome {
        try context.expectEqual(result.safety, .unchecked, "outcome when the checker says nothing:")
      }
    },
    SurfaceCheck(
      "D-37", "Previews obey the same filter as the final image.", level: .contract, group: .diffusion,
      needs: [.safety, .previews]
    ) { context in
      var script = Script()
      script.flaggedImages = [0]
      let rig = try await context.loaded(.sd15, checksSafety: true, script: script)
      let record = try await rig.run(context.options { $0.previewStride = 2 })
      for update in record.updates { try expectNoPixels(context, update.preview, "preview of step \(update.step)") }
      rig.scripted?.script.flaggedImages = []
      let harmless = try await rig.run(context.options { $0.previewStride = 2 })
      try context.expect(
        harmless.updates.contains { $0.preview != nil }, "previews of a harmless image", seen: "none: nothing was proved")
    },
    SurfaceCheck(
      "D-38", "One flagged image of several leaves the others as they are, each in its place.", level: .contract,
      group: .diffusion, needs: [.safety, .batch]
    ) { context in
      let rig = try await context.loaded(.sd15, checksSafety: true)
      let options = context.options { $0.imageCount = 3 }
      let plain = try await rig.image(options)
      rig.scripted?.script.flaggedImages = [1]
      let result = try await rig.image(options)
      try context.expectEqual(result.images.count, 3, "places:")
      try context.expectEqual(result.images.map(\.safety), [.passed, .filtered, .passed], "outcomes:")
      try expectNoPixels(context, result.images[1].data, "image 1")
      for index in [0, 2] {
        try context.expect(result.images[index].data == plain.images[index].data, "image \(index) as ever", seen: "another one")
      }
    },
  ]
}
