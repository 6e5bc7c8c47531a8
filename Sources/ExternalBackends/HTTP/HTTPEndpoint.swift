import Foundation
public import GenBackend

/// A server: `http://HOST[:PORT][/BASE][?model=NAME]`.
public struct HTTPEndpoint: Sendable, Hashable {
  /// The name or address.
  public var host: String
  /// The port; 80 when none is given.
  public var port: Int
  /// What goes before every path, without a slash at its end.
  public var base: String
  /// What the server calls the model, when that isn't the name of its file.
  public var model: String?

  /// Reads what stands after `http://`.
  ///
  /// - Throws: `BackendError` `.invalidInput`.
  public init(_ text: String) throws(BackendError) {
    func refuse(_ why: String) -> BackendError {
      BackendError(.invalidInput, "the address 'http://\(text)' \(why): expected http://HOST:PORT, as in http://127.0.0.1:8080")
    }
    guard text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else { throw refuse("holds a character that has no place there") }
    let parts = text.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    if parts.count == 2 {
      guard parts[1].hasPrefix("model="), parts[1].count > 6, let name = String(parts[1].dropFirst(6)).removingPercentEncoding
      else { throw refuse("has the settings '\(parts[1])', where only model=NAME is known") }
      model = name
    }
    let authority = parts[0].prefix { $0 != "/" }
    var path = parts[0][authority.endIndex...]
    while path.hasSuffix("/") { path.removeLast() }
    base = String(path)
    var name = authority
    var number: Substring?
    if authority.hasPrefix("[") {
      // An address of version 6 stands in brackets.
      guard let end = authority.firstIndex(of: "]") else { throw refuse("has an open bracket") }
      name = authority[authority.index(after: authority.startIndex)..<end]
      let rest = authority[authority.index(after: end)...]
      guard rest.isEmpty || rest.hasPrefix(":") else { throw refuse("goes on after its bracket") }
      number = rest.isEmpty ? nil : rest.dropFirst()
    } else if let colon = authority.lastIndex(of: ":") {
      name = authority[..<colon]
      number = authority[authority.index(after: colon)...]
    }
    guard !name.isEmpty, !name.contains("@") else { throw refuse("names no host") }
    host = String(name)
    port = 80
    if let number {
      guard let value = Int(number), (1...65_535).contains(value) else { throw refuse("has the port '\(number)'") }
      port = value
    }
  }

  /// As messages name it.
  public var text: String { "http://\(host.contains(":") ? "[\(host)]" : host):\(port)\(base)" }
}
