import Checkpoints
import Foundation
import GenBackend
import Imaging
import Reporting
import Running
import Tensors
import TestSupport
import Testing

@testable import GenbenchCLI

@Suite struct ExitStatusTests {
  @Test(
    arguments: [
      (CheckpointError(.missing, file: "f", "m"), 66), (CheckpointError(.invalid, file: "f", "m"), 65),
      (CheckpointError(.unsupported, file: "f", "m"), 65), (CheckpointError(.unwritable, file: "f", "m"), 73),
    ] as [(CheckpointError, Int32)])
  func checkpointErrors(error: CheckpointError, code: Int32) {
    #expect(ProgramExit(error).code == code)
    #expect(ProgramExit(error).reason == "f: m")
  }

  @Test(
    arguments: [
      (.modelNotFound, 66), (.invalidModel, 65), (.invalidInput, 64), (.notSupported, 64), (.cancelled, 130),
      (.outOfMemory, 3), (.processingFailed, 3), (.busy, 3), (.unavailable, 69), (.notLoaded, 70),
    ] as [(BackendError.Code, Int32)])
  func backendErrors(code: BackendError.Code, exit: Int32) { #expect(ProgramExit(BackendError(code, "m")).code == exit) }

  @Test func aTerminatedRunSaysSo() { #expect(ProgramExit(BackendError(.cancelled, "m"), signal: 15).code == 143) }

  @Test func otherErrors() {
    #expect(ProgramExit(UsageError("u")).code == 64)
    #expect(ProgramExit(ImageError(.missing, file: "f", "m")).code == 66)
    #expect(ProgramExit(ImageError(.unsupported, file: "f", "m")).code == 65)
    #expect(ProgramExit(CancellationError()).code == 70)
  }

  @Test func theLastLineSaysWhy() async {
    let result = await genbench("generate", "--variant", "sd15", "--prompt", "x", "--steps", "0")
    #expect(result.status.code == 64)
    #expect(result.lastErrorLine.hasPrefix("genbench: exit 64 (usage): The value '0' is invalid"))
    #expect(result.out.isEmpty)
  }
}

@Suite struct GenerateCommandTests {
  private let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  private func generate(_ words: String..., backend: ScriptedBackend = ScriptedBackend()) async -> CommandLineResult {
    await genbench(
      ["generate", "--variant", "sd15", "--prompt", "a cat", "--output", folder.path("a.png")] + words, backend: backend)
  }

  @Test func theJSONHasWhatTheContractSays() async throws {
    let result = await generate("--json", "--seed", "5", "--steps", "4", "--width", "24", "--height", "16")
    #expect(result.status == .success, "\(result.err)")
    let object = try result.json()
    #expect(object["image"] as? String == folder.path("a.png"))
    #expect(object["width"] as? Int == 24)
    #expect(object["height"] as? Int == 16)
    #expect(object["seed"] as? Int == 5)
    #expect(object["steps"] as? Int == 4)
    #expect(object["scheduler"] as? String == "pndm")
    #expect(object["safety"] as? String == "unchecked")
    let timings = try #require(object["timings_ns"] as? [String: Int])
    for stage in ["load", "tokenize", "text_encode", "step", "vae_decode", "png", "total", "unaccounted"] {
      #expect(timings[stage] != nil, "\(stage)")
    }
    #expect(timings.filter { $0.key != "total" }.values.reduce(0, +) == timings["total"])
    #expect((object["step_ns"] as? [Int])?.count == 4)
    #if os(Linux)
      #expect(object["peak_rss_bytes"] as? Int ?? 0 > 1 << 20)
    #endif
  }

  @Test func theImageCarriesItsParameters() async throws {
    let result = await generate(
      "--negative-prompt", "blur", "--seed", "5", "--guidance-scale", "3.5", "--rng", "philox", "--scheduler", "euler")
    #expect(result.status == .success)
    let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: folder.path("a.png"))))
    let text = try PNGFile.texts(in: bytes).first { $0.keyword == "parameters" }?.value
    #expect(
      text
        == "a cat\nNegative prompt: blur\nSteps: 3, Sampler: euler, CFG scale: 3.5, Seed: 5, Size: 16x8, Model: sd15, "
        + "RNG: philox, Version: genbench 0.1.0")
    #expect(result.out == folder.path("a.png") + "\n")
  }

  @Test func theSameWordsMakeTheSameBytes() async throws {
    _ = await generate("--seed", "5")
    let first = try Data(contentsOf: URL(fileURLWithPath: folder.path("a.png")))
    _ = await generate("--seed", "5")
    #expect(try Data(contentsOf: URL(fileURLWithPath: folder.path("a.png"))) == first)
  }

  @Test func optionsReachTheBackend() async throws {
    let backend = ScriptedBackend()
    let result = await generate(
      "--steps", "2", "--guidance-rescale", "0.7", "--timestep-spacing", "trailing", "--eta", "0.5", "--count", "2",
      "--clip-skip",
      "1", "--long-prompt", "chunk", "--no-safety-checker", "--reduce-memory", "--precision", "bf16", "--prediction-type",
      "v_prediction", "--threads", "2", "--kernels", "reference", "--seed", "-1", backend: backend)
    #expect(result.status == .success, "\(result.err)")
    let request = try #require(backend.requests.first)
    #expect(request.steps == 2 && request.guidanceRescale == 0.7 && request.timestepSpacing == "trailing" && request.eta == 0.5)
    #expect(request.imageCount == 2 && request.clipSkip == 1 && request.longPrompt == .chunk && !request.checksSafety)
    #expect(request.seed == .max && request.negativePrompt == nil && request.traceLevel == .none)
    let load = try #require(backend.loads.first)
    #expect(load.safety == .off && load.reduceMemory && load.precision == "bf16" && load.predictionType == "v_prediction")
    #expect(backend.specification == BackendSpecification(kernels: .reference, threads: 2))
    #expect(backend.unloads == 1)
    #expect(try folder.names == ["a-0.png", "a-1.png"])
  }

  @Test func anEmptyNegativePromptIsNotAnAbsentOne() async throws {
    let backend = ScriptedBackend()
    _ = await generate("--negative-prompt=", backend: backend)
    #expect(backend.requests.first?.negativePrompt == "")
  }

  @Test func tracesAreWritten() async throws {
    let result = await generate("--trace", folder.path("t.safetensors"))
    #expect(result.status == .success)
    #expect(try SafetensorsFile(path: folder.path("t.safetensors")).weight(named: "latents.init")?.shape == [1, 4, 1, 2])
  }

  @Test func inputsAreReadAndPassedOn() async throws {
    try NumPyFile.write(Tensor(repeating: 0.5, shape: [1, 4, 1, 2]), to: folder.path("l.npy"))
    let image = Bitmap(width: 3, height: 2, channels: 3, samples: Array(repeating: 51, count: 18))
    let mask = Bitmap(width: 3, height: 2, channels: 1, samples: [0, 255, 0, 255, 0, 255])
    try Data(try PNGFile.encode(image)).write(to: URL(fileURLWithPath: folder.path("i.png")))
    try Data(try PNGFile.encode(mask)).write(to: URL(fileURLWithPath: folder.path("m.png")))
    let backend = ScriptedBackend()
    let result = await generate(
      "--latents", folder.path("l.npy"), "--image", folder.path("i.png"), "--mask", folder.path("m.png"), "--strength", "0.25",
      backend: backend)
    #expect(result.status == .success, "\(result.err)")
    let request = try #require(backend.requests.first)
    #expect(request.latents?.shape == [1, 4, 1, 2])
    #expect(request.image?.shape == [1, 3, 2, 3] && request.image?[flat: 0] == 0.2)
    #expect(request.mask?.shape == [1, 1, 2, 3] && request.mask?.elements == [0, 1, 0, 1, 0, 1])
    #expect(request.strength == 0.25)
  }

  @Test func aFilteredImageIsNoFailure() async throws {
    var script = ScriptedBackend.Script()
    script.safety = .filtered
    script.warning = "the prompt was cut"
    let result = await generate("--json", backend: ScriptedBackend(script))
    #expect(result.status == .success)
    #expect(try result.json()["safety"] as? String == "filtered")
    #expect(result.err.contains("Warning: the prompt was cut"))
  }

  @Test func previewsAreWritten() async throws {
    _ = await generate("--preview-every", "2", "--steps", "4")
    #expect(try folder.names == ["a-step-2.png", "a-step-4.png", "a.png"])
  }

  @Test(
    arguments: [
      (["--guidance-scale", "nan"], 64, "guidance-scale"), (["--steps", "0"], 64, "steps"), (["--width", "8"], 64, "height"),
      (["--mask", "m.png"], 64, "--image"), (["--strength", "0.5"], 64, "--image"), (["--trace-level", "block"], 64, "--trace"),
      (["--strength", "1.5", "--image", "i.png"], 64, "strength"), (["--image", "/nowhere/i.png"], 66, "/nowhere/i.png"),
      (["--latents", "/nowhere/l.npy"], 66, "/nowhere/l.npy"), (["--model", "/nowhere/model"], 66, "/nowhere/model"),
      (["--output", "/nowhere/a.png"], 73, "/nowhere"), (["--trace", "/nowhere/t.safetensors"], 73, "/nowhere"),
      (["--output", "/"], 73, "folder"), (["--rng", "mt"], 64, "torch, numpy, philox"), (["--backend", "cloud"], 64, "ref"),
      (["--backend", "ref:threads=0"], 64, "threads"), (["--fixtures", "/nowhere"], 66, "/nowhere"),
    ] as [([String], Int32, String)])
  func mistakesEndBeforeAnyWork(words: [String], code: Int32, word: String) async throws {
    let backend = ScriptedBackend()
    let result = await genbench(
      ["generate", "--variant", "sd15", "--prompt", "a cat", "--output", folder.path("a.png")] + words, backend: backend)
    #expect(result.status.code == code, "\(result.err)")
    #expect(result.lastErrorLine.contains(word), "\(result.lastErrorLine)")
    #expect(backend.loads.isEmpty)
    #expect(try folder.names.isEmpty)
  }

  @Test func aMaskOfAnotherSizeIsRefused() async throws {
    let image = Bitmap(width: 3, height: 2, channels: 3, samples: Array(repeating: 51, count: 18))
    let mask = Bitmap(width: 2, height: 2, channels: 1, samples: [0, 255, 0, 255])
    try Data(try PNGFile.encode(image)).write(to: URL(fileURLWithPath: folder.path("i.png")))
    try Data(try PNGFile.encode(mask)).write(to: URL(fileURLWithPath: folder.path("m.png")))
    let result = await generate("--image", folder.path("i.png"), "--mask", folder.path("m.png"))
    #expect(result.status.code == 65)
    #expect(result.lastErrorLine.contains("3x2") && result.lastErrorLine.contains("2x2"))
  }

  @Test func unreadableInputsAreRefused() async throws {
    try Data("not an image".utf8).write(to: URL(fileURLWithPath: folder.path("i.png")))
    #expect(await generate("--image", folder.path("i.png")).status.code == 65)
    #expect(await generate("--latents", folder.path("i.png")).status.code == 65)
  }

  @Test func backendErrorsBecomeExitCodesAndLeaveNothing() async throws {
    for (error, code) in [
      (BackendError(.invalidInput, "size"), Int32(64)), (BackendError(.outOfMemory, "big"), 3),
      (BackendError(.cancelled, "stop"), 130),
    ] {
      var script = ScriptedBackend.Script()
      script.failure = (0, error)
      let backend = ScriptedBackend(script)
      let result = await generate(backend: backend)
      #expect(result.status.code == code)
      #expect(backend.unloads == 1)
      #expect(try folder.names.isEmpty)
    }
    var script = ScriptedBackend.Script()
    script.loadError = BackendError(.invalidModel, "tensor 'x' is missing")
    #expect(await generate(backend: ScriptedBackend(script)).status.code == 65)
  }

  @Test func anInterruptCancels() async throws {
    let interrupts = Interrupts()
    var script = ScriptedBackend.Script()
    script.beforeImage = { _ in interrupts.deliver(15) }
    let result = await genbench(
      ["generate", "--variant", "sd15", "--prompt", "a cat", "--output", folder.path("a.png")], backend: ScriptedBackend(script),
      interrupts: interrupts)
    #expect(result.status.code == 143)
    #expect(try folder.names.isEmpty)
  }

  @Test func aTerminalSeesABarAndAPipeDoesNot() async throws {
    let words = ["generate", "--variant", "sd15", "--prompt", "a cat", "--output", folder.path("a.png")]
    let terminal = await genbench(words, style: Console.Style(isInteractive: true, columns: 80))
    #expect(terminal.err.contains("generate [##########"))
    #expect(!terminal.out.contains("["))
    let pipe = await genbench(words)
    #expect(!pipe.err.contains("\r") && !pipe.err.contains("\u{1b}"))
  }
}

@Suite struct SmallCommandTests {
  private let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  @Test func idsOfTextsAndLines() async throws {
    #expect(await genbench("tokenize", "a cat", "").out == "49406 320 2368 49407\n49406 49407\n")
    #expect(await genbench("tokenize", "--json", "a cat").out == "{\"ids\": [49406, 320, 2368, 49407]}\n")
    #expect(
      await genbench("tokenize", "--max-length", "6", "a cat").out == "49406 320 2368 49407 49407 49407\n")
    let file = folder.path("t.jsonl")
    try Data("{\"text\": \"a cat\"}\n\n{\"text\": \"\"}\r\n".utf8).write(to: URL(fileURLWithPath: file))
    #expect(
      await genbench("tokenize", "--tokenizer", "clip", "--jsonl", file).out
        == "{\"ids\": [49406, 320, 2368, 49407]}\n{\"ids\": [49406, 49407]}\n")
    let folder = Fixtures.folder.appendingPathComponent("Models/clip-vocabulary").path
    #expect(await genbench("tokenize", "--tokenizer", folder, "a cat").out == "49406 320 2368 49407\n")
  }

  @Test func badLinesAreNamed() async throws {
    for (content, word) in [("{\"text\": 5}", "line 1"), ("{\"text\": \"a\"}\n[]", "line 2"), ("nonsense", "line 1")] {
      let file = folder.path("t.jsonl")
      try Data(content.utf8).write(to: URL(fileURLWithPath: file))
      let result = await genbench("tokenize", "--jsonl", file)
      #expect(result.status.code == 65)
      #expect(result.lastErrorLine.contains(word), "\(result.lastErrorLine)")
    }
    #expect(await genbench("tokenize", "--jsonl", "/nowhere").status.code == 66)
    #expect(await genbench("tokenize", "--tokenizer", "/nowhere", "x").status.code == 66)
    #expect(await genbench("tokenize", "--tokenizer", folder.url.path, "x").status.code != 0)
    #expect(await genbench("tokenize").status.code == 64)
    #expect(await genbench("tokenize", "--max-length", "1", "x").status.code == 64)
  }

  @Test func schedulesHaveTheContractsKeys() async throws {
    let config = folder.path("scheduler_config.json")
    try Data(
      #"{"_class_name": "PNDMScheduler", "beta_start": 0.00085, "beta_end": 0.012, "beta_schedule": "scaled_linear", "steps_offset": 1}"#
        .utf8
    ).write(to: URL(fileURLWithPath: config))
    let result = await genbench("schedule", "--scheduler", "ddim", "--steps", "4", "--config", config, "--json")
    let object = try result.json()
    #expect(object["timesteps"] as? [Int] == [751, 501, 251, 1])
    #expect((object["sigmas"] as? [Double])?.count ?? 0 >= 4)
    #expect((object["alphas_cumprod_at"] as? [Double])?.count == 4)
    #expect(object["init_noise_sigma"] as? Double == 1)
    #expect(object["order"] as? Int == 1)
    let table = await genbench("schedule", "--scheduler", "DDIMScheduler", "--steps", "2")
    #expect(table.out.contains("| entry | timestep |"))
  }

  @Test func schedulesFailClearly() async throws {
    let unknown = await genbench("schedule", "--scheduler", "eulr")
    #expect(unknown.status.code == 64 && unknown.lastErrorLine.contains("euler"))
    #expect(await genbench("schedule").status.code == 64)
    #expect(await genbench("schedule", "--scheduler", "ddim", "--steps", "0").status.code == 64)
    #expect(await genbench("schedule", "--scheduler", "ddim", "--steps", "5000").status.code == 64)
    #expect(await genbench("schedule", "--scheduler", "ddim", "--config", "/nowhere").status.code == 66)
    let config = folder.path("c.json")
    try Data("[]".utf8).write(to: URL(fileURLWithPath: config))
    #expect(await genbench("schedule", "--scheduler", "ddim", "--config", config).status.code == 65)
    try Data(#"{"beta_schedule": "sideways"}"#.utf8).write(to: URL(fileURLWithPath: config))
    #expect(await genbench("schedule", "--scheduler", "ddim", "--config", config).status.code == 65)
  }

  @Test func noiseIsWrittenAsNumPy() async throws {
    let file = folder.path("l.npy")
    let result = await genbench("latents", "--seed", "0", "--rng", "torch", "--shape", "1,4,8,8", "--output", file)
    #expect(result.out == file + "\n")
    let noise = try NumPyFile.read(file)
    #expect(noise.shape == [1, 4, 8, 8])
    // torch.randn(256, generator=torch.Generator().manual_seed(0))[:2]
    #expect(abs(noise[flat: 0] + 1.1258398) < 1e-6)
    for (words, code) in [
      (["--seed", "x"], Int32(64)), (["--seed", "0", "--shape", "1,-4"], 64), (["--seed", "0", "--shape", "99999,99999"], 64),
      (["--seed", "0", "--shape", ""], 64), (["--seed", "0", "--rng", "mt"], 64),
      (["--seed", "0", "--output", "/nowhere/x.npy"], 73),
    ] {
      #expect(await genbench(["latents", "--output", file] + words).status.code == code, "\(words)")
    }
  }

  @Test func modelsAreListedShownAndPlanned() async throws {
    let list = await genbench("models")
    #expect(list.out.contains("| sd15") && list.out.contains("| sdxl"))
    let show = try await genbench("models", "show", "--variant", "sdxl", "--json").json()
    let components = try #require(show["components"] as? [[String: Any]])
    #expect(components.map { $0["name"] as? String } == ["text_encoder", "text_encoder_2", "unet", "vae"])
    for component in components {
      #expect(component["parameters"] as? Int ?? 0 > 0)
      #expect(component["bytes"] as? Int ?? 0 > 0)
      #expect(component["flop_per_forward"] as? Double ?? 0 > 0)
    }
    let plan = try await genbench("models", "plan", "--variant", "sd15", "--size", "64x64", "--steps", "2", "--json").json()
    let small = try #require(plan["peak_bytes"] as? Int)
    let large = try #require(
      try await genbench("models", "plan", "--variant", "sd15", "--size", "512x512", "--json").json()["peak_bytes"] as? Int)
    #expect(large > small)
    let table = await genbench("models", "show", Fixtures.folder.appendingPathComponent("Models/sd15").path)
    #expect(table.out.contains("UNet2DConditionModel"))
  }

  @Test func modelsFailClearly() async throws {
    #expect(await genbench("models", "show").status.code == 64)
    #expect(await genbench("models", "show", "/nowhere").status.code == 66)
    #expect(await genbench("models", "show", folder.url.path).status.code == 66)
    #expect(await genbench("models", "plan", "--variant", "sd15", "--size", "63x64").status.code == 64)
    #expect(await genbench("models", "plan", "--variant", "sd99").status.code == 64)
    #expect(await genbench("models", "shwo").err.contains("Did you mean 'show'?"))
  }
}
