package import Foundation

extension URL {
  /// The address as it may be shown and kept where others can read: without user, password and fragment, tokens as `***`.
  package var shown: URL {
    guard !isFileURL, var parts = URLComponents(url: self, resolvingAgainstBaseURL: true) else { return self }
    let items = parts.percentEncodedQueryItems ?? []
    let hasSecret = items.contains(where: Self.isSecret)
    guard hasSecret || parts.user != nil || parts.password != nil || parts.fragment != nil else { return self }
    (parts.user, parts.password, parts.fragment) = (nil, nil, nil)
    if hasSecret {
      parts.percentEncodedQueryItems = items.map { Self.isSecret($0) ? URLQueryItem(name: $0.name, value: "***") : $0 }
    }
    return parts.url ?? URL(fileURLWithPath: "/")
  }

  /// Whether a part of the query gives access: it's called like it, or long enough to be a key.
  private static func isSecret(_ item: URLQueryItem) -> Bool {
    guard let value = item.value, !value.isEmpty, value != "***" else { return false }
    let name = item.name.lowercased()
    let words = ["token", "key", "secret", "pass", "auth", "sig", "cred", "session", "jwt", "policy", "code"]
    return value.utf8.count >= 20 || words.contains { name.contains($0) }
  }

  /// What identifies the sender to a server: `Basic …`; nil without a user.
  var basicAuthorization: String? {
    guard let parts = URLComponents(url: self, resolvingAgainstBaseURL: true), let user = parts.user, !user.isEmpty else {
      return nil
    }
    return "Basic " + Data("\(user):\(parts.password ?? "")".utf8).base64EncodedString()
  }

  /// The address without user and password.
  var withoutUser: URL {
    guard var parts = URLComponents(url: self, resolvingAgainstBaseURL: true) else { return self }
    (parts.user, parts.password) = (nil, nil)
    return parts.url ?? self
  }
}
