public import Foundation

/// Checks JSON against a schema, as far as this repository's schemas go, and notes which of their properties it met.
///
/// An object's key that the schema doesn't name is a fault too, whatever `additionalProperties` leaves open: the schema shall tell all.
public struct JSONSchemaChecker {
  private let root: [String: Any]
  /// What was wrong, with its place.
  public private(set) var faults: [String] = []
  /// The properties that had a value other than null, by their place in the schema.
  public private(set) var met: Set<String> = []

  /// Takes a schema's text.
  ///
  /// - Throws: When it's no JSON object.
  public init(schema: String) throws {
    guard let root = try JSONSerialization.jsonObject(with: Data(schema.utf8)) as? [String: Any] else {
      throw CocoaError(.propertyListReadCorrupt)
    }
    self.root = root
  }

  /// The places of all properties that the schema names.
  public var properties: Set<String> {
    var places: Set<String> = []
    func walk(_ value: Any, _ place: String) {
      guard let object = value as? [String: Any] else { return }
      for (name, property) in object["properties"] as? [String: Any] ?? [:] {
        places.insert("\(place)/\(name)")
        walk(property, "\(place)/\(name)")
      }
      for key in ["items", "additionalProperties"] { object[key].map { walk($0, place + "/*") } }
    }
    walk(root, "#")
    for (name, definition) in root["$defs"] as? [String: Any] ?? [:] { walk(definition, "#/$defs/\(name)") }
    return places
  }

  /// Checks one document.
  ///
  /// - Throws: When it's no JSON.
  public mutating func check(_ document: Data) throws {
    let value = try JSONSerialization.jsonObject(with: document, options: .fragmentsAllowed)
    check(value, root, "#", "")
  }

  private mutating func check(_ value: Any, _ schema: [String: Any], _ place: String, _ path: String) {
    if let reference = schema["$ref"] as? String {
      let name = String(reference.dropFirst("#/$defs/".count))
      guard let target = (root["$defs"] as? [String: [String: Any]])?[name] else {
        faults.append("\(path): \(reference) leads nowhere")
        return
      }
      return check(value, target, "#/$defs/\(name)", path)
    }
    if let choices = schema["anyOf"] as? [[String: Any]] {
      let fitting = choices.first { choice in
        var trial = self
        trial.faults = []
        trial.check(value, choice, place, path)
        return trial.faults.isEmpty
      }
      guard let fitting else {
        faults.append("\(path): fits none of anyOf")
        return
      }
      check(value, fitting, place, path)
    }
    let kinds = schema["type"].map { $0 as? [String] ?? [$0 as? String ?? ""] }
    if let kinds, !kinds.contains(where: { Self.isOf($0, value) }) { faults.append("\(path): \(value) isn't \(kinds)") }
    if let constant = schema["const"], !Self.equal(constant, value) { faults.append("\(path): \(value) isn't \(constant)") }
    if let values = schema["enum"] as? [Any], !values.contains(where: { Self.equal($0, value) }) {
      faults.append("\(path): \(value) isn't in \(values)")
    }
    if let pattern = schema["pattern"] as? String, let text = value as? String,
      text.range(of: pattern, options: .regularExpression) == nil
    {
      faults.append("\(path): \(text) doesn't match \(pattern)")
    }
    if let number = value as? NSNumber, !Self.isBoolean(number) {
      if let least = schema["minimum"] as? NSNumber, number.doubleValue < least.doubleValue {
        faults.append("\(path): < \(least)")
      }
      if let most = schema["maximum"] as? NSNumber, number.doubleValue > most.doubleValue { faults.append("\(path): > \(most)") }
    }
    if let list = value as? [Any], let items = schema["items"] as? [String: Any] {
      for (index, item) in list.enumerated() { check(item, items, place + "/*", "\(path)[\(index)]") }
    }
    if let object = value as? [String: Any] { checkMembers(object, schema, place, path) }
    for rule in schema["allOf"] as? [[String: Any]] ?? [] {
      guard let condition = rule["if"] as? [String: Any], let consequence = rule["then"] as? [String: Any] else { continue }
      var trial = self
      trial.faults = []
      trial.check(value, condition, "#if", path)
      if trial.faults.allSatisfy({ $0.hasSuffix("isn't in the schema") }) {
        for name in consequence["required"] as? [String] ?? [] where (value as? [String: Any])?[name] == nil {
          faults.append("\(path).\(name) is missing")
        }
      }
    }
  }

  private mutating func checkMembers(_ object: [String: Any], _ schema: [String: Any], _ place: String, _ path: String) {
    for name in schema["required"] as? [String] ?? [] where object[name] == nil { faults.append("\(path).\(name) is missing") }
    let properties = schema["properties"] as? [String: [String: Any]]
    let others = schema["additionalProperties"] as? [String: Any]
    for (name, member) in object {
      if let property = properties?[name] {
        if !(member is NSNull) { met.insert("\(place)/\(name)") }
        check(member, property, "\(place)/\(name)", "\(path).\(name)")
      } else if let others {
        check(member, others, place + "/*", "\(path).\(name)")
      } else if properties != nil {
        faults.append("\(path).\(name) isn't in the schema")
      }
    }
  }

  private static func equal(_ a: Any, _ b: Any) -> Bool {
    if let a = a as? String { return a == b as? String }
    if a is NSNull { return b is NSNull }
    guard let a = a as? NSNumber, let b = b as? NSNumber else { return false }
    return isBoolean(a) == isBoolean(b) && a == b
  }

  /// Tells `true` from 1, which Foundation holds in one class.
  private static func isBoolean(_ number: NSNumber) -> Bool { ["c", "B"].contains(String(cString: number.objCType)) }

  private static func isOf(_ kind: String, _ value: Any) -> Bool {
    switch kind {
    case "null": value is NSNull
    case "object": value is [String: Any]
    case "array": value is [Any]
    case "string": value is String
    case "boolean": (value as? NSNumber).map { isBoolean($0) } ?? false
    case "integer": (value as? NSNumber).map { !isBoolean($0) && $0.doubleValue == $0.doubleValue.rounded() } ?? false
    case "number": (value as? NSNumber).map { !isBoolean($0) } ?? false
    default: false
    }
  }
}
