import Foundation

/// An SDK of somebody else: it has its own names, and knows nothing of genbench.
///
/// It stands for a real one. Its pictures are coloured squares out of prompt and seed, as uncompressed PNG.
public actor PictureMaker {
  public enum Problem: Error, Sendable {
    case noModel
    case missingFile(String)
    case badSetting(String)
    case alreadyDrawing
    case stopped
  }

  public struct Settings: Sendable {
    public var side = 512
    public var rounds = 20
    public var adherence = 7.5
    public var seed: UInt32?
    public init() {}
  }

  public struct Picture: Sendable {
    public let png: Data
    public let side: Int
    public let seed: UInt32
    public let milliseconds: UInt64
  }

  public private(set) var modelName: String?
  private var drawing: StopSign?
  public var hasModel: Bool { modelName != nil }

  public init() {}

  public func open(folder: String, name: String) throws {
    let candidates = [folder] + layers(below: folder)
    guard let model = candidates.first(where: { FileManager.default.fileExists(atPath: $0 + "/model_index.json") }) else {
      throw Problem.missingFile(folder + "/model_index.json")
    }
    guard FileManager.default.fileExists(atPath: model + "/tokenizer/vocab.json") else {
      throw Problem.missingFile(model + "/tokenizer/vocab.json")
    }
    modelName = name
  }

  private func layers(below folder: String) -> [String] {
    func folders(_ path: String) -> [String] {
      ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).map { path + "/" + $0 }
    }
    return folders(folder) + folders(folder).flatMap(folders)
  }

  public func close() async {
    drawing?.raise()
    while drawing != nil { await Task.yield() }
    modelName = nil
  }

  public func stop() { drawing?.raise() }

  /// Draws; `eachRound` may return false to stop.
  public func draw(
    _ text: String, settings: Settings = Settings(), eachRound: @escaping @Sendable (_ done: Int, _ all: Int) -> Bool
  ) async throws -> Picture {
    guard hasModel else { throw Problem.noModel }
    guard drawing == nil else { throw Problem.alreadyDrawing }
    guard (10...50).contains(settings.rounds) else { throw Problem.badSetting("rounds \(settings.rounds)") }
    guard (1...20).contains(settings.adherence) else { throw Problem.badSetting("adherence \(settings.adherence)") }
    guard settings.side == 512 else { throw Problem.badSetting("side \(settings.side)") }
    guard text.split(separator: " ").count <= 75, text.contains(where: { !$0.isWhitespace }) else {
      throw Problem.badSetting("text")
    }
    let sign = StopSign()
    drawing = sign
    defer { drawing = nil }
    let start = ContinuousClock.now
    let seed = settings.seed ?? .random(in: 0 ... .max)
    // The rounds run on a thread of their own, so that a slow `eachRound` holds up nobody else.
    let finished = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        Thread {
          var isGoingOn = true
          for round in 1...settings.rounds where isGoingOn {
            isGoingOn = !sign.isRaised && eachRound(round, settings.rounds) && !sign.isRaised
          }
          continuation.resume(returning: isGoingOn)
        }.start()
      }
    } onCancel: {
      sign.raise()
    }
    guard finished else { throw Problem.stopped }
    let png = SquaresPNG(words: "\(text)|\(settings.rounds)|\(settings.adherence)|\(seed)", side: settings.side).data
    let (seconds, attoseconds) = start.duration(to: .now).components
    return Picture(
      png: png, side: settings.side, seed: seed,
      milliseconds: UInt64(max(1, seconds * 1000 + attoseconds / 1_000_000_000_000_000)))
  }
}

/// Says stop to a thread.
final class StopSign: @unchecked Sendable {
  private let lock = NSLock()
  private var raised = false
  var isRaised: Bool { lock.withLock { raised } }
  func raise() { lock.withLock { raised = true } }
}
