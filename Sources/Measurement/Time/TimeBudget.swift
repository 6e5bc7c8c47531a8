public import GenBackend

/// Where the time of one request went.
///
/// The parts sum to the whole: what no stage claims is ``unaccountedNs``.
public struct TimeBudget: Sendable, Hashable, Codable {
  /// One denoising step.
  public struct Step: Sendable, Hashable, Codable {
    /// The entry of the scheduler's timestep list, from 0.
    public var index: Int
    /// The whole step.
    public var ns: UInt64
    /// What happened within it, by stage name: `unet`, `unet_uncond`, `unet_cond`, `scheduler`.
    public var partsNs: [String: UInt64]

    private enum CodingKeys: String, CodingKey {
      case index, ns
      case partsNs = "parts_ns"
    }
  }

  /// From the request to its end.
  public var totalNs: UInt64
  /// Time by stage, outermost stages only; `step` is the sum of all steps.
  public var stagesNs: [String: UInt64]
  /// The steps in order.
  public var steps: [Step]
  /// What is in no stage.
  public var unaccountedNs: UInt64
  /// Stages that began and never ended, as when a request is cancelled; counted up to the end of the request.
  public var openStages: [String]

  private enum CodingKeys: String, CodingKey {
    case totalNs = "total_ns"
    case stagesNs = "stages_ns"
    case steps
    case unaccountedNs = "unaccounted_ns"
    case openStages = "open_stages"
  }

  /// The time of a stage; nil when it didn't run.
  public subscript(stage: Stage) -> UInt64? { stagesNs[stage.rawValue] }

  /// Adds up the events of one request, which ran from `startNs` to `endNs` by the same clock.
  public init(events: [GenerationEvent], startNs: UInt64, endNs: UInt64) {
    let spans = StageSpan.spans(of: events, endNs: endNs)
    let lastNs = max(startNs, endNs)
    totalNs = lastNs - startNs
    stagesNs = [:]
    steps = []
    openStages = spans.filter(\.isOpen).map(\.stage.rawValue)
    // A span that reaches over the request's ends counts with its part inside.
    func inside(_ timeNs: UInt64) -> UInt64 { min(max(timeNs, startNs), lastNs) }
    var covered: UInt64 = 0
    var coveredUpTo = startNs
    for span in spans where span.depth == 0 {
      // Stages of other threads may overlap: time is given to the stage that began first, and never twice.
      let start = max(inside(span.startNs), coveredUpTo)
      let end = max(inside(span.endNs), start)
      covered += end - start
      coveredUpTo = end
      stagesNs[span.stage.rawValue, default: 0] += end - start
    }
    for (position, span) in spans.enumerated() where span.stage == .step {
      var parts: [String: UInt64] = [:]
      for part in spans[(position + 1)...].prefix(while: { $0.depth > span.depth }) where part.depth == span.depth + 1 {
        parts[part.stage.rawValue, default: 0] += part.endNs - part.startNs
      }
      steps.append(Step(index: span.index ?? steps.count, ns: inside(span.endNs) - inside(span.startNs), partsNs: parts))
    }
    unaccountedNs = totalNs - covered
  }
}

/// A stage from its beginning to its end.
public struct StageSpan: Sendable, Hashable {
  /// The stage.
  public var stage: Stage
  /// The step or token that it belongs to.
  public var index: Int?
  /// When it began.
  public var startNs: UInt64
  /// When it ended.
  public var endNs: UInt64
  /// How many stages it lies in.
  public var depth: Int
  /// Whether no end was seen.
  public var isOpen: Bool

  /// The stages of a request in the order of their beginnings; an end without a beginning is left out.
  public static func spans(of events: [GenerationEvent], endNs: UInt64) -> [StageSpan] {
    var spans: [StageSpan] = []
    var open: [Int] = []
    for event in events {
      switch event {
      case .began(let stage, let index, let timeNs):
        spans.append(StageSpan(stage: stage, index: index, startNs: timeNs, endNs: timeNs, depth: open.count, isOpen: true))
        open.append(spans.count - 1)
      case .ended(let stage, let index, let timeNs):
        guard let place = open.lastIndex(where: { spans[$0].stage == stage && spans[$0].index == index }) else { continue }
        let position = open.remove(at: place)
        spans[position].endNs = max(timeNs, spans[position].startNs)
        spans[position].isOpen = false
      default: continue
      }
    }
    for position in open { spans[position].endNs = max(endNs, spans[position].startNs) }
    return spans
  }
}
