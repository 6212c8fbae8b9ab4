//! Inputs for attacked pieces: how many of a role are attacked by pieces of a role, defended and undefended.

use shakmaty::attacks;

use super::attack_map::AttackMap;
use super::blocks::{BlockList, SIDES};
use super::places::{InputSink, PlaceCounter};
use super::scene::Scene;
use crate::rules::Bitboard;

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
            // Few of the kinds occur, and which ones is hard to predict.
            let mut counts = [0_u8; KINDS];
            // The last one is written to once all kinds have occurred.
            let mut kinds = [0_u8; KINDS + 1];
            let mut different = 0;
            let by_role = attacked_by_role(scene, *attackers, attacks);
            for (attacker, attacked) in by_role.into_iter().enumerate() {
                for square in attacked & *targets {
                    let undefended = usize::from(!defence.once.contains(square));
                    let kind = (attacker * ROLES + scene.role_at(square)) * 2 + undefended;
                    kinds[different] = kind as u8;
                    different += usize::from(counts[kind] == 0);
                    counts[kind] += 1;
                }
            }
            for &kind in &kinds[..different] {
                let kind = usize::from(kind);
                let index = kind * MAX_PIECES + usize::from(counts[kind]).min(MAX_PIECES) - 1;
                out.put(self.places[side] + kind, self.firsts[side] + index as u16);
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
