import Foundation

extension Catalogue {

  /// M-01 to M-09, M-16 to M-20, M-22: what is registered and what is here.
  static let registryStoreChecks: [SurfaceCheck<RegistrySurface>] = [
    SurfaceCheck(
      "M-01", "A registered model is listed at once, with all that it was registered with.", level: .normative, group: .models
    ) { context in
      let rig = try await RegistryRig.make(context)
      let single = RegistrySurface.Registration(id: "one", name: "One file", files: [rig.file("x.bin")], memory: 2_000_000_000)
      let multi = RegistrySurface.Registration(
        id: "two", name: "Two files", files: [rig.file("a.gguf"), rig.file("b.gguf")], kind: .multiFile, memory: 365_000_000)
      for registration in [single, multi] {
        try await rig.register(registration)
        let model = try await rig.model(registration.id)
        let labels = rig.implementation.labels(registration.kind)
        try context.expectEqual(model.name, registration.name, "name:")
        try context.expectEqual(model.framework, labels.framework, "framework:")
        try context.expectEqual(model.modality, labels.modality, "modality:")
        try context.expectEqual(model.memory, registration.memory, "memory:")
      }
      try context.expectEqual(
        try await rig.must("available", { try await $0.available() }).map(\.id).sorted(), ["one", "two"], "models:")
    },
    SurfaceCheck(
      "M-02", "A model has no path until all of it is downloaded, and then one that exists.", level: .normative, group: .models
    ) { context in
      let rig = try await RegistryRig.make(context)
      var files = rig.pair()
      files[1] = rig.put(
        "b.gguf", Data("GGUF".utf8) + RegistryRig.content(2000), faults: Array(repeating: .status(404), count: 9))
      try await rig.register(.init(id: "m", files: files, kind: .multiFile))
      try context.expect(try await rig.model("m").localPath == nil, "no path before the download", seen: "one")
      _ = try await rig.download("m")
      try context.expect(try await rig.model("m").localPath == nil, "no path when half of it came", seen: "one")
      _ = rig.pair()
      let path = try await rig.fetch("m").localPath
      try context.expect(
        path.map { FileManager.default.fileExists(atPath: $0.path) } ?? false, "a path that exists", seen: path?.path ?? "none")
    },
    SurfaceCheck(
      "M-03", "The path of a model of several files is its main file or the folder, never the projector.", level: .recommended,
      group: .models
    ) {
      context in
      let rig = try await RegistryRig.make(context)
      try await rig.register(.init(id: "m", files: rig.pair(), kind: .multiFile))
      guard let path = try await rig.fetch("m").localPath else { throw CheckFailure(expected: "a path", seen: "none") }
      var isFolder: ObjCBool = false
      guard FileManager.default.fileExists(atPath: path.path, isDirectory: &isFolder) else {
        throw CheckFailure(expected: "a path that exists", seen: path.path)
      }
      let main = isFolder.boolValue ? path.appendingPathComponent("a.gguf") : path
      let wanted = Data("GGUF".utf8) + RegistryRig.content(2996)
      try context.expect(
        (try? Data(contentsOf: main)) == wanted, "the main file, or a folder with it",
        seen: "\(path.lastPathComponent) with other content")
    },
    SurfaceCheck("M-05", "Downloading an unknown model fails with modelNotFound.", level: .contract, group: .models) { context in
      let rig = try await RegistryRig.make(context)
      try rig.expect(try await rig.download("none").failure, [.modelNotFound], "the download of a model that isn't registered")
    },
    SurfaceCheck(
      "M-08", "The memory that a model needs and the bytes that are transferred are two things.", level: .normative,
      group: .models
    ) {
      context in
      let rig = try await RegistryRig.make(context)
      try await rig.register(.init(id: "m", files: rig.pair(), kind: .multiFile, memory: 365_000_000))
      for _ in 0..<2 {
        let model = try await rig.model("m")
        try context.expectEqual(model.memory, 365_000_000, "memory:")
        if let size = model.downloadSize { try context.expectEqual(size, 5000, "bytes to transfer:") }
        try await rig.fetch("m")
      }
    },
    SurfaceCheck(
      "M-09", "Of two registrations of one id the last wins, or the second fails; what can't be registered fails.",
      level: .recommended, group: .models
    ) {
      context in
      let rig = try await RegistryRig.make(context)
      var outcomes: [String] = []
      for id in ["p", "q"] {
        try await rig.register(.init(id: id, name: "first", files: [rig.file("x.bin")]))
        let failure = await rig.failure {
          try await rig.implementation.register(.init(id: id, name: "second", files: [rig.file("y.bin")]))
        }
        let models = try await rig.must("available", { try await $0.available() }).filter { $0.id == id }
        try context.expectEqual(models.count, 1, "models of the id '\(id)':")
        try context.expectEqual(models[0].name, failure == nil ? "second" : "first", "its name:")
        outcomes.append(failure == nil ? "last wins" : "refused")
      }
      try context.expectEqual(outcomes[1], outcomes[0], "the same outcome each time:")
      var address = rig.file("x.bin")
      address.url = "ftp://example.org/x.bin"
      for (what, registration) in [
        ("an empty id", RegistrySurface.Registration(id: "", files: [rig.file("x.bin")])),
        ("no files", .init(id: "none", files: [], kind: .multiFile)),
        ("an address that can't be one", .init(id: "bad", files: [address])),
      ] {
        try rig.expect(await rig.failure { try await rig.implementation.register(registration) }, [.invalidInput], what)
      }
      try context.expectEqual(try await rig.must("available", { try await $0.available() }).count, 2, "models in the end:")
    },
    SurfaceCheck(
      "M-16", "Deleting removes the files and the path; a loaded model's files stay, or it's unloaded first.",
      level: .recommended,
      group: .models
    ) { context in
      let rig = try await RegistryRig.make(context)
      try rig.need(.deletion)
      let content = RegistryRig.content(5000)
      try await rig.register(.init(id: "m", files: [rig.put("m.bin", content)]))
      guard let path = try await rig.fetch("m").localPath else { throw CheckFailure(expected: "a path", seen: "none") }
      try await rig.must("load", { try await $0.load("m") })
      let failure = await rig.failure { try await rig.implementation.delete("m") }
      if failure == nil {
        try context.expect(
          !(await rig.implementation.isLoaded("m")), "a model that is unloaded before it's deleted", seen: "it's loaded")
      } else {
        try rig.expect(failure, [.busy], "deleting a loaded model")
        try context.expect(FileManager.default.fileExists(atPath: path.path), "the loaded model's file there", seen: "it's gone")
      }
      try await rig.must("unload", { try await $0.unload("m") })
      if failure != nil {
        let second = await rig.failure { try await rig.implementation.delete("m") }
        try context.expect(
          second == nil, "deleting the unloaded model succeeds", seen: CheckContext<RegistrySurface>.shown(second))
      }
      try context.expectEqual(rig.copies(of: content), [], "files of the deleted model:")
      try context.expect(try await rig.model("m").localPath == nil, "no path after deleting", seen: "one")
    },
    SurfaceCheck(
      "M-17", "Registrations and downloads survive a restart, and are seen without a network.", level: .recommended,
      group: .models
    ) { context in
      let rig = try await RegistryRig.make(context)
      try await rig.register(.init(id: "one", files: [rig.put("m.bin", RegistryRig.content(500))]))
      try await rig.register(.init(id: "two", files: rig.pair(), kind: .multiFile))
      try await rig.fetch("one")
      try await rig.fetch("two")
      let before = try await rig.must("available", { try await $0.available() })
      rig.server.stop()
      let later = try await rig.restarted()
      try context.expectEqual(try await later.must("available", { try await $0.available() }), before, "models after a restart:")
      for id in ["one", "two"] {
        let download = try await later.download(id)
        try context.expect(
          download.failure == nil, "'\(id)' downloaded already", seen: CheckContext<RegistrySurface>.shown(download.failure))
      }
    },
    SurfaceCheck(
      "M-18", "Models that are built in aren't counted as storage; the others count with their bytes on the disk.",
      level: .recommended, group: .models
    ) {
      context in
      let rig = try await RegistryRig.make(context)
      try rig.need(.storage)
      try await rig.register(.init(id: "m", files: [rig.put("m.bin", RegistryRig.content(5000))]))
      try await rig.register(.init(id: "two", files: rig.pair(3000, 2000), kind: .multiFile))
      if rig.implementation.capabilities.contains(.builtIn) {
        let file = rig.folder.appendingPathComponent("built-in.bin")
        try RegistryRig.content(700).write(to: file)
        try await rig.register(
          .init(id: "built-in", files: [.init(url: file.absoluteString, name: "built-in.bin")], kind: .builtIn))
      }
      try await rig.fetch("m")
      try await rig.fetch("two")
      try context.expectEqual(
        try await rig.must("storage", { try await $0.storage() }).filter { $0.value > 0 }, ["m": 5000, "two": 5000],
        "bytes by model:")
    },
    SurfaceCheck(
      "M-20", "Before the SDK is initialised the list of models fails with notInitialized.", level: .contract, group: .models
    ) { context in
      let rig = try await RegistryRig.make(context, isInitialized: false)
      try rig.expect(await rig.failure { _ = try await rig.implementation.available() }, [.notInitialized], "the list of models")
    },
    SurfaceCheck(
      "M-22", "Unloading what isn't loaded does nothing; forgetting a model that's unknown, loaded, or has files fails.",
      level: .contract, group: .models
    ) { context in
      let rig = try await RegistryRig.make(context)
      try rig.need(.deletion)
      try await rig.register(.init(id: "m", files: [rig.put("m.bin", RegistryRig.content(500))]))
      let idle = await rig.failure { try await rig.implementation.unload("m") }
      try context.expect(
        idle == nil, "an unload without a loaded model that does nothing", seen: CheckContext<RegistrySurface>.shown(idle))
      try rig.expect(
        await rig.failure { try await rig.implementation.unregister("none") }, [.modelNotFound], "forgetting an unknown model")
      try await rig.fetch("m")
      try await rig.must("load", { try await $0.load("m") })
      try rig.expect(await rig.failure { try await rig.implementation.unregister("m") }, [.busy], "forgetting a loaded model")
      try await rig.must("unload", { try await $0.unload("m") })
      try rig.expect(
        await rig.failure { try await rig.implementation.unregister("m") }, [.busy], "forgetting a model whose files are here")
      try await rig.must("delete", { try await $0.delete("m") })
      try await rig.must("unregister", { try await $0.unregister("m") })
      try context.expect(try await rig.listed("m") == nil, "a model that isn't listed any more", seen: "it is")
    },
  ]
}
