//! FEN of chess variants.

use std::sync::Arc;

use shakmaty::{Bitboard, Board, ByColor, ByRole, Color, File, Piece, Role, Square};

use super::{Castling, ChessPosition, VariantRules, Walling};
use crate::rules::notation::{self, CastlingFault, DroppedPart, FenError, FenFault, square};

impl ChessPosition {
    /// Parses a FEN of the game of `variant_rules`. All fields after the board are optional. Positions in
    /// which the side to move could capture the king are accepted, as in Fairy-Stockfish. With
    /// `chess960`, moves write castling as king takes rook, and `KQkq` stand for the outermost rooks.
    /// Impossible castling rights and en passant squares are added to `dropped`.
    pub(in crate::rules) fn from_fen(
        variant_rules: &Arc<VariantRules>,
        fen: &str,
        chess960: bool,
        dropped: &mut Vec<DroppedPart>,
    ) -> Result<ChessPosition, FenError> {
        let syntax = |fault: FenFault| FenError::syntax(fen, fault);
        let mut fields = notation::without_operations(fen)?.split_ascii_whitespace().peekable();
        let pieces = fields.next().unwrap_or_default();
        let (board, pocket) = split_pocket(variant_rules, pieces).map_err(syntax)?;
        let counted = variant_rules.checks.counted.unwrap_or(0);
        let mut position = ChessPosition {
            variant_rules: Arc::clone(variant_rules),
            area: variant_rules.area(),
            board: Board::empty(),
            promoted: Bitboard::EMPTY,
            hands: ByColor::default(),
            rights: Bitboard::EMPTY,
            en_passant: None,
            walls: Bitboard::EMPTY,
            pending_wall: None,
            checks: ByColor { white: counted, black: counted },
            decided: None,
            restricted: variant_rules.is_restricted(),
            turn: Color::White,
            halfmoves: 0,
            fullmoves: 1,
            chess960,
        };
        position.parse_board(board).map_err(syntax)?;
        position.hands = parse_pocket(variant_rules, pocket).map_err(syntax)?;
        position.turn = match fields.next() {
            None | Some("w") => Color::White,
            Some("b") => Color::Black,
            Some(other) => return Err(syntax(FenFault::SideToMove(other.to_owned()))),
        };
        // Games without castling and en passant are often written without these fields.
        let mut optional_field =
            || fields.next_if(|field| !field.starts_with(|c: char| c.is_ascii_digit()));
        let castling = optional_field().unwrap_or("-");
        let en_passant = optional_field().unwrap_or("-");
        position.parse_castling(castling, dropped).map_err(syntax)?;
        let en_passant = parse_en_passant(variant_rules, en_passant).map_err(syntax)?;
        if counted > 0
            && let Some(left) = fields.next_if(|field| field.contains('+'))
        {
            position.checks = parse_checks(left, counted).map_err(syntax)?;
        }
        let mut counter = |name: &'static str, default: u32| match fields.next() {
            None | Some("-") => Ok(default),
            Some(text) => text
                .parse::<u32>()
                .map_err(|_| syntax(FenFault::Counter { name, text: text.to_owned() })),
        };
        position.halfmoves = counter("half-move clock", 0)?;
        position.fullmoves = counter("move number", 1)?.max(1);
        if counted > 0
            && let Some(given) = fields.next_if(|field| field.starts_with('+'))
        {
            position.checks = parse_checks(given, counted).map_err(syntax)?;
        }
        if let Some(rest) = fields.next() {
            return Err(syntax(FenFault::TrailingText(rest.to_owned())));
        }
        position.check().map_err(|fault| FenError::illegal(fen, fault))?;
        if let Some(square) = en_passant {
            if !position.was_passed(square) {
                dropped.push(DroppedPart::EnPassant { square });
            } else if position.useful_en_passant(square).is_some() {
                position.en_passant = en_passant;
            }
        }
        Ok(position)
    }

    /// Checks what the syntax of a FEN cannot rule out.
    pub(super) fn check(&self) -> Result<(), FenFault> {
        for color in Color::ALL {
            let kings_on_board = (self.board.kings() & self.board.by_color(color)).count();
            let count = kings_on_board + usize::from(self.hands[color][Role::King]);
            if self.variant_rules.royal && count != self.variant_rules.kings[color] {
                return Err(FenFault::KingCount { color, count });
            }
            let pawns = self.board.pawns() & self.board.by_color(color);
            let dropped =
                self.variant_rules.drops.map_or(Bitboard::EMPTY, |drops| drops.pawn_area[color]);
            if (pawns & self.variant_rules.promotion.area[color] & !dropped).any() {
                return Err(FenFault::PawnOnPromotionSquare(color));
            }
        }
        Ok(())
    }

    fn parse_board(&mut self, text: &str) -> Result<(), FenFault> {
        let variant_rules = Arc::clone(&self.variant_rules);
        let ranks = text.split('/').collect::<Vec<_>>();
        if ranks.len() != variant_rules.ranks {
            return Err(FenFault::RankCount { expected: variant_rules.ranks, found: ranks.len() });
        }
        for (line, rank) in ranks.into_iter().zip((0..variant_rules.ranks).rev()) {
            let mut file = 0;
            for letter in line.chars() {
                if let Some(gap) = letter.to_digit(10) {
                    file += gap as usize;
                    continue;
                }
                let last = file.checked_sub(1).filter(|&last| last < variant_rules.files);
                if letter == '~' {
                    let piece = last
                        .map(|last| square(last, rank))
                        .filter(|&piece| self.board.occupied().contains(piece))
                        .ok_or(FenFault::PromotedMark)?;
                    if variant_rules.tracks_promoted() {
                        self.promoted = self.promoted.with(piece);
                    }
                    continue;
                }
                let here = (file < variant_rules.files).then(|| square(file, rank));
                file += 1;
                if letter == '*' && variant_rules.barriers {
                    let duck = variant_rules.walls.is_some_and(|walls| walls.rule == Walling::Duck);
                    if duck && self.walls.any() {
                        return Err(FenFault::DuckCount);
                    }
                    self.walls |= here.map_or(Bitboard::EMPTY, Bitboard::from_square);
                    continue;
                }
                let piece =
                    Piece::from_char(letter).filter(|p| variant_rules.roles.contains(&p.role));
                let piece = piece.ok_or(FenFault::Piece(letter))?;
                if let Some(here) = here {
                    self.board.set_piece_at(here, piece);
                }
            }
            if file != variant_rules.files {
                return Err(FenFault::FileCount {
                    rank: line.to_owned(),
                    expected: variant_rules.files,
                    found: file,
                });
            }
        }
        Ok(())
    }

    /// Parses the castling rights, as `KQkq` or as the files of the rooks. A right without its king or rook
    /// is dropped. The rights of colors that cannot castle are ignored: some programs write `KQkq` there.
    fn parse_castling(
        &mut self,
        text: &str,
        dropped: &mut Vec<DroppedPart>,
    ) -> Result<(), FenFault> {
        if text == "-" {
            return Ok(());
        }
        let known = |letter: char| matches!(letter.to_ascii_lowercase(), 'a'..='h' | 'k' | 'q');
        if !text.chars().all(known) {
            return Err(FenFault::Castling(text.to_owned()));
        }
        let Some(rules) = self.variant_rules.castling else { return Ok(()) };
        let chess960 = self.chess960 || self.is_of_chess960(&rules, text);
        let can_castle = |right: &char| rules.colors[Color::from_white(right.is_ascii_uppercase())];
        for right in text.chars().filter(can_castle) {
            match self.castling_right(&rules, right, chess960) {
                Ok(rook) => self.rights = self.rights.with(rook),
                Err(fault) => dropped.push(DroppedPart::CastlingRight { right, fault }),
            }
        }
        Ok(())
    }

    /// Returns the rook of a castling right. `KQkq` mean the home squares of king and rook, in
    /// Chess960 the outermost rook.
    fn castling_right(
        &self,
        rules: &Castling,
        right: char,
        chess960: bool,
    ) -> Result<Square, CastlingFault> {
        let color = Color::from_white(right.is_ascii_uppercase());
        let rank = self.variant_rules.castling_rank(color);
        let home = rules.home[color];
        let on_rank = |file: usize| square(file, usize::from(rank));
        let king = self.castling_king(color);
        let letter = right.to_ascii_lowercase();
        let king_side = letter == 'k';
        let at_home = matches!(letter, 'k' | 'q') && !chess960;
        if at_home && king != Some(on_rank(home.king)) {
            return Err(CastlingFault::NoKing { at: on_rank(home.king) });
        }
        let king = king.ok_or(CastlingFault::NoKingOnRank { rank })?;
        let named = match File::from_char(letter) {
            Some(file) => on_rank(usize::from(file)),
            None if at_home => on_rank(if king_side { home.king_rook } else { home.queen_rook }),
            None => self
                .outermost_rook(rules, color, king, king_side)
                .ok_or(CastlingFault::NoRookOnSide { king, king_side })?,
        };
        let own = self.board.rooks() & self.board.by_color(color) & self.area;
        if !own.contains(named) {
            return Err(CastlingFault::NoRook { at: named });
        }
        match self.castling_rook(color, named > king) {
            Some(other) if other != named => Err(CastlingFault::OtherRook { at: other }),
            _ => Ok(named),
        }
    }

    /// Returns the rook of a side that is farthest from the king.
    fn outermost_rook(
        &self,
        rules: &Castling,
        color: Color,
        king: Square,
        king_side: bool,
    ) -> Option<Square> {
        let rank = Bitboard::from_rank(king.rank());
        let rooks = self.board.rooks() & self.board.by_color(color) & rank & self.area;
        let outer = rules.queen_rook..=rules.king_rook;
        let mut rooks = rooks.into_iter().filter(|rook| outer.contains(&usize::from(rook.file())));
        if king_side {
            rooks.next_back().filter(|&rook| rook > king)
        } else {
            rooks.next().filter(|&rook| rook < king)
        }
    }

    /// Returns `true` if the rights `KQkq` in `text` can only be those of Chess960: no king is at
    /// home, and kings and rooks stand on the same files on both sides, as at the start of a game.
    fn is_of_chess960(&self, rules: &Castling, text: &str) -> bool {
        // The files of the king and of the rooks that are named; `None` if a piece is missing.
        let files = |color: Color| {
            let king = self.castling_king(color)?;
            let rook = |right: char, king_side| {
                let named = text.contains(color.fold_wb(right.to_ascii_uppercase(), right));
                let rook = self.outermost_rook(rules, color, king, king_side);
                if named { Some(Some(rook?.file())) } else { Some(None) }
            };
            let rooks = [rook('k', true)?, rook('q', false)?];
            let at_home = usize::from(king.file()) == rules.home[color].king;
            (!at_home && rooks != [None, None]).then_some((king.file(), rooks))
        };
        let both = files(Color::White).zip(files(Color::Black));
        both.is_some_and(|((white_king, white), (black_king, black))| {
            let mut sides = white.into_iter().zip(black);
            white_king == black_king
                && sides.all(|(white, black)| white.is_none() || black.is_none() || white == black)
        })
    }

    /// Returns `true` if the king and the rook of `color` stand on their home squares.
    pub(super) fn castles_from_home(&self, color: Color, king: Square, rook: Square) -> bool {
        self.variant_rules.castling.is_some_and(|rules| {
            let home = rules.home[color];
            let home_rook = if rook > king { home.king_rook } else { home.queen_rook };
            usize::from(king.file()) == home.king && usize::from(rook.file()) == home_rook
        })
    }

    /// Returns the castling field: `KQkq` for rooks at home, otherwise the files of the rooks.
    fn castling_field(&self) -> String {
        let mut text = String::new();
        for color in Color::ALL {
            let Some(king) = self.castling_king(color) else { continue };
            // In the order of the field, from the h-file.
            for rook in (self.rights & self.board.by_color(color)).into_iter().rev() {
                let letter = if self.chess960 || !self.castles_from_home(color, king, rook) {
                    rook.file().char()
                } else if rook > king {
                    'k'
                } else {
                    'q'
                };
                text.push(color.fold_wb(letter.to_ascii_uppercase(), letter));
            }
        }
        if text.is_empty() { "-".to_owned() } else { text }
    }

    /// Returns `true` if a pawn of the opponent may just have gone two squares over `passed`.
    fn was_passed(&self, passed: Square) -> bool {
        let behind = self.turn.fold_wb(8, -8);
        let (Some(from), Some(at)) = (passed.offset(behind), passed.offset(-behind)) else {
            return false;
        };
        let pawns = self.board.pawns() & self.board.by_color(!self.turn);
        self.variant_rules.double_step[!self.turn].contains(from)
            && pawns.contains(at)
            && !self.board.occupied().contains(passed)
            && !self.board.occupied().contains(from)
    }

    /// Returns the position as FEN with all six fields.
    pub(super) fn to_fen(&self) -> String {
        let mut text = String::new();
        for rank in (0..self.variant_rules.ranks).rev() {
            let mut gap = 0;
            for file in 0..self.variant_rules.files {
                let here = square(file, rank);
                let piece = self.board.piece_at(here).map(Piece::char);
                let Some(letter) = piece.or(self.walls.contains(here).then_some('*')) else {
                    gap += 1;
                    continue;
                };
                if gap > 0 {
                    text.push_str(&gap.to_string());
                }
                gap = 0;
                text.push(letter);
                if self.promoted.contains(here) {
                    text.push('~');
                }
            }
            if gap > 0 {
                text.push_str(&gap.to_string());
            }
            if rank > 0 {
                text.push('/');
            }
        }
        if self.variant_rules.drops.is_some() {
            text.push_str(&format!("[{}]", notation::hands(&self.hands)));
        }
        let castling = self.castling_field();
        let en_passant = self.en_passant.map_or("-".to_owned(), |square| square.to_string());
        let checks = match self.variant_rules.checks.counted {
            Some(_) => format!("{}+{} ", self.checks.white, self.checks.black),
            None => String::new(),
        };
        let turn = self.turn.char();
        let ChessPosition { halfmoves, fullmoves, .. } = self;
        text + &format!(" {turn} {castling} {en_passant} {checks}{halfmoves} {fullmoves}")
    }
}

/// Splits the first field into the board and the pieces in hand, which follow it in brackets or as an
/// additional rank.
fn split_pocket<'a>(
    variant_rules: &VariantRules,
    text: &'a str,
) -> Result<(&'a str, &'a str), FenFault> {
    if variant_rules.drops.is_none() {
        let board = text.strip_suffix("[]").or_else(|| text.strip_suffix("[-]"));
        return Ok((board.unwrap_or(text), ""));
    }
    if let Some((board, pocket)) = text.split_once('[') {
        let pocket = pocket.strip_suffix(']').ok_or(FenFault::UnclosedPocket)?;
        return Ok((board, if pocket == "-" { "" } else { pocket }));
    }
    let has_pocket_rank = text.matches('/').count() == variant_rules.ranks;
    match text.rsplit_once('/') {
        Some(parts) if has_pocket_rank => Ok(parts),
        _ => Ok((text, "")),
    }
}

fn parse_pocket(variant_rules: &VariantRules, text: &str) -> Result<ByColor<ByRole<u8>>, FenFault> {
    let drop_roles = variant_rules.drop_roles();
    let mut hands = ByColor::<ByRole<u8>>::default();
    for letter in text.chars() {
        let piece = Piece::from_char(letter)
            .filter(|piece| drop_roles.contains(&piece.role))
            .ok_or(FenFault::PocketPiece(letter))?;
        let count = &mut hands[piece.color][piece.role];
        if *count == MAX_POCKET_COUNT {
            return Err(FenFault::PocketCount);
        }
        *count += 1;
    }
    Ok(hands)
}

/// The maximum number of pieces of a role in a pocket.
pub(super) const MAX_POCKET_COUNT: u8 = 64;

fn parse_en_passant(variant_rules: &VariantRules, text: &str) -> Result<Option<Square>, FenFault> {
    if text == "-" {
        return Ok(None);
    }
    if Color::ALL.into_iter().all(|color| variant_rules.double_step[color].is_empty()) {
        return Err(FenFault::NoEnPassant(text.to_owned()));
    }
    match Square::from_ascii(text.as_bytes()) {
        Ok(square) if variant_rules.area().contains(square) => Ok(Some(square)),
        _ => Err(FenFault::EnPassant(text.to_owned())),
    }
}

/// Parses the remaining checks of each side, `2+3`, or the given checks, `+1+0`.
fn parse_checks(text: &str, counted: u8) -> Result<ByColor<u8>, FenFault> {
    let invalid = || FenFault::Checks(text.to_owned());
    let given = text.strip_prefix('+');
    let (white, black) = given.unwrap_or(text).split_once('+').ok_or_else(invalid)?;
    let remaining = |number: &str| {
        let number = number.parse::<u8>().ok().filter(|&number| number <= counted)?;
        Some(if given.is_some() { counted - number } else { number })
    };
    Ok(ByColor {
        white: remaining(white).ok_or_else(invalid)?,
        black: remaining(black).ok_or_else(invalid)?,
    })
}
