/// One of several things that are measured in turns.
package struct RunSide: Sendable, Hashable {
  var name: String
  var overrides = RunCombination()
  var executable: String?
  var environment: [String: String] = [:]

  /// Reads `NAME:key=value,key=value`; keys are settings, `exe` and `env.NAME`.
  package init(parsing text: String) throws(SettingError) {
    let option = "--side <name:settings>"
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    let isName = !parts[0].isEmpty && parts[0].allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "-_.".contains($0)) }
    guard parts.count == 2, isName else {
      throw SettingError("The value '\(text)' is invalid for '\(option)': expected NAME:KEY=VALUE,KEY=VALUE")
    }
    name = parts[0]
    for part in parts[1].split(separator: ",") {
      let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      guard pair.count == 2 else {
        throw SettingError("The value '\(text)' is invalid for '\(option)': '\(part)' isn't KEY=VALUE")
      }
      if pair[0] == "exe" {
        executable = pair[1]
      } else if pair[0].hasPrefix("env."), pair[0].count > 4 {
        environment[String(pair[0].dropFirst(4))] = pair[1]
      } else {
        let axis = try RunAxis(named: pair[0], option: option)
        overrides[axis] = try RunValue(pair[1], for: axis)
      }
    }
  }
}
