import Conformance
import ConformanceDoubles
import Foundation
import GenBackend
import Imaging
import PlaygroundKit
import Tensors
import Testing

/// What the sheet does that the checks of the catalogue don't ask.
@MainActor struct SessionTests {
  private func presentation(_ told: Locked<[String]>, _ change: (inout ImagePlaygroundPresentation) -> Void = { _ in })
    -> ImagePlaygroundPresentation
  {
    var presentation = ImagePlaygroundPresentation(
      concepts: [.text("a boat")], onCompletion: { url in told.change { $0.append("file \(url.pathExtension)") } },
      onAdaptiveImageGlyphCreation: { _ in told.change { $0.append("glyph") } },
      onCancellation: { told.change { $0.append("cancelled") } })
    change(&presentation)
    return presentation
  }

  @Test func theBindingFollowsThePerson() async throws {
    let (system, _) = try await scriptedSystem()
    let told = Locked<[String]>([])
    let sheet = ImagePlaygroundSheet(presentation(told), on: system)
    #expect(!sheet.isPresented && sheet.isAvailable)
    sheet.isPresented = true
    let session = try #require(sheet.session)
    sheet.isPresented = true
    #expect(sheet.session === session, "presenting a sheet that's there changes nothing")
    await session.generate()
    try session.accept()
    #expect(!sheet.isPresented && told.value == ["file png"])

    sheet.isPresented = true
    sheet.session?.cancel()
    #expect(!sheet.isPresented && told.value == ["file png", "cancelled"])
    // Taken away by the app: no word.
    sheet.isPresented = true
    sheet.isPresented = false
    #expect(!sheet.isPresented && told.value.count == 2)
  }

  @Test func theFileLivesUntilTheNextPresentation() async throws {
    let (system, _) = try await scriptedSystem()
    let urls = Locked<[URL]>([])
    var own = ImagePlaygroundPresentation(concepts: [.text("a boat")])
    own.onCompletion = { url in urls.change { $0.append(url) } }
    let sheet = ImagePlaygroundSheet(own, on: system)
    sheet.isPresented = true
    await sheet.session?.generate()
    try sheet.session?.accept()
    let url = try #require(urls.value.first)
    #expect(FileManager.default.fileExists(atPath: url.path))
    sheet.isPresented = true
    #expect(!FileManager.default.fileExists(atPath: url.path))
  }

  @Test func anUnavailableSheetSaysWhy() async throws {
    var environment = PlaygroundEnvironment()
    environment.isEnabledByUser = false
    let (system, _) = try await scriptedSystem(environment: environment)
    let sheet = ImagePlaygroundSheet(ImagePlaygroundPresentation(), on: system)
    sheet.isPresented = true
    #expect(!sheet.isPresented && !sheet.isAvailable && sheet.lastError?.code == .unavailable)
    #expect(sheet.lastError?.message.contains("turned off") == true)
  }

  @Test func conceptsStyleAndSizeReachTheEngine() async throws {
    let (system, backend) = try await scriptedSystem()
    var options = ImagePlaygroundOptions()
    options.sizeSpecification = .closest(to: CGSize(width: 1600, height: 900))
    let session = try ImagePlaygroundSession(
      presentation(Locked([])) {
        $0.options = options
        $0.allowedStyles = [.sketch, .any]
      }, on: system)
    session.type("  at dawn ")
    session.add(.extracted(from: "with two sailors"))
    await session.generate()
    let first = try #require(backend.runs.last?.request)
    #expect(first.prompt == "a boat, with two sailors, at dawn, hand-drawn pencil sketch on white paper, cross-hatching")
    #expect(first.negativePrompt?.contains("photograph") == true && first.steps == 4 && first.seed == 7)
    // 1024 x 576 at the area that the model was made for, in steps of 8.
    #expect(first.size == ImageSize(width: 680, height: 384))
    #expect(session.images.last.map { [$0.width, $0.height] } == [1024, 576])
    session.removeConcept(at: 1)
    session.removeConcept(at: 99)
    try session.pick(.any)
    await session.generate()
    #expect(backend.runs.last?.request.prompt == "a boat, at dawn" && backend.runs.last?.request.seed == 8)
    #expect(backend.runs.last?.request.negativePrompt == nil)
  }

  @Test func theSelectedImageIsAcceptedInItsOwnStyle() async throws {
    let (system, _) = try await scriptedSystem()
    let told = Locked<[String]>([])
    let session = try ImagePlaygroundSession(presentation(told) { $0.allowedStyles = [.emoji, .sketch] }, on: system)
    await session.generate()
    try session.pick(.sketch)
    await session.generate()
    #expect(session.selectedImage == 1 && session.images.count == 2)
    try session.selectImage(0)
    #expect(throws: ImagePlaygroundError.self) { try session.selectImage(2) }
    try session.accept()
    #expect(told.value == ["glyph"] && session.phase == .accepted)
    #expect(throws: ImagePlaygroundError.self) { try session.accept() }
    #expect(throws: ImagePlaygroundError.self) { try session.pick(.sketch) }
    #expect(await session.generate() == .accepted)
  }

  @Test func stoppingLeavesTheSheetAndCancellingStopsTheEngine() async throws {
    let (system, backend) = try await scriptedSystem()
    let told = Locked<[String]>([])
    let session = try ImagePlaygroundSession(presentation(told), on: system)
    for leaves in [false, true] {
      let gate = backend.pauseNextRun(afterSteps: 1)
      let work = Task { await session.generate() }
      while session.phase != .generating || !backend.isRunning { await Task.yield() }
      #expect(throws: ImagePlaygroundError.self) { try session.accept() }
      #expect(await session.generate() == .generating, "one image at a time")
      if leaves { session.cancel() } else { session.stopGenerating() }
      gate.open()
      _ = await work.value
      #expect(session.phase == (leaves ? .cancelled : .editing) && session.images.isEmpty)
      #expect(backend.runs.last?.error?.code == .cancelled)
    }
    #expect(told.value == ["cancelled"])
  }

  @Test func aFilteredImageIsNotShown() async throws {
    var script = Script()
    script.flaggedImages = [0]
    let (system, _) = try await scriptedSystem(script, safety: .required)
    let session = try ImagePlaygroundSession(presentation(Locked([])), on: system)
    guard case .failed(let why) = await session.generate() else {
      Issue.record("expected a failure")
      return
    }
    #expect(why.contains("can't be shown") && session.images.isEmpty)
  }

  @Test func strategyAndVarietyChangeTheRequest() async throws {
    let (system, backend) = try await scriptedSystem()
    var strengths: [Double] = []
    for strategy in ImagePlaygroundOptions.CreationStrategy.allCases {
      var options = ImagePlaygroundOptions()
      options.creationStrategy = strategy
      let session = try ImagePlaygroundSession(
        presentation(Locked([])) {
          $0.sourceImage = plain(512, 512)
          $0.options = options
        }, on: system)
      await session.generate()
      strengths.append(backend.runs.last?.request.strength ?? 0)
    }
    #expect(strengths == [0.75, 0.4, 0.75], "automatic, editExisting, generateNew")

    var distances: [ImagePlaygroundOptions.CreationVariety: Double] = [:]
    for variety in [ImagePlaygroundOptions.CreationVariety.low, .automatic, .high] {
      var options = ImagePlaygroundOptions()
      options.creationVariety = variety
      let session = try ImagePlaygroundSession(presentation(Locked([])) { $0.options = options }, on: system)
      for _ in 0..<2 { await session.generate() }
      let requests = backend.runs.suffix(2).map(\.request)
      #expect((requests[0].prompt == requests[1].prompt) == (variety != .high))
      let noise = requests.map { request -> [Float] in
        if let latents = request.latents { return latents.elements }
        var source = RandomSource.torch.makeNoiseSource(seed: request.seed ?? 0)
        return source.normals(shape: [1, 4, 64, 64]).elements
      }
      let difference = zip(noise[0], noise[1]).map { Double($0 - $1) * Double($0 - $1) }.reduce(0, +) / Double(noise[0].count)
      distances[variety] = difference.squareRoot()
      let spread = noise[1].map { Double($0) * Double($0) }.reduce(0, +) / Double(noise[1].count)
      #expect(abs(spread - 1) < 0.05, "the noise stays unit-normal")
    }
    // Independent normals are √2 apart; those that share cos α of it 2·sin(α/2).
    #expect(abs((distances[.automatic] ?? 0) - 2.0.squareRoot()) < 0.03)
    #expect(abs((distances[.low] ?? 0) - 2 * sin(0.225)) < 0.03)
  }

  @Test func thePersonsPeopleComeIntoThePrompt() async throws {
    var environment = PlaygroundEnvironment()
    let anna = PlaygroundEnvironment.Person(name: "Anna", appearance: "a woman with red hair")
    let mary = PlaygroundEnvironment.Person(name: "Mary Ann", appearance: "a tall girl")
    environment.people = [anna, mary]
    let (system, backend) = try await scriptedSystem(environment: environment)
    let session = try ImagePlaygroundSession(
      presentation(Locked([])) { $0.concepts = [.text("Anna's boat, annabel")] }, on: system)
    #expect(session.detectedPeople == [anna])
    session.type("with mary ann")
    #expect(session.detectedPeople == [anna, mary])
    session.type("")
    try session.include(mary)
    try session.include(mary)
    await session.generate()
    #expect(
      backend.runs.last?.request.prompt.hasPrefix(
        "Anna's boat, annabel, Anna is a woman with red hair, Mary Ann is a tall girl, ") == true)
    var options = ImagePlaygroundOptions()
    options.personalization = .disabled
    let other = try ImagePlaygroundSession(presentation(Locked([])) { $0.options = options }, on: system)
    #expect(throws: ImagePlaygroundError.self) { try other.include(anna) }
  }

  @Test func theUsageComesBackAfterItsTime() async throws {
    let clock = Locked<UInt64>(0)
    let usage = PlaygroundUsage(limit: 1, window: .seconds(10)) { clock.value }
    let (scripted, backend) = try await scriptedSystem()
    let system = ImagePlaygroundSystem(backend: backend, model: scripted.model, usage: usage, settings: scripted.settings)
    let session = try ImagePlaygroundSession(presentation(Locked([])), on: system)
    // A failure takes nothing.
    backend.script.failure = (1, BackendError(.processingFailed, "no"))
    await session.generate()
    backend.script.failure = nil
    #expect(await session.generate() == .showing)
    #expect(await session.generate() == .usageLimitReached)
    clock.change { $0 = 10_000_000_000 }
    #expect(await session.generate() == .showing)
    let creator = try await ImageCreator(system: system)
    var iterator = creator.images(for: [.text("a boat")], style: .sketch, limit: 1).makeAsyncIterator()
    await #expect(throws: ImageCreator.Error.unavailable) { try await iterator.next() }
  }
}

/// ImageCreator beside its checks.
struct ImageCreatorTests {
  @Test func eachLoopBeginsAnewAndGivesTheSame() async throws {
    let (system, backend) = try await scriptedSystem()
    let images = try await ImageCreator(system: system).images(for: [.text("a boat")], style: .sketch, limit: 2)
    #expect(backend.runs.isEmpty, "nothing is made before the first one is awaited")
    var seen: [[Bitmap]] = [[], []]
    for loop in 0..<2 { for try await image in images { seen[loop].append(image.bitmap) } }
    #expect(seen[0] == seen[1] && seen[0].count == 2 && seen[0][0] != seen[0][1])
  }

  @Test func theDocumentedLoopWorksWithTheSharedSystem() async throws {
    await #expect(throws: ImageCreator.Error.unavailable) { try await ImageCreator() }
    await #expect(throws: ImagePlaygroundError.self) {
      try await MainActor.run { _ = try ImagePlaygroundSession(ImagePlaygroundPresentation()) }
    }
    let (system, backend) = try await scriptedSystem()
    ImagePlaygroundSystem.configure(system)
    defer { ImagePlaygroundSystem.configure(nil) }
    let creator = try await ImageCreator()
    var first: Bitmap?
    for try await image in creator.images(for: [.text("a medieval castle")], style: .illustration, limit: 4) {
      first = image.bitmap
      break
    }
    #expect(first?.width == 512 && backend.runs.count == 1)
  }

  @Test func twoLoopsTakeTurns() async throws {
    let (system, backend) = try await scriptedSystem()
    let creator = try await ImageCreator(system: system)
    try await withThrowingTaskGroup(of: Int.self) { group in
      for index in 0..<3 {
        group.addTask {
          var count = 0
          for try await _ in creator.images(for: [.text("boat \(index)")], style: .sketch, limit: 2) { count += 1 }
          return count
        }
      }
      for try await count in group { #expect(count == 2) }
    }
    #expect(backend.runs.count == 6 && backend.runs.allSatisfy { $0.error == nil })
  }

  @Test func afterAnErrorTheSeriesIsOver() async throws {
    let (system, backend) = try await scriptedSystem()
    var iterator = try await ImageCreator(system: system).images(for: [.text("a boat")], style: .sketch, limit: 4)
      .makeAsyncIterator()
    backend.script.failure = (1, BackendError(.processingFailed, "no"))
    await #expect(throws: ImageCreator.Error.creationFailed) { try await iterator.next() }
    backend.script.failure = nil
    #expect(try await iterator.next() == nil)
  }

  @Test func twoImagesOrTwoDrawingsAreRefused() async throws {
    let (system, _) = try await scriptedSystem()
    let creator = try await ImageCreator(system: system)
    let drawing = ImagePlaygroundConcept.drawing(
      PlaygroundDrawing(strokes: [.init(points: [.init(x: 1, y: 1)])], canvas: CGSize(width: 9, height: 9)))
    for concepts in [[.image(plain(400, 400)), .image(plain(400, 400))], [drawing, drawing]] as [[ImagePlaygroundConcept]] {
      var iterator = creator.images(for: concepts, style: .sketch, limit: 1).makeAsyncIterator()
      await #expect(throws: ImageCreator.Error.unsupportedInputImage) { try await iterator.next() }
    }
  }

  @Test(arguments: [
    ("a red boat", true), ("ein rotes Boot", true), ("красная лодка", false), ("赤い船と静かな湖", true), ("قارب أحمر", false),
    ("a boat named Мир", true), ("12 + 34", true), ("", true), ("ສະບາຍດີ", false),
  ])
  func languagesAreToldByTheirScripts(_ text: String, _ isSupported: Bool) {
    #expect(PlaygroundLocales.usual.supports(text: text) == isSupported)
  }

  @Test func localesNeedLanguageAndRegion() {
    let locales = PlaygroundLocales(languages: ["en"], excludedRegions: ["CN"])
    #expect(locales.supports(Locale(identifier: "en_US")) && locales.supports(Locale(identifier: "en")))
    #expect(!locales.supports(Locale(identifier: "en_CN")) && !locales.supports(Locale(identifier: "fr_FR")))
  }
}
