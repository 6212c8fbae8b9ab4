//! Move rows: what each legal move is, where it arrives, what it does there, and how near the kings are.

use shakmaty::attacks;

use super::ROWS_PER_MOVE;
use super::attack_map::AttackMap;
use super::blocks::BlockList;
use super::geometry::{Geometry, OFFSETS, offset};
use super::scene::{Scene, role_index};
use crate::rules::{Bitboard, Color, GameSpec, Move, Role, Square};

/// States of the square on which a piece arrives: attacked by the other side or not, defended or not,
/// the move gives check or not.
const ARRIVAL_STATES: usize = 2 * 2 * 2;

/// Kinds of captured pieces: none, pawn to king.
const CAPTURES: usize = 7;

/// The tactical properties of any arrival, as [`Arrival::tactics`] numbers it.
const TACTICS: usize = 3 * 2 * 2 * 3;

/// Lines of sliders through the square of a wall: of the other side or not, of the side to move or not.
const WALL_LINES: usize = 2 * 2;

/// What a wall blocks, as [`MoveBlocks::wall_context`] numbers it.
const WALL_CONTEXTS: usize = 2 * 2 * 3 * 3 * 2 * 2 * 2 * 2;

/// First indices of the blocks of the move rows.
#[derive(Debug)]
pub(super) struct MoveBlocks {
    boards: Vec<BoardBlocks>,
    walls: WallBlocks,
    /// The row of sitting where the side to move has White, and the one where it has Black.
    pass: u16,
    padding: u16,
}

/// Blocks of one board. Arrays are indexed by role.
#[derive(Debug)]
struct BoardBlocks {
    step: u16,
    castle: u16,
    promotion: [u16; 6],
    arrival: [u16; 6],
    tactics: [u16; 6],
    /// Where the other side may have a single king.
    king_offset: [u16; 6],
    drop: [u16; 6],
    drop_arrival: [u16; 6],
    drop_tactics: [u16; 6],
    drop_king_offset: [u16; 6],
}

/// Blocks of walls; 0 where no walls are put down.
#[derive(Debug, Default)]
struct WallBlocks {
    square: u16,
    context: u16,
    own_king_offset: u16,
    other_king_offset: u16,
}

/// What is the same for all moves on a board.
struct Targets {
    /// Squares from which a piece of each role attacks the other side's king.
    checks: [Bitboard; 6],
    /// Pieces of the side to move that give a discovered check when they leave their line.
    discoverers: Bitboard,
    /// Squares at most one step from the other side's king.
    near: Bitboard,
    /// Squares at most two steps from it.
    close: Bitboard,
}

/// A piece that arrives on a square.
struct Arrival {
    attacked: bool,
    attacked_by_pawn: bool,
    defended: bool,
    check: bool,
    /// 0: next to the other side's king, 1: two steps away, 2: farther.
    king_distance: usize,
}

impl MoveBlocks {
    /// Adds the blocks of a game to `list`. `prefixes` are the prefixes of the names of the boards'
    /// blocks, one a board.
    pub(super) fn new(
        game_spec: &GameSpec,
        geometry: &Geometry,
        prefixes: &[&str],
        list: &mut BlockList,
    ) -> MoveBlocks {
        let boards =
            prefixes.iter().map(|prefix| BoardBlocks::new(game_spec, geometry, prefix, list));
        let boards = boards.collect();
        let pass = if game_spec.two_boards { list.add("pass".to_owned(), 2) } else { 0 };
        let walls = if game_spec.walls {
            WallBlocks::new(game_spec, geometry, list)
        } else {
            WallBlocks::default()
        };
        MoveBlocks { boards, walls, pass, padding: list.size() as u16 }
    }

    /// Writes the rows of `legal`. `scenes` are those of the two boards, or twice that of the only one;
    /// `rows` holds [`ROWS_PER_MOVE`] a move, all padding.
    pub(super) fn write(
        &self,
        geometry: &Geometry,
        scenes: [&Scene<'_>; 2],
        legal: &[Move],
        rows: &mut [u16],
    ) {
        let targets = scenes.map(Targets::new);
        let mut sliders = None;
        let (moves, _) = rows.as_chunks_mut::<ROWS_PER_MOVE>();
        for (&m, rows) in legal.iter().zip(moves) {
            let nth = m.board() as usize;
            let scene = scenes[nth];
            let targets = &targets[nth];
            let blocks = &self.boards[self.board_of(scene)];
            match m {
                Move::Step { from, to, promotion, .. } => {
                    *rows = self.step(blocks, geometry, scene, targets, from, to, promotion);
                }
                Move::Drop { role, to, .. } => {
                    *rows = self.drop(blocks, geometry, scene, targets, role, to);
                }
                Move::Wall(to) => {
                    let sliders = sliders.get_or_insert_with(|| Sliders::new(scene));
                    *rows = self.wall(geometry, scene, sliders, to);
                }
                Move::Pass => {
                    let waits = scenes.iter().find(|scene| scene.view.team.may_move);
                    let black = waits.is_some_and(|scene| scene.us.is_black());
                    rows[0] = self.pass + u16::from(black);
                }
                // Games of cells have no pieces.
                Move::Place(_) => {}
            }
        }
    }

    /// Returns the number of a board's blocks: the board on which the side to move has White is first.
    fn board_of(&self, scene: &Scene<'_>) -> usize {
        if self.boards.len() > 1 { usize::from(scene.us.is_black()) } else { 0 }
    }

    #[allow(clippy::too_many_arguments, reason = "a move and what it is encoded with")]
    #[inline]
    fn step(
        &self,
        blocks: &BoardBlocks,
        geometry: &Geometry,
        scene: &Scene<'_>,
        targets: &Targets,
        from: Square,
        to: Square,
        promotion: Option<Role>,
    ) -> [u16; ROWS_PER_MOVE] {
        let cells = geometry.cells(scene.orientation);
        let role = scene.role_at(from);
        let (from_cell, to_cell) =
            (usize::from(cells[usize::from(from)]), usize::from(cells[usize::from(to)]));
        let is_pawn = role == role_index(Role::Pawn);
        let castles = scene.own.contains(to);
        let pushes = is_pawn && from.file() == to.file();
        let made = promotion.map_or(role, role_index);
        // A piece that attacks the square itself does not defend it once it is there.
        let defenders =
            if pushes || castles { scene.own_attacks.once } else { scene.own_attacks.twice };
        let check = targets.checks[made].contains(to)
            || targets.discoverers.contains(from)
                && scene.other_king.is_some_and(|king| !attacks::aligned(king, from, to));
        let captured = if scene.other.contains(to) {
            1 + scene.role_at(to)
        } else {
            // En passant.
            usize::from(is_pawn && !pushes)
        };
        let files = geometry.files();
        let kind = match promotion {
            Some(role) => {
                let from_file = from_cell % files;
                let to_file = to_cell % files;
                blocks.promotion[role_index(role)]
                    + (3 * from_file + to_file + 1 - from_file) as u16
            }
            None if castles => blocks.castle + (to_cell % files) as u16,
            None => blocks.step + geometry.step(from_cell, to_cell),
        };
        let arrival = Arrival::new(scene, targets, to, defenders, check);
        let leaves_attack = usize::from(scene.other_attacks.once.contains(from));
        let tactics = (captured * 2 + leaves_attack) * TACTICS + arrival.tactics();
        [
            kind,
            blocks.arrival[role] + (to_cell * ARRIVAL_STATES + arrival.state()) as u16,
            blocks.tactics[made] + tactics as u16,
            self.king_offset(geometry, scene, blocks.king_offset[role], scene.other_king, to),
        ]
    }

    #[inline]
    fn drop(
        &self,
        blocks: &BoardBlocks,
        geometry: &Geometry,
        scene: &Scene<'_>,
        targets: &Targets,
        role: Role,
        to: Square,
    ) -> [u16; ROWS_PER_MOVE] {
        let role = role_index(role);
        let cell = usize::from(geometry.cells(scene.orientation)[usize::from(to)]);
        let check = targets.checks[role].contains(to);
        let arrival = Arrival::new(scene, targets, to, scene.own_attacks.once, check);
        let first = blocks.drop_king_offset[role];
        [
            blocks.drop[role] + cell as u16,
            blocks.drop_arrival[role] + (cell * ARRIVAL_STATES + arrival.state()) as u16,
            blocks.drop_tactics[role] + arrival.tactics() as u16,
            self.king_offset(geometry, scene, first, scene.other_king, to),
        ]
    }

    fn wall(
        &self,
        geometry: &Geometry,
        scene: &Scene<'_>,
        sliders: &Sliders,
        to: Square,
    ) -> [u16; ROWS_PER_MOVE] {
        let cell = usize::from(geometry.cells(scene.orientation)[usize::from(to)]);
        let lines = 2 * usize::from(sliders.other.once.contains(to))
            + usize::from(sliders.own.once.contains(to));
        let blocks = &self.walls;
        let own_king = scene.own_king;
        let other_king = scene.other_king;
        [
            blocks.square + (cell * WALL_LINES + lines) as u16,
            blocks.context + Self::wall_context(scene, sliders, to) as u16,
            self.king_offset(geometry, scene, blocks.own_king_offset, own_king, to),
            self.king_offset(geometry, scene, blocks.other_king_offset, other_king, to),
        ]
    }

    /// Returns a number for what a wall on `to` blocks, below [`WALL_CONTEXTS`].
    fn wall_context(scene: &Scene<'_>, sliders: &Sliders, to: Square) -> usize {
        let count = |map: &AttackMap| {
            usize::from(map.once.contains(to)) + usize::from(map.twice.contains(to))
        };
        let mut number = 0;
        let flags = [
            sliders.on_own_king.contains(to),
            sliders.on_other_king.contains(to),
            sliders.own_pushes.contains(to),
            sliders.other_pushes.contains(to),
            scene.own_attacks.once.contains(to),
            scene.other_attacks.once.contains(to),
        ];
        for flag in flags {
            number = number * 2 + usize::from(flag);
        }
        (number * 3 + count(&sliders.own)) * 3 + count(&sliders.other)
    }

    /// Returns the row of a square as seen from a king, the padding row without one.
    #[inline]
    fn king_offset(
        &self,
        geometry: &Geometry,
        scene: &Scene<'_>,
        first: u16,
        king: Option<Square>,
        to: Square,
    ) -> u16 {
        let Some(king) = king else { return self.padding };
        let grid = geometry.grid(scene.orientation);
        first + offset(grid[usize::from(king)], grid[usize::from(to)]) as u16
    }
}

impl BoardBlocks {
    fn new(
        game_spec: &GameSpec,
        geometry: &Geometry,
        prefix: &str,
        list: &mut BlockList,
    ) -> BoardBlocks {
        let files = geometry.files();
        let squares = geometry.squares();
        let mut one = |name: &str, size: usize| list.add(format!("{prefix}{name}"), size);
        let step = one("step", geometry.step_count());
        let castle = if game_spec.castling { one("castle", files) } else { 0 };
        // Three directions for each file.
        let promotion = each_role(list, prefix, "promotion", &game_spec.promotions, 3 * files, 1);
        let roles = &game_spec.roles;
        let arrival = each_role(list, prefix, "arrival", roles, squares, ARRIVAL_STATES);
        let tactics = each_role(list, prefix, "tactics", roles, CAPTURES * 2 * TACTICS, 1);
        let king_offset = each_role(list, prefix, "king-offset", roles, OFFSETS, 1);
        let drops = &game_spec.drops;
        let drop = each_role(list, prefix, "drop", drops, squares, 1);
        let drop_arrival = each_role(list, prefix, "drop-arrival", drops, squares, ARRIVAL_STATES);
        let drop_tactics = each_role(list, prefix, "drop-tactics", drops, TACTICS, 1);
        let drop_king_offset = each_role(list, prefix, "drop-king-offset", drops, OFFSETS, 1);
        BoardBlocks {
            step,
            castle,
            promotion,
            arrival,
            tactics,
            king_offset,
            drop,
            drop_arrival,
            drop_tactics,
            drop_king_offset,
        }
    }
}

/// Adds a block for each of `roles` and returns their first indices by role.
fn each_role(
    list: &mut BlockList,
    prefix: &str,
    name: &str,
    roles: &[Role],
    groups: usize,
    group: usize,
) -> [u16; 6] {
    let mut first = [0; 6];
    for &role in roles {
        let name = format!("{prefix}{name}({role:?})");
        first[role_index(role)] = list.add_grouped(name, groups, group);
    }
    first
}

impl WallBlocks {
    fn new(game_spec: &GameSpec, geometry: &Geometry, list: &mut BlockList) -> WallBlocks {
        let square = list.add_grouped("put-wall".to_owned(), geometry.squares(), WALL_LINES);
        let context = list.add("wall-context".to_owned(), WALL_CONTEXTS);
        let has_kings = game_spec.roles.contains(&Role::King);
        let mut king_offset = |name: &str| {
            if has_kings { list.add(format!("wall-king-offset({name})"), OFFSETS) } else { 0 }
        };
        WallBlocks {
            square,
            context,
            own_king_offset: king_offset("own"),
            other_king_offset: king_offset("other"),
        }
    }
}

impl Targets {
    fn new(scene: &Scene<'_>) -> Targets {
        let Some(king) = scene.other_king else {
            let none = Bitboard::EMPTY;
            return Targets { checks: [none; 6], discoverers: none, near: none, close: none };
        };
        let board = scene.view.pieces;
        let blockers = board.occupied() | scene.view.walls;
        let bishop = attacks::bishop_attacks(king, blockers);
        let rook = attacks::rook_attacks(king, blockers);
        let checks = [
            attacks::pawn_attacks(!scene.us, king),
            attacks::knight_attacks(king),
            bishop,
            rook,
            bishop | rook,
            attacks::king_attacks(king),
        ];
        let near = attacks::king_attacks(king).with(king);
        let not_a = near & !Bitboard::from_file(shakmaty::File::A);
        let not_h = near & !Bitboard::from_file(shakmaty::File::H);
        let wide = near | not_a.shift(-1) | not_h.shift(1);
        let close = wide | wide.shift(8) | wide.shift(-8);
        let discoverers = discoverers(scene, king, blockers);
        Targets { checks, discoverers, near, close }
    }
}

/// Returns the pieces of the side to move that alone stand between one of its sliders and `king`.
fn discoverers(scene: &Scene<'_>, king: Square, blockers: Bitboard) -> Bitboard {
    let board = scene.view.pieces;
    let snipers = scene.own
        & (attacks::rook_attacks(king, Bitboard::EMPTY) & board.rooks_and_queens()
            | attacks::bishop_attacks(king, Bitboard::EMPTY) & board.bishops_and_queens());
    let mut found = Bitboard::EMPTY;
    for sniper in snipers {
        let between = attacks::between(king, sniper) & blockers;
        if !between.more_than_one() {
            found |= between & scene.own;
        }
    }
    found
}

impl Arrival {
    #[inline]
    fn new(
        scene: &Scene<'_>,
        targets: &Targets,
        to: Square,
        defenders: Bitboard,
        check: bool,
    ) -> Arrival {
        let near = usize::from(targets.near.contains(to));
        let close = usize::from(targets.close.contains(to));
        Arrival {
            attacked: scene.other_attacks.once.contains(to),
            attacked_by_pawn: scene.other_attacks.by_pawns.contains(to),
            defended: defenders.contains(to),
            check,
            king_distance: 2 - near - close,
        }
    }

    /// Returns a number below [`ARRIVAL_STATES`].
    #[inline]
    fn state(&self) -> usize {
        usize::from(self.attacked) * 4 + usize::from(self.defended) * 2 + usize::from(self.check)
    }

    /// Returns a number below [`TACTICS`].
    #[inline]
    fn tactics(&self) -> usize {
        // 0: not attacked, 1: by pieces only, 2: by a pawn.
        let attackers = usize::from(self.attacked) + usize::from(self.attacked_by_pawn);
        let exchange = (attackers * 2 + usize::from(self.defended)) * 2 + usize::from(self.check);
        exchange * 3 + self.king_distance
    }
}

/// Lines and pushes that a wall may block.
struct Sliders {
    own: AttackMap,
    other: AttackMap,
    /// Squares between the king of the side to move and the sliders that attack it.
    on_own_king: Bitboard,
    /// Squares between the other side's king and the sliders that attack it.
    on_other_king: Bitboard,
    own_pushes: Bitboard,
    other_pushes: Bitboard,
}

impl Sliders {
    fn new(scene: &Scene<'_>) -> Sliders {
        let us = scene.us;
        let board = scene.view.pieces;
        let blockers = scene.wall_blockers;
        let pushes = |color: Color| {
            let pawns = board.pawns() & board.by_color(color);
            pawns.shift(color.fold_wb(8, -8)) & !blockers
        };
        Sliders {
            own: AttackMap::of_sliders(board, us, blockers),
            other: AttackMap::of_sliders(board, !us, blockers),
            on_own_king: lines_on(scene, scene.own_king, scene.other),
            on_other_king: lines_on(scene, scene.other_king, scene.own),
            own_pushes: pushes(us),
            other_pushes: pushes(!us),
        }
    }
}

/// Returns the squares between `king` and the sliders among `attackers` that attack it.
fn lines_on(scene: &Scene<'_>, king: Option<Square>, attackers: Bitboard) -> Bitboard {
    let Some(king) = king else { return Bitboard::EMPTY };
    let board = scene.view.pieces;
    let blockers = scene.wall_blockers;
    let snipers = attackers
        & (attacks::rook_attacks(king, blockers) & board.rooks_and_queens()
            | attacks::bishop_attacks(king, blockers) & board.bishops_and_queens());
    snipers.into_iter().fold(Bitboard::EMPTY, |all, sniper| all | attacks::between(king, sniper))
}
