//! Men in hand that come from another table, of which a game of one board knows nothing.

use std::sync::Arc;

use super::Session;
use super::game::{Game, GameError};
use super::search_info::SearchResult;
use crate::rules::{Color, Move, Reason, Role, Side};

/// The men that a partner may send.
const MEN: [Role; 5] = [Role::Pawn, Role::Knight, Role::Bishop, Role::Rook, Role::Queen];

/// Turns whose expected scores differ by no more than this are alike.
const ALIKE: f32 = 0.03;

/// A FEN with other men in hand; `None` if it has no hands.
fn with_hands(fen: &str, hands: impl FnOnce(&str) -> String) -> Option<String> {
    let (board, rest) = fen.split_once('[')?;
    let (men, rest) = rest.split_once(']')?;
    Some(format!("{board}[{}]{rest}", hands(men)))
}

fn letter(color: Color, man: char) -> char {
    color.fold_wb(man.to_ascii_uppercase(), man.to_ascii_lowercase())
}

impl Session {
    /// Another session with the same options and games, at the start of the same game, that has not
    /// thought of anything yet.
    pub fn beside(&self) -> Session {
        let mut other = Session::new(self.shipped);
        other.catalogue = self.catalogue.clone();
        other.options = self.options.clone();
        other.variant = Arc::clone(&self.variant);
        other.game = Game::new(&other.variant, other.options.chess960);
        other
    }

    /// Gives a man, by its letter, to the hand of a colour. What was played before is no part of
    /// the game any more.
    ///
    /// # Errors
    /// If the game has no such man in hand; it then stays as it was.
    pub fn give(&mut self, color: Color, man: char) -> Result<(), GameError> {
        self.hold(|men| format!("{men}{}", letter(color, man)))
    }

    /// Replaces what is in hand by men told by their letters.
    ///
    /// # Errors
    /// If the game has no such men in hand; it then stays as it was.
    pub fn set_hands(&mut self, white: &str, black: &str) -> Result<(), GameError> {
        let men = |color, men: &str| men.chars().map(|man| letter(color, man)).collect::<String>();
        self.hold(|_| men(Color::White, white) + &men(Color::Black, black))
    }

    fn hold(&mut self, hands: impl FnOnce(&str) -> String) -> Result<(), GameError> {
        let fen = self.position().fen();
        let fen = with_hands(&fen, hands).unwrap_or(fen);
        self.set_position(Some(&fen), &[]).map(drop)
    }

    /// The men that would mate at once if the side to move had one more of them in hand.
    pub fn mating_men(&self) -> Vec<Role> {
        let (position, mover) = (self.position(), self.position().turn());
        let color = Color::from_white(mover == Side::WHITE);
        let (fen, mut legal) = (position.fen(), Vec::new());
        let mates = |man: &Role| {
            let more = with_hands(&fen, |men| format!("{men}{}", letter(color, man.char())));
            let more = more.filter(|_| position.game_spec().drops.contains(man));
            let given = more.and_then(|fen| self.variant.position(&fen, true).ok());
            let Some(given) = given else { return false };
            given.legal_moves(&mut legal);
            legal.iter().any(|&m| {
                let drop = matches!(m, Move::Drop { role, .. } if role == *man);
                let mut next = given.clone();
                drop && {
                    next.play_unchecked(m);
                    next.outcome().is_some_and(|end| {
                        end.winner == Some(mover) && end.reason == Reason::Checkmate
                    })
                }
            })
        };
        MEN.into_iter().filter(mates).collect()
    }

    /// Of the turns that a search found as good as the best, one that takes a man of those `wanted`,
    /// or if the best one takes a `feared` man, one that does not; `None` if the best one will do.
    pub fn taking(&self, best: &SearchResult, wanted: &[Role], feared: &[Role]) -> Option<String> {
        let position = self.position();
        let mover = position.turn();
        let taken = |text: &str| {
            let plies = position.parse_turn(text)?;
            let [Move::Step { to, .. }] = plies[..] else { return None };
            let view = position.view();
            let own = view.board.by_color(view.turn).contains(to);
            let man = view.board.role_at(to).filter(|_| !own);
            man.map(|man| if view.promoted.contains(to) { Role::Pawn } else { man })
        };
        let (_, first) = best.choices.first()?;
        let alike = best.choices.iter().filter(|(_, choice)| {
            choice.proof == first.proof
                && choice.visits >= first.visits / 4
                && choice.value[mover] >= first.value[mover] - ALIKE
        });
        let alike: Vec<&String> = alike.map(|(text, _)| text).collect();
        let find = |fits: &dyn Fn(Option<Role>) -> bool| {
            alike.iter().find(|text| fits(taken(text))).map(|text| (*text).clone())
        };
        let among = |men: &[Role], man: Option<Role>| man.is_some_and(|man| men.contains(&man));
        let played = taken(best.turn.as_ref()?);
        if among(wanted, played) {
            return None;
        }
        find(&|man| among(wanted, man))
            .or_else(|| among(feared, played).then(|| find(&|man| !among(feared, man))).flatten())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::variant::Catalogue;

    fn session(fen: &str) -> Session {
        let mut session = Session::new(Catalogue::shipped());
        session.set_option("UCI_Variant", "bughouse").expect("it is shipped");
        session.set_position(Some(fen), &[]).expect("a position");
        session
    }

    #[test]
    fn men_come_to_a_hand_and_are_replaced() {
        let mut session = session("4k3/8/8/8/8/8/8/4K3[Qp] w - - 0 1");
        session.give(Color::Black, 'N').expect("a knight");
        assert_eq!(session.position().fen(), "4k3/8/8/8/8/8/8/4K3[Qnp] w - - 0 1");
        session.set_hands("PP", "").expect("two pawns");
        assert_eq!(session.position().fen(), "4k3/8/8/8/8/8/8/4K3[PP] w - - 0 1");
        assert!(session.give(Color::White, 'X').is_err());
        assert!(session.set_hands("K", "]").is_err());
        assert_eq!(session.position().fen(), "4k3/8/8/8/8/8/8/4K3[PP] w - - 0 1");
    }

    #[test]
    fn men_that_would_mate_are_known() {
        // Behind its pawns: a rook or a queen on the last rank.
        let mating = session("6k1/5ppp/8/8/8/8/8/4K3[] w - - 0 1").mating_men();
        assert_eq!(mating, [Role::Rook, Role::Queen]);
        assert_eq!(session("7k/8/8/8/8/8/8/4K3[] w - - 0 1").mating_men(), []);
        let mut chess = Session::new(Catalogue::shipped());
        chess.set_position(Some("6k1/5ppp/8/8/8/8/8/4K3 w - - 0 1"), &[]).expect("a position");
        assert_eq!(chess.mating_men(), []);
    }
}
