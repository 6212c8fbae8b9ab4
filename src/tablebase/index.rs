//! Positions numbered: every placing of a set of men, from 0 on without a gap.
//!
//! A number is made of digits, the greatest first: how many men stand beside the kings; who is to
//! move, where the colours are not alike; where the kings stand; and what stands on each other
//! square, told by how many placings come before (the states of a small automaton, which counts how
//! many men are left to place and which of them). Images that the game's symmetries make of a
//! position share its number. Numbers of placings that are no positions, because the king that is
//! not to move stands in check, belong to nobody.

use std::ops::Range;

use crate::rules::{Board, ByColor, ByRole, Color, Piece, Position, Role, Square, Symmetry};
use crate::variant::Variant;

/// The most numbers there may be.
const MOST: u64 = u32::MAX as u64;
/// The most sets that a list of men may have.
const MOST_SETS: usize = 1 << 10;
const NOWHERE: u16 = u16::MAX;
/// A mark on the number of a pair of kings: it is the other one's mirror image.
const MIRRORED: u16 = 1 << 15;

/// Why the positions of a game are not numbered.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum IndexError {
    /// The game is not played by two sides with a king each and other men on a board.
    #[error("[{0}] is not a game of one king against another")]
    Kings(String),
    /// There are more positions than can be numbered.
    #[error("[{0}] has too many positions to be numbered: more than {MOST}")]
    Many(String),
}

/// All placings of a set of men, numbered.
///
/// The set is each subset of the variant's `selfPlayMen`, kings always among it; or, if it names
/// none, the kings and any number of all the men of the game.
#[derive(Clone, Debug)]
pub struct Index {
    files: usize,
    ranks: usize,
    symmetry: Symmetry,
    men: Men,
    pairs: Vec<Pair>,
    /// By the kings' squares, the mover's (or White's) times 64 and the other's: the pair.
    pair_of: Vec<u16>,
    /// Where the placings of so many men beside the kings begin; and the end.
    layers: Vec<u64>,
}

/// The men that may stand beside the kings.
#[derive(Clone, Debug)]
struct Men {
    kinds: Vec<Piece>,
    /// What one more man of a kind adds to the state; 0 if there may be any number.
    strides: Vec<usize>,
    /// How many there may be of a kind, if not any number.
    limits: Vec<usize>,
    states: usize,
    /// How many may stand together.
    most: usize,
}

/// Where two kings stand, and the ways of filling the other squares.
#[derive(Clone, Debug)]
struct Pair {
    kings: [Square; 2],
    /// Whether the mirror image of the pair is another.
    mirrored: bool,
    slots: Vec<Square>,
    /// By slot, men left to place, state and content (0: nothing): how many placings there are with
    /// a content that comes before it; one more entry, how many there are.
    before: Vec<u32>,
    /// By men beside the kings: where the pair's numbers begin in the layer.
    begins: Vec<u64>,
}

/// Numbers that follow one another, with the same count of men and the same kings.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Block {
    /// The numbers.
    pub numbers: Range<u64>,
    /// The side to move; `None` if each number stands for a position of either side.
    pub turn: Option<Color>,
    /// For how many positions with a side to move each number stands.
    pub images: u64,
}

/// The greater digits of a number, and what is left of it.
struct Place {
    men: usize,
    side: u64,
    /// Of the pairs of kings.
    nth: usize,
    rest: u64,
}

/// One of the images that share a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Image {
    /// The board is mirrored, the first file in the last one's place.
    pub mirrored: bool,
    /// The board is upside down with the colours changed, and the other side is to move.
    pub flipped: bool,
}

impl Men {
    fn of(variant: &Variant, start: &Position, cells: usize) -> Result<Men, IndexError> {
        let others = |piece: &Piece| piece.role != Role::King;
        let Some(listed) = variant.self_play_men() else {
            let roles = start.game_spec().roles;
            let both = |color| roles.iter().map(move |&role| Piece { color, role });
            let kinds: Vec<_> = Color::ALL.into_iter().flat_map(both).filter(others).collect();
            let (strides, limits) = (vec![0; kinds.len()], vec![0; kinds.len()]);
            return Ok(Men { kinds, strides, limits, states: 1, most: cells.saturating_sub(2) });
        };
        let listed: Vec<_> = listed.chars().filter_map(Piece::from_char).collect();
        if Color::ALL.iter().any(|color| !listed.contains(&color.king())) {
            return Err(IndexError::Kings(variant.name().to_owned()));
        }
        let (mut kinds, mut limits) = (Vec::new(), Vec::<usize>::new());
        for piece in listed.into_iter().filter(others) {
            match kinds.iter().position(|kind| *kind == piece) {
                Some(known) => limits[known] += 1,
                None => {
                    kinds.push(piece);
                    limits.push(1);
                }
            }
        }
        let (mut strides, mut states) = (Vec::new(), 1_usize);
        for limit in &limits {
            strides.push(states);
            states = states.saturating_mul(limit + 1);
        }
        if states > MOST_SETS {
            return Err(IndexError::Many(variant.name().to_owned()));
        }
        let most = limits.iter().sum::<usize>().min(cells.saturating_sub(2));
        Ok(Men { kinds, strides, limits, states, most })
    }

    /// Whether both colours may have the same men.
    fn alike(&self) -> bool {
        let place = |piece: Piece| self.kinds.iter().position(|kind| *kind == piece);
        self.kinds.iter().enumerate().all(|(nth, &Piece { color, role })| {
            let other = place(Piece { color: !color, role });
            other.is_some_and(|other| self.limits[nth] == self.limits[other])
        })
    }

    /// The state after one more man of a kind, if there may be one.
    fn with(&self, state: usize, kind: usize) -> Option<usize> {
        let (stride, limit) = (self.strides[kind], self.limits[kind]);
        (stride == 0 || state / stride % (limit + 1) < limit).then_some(state + stride)
    }

    /// Where the entries of a slot begin, with so many men left to place.
    fn row(&self, slot: usize, left: usize, state: usize) -> usize {
        ((slot * (self.most + 1) + left) * self.states + state) * (self.kinds.len() + 2)
    }
}

impl Index {
    /// Numbers the positions of a game.
    ///
    /// # Errors
    /// If it is no game of kings, or has too many positions.
    pub fn new(variant: &Variant) -> Result<Index, IndexError> {
        let mut scratch = variant.start();
        let game_spec = scratch.game_spec();
        let (files, ranks) = (game_spec.files, game_spec.ranks);
        let several = game_spec.sides != 2 || game_spec.places || game_spec.walls;
        if several || !game_spec.roles.contains(&Role::King) {
            return Err(IndexError::Kings(variant.name().to_owned()));
        }
        let men = Men::of(variant, &scratch, files * ranks)?;
        let mut symmetry = scratch.symmetry();
        symmetry.colours &= men.alike();
        let mut index = Index {
            files,
            ranks,
            symmetry,
            men,
            pairs: Vec::new(),
            pair_of: vec![NOWHERE; 64 * 64],
            layers: vec![0],
        };
        let squares: Vec<Square> = Square::ALL.into_iter().filter(|&s| index.holds(s)).collect();
        let mut sizes = vec![0_u64; index.men.most + 1];
        for (&a, &b) in squares.iter().flat_map(|a| squares.iter().map(move |b| (a, b))) {
            let mirror = Image { mirrored: true, flipped: false };
            let other = [a, b].map(|square| index.image_of(square, mirror));
            if index.symmetry.files && (other[0], other[1]) < (a, b) {
                let known = index.pair_of[pair_key(other)];
                index.pair_of[pair_key([a, b])] =
                    if known == NOWHERE { NOWHERE } else { known | MIRRORED };
                continue;
            }
            let Some(mut pair) = index.pair([a, b], &squares, &mut scratch) else { continue };
            pair.mirrored = index.symmetry.files && other != [a, b];
            index.pair_of[pair_key([a, b])] = index.pairs.len() as u16;
            for (men, size) in sizes.iter_mut().enumerate() {
                pair.begins.push(*size);
                *size = size.saturating_add(index.fillings(&pair, men));
            }
            index.pairs.push(pair);
            let all = sizes.iter().fold(0_u64, |all, size| all.saturating_add(*size));
            if all.saturating_mul(index.sides()) >= MOST {
                return Err(IndexError::Many(variant.name().to_owned()));
            }
        }
        if index.pairs.is_empty() {
            return Err(IndexError::Kings(variant.name().to_owned()));
        }
        let mut end = 0;
        index.layers.extend(sizes.iter().map(|size| {
            end += size * if index.symmetry.colours { 1 } else { 2 };
            end
        }));
        Ok(index)
    }

    /// How many numbers there are.
    pub fn len(&self) -> u64 {
        self.layers.last().copied().unwrap_or(0)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The numbers of the positions with 0, 1, 2, .. men beside the kings.
    pub fn layers(&self) -> impl Iterator<Item = Range<u64>> {
        self.layers.windows(2).map(|ends| ends[0]..ends[1])
    }

    /// The number of a position; `None` if it is not one of the set, or has rights, walls, men in
    /// hand or the like. Counters do not enter.
    pub fn number(&self, position: &Position) -> Option<u64> {
        let view = position.view();
        let bare = view.castling.is_empty()
            && view.en_passant.is_none()
            && view.promoted.is_empty()
            && view.walls.is_empty()
            && view.checks.is_none()
            && !view.mid_turn;
        let in_hand = |hands: &ByColor<ByRole<u8>>| {
            Color::ALL.iter().any(|&color| Role::ALL.iter().any(|&role| hands[color][role] > 0))
        };
        if !bare || view.hands.is_some_and(in_hand) {
            return None;
        }
        let flipped = self.symmetry.colours && view.turn.is_black();
        let mut image = Image { mirrored: false, flipped };
        let own = if flipped { Color::Black } else { Color::White };
        let king = |color| (view.board.kings() & view.board.by_color(color)).single_square();
        let kings = [king(own)?, king(!own)?];
        let entry = self.pair_of[pair_key(kings.map(|king| self.image_of(king, image)))];
        if entry == NOWHERE {
            return None;
        }
        image.mirrored = entry & MIRRORED != 0;
        let pair = self.pairs.get(usize::from(entry & !MIRRORED))?;

        let mut contents = [0_u8; 64];
        let mut left = 0;
        for (kind, &piece) in self.men.kinds.iter().enumerate() {
            let color = if flipped { !piece.color } else { piece.color };
            for square in view.board.by_role(piece.role) & view.board.by_color(color) {
                contents[usize::from(self.image_of(square, image))] = kind as u8 + 1;
                left += 1;
            }
        }
        if left > self.men.most || left + 2 != view.board.occupied().count() {
            return None;
        }
        let side = u64::from(!self.symmetry.colours && view.turn.is_black());
        let layer = self.layers[left]..self.layers[left + 1];
        let mut number =
            layer.start + side * ((layer.end - layer.start) / self.sides()) + pair.begins[left];
        let mut state = 0;
        for (slot, &square) in pair.slots.iter().enumerate() {
            if left == 0 {
                break;
            }
            let content = usize::from(contents[usize::from(square)]);
            let row = &pair.before[self.men.row(slot, left, state)..];
            if row[content] == row[content + 1] {
                return None;
            }
            number += u64::from(row[content]);
            if let Some(kind) = content.checked_sub(1) {
                state = self.men.with(state, kind)?;
                left -= 1;
            }
        }
        Some(number)
    }

    /// Makes `position`, which must be one of the game, the one of this number, or an image of it
    /// that shares the number. Says whether it can be reached: whether the king that is not to move
    /// is safe.
    ///
    /// # Panics
    /// If there is no such number.
    pub fn set_up(&self, number: u64, image: Image, position: &mut Position) -> bool {
        let Place { men, side, nth, mut rest } = self.place(number);
        let pair = &self.pairs[nth];
        let mut board = Board::empty();
        let mut put = |square, piece: Piece| {
            let color = if image.flipped { !piece.color } else { piece.color };
            board.set_piece_at(self.image_of(square, image), Piece { color, ..piece });
        };
        put(pair.kings[0], Color::White.king());
        put(pair.kings[1], Color::Black.king());
        let (mut left, mut state) = (men, 0);
        for (slot, &square) in pair.slots.iter().enumerate() {
            if left == 0 {
                break;
            }
            let begin = self.men.row(slot, left, state);
            let row = &pair.before[begin..begin + self.men.kinds.len() + 1];
            let content = row.partition_point(|&before| u64::from(before) <= rest) - 1;
            rest -= u64::from(row[content]);
            if let Some(kind) = content.checked_sub(1) {
                put(square, self.men.kinds[kind]);
                state += self.men.strides[kind];
                left -= 1;
            }
        }
        let turn = Color::from_white((side == 0) != image.flipped);
        position.set_up(&board, turn) && !position.opponent_in_check()
    }

    /// The greater digits of a number.
    fn place(&self, number: u64) -> Place {
        let men = self.layers.partition_point(|&begin| begin <= number) - 1;
        let half = (self.layers[men + 1] - self.layers[men]) / self.sides();
        let (side, rest) = ((number - self.layers[men]) / half, (number - self.layers[men]) % half);
        let nth = self.pairs.partition_point(|pair| pair.begins[men] <= rest) - 1;
        Place { men, side, nth, rest: rest - self.pairs[nth].begins[men] }
    }

    /// The images that share a number, the position itself first.
    ///
    /// # Panics
    /// If there is no such number.
    pub fn images_of(&self, number: u64) -> Vec<Image> {
        self.images(self.pairs[self.place(number).nth].mirrored)
    }

    fn images(&self, mirrored: bool) -> Vec<Image> {
        let both = |yes: bool| if yes { &[false, true][..] } else { &[false][..] };
        let flips = both(self.symmetry.colours).iter();
        let image =
            |&flipped| both(mirrored).iter().map(move |&mirrored| Image { mirrored, flipped });
        flips.flat_map(image).collect()
    }

    /// All numbers, in blocks.
    pub fn blocks(&self) -> impl Iterator<Item = Block> + '_ {
        self.layers().enumerate().flat_map(move |(men, layer)| {
            let half = (layer.end - layer.start) / self.sides();
            (0..self.sides()).flat_map(move |side| {
                let (start, end) = (layer.start + side * half, layer.start + (side + 1) * half);
                let ends = self.pairs.iter().skip(1).map(move |pair| start + pair.begins[men]);
                self.pairs.iter().zip(ends.chain([end])).map(move |(pair, end)| Block {
                    numbers: start + pair.begins[men]..end,
                    turn: (!self.symmetry.colours).then_some(Color::from_white(side == 0)),
                    images: 1 + u64::from(pair.mirrored),
                })
            })
        })
    }

    /// How many sides to move have numbers of their own.
    fn sides(&self) -> u64 {
        if self.symmetry.colours { 1 } else { 2 }
    }

    fn holds(&self, square: Square) -> bool {
        usize::from(square.file()) < self.files && usize::from(square.rank()) < self.ranks
    }

    /// Where an image has the man of `square`; the image of that is the square again.
    fn image_of(&self, square: Square, image: Image) -> Square {
        let (file, rank) = (u32::from(square.file()), u32::from(square.rank()));
        let file = if image.mirrored { self.files as u32 - 1 - file } else { file };
        let rank = if image.flipped { self.ranks as u32 - 1 - rank } else { rank };
        Square::new(8 * rank + file)
    }

    /// The pair of kings on these squares; `None` if they cannot stand so.
    fn pair(&self, kings: [Square; 2], squares: &[Square], scratch: &mut Position) -> Option<Pair> {
        let mut board = Board::empty();
        board.set_piece_at(kings[0], Color::White.king());
        board.set_piece_at(kings[1], Color::Black.king());
        let mut possible = |turn| scratch.set_up(&board, turn) && !scratch.opponent_in_check();
        if kings[0] == kings[1] || !(possible(Color::White) || possible(Color::Black)) {
            return None;
        }
        let slots: Vec<_> = squares.iter().copied().filter(|s| !kings.contains(s)).collect();
        let Men { kinds, states, most, .. } = &self.men;
        let mut allowed = Vec::with_capacity(slots.len());
        for &slot in &slots {
            let fits = |&piece: &Piece| {
                let mut board = board.clone();
                board.set_piece_at(slot, piece);
                scratch.set_up(&board, Color::White)
            };
            allowed.push(kinds.iter().map(fits).collect::<Vec<bool>>());
        }
        let mut before = vec![0; self.men.row(slots.len() + 1, 0, 0)];
        // Behind the last square nothing may be left.
        for state in 0..*states {
            before[self.men.row(slots.len(), 0, state) + kinds.len() + 1] = 1;
        }
        for slot in (0..slots.len()).rev() {
            for (left, state) in (0..=*most).flat_map(|left| (0..*states).map(move |s| (left, s))) {
                let ways = |left, state| {
                    before_all(&before, self.men.row(slot + 1, left, state), kinds.len())
                };
                let mut sums = vec![0, ways(left, state)];
                for (kind, fits) in allowed[slot].iter().enumerate() {
                    let next = left.checked_sub(1).zip(self.men.with(state, kind));
                    let more = next.filter(|_| *fits).map_or(0, |(left, state)| ways(left, state));
                    sums.push(sums[kind + 1].saturating_add(more));
                }
                let row = self.men.row(slot, left, state);
                before[row..row + sums.len()].copy_from_slice(&sums);
            }
        }
        Some(Pair { kings, mirrored: false, slots, before, begins: Vec::new() })
    }

    /// How many placings of so many men a pair of kings leaves.
    fn fillings(&self, pair: &Pair, men: usize) -> u64 {
        before_all(&pair.before, self.men.row(0, men, 0), self.men.kinds.len()).into()
    }
}

/// The last entry of a row.
fn before_all(before: &[u32], row: usize, kinds: usize) -> u32 {
    before[row + kinds + 1]
}

fn pair_key(kings: [Square; 2]) -> usize {
    usize::from(kings[0]) * 64 + usize::from(kings[1])
}
