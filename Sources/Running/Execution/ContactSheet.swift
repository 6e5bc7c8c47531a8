import Imaging
import Tensors

/// Many images on one sheet, eight in a row, each model beginning a new row.
enum ContactSheet {
  private static let columns = 8
  private static let cell = 96
  private static let gap = 4
  /// Between two models.
  private static let groupGap = 12

  /// Lays out groups of images; nil when there are none.
  static func make(_ groups: [[Bitmap]]) -> Bitmap? {
    let groups = groups.filter { !$0.isEmpty }
    if groups.isEmpty { return nil }
    let rows = groups.map { ($0.count + columns - 1) / columns }
    let width = gap + min(columns, groups.map(\.count).max() ?? 1) * (cell + gap)
    let height = gap + rows.reduce(0, +) * (cell + gap) + (groups.count - 1) * groupGap
    var sheet = Bitmap(width: width, height: height, samples: [UInt8](repeating: 255, count: width * height * 3))
    var top = gap
    for (group, rowCount) in zip(groups, rows) {
      for (index, image) in group.enumerated() {
        let thumbnail = fitted(image)
        let left = gap + index % columns * (cell + gap) + (cell - thumbnail.width) / 2
        let y = top + index / columns * (cell + gap) + (cell - thumbnail.height) / 2
        for row in 0..<thumbnail.height {
          let target = ((y + row) * width + left) * 3
          let source = row * thumbnail.width * 3
          sheet.samples.replaceSubrange(
            target..<(target + thumbnail.width * 3), with: thumbnail.samples[source..<(source + thumbnail.width * 3)])
        }
      }
      top += rowCount * (cell + gap) + groupGap
    }
    return sheet
  }

  /// The image within one cell, its aspect kept.
  private static func fitted(_ image: Bitmap) -> Bitmap {
    let scale = Double(cell) / Double(max(image.width, image.height))
    let width = max(1, min(cell, Int((Double(image.width) * scale).rounded())))
    let height = max(1, min(cell, Int((Double(image.height) * scale).rounded())))
    return Resample.resize(image.rgbOnWhite(), width: width, height: height, filter: scale < 1 ? .lanczos : .bicubic)
  }
}
