import Foundation
import GenBackend
import Imaging
import Synchronization
import Tensors
import TestSupport
import Testing

@testable import GenbenchCLI

/// Where results go: every command writes through one type, so that each kind of target is tried on each command.
@Suite struct OutputTests {
  private let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  /// Commands that write one file, as words before its path.
  private static let commands: [[String]] = [
    ["latents", "--seed", "1", "--rng", "torch", "--shape", "1,4,8,8", "--output"],
    ["generate", "--prompt", "p", "--seed", "1", "--output"], ["report", "html", "RUN", "--out"],
    ["report", "csv", "RUN", "--out"],
    ["compare", "RUN", "RUN", "--markdown"], ["compare", "RUN", "RUN", "--junit"],
    ["conform", "--over", "script", "--group", "D", "--filter", "^D-01$", "--html"],
    ["conform", "--over", "script", "--group", "D", "--filter", "^D-01$", "--junit"],
  ]

  private var stored: String { Fixtures.folder.appendingPathComponent("runs/0.1.0").path }

  private func words(_ command: [String], _ path: String) -> [String] { command.map { $0 == "RUN" ? stored : $0 } + [path] }

  /// Whether a command's output depends on nothing but its words.
  private func isSteady(_ command: [String]) -> Bool { command[0] != "conform" }

  private func plain(_ command: [String]) async throws -> Data {
    let path = folder.path("plain")
    let result = await genbench(words(command, path))
    #expect(result.status.code == 0, "\(result.err)")
    return try Data(contentsOf: URL(fileURLWithPath: path))
  }

  @Test(arguments: commands) func aFIFOsReaderGetsTheBytes(command: [String]) async throws {
    let expected = try await plain(command)
    let fifo = folder.path("fifo")
    try SpecialFiles.makeFIFO(fifo)
    let read = Mutex(Data())
    let reader = Thread {
      let bytes = FileHandle(forReadingAtPath: fifo)?.readDataToEndOfFile() ?? Data()
      read.withLock { $0 = bytes }
    }
    reader.start()
    let result = await genbench(words(command, fifo))
    #expect(result.status.code == 0, "\(result.err)")
    while !reader.isFinished { try await Task.sleep(for: .milliseconds(5)) }
    let bytes = read.withLock { $0 }
    #expect(isSteady(command) ? bytes == expected : bytes.count > 100)
    #expect(SpecialFiles.mode(fifo) & 0o170000 == 0o010000, "it's a FIFO still")
  }

  @Test(.enabled(if: SpecialFiles.canMakeNodes, "device nodes can't be made here"), arguments: commands)
  func aDeviceStaysOne(command: [String]) async throws {
    let node = folder.path("node")
    try SpecialFiles.makeNull(node)
    let result = await genbench(words(command, node))
    #expect(result.status.code == 0, "\(result.err)")
    #expect(SpecialFiles.mode(node) == 0o020000 | SpecialFiles.mode(node) & 0o777, "it's a device still")
    try FileManager.default.removeItem(atPath: node)
    try SpecialFiles.makeFull(node)
    #expect(await genbench(words(command, node)).status.code == 73, "what it doesn't take is lost, and that's told")
    #expect(SpecialFiles.mode(node) & 0o170000 == 0o020000)
  }

  @Test(arguments: commands) func linksAreFollowedAndModesKept(command: [String]) async throws {
    let expected = try await plain(command)
    try FileManager.default.createDirectory(atPath: folder.path("there"), withIntermediateDirectories: true)
    let target = folder.path("there/target")
    try Data("old".utf8).write(to: URL(fileURLWithPath: target))
    #expect(chmod(target, 0o640) == 0)
    let isRoot = getuid() == 0
    if isRoot { #expect(chown(target, 12_345, 12_346) == 0) }
    try FileManager.default.createSymbolicLink(atPath: folder.path("second"), withDestinationPath: "there/target")
    try FileManager.default.createSymbolicLink(atPath: folder.path("first"), withDestinationPath: folder.path("second"))
    let result = await genbench(words(command, folder.path("first")))
    #expect(result.status.code == 0, "\(result.err)")
    let bytes = try Data(contentsOf: URL(fileURLWithPath: target))
    #expect(isSteady(command) ? bytes == expected : bytes.count > 100)
    #expect(SpecialFiles.mode(target) == 0o100640)
    for name in ["first", "second"] { #expect(SpecialFiles.mode(folder.path(name)) & 0o170000 == 0o120000, "\(name)") }
    var status = stat()
    #expect(stat(target, &status) == 0 && (!isRoot || status.st_uid == 12_345 && status.st_gid == 12_346))
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path("there")) == ["target"], "nothing is left behind")
    // A link to nothing yet makes what it names.
    try FileManager.default.createSymbolicLink(atPath: folder.path("ahead"), withDestinationPath: "there/new")
    #expect(await genbench(words(command, folder.path("ahead"))).status.code == 0)
    #expect(SpecialFiles.mode(folder.path("there/new")) & 0o170000 == 0o100000)
  }

  @Test(arguments: commands, ["", "none/x", "there"])
  func whatCantBeWrittenIsRefusedBeforeTheWork(command: [String], name: String) async throws {
    try FileManager.default.createDirectory(atPath: folder.path("there"), withIntermediateDirectories: true)
    let backend = ScriptedBackend()
    let result = await genbench(words(command, name.isEmpty ? "" : folder.path(name)), backend: backend)
    #expect(result.status.code == 73 && result.out.isEmpty && backend.loads.isEmpty, "\(result.err)")
    #expect(result.lastErrorLine.contains(name.isEmpty ? "needs a name" : name))
  }

  @Test func stdoutTakesOneThing() async {
    for words in [["--json"], ["--count", "2"], ["--trace", "-"], ["--preview-every", "1"]] {
      #expect(await genbench(["generate", "--prompt", "p", "--output", "-"] + words).status.code == 64, "\(words)")
    }
    #expect(
      await genbench("latents", "--seed", "1", "--rng", "torch", "--shape", "1", "--output", "-", "--json").status.code == 64)
  }

  // MARK: - Results on stdout

  @Test func lostResultsAreToldOnce() async {
    let written = Mutex<[String]>([])
    let said = Mutex("")
    let console = Console(
      style: .init(),
      checkedOut: { text in
        written.withLock { $0.append(text) }
        return ENOSPC
      }, error: { text in said.withLock { $0 += text } })
    let context = CommandContext(
      console: console, environment: ["GENBENCH_HOME": Fixtures.packageFolder.path], words: ["schema", "run"]
    ) { _ in ScriptedBackend() }
    let status = await GenbenchCommandLine.run(context)
    #expect(status.code == 73 && said.withLock { $0 }.contains("No space left"))
    console.print("more")
    #expect(written.withLock { $0.count } == 1, "nothing follows what was lost")
  }

  @Test func aClosedPipeEndsSilently() async {
    let said = Mutex("")
    let console = Console(style: .init(), checkedOut: { _ in EPIPE }, error: { text in said.withLock { $0 += text } })
    let context = CommandContext(console: console, environment: [:], words: ["schema", "run"]) { _ in ScriptedBackend() }
    #expect(await GenbenchCommandLine.run(context) == .success)
    #expect(said.withLock { $0 }.isEmpty)
  }
}

/// The built program with outputs that only a process can have.
@Suite(.enabled(if: BuiltProgram.isExpected, "the program isn't built"))
struct OutputProcessTests {
  private let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  private func run(_ words: [String], out: FileHandle) throws -> (code: Int32, err: String) {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: try BuiltProgram.require())
    process.arguments = words
    process.environment = ProcessInfo.processInfo.environment.merging(["GENBENCH_HOME": Fixtures.packageFolder.path]) { $1 }
    process.standardOutput = out
    let errors = Pipe()
    process.standardError = errors
    try process.run()
    let said = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    return (process.terminationStatus, said)
  }

  private func file(_ name: String) throws -> FileHandle {
    _ = try folder.write(Data(), to: name)
    return try #require(FileHandle(forWritingAtPath: folder.path(name)))
  }

  @Test(
    .enabled(if: SpecialFiles.canMakeNodes, "device nodes can't be made here"),
    arguments: [
      ["schedule", "--scheduler", "ddim", "--steps", "4", "--json"], ["schema", "run"], ["--help"], ["--version"], ["doctor"],
      ["report", "html", "RUN"], ["report", "csv", "RUN"], ["compare", "RUN", "RUN"], ["compare", "RUN", "RUN", "--json"],
      ["tokenize", "--tokenizer", "clip", "a cat"], ["models", "list"], ["run", "--dry-run", "--variant", "sd15"],
      ["latents", "--seed", "1", "--rng", "torch", "--shape", "1,4,8,8", "--output", "-"],
    ])
  func aFullDiskBehindStdoutIsAnError(words: [String]) throws {
    try SpecialFiles.makeFull(folder.path("full"))
    let full = try #require(FileHandle(forWritingAtPath: folder.path("full")))
    let stored = Fixtures.folder.appendingPathComponent("runs/0.1.0").path
    let (code, err) = try run(words.map { $0 == "RUN" ? stored : $0 }, out: full)
    #expect(code == 73 && err.contains("No space left"), "\(code) \(err)")
  }

  @Test func aDashIsStdout() throws {
    let words = ["latents", "--seed", "1", "--rng", "torch", "--shape", "1,4,8,8", "--output"]
    #expect(try run(words + ["-"], out: file("out")).code == 0)
    #expect(try run(words + [folder.path("file")], out: file("names")).code == 0)
    let bytes = try Data(contentsOf: URL(fileURLWithPath: folder.path("out")))
    #expect(try bytes.count > 1024 && bytes == Data(contentsOf: URL(fileURLWithPath: folder.path("file"))))
    let image = ["generate", "--variant", "sd15", "--size", "64", "--prompt", "a red circle", "--steps", "1", "--output", "-"]
    let result = try run(
      image.filter { $0 != "--size" && $0 != "64" } + ["--width", "64", "--height", "64"], out: file("image.png"))
    #expect(result.code == 0, "\(result.err)")
    #expect(try ImageFile.read(path: folder.path("image.png")).width == 64)
  }
}
