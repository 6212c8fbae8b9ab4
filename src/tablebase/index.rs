//! The index of tablebases: numbers all placements of a set of pieces, from 0 on without gaps.
//!
//! A number has four digits, from the greatest: the number of pieces without the kings; the side to move,
//! unless the colors are symmetric; the squares of the kings; and the rank of the placement of the other
//! pieces among all such placements. The rank is computed by an automaton over the squares, whose state is
//! the set of pieces already placed. Positions that are symmetric images share a number. A number whose
//! placement is illegal, because the king of the side not to move is in check, has no position.

use std::ops::Range;

use crate::rules::{Board, ByColor, ByRole, Color, Piece, Position, Role, Square, Symmetry};
use crate::variant::Variant;

/// The maximum number of numbers.
const MAX_NUMBERS: u64 = u32::MAX as u64;
/// The maximum number of sets of pieces.
const MAX_SETS: usize = 1 << 10;
/// Marks two squares on which kings cannot be.
const NO_PAIR: u16 = u16::MAX;
/// A flag of the index of a pair of kings: the pair is the mirror image of the indexed one.
const MIRRORED: u16 = 1 << 15;

/// Why the positions of a variant cannot be numbered.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum IndexError {
    /// The variant is not a game of two sides with one king each.
    #[error("[{0}] cannot be indexed: it needs two sides with one king each")]
    Kings(String),
    /// There are too many positions.
    #[error("[{0}] cannot be indexed: it has more than {MAX_NUMBERS} positions")]
    Many(String),
}

/// The numbers of all placements of a set of pieces.
///
/// The pieces are any subset of the variant's `selfPlayMen` that has the kings or, without that key, the
/// kings and any number of all pieces of the game.
#[derive(Clone, Debug)]
pub struct Index {
    files: usize,
    ranks: usize,
    symmetry: Symmetry,
    pieces: PieceSet,
    pairs: Vec<Pair>,
    /// The index of the pair of kings by 64 times the square of White's king (of the side to move, if the
    /// colors are symmetric) plus that of the other king.
    pair_of: Vec<u16>,
    /// The first number of the placements of 0, 1, 2, .. pieces without the kings; and the end.
    layers: Vec<u64>,
}

/// The pieces of a variant without the kings.
#[derive(Clone, Debug)]
struct PieceSet {
    kinds: Vec<Piece>,
    /// The addition to the state for one more piece of a kind. 0 if any number is allowed.
    strides: Vec<usize>,
    /// The maximum number of pieces of a kind, unless any number is allowed.
    limits: Vec<usize>,
    states: usize,
    /// The maximum number of pieces.
    most: usize,
}

/// The squares of two kings, and the placements on the other squares.
#[derive(Clone, Debug)]
struct Pair {
    kings: [Square; 2],
    /// Whether the mirror image is another pair.
    mirrored: bool,
    slots: Vec<Square>,
    /// By slot, number of pieces left to place, state and content (0 for empty): the number of placements
    /// with a lesser content. One more entry has the number of all placements.
    before: Vec<u32>,
    /// The first number of the pair within the layer, by the number of pieces without the kings.
    begins: Vec<u64>,
}

/// A range of numbers with the same number of pieces and the same squares of the kings.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IndexBlock {
    /// The numbers.
    pub numbers: Range<u64>,
    /// The side to move. `None` if each number is of a position of either side.
    pub turn: Option<Color>,
    /// The number of positions of each number, for one side to move.
    pub images: u64,
}

/// The digits of a number.
struct Digits {
    /// The number of pieces without the kings.
    count: usize,
    side: u64,
    /// The index of the pair of kings.
    pair: usize,
    /// The rank of the placement.
    rest: u64,
}

/// One of the images that share a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Image {
    /// The files are mirrored.
    pub mirrored: bool,
    /// The ranks are mirrored, the colors exchanged, and the other side is to move.
    pub flipped: bool,
}

impl PieceSet {
    fn of(variant: &Variant, start: &Position, squares: usize) -> Result<PieceSet, IndexError> {
        let Some(listed) = variant.self_play_pieces() else {
            let roles = start.game_spec().roles;
            let both = |color| roles.iter().map(move |&role| Piece { color, role });
            let kinds: Vec<_> = Color::ALL.into_iter().flat_map(both).filter(is_no_king).collect();
            let strides = vec![0; kinds.len()];
            let limits = vec![0; kinds.len()];
            let most = squares.saturating_sub(2);
            return Ok(PieceSet { kinds, strides, limits, states: 1, most });
        };
        let listed: Vec<_> = listed.chars().filter_map(Piece::from_char).collect();
        if Color::ALL.iter().any(|color| !listed.contains(&color.king())) {
            return Err(IndexError::Kings(variant.name().to_owned()));
        }
        let mut kinds = Vec::new();
        let mut limits = Vec::<usize>::new();
        for piece in listed.into_iter().filter(is_no_king) {
            match kinds.iter().position(|kind| *kind == piece) {
                Some(known) => limits[known] += 1,
                None => {
                    kinds.push(piece);
                    limits.push(1);
                }
            }
        }
        let mut strides = Vec::new();
        let mut states = 1_usize;
        for limit in &limits {
            strides.push(states);
            states = states.saturating_mul(limit + 1);
        }
        if states > MAX_SETS {
            return Err(IndexError::Many(variant.name().to_owned()));
        }
        let most = limits.iter().sum::<usize>().min(squares.saturating_sub(2));
        Ok(PieceSet { kinds, strides, limits, states, most })
    }

    /// Returns `true` if both colors have the same pieces.
    fn is_color_symmetric(&self) -> bool {
        self.kinds.iter().enumerate().all(|(nth, &Piece { color, role })| {
            let other = Piece { color: !color, role };
            let other = self.kinds.iter().position(|kind| *kind == other);
            other.is_some_and(|other| self.limits[nth] == self.limits[other])
        })
    }

    /// Returns the state after one more piece of a kind, if that is allowed.
    fn with(&self, state: usize, kind: usize) -> Option<usize> {
        let stride = self.strides[kind];
        let limit = self.limits[kind];
        (stride == 0 || state / stride % (limit + 1) < limit).then_some(state + stride)
    }

    /// Returns the index of the first entry of a slot, with `left` pieces left to place.
    fn row(&self, slot: usize, left: usize, state: usize) -> usize {
        ((slot * (self.most + 1) + left) * self.states + state) * (self.kinds.len() + 2)
    }
}

fn is_no_king(piece: &Piece) -> bool {
    piece.role != Role::King
}

impl Index {
    /// Numbers the positions of a variant.
    ///
    /// # Errors
    /// [`IndexError::Kings`] if a side does not have one king, [`IndexError::Many`] if there are too many
    /// positions.
    pub fn new(variant: &Variant) -> Result<Index, IndexError> {
        let mut scratch = variant.start();
        let game_spec = scratch.game_spec();
        let files = game_spec.files;
        let ranks = game_spec.ranks;
        let is_unsuitable = game_spec.sides != 2 || game_spec.places || game_spec.walls;
        if is_unsuitable || !game_spec.roles.contains(&Role::King) {
            return Err(IndexError::Kings(variant.name().to_owned()));
        }
        let pieces = PieceSet::of(variant, &scratch, files * ranks)?;
        let mut symmetry = scratch.symmetry();
        symmetry.colors &= pieces.is_color_symmetric();
        let mut index = Index {
            files,
            ranks,
            symmetry,
            pieces,
            pairs: Vec::new(),
            pair_of: vec![NO_PAIR; 64 * 64],
            layers: vec![0],
        };
        let squares: Vec<Square> = Square::ALL.into_iter().filter(|&s| index.holds(s)).collect();
        let mut sizes = vec![0_u64; index.pieces.most + 1];
        for (&a, &b) in squares.iter().flat_map(|a| squares.iter().map(move |b| (a, b))) {
            let mirror = Image { mirrored: true, flipped: false };
            let other = [a, b].map(|square| index.image_of(square, mirror));
            if index.symmetry.files && (other[0], other[1]) < (a, b) {
                let known = index.pair_of[pair_key(other)];
                index.pair_of[pair_key([a, b])] =
                    if known == NO_PAIR { NO_PAIR } else { known | MIRRORED };
                continue;
            }
            let Some(mut pair) = index.pair([a, b], &squares, &mut scratch) else { continue };
            pair.mirrored = index.symmetry.files && other != [a, b];
            index.pair_of[pair_key([a, b])] = index.pairs.len() as u16;
            for (count, size) in sizes.iter_mut().enumerate() {
                pair.begins.push(*size);
                *size = size.saturating_add(index.placements(&pair, count));
            }
            index.pairs.push(pair);
            let all = sizes.iter().fold(0_u64, |all, size| all.saturating_add(*size));
            if all.saturating_mul(index.sides()) >= MAX_NUMBERS {
                return Err(IndexError::Many(variant.name().to_owned()));
            }
        }
        if index.pairs.is_empty() {
            return Err(IndexError::Kings(variant.name().to_owned()));
        }
        let mut end = 0;
        index.layers.extend(sizes.iter().map(|size| {
            end += size * if index.symmetry.colors { 1 } else { 2 };
            end
        }));
        Ok(index)
    }

    /// Returns the number of numbers.
    pub fn len(&self) -> u64 {
        self.layers.last().copied().unwrap_or(0)
    }

    /// Returns `true` if there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the ranges of numbers of the positions with 0, 1, 2, .. pieces without the kings.
    pub fn layers(&self) -> impl Iterator<Item = Range<u64>> {
        self.layers.windows(2).map(|ends| ends[0]..ends[1])
    }

    /// Returns the number of a position. `None` if its pieces are not in the set, or if it has castling
    /// rights, walls, pieces in hand or the like. Counters are ignored.
    pub fn number(&self, position: &Position) -> Option<u64> {
        let board = position.board();
        let pieces = board.pieces;
        let bare = board.castling.is_empty()
            && board.en_passant.is_none()
            && board.promoted.is_empty()
            && board.walls.is_empty()
            && board.checks.is_none()
            && !position.mid_turn();
        let in_hand = |hands: &ByColor<ByRole<u8>>| {
            Color::ALL.iter().any(|&color| Role::ALL.iter().any(|&role| hands[color][role] > 0))
        };
        if !bare || board.hands.is_some_and(in_hand) {
            return None;
        }
        let flipped = self.symmetry.colors && board.turn.is_black();
        let mut image = Image { mirrored: false, flipped };
        let own = if flipped { Color::Black } else { Color::White };
        let king = |color| (pieces.kings() & pieces.by_color(color)).single_square();
        let kings = [king(own)?, king(!own)?];
        let entry = self.pair_of[pair_key(kings.map(|king| self.image_of(king, image)))];
        if entry == NO_PAIR {
            return None;
        }
        image.mirrored = entry & MIRRORED != 0;
        let pair = self.pairs.get(usize::from(entry & !MIRRORED))?;

        let mut contents = [0_u8; 64];
        let mut left = 0;
        for (kind, &piece) in self.pieces.kinds.iter().enumerate() {
            let color = if flipped { !piece.color } else { piece.color };
            for square in pieces.by_role(piece.role) & pieces.by_color(color) {
                contents[usize::from(self.image_of(square, image))] = kind as u8 + 1;
                left += 1;
            }
        }
        if left > self.pieces.most || left + 2 != pieces.occupied().count() {
            return None;
        }
        let side = u64::from(!self.symmetry.colors && board.turn.is_black());
        let layer = self.layers[left]..self.layers[left + 1];
        let mut number =
            layer.start + side * ((layer.end - layer.start) / self.sides()) + pair.begins[left];
        let mut state = 0;
        for (slot, &square) in pair.slots.iter().enumerate() {
            if left == 0 {
                break;
            }
            let content = usize::from(contents[usize::from(square)]);
            let row = &pair.before[self.pieces.row(slot, left, state)..];
            if row[content] == row[content + 1] {
                return None;
            }
            number += u64::from(row[content]);
            if let Some(kind) = content.checked_sub(1) {
                state = self.pieces.with(state, kind)?;
                left -= 1;
            }
        }
        Some(number)
    }

    /// Sets `position`, which must be of the variant, to an image of the position with a number. Returns
    /// `true` if it is legal: the king of the side not to move is not in check.
    ///
    /// # Panics
    /// If there is no such number.
    pub fn set_up(&self, number: u64, image: Image, position: &mut Position) -> bool {
        let Digits { count, side, pair, mut rest } = self.digits(number);
        let pair = &self.pairs[pair];
        let mut board = Board::empty();
        let mut put = |square, piece: Piece| {
            let color = if image.flipped { !piece.color } else { piece.color };
            board.set_piece_at(self.image_of(square, image), Piece { color, ..piece });
        };
        put(pair.kings[0], Color::White.king());
        put(pair.kings[1], Color::Black.king());
        let mut left = count;
        let mut state = 0;
        for (slot, &square) in pair.slots.iter().enumerate() {
            if left == 0 {
                break;
            }
            let begin = self.pieces.row(slot, left, state);
            let row = &pair.before[begin..begin + self.pieces.kinds.len() + 1];
            let content = row.partition_point(|&before| u64::from(before) <= rest) - 1;
            rest -= u64::from(row[content]);
            if let Some(kind) = content.checked_sub(1) {
                put(square, self.pieces.kinds[kind]);
                state += self.pieces.strides[kind];
                left -= 1;
            }
        }
        let turn = Color::from_white((side == 0) != image.flipped);
        position.set_up(&board, turn) && !position.opponent_in_check()
    }

    /// Returns the digits of a number.
    fn digits(&self, number: u64) -> Digits {
        let count = self.layers.partition_point(|&begin| begin <= number) - 1;
        let half = (self.layers[count + 1] - self.layers[count]) / self.sides();
        let side = (number - self.layers[count]) / half;
        let rest = (number - self.layers[count]) % half;
        let pair = self.pairs.partition_point(|pair| pair.begins[count] <= rest) - 1;
        Digits { count, side, pair, rest: rest - self.pairs[pair].begins[count] }
    }

    /// Returns the images that share a number, the position itself first.
    ///
    /// # Panics
    /// If there is no such number.
    pub fn images_of(&self, number: u64) -> Vec<Image> {
        self.images(self.pairs[self.digits(number).pair].mirrored)
    }

    fn images(&self, mirrored: bool) -> Vec<Image> {
        let mut images = Vec::new();
        for flipped in [false, true] {
            for mirrored_files in [false, true] {
                if (self.symmetry.colors || !flipped) && (mirrored || !mirrored_files) {
                    images.push(Image { mirrored: mirrored_files, flipped });
                }
            }
        }
        images
    }

    /// Returns all numbers, in blocks.
    pub fn blocks(&self) -> impl Iterator<Item = IndexBlock> + '_ {
        self.layers().enumerate().flat_map(move |(count, layer)| {
            let half = (layer.end - layer.start) / self.sides();
            (0..self.sides()).flat_map(move |side| {
                let start = layer.start + side * half;
                let end = start + half;
                let ends = self.pairs.iter().skip(1).map(move |pair| start + pair.begins[count]);
                self.pairs.iter().zip(ends.chain([end])).map(move |(pair, end)| IndexBlock {
                    numbers: start + pair.begins[count]..end,
                    turn: (!self.symmetry.colors).then_some(Color::from_white(side == 0)),
                    images: 1 + u64::from(pair.mirrored),
                })
            })
        })
    }

    /// Returns the number of sides to move with their own numbers.
    fn sides(&self) -> u64 {
        if self.symmetry.colors { 1 } else { 2 }
    }

    fn holds(&self, square: Square) -> bool {
        usize::from(square.file()) < self.files && usize::from(square.rank()) < self.ranks
    }

    /// Returns the square of an image for a square. The function is its own inverse.
    fn image_of(&self, square: Square, image: Image) -> Square {
        let file = u32::from(square.file());
        let rank = u32::from(square.rank());
        let file = if image.mirrored { self.files as u32 - 1 - file } else { file };
        let rank = if image.flipped { self.ranks as u32 - 1 - rank } else { rank };
        Square::new(8 * rank + file)
    }

    /// Returns the pair of kings on these squares, or `None` if it is illegal for both sides to move.
    fn pair(&self, kings: [Square; 2], squares: &[Square], scratch: &mut Position) -> Option<Pair> {
        let mut board = Board::empty();
        board.set_piece_at(kings[0], Color::White.king());
        board.set_piece_at(kings[1], Color::Black.king());
        let mut possible = |turn| scratch.set_up(&board, turn) && !scratch.opponent_in_check();
        if kings[0] == kings[1] || !(possible(Color::White) || possible(Color::Black)) {
            return None;
        }
        let slots: Vec<_> = squares.iter().copied().filter(|s| !kings.contains(s)).collect();
        let PieceSet { kinds, states, most, .. } = &self.pieces;
        let mut allowed = Vec::with_capacity(slots.len());
        for &slot in &slots {
            let fits = |&piece: &Piece| {
                let mut board = board.clone();
                board.set_piece_at(slot, piece);
                scratch.set_up(&board, Color::White)
            };
            allowed.push(kinds.iter().map(fits).collect::<Vec<bool>>());
        }
        let mut before = vec![0; self.pieces.row(slots.len() + 1, 0, 0)];
        // After the last square, no piece may be left.
        for state in 0..*states {
            before[self.pieces.row(slots.len(), 0, state) + kinds.len() + 1] = 1;
        }
        for slot in (0..slots.len()).rev() {
            for (left, state) in (0..=*most).flat_map(|left| (0..*states).map(move |s| (left, s))) {
                let placements = |left, state| {
                    row_total(&before, self.pieces.row(slot + 1, left, state), kinds.len())
                };
                let mut sums = vec![0, placements(left, state)];
                for (kind, fits) in allowed[slot].iter().enumerate() {
                    let next = left.checked_sub(1).zip(self.pieces.with(state, kind));
                    let more = match next {
                        Some((left, state)) if *fits => placements(left, state),
                        _ => 0,
                    };
                    sums.push(sums[kind + 1].saturating_add(more));
                }
                let row = self.pieces.row(slot, left, state);
                before[row..row + sums.len()].copy_from_slice(&sums);
            }
        }
        Some(Pair { kings, mirrored: false, slots, before, begins: Vec::new() })
    }

    /// Returns the number of placements of `count` pieces with a pair of kings.
    fn placements(&self, pair: &Pair, count: usize) -> u64 {
        row_total(&pair.before, self.pieces.row(0, count, 0), self.pieces.kinds.len()).into()
    }
}

/// Returns the last entry of a row.
fn row_total(before: &[u32], row: usize, kinds: usize) -> u32 {
    before[row + kinds + 1]
}

fn pair_key(kings: [Square; 2]) -> usize {
    usize::from(kings[0]) * 64 + usize::from(kings[1])
}
