//! The product of matrices for networks, on the widest vectors of the processor.
//!
//! `C = A B`, or `C = A B + bias`, where each element of C is `((bias + a0*b0) + a1*b1) + ...` in this order. Vectors lie
//! along the rows of B and C, so that their width decides which elements are computed together and never the order of a
//! sum; products are rounded before they are added (no fused multiply-add), since a processor without that instruction would
//! need a hundred times as long for it.

#![allow(clippy::inline_always, reason = "what is not inlined is compiled for narrow vectors")]

use pulp::{Arch, Simd, WithSimd};

/// Rows of C computed together, each with [`COLUMNS`] vectors: twelve sums, which hide the latency of addition and fit the
/// sixteen registers of AVX2.
const ROWS: usize = 6;
const COLUMNS: usize = 2;

/// The matrix A by its layout in memory.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Left<'a> {
    /// The matrix lies row by row.
    Rows(&'a [f32]),
    /// The matrix lies column by column.
    Columns(&'a [f32]),
}

/// The operands of a product of matrices.
#[derive(Debug)]
pub(crate) struct Product<'a> {
    pub(crate) a: Left<'a>,
    /// The matrix B, row by row, `width` elements each: as many rows as A has columns.
    pub(crate) b: &'a [f32],
    /// Initial value of each row of C; `None` is zero.
    pub(crate) bias: Option<&'a [f32]>,
    /// The matrix C, row by row, `width` elements each: as many rows as A has.
    pub(crate) c: &'a mut [f32],
    pub(crate) width: usize,
}

impl Product<'_> {
    pub(crate) fn run(self) {
        Arch::new().dispatch(self);
    }
}

impl WithSimd for Product<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { a, b, bias, c, width } = self;
        let inner = b.len() / width;
        for (block, c) in c.chunks_mut(ROWS * width).enumerate() {
            let block = Block { simd, a, first: block * ROWS, inner, b, bias, width };
            match c.len() / width {
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

/// A block of rows of C.
struct Block<'a, S> {
    simd: S,
    a: Left<'a>,
    /// The first row of the block.
    first: usize,
    /// The number of columns of A.
    inner: usize,
    b: &'a [f32],
    bias: Option<&'a [f32]>,
    width: usize,
}

impl<S: Simd> Block<'_, S> {
    #[inline(always)]
    fn fill<const R: usize>(&self, c: &mut [f32]) {
        match self.a {
            Left::Rows(values) => {
                let each: [&[f32]; R] =
                    std::array::from_fn(|row| &values[(self.first + row) * self.inner..][..self.inner]);
                self.fill_from(c, |column| each.map(|row| row[column]));
            }
            Left::Columns(values) => {
                let height = values.len() / self.inner;
                self.fill_from(c, |column| {
                    let rows: &[f32; R] =
                        values[column * height + self.first..].first_chunk().expect("A has the rows of C");
                    *rows
                });
            }
        }
    }

    /// Fills the rows; `a` returns the block's part of a column of A.
    #[inline(always)]
    fn fill_from<const R: usize>(&self, c: &mut [f32], a: impl Fn(usize) -> [f32; R]) {
        let whole = self.width / S::F32_LANES;
        let mut column = 0;
        while column + COLUMNS <= whole {
            self.columns::<R, COLUMNS>(column, c, &a);
            column += COLUMNS;
        }
        while column < whole {
            self.columns::<R, 1>(column, c, &a);
            column += 1;
        }
        if whole * S::F32_LANES < self.width {
            self.rest::<R>(whole * S::F32_LANES, c, &a);
        }
    }

    #[inline(always)]
    fn start(&self, row: usize) -> S::f32s {
        self.simd.splat_f32s(self.bias.map_or(0.0, |bias| bias[self.first + row]))
    }

    /// Computes `V` vectors from the vector `column` on.
    #[inline(always)]
    fn columns<const R: usize, const V: usize>(&self, column: usize, c: &mut [f32], a: &impl Fn(usize) -> [f32; R]) {
        let simd = self.simd;
        let mut sums: [[S::f32s; V]; R] = std::array::from_fn(|row| [self.start(row); V]);
        let rows = self.b.chunks_exact(self.width).take(self.inner);
        for (k, b) in rows.enumerate() {
            let (b, _) = S::as_simd_f32s(b);
            let (a, b) = (a(k), &b[column..column + V]);
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

    /// Computes the elements from `from` on, less than a vector.
    #[inline(always)]
    fn rest<const R: usize>(&self, from: usize, c: &mut [f32], a: &impl Fn(usize) -> [f32; R]) {
        let simd = self.simd;
        let mut sums: [S::f32s; R] = std::array::from_fn(|row| self.start(row));
        for (k, b) in self.b.chunks_exact(self.width).take(self.inner).enumerate() {
            let (a, b) = (a(k), simd.partial_load_f32s(&b[from..]));
            for row in 0..R {
                sums[row] = simd.add_f32s(sums[row], simd.mul_f32s(simd.splat_f32s(a[row]), b));
            }
        }
        for (c, sum) in c.chunks_exact_mut(self.width).zip(sums) {
            simd.partial_store_f32s(&mut c[from..], sum);
        }
    }
}

/// Transposes a matrix: `into[j][i] = from[i][j]`. `from` has rows of `width`.
pub(crate) fn transpose(from: &[f32], width: usize, into: &mut Vec<f32>) {
    into.resize(from.len(), 0.0);
    for (column, row) in into.chunks_exact_mut(from.len() / width).enumerate() {
        for (value, from) in row.iter_mut().zip(from.chunks_exact(width)) {
            *value = from[column];
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

    fn multiply<S: Simd>(simd: S, a: Left<'_>, b: &[f32], bias: &[f32], width: usize) -> Vec<u32> {
        let mut c = vec![f32::NAN; bias.len() * width];
        Product { a, b, bias: Some(bias), c: &mut c, width }.with_simd(simd);
        c.iter().map(|value| value.to_bits()).collect()
    }

    /// A product on the widest vectors, or on those of an older processor.
    struct Widest<'a>(Left<'a>, &'a [f32], &'a [f32], usize);

    impl WithSimd for Widest<'_> {
        type Output = Vec<u32>;
        fn with_simd<S: Simd>(self, simd: S) -> Vec<u32> {
            multiply(simd, self.0, self.1, self.2, self.3)
        }
    }

    proptest! {
        /// Every width of vectors gives the same bits as the definition, one element after the other.
        #[test]
        fn every_width_of_vectors_adds_in_the_written_order(
            rows in 1_usize..20, inner in 1_usize..20, width in 1_usize..70, transposed: bool, seed: u64,
        ) {
            let mut random = RandomStream::new(seed, "matrices");
            let (values, b) = (numbers(rows * inner, &mut random), numbers(inner * width, &mut random));
            let bias = numbers(rows, &mut random);
            let (row, column) = if transposed { (1, rows) } else { (inner, 1) };
            let a = if transposed { Left::Columns(&values) } else { Left::Rows(&values) };
            let expected: Vec<u32> = (0..rows * width)
                .map(|at| (at / width, at % width))
                .map(|(i, j)| {
                    let product = |k: usize| values[i * row + k * column] * b[k * width + j];
                    (0..inner).fold(bias[i], |sum, k| sum + product(k)).to_bits()
                })
                .collect();
            prop_assert_eq!(&multiply(pulp::Scalar::new(), a, &b, &bias, width), &expected);
            prop_assert_eq!(&Arch::new().dispatch(Widest(a, &b, &bias, width)), &expected);
            #[cfg(target_arch = "x86_64")]
            if let Some(simd) = pulp::x86::V3::try_new() {
                prop_assert_eq!(&Simd::vectorize(simd, Widest(a, &b, &bias, width)), &expected);
            }
        }
    }

    #[test]
    fn a_transpose_by_hand() {
        let mut into = Vec::new();
        transpose(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 3, &mut into);
        assert_eq!(into, [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
    }
}
