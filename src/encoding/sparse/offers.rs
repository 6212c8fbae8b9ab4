//! Inputs for moves to empty squares, where captures are compulsory: how many there are by role, to squares that the other
//! side attacks (offers) and to others (quiet moves).

use shakmaty::attacks;

use super::attack_map::AttackMap;
use super::blocks::{BlockList, SIDES};
use super::geometry::Geometry;
use super::places::{InputSink, PlaceCounter};
use super::scene::Scene;
use crate::rules::{Bitboard, Color};

/// Roles that move.
const ROLES: usize = 6;
/// Moves of one role that are distinguished; more are encoded as this many.
const MAX_MOVES: usize = 8;

/// Blocks of the moves on one board. Arrays are indexed by kind (offers, quiet moves), then by side.
#[derive(Debug)]
pub(super) struct OfferBlocks {
    firsts: [[u16; 2]; 2],
    /// By kind and side, then by role.
    places: [[usize; 2]; 2],
}

impl OfferBlocks {
    pub(super) fn new(prefix: &str, list: &mut BlockList, counter: &mut PlaceCounter) -> Self {
        let firsts = ["offers", "quiet-moves"].map(|kind| {
            SIDES.map(|side| list.add(format!("{prefix}{kind}({side})"), ROLES * MAX_MOVES))
        });
        let places = [(); 2].map(|()| [(); 2].map(|()| counter.take(ROLES)));
        OfferBlocks { firsts, places }
    }

    /// Adds the active inputs of a board.
    pub(super) fn write(&self, geometry: &Geometry, scene: &Scene<'_>, out: &mut impl InputSink) {
        let Scene { us, own, other, own_attacks, other_attacks, .. } = scene;
        let sides =
            [(*us, own, own_attacks, other_attacks), (!*us, other, other_attacks, own_attacks)];
        let open = geometry.area() & !(scene.own | scene.other | scene.view.walls);
        for (side, (color, movers, moves, captures)) in sides.into_iter().enumerate() {
            let by_role = steps(scene, color, *movers, moves);
            for (nth, steps) in by_role.into_iter().enumerate() {
                let steps = steps & open;
                if steps.is_empty() {
                    continue;
                }
                let kinds = [steps & captures.once, steps & !captures.once];
                for (kind, some) in kinds.into_iter().enumerate() {
                    let count = some.count().min(MAX_MOVES);
                    if count > 0 {
                        let index = nth * MAX_MOVES + count - 1;
                        let first = self.firsts[kind][side];
                        out.put(self.places[kind][side] + nth, first + index as u16);
                    }
                }
            }
        }
    }
}

/// Returns the squares to which the pieces of each role could step if they were empty: pawns a single step.
fn steps(
    scene: &Scene<'_>,
    color: Color,
    movers: Bitboard,
    moves: &AttackMap,
) -> [Bitboard; ROLES] {
    let pawns = movers & scene.view.pieces.pawns();
    let pawns = pawns.shift(color.fold_wb(8, -8));
    let kings = movers & scene.view.pieces.kings();
    let kings =
        kings.into_iter().map(attacks::king_attacks).fold(Bitboard::EMPTY, |all, some| all | some);
    let [knights, bishops, rooks, queens] = moves.by_role;
    [pawns, knights, bishops, rooks, queens, kings]
}
