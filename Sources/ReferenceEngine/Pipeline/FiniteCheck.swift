import Checkpoints
import GenBackend
import Tensors

/// Refuses a network's output with NaN or infinity in it, and says whether the weights are to blame.
///
/// The weights are read only then: at a load that would cost as much as reading the whole file.
///
/// - Throws: `BackendError` `invalidModel` naming the tensor that holds such values, else `processingFailed`.
func requireFinite(_ output: Tensor, _ what: String, weights: [any WeightSource]) throws(BackendError) {
  guard output.hasNonFinite else { return }
  for source in weights {
    guard let found = source.firstNonFinite() else { continue }
    throw BackendError(
      .invalidModel,
      "\(what) isn't finite (NaN or infinite); tensor '\(found.name)' of \(source.location) holds such values: get the file again"
    )
  }
  throw BackendError(
    .processingFailed,
    "\(what) isn't finite (NaN or infinite); lower the guidance scale, or check the inputs and the model's type")
}
