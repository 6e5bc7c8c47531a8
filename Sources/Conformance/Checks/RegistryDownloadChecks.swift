import Checkpoints
import Foundation

extension Catalogue {
  private static func expectLaw(_ fractions: [Double], _ what: String, _ context: CheckContext<RegistrySurface>) throws {
    try context.expect(!fractions.isEmpty, "\(what): some progress", seen: "none")
    try context.expect(fractions.allSatisfy { (0...1).contains($0) }, "\(what): progress in 0...1", seen: "\(fractions)")
    try context.expect(
      zip(fractions, fractions.dropFirst()).allSatisfy { $0 <= $1 }, "\(what): progress that never goes back",
      seen: "\(fractions)")
  }

  private static let checksum: [ErrorCode] = [.other("checksumMismatch")]

  /// M-04, M-06, M-07, M-10 to M-15, M-19, M-21: downloads.
  static let registryDownloadChecks: [SurfaceCheck<RegistrySurface>] = [
    SurfaceCheck(
      "M-04", "Progress is in 0...1, never goes back, and ends with 1 when the download succeeds.", level: .normative,
      group: .models
    ) { context in
      let rig = try await RegistryRig.make(context)
      let content = RegistryRig.content(300_000)
      try await rig.register(.init(id: "file", files: [rig.put("m.bin", content, faults: [.cut(afterBytes: 200_000)])]))
      try await rig.register(.init(id: "set", files: rig.pair(200_000, 100_000), kind: .multiFile))
      var ids = ["file", "set"]
      if rig.implementation.capabilities.contains(.archives) {
        let zip = context.facts.zip([("m/model_index.json", Data("{}".utf8)), ("m/w.bin", content)])
        try await rig.register(.init(id: "zip", files: [rig.put("m.zip", zip)], kind: .zip))
        ids.append("zip")
      }
      for id in ids {
        let download = try await rig.download(id)
        try context.expect(
          download.failure == nil, "the download of the \(id) succeeds",
          seen: CheckContext<RegistrySurface>.shown(download.failure))
        try expectLaw(download.fractions, id, context)
        try context.expectEqual(download.fractions.last ?? 0, 1, "\(id): the last progress:")
      }
      try await rig.register(.init(id: "gone", files: [rig.file("gone")]))
      let failed = try await rig.download("gone")
      try context.expect(
        failed.fractions.allSatisfy { (0..<1).contains($0) }, "progress below 1 of what failed", seen: "\(failed.fractions)")
    },
    SurfaceCheck("M-06", "A download that fails throws.", level: .normative, group: .models) { context in
      let rig = try await RegistryRig.make(context)
      let cuts = [ServerFault](repeating: .cut(afterBytes: 10), count: 40)
      try await rig.register(.init(id: "cut", files: [rig.put("m.bin", RegistryRig.content(500), faults: cuts)]))
      try await rig.register(.init(id: "gone", files: [rig.file("gone")]))
      let refusing = [ServerFault](repeating: .status(500), count: 40)
      try await rig.register(.init(id: "refused", files: [rig.put("r.bin", RegistryRig.content(500), faults: refusing)]))
      for id in ["gone", "refused"] {
        try rig.expect(try await rig.download(id).failure, [], "the download of '\(id)'")
        try context.expect(try await rig.model(id).localPath == nil, "no path of '\(id)'", seen: "one")
      }
      rig.server.stop()
      try rig.expect(try await rig.download("cut").failure, [], "a download without a network")
    },
    SurfaceCheck(
      "M-07", "The progress of several files counts all their bytes, not those of the file in flight.", level: .recommended,
      group: .models
    ) {
      context in
      let rig = try await RegistryRig.make(context)
      let gate = Gate()
      context.atEnd { gate.open() }
      let files = [
        rig.put("a.gguf", Data("GGUF".utf8) + RegistryRig.content(99_996)),
        rig.put("b.gguf", Data("GGUF".utf8) + RegistryRig.content(899_996), faults: [.hold(afterBytes: 100, gate)]),
      ]
      try await rig.register(.init(id: "m", files: files, kind: .multiFile))
      let run = rig.start("m")
      try await rig.arrived(gate)
      // The tenth that the first file is can be told by now, and no more than that and a little.
      let most = run.fractions.max() ?? 0
      try context.expect(most <= 0.2, "at most 0.2 when a tenth of the bytes is here", seen: "\(most)")
      gate.open()
      let download = try await run.value()
      try context.expect(
        download.failure == nil, "the download succeeds", seen: CheckContext<RegistrySurface>.shown(download.failure))
      try context.expect(
        download.fractions.contains { (0.2...0.95).contains($0) }, "progress between a tenth and the end",
        seen: "\(download.fractions)")
    },
    SurfaceCheck(
      "M-10",
      "An archive is unpacked to a folder that can be loaded, and isn't left behind; entries that lead outside are refused.",
      level: .normative, group: .models
    ) {
      context in
      let rig = try await RegistryRig.make(context)
      try rig.need(.archives)
      let weights = RegistryRig.content(3000)
      let zip = context.facts.zip([("wrap/model/model_index.json", Data("{}".utf8)), ("wrap/model/unet/w.bin", weights)])
      try await rig.register(.init(id: "m", files: [rig.put("m.zip", zip)], kind: .zip))
      guard let path = try await rig.fetch("m").localPath else { throw CheckFailure(expected: "a path", seen: "none") }
      for name in ["model_index.json", "unet/w.bin"] {
        let file = path.appendingPathComponent(name).path
        try context.expect(
          FileManager.default.fileExists(atPath: file), "\(name) in the model's folder", seen: "not in \(path.lastPathComponent)")
      }
      try context.expectEqual(rig.copies(of: zip), [], "copies of the archive:")
      for (number, name) in ["../evil.bin", "/tmp/genbench-evil.bin", "a/../../evil.bin"].enumerated() {
        let evil = Data("evil \(number)".utf8)
        let hostile = context.facts.zip([("model_index.json", Data("{}".utf8)), (name, evil)])
        try await rig.register(.init(id: "h\(number)", files: [rig.put("h\(number).zip", hostile)], kind: .zip))
        try rig.expect(try await rig.download("h\(number)").failure, [], "an archive with '\(name)'")
        try context.expect(try await rig.model("h\(number)").localPath == nil, "nothing downloaded by it", seen: "a path")
        try context.expectEqual(rig.copies(of: evil), [], "files that it left:")
        try context.expect(
          !FileManager.default.fileExists(atPath: "/tmp/genbench-evil.bin"), "no file outside", seen: "one in /tmp")
      }
    },
    SurfaceCheck(
      "M-11", "A checksum that is given is looked at; a file of another one is refused and removed.", level: .contract,
      group: .models
    ) { context in
      let rig = try await RegistryRig.make(context)
      try rig.need(.checksums)
      let content = RegistryRig.content(3000)
      var file = rig.put("m.bin", content)
      file.sha256 = SHA256.hex("another content".utf8)
      try await rig.register(.init(id: "m", files: [file]))
      try rig.expect(try await rig.download("m").failure, checksum, "a file of another checksum")
      try context.expect(try await rig.model("m").localPath == nil, "no path", seen: "one")
      try context.expectEqual(rig.copies(of: content), [], "copies of the bad file:")
      file.sha256 = SHA256.hex(content)
      try await rig.register(.init(id: "m", files: [file]))
      try await rig.fetch("m")
    },
    SurfaceCheck(
      "M-12", "What was interrupted goes on and is the same file, byte for byte; a cancelled download isn't downloaded.",
      level: .contract, group: .models
    ) {
      context in
      let rig = try await RegistryRig.make(context)
      let content = RegistryRig.content(300_000)
      try await rig.register(
        .init(id: "m", files: [rig.put("m.bin", content, faults: [.cut(afterBytes: 100_000), .cut(afterBytes: 50_000)])]))
      let path = try await rig.fetch("m").localPath
      try context.expect(
        path.flatMap { try? Data(contentsOf: $0) } == content, "the file of the server after two cuts", seen: "another one")

      try rig.need(.cancellation)
      let gate = Gate()
      context.atEnd { gate.open() }
      try await rig.register(.init(id: "n", files: [rig.put("n.bin", content, faults: [.hold(afterBytes: 100_000, gate)])]))
      let run = rig.start("n")
      try await rig.arrived(gate)
      await rig.implementation.cancelDownload("n")
      try rig.expect(try await run.value().failure, [.cancelled], "a cancelled download")
      gate.open()
      try context.expect(try await rig.model("n").localPath == nil, "no path after the cancel", seen: "one")
      // The file changed meanwhile: what is here of the old one mustn't become part of the new one.
      let changed = RegistryRig.content(250_000, seed: 8)
      rig.put("n.bin", changed)
      let later = try await rig.restarted()
      let second = try await later.fetch("n").localPath
      try context.expect(second.flatMap { try? Data(contentsOf: $0) } == changed, "the new file, whole", seen: "another one")
    },
    SurfaceCheck(
      "M-13", "Space is looked at before the transfer: free must be more than the size and a tenth of it.", level: .contract,
      group: .models
    ) { context in
      let content = RegistryRig.content(100_000)
      for (free, fits) in [(110_000, false), (100_500, false), (110_001, true)] {
        let rig = try await RegistryRig.make(context, freeBytes: free)
        try rig.need(.spaceCheck)
        var file = rig.put("m.bin", content)
        file.bytes = content.count
        try await rig.register(.init(id: "m", files: [file]))
        let failure = try await rig.download("m").failure
        if fits {
          try context.expect(failure == nil, "100000 bytes fit into \(free)", seen: CheckContext<RegistrySurface>.shown(failure))
        } else {
          try rig.expect(failure, [.other("insufficientStorage")], "100000 bytes with \(free) free")
          try context.expectEqual(rig.server.count("/m.bin"), 0, "transfers:")
        }
      }
    },
    SurfaceCheck(
      "M-14", "The events of a download have one name and rising numbers, and end with one last event, which is true.",
      level: .contract, group: .models
    ) { context in
      let rig = try await RegistryRig.make(context)
      try rig.need(.events)
      try await rig.register(.init(id: "good", files: [rig.put("m.bin", RegistryRig.content(300_000))]))
      try await rig.register(.init(id: "gone", files: [rig.file("gone")]))
      try await rig.register(
        .init(id: "unknown-size", files: [rig.put("u.bin", RegistryRig.content(300_000), tellsLength: false)]))
      var names: Set<String> = []
      for (id, last) in [("good", RegistrySurface.Event.Kind.completed), ("gone", .failed), ("unknown-size", .completed)] {
        let events = try await rig.events(try await rig.must("events", { try await $0.events(id) }))
        try context.expectEqual(Set(events.map(\.operation)).count, 1, "\(id): names of the operation:")
        names.formUnion(events.map(\.operation))
        try context.expect(
          zip(events, events.dropFirst()).allSatisfy { $0.sequence < $1.sequence }, "\(id): rising numbers",
          seen: "\(events.map(\.sequence))")
        try context.expectEqual(events.filter(\.isTerminal).map(\.kind), [last], "\(id): last events:")
        try context.expect(
          events.last?.isTerminal == true, "\(id): nothing after the last event",
          seen: CheckContext<RegistrySurface>.shown(events.last?.kind))
        try context.expectEqual(try await rig.model(id).localPath != nil, last == .completed, "\(id): downloaded:")
        for event in events {
          guard case .progress(let done, let total) = event.kind, let total, total > 0 else { continue }
          try context.expect(
            done <= total && (id != "unknown-size" || done == total), "\(id): totals that are known or none",
            seen: "\(done) of \(total)")
        }
      }
      try context.expectEqual(names.count, 3, "names of three downloads:")
    },
    SurfaceCheck("M-15", "All who watch one download are told everything.", level: .recommended, group: .models) { context in
      let rig = try await RegistryRig.make(context)
      try rig.need(.events)
      let gate = Gate()
      context.atEnd { gate.open() }
      try await rig.register(
        .init(id: "m", files: [rig.put("m.bin", RegistryRig.content(300_000), faults: [.hold(afterBytes: 100_000, gate)])]))
      let first = try await rig.must("events", { try await $0.events("m") })
      try await rig.arrived(gate)
      let second = try await rig.must("events", { try await $0.events("m") })
      gate.open()
      let lists = [try await rig.events(first), try await rig.events(second)]
      try context.expectEqual(lists[0].last?.kind, .completed, "the first one's last event:")
      try context.expectEqual(lists[1].last?.kind, .completed, "the second one's last event:")
      try context.expect(
        lists[1].count > 1 && Set(lists[1]).isSubset(of: Set(lists[0])), "the same events",
        seen: "\(lists[1].count) and \(lists[0].count)")
      // Whoever joined late has missed at most what was before.
      let joined = lists[0].suffix(lists[1].count)
      try context.expect(Array(joined) == lists[1], "no gaps for the second", seen: "\(lists[1].map(\.sequence))")
      try context.expectEqual(rig.server.count("/m.bin"), 1, "transfers:")
    },
    SurfaceCheck("M-19", "An optional file may be missing, another one may not.", level: .contract, group: .models) { context in
      let rig = try await RegistryRig.make(context)
      try rig.need(.optionalFiles)
      var missing = rig.file("missing.json")
      missing.isOptional = true
      try await rig.register(.init(id: "m", files: rig.pair() + [missing], kind: .multiFile))
      try await rig.fetch("m")
      missing.isOptional = false
      try await rig.register(.init(id: "n", files: rig.pair() + [missing], kind: .multiFile))
      try rig.expect(try await rig.download("n").failure, [], "a model whose required file is missing")
      try context.expect(try await rig.model("n").localPath == nil, "no path", seen: "one")
    },
    SurfaceCheck(
      "M-21", "Attempts are bounded, only for what may pass; a refusal by the server is told from a broken network.",
      level: .contract,
      group: .models
    ) { context in
      let rig = try await RegistryRig.make(context)
      let content = RegistryRig.content(500)
      let cuts = [ServerFault](repeating: .cut(afterBytes: 0), count: 40)
      let busy = [ServerFault](repeating: .status(503), count: 40)
      try await rig.register(.init(id: "cut", files: [rig.put("cut", content, faults: cuts)]))
      try await rig.register(.init(id: "busy", files: [rig.put("busy", content, faults: busy)]))
      try await rig.register(.init(id: "gone", files: [rig.file("gone")]))
      let failures = [
        try await rig.download("cut").failure, try await rig.download("busy").failure, try await rig.download("gone").failure,
      ]
      for (name, failure) in zip(["a broken connection", "a busy server", "a missing file"], failures) {
        try rig.expect(failure, [], name)
      }
      try context.expect(
        failures[0]?.code != failures[2]?.code && failures[1]?.code == failures[2]?.code,
        "one code for the server's refusals, another for the network",
        seen: failures.map { CheckContext<RegistrySurface>.shown($0?.code) }.joined(separator: ", "))
      for name in ["cut", "busy"] {
        let count = rig.server.count("/" + name)
        try context.expect((2...4).contains(count), "an attempt and at most three more for '\(name)'", seen: "\(count)")
      }
      try context.expectEqual(rig.server.count("/gone"), 1, "attempts for what isn't there:")
      try await rig.register(.init(id: "late", files: [rig.put("late", content, faults: [.status(503), .cut(afterBytes: 9)])]))
      try await rig.fetch("late")
    },
  ]
}
