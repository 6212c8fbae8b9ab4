//! Inputs: pieces, pockets, rights, kings and counters.

use shakmaty::attacks;

use super::blocks::BlockList;
use super::geometry::{Geometry, offset};
use super::scene::{Scene, role_index};
use crate::encoding::planes::{LEAD_STEPS, MAX_CLOCK_STEP, clock_step, lead_step};
use crate::rules::{Bitboard, GameSpec, Role, Side, Square, View};

/// Names of the sides: the side to move, the other side.
const SIDES: [&str; 2] = ["own", "other"];

/// Members of a group of `piece-square`: attacked by the other side or not, defended or not.
const PIECE_STATES: usize = 4;

/// Pawns in hand that are distinguished; more are encoded as this many.
const MAX_POCKET_PAWNS: usize = 16;

/// Other pieces of one role in hand that are distinguished; more are encoded as this many.
const MAX_POCKET_PIECES: usize = 8;

/// Checks left to win that are distinguished; more are encoded as this many.
const MAX_CHECKS_LEFT: usize = 8;

/// Squares around a king.
const KING_NEIGHBORS: usize = 8;

/// States of a square next to a king: empty, own piece, other piece; attacked by the side to move or
/// not; attacked by the other side or not.
const NEIGHBOR_STATES: usize = 3 * 4;

/// First indices of the blocks of the inputs.
#[derive(Debug)]
pub(super) struct InputBlocks {
    roles: Vec<Role>,
    drops: Vec<Role>,
    common: CommonBlocks,
    boards: Vec<BoardBlocks>,
}

/// Blocks of the position as a whole.
#[derive(Debug)]
struct CommonBlocks {
    second_side: Option<u16>,
    mid_turn: Option<u16>,
}

/// Blocks of one board. Arrays are indexed by side: the side to move, the other side.
#[derive(Debug)]
struct BoardBlocks {
    /// By role and side.
    piece_square: [[u16; 2]; 6],
    promoted: Option<[u16; 2]>,
    /// By role and side.
    pocket: [[u16; 2]; 6],
    castling: Option<CastlingBlocks>,
    en_passant: Option<u16>,
    checks_left: Option<[u16; 2]>,
    king_attacked: Option<[u16; 2]>,
    king_neighbors: Option<[u16; 2]>,
    walls: Option<WallBlocks>,
    halfmoves: u16,
    repeated: u16,
    team: Option<TeamBlocks>,
}

#[derive(Debug)]
struct CastlingBlocks {
    /// By the file of the rook.
    rook_file: [u16; 2],
    /// There are rights, and the board is seen with its files reversed.
    mirrored: u16,
}

#[derive(Debug)]
struct WallBlocks {
    square: u16,
    king_neighbors: Option<[u16; 2]>,
}

/// What the side to move may do on one of two boards.
#[derive(Debug)]
struct TeamBlocks {
    on_turn: u16,
    may_move: u16,
    drawn: u16,
    ahead: u16,
    behind: u16,
}

impl InputBlocks {
    /// Adds the blocks of a game to `list`. `prefixes` are the prefixes of the names of the boards'
    /// blocks, one a board.
    pub(super) fn new(
        game_spec: &GameSpec,
        prefixes: &[&str],
        list: &mut BlockList,
    ) -> InputBlocks {
        let common = CommonBlocks {
            second_side: (!game_spec.symmetry.colors)
                .then(|| list.add("second-side".to_owned(), 1)),
            mid_turn: game_spec.walls.then(|| list.add("mid-turn".to_owned(), 1)),
        };
        let boards = prefixes.iter().map(|prefix| BoardBlocks::new(game_spec, prefix, list));
        InputBlocks {
            roles: game_spec.roles.clone(),
            drops: game_spec.drops.clone(),
            boards: boards.collect(),
            common,
        }
    }

    /// Adds the active inputs of the position as a whole.
    pub(super) fn write_common(&self, view: &View<'_>, out: &mut Vec<u16>) {
        if view.mover != Side::WHITE {
            out.extend(self.common.second_side);
        }
        if view.mid_turn {
            out.extend(self.common.mid_turn);
        }
    }

    /// Adds the active inputs of board number `board`.
    pub(super) fn write_board(
        &self,
        board: usize,
        geometry: &Geometry,
        scene: &Scene<'_>,
        out: &mut Vec<u16>,
    ) {
        let blocks = &self.boards[board];
        blocks.write_pieces(&self.roles, geometry, scene, out);
        blocks.write_pockets(&self.drops, scene, out);
        blocks.write_rights(geometry, scene, out);
        blocks.write_kings(geometry, scene, out);
        blocks.write_counters(scene, out);
    }
}

impl BoardBlocks {
    fn new(game_spec: &GameSpec, prefix: &str, list: &mut BlockList) -> BoardBlocks {
        let squares = game_spec.files * game_spec.ranks;
        let mut piece_square = [[0; 2]; 6];
        for &role in &game_spec.roles {
            for side in [0, 1] {
                let name = format!("{prefix}piece-square({role:?},{})", SIDES[side]);
                piece_square[role_index(role)][side] =
                    list.add_grouped(name, squares, PIECE_STATES);
            }
        }
        let mut pocket = [[0; 2]; 6];
        for &role in &game_spec.drops {
            for side in [0, 1] {
                let name = format!("{prefix}pocket({role:?},{})", SIDES[side]);
                pocket[role_index(role)][side] = list.add(name, max_pocket(role));
            }
        }
        let mut both = |name: &str, size: usize| {
            SIDES.map(|side| list.add(format!("{prefix}{name}({side})"), size))
        };
        let has_kings = game_spec.roles.contains(&Role::King);
        let promoted = game_spec.promoted.then(|| both("promoted", squares));
        let rook_file = game_spec.castling.then(|| both("castling", game_spec.files));
        let checks_left = game_spec.checks.map(|_| both("checks-left", MAX_CHECKS_LEFT));
        let king_attacked = has_kings.then(|| both("king-attacked", 1));
        let neighbors = KING_NEIGHBORS * NEIGHBOR_STATES;
        let king_neighbors = has_kings.then(|| both("king-neighbors", neighbors));
        let wall_neighbors =
            (game_spec.barriers && has_kings).then(|| both("wall-beside-king", KING_NEIGHBORS));
        let mut one = |name: &str, size: usize| list.add(format!("{prefix}{name}"), size);
        BoardBlocks {
            piece_square,
            promoted,
            pocket,
            castling: rook_file.map(|rook_file| CastlingBlocks {
                rook_file,
                mirrored: one("castling-mirrored", 1),
            }),
            en_passant: game_spec.en_passant.then(|| one("en-passant", squares)),
            checks_left,
            king_attacked,
            king_neighbors,
            walls: game_spec.barriers.then(|| WallBlocks {
                square: one("wall", squares),
                king_neighbors: wall_neighbors,
            }),
            halfmoves: one("halfmoves", MAX_CLOCK_STEP as usize),
            repeated: one("repeated", 1),
            team: game_spec.two_boards.then(|| TeamBlocks {
                on_turn: one("on-turn", 1),
                may_move: one("may-move", 1),
                drawn: one("drawn", 1),
                ahead: one("ahead", LEAD_STEPS),
                behind: one("behind", LEAD_STEPS),
            }),
        }
    }

    fn write_pieces(
        &self,
        roles: &[Role],
        geometry: &Geometry,
        scene: &Scene<'_>,
        out: &mut Vec<u16>,
    ) {
        let cells = geometry.cells(scene.orientation);
        let own = scene.own_attacks.once;
        let other = scene.other_attacks.once;
        for &role in roles {
            let [own_first, other_first] = self.piece_square[role_index(role)];
            let pieces = scene.view.pieces.by_role(role);
            for square in pieces & scene.own {
                out.push(own_first + piece_state(cells, square, other, own));
            }
            for square in pieces & scene.other {
                out.push(other_first + piece_state(cells, square, own, other));
            }
        }
        if let Some([own_first, other_first]) = self.promoted {
            for square in scene.view.promoted & scene.own {
                out.push(own_first + cell(cells, square));
            }
            for square in scene.view.promoted & scene.other {
                out.push(other_first + cell(cells, square));
            }
        }
    }

    fn write_pockets(&self, drops: &[Role], scene: &Scene<'_>, out: &mut Vec<u16>) {
        let Some(hands) = scene.view.hands else { return };
        for &role in drops {
            let counts = [hands[scene.us][role], hands[!scene.us][role]];
            for (count, first) in counts.into_iter().zip(self.pocket[role_index(role)]) {
                let count = usize::from(count).min(max_pocket(role)) as u16;
                out.extend(first..first + count);
            }
        }
    }

    fn write_rights(&self, geometry: &Geometry, scene: &Scene<'_>, out: &mut Vec<u16>) {
        let cells = geometry.cells(scene.orientation);
        if let Some(castling) = &self.castling
            && scene.view.castling.any()
        {
            let [own_first, other_first] = castling.rook_file;
            for square in scene.view.castling {
                let first = if scene.own.contains(square) { own_first } else { other_first };
                out.push(first + cell(cells, square) % geometry.files() as u16);
            }
            if scene.orientation.mirrored {
                out.push(castling.mirrored);
            }
        }
        if let (Some(first), Some(square)) = (self.en_passant, scene.view.en_passant) {
            out.push(first + cell(cells, square));
        }
        if let (Some(blocks), Some(checks)) = (self.checks_left, scene.view.checks) {
            for (left, first) in [checks[scene.us], checks[!scene.us]].into_iter().zip(blocks) {
                let left = usize::from(left).min(MAX_CHECKS_LEFT) as u16;
                if left > 0 {
                    out.push(first + left - 1);
                }
            }
        }
        if let Some(walls) = &self.walls {
            for square in scene.view.walls & geometry.area() {
                out.push(walls.square + cell(cells, square));
            }
        }
    }

    fn write_kings(&self, geometry: &Geometry, scene: &Scene<'_>, out: &mut Vec<u16>) {
        let (Some(attacked), Some(neighbors)) = (self.king_attacked, self.king_neighbors) else {
            return;
        };
        let kings = scene.view.pieces.kings();
        if (kings & scene.own & scene.other_attacks.once).any() {
            out.push(attacked[0]);
        }
        if (kings & scene.other & scene.own_attacks.once).any() {
            out.push(attacked[1]);
        }
        let grid = geometry.grid(scene.orientation);
        for (side, king) in [scene.own_king, scene.other_king].into_iter().enumerate() {
            let Some(king) = king else { continue };
            for square in attacks::king_attacks(king) & geometry.area() {
                let neighbor = neighbor_index(grid, king, square);
                if scene.view.walls.contains(square) {
                    let walls = self.walls.as_ref().and_then(|walls| walls.king_neighbors);
                    out.extend(walls.map(|first| first[side] + neighbor as u16));
                    continue;
                }
                let occupant = usize::from(scene.own.contains(square))
                    + 2 * usize::from(scene.other.contains(square));
                let attacked = 2 * usize::from(scene.own_attacks.once.contains(square))
                    + usize::from(scene.other_attacks.once.contains(square));
                let state = (neighbor * 3 + occupant) * 4 + attacked;
                out.push(neighbors[side] + state as u16);
            }
        }
    }

    fn write_counters(&self, scene: &Scene<'_>, out: &mut Vec<u16>) {
        let step = clock_step(scene.view.halfmoves);
        if step > 0 {
            out.push(self.halfmoves + step as u16 - 1);
        }
        if scene.view.repeated {
            out.push(self.repeated);
        }
        let Some(blocks) = &self.team else { return };
        let team = scene.view.team;
        out.extend(team.on_turn.then_some(blocks.on_turn));
        out.extend(team.may_move.then_some(blocks.may_move));
        out.extend(team.drawn.then_some(blocks.drawn));
        let step = lead_step(team.lead);
        if step != 0 {
            let first = if step > 0 { blocks.ahead } else { blocks.behind };
            out.push(first + u16::from(step.unsigned_abs()) - 1);
        }
    }
}

/// Returns the number of pieces of a role in hand that are distinguished.
fn max_pocket(role: Role) -> usize {
    if role == Role::Pawn { MAX_POCKET_PAWNS } else { MAX_POCKET_PIECES }
}

#[inline]
fn cell(cells: &[u8; 64], square: Square) -> u16 {
    u16::from(cells[usize::from(square)])
}

/// Returns the index of a piece within its `piece-square` block.
#[inline]
fn piece_state(cells: &[u8; 64], square: Square, attacked: Bitboard, defended: Bitboard) -> u16 {
    cell(cells, square) * PIECE_STATES as u16
        + u16::from(attacked.contains(square)) * 2
        + u16::from(defended.contains(square))
}

/// Returns the number of a square next to a king, 0 to 7, rank by rank.
#[inline]
fn neighbor_index(grid: &[u8; 64], king: Square, square: Square) -> usize {
    let place = offset(grid[usize::from(king)], grid[usize::from(square)]);
    // Three squares on each of three ranks; the king's own is the fifth of them.
    let file = place % 15 - 6;
    let rank = place / 15 - 6;
    let nth = rank * 3 + file;
    if nth > 4 { nth - 1 } else { nth }
}
