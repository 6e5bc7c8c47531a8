import Foundation
import GenBackend
import Imaging
import Tensors

extension Catalogue {
  private typealias Sheet = PlaygroundRig.Sheet

  private static let letter = """
    Dear Anna, I hope that you are well and that we will see each other again before the summer is over. Do you remember the old
    stone lighthouse, the cherry blossoms along the harbour wall, and the small wooden sailing boats? I wish you a very happy
    birthday, with lots of love and all the best wishes for everything that you want to do in the new year. Yours, Tom
    """

  /// A picture of one colour, large enough to start from.
  private static func plain(_ red: UInt8, _ green: UInt8, _ blue: UInt8, side: Int = 512) -> Bitmap {
    Bitmap(width: side, height: side, samples: (0..<(side * side)).flatMap { _ in [red, green, blue] })
  }

  /// The mean of each channel, 0...255.
  private static func mean(_ tensor: Tensor) -> [Int] {
    let values = tensor.elements
    let count = values.count / 3
    return (0..<3).map { channel in
      Int((values[(channel * count)..<((channel + 1) * count)].reduce(0, +) / Float(count) * 255).rounded())
    }
  }

  /// Image Playground: whether the sheet appears, and what comes out of it.
  static let playgroundSheetChecks: [SurfaceCheck<PlaygroundSurface>] = [
    SurfaceCheck(
      "P-01", "Images are available exactly when the device can, language and region are supported, and the person has it on.",
      level: .normative, group: .playground
    ) { context in
      for row in 0..<8 {
        let (device, region, setting) = (row & 1 != 0, row & 2 != 0, row & 4 != 0)
        let rig = try await context.playground {
          ($0.isDeviceCapable, $0.isRegionSupported, $0.isEnabledByUser) = (device, region, setting)
        }
        let seen = await rig.implementation.isAvailable()
        try context.expectEqual(
          seen, device && region && setting, "device \(device), language and region \(region), setting \(setting): available")
      }
    },
    SurfaceCheck("P-02", "Where images aren't available the sheet never appears.", level: .normative, group: .playground) {
      context in
      for row in 0..<7 {
        let rig = try await context.playground {
          ($0.isDeviceCapable, $0.isRegionSupported, $0.isEnabledByUser) = (row & 1 != 0, row & 2 != 0, row & 4 != 0)
        }
        let sheet = try? await rig.tryPresent()
        try context.expect(sheet == nil, "no sheet (row \(row) of the table)", seen: "a sheet")
      }
      try context.expect(try await context.playground().tryPresent() != nil, "a sheet where all holds", seen: "none")
    },
    SurfaceCheck(
      "P-03",
      "Accepting tells the app of one file, on the main thread; cancelling tells it of no file, and once that it was cancelled.",
      level: .normative, group: .playground, environments: [.scripted, .engine]
    ) { context in
      let rig = try await context.playground()
      let style = try rig.style("illustration")
      let accepted = try await rig.present { $0.allowedStyles = [style] }
      try await rig.generate(accepted)
      try await rig.accept(accepted)
      try context.expect(
        accepted.callbacks.entries.count == 1 && accepted.callbacks.urls.count == 1, "one file",
        seen: "\(accepted.callbacks.entries.count) calls")
      try? await accepted.session.accept()
      await accepted.session.cancel()
      await rig.settle()
      try context.expectEqual(accepted.callbacks.entries.count, 1, "calls after accepting and cancelling again:")

      for generatesFirst in [false, true] {
        let cancelled = try await rig.present { $0.allowedStyles = [style] }
        if generatesFirst { try await rig.generate(cancelled) }
        try await rig.cancel(cancelled)
        try await rig.cancel(cancelled)
        try? await cancelled.session.accept()
        await rig.settle()
        try context.expectEqual(cancelled.callbacks.entries, [.cancelled], "what the app is told of a sheet that was cancelled:")
      }
      try context.expectEqual(accepted.callbacks.offMain, 0, "calls off the main thread:")
      let empty = try await rig.present { $0.allowedStyles = [style] }
      try? await empty.session.accept()
      await rig.settle()
      try context.expectEqual(empty.callbacks.entries, [], "what the app is told when there's nothing to accept:")
    },
    SurfaceCheck(
      "P-04", "The file is there when the app hears of it, is an image, and its copy outlives the session.", level: .normative,
      group: .playground, environments: [.scripted, .engine]
    ) { context in
      let rig = try await context.playground()
      let folder = try context.temporaryFolder()
      var copies: [URL] = []
      var originals: Set<URL> = []
      let style = try rig.style("sketch")
      for number in 0..<2 {
        let sheet = try await rig.present { $0.allowedStyles = [style] }
        try await rig.generate(sheet)
        try await rig.accept(sheet)
        guard let data = sheet.callbacks.files.first ?? nil, let url = sheet.callbacks.urls.first else {
          throw CheckFailure(expected: "a file that can be read as the app hears of it", seen: "none")
        }
        let image = try context.decode(data, "the file")
        try context.expect(image.width > 0 && image.height > 0, "pixels", seen: "\(image.width) x \(image.height)")
        let copy = folder.appendingPathComponent("copy-\(number).png")
        try FileManager.default.copyItem(at: url, to: copy)
        copies.append(copy)
        originals.insert(url)
        await sheet.session.end()
      }
      try context.expectEqual(originals.count, 2, "files of two sessions:")
      for copy in copies {
        let data = FileManager.default.contents(atPath: copy.path)
        try context.expect(data?.isEmpty == false, "a copy that's readable after the session", seen: "none")
      }
    },
    SurfaceCheck(
      "P-05", "A short text goes into the prompt as it is; of a long one the relevant ideas do.", level: .normative,
      group: .playground
    ) { context in
      let rig = try await context.playground()
      try rig.need(.visibleRequests)
      let style = try rig.style("illustration")
      func prompt(_ concepts: [PlaygroundSurface.Concept]) async throws -> String {
        let sheet = try await rig.present {
          $0.concepts = concepts
          $0.allowedStyles = [style]
        }
        return try await rig.generate(sheet)?.prompt ?? ""
      }
      let short = "Cherry blossoms over Lake Biwa"
      for concept in [PlaygroundSurface.Concept.text(short), .extracted(short, title: nil)] {
        let seen = try await prompt([concept])
        try context.expect(seen.contains(short), "'\(short)' whole in the prompt", seen: "'\(seen)'")
      }
      let distilled = try await prompt([.extracted(letter, title: "Birthday by the sea")])
      for idea in ["lighthouse", "cherry blossoms", "sailing boats", "Birthday by the sea"] {
        try context.expect(distilled.lowercased().contains(idea.lowercased()), "'\(idea)' in the prompt", seen: "'\(distilled)'")
      }
      let words = letter.split(whereSeparator: \.isWhitespace).count
      let kept = distilled.split(whereSeparator: \.isWhitespace).count
      try context.expect(kept * 2 < words, "less than half of the text's \(words) words", seen: "\(kept): '\(distilled)'")
      try context.expect(!distilled.contains("I hope that you are well"), "no greeting", seen: "'\(distilled)'")
      let again = try await prompt([.extracted(letter, title: "Birthday by the sea")])
      try context.expectEqual(again, distilled, "the prompt of the same text:")
      let both = try await prompt([.text(short), .text("by moonlight")])
      try context.expect(both.contains(short) && both.contains("by moonlight"), "both concepts", seen: "'\(both)'")
    },
    SurfaceCheck(
      "P-06", "A source image and concepts work together, and the person can replace the image.", level: .normative,
      group: .playground
    ) { context in
      let rig = try await context.playground()
      try rig.need(.visibleRequests)
      let style = try rig.style("illustration")
      let sheet = try await rig.present {
        $0.sourceImage = plain(200, 30, 30)
        $0.allowedStyles = [style]
      }
      guard let first = try await rig.generate(sheet), let image = first.image else {
        throw CheckFailure(expected: "an image to start from", seen: "none")
      }
      try context.expect(first.prompt.contains("a red boat"), "the concept in the prompt", seen: "'\(first.prompt)'")
      try context.expectEqual(mean(image), [200, 30, 30], "the mean of the start image:")
      try context.expect(
        first.strength > 0 && first.strength < 1, "a strength between 0 and 1", seen: "\(first.strength)")
      await sheet.session.replaceSourceImage(plain(30, 30, 200))
      let second = try await rig.generate(sheet)
      try context.expectEqual(second?.image.map(mean), [30, 30, 200], "the mean of the replaced start image:")
      await sheet.session.replaceSourceImage(nil)
      let third = try await rig.generate(sheet)
      try context.expect(third != nil && third?.image == nil, "no start image", seen: "one")
      // As a concept it's the same.
      let concept = try await rig.present {
        $0.concepts = [.text("a red boat"), .image(plain(10, 200, 10))]
        $0.allowedStyles = [style]
      }
      let combined = try await rig.generate(concept)
      try context.expectEqual(combined?.image.map(mean), [10, 200, 10], "the mean of an image concept as start image:")
      try context.expect(
        combined?.prompt.contains("a red boat") == true, "the text beside an image concept", seen: "'\(combined?.prompt ?? "")'")
    },
    SurfaceCheck(
      "P-07", "A drawing's strokes are where they were drawn, with their width and opacity, and work together with the text.",
      level: .normative, group: .playground
    ) { context in
      let rig = try await context.playground()
      try rig.need(.visibleRequests, .drawings)
      // Left a thick black line, in the middle a thick faint one, right a thin black one.
      let strokes: [[PlaygroundSurface.Point]] = [(20.0, 10.0, 1.0), (50, 10, 0.4), (80, 3, 1)].map { x, width, opacity in
        [20.0, 80].map { PlaygroundSurface.Point(x: x, y: $0, width: width, opacity: opacity) }
      }
      let style = try rig.style("sketch")
      let sheet = try await rig.present {
        $0.concepts.append(.drawing(strokes))
        $0.allowedStyles = [style]
      }
      guard let request = try await rig.generate(sheet), let image = request.image else {
        throw CheckFailure(expected: "the drawing as start image", seen: "none")
      }
      try context.expect(request.prompt.contains("a red boat"), "the text in the prompt", seen: "'\(request.prompt)'")
      let (height, width) = (image.shape[2], image.shape[3])
      let values = image.elements
      func darkness(_ x: Double, _ y: Double) -> Double {
        let side = Double(min(width, height))
        let column = Int((Double(width) - side) / 2 + x / 100 * side)
        let row = Int((Double(height) - side) / 2 + y / 100 * side)
        return 1 - Double(values[row * width + column])
      }
      try context.expect(darkness(20, 50) > 0.95, "black on the first stroke", seen: "\(darkness(20, 50))")
      try context.expect(darkness(35, 50) < 0.05, "white between strokes", seen: "\(darkness(35, 50))")
      try context.expect(darkness(20, 95) < 0.05, "white below the strokes", seen: "\(darkness(20, 95))")
      try context.expect(abs(darkness(50, 50) - 0.4) < 0.03, "0.4 on the faint stroke", seen: "\(darkness(50, 50))")
      try context.expect(darkness(24, 50) > 0.95, "black 4 beside the middle of a stroke 10 wide", seen: "\(darkness(24, 50))")
      try context.expect(darkness(84, 50) < 0.05, "white 4 beside the middle of a stroke 3 wide", seen: "\(darkness(84, 50))")
    },
    SurfaceCheck(
      "P-08", "An image concept of a URL without an image is nil, one of pixels isn't.", level: .contract, group: .playground
    ) { context in
      let rig = try await context.playground()
      let folder = try context.temporaryFolder()
      let (good, bad) = (folder.appendingPathComponent("good.png"), folder.appendingPathComponent("bad.png"))
      try Data(PNGFile.encode(plain(1, 2, 3))).write(to: good)
      try Data("not an image".utf8).write(to: bad)
      try context.expectEqual(rig.implementation.makesImageConceptOfURL(good), true, "a concept of a PNG file:")
      try context.expectEqual(rig.implementation.makesImageConceptOfURL(bad), false, "a concept of a text file:")
      try context.expectEqual(
        rig.implementation.makesImageConceptOfURL(folder.appendingPathComponent("none.png")), false, "a concept of no file:")
      try context.expectEqual(rig.implementation.makesImageConceptOfURL(folder), false, "a concept of a folder:")
      try context.expectEqual(rig.implementation.makesImageConceptOfPixels(plain(1, 2, 3)), true, "a concept of pixels:")
    },
    SurfaceCheck(
      "P-09", "Only allowed styles are offered, and the default must be one of them.", level: .normative, group: .playground
    ) { context in
      let rig = try await context.playground()
      let (sketch, illustration) = (try rig.style("sketch"), try rig.style("illustration"))
      let animation = try rig.style("animation")
      let sheet = try await rig.present {
        $0.allowedStyles = [illustration, sketch]
        $0.defaultStyle = sketch
      }
      try context.expectEqual(Set(await sheet.session.offeredStyles()), [illustration, sketch], "the picker's styles:")
      try context.expectEqual(await sheet.session.selectedStyle(), sketch, "the style that the picker opens on:")
      try await rig.within("pick returns") { try await sheet.session.pick(illustration) }
      try context.expectEqual(await sheet.session.selectedStyle(), illustration, "the picked style:")
      let isRefused: Bool
      do {
        try await sheet.session.pick(animation)
        isRefused = false
      } catch { isRefused = true }
      try context.expect(isRefused, "a style that isn't allowed is refused", seen: "it's taken")
      try context.expectEqual(await sheet.session.selectedStyle(), illustration, "the style after a refused pick:")
      let presented = try? await rig.tryPresent {
        $0.allowedStyles = [illustration]
        $0.defaultStyle = animation
      }
      try context.expect(presented == nil, "a default style that isn't allowed is refused", seen: "a sheet")
    },
    SurfaceCheck("P-10", "One allowed style locks the picker to it.", level: .normative, group: .playground) { context in
      let rig = try await context.playground()
      let (sketch, illustration) = (try rig.style("sketch"), try rig.style("illustration"))
      let locked = try await rig.present { $0.allowedStyles = [sketch] }
      try context.expectEqual(await locked.session.offeredStyles(), [sketch], "the picker's styles:")
      try context.expectEqual(await locked.session.isStyleLocked(), true, "locked:")
      try context.expectEqual(await locked.session.selectedStyle(), sketch, "the style:")
      try? await locked.session.pick(illustration)
      try context.expectEqual(await locked.session.selectedStyle(), sketch, "the style after picking another one:")
      let open = try await rig.present { $0.allowedStyles = [sketch, illustration] }
      try context.expectEqual(await open.session.isStyleLocked(), false, "locked with two styles:")
    },
    SurfaceCheck(
      "P-11",
      "The external provider is offered where it's listed; where none is configured the person is led to it, and the app has nothing to do.",
      level: .normative, group: .playground
    ) { context in
      let prompts = Box<[String]>([])
      let provider: @Sendable (String) async throws -> Bitmap = { prompt in
        prompts.change { $0.append(prompt) }
        return plain(9, 9, 200)
      }
      for isConfigured in [true, false] {
        prompts.value = []
        let rig = try await context.playground {
          if isConfigured { $0.externalProvider = provider } else { $0.providerToSetUp = provider }
        }
        try rig.need(.externalProvider)
        let external = try rig.style("externalProvider")
        let usual = try await rig.present()
        try context.expect(
          !(await usual.session.offeredStyles()).contains(external), "no external provider unless it's listed", seen: "one")
        let sketch = try rig.style("sketch")
        let sheet = try await rig.present {
          $0.allowedStyles = [sketch, external]
          $0.defaultStyle = external
        }
        try context.expect((await sheet.session.offeredStyles()).contains(external), "the external provider", seen: "none")
        if !isConfigured {
          try await rig.generate(sheet, expecting: .settingUpProvider, "no provider is configured")
          try context.expectEqual(sheet.callbacks.entries, [], "what the app is told while the person sets it up:")
          await sheet.session.finishProviderSetup()
        }
        try await rig.generate(sheet)
        try context.expectEqual(prompts.value.count, 1, "requests at the provider:")
        try context.expect(prompts.value.allSatisfy { $0.contains("a red boat") }, "the description", seen: "\(prompts.value)")
        try context.expectEqual(try rig.testDouble.runs.count, 0, "requests at the system's own engine:")
        try await rig.accept(sheet)
        let image = try context.decode((sheet.callbacks.files.first ?? nil) ?? Data(), "the file")
        try context.expectEqual(Array(image.samples.prefix(3)), [9, 9, 200], "the provider's picture:")
      }
    },
    SurfaceCheck(
      "P-12", "In the style emoji accepting gives a glyph and no file, in any other a file and no glyph.", level: .normative,
      group: .playground, environments: [.scripted, .engine]
    ) { context in
      let rig = try await context.playground()
      for name in ["emoji", "sketch", "illustration", "animation"] {
        let style = try rig.style(name)
        let sheet = try await rig.present {
          $0.allowedStyles = [style]
          $0.options.size = CGSize(width: 1536, height: 1024)
        }
        try await rig.generate(sheet)
        try await rig.accept(sheet)
        try context.expectEqual(sheet.callbacks.urls.count, name == "emoji" ? 0 : 1, "\(name): files")
        try context.expectEqual(sheet.callbacks.glyphs.count, name == "emoji" ? 1 : 0, "\(name): glyphs")
        guard let glyph = sheet.callbacks.glyphs.first else { continue }
        let image = try context.decode(glyph.png, "the glyph")
        try context.expectEqual(image.width, image.height, "the glyph's height and width:")
        try context.expect(image.channels == 2 || image.channels == 4, "an alpha channel", seen: "\(image.channels) channels")
        let alpha = (0..<(image.width * image.height)).map { image.samples[$0 * image.channels + image.channels - 1] }
        try context.expect(alpha.contains(0), "a transparent background", seen: "no transparent pixel")
        try context.expect(alpha.contains(255), "an opaque subject", seen: "no opaque pixel")
        let corners = [0, image.width - 1, alpha.count - image.width, alpha.count - 1]
        try context.expect(corners.allSatisfy { alpha[$0] == 0 }, "transparent corners", seen: "\(corners.map { alpha[$0] })")
        try context.expect(
          glyph.description.contains("a red boat"), "a description of what it shows", seen: "'\(glyph.description)'")
      }
    },
    SurfaceCheck(
      "P-13", "Personalization is on by default; disabled, there's no picker of people and no names are found.",
      level: .normative, group: .playground
    ) { context in
      let rig = try await context.playground {
        $0.people = [PlaygroundSurface.Person(name: "Anna", appearance: "a woman with short red hair")]
      }
      try rig.need(.people)
      try context.expectEqual(rig.implementation.isPersonalizedByDefault, true, "personalization by default:")
      let style = try rig.style("illustration")
      for personalization in [nil] + PlaygroundSurface.Personalization.allCases.map(Optional.init) {
        let sheet = try await rig.present {
          $0.concepts = [.text("Anna on a red boat")]
          $0.options.personalization = personalization
          $0.allowedStyles = [style]
        }
        let isOn = personalization != .disabled
        let name = personalization?.rawValue ?? "not set"
        try context.expectEqual(await sheet.session.offersPeople(), isOn, "personalization \(name): a picker of people")
        try context.expectEqual(await sheet.session.detectedNames(), isOn ? ["Anna"] : [], "personalization \(name): names")
        let request = try await rig.generate(sheet)
        guard rig.implementation.capabilities.contains(.visibleRequests), let prompt = request?.prompt else { continue }
        try context.expectEqual(
          prompt.contains("short red hair"), isOn, "personalization \(name): the person's looks in the prompt '\(prompt)'")
      }
    },
    SurfaceCheck(
      "P-16", "When the limit of images is reached the sheet says so; the app is told nothing and has nothing to do.",
      level: .normative, group: .playground
    ) { context in
      let rig = try await context.playground { $0.usageLimit = 2 }
      try rig.need(.usageLimit)
      let style = try rig.style("illustration")
      let sheet = try await rig.present { $0.allowedStyles = [style] }
      for _ in 0..<2 { try await rig.generate(sheet) }
      try await rig.generate(sheet, expecting: .usageLimitReached, "a third image of two")
      try context.expectEqual(try rig.testDouble.runs.count, 2, "requests at the engine:")
      try context.expectEqual(sheet.callbacks.entries, [], "what the app is told:")
      // What was made before can still be accepted.
      try await rig.accept(sheet)
      try context.expectEqual(sheet.callbacks.urls.count, 1, "files:")
    },
    SurfaceCheck(
      deviceOnly: "P-17", "The view controller takes concepts and options before it's presented, and its delegate gets the file.",
      level: .normative, group: .playground,
      reason: "needs UIKit or AppKit; the headless sheet beneath it is judged by P-03 to P-13"),
  ]
}
