import Checkpoints
import Conformance
import ConformanceDoubles
import Foundation
import ModelRegistry
import Synchronization
import TestSupport
import Testing

/// Downloads from a real server, well-behaved and not.
struct DownloadTests {
  private let store: Store
  private let registry: ModelRegistry
  private let content = noise(700_001)

  init() throws {
    store = try Store()
    registry = store.registry()
  }

  private func localData(_ id: String) throws -> Data? {
    try registry.model(id).localPath.map { try Data(contentsOf: $0) }
  }

  private func put(_ faults: ServerFault...) { put(faults) }

  private func put(_ faults: [ServerFault], content other: Data? = nil, etag: String? = nil) {
    var resource = ServedFile(other ?? content, etag: etag)
    resource.faults = faults
    store.server.put("/m.bin", resource)
  }

  @Test func aFileArrivesAndStays() async throws {
    put()
    let before = try store.register("m", at: "/m.bin", in: registry)
    #expect(before.localPath == nil && !before.isDownloaded)
    let fractions = Fractions()
    let model = try await registry.downloadModel("m") { fractions.add($0) }
    #expect(model.localPath != nil)
    #expect(try localData("m") == content)
    #expect(fractions.all.count > 3 && fractions.all == fractions.all.sorted() && fractions.all.last == 1)
    #expect(fractions.all.allSatisfy { (0...1).contains($0) })

    store.server.stop()
    let later = store.registry()
    #expect(try later.availableModels() == [model])
    try await later.downloadModel("m")
    #expect(store.server.count("/m.bin") == 1)
  }

  @Test func aCutConnectionGoesOnWhereItStopped() async throws {
    put(.cut(afterBytes: 200_000), .cut(afterBytes: 100_000), .none)
    try store.register("m", at: "/m.bin", in: registry, sha256: SHA256.hex(content))
    try await registry.downloadModel("m")
    #expect(try localData("m") == content)
    let ranges = store.server.requests.map { $0.headers["range"] }
    #expect(ranges == [nil, "bytes=200000-", "bytes=300000-"])
    #expect(store.server.requests.dropFirst().allSatisfy { $0.headers["if-range"]?.hasPrefix("\"") == true })
    #expect(store.waits.withLock { $0 } == [2, 2])
  }

  @Test func retriesAreBoundedAndWaitLongerEachTime() async throws {
    put(Array(repeating: .cut(afterBytes: 0), count: 9))
    try store.register("m", at: "/m.bin", in: registry)
    #expect(await code { try await registry.downloadModel("m") } == .networkFailed)
    #expect(store.server.count("/m.bin") == 4)
    #expect(store.waits.withLock { $0 } == [2, 4, 8])
    #expect(try registry.model("m").localPath == nil)
  }

  @Test func nobodyAnsweringIsANetworkFailure() async throws {
    try store.register("m", at: "/m.bin", in: registry)
    store.server.stop()
    let error = await #expect(throws: RegistryError.self) { try await registry.downloadModel("m") }
    #expect(error?.code == .networkFailed && error?.httpStatus == nil)
    #expect(error?.message.contains("127.0.0.1") == true, "\(error?.message ?? "")")
  }

  @Test func aFileThatChangedBetweenStartsAnew() async throws {
    put(.cut(afterBytes: 300_000))
    try store.register("m", at: "/m.bin", in: store.registry(retries: 0))
    #expect(await code { try await store.registry(retries: 0).downloadModel("m") } == .networkFailed)
    let other = noise(500_000, seed: 9)
    put([], content: other)
    try await registry.downloadModel("m")
    #expect(try localData("m") == other)
    #expect(store.server.requests.last?.headers["range"] == "bytes=300000-")
  }

  @Test func withoutATagOnlyASumLetsPiecesBeJoined() async throws {
    for (id, sum, range) in [("plain", nil, nil), ("summed", SHA256.hex(content), "bytes=300000-")]
      as [(String, String?, String?)]
    {
      var resource = ServedFile(content)
      resource.etag = nil
      resource.faults = [.cut(afterBytes: 300_000)]
      store.server.put("/\(id)", resource)
      try store.register(id, at: "/\(id)", in: registry, sha256: sum)
      try await registry.downloadModel(id)
      #expect(try localData(id) == content)
      #expect(store.server.requests.last?.headers["range"] == range)
    }
  }

  @Test func joinedPiecesOfDifferentFilesAreFetchedAnew() async throws {
    // The same tag for another content: only the sum can tell.
    put([.cut(afterBytes: 300_000)], content: noise(700_001, seed: 5), etag: "\"same\"")
    try store.register("m", at: "/m.bin", in: registry, sha256: SHA256.hex(content))
    _ = await code { try await store.registry(retries: 0).downloadModel("m") }
    put([], etag: "\"same\"")
    try await registry.downloadModel("m")
    #expect(try localData("m") == content)
    #expect(store.server.requests.map { $0.headers["range"] } == [nil, "bytes=300000-", nil])
  }

  @Test(arguments: [ServerFault.ignoresRange, .wrongRange, .status(416)])
  func answersThatDontFitStartAnew(_ fault: ServerFault) async throws {
    put(.cut(afterBytes: 300_000), fault)
    try store.register("m", at: "/m.bin", in: registry)
    try await registry.downloadModel("m")
    #expect(try localData("m") == content)
  }

  @Test func whatIsCompleteAlreadyIsToldBy416() async throws {
    // All bytes came, but the announced length was larger; then the server says that there are no more.
    put([.length(900_000), .none])
    try store.register("m", at: "/m.bin", in: registry, sha256: SHA256.hex(content))
    try await registry.downloadModel("m")
    #expect(try localData("m") == content)
    #expect(store.server.requests.last?.headers["range"] == "bytes=700001-")
  }

  @Test(arguments: [404, 403, 410, 400])
  func refusalsArentTriedAgain(_ status: Int) async throws {
    put(.status(status))
    try store.register("m", at: "/m.bin", in: registry)
    let error = await #expect(throws: RegistryError.self) { try await registry.downloadModel("m") }
    #expect(error?.code == .httpError && error?.httpStatus == status)
    #expect(store.server.count("/m.bin") == 1)
  }

  @Test func aBusyServerIsGivenTheTimeThatItAsksFor() async throws {
    put(.status(503, retryAfter: "7"), .status(429), .none)
    try store.register("m", at: "/m.bin", in: registry)
    try await registry.downloadModel("m")
    #expect(store.waits.withLock { $0 } == [7, 4])
  }

  @Test func wrongLengthsAreRefused() async throws {
    put()
    try store.register("m", at: "/m.bin", in: registry, sizeBytes: 700_000)
    #expect(await code { try await registry.downloadModel("m") } == .invalidContent)
    put(.length(600_000))
    try store.register("m", at: "/m.bin", in: registry, sizeBytes: 700_001)
    #expect(await code { try await registry.downloadModel("m") } == .invalidContent)
    #expect(try registry.model("m").localPath == nil)
  }

  @Test func aWrongSumRemovesTheFile() async throws {
    put()
    try store.register("m", at: "/m.bin", in: registry, sha256: SHA256.hex("other".utf8))
    let fractions = Fractions()
    #expect(await code { try await registry.downloadModel("m") { fractions.add($0) } } == .checksumMismatch)
    #expect(try registry.model("m").localPath == nil)
    #expect(try registry.storage().partialBytes < 100)
    #expect(fractions.all.max() ?? 0 < 1)
  }

  @Test func redirectsAreFollowedAndResumed() async throws {
    put(.cut(afterBytes: 300_000), .none)
    var here = ServedFile(Data())
    here.redirect = store.server.url("/m.bin").absoluteString
    here.headers["X-Linked-Etag"] = "\"\(SHA256.hex(content))\""
    store.server.put("/resolve", here)
    try store.register("m", at: "/resolve", in: registry)
    try await registry.downloadModel("m")
    #expect(try localData("m") == content)
    #expect(
      store.server.requests.filter { $0.path == "/m.bin" }.map { $0.headers["range"] } == [nil, "bytes=300000-"])
  }

  @Test func theSumThatAServerTellsIsChecked() async throws {
    put()
    var here = ServedFile(Data())
    here.redirect = "/m.bin"
    here.headers["X-Linked-Etag"] = "\"\(SHA256.hex("other".utf8))\""
    store.server.put("/resolve", here)
    try store.register("m", at: "/resolve", in: registry)
    #expect(await code { try await registry.downloadModel("m") } == .checksumMismatch)
  }

  @Test func redirectsWithoutEndAndElsewhereAreRefused() async throws {
    for (path, target) in [("/loop", "/loop"), ("/file", "file:///etc/passwd"), ("/ftp", "ftp://127.0.0.1/x")] {
      var here = ServedFile(Data())
      here.redirect = target
      store.server.put(path, here)
      try store.register(path, at: path, in: registry)
      let error = await #expect(throws: RegistryError.self) { try await registry.downloadModel(path) }
      #expect(error?.code == .networkFailed || error?.code == .httpError, "\(path): \(error?.description ?? "")")
    }
  }

  @Test func pagesAndPointersArentModels() async throws {
    for (name, text) in [
      ("/a.safetensors", "<!DOCTYPE html><title>Sign in</title>"), ("/b.bin", "version https://git-lfs.github.com/spec/v1\noid"),
      ("/c.gguf", "GGML0000"),
    ] {
      store.server.put(name, ServedFile(Data(text.utf8)))
      try store.register(name, at: name, in: registry)
      #expect(await code { try await registry.downloadModel(name) } == .invalidContent, "\(name)")
    }
  }

  @Test func cancellingLeavesNothingDownloadedAndCanGoOn() async throws {
    let gate = Gate()
    put(.hold(afterBytes: 300_000, gate), .none)
    try store.register("m", at: "/m.bin", in: registry)
    let (reached, told) = AsyncStream.makeStream(of: Void.self)
    let registry = registry
    // Progress is told each 64 kB: of the 300,000 bytes that come, the last 65,535 may stay untold.
    let task = Task { try await registry.downloadModel("m") { if $0 > 0.3 { told.yield() } } }
    for await _ in reached { break }
    task.cancel()
    #expect(await code { _ = try await task.value } == .cancelled)
    gate.open()
    #expect(try registry.model("m").localPath == nil)
    try await registry.downloadModel("m")
    #expect(try localData("m") == content)
    let start = try #require(store.server.requests.last?.headers["range"]?.dropFirst("bytes=".count).dropLast())
    #expect((200_000...300_000).contains(Int(start) ?? 0), "\(start)")
  }

  @Test func twoRegistriesOfOneFolderDownloadOnce() async throws {
    let gate = Gate()
    put(.hold(afterBytes: 100, gate))
    try store.register("m", at: "/m.bin", in: registry)
    let (reached, told) = AsyncStream.makeStream(of: Void.self)
    let registry = registry
    let first = Task { try await registry.downloadModel("m") { _ in told.yield() } }
    for await _ in reached { break }
    var events = try store.registry().downloadEvents("m").makeAsyncIterator()
    while let event = await events.next(), event.kind != .waiting {}
    gate.open()
    let model = try await first.value
    while let event = await events.next() { if event.isTerminal { #expect(event.kind == .completed(model)) } }
    #expect(store.server.count("/m.bin") == 1)
  }

  @Test func severalWatchersSeeTheSame() async throws {
    let gate = Gate()
    put(.hold(afterBytes: 300_000, gate))
    try store.register("m", at: "/m.bin", in: registry)
    let early = try registry.downloadEvents("m")
    let leaving = try registry.downloadEvents("m")
    for await event in leaving { if case .progress = event.kind { break } }
    let late = try registry.downloadEvents("m")
    gate.open()
    var lists: [[DownloadEvent]] = []
    for stream in [early, late] { lists.append(await stream.reduce(into: []) { $0.append($1) }) }
    #expect(lists[0] == lists[1])
    #expect(lists[0].map(\.sequence) == Array(lists[0].indices) && Set(lists[0].map(\.operation)).count == 1)
    #expect(lists[0].count(where: \.isTerminal) == 1 && lists[0].last?.isTerminal == true)
    #expect(try localData("m") == content)
  }

  @Test func bytesOfAllFilesCount() async throws {
    for (name, size) in [("/a.bin", 100_000), ("/b.bin", 900_000)] {
      store.server.put(name, ServedFile(noise(size)))
    }
    try registry.registerMultiFileModel(
      id: "m", name: "m", files: [store.file("/a.bin"), store.file("/b.bin")], framework: .diffusers,
      modality: .imageGeneration)
    var last: DownloadProgress?
    for await event in try registry.downloadEvents("m") {
      guard case .progress(let progress) = event.kind else { continue }
      #expect(progress.bytesTotal == 1_000_000 && progress.fileCount == 2)
      if progress.fileIndex == 1, progress.stage == .downloading { #expect(progress.fraction < 0.11) }
      last = progress
    }
    #expect(last?.bytesDone == 1_000_000 && last?.fraction == 1)
    #expect(store.server.requests.count { $0.method == "HEAD" } == 2)
  }

  @Test func aHalfSetIsNotDownloadedAndAMissingPartShowsBefore() async throws {
    store.server.put("/a.bin", ServedFile(noise(1000)))
    var broken = ServedFile(noise(1000, seed: 2))
    broken.faults = [.status(500), .status(500)]
    store.server.put("/b.bin", broken)
    try registry.registerMultiFileModel(
      id: "m", name: "m", files: [store.file("/a.bin"), store.file("/b.bin")], framework: .llamaCpp)
    #expect(await code { try await store.registry(retries: 1).downloadModel("m") } == .httpError)
    #expect(try registry.model("m").localPath == nil)
    try await registry.downloadModel("m")
    #expect(try registry.model("m").localPath?.lastPathComponent == "a.bin")
    #expect(store.server.count("/a.bin") == 1)

    try registry.registerMultiFileModel(
      id: "n", name: "n", files: [store.file("/a.bin"), store.file("/none.bin")], framework: .llamaCpp)
    #expect(await code { try await registry.downloadModel("n") } == .httpError)
    #expect(store.server.count("/a.bin") == 1)
  }

  @Test func optionalFilesMayBeMissing() async throws {
    store.server.put("/a.bin", ServedFile(noise(1000)))
    let optional = ModelFileDescriptor(url: store.server.url("/none"), filename: "x/none", isOptional: true)
    try registry.registerMultiFileModel(
      id: "m", name: "m", files: [store.file("/a.bin"), optional], framework: .llamaCpp)
    let model = try await registry.downloadModel("m")
    #expect(model.localFiles.count == 1)
  }

  @Test func withoutALengthItArrivesToo() async throws {
    var resource = ServedFile(content)
    resource.tellsLength = false
    store.server.put("/m.bin", resource)
    try store.register("m", at: "/m.bin", in: registry)
    var totals: [Int?] = []
    for await event in try registry.downloadEvents("m") {
      if case .progress(let progress) = event.kind, progress.stage == .downloading { totals.append(progress.bytesTotal) }
    }
    #expect(totals.dropLast().allSatisfy { $0 == nil })
    #expect(try localData("m") == content)
  }
}
