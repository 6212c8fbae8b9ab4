//! Inputs for the checks that each side could give: how many there are by the role of the piece, and how many of them
//! are safe. Few rows, which every position trains, tell the network what it would have to learn of each square.

use shakmaty::attacks;

use super::attack_map::{AttackMap, COUNTED_ROLES};
use super::blocks::{BlockList, SIDES};
use super::geometry::Geometry;
use super::places::{InputSink, PlaceCounter};
use super::scene::Scene;
use crate::rules::{Bitboard, Color, Square};

/// Checks by one role that are distinguished; more are encoded as this many.
const MAX_CHECKS: usize = 4;

/// Blocks of the checks on one board. Arrays are indexed by kind (all, safe), then by the side that could give them.
#[derive(Debug)]
pub(super) struct CheckBlocks {
    firsts: [[u16; 2]; 2],
    /// By kind and side, then by role.
    places: [[usize; 2]; 2],
}

/// One side as it attacks the king of the other.
struct Attack<'a> {
    color: Color,
    king: Option<Square>,
    own: Bitboard,
    attacks: &'a AttackMap,
    defence: &'a AttackMap,
}

impl CheckBlocks {
    pub(super) fn new(prefix: &str, list: &mut BlockList, counter: &mut PlaceCounter) -> Self {
        let roles = COUNTED_ROLES.len();
        let firsts = ["checks", "safe-checks"].map(|kind| {
            SIDES.map(|side| list.add(format!("{prefix}{kind}({side})"), roles * MAX_CHECKS))
        });
        let places = [(); 2].map(|()| [(); 2].map(|()| counter.take(roles)));
        CheckBlocks { firsts, places }
    }

    /// Adds the active inputs of a board.
    pub(super) fn write(&self, geometry: &Geometry, scene: &Scene<'_>, out: &mut impl InputSink) {
        let Scene { us, own, other, own_attacks, other_attacks, own_king, other_king, .. } = scene;
        let sides = [
            Attack {
                color: *us,
                king: *other_king,
                own: *own,
                attacks: own_attacks,
                defence: other_attacks,
            },
            Attack {
                color: !*us,
                king: *own_king,
                own: *other,
                attacks: other_attacks,
                defence: own_attacks,
            },
        ];
        for (side, attack) in sides.into_iter().enumerate() {
            self.write_side(geometry, scene, side, &attack, out);
        }
    }

    fn write_side(
        &self,
        geometry: &Geometry,
        scene: &Scene<'_>,
        side: usize,
        attack: &Attack<'_>,
        out: &mut impl InputSink,
    ) {
        let Some(king) = attack.king else { return };
        let Attack { attacks: ours, defence, .. } = attack;
        let blockers = scene.own | scene.other | scene.view.walls;
        let open = geometry.area() & !scene.view.walls;
        // The king alone does not defend a square that two pieces attack.
        let by_king = attacks::king_attacks(king) & !defence.twice & ours.twice;
        let safe = !defence.once | by_king;
        let bishop = attacks::bishop_attacks(king, blockers);
        let rook = attacks::rook_attacks(king, blockers);
        let lines = [attacks::knight_attacks(king), bishop, rook, bishop | rook];
        for (nth, role) in COUNTED_ROLES.into_iter().enumerate() {
            let may_drop = scene.view.hands.is_some_and(|hands| hands[attack.color][role] > 0);
            let dropped = if may_drop { !blockers } else { Bitboard::EMPTY };
            let checks = (ours.by_role[nth] & !attack.own | dropped) & lines[nth] & open;
            if checks.is_empty() {
                continue;
            }
            for (kind, some) in [checks, checks & safe].into_iter().enumerate() {
                let count = some.count().min(MAX_CHECKS);
                if count > 0 {
                    let index = nth * MAX_CHECKS + count - 1;
                    out.put(self.places[kind][side] + nth, self.firsts[kind][side] + index as u16);
                }
            }
        }
    }
}
