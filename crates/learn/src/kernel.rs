//! The one product of matrices that a network needs, on the widest vectors that the processor has.
//!
//! `C = A B`, or `C = A B + bias`, where each element of C is `((bias + a0*b0) + a1*b1) + ...` in this order. Vectors lie
//! along the rows of B and C, so that their width decides which elements are computed together and never the order of a
//! sum; products are rounded before they are added (no fused multiply-add), since a processor without that instruction would
//! need a hundred times as long for it.

use pulp::{Arch, Simd, WithSimd};

/// Rows of C computed together, each with [`COLUMNS`] vectors: twelve sums, which hide the latency of addition and fit the
/// sixteen registers of AVX2.
const ROWS: usize = 6;
const COLUMNS: usize = 2;

/// A matrix whose elements are picked one by one: A.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Strided<'a> {
    pub(crate) values: &'a [f32],
    /// Distance from a row to the next, in elements.
    pub(crate) row: usize,
    /// Distance from a column to the next.
    pub(crate) column: usize,
}

/// What to multiply.
#[derive(Debug)]
pub(crate) struct Product<'a> {
    pub(crate) a: Strided<'a>,
    /// Row by row, `width` elements each: as many rows as A has columns.
    pub(crate) b: &'a [f32],
    /// Where each row of C starts from; `None` is zero.
    pub(crate) bias: Option<&'a [f32]>,
    /// Row by row, `width` elements each: as many rows as A has.
    pub(crate) c: &'a mut [f32],
    pub(crate) width: usize,
    /// Room for a few rows of A, kept from call to call.
    pub(crate) packed: &'a mut Vec<[f32; ROWS]>,
}

/// Room that [`Product`] wants.
pub(crate) type Packed = Vec<[f32; ROWS]>;

impl Product<'_> {
    pub(crate) fn run(self) {
        Arch::new().dispatch(self);
    }
}

impl WithSimd for Product<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { a, b, bias, c, width, packed } = self;
        for (block, c) in c.chunks_mut(ROWS * width).enumerate() {
            let first = block * ROWS;
            let rows = c.len() / width;
            pack(a, first, rows, b.len() / width, packed);
            let mut start = [0.0; ROWS];
            if let Some(bias) = bias {
                start[..rows].copy_from_slice(&bias[first..first + rows]);
            }
            let block = Block { simd, packed, b, start, width };
            match rows {
                1 => block.fill::<1>(c),
                2 => block.fill::<2>(c),
                3 => block.fill::<3>(c),
                4 => block.fill::<4>(c),
                5 => block.fill::<5>(c),
                _ => block.fill::<ROWS>(c),
            }
        }
    }
}

/// Copies rows of A so that what is needed together lies together.
#[inline(always)]
fn pack(a: Strided<'_>, first: usize, rows: usize, columns: usize, packed: &mut Packed) {
    packed.clear();
    packed.resize(columns, [0.0; ROWS]);
    for row in 0..rows {
        let values = a.values[(first + row) * a.row..].iter().step_by(a.column);
        for (packed, value) in packed.iter_mut().zip(values) {
            packed[row] = *value;
        }
    }
}

/// Some rows of C.
struct Block<'a, S> {
    simd: S,
    packed: &'a [[f32; ROWS]],
    b: &'a [f32],
    start: [f32; ROWS],
    width: usize,
}

impl<S: Simd> Block<'_, S> {
    #[inline(always)]
    fn fill<const R: usize>(&self, c: &mut [f32]) {
        let whole = self.width / S::F32_LANES;
        let mut column = 0;
        while column + COLUMNS <= whole {
            self.columns::<R, COLUMNS>(column, c);
            column += COLUMNS;
        }
        while column < whole {
            self.columns::<R, 1>(column, c);
            column += 1;
        }
        if whole * S::F32_LANES < self.width {
            self.rest::<R>(whole * S::F32_LANES, c);
        }
    }

    /// `V` vectors from the vector `column` on.
    #[inline(always)]
    fn columns<const R: usize, const V: usize>(&self, column: usize, c: &mut [f32]) {
        let simd = self.simd;
        let mut sums: [[S::f32s; V]; R] = std::array::from_fn(|row| [simd.splat_f32s(self.start[row]); V]);
        for (a, b) in self.packed.iter().zip(self.b.chunks_exact(self.width)) {
            let (b, _) = S::as_simd_f32s(b);
            let b = &b[column..column + V];
            for row in 0..R {
                let factor = simd.splat_f32s(a[row]);
                for vector in 0..V {
                    sums[row][vector] = simd.add_f32s(sums[row][vector], simd.mul_f32s(factor, b[vector]));
                }
            }
        }
        for (c, sums) in c.chunks_exact_mut(self.width).zip(sums) {
            let (c, _) = S::as_mut_simd_f32s(c);
            c[column..column + V].copy_from_slice(&sums);
        }
    }

    /// The elements from `from` on, less than a vector.
    #[inline(always)]
    fn rest<const R: usize>(&self, from: usize, c: &mut [f32]) {
        let simd = self.simd;
        let mut sums: [S::f32s; R] = std::array::from_fn(|row| simd.splat_f32s(self.start[row]));
        for (a, b) in self.packed.iter().zip(self.b.chunks_exact(self.width)) {
            let b = simd.partial_load_f32s(&b[from..]);
            for row in 0..R {
                sums[row] = simd.add_f32s(sums[row], simd.mul_f32s(simd.splat_f32s(a[row]), b));
            }
        }
        for (c, sum) in c.chunks_exact_mut(self.width).zip(sums) {
            simd.partial_store_f32s(&mut c[from..], sum);
        }
    }
}

/// `into[j][i] = from[i][j]`: rows become columns. `from` has rows of `width`.
pub(crate) fn transpose(from: &[f32], width: usize, into: &mut Vec<f32>) {
    let height = from.len() / width;
    into.resize(from.len(), 0.0);
    for (i, row) in from.chunks_exact(width).enumerate() {
        for (value, into) in row.iter().zip(into[i..].iter_mut().step_by(height)) {
            *into = *value;
        }
    }
}

#[cfg(test)]
mod tests {
    use ackclock_units::RandomStream;
    use proptest::prelude::*;

    use super::*;

    fn numbers(count: usize, random: &mut RandomStream) -> Vec<f32> {
        (0..count).map(|_| random.uniform() as f32 - 0.5).collect()
    }

    fn multiply<S: Simd>(simd: S, a: Strided<'_>, b: &[f32], bias: &[f32], width: usize) -> Vec<u32> {
        let mut c = vec![f32::NAN; bias.len() * width];
        let mut packed = Packed::new();
        Product { a, b, bias: Some(bias), c: &mut c, width, packed: &mut packed }.with_simd(simd);
        c.iter().map(|value| value.to_bits()).collect()
    }

    struct Widest<'a>(Strided<'a>, &'a [f32], &'a [f32], usize);

    impl WithSimd for Widest<'_> {
        type Output = Vec<u32>;
        fn with_simd<S: Simd>(self, simd: S) -> Vec<u32> {
            multiply(simd, self.0, self.1, self.2, self.3)
        }
    }

    proptest! {
        /// The definition, one element after the other, has the same bits as every width of vectors.
        #[test]
        fn every_width_of_vectors_adds_in_the_written_order(
            rows in 1_usize..20, inner in 1_usize..20, width in 1_usize..70, transposed: bool, seed: u64,
        ) {
            let mut random = RandomStream::new(seed, "matrices");
            let (values, b) = (numbers(rows * inner, &mut random), numbers(inner * width, &mut random));
            let bias = numbers(rows, &mut random);
            let (row, column) = if transposed { (1, rows) } else { (inner, 1) };
            let a = Strided { values: &values, row, column };
            let expected: Vec<u32> = (0..rows * width)
                .map(|at| (at / width, at % width))
                .map(|(i, j)| {
                    let product = |k: usize| values[i * row + k * column] * b[k * width + j];
                    (0..inner).fold(bias[i], |sum, k| sum + product(k)).to_bits()
                })
                .collect();
            prop_assert_eq!(&multiply(pulp::Scalar::new(), a, &b, &bias, width), &expected);
            prop_assert_eq!(&Arch::new().dispatch(Widest(a, &b, &bias, width)), &expected);
        }
    }

    #[test]
    fn a_transpose_by_hand() {
        let mut into = Vec::new();
        transpose(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 3, &mut into);
        assert_eq!(into, [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
    }
}
