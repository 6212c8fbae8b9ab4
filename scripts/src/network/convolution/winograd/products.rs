//! Products of matrices in blocks that fit into registers: two vectors of `ROWS` rows at a time.

use pulp::Simd;

/// Writes `ROWS` rows of `left` times the matrix `right` to `sums`. A row of `left` has `depth` numbers; rows are
/// `stride` numbers apart.
#[inline(always)]
pub(super) fn multiply_rows<S: Simd, const ROWS: usize>(
    simd: S,
    left: &[f32],
    [stride, depth]: [usize; 2],
    right: &[S::f32s],
    sums: &mut [S::f32s],
) {
    let vectors = sums.len() / ROWS;
    let mut lines = [left; ROWS];
    for (row, line) in lines.iter_mut().enumerate() {
        *line = &left[row * stride..][..depth];
    }
    let mut first = 0;
    while first < vectors {
        let wide = if first + 1 < vectors { 2 } else { 1 };
        let mut block = [[simd.splat_f32s(0.0); 2]; ROWS];
        for (at, right) in (0..depth).zip(right.chunks_exact(vectors)) {
            let one = right[first];
            let other = right[first + wide - 1];
            for (line, block) in lines.iter().zip(&mut block) {
                let by = simd.splat_f32s(line[at]);
                block[0] = simd.mul_add_e_f32s(by, one, block[0]);
                block[1] = simd.mul_add_e_f32s(by, other, block[1]);
            }
        }
        for (row, block) in block.iter().enumerate() {
            sums[row * vectors + first..][..wide].copy_from_slice(&block[..wide]);
        }
        first += wide;
    }
}

/// Adds to row `i` of `sums`, for each of `ROWS` rows, the sum over the rows of `left` and `right` of number `i` of the
/// row of `left`, times the row of `right`. Rows of `left` are `stride` numbers apart.
#[inline(always)]
pub(super) fn outer<S: Simd, const ROWS: usize>(
    simd: S,
    left: &[f32],
    stride: usize,
    right: &[S::f32s],
    sums: &mut [S::f32s],
) {
    let vectors = sums.len() / ROWS;
    let mut first = 0;
    while first < vectors {
        let wide = if first + 1 < vectors { 2 } else { 1 };
        let mut block = [[simd.splat_f32s(0.0); 2]; ROWS];
        for (row, block) in block.iter_mut().enumerate() {
            block[..wide].copy_from_slice(&sums[row * vectors + first..][..wide]);
        }
        for (left, right) in left.chunks(stride).zip(right.chunks_exact(vectors)) {
            let Some(left) = left.first_chunk::<ROWS>() else { break };
            let one = right[first];
            let other = right[first + wide - 1];
            for (&number, block) in left.iter().zip(&mut block) {
                let by = simd.splat_f32s(number);
                block[0] = simd.mul_add_e_f32s(by, one, block[0]);
                block[1] = simd.mul_add_e_f32s(by, other, block[1]);
            }
        }
        for (row, block) in block.iter().enumerate() {
            sums[row * vectors + first..][..wide].copy_from_slice(&block[..wide]);
        }
        first += wide;
    }
}
