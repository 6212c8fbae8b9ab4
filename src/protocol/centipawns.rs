//! Expected scores in the unit of the protocols.

/// No expected score is worth more centipawns.
const MOST: f32 = 12_800.0;

/// An expected score, from -1 to 1, in centipawns: the formula of lc0, so that its numbers mean
/// what they mean elsewhere.
pub(super) fn centipawns(score: f32) -> i32 {
    let pawns = 90.0 * libm::tanf(1.563_754_2 * score.clamp(-1.0, 1.0));
    pawns.clamp(-MOST, MOST).round() as i32
}
