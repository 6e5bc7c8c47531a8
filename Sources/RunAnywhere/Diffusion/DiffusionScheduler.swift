/// A sampler by its name in the field; an engine refuses names that it doesn't know.
public struct DiffusionScheduler: RawRepresentable, Sendable, Hashable, Codable, CustomStringConvertible {
  /// The name: `ddim`, `dpmpp_2m_karras`.
  public let rawValue: String
  /// Names a scheduler.
  public init(rawValue: String) { self.rawValue = rawValue }
  /// The name.
  public var description: String { rawValue }

  /// DDIM.
  public static let ddim = DiffusionScheduler(rawValue: "ddim")
  /// PNDM, the usual one of Stable Diffusion 1.5.
  public static let pndm = DiffusionScheduler(rawValue: "pndm")
  /// LMS.
  public static let lms = DiffusionScheduler(rawValue: "lms")
  /// Euler.
  public static let euler = DiffusionScheduler(rawValue: "euler")
  /// Euler, ancestral.
  public static let eulerAncestral = DiffusionScheduler(rawValue: "euler_a")
  /// DPM-Solver++, second order, multistep.
  public static let dpmpp2M = DiffusionScheduler(rawValue: "dpmpp_2m")
  /// DPM-Solver++ over the noise levels of Karras and others.
  public static let dpmpp2MKarras = DiffusionScheduler(rawValue: "dpmpp_2m_karras")
  /// The stochastic DPM-Solver++.
  public static let dpmpp2MSDE = DiffusionScheduler(rawValue: "dpmpp_2m_sde")
  /// UniPC.
  public static let uniPC = DiffusionScheduler(rawValue: "unipc")
}
