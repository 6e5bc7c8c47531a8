import Foundation
import GenBackend

extension Catalogue {
  /// A folder that holds a working model: a copy of the small one, or a name for a scripted one.
  private static func putModel(_ context: CheckContext<DiffusionSurface>, in folder: URL) throws {
    switch context.subject.environment.kind {
    case .scripted:
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      try Data(#"{"scripted": "sd15"}"#.utf8).write(to: folder.appendingPathComponent("model_index.json"))
    case .engine:
      try FileManager.default.createDirectory(at: folder.deletingLastPathComponent(), withIntermediateDirectories: true)
      try copyModel(URL(fileURLWithPath: try context.modelPath(.sd15)), to: folder)
    }
  }

  /// Copies a model with what its links lead to, as an archive would hold it.
  private static func copyModel(_ source: URL, to target: URL) throws {
    let manager = FileManager.default
    try manager.copyItem(at: source, to: target)
    for path in try manager.subpathsOfDirectory(atPath: source.path) {
      let original = source.appendingPathComponent(path)
      guard try original.resourceValues(forKeys: [.isSymbolicLinkKey]).isSymbolicLink == true else { continue }
      let copy = target.appendingPathComponent(path)
      try manager.removeItem(at: copy)
      try manager.copyItem(at: original.resolvingSymlinksInPath(), to: copy)
    }
  }

  /// Load and state.
  static let loadChecks: [SurfaceCheck<DiffusionSurface>] = [
    SurfaceCheck(
      "D-11", "generateImage before any load throws notInitialized.", level: .normative, group: .diffusion,
      environments: [.scripted, .engine]
    ) { context in
      let record = try await context.rig().run(context.options())
      try context.expectFailure(record, [.notInitialized], "generating without a model")
    },
    SurfaceCheck(
      "D-12", "Loading a path that doesn't exist throws modelNotFound.", level: .normative, group: .diffusion,
      environments: [.scripted, .engine]
    ) { context in
      let rig = try await context.rig()
      let path =
        context.isScripted
        ? ScriptedModels.missing : try context.temporaryFolder().appendingPathComponent("none").path
      let failure = try await rig.tryLoad(.init(checksSafety: false), path: path)
      try context.expectEqual(failure?.code, .modelNotFound, "loading \(path): error")
      try context.expect(failure?.message.isEmpty == false, "a message", seen: "none")
    },
    SurfaceCheck(
      "D-13", "The loaded flag is false before a load, true after one, false after an unload and after a failed load.",
      level: .normative, group: .diffusion, environments: [.scripted, .engine], needs: [.unload]
    ) { context in
      let rig = try await context.rig()
      let flag = { () async throws in await rig.implementation.isLoaded() }
      try context.expectEqual(try await flag(), false, "before the load: loaded")
      _ = try await rig.tryLoad(.init(checksSafety: false), path: ScriptedModels.missing)
      try context.expectEqual(try await flag(), false, "after a failed load: loaded")
      try await rig.load(.init(checksSafety: false))
      try context.expectEqual(try await flag(), true, "after the load: loaded")
      try await rig.implementation.unload()
      try context.expectEqual(try await flag(), false, "after the unload: loaded")
      try context.expectFailure(try await rig.run(context.options()), [.notInitialized], "generating after the unload")
    },
    SurfaceCheck(
      "D-14", "After a failed load while another model is loaded, flag, id and what works agree.", level: .recommended,
      group: .diffusion, environments: [.scripted, .engine]
    ) { context in
      let rig = try await context.rig()
      try await rig.load(.init(checksSafety: false), id: "first")
      let failure = try await rig.tryLoad(.init(checksSafety: false), path: ScriptedModels.missing, id: "second")
      try context.expect(failure != nil, "the second load fails", seen: "success")
      let (isLoaded, id) = (await rig.implementation.isLoaded(), await rig.implementation.loadedID())
      let record = try await rig.run(context.options())
      let works: Bool = if case .success = record.outcome { true } else { false }
      try context.expectEqual(works, isLoaded, "the flag says \(isLoaded); the model works:")
      let allowed: [String?] = isLoaded ? ["first", nil] : [nil]
      try context.expect(
        allowed.contains(id), isLoaded ? "the id of the model that works" : "no id without a model", seen: id ?? "none")
    },
    SurfaceCheck(
      "D-15", "Loading the same path with another configuration applies the new one.", level: .recommended, group: .diffusion,
      environments: [.scripted, .engine], needs: [.safety]
    ) { context in
      let rig = try await context.loaded(.sd15, checksSafety: false)
      let before = try await rig.image(context.options())
      try context.expect(
        before.safety == nil || before.safety == .unchecked, "unchecked", seen: before.safety?.rawValue ?? "nothing told")
      try await rig.load(.init(checksSafety: true, reducesMemory: true))
      let after = try await rig.image(context.options())
      try context.expect(
        after.safety == .passed || after.safety == .filtered, "a checked image after the second load",
        seen: after.safety?.rawValue ?? "nothing told")
      if let load = rig.scripted?.loads.last {
        try context.expect(load.reduceMemory, "the engine is told to reduce memory", seen: "the first configuration")
      }
    },
    SurfaceCheck(
      "D-16", "Unloading twice is harmless; unloading during a generation waits for it or cancels it.", level: .contract,
      group: .diffusion, needs: [.unload]
    ) { context in
      let rig = try await context.loaded()
      let run = rig.start(context.options(), pauseAfterUpdates: 4)
      try await run.arrived()
      let unload = Task { try await rig.implementation.unload() }
      let returned = Watch(unload)
      await Timeout.letOthersRun { returned.isDone }
      try context.expect(
        !returned.isDone, "unload waits for the generation or for its cancelling",
        seen: "it returned while the engine was at work")
      run.open()
      try await rig.within("unload returns") { try await unload.value }
      try context.expect(
        rig.scripted?.isRunning == false, "nothing runs when unload has returned", seen: "the engine is at work")
      let record = try await run.value()
      if case .failure = record.outcome { try context.expectFailure(record, [.cancelled], "the generation that was unloaded") }
      try context.expectEqual(await rig.implementation.isLoaded(), false, "loaded after the unload:")
      try context.expectEqual(rig.scripted?.loadedModels, 0, "models that the engine still holds:")
      try await rig.within("a second unload returns") { try await rig.implementation.unload() }
    },
    SurfaceCheck(
      "D-17", "The loaded flag and id can be read while a generation runs.", level: .recommended, group: .diffusion
    ) { context in
      let rig = try await context.loaded()
      let run = rig.start(context.options(), pauseAfterUpdates: 3)
      try await run.arrived()
      let isLoaded = try await rig.within("the loaded flag is told during a generation") { await rig.implementation.isLoaded() }
      _ = try await rig.within("the id is told during a generation") { await rig.implementation.loadedID() }
      try context.expectEqual(isLoaded, true, "loaded during a generation:")
      try context.expect(!run.isFinished, "the generation still runs", seen: "it has ended")
      run.open()
      _ = try await run.value().result()
    },
    SurfaceCheck(
      deviceOnly: "D-18", "A first load of minutes doesn't block the main thread; the second is faster through its cache.",
      level: .normative, group: .diffusion,
      reason: "needs an Apple device: model compilation for its neural engine is what takes the minutes"),
    SurfaceCheck(
      "D-19", "A model without its tokenizer fails to load, with a message that names the part.", level: .recommended,
      group: .diffusion, environments: [.scripted, .engine]
    ) { context in
      let rig = try await context.rig()
      var path = ScriptedModels.withoutTokenizer
      if !context.isScripted {
        let folder = try context.temporaryFolder().appendingPathComponent("model")
        try putModel(context, in: folder)
        for name in try FileManager.default.contentsOfDirectory(atPath: folder.appendingPathComponent("tokenizer").path)
        where name.hasPrefix("vocab") || name.hasPrefix("tokenizer.json") || name.hasPrefix("merges") {
          try FileManager.default.removeItem(at: folder.appendingPathComponent("tokenizer/\(name)"))
        }
        path = folder.path
      }
      guard let failure = try await rig.tryLoad(.init(checksSafety: false), path: path) else {
        throw CheckFailure(expected: "the load fails", seen: "success")
      }
      try context.expect(
        [.modelLoadFailed, .modelNotFound].contains(failure.code), "error modelLoadFailed or modelNotFound",
        seen: failure.description)
      let message = failure.message.lowercased()
      try context.expect(
        ["tokenizer", "vocab", "merges"].contains { message.contains($0) }, "a message that names the missing part",
        seen: failure.message)
    },
    SurfaceCheck(
      "D-20", "A model is found at the root of an unpacked archive and one or two folders down.", level: .normative,
      group: .diffusion, environments: [.scripted, .engine]
    ) { context in
      for layers in ["", "wrapper", "outer/inner"] {
        let root = try context.temporaryFolder()
        let folder = root.appendingPathComponent("archive")
        try putModel(context, in: layers.isEmpty ? folder : folder.appendingPathComponent(layers))
        try FileManager.default.createDirectory(at: folder.appendingPathComponent("__MACOSX"), withIntermediateDirectories: true)
        let failure = try await context.rig().tryLoad(.init(checksSafety: false), path: folder.path)
        try context.expect(
          failure == nil, "the model loads from \(layers.isEmpty ? "the root" : "the folder \(layers)")",
          seen: failure?.description ?? "")
      }
    },
    SurfaceCheck(
      "D-64", "Before a load nothing claims that a model is ready.", level: .recommended, group: .diffusion,
      environments: [.scripted, .engine]
    ) { context in
      let rig = try await context.rig()
      try context.expectEqual(await rig.implementation.isLoaded(), false, "loaded before a load:")
      let id = await rig.implementation.loadedID()
      try context.expect(id == nil, "no id before a load", seen: id ?? "")
    },
  ]
}

/// Tells whether a task has ended, without waiting for it.
final class Watch: Sendable {
  private let flag = Flag()

  init<Success: Sendable>(_ task: Task<Success, any Error>) {
    let flag = flag
    Task {
      _ = await task.result
      flag.set()
    }
  }

  var isDone: Bool { flag.isSet }
}
