//! Functions that give the same bits on every machine.
//!
//! `+ - * /` and `sqrt` are correctly rounded everywhere; all else comes from the pure-Rust `libm` crate, never from
//! the platform's own library.

/// The cube root, with the same bits on every machine.
pub fn cbrt(x: f64) -> f64 {
    libm::cbrt(x)
}

/// The natural logarithm, with the same bits on every machine.
pub fn ln(x: f64) -> f64 {
    libm::log(x)
}

/// `ln(1 + x)`, exact for small `x` too.
pub fn ln_1p(x: f64) -> f64 {
    libm::log1p(x)
}

/// `e` to the power of `x`, less one; exact for small `x` too.
pub fn exp_m1(x: f64) -> f64 {
    libm::expm1(x)
}

/// `e` to the power of `x`.
pub fn exp(x: f64) -> f64 {
    libm::exp(x)
}

/// The sine of an angle in radians.
pub fn sin(x: f64) -> f64 {
    libm::sin(x)
}

/// The cosine of an angle in radians.
pub fn cos(x: f64) -> f64 {
    libm::cos(x)
}

/// The hyperbolic tangent, with the same bits on every machine.
pub fn tanh(x: f64) -> f64 {
    libm::tanh(x)
}

/// The error function, `2 / sqrt(pi)` times the integral of `e^(-t^2)` from 0 to `x`.
pub fn erf(x: f64) -> f64 {
    libm::erf(x)
}

/// `base` to the power of `exponent`.
pub fn pow(base: f64, exponent: f64) -> f64 {
    libm::pow(base, exponent)
}
