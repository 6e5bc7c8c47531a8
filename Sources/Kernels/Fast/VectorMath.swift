internal import KernelContract

/// `eˣ` lane by lane, relative error below 2e-7; arguments are limited to -87.3...88.3, NaN stays NaN.
///
/// `x = n ln 2 + r` with whole `n`, then `eʳ = 1 + r + r² q(r)` for `|r| <= ln 2 / 2` (q: a minimax fit of degree 4, error
/// 3e-9), and `2ⁿ` is added to the exponent bits.
@inline(__always)
func exponential(_ x: Vector) -> Vector {
  let limited = minimum(Vector(repeating: 88.3), maximum(Vector(repeating: -87.3), x))
  // Adding 1.5 · 2²³ rounds to a whole number, which then stands in the low bits.
  let magic = Vector(repeating: 12_582_912)
  let shifted = multiplyAdd(magic, limited, Vector(repeating: 1.442_695_04))
  let whole = shifted - magic
  // ln 2 in two parts; the first has so few bits that its product with `whole` is exact.
  let high = multiplyAdd(limited, whole, Vector(repeating: -0.693_359_375))
  let rest = multiplyAdd(high, whole, Vector(repeating: 2.121_944_4e-4))
  var q = Vector(repeating: 0.001_381_446_6)
  q = multiplyAdd(Vector(repeating: 0.008_368_781), q, rest)
  q = multiplyAdd(Vector(repeating: 0.041_668_393), q, rest)
  q = multiplyAdd(Vector(repeating: 0.166_665_2), q, rest)
  q = multiplyAdd(Vector(repeating: 0.499_999_94), q, rest)
  let power = multiplyAdd(multiplyAdd(Vector(repeating: 1), rest, Vector(repeating: 1)), rest * rest, q)
  let exponent = unsafeBitCast(shifted, to: VectorBits.self) &<< VectorBits(repeating: 23)
  return unsafeBitCast(unsafeBitCast(power, to: VectorBits.self) &+ exponent, to: Vector.self)
}

/// `2ˣ` lane by lane for `x <= 0`, relative error below 2e-7; arguments are limited to -126 from below, NaN stays NaN.
///
/// `x = n + r` with whole `n`, then `2ʳ = 1 + r q(r)` for `|r| <= 1/2` (q: a minimax fit of degree 4, error 9e-8).
@inline(__always)
func powerOfTwo(_ x: Vector) -> Vector {
  let limited = maximum(Vector(repeating: -126), x)
  let magic = Vector(repeating: 12_582_912)
  let shifted = magic + limited
  let rest = limited - (shifted - magic)
  var q = Vector(repeating: 0.001_326_472_8)
  q = multiplyAdd(Vector(repeating: 0.009_671_513), q, rest)
  q = multiplyAdd(Vector(repeating: 0.055_507_336), q, rest)
  q = multiplyAdd(Vector(repeating: 0.240_222_42), q, rest)
  q = multiplyAdd(Vector(repeating: 0.693_147), q, rest)
  let power = multiplyAdd(Vector(repeating: 1), rest, q)
  let exponent = unsafeBitCast(shifted, to: VectorBits.self) &<< VectorBits(repeating: 23)
  return unsafeBitCast(unsafeBitCast(power, to: VectorBits.self) &+ exponent, to: Vector.self)
}

/// `x · sigmoid(factor · x)`.
@inline(__always)
func sigmoidProduct(_ x: Vector, factor: Float) -> Vector {
  x / (Vector(repeating: 1) + exponential(x * Vector(repeating: -factor)))
}

/// `x · Φ(x)`.
///
/// With `z = |x| / √2`: `Φ(-|x|) = erfc(z) / 2 = e^(-z²) erfcx(z) / 2`, and `erfcx` is a polynomial of `t = 1 / (1 + 0.4 z)`
/// (a minimax fit of degree 9 on `0...10.5`, relative error 4e-8).
@inline(__always)
func gelu(_ x: Vector) -> Vector {
  let magnitude = maximum(x, -x)
  let z = magnitude * Vector(repeating: 0.707_106_78)
  let one = Vector(repeating: 1)
  let t = one / multiplyAdd(one, z, Vector(repeating: 0.4))
  var p = Vector(repeating: 0.030_271_868)
  p = multiplyAdd(Vector(repeating: -0.083_125_25), p, t)
  p = multiplyAdd(Vector(repeating: -0.044_447_43), p, t)
  p = multiplyAdd(Vector(repeating: 0.250_776_7), p, t)
  p = multiplyAdd(Vector(repeating: -0.048_328_044), p, t)
  p = multiplyAdd(Vector(repeating: 0.258_089_5), p, t)
  p = multiplyAdd(Vector(repeating: 0.180_950_31), p, t)
  p = multiplyAdd(Vector(repeating: 0.230_622_44), p, t)
  p = multiplyAdd(Vector(repeating: 0.225_167_78), p, t)
  p = multiplyAdd(Vector(repeating: 2.217_407e-5), p, t)
  let tail = p * exponential(-(z * z)) * Vector(repeating: 0.5)
  let phi = tail.replacing(with: one - tail, where: x .> Vector())
  return x * phi
}

/// `0.5 x (1 + tanh(√(2/π) (x + 0.044715 x³)))`, as `x · sigmoid(2 u)`.
@inline(__always)
func geluTanh(_ x: Vector) -> Vector {
  let inner = x * multiplyAdd(Vector(repeating: 1), x * x, Vector(repeating: 0.044_715))
  return x / (Vector(repeating: 1) + exponential(inner * Vector(repeating: -1.595_769_12)))
}

/// One vector's worth of an activation.
@inline(__always)
func activated(_ activation: Activation, _ x: Vector) -> Vector {
  switch activation {
  case .none: x
  case .silu: sigmoidProduct(x, factor: 1)
  case .gelu: gelu(x)
  case .geluTanh: geluTanh(x)
  case .quickGelu: sigmoidProduct(x, factor: 1.702)
  }
}

/// Applies `body` to `count` floats a vector at a time.
///
/// The last ones go through the same code in a padded vector, so that a value doesn't depend on where a stretch was cut.
@inline(__always)
func mapVectors(
  _ source: UnsafePointer<Float>, _ target: UnsafeMutablePointer<Float>, _ count: Int,
  _ body: (_ x: Vector, _ index: Int) -> Vector
) {
  var index = 0
  while index + lanes <= count {
    store(body(load(source + index), index), target + index)
    index += lanes
  }
  if index < count { storePartial(body(loadPartial(source + index, count - index), index), target + index, count - index) }
}

/// The first `count` lanes from memory, zeros beyond.
@inline(__always)
func loadPartial(_ pointer: UnsafePointer<Float>, _ count: Int) -> Vector {
  var vector = Vector()
  for lane in 0..<count { vector[lane] = pointer[lane] }
  return vector
}

/// The first `count` lanes to memory.
@inline(__always)
func storePartial(_ vector: Vector, _ pointer: UnsafeMutablePointer<Float>, _ count: Int) {
  for lane in 0..<count { pointer[lane] = vector[lane] }
}

/// `target = activation(source)`; the two may be the same memory.
func applyActivation(
  _ activation: Activation, _ source: UnsafePointer<Float>, _ target: UnsafeMutablePointer<Float>, _ count: Int
) {
  // One loop per function, so that none chooses per vector.
  switch activation {
  case .none: mapVectors(source, target, count) { x, _ in x }
  case .silu: mapVectors(source, target, count) { x, _ in activated(.silu, x) }
  case .gelu: mapVectors(source, target, count) { x, _ in activated(.gelu, x) }
  case .geluTanh: mapVectors(source, target, count) { x, _ in activated(.geluTanh, x) }
  case .quickGelu: mapVectors(source, target, count) { x, _ in activated(.quickGelu, x) }
  }
}
