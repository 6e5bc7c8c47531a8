public import Foundation
import GenBackend

extension ImagePlaygroundOptions {
  /// A size that images can have.
  public struct SizeSpecification: Sendable, Hashable {
    /// Width and height in pixels: one of ``supported``.
    public let size: CGSize

    /// The sizes that there are, by area.
    public static let supported: [CGSize] = [
      CGSize(width: 512, height: 512), CGSize(width: 768, height: 512), CGSize(width: 512, height: 768),
      CGSize(width: 1024, height: 576), CGSize(width: 576, height: 1024), CGSize(width: 1024, height: 768),
      CGSize(width: 768, height: 1024), CGSize(width: 1024, height: 1024), CGSize(width: 1536, height: 1024),
      CGSize(width: 1024, height: 1536),
    ]

    /// The smallest square.
    public static let smallestSquare = SizeSpecification(size: supported[0])

    /// The supported size that is nearest to a wanted one.
    ///
    /// First the aspect, then the resolution: of all aspects the one whose ratio to the wanted one is nearest to 1, then of the
    /// sizes with that aspect the one whose area is, again as a ratio. The smaller size wins a tie. So a wide size stays wide
    /// however small or large it is. A size that isn't finite or isn't above zero has no aspect, and gets the smallest square.
    public static func closest(to size: CGSize) -> SizeSpecification {
      SizeSpecification(size: closest(to: size, in: supported) ?? supported[0])
    }

    /// The nearest of some sizes, by the same rule; nil when there's none among them.
    public static func closest(to size: CGSize, in supported: [CGSize]) -> CGSize? {
      func logarithms(_ size: CGSize) -> (aspect: Double, side: Double)? {
        let (width, height) = (Double(size.width), Double(size.height))
        guard width > 0, height > 0, width.isFinite, height.isFinite else { return nil }
        // Of each side alone, so that neither product nor quotient can overflow.
        return (log(width) - log(height), (log(width) + log(height)) / 2)
      }
      let candidates = supported.compactMap { candidate in logarithms(candidate).map { (candidate, $0) } }
      guard let wanted = logarithms(size) else {
        return candidates.filter { $0.0.width == $0.0.height }.min { $0.0.width < $1.0.width }?.0 ?? candidates.first?.0
      }
      func key(_ candidate: (aspect: Double, side: Double)) -> (Double, Double, Double) {
        // The same aspect out of other sides differs in the last bits.
        let aspect = (abs(candidate.aspect - wanted.aspect) * 1e9).rounded()
        return (aspect, abs(candidate.side - wanted.side), candidate.side)
      }
      return candidates.min { key($0.1) < key($1.1) }?.0
    }

    var imageSize: ImageSize { ImageSize(width: Int(size.width), height: Int(size.height)) }
  }
}
