/// A colour as people name it.
public enum ColourName: String, Sendable, Hashable, CaseIterable {
  case red, orange, yellow, green, blue, purple, pink, white, black, gray

  /// Names a colour by its hue (degrees), saturation and value.
  ///
  /// - Parameters:
  ///   - red: 0...255.
  ///   - green: 0...255.
  ///   - blue: 0...255.
  public init(red: Double, green: Double, blue: Double) {
    let (high, low) = (max(red, green, blue), min(red, green, blue))
    let (value, chroma) = (high / 255, high - low)
    let saturation = high > 0 ? chroma / high : 0
    if value < 0.2 {
      self = .black
    } else if saturation < 0.16 {
      self = value > 0.8 ? .white : .gray
    } else {
      var hue = 0.0
      if high == red {
        hue = 60 * (green - blue) / chroma
      } else if high == green {
        hue = 120 + 60 * (blue - red) / chroma
      } else {
        hue = 240 + 60 * (red - green) / chroma
      }
      if hue < 0 { hue += 360 }
      switch hue {
      case ..<18, 345...: self = saturation > 0.6 ? .red : .pink
      case ..<42: self = .orange
      case ..<70: self = .yellow
      case ..<170: self = .green
      case ..<260: self = .blue
      case ..<300: self = .purple
      case ..<318: self = value < 0.75 ? .purple : .pink
      default: self = .pink
      }
    }
  }
}
