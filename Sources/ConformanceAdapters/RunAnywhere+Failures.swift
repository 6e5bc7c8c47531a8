import Conformance
import RunAnywhere

extension SDKInstance {
  /// Makes calls of ``RunAnywhere`` on this instance.
  func calls<Value: Sendable>(_ body: @Sendable () async throws -> Value) async rethrows -> Value {
    try await RunAnywhere.$sdk.withValue(self, operation: body)
  }
}

extension Failure where Code == ErrorCode {
  /// The failure that an error of this repository's `RunAnywhere` stands for, by its code.
  init(translating error: any Error) {
    guard let error = error as? SDKError else {
      self.init(.other("\(type(of: error))"), message: "\(error)")
      return
    }
    self.init(ErrorCode(error.code.rawValue), category: error.category.rawValue, message: error.message)
  }
}
