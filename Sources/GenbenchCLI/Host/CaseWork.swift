import DiffusionModels
import GenBackend
import Reporting

/// What the stages of an image compute and move, counted by a dry run of the networks.
enum CaseWork {
  /// The work by stage: `unet` one pass of one image, the others once; nil for models whose networks aren't known here.
  static func count(path: String, variant: String?, size: ImageSize) -> [String: StageWork]? {
    guard let plan = try? ModelDescription(path: path, variant: variant, size: size).plan else { return nil }
    return work(of: plan)
  }

  /// The work of a published size.
  static func count(fullSize variant: String, size: ImageSize) -> [String: StageWork]? {
    guard let plan = try? FullSizeWeights.describe(variant, size: size).plan else { return nil }
    return work(of: plan)
  }

  private static func work(of plan: ModelPlan) -> [String: StageWork] {
    var work: [String: StageWork] = [:]
    for component in plan.components {
      let stage =
        switch component.name {
        case "unet": "unet"
        case "vae": "vae_decode"
        case "safety_checker": "safety"
        default: "text_encode"
        }
      let old = work[stage] ?? StageWork(flop: 0, bytes: 0)
      work[stage] = StageWork(
        flop: old.flop + component.floatingPointOperations, bytes: old.bytes + component.bytesMoved)
    }
    return work
  }
}
