//! Inputs: pieces, pockets, rights, kings and counters.

use shakmaty::attacks;

use super::blocks::{BlockList, SIDES};
use super::checks::CheckBlocks;
use super::geometry::{Geometry, offset};
use super::offers::OfferBlocks;
use super::places::{InputSink, PlaceCounter};
use super::scene::{Scene, role_index};
use super::threats::ThreatBlocks;
use crate::encoding::planes::{LEAD_STEPS, MAX_CLOCK_STEP, clock_step, lead_step};
use crate::rules::{Bitboard, GameSpec, Role, Side, Square, View};

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

/// Places are compared in blocks of this many.
const PLACES_AT_ONCE: usize = 64;

/// Places of the inputs of the position as a whole, less those of rules.
const COMMON_PLACES: usize = 2;

/// Blocks that not all networks of a game have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OptionalBlocks {
    /// Those of [`CheckBlocks`].
    checks: bool,
    /// Those of [`ThreatBlocks`].
    threats: bool,
    /// Those of [`OfferBlocks`].
    offers: bool,
    /// Those of the rules, [`CommonBlocks::rules`].
    rules: bool,
}

impl OptionalBlocks {
    /// All of them.
    pub(super) const ALL: OptionalBlocks =
        OptionalBlocks { checks: true, threats: true, offers: true, rules: true };

    /// Returns those that the text of a layout names.
    pub(super) fn of_layout(layout: &str) -> OptionalBlocks {
        OptionalBlocks {
            checks: layout.contains("safe-checks("),
            threats: layout.contains("threats("),
            offers: layout.contains("offers("),
            rules: layout.contains("rule("),
        }
    }
}

/// First indices of the blocks of the inputs.
#[derive(Debug)]
pub(super) struct InputBlocks {
    roles: Vec<Role>,
    drops: Vec<Role>,
    common: CommonBlocks,
    boards: Vec<BoardBlocks>,
    /// The number of places of an [`InputSink`].
    places: usize,
}

/// Blocks of the position as a whole.
#[derive(Debug)]
struct CommonBlocks {
    second_side: Option<u16>,
    mid_turn: Option<u16>,
    /// One for each of [`GameSpec::rule_names`], always active. They distinguish the games of a base.
    rules: Vec<u16>,
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
    checks: Option<CheckBlocks>,
    threats: Option<ThreatBlocks>,
    offers: Option<OfferBlocks>,
    places: BoardPlaces,
}

/// First places of the inputs of one board. Of two, the first is that of the side to move.
#[derive(Debug)]
struct BoardPlaces {
    /// By square: the piece or the wall on it.
    squares: usize,
    /// By square: the piece on it is promoted.
    promoted: usize,
    /// By role and side, then by number in hand.
    pockets: [[usize; 2]; 6],
    /// By side, then by the file of the rook.
    castling: [usize; 2],
    mirrored: usize,
    en_passant: usize,
    checks_left: [usize; 2],
    king_attacked: [usize; 2],
    /// By side, then by the square next to the king.
    king_neighbors: [usize; 2],
    halfmoves: usize,
    repeated: usize,
    /// On turn, may move, drawn, lead.
    team: usize,
}

impl BoardPlaces {
    fn new(game_spec: &GameSpec, counter: &mut PlaceCounter) -> BoardPlaces {
        let mut pockets = [[0; 2]; 6];
        for &role in &game_spec.drops {
            pockets[role_index(role)] = [(); 2].map(|()| counter.take(max_pocket(role)));
        }
        let mut both = |count| [(); 2].map(|()| counter.take(count));
        BoardPlaces {
            pockets,
            castling: both(game_spec.files),
            checks_left: both(1),
            king_attacked: both(1),
            king_neighbors: both(KING_NEIGHBORS),
            squares: counter.take(64),
            promoted: counter.take(if game_spec.promoted { 64 } else { 0 }),
            mirrored: counter.take(1),
            en_passant: counter.take(1),
            halfmoves: counter.take(1),
            repeated: counter.take(1),
            team: counter.take(4),
        }
    }
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
        optional: OptionalBlocks,
        prefixes: &[&str],
        list: &mut BlockList,
    ) -> InputBlocks {
        let rules: &[String] = if optional.rules { &game_spec.rule_names } else { &[] };
        let common = CommonBlocks {
            second_side: (!game_spec.symmetry.colors)
                .then(|| list.add("second-side".to_owned(), 1)),
            mid_turn: game_spec.walls.then(|| list.add("mid-turn".to_owned(), 1)),
            rules: rules.iter().map(|name| list.add(format!("rule({name})"), 1)).collect(),
        };
        let mut counter = PlaceCounter::default();
        counter.take(COMMON_PLACES + rules.len());
        let boards = prefixes
            .iter()
            .map(|prefix| BoardBlocks::new(game_spec, optional, prefix, list, &mut counter))
            .collect();
        InputBlocks {
            roles: game_spec.roles.clone(),
            drops: game_spec.drops.clone(),
            boards,
            common,
            places: counter.count().next_multiple_of(PLACES_AT_ONCE),
        }
    }

    /// Returns the number of places of an [`InputSink`].
    pub(super) fn places(&self) -> usize {
        self.places
    }

    /// Adds the active inputs of the position as a whole.
    pub(super) fn write_common(&self, view: &View<'_>, out: &mut impl InputSink) {
        let second_side = self.common.second_side.filter(|_| view.mover != Side::WHITE);
        let mid_turn = self.common.mid_turn.filter(|_| view.mid_turn);
        for (place, input) in [second_side, mid_turn].into_iter().enumerate() {
            put_some(out, place, input);
        }
        for (nth, &input) in self.common.rules.iter().enumerate() {
            out.put(COMMON_PLACES + nth, input);
        }
    }

    /// Adds the active inputs of board number `board`.
    pub(super) fn write_board(
        &self,
        board: usize,
        geometry: &Geometry,
        scene: &Scene<'_>,
        out: &mut impl InputSink,
    ) {
        let blocks = &self.boards[board];
        blocks.write_pieces(&self.roles, geometry, scene, out);
        blocks.write_pockets(&self.drops, scene, out);
        blocks.write_rights(geometry, scene, out);
        blocks.write_kings(geometry, scene, out);
        blocks.write_counters(scene, out);
        if let Some(checks) = &blocks.checks {
            checks.write(geometry, scene, out);
        }
        if let Some(threats) = &blocks.threats {
            threats.write(scene, out);
        }
        if let Some(offers) = &blocks.offers {
            offers.write(geometry, scene, out);
        }
    }
}

impl BoardBlocks {
    fn new(
        game_spec: &GameSpec,
        optional: OptionalBlocks,
        prefix: &str,
        list: &mut BlockList,
        counter: &mut PlaceCounter,
    ) -> BoardBlocks {
        let places = BoardPlaces::new(game_spec, counter);
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
            checks: (optional.checks && has_kings).then(|| CheckBlocks::new(prefix, list, counter)),
            threats: optional.threats.then(|| ThreatBlocks::new(prefix, list, counter)),
            offers: (optional.offers && game_spec.must_capture)
                .then(|| OfferBlocks::new(prefix, list, counter)),
            places,
        }
    }

    fn write_pieces(
        &self,
        roles: &[Role],
        geometry: &Geometry,
        scene: &Scene<'_>,
        out: &mut impl InputSink,
    ) {
        let cells = geometry.cells(scene.orientation);
        let own = scene.own_attacks.once;
        let other = scene.other_attacks.once;
        let places = self.places.squares;
        for &role in roles {
            let [own_first, other_first] = self.piece_square[role_index(role)];
            let pieces = scene.view.pieces.by_role(role);
            for square in pieces & scene.own {
                let input = own_first + piece_state(cells, square, other, own);
                out.put(places + usize::from(square), input);
            }
            for square in pieces & scene.other {
                let input = other_first + piece_state(cells, square, own, other);
                out.put(places + usize::from(square), input);
            }
        }
        if let Some([own_first, other_first]) = self.promoted {
            let places = self.places.promoted;
            for square in scene.view.promoted & scene.own {
                out.put(places + usize::from(square), own_first + cell(cells, square));
            }
            for square in scene.view.promoted & scene.other {
                out.put(places + usize::from(square), other_first + cell(cells, square));
            }
        }
    }

    fn write_pockets(&self, drops: &[Role], scene: &Scene<'_>, out: &mut impl InputSink) {
        let Some(hands) = scene.view.hands else { return };
        for &role in drops {
            let counts = [hands[scene.us][role], hands[!scene.us][role]];
            let firsts = self.pocket[role_index(role)].into_iter();
            let places = self.places.pockets[role_index(role)];
            for ((count, first), place) in counts.into_iter().zip(firsts).zip(places) {
                for nth in 0..usize::from(count).min(max_pocket(role)) {
                    out.put(place + nth, first + nth as u16);
                }
            }
        }
    }

    fn write_rights(&self, geometry: &Geometry, scene: &Scene<'_>, out: &mut impl InputSink) {
        let cells = geometry.cells(scene.orientation);
        if let Some(castling) = &self.castling
            && scene.view.castling.any()
        {
            let [own_first, other_first] = castling.rook_file;
            let [own_place, other_place] = self.places.castling;
            for square in scene.view.castling {
                let is_own = scene.own.contains(square);
                let (first, place) =
                    if is_own { (own_first, own_place) } else { (other_first, other_place) };
                let file = cell(cells, square) % geometry.files() as u16;
                out.put(place + usize::from(file), first + file);
            }
            if scene.orientation.mirrored {
                out.put(self.places.mirrored, castling.mirrored);
            }
        }
        if let (Some(first), Some(square)) = (self.en_passant, scene.view.en_passant) {
            out.put(self.places.en_passant, first + cell(cells, square));
        }
        if let (Some(blocks), Some(checks)) = (self.checks_left, scene.view.checks) {
            let left = [checks[scene.us], checks[!scene.us]];
            for ((left, first), place) in left.into_iter().zip(blocks).zip(self.places.checks_left)
            {
                let left = usize::from(left).min(MAX_CHECKS_LEFT) as u16;
                if left > 0 {
                    out.put(place, first + left - 1);
                }
            }
        }
        if let Some(walls) = &self.walls {
            for square in scene.view.walls & geometry.area() {
                out.put(
                    self.places.squares + usize::from(square),
                    walls.square + cell(cells, square),
                );
            }
        }
    }

    fn write_kings(&self, geometry: &Geometry, scene: &Scene<'_>, out: &mut impl InputSink) {
        let (Some(attacked), Some(neighbors)) = (self.king_attacked, self.king_neighbors) else {
            return;
        };
        let kings = scene.view.pieces.kings();
        if (kings & scene.own & scene.other_attacks.once).any() {
            out.put(self.places.king_attacked[0], attacked[0]);
        }
        if (kings & scene.other & scene.own_attacks.once).any() {
            out.put(self.places.king_attacked[1], attacked[1]);
        }
        let grid = geometry.grid(scene.orientation);
        for (side, king) in [scene.own_king, scene.other_king].into_iter().enumerate() {
            let Some(king) = king else { continue };
            for square in attacks::king_attacks(king) & geometry.area() {
                let neighbor = neighbor_index(grid, king, square);
                let place = self.places.king_neighbors[side] + neighbor;
                if scene.view.walls.contains(square) {
                    let walls = self.walls.as_ref().and_then(|walls| walls.king_neighbors);
                    put_some(out, place, walls.map(|first| first[side] + neighbor as u16));
                    continue;
                }
                let occupant = usize::from(scene.own.contains(square))
                    + 2 * usize::from(scene.other.contains(square));
                let attacked = 2 * usize::from(scene.own_attacks.once.contains(square))
                    + usize::from(scene.other_attacks.once.contains(square));
                let state = (neighbor * 3 + occupant) * 4 + attacked;
                out.put(place, neighbors[side] + state as u16);
            }
        }
    }

    fn write_counters(&self, scene: &Scene<'_>, out: &mut impl InputSink) {
        let step = clock_step(scene.view.halfmoves);
        if step > 0 {
            out.put(self.places.halfmoves, self.halfmoves + step as u16 - 1);
        }
        if scene.view.repeated {
            out.put(self.places.repeated, self.repeated);
        }
        let Some(blocks) = &self.team else { return };
        let team = scene.view.team;
        let step = lead_step(team.lead);
        let lead = (step != 0).then(|| {
            let first = if step > 0 { blocks.ahead } else { blocks.behind };
            first + u16::from(step.unsigned_abs()) - 1
        });
        let inputs = [
            team.on_turn.then_some(blocks.on_turn),
            team.may_move.then_some(blocks.may_move),
            team.drawn.then_some(blocks.drawn),
            lead,
        ];
        for (nth, input) in inputs.into_iter().enumerate() {
            put_some(out, self.places.team + nth, input);
        }
    }
}

fn put_some(out: &mut impl InputSink, place: usize, input: Option<u16>) {
    if let Some(input) = input {
        out.put(place, input);
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
