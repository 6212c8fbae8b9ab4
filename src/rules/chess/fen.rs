//! FEN of boards of any size.

use std::sync::Arc;

use shakmaty::{Bitboard, Board, ByColor, ByRole, Color, File, Piece, Role, Square};

use super::{Castling, ChessPosition, VariantRules, Walling};
use crate::rules::notation::{self, CastlingFault, DroppedPart, FenError, square};

impl ChessPosition {
    /// Reads a FEN of the game of `variant_rules`; all fields after the board may be missing. A board on
    /// which the mover could take the king is accepted, as the reference program does, though no
    /// game reaches it. `chess960` says how castling is written in moves, and that `KQkq` mean the
    /// outermost rooks. What is left out is added to `dropped`.
    pub(in crate::rules) fn from_fen(
        variant_rules: &Arc<VariantRules>,
        fen: &str,
        chess960: bool,
        dropped: &mut Vec<DroppedPart>,
    ) -> Result<ChessPosition, FenError> {
        let syntax = |reason: String| FenError::syntax(fen, reason);
        let mut fields = notation::without_operations(fen)?.split_ascii_whitespace().peekable();
        let men = fields.next().unwrap_or_default();
        let (board, hands) = split_hands(variant_rules, men).map_err(syntax)?;
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
            owed: None,
            checks: ByColor { white: counted, black: counted },
            decided: None,
            restricted: variant_rules.is_restricted(),
            turn: Color::White,
            halfmoves: 0,
            fullmoves: 1,
            chess960,
        };
        position.read_board(board).map_err(syntax)?;
        position.hands = parse_hands(variant_rules, hands).map_err(syntax)?;
        position.turn = match fields.next() {
            None | Some("w") => Color::White,
            Some("b") => Color::Black,
            Some(other) => return Err(syntax(format!("the side to move is \"{other}\""))),
        };
        // Games without castling and en passant are often written without these fields.
        let mut right = || fields.next_if(|field| !field.starts_with(|c: char| c.is_ascii_digit()));
        let (castling, en_passant) = (right().unwrap_or("-"), right().unwrap_or("-"));
        position.read_castling(castling, dropped).map_err(syntax)?;
        let en_passant = parse_en_passant(variant_rules, en_passant).map_err(syntax)?;
        if counted > 0
            && let Some(left) = fields.next_if(|field| field.contains('+'))
        {
            position.checks = parse_checks(left, counted).map_err(syntax)?;
        }
        let mut counter = |name: &str, default: u32| match fields.next() {
            None | Some("-") => Ok(default),
            Some(text) => {
                text.parse::<u32>().map_err(|_| syntax(format!("the {name} is \"{text}\"")))
            }
        };
        position.halfmoves = counter("half-move clock", 0)?;
        position.fullmoves = counter("move number", 1)?.max(1);
        if counted > 0
            && let Some(given) = fields.next_if(|field| field.starts_with('+'))
        {
            position.checks = parse_checks(given, counted).map_err(syntax)?;
        }
        if let Some(rest) = fields.next() {
            return Err(syntax(format!("nothing may follow the move number, but \"{rest}\"")));
        }
        position.check().map_err(|reason| FenError::illegal(fen, reason))?;
        if let Some(square) = en_passant {
            if !position.was_passed(square) {
                dropped.push(DroppedPart::EnPassant { square });
            } else if position.useful_en_passant(square).is_some() {
                position.en_passant = en_passant;
            }
        }
        Ok(position)
    }

    /// What the FEN's syntax cannot rule out.
    pub(super) fn check(&self) -> Result<(), String> {
        for color in Color::ALL {
            let kings = (self.board.kings() & self.board.by_color(color)).count();
            let kings = kings + usize::from(self.hands[color][Role::King]);
            if self.variant_rules.royal && kings != self.variant_rules.kings[color] {
                return Err(format!("{color} has {kings} kings"));
            }
            let pawns = self.board.pawns() & self.board.by_color(color);
            let dropped =
                self.variant_rules.drops.map_or(Bitboard::EMPTY, |drops| drops.pawn_area[color]);
            if (pawns & self.variant_rules.promotion.area[color] & !dropped).any() {
                return Err(format!("a pawn of {color} stands where it promotes"));
            }
        }
        Ok(())
    }

    fn read_board(&mut self, text: &str) -> Result<(), String> {
        let variant_rules = Arc::clone(&self.variant_rules);
        let ranks = text.split('/').collect::<Vec<_>>();
        if ranks.len() != variant_rules.ranks {
            return Err(format!(
                "the board has {} ranks, not {}",
                variant_rules.ranks,
                ranks.len()
            ));
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
                    let man = last.map(|last| square(last, rank));
                    let man = man.filter(|&man| self.board.occupied().contains(man));
                    let man = man.ok_or("there is no man before a '~'")?;
                    // Where it does not matter who is promoted, nobody is told apart.
                    if variant_rules.tells_promoted() {
                        self.promoted = self.promoted.with(man);
                    }
                    continue;
                }
                let here = (file < variant_rules.files).then(|| square(file, rank));
                file += 1;
                if letter == '*' && variant_rules.barriers {
                    let duck = variant_rules.walls.is_some_and(|walls| walls.rule == Walling::Duck);
                    if duck && self.walls.any() {
                        return Err("there are two ducks".to_owned());
                    }
                    self.walls |= here.map_or(Bitboard::EMPTY, Bitboard::from_square);
                    continue;
                }
                let piece =
                    Piece::from_char(letter).filter(|p| variant_rules.roles.contains(&p.role));
                let piece = piece.ok_or_else(|| format!("'{letter}' is no man of this game"))?;
                if let Some(here) = here {
                    self.board.set_piece_at(here, piece);
                }
            }
            if file != variant_rules.files {
                return Err(format!(
                    "rank \"{line}\" has {file} files, not {}",
                    variant_rules.files
                ));
            }
        }
        Ok(())
    }

    /// Reads the castling rights, as `KQkq` or as the files of the rooks. A right without its king or
    /// rook is dropped. In games without castling nothing is read: some programs write `KQkq` there.
    fn read_castling(&mut self, text: &str, dropped: &mut Vec<DroppedPart>) -> Result<(), String> {
        if text == "-" {
            return Ok(());
        }
        let known = |letter: char| matches!(letter.to_ascii_lowercase(), 'a'..='h' | 'k' | 'q');
        if !text.chars().all(known) {
            return Err(format!("castling is said by KQkq or by the rooks' files, not \"{text}\""));
        }
        let Some(rules) = self.variant_rules.castling else { return Ok(()) };
        let chess960 = self.chess960 || self.is_of_chess960(&rules, text);
        for right in text.chars() {
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
                .ok_or(CastlingFault::NoRookBeside { king, king_side })?,
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

    /// The castling field: `KQkq` for rooks at home, else the files of the rooks.
    fn castling_field(&self) -> String {
        let mut text = String::new();
        for color in Color::ALL {
            let Some(king) = self.castling_king(color) else { continue };
            // From the h-file on, as the field writes them.
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

    /// The position as FEN, all six fields.
    pub(super) fn to_fen(&self) -> String {
        let mut text = String::new();
        for rank in (0..self.variant_rules.ranks).rev() {
            let mut gap = 0;
            for file in 0..self.variant_rules.files {
                let here = square(file, rank);
                let man = self.board.piece_at(here).map(Piece::char);
                let Some(letter) = man.or(self.walls.contains(here).then_some('*')) else {
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
        let (turn, moves) = (self.turn.char(), self.fullmoves);
        text + &format!(" {turn} {castling} {en_passant} {checks}{} {moves}", self.halfmoves)
    }
}

/// The board and the men in hand: behind it in brackets, or as a rank too many.
fn split_hands<'a>(
    variant_rules: &VariantRules,
    text: &'a str,
) -> Result<(&'a str, &'a str), String> {
    if variant_rules.drops.is_none() {
        let bare = text.strip_suffix("[]").or_else(|| text.strip_suffix("[-]"));
        return Ok((bare.unwrap_or(text), ""));
    }
    if let Some((board, hands)) = text.split_once('[') {
        let hands = hands.strip_suffix(']').ok_or("the hands have no end")?;
        return Ok((board, if hands == "-" { "" } else { hands }));
    }
    let ninth = text.matches('/').count() == variant_rules.ranks;
    Ok(text.rsplit_once('/').filter(|_| ninth).unwrap_or((text, "")))
}

fn parse_hands(variant_rules: &VariantRules, text: &str) -> Result<ByColor<ByRole<u8>>, String> {
    let droppable = variant_rules.droppable();
    let mut hands = ByColor::<ByRole<u8>>::default();
    for letter in text.chars() {
        let man = Piece::from_char(letter).filter(|man| droppable.contains(&man.role));
        let man = man.ok_or_else(|| format!("'{letter}' can be in no hand"))?;
        let count = &mut hands[man.color][man.role];
        *count = count.checked_add(1).filter(|&n| n <= MOST).ok_or("too many men in hand")?;
    }
    Ok(hands)
}

/// The most men of a role in a hand: as many as there are squares.
pub(super) const MOST: u8 = 64;

fn parse_en_passant(variant_rules: &VariantRules, text: &str) -> Result<Option<Square>, String> {
    if text == "-" {
        return Ok(None);
    }
    if Color::ALL.into_iter().all(|color| variant_rules.double_step[color].is_empty()) {
        let reason = "this game has no en passant, so \"-\" stands for it";
        return Err(format!("{reason}, not \"{text}\""));
    }
    let square = Square::from_ascii(text.as_bytes()).ok();
    square
        .filter(|&square| variant_rules.area().contains(square))
        .map(Some)
        .ok_or_else(|| format!("the square of en passant is \"{text}\""))
}

/// The checks that are left to each side: `2+3`, or those given: `+1+0`.
fn parse_checks(text: &str, counted: u8) -> Result<ByColor<u8>, String> {
    let bad = || format!("the checks are \"{text}\", not like \"3+3\" or \"+0+0\"");
    let given = text.strip_prefix('+');
    let (white, black) = given.unwrap_or(text).split_once('+').ok_or_else(bad)?;
    let read = |number: &str| {
        let number = number.parse::<u8>().ok().filter(|&number| number <= counted);
        number.map(|number| if given.is_some() { counted - number } else { number })
    };
    let left = read(white).zip(read(black)).ok_or_else(bad)?;
    Ok(ByColor { white: left.0, black: left.1 })
}
