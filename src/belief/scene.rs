//! What is told of a reply before any board is looked at.

use crate::rules::blind::{Army, attackers};
use crate::rules::{Bitboard, Color, Square};

/// What is the same for all boards of a set: the men of the side that believes, and what it was
/// told.
#[derive(Clone, Debug)]
pub(super) struct Scene {
    /// Whose men are not known.
    pub(super) color: Color,
    /// The men that are known, before the reply.
    pub(super) own: Army,
    pub(super) occupied: Bitboard,
    pub(super) passed: Option<Square>,
    /// Where a man was taken.
    pub(super) capture: Option<Square>,
    /// The squares passed over by a double step that matter: those a pawn could take on.
    pub(super) matters: Bitboard,
    /// The squares that the known side's pawns attack before the reply.
    guarded: Bitboard,
}

impl Scene {
    /// The scene of a reply by `color` to a side that has these men of its `own`.
    pub(super) fn new(color: Color, own: Army, capture: Option<Square>) -> Scene {
        let mut scene = Scene {
            color,
            own,
            occupied: own.occupied(),
            passed: own.passed(!color),
            capture,
            matters: Bitboard::EMPTY,
            guarded: own.pawn_attacks(!color),
        };
        scene.matters = scene.own_after().pawn_attacks(!color);
        scene
    }

    /// The known men after the reply.
    pub(super) fn own_after(&self) -> Army {
        let mut own = self.own.rested();
        if let Some(square) = self.capture {
            own.remove(!self.color, square);
        }
        own
    }

    /// The squares that the known side's pawns attack.
    pub(super) fn guarded(&self) -> Bitboard {
        self.guarded
    }

    /// Whether a board can have led to what was told, before any reply is made.
    pub(super) fn possible(&self, army: &Army) -> bool {
        let Some(square) = self.capture else { return true };
        let occupied = self.occupied | army.occupied();
        // The pawn that can be taken in passing stands behind the square passed over.
        let behind =
            |passed: Square| passed.file() == square.file() && passed.distance(square) == 1;
        self.passed.is_some_and(behind) || attackers(army, self.color, square, occupied).any()
    }
}
