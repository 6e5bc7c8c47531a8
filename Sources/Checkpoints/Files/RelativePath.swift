/// A path from outside (an archive, an index, a server) that stays below the folder it's put into.
///
/// Looked at by bytes, component by component: as a `Character`, a slash followed by a combining mark is no slash, but to the
/// system it is one.
public struct RelativePath: Sendable, Hashable {
  /// The names from the outermost folder to the file; never empty.
  public let components: [String]

  /// Checks a path.
  ///
  /// Nil for an empty or absolute one, for one with an empty component, `.` or `..`, a backslash, a colon or a control
  /// character, a component of more than 255 or a path of more than 1000 bytes, and for a component that begins or ends with
  /// something that joins the slash beside it to one `Character`.
  public init?(_ text: String) {
    guard (1...1000).contains(text.utf8.count) else { return nil }
    var components: [String] = []
    for bytes in text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) {
      let name = String(decoding: bytes, as: UTF8.self)
      let framed = "/\(name)/"
      guard (1...255).contains(bytes.count), name != ".", name != "..", framed.first == "/", framed.last == "/",
        bytes.allSatisfy({ $0 >= 32 && $0 != 127 && $0 != UInt8(ascii: "\\") && $0 != UInt8(ascii: ":") })
      else { return nil }
      components.append(name)
    }
    self.components = components
  }

  /// Whether it's a name without folders.
  public var isName: Bool { components.count == 1 }

  /// The components, joined by slashes.
  public var text: String { components.joined(separator: "/") }
}
