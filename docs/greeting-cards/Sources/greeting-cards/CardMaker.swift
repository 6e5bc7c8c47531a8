import Foundation
import Imaging
import PlaygroundKit
import Tensors

/// Makes cards as an app would: presents the sheet, and takes what the person accepts.
@MainActor struct CardMaker {
  struct Failure: Error, CustomStringConvertible {
    var description: String
  }

  let system: ImagePlaygroundSystem

  /// The card as a picture.
  func make(_ card: Card) async throws -> Bitmap {
    // The documented conditional: the sheet where images can be made, a fallback where they can't.
    guard system.supportsImagePlayground else {
      return CardLayout(card: card).compose(picture: CardLayout.plainFront(card), glyph: nil)
    }
    let picture = try await picture(for: card)
    let glyph = card.preset.allowed.contains(.emoji) ? try await glyph(for: card) : nil
    return CardLayout(card: card).compose(picture: picture, glyph: glyph)
  }

  private func concepts(_ card: Card) -> [ImagePlaygroundConcept] {
    [.text(card.theme), .extracted(from: card.message, title: card.theme)] + (card.drawing.map { [.drawing($0)] } ?? [])
  }

  /// The picture on the front.
  private func picture(for card: Card) async throws -> Bitmap {
    var options = ImagePlaygroundOptions()
    options.sizeSpecification = .closest(to: card.format.size)
    // The sheet's file is temporary: it's copied as soon as the app hears of it.
    let copy = FileManager.default.temporaryDirectory.appendingPathComponent("front-\(UUID().uuidString).png")
    defer { try? FileManager.default.removeItem(at: copy) }
    let sheet = ImagePlaygroundSheet(
      ImagePlaygroundPresentation(
        concepts: concepts(card), options: options, defaultStyle: card.preset.initial, allowedStyles: card.preset.allowed,
        onCompletion: { url in try? FileManager.default.copyItem(at: url, to: copy) }), on: system)
    try await accept(sheet, card)
    return try ImageFile.read(path: copy.path)
  }

  /// The glyph beside the recipient's name.
  private func glyph(for card: Card) async throws -> Bitmap {
    var glyph: AdaptiveImageGlyph?
    let sheet = ImagePlaygroundSheet(
      ImagePlaygroundPresentation(
        concepts: [.text(card.theme)], allowedStyles: [.emoji], onAdaptiveImageGlyphCreation: { glyph = $0 }), on: system)
    try await accept(sheet, card)
    guard let glyph else { throw Failure(description: "\(card.theme): no glyph") }
    return try PNGFile.decode([UInt8](glyph.imageContent))
  }

  /// What a person does: looks at the sheet, makes an image, takes it.
  private func accept(_ sheet: ImagePlaygroundSheet, _ card: Card) async throws {
    sheet.isPresented = true
    guard let session = sheet.session else {
      throw Failure(description: "\(card.theme): \(sheet.lastError?.message ?? "the sheet didn't appear")")
    }
    let phase = await session.generate()
    guard phase == .showing else { throw Failure(description: "\(card.theme): \(phase)") }
    try session.accept()
  }
}
