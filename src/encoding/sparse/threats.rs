//! Inputs for attacked pieces: how many of a role are attacked by pieces of a role, defended and undefended.

use shakmaty::attacks;

use super::attack_map::AttackMap;
use super::blocks::{BlockList, SIDES};
use super::places::{InputSink, PlaceCounter};
use super::scene::{Scene, role_index};
use crate::rules::{Bitboard, Role};

/// Roles that attack and are attacked.
const ROLES: usize = 6;
/// Kinds of threats: role of the attacker, role of the attacked piece, defended or not.
const KINDS: usize = ROLES * ROLES * 2;
/// Attacked pieces of one kind that are distinguished; more are encoded as this many.
const MAX_PIECES: usize = 2;

/// Blocks of the threats on one board, by the side that attacks.
#[derive(Debug)]
pub(super) struct ThreatBlocks {
    firsts: [u16; 2],
    /// By side, then by kind.
    places: [usize; 2],
}

impl ThreatBlocks {
    pub(super) fn new(prefix: &str, list: &mut BlockList, counter: &mut PlaceCounter) -> Self {
        let firsts =
            SIDES.map(|side| list.add(format!("{prefix}threats({side})"), KINDS * MAX_PIECES));
        ThreatBlocks { firsts, places: [(); 2].map(|()| counter.take(KINDS)) }
    }

    /// Adds the active inputs of a board.
    pub(super) fn write(&self, scene: &Scene<'_>, out: &mut impl InputSink) {
        let Scene { own, other, own_attacks, other_attacks, .. } = scene;
        let sides =
            [(own, own_attacks, other, other_attacks), (other, other_attacks, own, own_attacks)];
        for (side, (attackers, attacks, targets, defence)) in sides.into_iter().enumerate() {
            let by_role = attacked_by_role(scene, *attackers, attacks);
            for (attacker, attacked) in by_role.into_iter().enumerate() {
                let attacked = attacked & *targets;
                if attacked.is_empty() {
                    continue;
                }
                for role in Role::ALL {
                    let pieces = attacked & scene.view.pieces.by_role(role);
                    let kind = (attacker * ROLES + role_index(role)) * 2;
                    let by_defence = [pieces & defence.once, pieces & !defence.once];
                    for (kind, pieces) in (kind..).zip(by_defence) {
                        let count = pieces.count().min(MAX_PIECES);
                        if count > 0 {
                            let index = kind * MAX_PIECES + count - 1;
                            out.put(self.places[side] + kind, self.firsts[side] + index as u16);
                        }
                    }
                }
            }
        }
    }
}

/// Returns the squares that the pieces of each role attack, those of kings only if there is one.
fn attacked_by_role(
    scene: &Scene<'_>,
    attackers: Bitboard,
    attacks: &AttackMap,
) -> [Bitboard; ROLES] {
    let king = (scene.view.pieces.kings() & attackers).single_square();
    let [knights, bishops, rooks, queens] = attacks.by_role;
    let kings = king.map_or(Bitboard::EMPTY, attacks::king_attacks);
    [attacks.by_pawns, knights, bishops, rooks, queens, kings]
}
