#if canImport(SwiftUI)
  import Foundation
  import Imaging
  import ImageIO
  public import SwiftUI
  import Tensors

  extension View {
    /// Presents an image playground while a value is true: the headless sheet with a text field, a picker and two buttons.
    ///
    /// The value becomes false when the person accepts or cancels. Where images aren't available nothing appears.
    ///
    /// - Parameters:
    ///   - isPresented: Whether the sheet is shown.
    ///   - presentation: Concepts, source image, options, styles, and whom to tell.
    ///   - system: Who makes the images; nil is the shared one.
    public func playgroundSheet(
      isPresented: Binding<Bool>, _ presentation: ImagePlaygroundPresentation, on system: ImagePlaygroundSystem? = nil
    ) -> some View {
      sheet(isPresented: isPresented) {
        PlaygroundSheetView(isPresented: isPresented, sheet: ImagePlaygroundSheet(presentation, on: system))
      }
    }
  }

  /// What the headless session is, on a screen.
  struct PlaygroundSheetView: View {
    @Binding var isPresented: Bool
    let sheet: ImagePlaygroundSheet
    @State private var text = ""
    @State private var style: ImagePlaygroundStyle = .any
    @State private var image: CGImage?
    @State private var notice = ""
    @State private var isWorking = false

    var body: some View {
      VStack(spacing: 16) {
        if let image { Image(decorative: image, scale: 1).resizable().scaledToFit() }
        if isWorking { ProgressView() }
        if !notice.isEmpty { Text(notice).foregroundStyle(.secondary) }
        TextField("Describe an image", text: $text)
        if let session = sheet.session, !session.isStyleLocked {
          Picker("Style", selection: $style) { ForEach(session.offeredStyles) { Text($0.id).tag($0) } }
        }
        HStack {
          Button("Cancel", role: .cancel) {
            sheet.session?.cancel()
            isPresented = sheet.isPresented
          }
          Button("Create") { create() }.disabled(isWorking)
          Button("Done") {
            try? sheet.session?.accept()
            isPresented = sheet.isPresented
          }
          .disabled(image == nil || isWorking)
        }
      }
      .padding()
      .onAppear {
        sheet.isPresented = true
        if let session = sheet.session { style = session.selectedStyle } else { isPresented = false }
      }
      .onDisappear { sheet.isPresented = false }
    }

    private func create() {
      guard let session = sheet.session else { return }
      session.type(text)
      try? session.pick(style)
      isWorking = true
      Task {
        let phase = await session.generate()
        isWorking = false
        notice = if case .failed(let why) = phase { why } else { "" }
        image = session.images.last.flatMap(Self.picture)
      }
    }

    private static func picture(_ bitmap: Bitmap) -> CGImage? {
      guard let bytes = try? PNGFile.encode(bitmap), let source = CGImageSourceCreateWithData(Data(bytes) as CFData, nil) else {
        return nil
      }
      return CGImageSourceCreateImageAtIndex(source, 0, nil)
    }
  }
#endif
