//! Bughouse at one of two tables: what comes from the other one, what a partner tells and is told,
//! and when to sit.
//!
//! Two of ours tell one another their boards and clocks, and each thinks about both tables as one
//! team does. With any other partner the engine plays its own board.

use std::time::{Duration, Instant};

use super::partner::{Beside, HELLO, HELP, Told, Word};
use super::search::Kind;
use super::{XBoard, legs};
use crate::engine::{Limits, Score, SearchResult};
use crate::rules::{Color, Move, PerSide, Role, Side, Table};
use crate::search::Clock;

/// So long is nothing looked at anew while the engine sits.
const SITTING: Duration = Duration::from_millis(500);
/// Whoever has no more than this more than the opponent at the other table, in milliseconds, does
/// not sit.
const LEAD: i64 = 1000;
/// Who is to move at once, and has no move yet, thinks for so long.
const AT_ONCE: Duration = Duration::from_millis(200);
/// Who hurries thinks for this part of the time.
const HURRY: u32 = 4;

/// The engine's turn at its table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turn {
    /// When it began, or when the engine stopped sitting.
    pub(super) began: Instant,
    /// How often its search was begun anew, because something came from the other table.
    anew: u32,
    /// The engine is to move at once.
    hurried: bool,
    /// Since when the clocks run that were told last.
    pub(super) since: Instant,
}

impl Turn {
    pub(super) fn new() -> Turn {
        let now = Instant::now();
        Turn { began: now, anew: 0, hurried: false, since: now }
    }
}

impl XBoard {
    /// Whether the game is one at one of two tables.
    pub(super) fn has_partner(&self) -> bool {
        self.session.variant().has_partner()
    }

    fn tell_partner(&self, text: &str) {
        self.say(&format!("tellics ptell {text}"));
    }

    /// Tells a partner of flesh and blood.
    fn answer_partner(&self, text: &str) {
        if !self.partner.engine {
            self.tell_partner(text);
        }
    }

    /// `partner NAME`; nobody if there is no name.
    pub(super) fn meet(&mut self, name: &str) {
        self.partner.meet(name);
        if name.is_empty() {
            self.part();
        } else {
            self.tell_partner(HELLO);
            self.tell_board();
        }
    }

    /// Forgets the game at both tables, until it is set up again.
    pub(super) fn part(&mut self) {
        if self.team.is_some() {
            let own = self.break_off();
            self.team = None;
            if own {
                self.go_on(own);
            }
        }
    }

    /// Tells another engine of ours how the own board stands.
    pub(super) fn tell_board(&self) {
        if !self.partner.kin || !self.has_partner() {
            return;
        }
        let clocks = self
            .clocks_now()
            .map_or("- -".to_owned(), |(white, black)| format!("{} {}", white / 10, black / 10));
        self.tell_partner(&format!("board {} {clocks}", self.session.position().fen()));
    }

    /// White's and Black's time now, in milliseconds, if it is told.
    fn clocks_now(&self) -> Option<(i64, i64)> {
        let (own, other) = self.clocks.both()?;
        let mover = self.session.position().turn();
        let side = self.side.unwrap_or(mover);
        let passed = self.turn.since.elapsed().as_millis() as i64;
        let (own, other) =
            if mover == side { (own - passed, other) } else { (own, other - passed) };
        Some(if side == Side::WHITE { (own, other) } else { (other, own) })
    }

    /// How much more time the engine has than the opponent of the same colour at the other table, in
    /// milliseconds: these two wait for one another if both sit.
    fn lead(&self) -> Option<i64> {
        let (white, black) = self.clocks_now()?;
        let first =
            |(white, black)| if self.side? == Side::WHITE { Some(white) } else { Some(black) };
        let beside = self.partner.board.as_ref().and_then(Beside::now);
        let other = beside.and_then(first).or(self.partner.opponents_time)?;
        Some(first((white, black))? - other)
    }

    /// `holding [WHITE] [BLACK] BN`: what is in hand, and the man that has just come. Only that is
    /// believed if it is told, as moves and what is in hand may cross on their way.
    pub(super) fn holding(&mut self, text: &str, line: &str) {
        if !self.has_partner() {
            return;
        }
        let Some((white, black, came)) = holdings(text) else {
            return self.error("holding takes [WHITE] [BLACK] and a man", line);
        };
        let own = self.break_off();
        let held = match came {
            Some((color, man)) => self.session.give(color, man),
            None => self.session.set_hands(white, black),
        };
        match held {
            Ok(()) => self.excluded.clear(),
            Err(error) => self.error(&error.to_string(), line),
        }
        self.tell_board();
        self.go_on(own);
    }

    /// What the partner tells.
    pub(super) fn hear_partner(&mut self, text: &str) {
        let Some(word) = Word::read(text).filter(|_| self.has_partner()) else { return };
        match word {
            Word::Hello { kin } => {
                self.partner.engine = true;
                if kin && !std::mem::replace(&mut self.partner.kin, true) {
                    self.tell_board();
                }
            }
            Word::Board(board) => self.see_board(board),
            Word::Drawn => {
                if let Some(board) = &mut self.partner.board {
                    board.drawn = true;
                }
            }
            Word::Help => self.tell_partner(HELP),
            Word::Sit => {
                let own = self.clocks.both().map_or(0, |(own, _)| own);
                self.partner.sit = Some(own);
                self.answer_partner("I sit as long as my clock allows it, tell me 'go' to go on");
            }
            Word::Go => {
                self.partner.sit = None;
                self.hurry();
            }
            Word::Move(None) => self.hurry(),
            Word::Move(Some(turn)) => self.play_for_partner(turn),
            Word::Fast(fast) => {
                self.partner.fast = fast;
                self.answer_partner(if fast { "I play fast" } else { "I play as usual" });
            }
            Word::Dead(dead) => {
                self.partner.dead = dead;
                if !dead {
                    self.partner.sit = None;
                }
            }
            Word::Time(time) => self.partner.time = Some(time),
            Word::OpponentsTime(time) => self.partner.opponents_time = Some(time),
            Word::Abort => self.say("tellics abort"),
            Word::Flag => self.say("tellics flag"),
            Word::Man { letter, wanted } => self.partner.wants(letter, wanted),
            Word::Trades(_) => self.answer_partner("I trade as I see fit"),
            Word::Formula => self.answer_partner("I have no formula"),
        }
    }

    /// The partner's board has changed.
    fn see_board(&mut self, board: Beside) {
        (self.partner.engine, self.partner.kin) = (true, true);
        let before = self.partner.board.replace(board);
        if before.is_none() {
            self.tell_board();
        }
        let fen = |board: &Option<Beside>| board.as_ref().map(|board| board.fen.clone());
        if fen(&before) != fen(&self.partner.board) && self.kind.is_own() {
            let own = self.break_off();
            self.go_on(own);
        }
    }

    /// Plays what the partner says, if it may be played now.
    fn play_for_partner(&mut self, turn: &str) {
        let own = self.break_off();
        let on_turn = self.side == Some(self.session.position().turn()) && !self.refused;
        let written = legs::written(turn);
        if on_turn && self.session.play(turn).is_ok() {
            self.played_at_table(&written);
        } else {
            self.answer_partner("sorry, that is not possible");
            self.go_on(own);
        }
    }

    /// A turn was played in bughouse.
    pub(super) fn played_at_table(&mut self, written: &str) {
        self.clocks.played(self.turn.since.elapsed());
        self.turn = Turn::new();
        self.played(written);
        self.tell_board();
    }

    /// Nobody moves at the own table any more.
    pub(super) fn table_is_drawn(&self) {
        if self.partner.kin && self.has_partner() {
            self.tell_partner("board drawn");
        }
    }

    /// Moves at once if it is the engine's turn.
    pub(super) fn hurry(&mut self) {
        self.turn.hurried |= self.kind.is_own();
        match self.kind {
            Kind::Play => self.move_now(),
            Kind::Sit => {
                self.break_off();
                self.think();
            }
            _ => {}
        }
    }

    /// Ends the search in progress, of which nothing comes; says whether it was for the engine's
    /// turn.
    pub(super) fn break_off(&mut self) -> bool {
        let own = self.kind.is_own();
        self.kind = Kind::None;
        self.thinker().stop();
        self.session.wait();
        if let Some(team) = &mut self.team {
            team.wait();
        }
        own
    }

    /// Thinks about the engine's turn anew after something has come from the other table, also if
    /// there was no move before.
    pub(super) fn go_on(&mut self, own: bool) {
        let position = self.session.position();
        let on_turn = self.side == Some(position.turn()) && !self.analyzing && !self.rests();
        if on_turn && position.outcome().is_none() {
            self.turn.anew += u32::from(own);
            self.think();
        }
    }

    /// Time has passed on the own clock.
    fn spend(&mut self) {
        self.clocks.spent(self.turn.since.elapsed());
        self.turn.since = Instant::now();
    }

    /// The limits and the beginning of a search for the engine's turn; of several in one turn the
    /// later ones have what is left of its time, and at least a half, a quarter .. of it.
    pub(super) fn limits_at_table(&mut self, overhead: Duration) -> (Limits, Instant) {
        self.spend();
        let mover = self.session.position().turn();
        let mut clocks = self.clocks.clone();
        if self.partner.fast || self.partner.dead {
            clocks.hurry(HURRY);
        }
        let mut limits = clocks.limits(mover, overhead);
        if self.turn.hurried {
            limits.time = Some(limits.time.map_or(AT_ONCE, |time| time.min(AT_ONCE)));
        }
        let clock = limits.clocks[mover].map(|clock: Clock| clock.budget(overhead, None).soft);
        let soft = limits.time.or(clock).unwrap_or_default();
        let least = soft / 2u32.saturating_pow(self.turn.anew.min(16));
        let used = self.turn.began.elapsed().min(soft.saturating_sub(least));
        let now = Instant::now();
        (limits, now.checked_sub(used).unwrap_or(now))
    }

    /// Sets up both tables for a search of the team, and adds to the limits what it may do: a move
    /// at the own table, or to sit. Says whether there is something to search.
    pub(super) fn set_up_team(&mut self, limits: &mut Limits) -> bool {
        let clocks = self.clocks_now();
        let (Some(board), Some(side)) = (&self.partner.board, self.side) else { return false };
        if !self.partner.kin {
            return false;
        }
        let (beside, drawn) = (board.now(), if board.drawn { " B=" } else { "" });
        // The own table is the first: its White is of the first team.
        let (name, letter) = if side == Side::WHITE { ("white", 'w') } else { ("black", 'b') };
        let own = self.session.position().fen();
        let fen = format!("{own}|{}|{letter}{drawn}", board.fen);
        let team = self.team.get_or_insert_with(|| self.session.beside());
        let named = team.options().team == name || team.set_option("Team", name).is_ok();
        if !named || team.set_position(Some(&fen), &[]).is_err() {
            return false;
        }
        let mut position = team.position().clone();
        if position.outcome().is_some() || !position.ask(side) {
            return false;
        }
        position.legal_moves(&mut limits.moves);
        let hurried = self.turn.hurried;
        limits.moves.retain(|m| match m.split() {
            (_, Move::Pass) => false,
            (table, _) => table == Table::A,
        });
        if limits.moves.is_empty() {
            return false;
        }
        // Who sits must be sure of having more time than the other; the search says if it is good.
        if let Some((white, black)) = clocks.zip(beside).map(|(own, _)| own) {
            let clock = |left: i64| Some(Clock { remaining: left, ..Clock::default() });
            let each = |(white, black): (i64, i64)| {
                PerSide::from_fn(|at| clock(if at == Side::WHITE { white } else { black }))
            };
            let increments = limits.clocks;
            limits.clocks = each((white, black));
            for at in Side::all(2) {
                if let (Some(clock), Some(known)) = (&mut limits.clocks[at], increments[at]) {
                    (clock.increment, clock.turns_to_go) = (known.increment, known.turns_to_go);
                }
            }
            limits.second = beside.map_or(PerSide::all(None), each);
            if limits.time.is_none() && !hurried {
                limits.moves.push(Move::Pass);
            }
        }
        true
    }

    /// Whether the engine is to sit though it has found a move: the partner asked for it, or nothing
    /// can save its own board. Never when the other may wait longer.
    pub(super) fn should_sit(&self) -> bool {
        let (asked, lost) = (self.partner.sit, self.partner.told.dead && !self.partner.dead);
        if self.turn.hurried || !self.has_partner() || self.partner.kin || asked.is_none() && !lost
        {
            return false;
        }
        let own = self.clocks_now().map(
            |(white, black)| {
                if self.side == Some(Side::WHITE) { white } else { black }
            },
        );
        match (self.lead(), own, asked) {
            (Some(lead), ..) => lead > LEAD,
            // Nobody told the other's clock: half of the own time is for the partner.
            (None, Some(own), Some(then)) => own > LEAD && own > then / 2,
            _ => false,
        }
    }

    /// Leaves the table to its clock until something happens, or for a while.
    pub(super) fn sit(&mut self) {
        if self.turn.hurried {
            return self.think();
        }
        self.spend();
        self.search(Kind::Sit, Limits { infinite: true, ..Limits::default() }, Instant::now());
    }

    /// Looks around after a while of sitting.
    pub(super) fn look_up(&mut self) {
        if self.kind == Kind::Sit && self.begun.elapsed() >= SITTING {
            self.break_off();
            if self.should_sit() {
                return self.sit();
            }
            // Sitting was no searcher.
            (self.turn.began, self.turn.anew) = (Instant::now(), 0);
            self.think();
        }
    }

    /// Tells a partner that is none of ours how the own board is.
    pub(super) fn tell_prospects(&mut self) {
        if !self.has_partner() || self.partner.kin || self.partner.name.is_none() {
            return;
        }
        let score = self.told.report().map(|report| report.score);
        let before = std::mem::take(&mut self.partner.told);
        let opponent = self.clocks.both().map(|(_, opponent)| opponent);
        // The opponent cannot wait for longer than the partner does.
        let outlasted = opponent.zip(self.partner.time).is_some_and(|(it, partner)| it < partner);
        let men = self.session.mating_men();
        let told = Told {
            dead: matches!(score, Some(Score::Lost(_))),
            wins: matches!(score, Some(Score::Won(_))) && outlasted,
            men: men.iter().map(|man| man.char()).collect(),
        };
        match (before.dead, told.dead) {
            (false, true) => self.tell_partner("dead"),
            (true, false) => self.tell_partner("x"),
            _ => {}
        }
        match (before.wins, told.wins) {
            (false, true) => self.tell_partner("sit"),
            (true, false) => self.tell_partner("go"),
            _ => {}
        }
        let new = men.iter().map(|man| man.char()).filter(|man| !before.men.contains(*man));
        new.for_each(|man| self.tell_partner(&format!("+{man}")));
        self.partner.told = told;
    }

    /// Of moves that are as good as the best, one that takes what the partner wants, or does not take
    /// what it fears.
    pub(super) fn choose_for_partner(&self, best: &SearchResult) -> Option<String> {
        let roles = |letters: &[char]| -> Vec<Role> {
            letters.iter().filter_map(|&letter| Role::from_char(letter)).collect()
        };
        let (wanted, feared) = (roles(&self.partner.wanted), roles(&self.partner.feared));
        let any = !wanted.is_empty() || !feared.is_empty();
        if any { self.session.taking(best, &wanted, &feared) } else { None }
    }
}

/// A man that has come to a hand, and whose that is.
type Came = (Color, char);

/// `[WHITE] [BLACK] BN`: the men in hand, and who has been given which.
fn holdings(text: &str) -> Option<(&str, &str, Option<Came>)> {
    let (white, rest) = text.trim().strip_prefix('[')?.split_once(']')?;
    let (black, rest) = rest.trim_start().strip_prefix('[')?.split_once(']')?;
    let mut came = rest.chars().filter(|letter| !letter.is_whitespace());
    let came = match (came.next(), came.next(), came.next()) {
        (None, ..) => None,
        (Some(color), Some(man), None) => match color.to_ascii_uppercase() {
            'W' => Some((Color::White, man)),
            'B' => Some((Color::Black, man)),
            _ => return None,
        },
        _ => return None,
    };
    Some((white, black, came))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holdings_are_read() {
        assert_eq!(holdings("[PPN] [] BN"), Some(("PPN", "", Some((Color::Black, 'N')))));
        assert_eq!(holdings("[] [Q]"), Some(("", "Q", None)));
        assert_eq!(holdings("[][] w q"), Some(("", "", Some((Color::White, 'q')))));
        for nonsense in ["", "[P]", "[P] [", "P [P]", "[] [] N", "[] [] BNN", "[] [] XN"] {
            assert_eq!(holdings(nonsense), None, "{nonsense}");
        }
    }
}
