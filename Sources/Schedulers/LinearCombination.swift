import Tensors

/// One summand: a coefficient and a tensor.
typealias Term = (scale: Float, tensor: Tensor)

/// The sum of scaled tensors of one shape, in single precision, added up from left to right.
func linearCombination(_ terms: Term...) -> Tensor { linearCombination(terms) }

/// The sum of scaled tensors of one shape, in single precision, added up from left to right.
func linearCombination(_ terms: [Term]) -> Tensor {
  var (scale, tensor) = terms[0]
  let first = scale
  tensor = tensor.map { first * $0 }
  for term in terms.dropFirst() {
    scale = term.scale
    let factor = scale
    tensor = tensor.zip(term.tensor) { $0 + factor * $1 }
  }
  return tensor
}

/// `a - b`, element by element.
func difference(_ left: Tensor, _ right: Tensor) -> Tensor { left.zip(right) { $0 - $1 } }
