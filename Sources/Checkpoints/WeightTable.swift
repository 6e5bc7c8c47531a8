public import Tensors

/// Weights by name in memory: views collected from one or more files under names of our own.
public struct WeightTable: WeightSource {
  /// What messages call it.
  public let location: String
  private let views: [String: WeightView]

  /// Makes a table.
  public init(location: String, views: [String: WeightView]) {
    self.location = location
    self.views = views
  }

  /// The names of all weights, sorted.
  public var weightNames: [String] { views.keys.sorted() }

  /// The weight of a name, or nil.
  public func weight(named name: String) -> WeightView? { views[name] }

  /// The weights of `source` under canonical names.
  ///
  /// - Parameter canonicalName: nil drops a weight.
  /// - Throws: ``CheckpointError`` `.invalid` when two weights get the same name.
  init(renaming source: any WeightSource, by canonicalName: (String) -> String?) throws(CheckpointError) {
    var builder = Builder(location: source.location)
    for name in source.weightNames {
      guard let view = source.weight(named: name), let newName = canonicalName(name) else { continue }
      try builder.insert(view, as: newName)
    }
    self = builder.table
  }

  /// The table with some views changed, names kept.
  func mapping(_ change: (WeightView) -> WeightView) -> WeightTable {
    WeightTable(location: location, views: views.mapValues(change))
  }

  /// Collects views one by one; a name is given once.
  struct Builder {
    let location: String
    private var views: [String: WeightView] = [:]

    init(location: String) { self.location = location }

    mutating func insert(_ view: WeightView, as name: String) throws(CheckpointError) {
      guard views.updateValue(view.renamed(name), forKey: name) == nil else {
        throw CheckpointError(
          .invalid, file: location, "tensor '\(view.name)': '\(name)' occurs twice under different spellings; keep one of them")
      }
    }

    var isEmpty: Bool { views.isEmpty }
    var table: WeightTable { WeightTable(location: location, views: views) }
  }
}
