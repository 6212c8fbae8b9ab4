//! The eight games of Lichess and their 960 starts, through shakmaty.

use shakmaty::fen::{Fen, LossyFenError};
use shakmaty::variant::{Variant, VariantPosition};
use shakmaty::zobrist::Zobrist64;
use shakmaty::{
    Bitboard, ByColor, CastlingMode, CastlingSide, Color, EnPassantMode, Position as _,
    PositionErrorKinds, Role,
};

use super::notation::{self, FenError};
use super::{Anatomy, Key, Move, MoveList, Outcome, Reason, Rules, Side, View};

/// A position of one of the eight games.
#[derive(Clone, Debug)]
pub(super) struct Lichess {
    position: VariantPosition,
    /// Plies since the last capture, pawn move or drop: Fairy-Stockfish counts from a drop anew,
    /// shakmaty does not.
    halfmoves: u32,
}

impl Lichess {
    /// Reads a FEN of `variant`. `chess960` says how castling is written in moves.
    #[expect(clippy::result_large_err, reason = "shakmaty's error holds the position it refuses")]
    pub(super) fn from_fen(
        variant: Variant,
        fen: &str,
        chess960: bool,
    ) -> Result<Lichess, FenError> {
        // GUIs write empty hands as `[-]`, which shakmaty does not read.
        let setup = Fen::from_ascii(fen.replacen("[-]", "[]", 1).as_bytes())
            .map_err(|error| FenError::syntax(fen, error))?
            .into_setup();
        let wanted = if chess960 {
            CastlingMode::Chess960
        } else {
            // A start of Chess960 keeps its castling rights without being told.
            CastlingMode::detect(&setup)
        };
        let position = VariantPosition::from_setup(variant, setup, wanted)
            .or_else(|error| error.ignore_too_much_material())
            // In Racing Kings nobody is ever in check, and shakmaty relies on it.
            .or_else(|error| match variant {
                Variant::RacingKings => Err(error),
                _ => error.ignore_impossible_check(),
            })
            .or_else(|error| error.ignore_invalid_ep_square())
            .or_else(|error| error.ignore_invalid_castling_rights())
            .map_err(|error| FenError::illegal(fen, describe(error.kinds())))?;
        let halfmoves = position.halfmoves();
        Ok(Lichess { position, halfmoves })
    }

    fn side(&self) -> Side {
        self.position.turn().into()
    }

    fn opponent(&self) -> Side {
        (!self.position.turn()).into()
    }

    /// Whether no side has the men to win, as Fairy-Stockfish sees it: it goes by the men alone,
    /// and in Atomic any man beside the kings may blow one up.
    fn lacks_material(&self) -> bool {
        match self.position.variant() {
            Variant::Chess | Variant::ThreeCheck => self.position.is_insufficient_material(),
            Variant::Atomic => self.position.board().occupied() == self.position.board().kings(),
            _ => false,
        }
    }

    /// The move as shakmaty has it, which knows the men that move and are taken.
    fn resolve(&self, m: Move) -> Option<shakmaty::Move> {
        let board = self.position.board();
        Some(match m {
            Move::Drop { role, to } => shakmaty::Move::Put { role, to },
            Move::Step { from, to, promotion } => {
                let role = board.role_at(from)?;
                let own = self.position.us().contains(to);
                if role == Role::King && own {
                    shakmaty::Move::Castle { king: from, rook: to }
                } else if role == Role::Pawn
                    && from.file() != to.file()
                    && !board.occupied().contains(to)
                {
                    shakmaty::Move::EnPassant { from, to }
                } else {
                    shakmaty::Move::Normal { role, from, capture: board.role_at(to), to, promotion }
                }
            }
            Move::Place(_) | Move::Wall(_) => return None,
        })
    }
}

impl Rules for Lichess {
    fn anatomy(&self) -> Anatomy {
        let variant = self.position.variant();
        let men = [Role::Queen, Role::Rook, Role::Bishop, Role::Knight];
        let (mut promotions, mut drops) = (men.to_vec(), Vec::new());
        match variant {
            Variant::RacingKings => promotions.clear(),
            Variant::Antichess => promotions.push(Role::King),
            Variant::Crazyhouse => drops = Role::ALL[..5].to_vec(),
            _ => {}
        }
        let racing = variant == Variant::RacingKings;
        let roles = if racing { &Role::ALL[1..] } else { &Role::ALL[..] };
        Anatomy {
            sides: 2,
            files: 8,
            ranks: 8,
            roles: roles.to_vec(),
            promotions,
            drops,
            places: false,
            walls: false,
            barriers: false,
            castling: !matches!(variant, Variant::RacingKings | Variant::Antichess),
            en_passant: !racing,
            checks: (variant == Variant::ThreeCheck).then_some(3),
            promoted: variant == Variant::Crazyhouse,
            mirrored: !racing,
        }
    }

    fn turn(&self) -> Side {
        self.side()
    }

    fn mid_turn(&self) -> bool {
        false
    }

    fn legal_moves(&self, out: &mut MoveList) {
        out.clear();
        out.extend(self.position.legal_moves().into_iter().map(|m| match m {
            shakmaty::Move::Normal { from, to, promotion, .. } => {
                Move::Step { from, to, promotion }
            }
            shakmaty::Move::EnPassant { from, to } => Move::Step { from, to, promotion: None },
            shakmaty::Move::Castle { king, rook } => {
                Move::Step { from: king, to: rook, promotion: None }
            }
            shakmaty::Move::Put { role, to } => Move::Drop { role, to },
        }));
    }

    fn play_unchecked(&mut self, m: Move) {
        match self.resolve(m) {
            Some(m) => {
                let zeroing = m.is_zeroing() || m.is_put();
                self.halfmoves = if zeroing { 0 } else { self.halfmoves.saturating_add(1) };
                self.position.play_unchecked(m);
            }
            None => debug_assert!(false, "{m:?} is no move of {:?}", self.position),
        }
    }

    fn outcome(&self, legal: &[Move]) -> Option<Outcome> {
        let decided = |reason| match self.position.variant_outcome().winner() {
            Some(winner) => Outcome::win(winner.into(), reason),
            None => Outcome::draw(reason),
        };
        if self.position.is_variant_end() {
            Some(decided(Reason::Variant))
        } else if !legal.is_empty() {
            None
        } else if self.position.is_check() {
            Some(Outcome::win(self.opponent(), Reason::Checkmate))
        } else {
            Some(decided(Reason::Stalemate))
        }
    }

    fn claim(&self) -> Option<Outcome> {
        if self.halfmoves >= 100 {
            Some(Outcome::draw(Reason::FiftyMoves))
        } else if self.lacks_material() {
            Some(Outcome::draw(Reason::InsufficientMaterial))
        } else {
            None
        }
    }

    fn reversible(&self) -> u32 {
        // Where men come back, any position may.
        if self.position.variant() == Variant::Crazyhouse { u32::MAX } else { self.halfmoves }
    }

    fn key(&self) -> Key {
        let Zobrist64(key) = self.position.zobrist_hash(EnPassantMode::Legal);
        Key(key)
    }

    fn view(&self) -> View<'_> {
        let checks = self.position.remaining_checks();
        View {
            turn: self.position.turn(),
            board: self.position.board(),
            promoted: self.position.promoted(),
            hands: self.position.pockets(),
            castling: self.position.castles().castling_rights(),
            en_passant: self.position.legal_ep_square(),
            walls: Bitboard::EMPTY,
            mid_turn: false,
            checks: checks.map(|checks| checks.map(|left| u32::from(left) as u8)),
            halfmoves: self.halfmoves,
            repeated: false,
        }
    }

    fn fen(&self) -> String {
        let setup = self.position.to_setup(EnPassantMode::Legal);
        let board = setup.board.board_fen_with_promoted(setup.promoted);
        let board = board.unwrap_or_else(LossyFenError::ignore);
        let hands = setup.pockets.map_or(String::new(), |h| format!("[{}]", notation::hands(&h)));
        let turn = setup.turn.char();
        let kings = ByColor::new_with(|color| setup.board.king_of(color));
        let castling = notation::castling(
            &setup.board,
            setup.castling_rights,
            kings,
            self.position.castles().mode(),
        );
        let ep = setup.ep_square.map_or("-".to_owned(), |square| square.to_string());
        let checks = setup.remaining_checks.map_or(String::new(), |left| {
            format!("{}+{} ", u32::from(left.white), u32::from(left.black))
        });
        let (halfmoves, fullmoves) = (self.halfmoves, setup.fullmoves);
        format!("{board}{hands} {turn} {castling} {ep} {checks}{halfmoves} {fullmoves}")
    }

    fn move_text(&self, m: Move) -> String {
        let standard = self.position.castles().mode() == CastlingMode::Standard;
        match (m, self.resolve(m)) {
            (Move::Step { from, to, .. }, Some(shakmaty::Move::Castle { .. })) if standard => {
                let side = CastlingSide::from_king_side(from < to);
                let color = Color::from_white(self.side() == Side::WHITE);
                notation::uci(Move::Step { from, to: side.king_to(color), promotion: None })
            }
            _ => notation::uci(m),
        }
    }
}

fn describe(kinds: PositionErrorKinds) -> String {
    let names = kinds.iter_names().map(|(name, _)| name.to_lowercase().replace('_', " "));
    names.collect::<Vec<_>>().join(", ")
}
