import Foundation
import GenBackend
import Tensors

extension Catalogue {
  /// A grey picture.
  private static func grey(_ width: Int, _ height: Int) -> Bitmap {
    Bitmap(width: width, height: height, samples: [UInt8](repeating: 127, count: width * height * 3))
  }

  /// Sizes of all kinds, by a seed.
  private static func randomSizes(_ count: Int) -> [CGSize] {
    var random: UInt64 = 20
    return (0..<count).map { _ in
      let sides = (0..<2).map { _ in
        let unit = Double(SplitMix.next(&random) >> 11) / 9_007_199_254_740_992
        return exp(log(1) + unit * log(20_000))
      }
      return CGSize(width: sides[0], height: sides[1])
    }
  }

  /// Image Playground: sizes, styles, and ImageCreator.
  static let playgroundCreatorChecks: [SurfaceCheck<PlaygroundSurface>] = [
    SurfaceCheck(
      "P-14",
      "closest(to:) gives a size of a fixed set for every size, the same each time, itself for a member, wide for wide and tall for tall.",
      level: .normative, group: .playground, environments: [.scripted, .engine]
    ) { context in
      let implementation = try await context.playground().implementation
      let supported = implementation.supportedSizes
      try context.expect(!supported.isEmpty, "supported sizes", seen: "none")
      let squares = supported.filter { $0.width == $0.height }
      try context.expectEqual(
        implementation.defaultSize, squares.min { $0.width < $1.width } ?? .zero, "the default, the smallest square:")
      for size in supported {
        try context.expectEqual(implementation.closestSize(size), size, "the closest size to the member \(size):")
      }
      for size in randomSizes(2000) {
        guard let closest = implementation.closestSize(size) else {
          throw CheckFailure(expected: "a size for \(size)", seen: "none")
        }
        try context.expect(supported.contains(closest), "a supported size for \(size)", seen: "\(closest)")
        try context.expectEqual(implementation.closestSize(size), closest, "the closest size to \(size), asked again:")
        let aspect = size.width / size.height
        if aspect > 1.3 { try context.expect(closest.width > closest.height, "a wide size for \(size)", seen: "\(closest)") }
        if aspect < 1 / 1.3 { try context.expect(closest.width < closest.height, "a tall size for \(size)", seen: "\(closest)") }
        if aspect > 1 { try context.expect(closest.width >= closest.height, "no tall size for \(size)", seen: "\(closest)") }
      }
      for side in [1.0, 100, 700, 1000, 1024, 5000] {
        let closest = implementation.closestSize(CGSize(width: side, height: side))
        try context.expect(closest?.width == closest?.height, "a square for \(side) x \(side)", seen: "\(closest ?? .zero)")
      }
      let extremes = [
        CGSize(width: 1e-300, height: 1e300), CGSize(width: 1e300, height: 1e-300),
        CGSize(width: CGFloat.greatestFiniteMagnitude, height: .greatestFiniteMagnitude),
        CGSize(width: CGFloat.leastNonzeroMagnitude, height: .leastNonzeroMagnitude),
      ]
      for size in extremes {
        let closest = implementation.closestSize(size)
        try context.expect(closest.map(supported.contains) == true, "a supported size for \(size)", seen: "\(closest ?? .zero)")
      }
    },
    SurfaceCheck(
      "P-15", "closest(to:) of zero, negative and non-finite sizes is refused or the smallest square, and never traps.",
      level: .recommended, group: .playground
    ) { context in
      let implementation = try await context.playground().implementation
      let smallest = implementation.supportedSizes.filter { $0.width == $0.height }.min { $0.width < $1.width }
      let sides: [CGFloat] = [0, -0.0, -1, -.infinity, .infinity, .nan, 512, -.greatestFiniteMagnitude]
      for width in sides {
        for height in sides where !(width == 512 && height == 512) {
          let closest = implementation.closestSize(CGSize(width: width, height: height))
          try context.expect(
            closest == nil || closest == smallest, "a refusal or the smallest square for \(width) x \(height)",
            seen: "\(closest ?? .zero)")
        }
      }
    },
    SurfaceCheck(
      "P-18", "A creator can't be made where the device or the version of the system can't; without a model it's unavailable.",
      level: .contract, group: .playground
    ) { context in
      let cases: [(String, PlaygroundSurface.CreatorError, @Sendable (inout PlaygroundSurface.Setup) -> Void)] = [
        ("a device that can't", .notSupported, { $0.isDeviceCapable = false }),
        ("a system without ImageCreator", .notSupported, { $0.offersCreator = false }),
        ("no model", .unavailable, { $0.hasModel = false }), ("turned off", .unavailable, { $0.isEnabledByUser = false }),
      ]
      for (what, wanted, change) in cases {
        let rig = try await context.playground(change)
        try rig.need(.creator)
        switch try await rig.tryCreator() {
        case .success: throw CheckFailure(expected: "\(what): \(wanted.rawValue)", seen: "a creator")
        case .failure(let error):
          let seen = rig.implementation.failure(error)
          try context.expect(seen.code == wanted, "\(what): \(wanted.rawValue)", seen: seen.code?.rawValue ?? "\(error)")
        }
      }
      _ = try await context.playground().creator()
    },
    SurfaceCheck(
      "P-19", "There are as many images as the limit says, at most four; none for a limit below one.", level: .contract,
      group: .playground, environments: [.scripted, .engine]
    ) { context in
      let rig = try await context.playground()
      try rig.need(.creator)
      let limits = context.isScripted ? [1, 2, 4, 5, 100, 0, -1, Int.min, Int.max] : [2, 0]
      for limit in limits {
        let series = try await rig.series(limit: limit)
        try context.expect(series.failure == nil, "no error with the limit \(limit)", seen: series.errorText)
        try context.expectEqual(series.images.count, min(max(limit, 0), 4), "images with the limit \(limit):")
        try context.expectEqual(Set(series.images).count, series.images.count, "images that differ:")
      }
    },
    SurfaceCheck(
      "P-20", "A style that isn't among the available ones makes no image.", level: .contract, group: .playground
    ) { context in
      let rig = try await context.playground()
      let creator = try await rig.creator()
      try context.expect(!creator.availableStyles.isEmpty, "available styles", seen: "none")
      let external = try rig.style("externalProvider")
      try context.expect(!creator.availableStyles.contains(external), "no external provider among them", seen: "it")
      for style in ["no-such-style", "", external] {
        try context.expectError(try await rig.series(style: style), .creationFailed, "the style '\(style)'")
      }
      for style in creator.availableStyles {
        try context.expectEqual(try await rig.series(style: style).images.count, 1, "images of the style \(style):")
      }
    },
    SurfaceCheck(
      "P-21", "Cancelling the task ends the series with creationCancelled, and no image comes after.", level: .contract,
      group: .playground
    ) { context in
      let rig = try await context.playground()
      let creator = try await rig.creator()
      let gate = try rig.testDouble.pauseNextRun(afterSteps: 2)
      let style = try rig.style("illustration")
      let task = Task { () -> (PlaygroundRig.ThrownFailure?, Int) in
        let next = creator.images([.text("a red boat")], style, 4)
        var made = 0
        do {
          while try await next() != nil { made += 1 }
          return (nil, made)
        } catch {
          let failure = rig.implementation.failure(error)
          // Asking on gives nothing.
          if ((try? await next()) ?? nil) != nil { made += 100 }
          return (failure, made)
        }
      }
      try await rig.within("the engine is at work") { _ = await gate.arrival() }
      task.cancel()
      gate.open()
      let (failure, made) = try await rig.within("the series ends") { await task.value }
      try context.expect(
        failure?.code == .creationCancelled, "creationCancelled",
        seen: failure.map { $0.code?.rawValue ?? "an unknown error" } ?? "no error")
      try context.expectEqual(made, 0, "images:")
      try context.expectEqual(try rig.testDouble.runs.count, 1, "requests at the engine:")
      try context.expect((try rig.testDouble.runs[0]).stepsDone < 4, "an engine that was stopped", seen: "all steps")
    },
    SurfaceCheck(
      "P-22", "Leaving the loop after the first image stops the work.", level: .normative, group: .playground,
      environments: [.scripted, .engine]
    ) { context in
      let rig = try await context.playground()
      let creator = try await rig.creator()
      let style = try rig.style("illustration")
      let next = creator.images([.text("a red boat")], style, 4)
      if context.isScripted {
        await rig.settle()
        try context.expectEqual(try rig.testDouble.runs.count, 0, "requests at the engine before the first image is awaited:")
      }
      let first = try await rig.within("the first image is made") {
        do { return try await next() } catch { throw CheckFailure(expected: "an image", seen: "\(error)") }
      }
      try context.expect(first != nil, "an image", seen: "none")
      await rig.settle()
      guard context.isScripted else { return }
      try context.expectEqual(try rig.testDouble.runs.map(\.request.imageCount), [1], "images that the engine was asked for:")
      try context.expect(try !rig.testDouble.isRunning, "an engine at rest", seen: "one at work")
      let again = try await rig.series()
      try context.expectEqual(again.images.count, 1, "images of the next series:")
    },
    SurfaceCheck(
      "P-23", "In the background no image is made, and the error says so.", level: .contract, group: .playground
    ) { context in
      let rig = try await context.playground { $0.isInBackground = true }
      try rig.need(.creator)
      try context.expectError(try await rig.series(), .backgroundCreationForbidden, "in the background")
      try context.expectEqual(try rig.testDouble.runs.count, 0, "requests at the engine:")
    },
    SurfaceCheck(
      "P-24", "Each of the nine errors can be reached, and is told from the others.", level: .contract, group: .playground
    ) { context in
      var reached: Set<PlaygroundSurface.CreatorError> = []
      typealias Change = @Sendable (inout PlaygroundSurface.Setup) -> Void
      let boat: [PlaygroundSurface.Concept] = [.text("a red boat")]
      let cases: [(PlaygroundSurface.CreatorError, Change, [PlaygroundSurface.Concept])] = [
        (.notSupported, { $0.isDeviceCapable = false }, boat), (.unavailable, { $0.hasModel = false }, boat),
        (.faceInImageTooSmall, { $0.faceSide = 8 }, boat + [.image(grey(512, 512))]),
        (.unsupportedLanguage, { _ in }, [.text("красная лодка на тихом озере")]),
        (.unsupportedInputImage, { _ in }, boat + [.image(grey(8, 8))]),
        (.backgroundCreationForbidden, { $0.isInBackground = true }, boat), (.creationFailed, { _ in }, []),
        (
          .conceptsRequirePersonIdentity, { $0.people = [PlaygroundSurface.Person(name: "Anna", appearance: nil)] },
          [.text("Anna on a red boat")]
        ),
      ]
      for (error, change, concepts) in cases {
        let rig = try await context.playground(change)
        try rig.need(.creator)
        if error == .conceptsRequirePersonIdentity { try rig.need(.people) }
        try context.expectError(try await rig.series(concepts), error, "what should end with \(error.rawValue)")
        reached.insert(error)
      }
      // Where nothing is wrong with them, faces, images and people are taken.
      let rig = try await context.playground {
        $0.faceSide = 300
        $0.people = [PlaygroundSurface.Person(name: "Anna", appearance: "a woman with short red hair")]
      }
      let good = try await rig.series([.text("Anna on a red boat"), .image(grey(512, 512))])
      try context.expectEqual(good.images.count, 1, "images of good concepts (\(good.errorText)):")
      // The ninth needs a task to cancel.
      let creator = try await rig.creator()
      let gate = try rig.testDouble.pauseNextRun(afterSteps: 1)
      let style = try rig.style("sketch")
      let task = Task { () -> PlaygroundSurface.CreatorError? in
        do {
          _ = try await creator.images(boat, style, 1)()
          return nil
        } catch { return rig.implementation.failure(error).code }
      }
      try await rig.within("the engine is at work") { _ = await gate.arrival() }
      task.cancel()
      gate.open()
      if let error = try await rig.within("the series ends", { await task.value }) { reached.insert(error) }
      try context.expectEqual(
        reached.map(\.rawValue).sorted(), PlaygroundSurface.CreatorError.allCases.map(\.rawValue).sorted(),
        "errors that were reached:")
    },
    SurfaceCheck(
      "P-25", "After a failure of the engine the app has no image, and everything works again.", level: .normative,
      group: .playground
    ) { context in
      let rig = try await context.playground()
      let style = try rig.style("illustration")
      let sheet = try await rig.present { $0.allowedStyles = [style] }
      for code in [BackendError.Code.processingFailed, .outOfMemory, .invalidInput, .busy] {
        try rig.testDouble.script.failure = (2, BackendError(code, "the engine says so"))
        if rig.implementation.capabilities.contains(.creator) {
          try context.expectError(try await rig.series(), .creationFailed, "an engine's \(code.rawValue)")
        }
        try await rig.generate(sheet, expecting: .failed, "an engine's \(code.rawValue)")
        try context.expectEqual(sheet.callbacks.entries, [], "what the app is told:")
      }
      try rig.testDouble.script.failure = nil
      if rig.implementation.capabilities.contains(.creator) {
        try context.expectEqual(try await rig.series().images.count, 1, "images after the failures:")
      }
      try await rig.generate(sheet)
      try await rig.accept(sheet)
      try context.expectEqual(sheet.callbacks.urls.count, 1, "files:")
    },
    SurfaceCheck(
      "P-26", "Styles have stable identifiers, survive encoding, and are equal when their identifiers are.", level: .contract,
      group: .playground, environments: [.scripted, .engine]
    ) { context in
      let implementation = try await context.playground().implementation
      for name in ["animation", "illustration", "sketch", "emoji"] {
        try context.expectEqual(implementation.styles[name], name, "the identifier of the style \(name):")
      }
      let identifiers = Array(implementation.styles.values) + ["a-later-style"]
      try context.expectEqual(Set(identifiers).count, identifiers.count, "identifiers that differ:")
      for id in identifiers {
        let json = try implementation.encodedStyle(id)
        try context.expectEqual(try implementation.decodedStyle(json), id, "the style \(id) after encoding and decoding:")
        try context.expectEqual(try implementation.encodedStyle(id), json, "the style \(id), encoded again:")
      }
    },
    SurfaceCheck(
      deviceOnly: "P-27",
      "The styles photo, monochrome and fantasy, concepts of a person, and a sheet with one concept are not required.",
      level: .recommended, group: .playground,
      reason: "disputed: a note names them, but no public interface has them"),
    SurfaceCheck(
      "P-28", "Where images are made on servers, without a network they're unavailable at once.", level: .normative,
      group: .playground
    ) { context in
      let rig = try await context.playground {
        $0.isMadeOnServers = true
        $0.isOnline = false
      }
      if rig.implementation.capabilities.contains(.creator) {
        try context.expectError(try await rig.series(), .unavailable, "without a network")
      }
      let style = try rig.style("illustration")
      let sheet = try await rig.present { $0.allowedStyles = [style] }
      try await rig.generate(sheet, expecting: .failed, "without a network")
      try context.expectEqual(try rig.testDouble.runs.count, 0, "requests at the engine:")
      let device = try await context.playground { $0.isOnline = false }
      try await device.generate(try await device.present { $0.allowedStyles = [style] }, "on the device, without a network")
    },
  ]
}
