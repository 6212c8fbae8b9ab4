//! Bughouse on one of two boards: pieces from the other board, messages to and from the partner, and sitting.
//!
//! Two Menagerie engines send each other their boards and clocks. By alpha-beta each of them searches its own board;
//! by Monte-Carlo tree search it searches both boards as one team.

use std::time::{Duration, Instant};

use super::partner::{HELLO, HELP, PartnerBoard, PartnerMessage, Prospects};
use super::search::SearchKind;
use super::{Mode, XBoard, legs};
use crate::engine::{Limits, Score, SearchResult, SeatClocks};
use crate::rules::{BoardId, Color, Move, PerSide, Role, Side};
use crate::search::Clock;

/// The time after which the engine checks whether it should continue to sit.
const SIT_INTERVAL: Duration = Duration::from_millis(500);
/// The minimum lead over the opponent on the other board with which the engine sits.
const MIN_SIT_LEAD_MILLISECONDS: i64 = 1000;
/// An engine whose game is lost sits until its clock has no more time than this (Fairy-Stockfish does the same).
const LOST_SIT_RESERVE_MILLISECONDS: i64 = 1000;
/// The time of a search if the engine must move at once.
const HURRIED_TURN_TIME: Duration = Duration::from_millis(200);
/// The engine's clock is divided by this if the partner asks for fast play.
const FAST_DIVISOR: u32 = 4;
/// The most restarts of a search that halve its minimum time.
const MAX_RESTARTS: u32 = 16;

/// The state of the engine's turn.
#[derive(Clone, Copy, Debug)]
pub(super) struct BughouseTurn {
    /// When it began, or when the engine stopped sitting.
    began: Instant,
    /// The number of times its search was restarted because of a change on the other board.
    restarts: u32,
    /// Whether the engine must move at once.
    hurried: bool,
    /// When the clocks were set last.
    pub(super) clocks_since: Instant,
}

impl BughouseTurn {
    pub(super) fn new() -> BughouseTurn {
        let now = Instant::now();
        BughouseTurn { began: now, restarts: 0, hurried: false, clocks_since: now }
    }
}

/// Returns White's clock for White, otherwise Black's.
fn clock_of(side: Side, (white, black): (i64, i64)) -> i64 {
    if side == Side::WHITE { white } else { black }
}

/// Returns White's and Black's clocks as limits.
fn clock_limits((white, black): (i64, i64)) -> PerSide<Option<Clock>> {
    PerSide::from_fn(|side| {
        Some(Clock { remaining: clock_of(side, (white, black)), ..Clock::default() })
    })
}

impl XBoard {
    /// Returns `true` if the variant is bughouse on one board.
    pub(super) fn is_bughouse_board(&self) -> bool {
        self.session.variant().is_bughouse_board()
    }

    /// Returns `true` if the partner is another Menagerie engine with which this one searches both boards.
    fn shares_boards(&self) -> bool {
        self.partner.is_menagerie && self.is_bughouse_board() && !self.session.asks_for_alpha_beta()
    }

    fn send_to_partner(&self, text: &str) {
        self.print(&format!("tellics ptell {text}"));
    }

    /// Sends a message to a human partner.
    fn send_to_human(&self, text: &str) {
        if !self.partner.is_engine {
            self.send_to_partner(text);
        }
    }

    /// `partner NAME`; without a name, there is no partner any more.
    pub(super) fn set_partner(&mut self, name: &str) {
        self.partner.set_name(name);
        if name.is_empty() {
            self.close_team_session();
        } else {
            self.send_to_partner(HELLO);
            self.send_board();
        }
    }

    /// Closes the session of the team, until it is set up again.
    pub(super) fn close_team_session(&mut self) {
        if self.team_session.is_some() {
            let was_own_turn = self.cancel_search();
            self.team_session = None;
            if was_own_turn {
                self.restart_search(was_own_turn);
            }
        }
    }

    /// Sends the engine's board with both clocks to another Menagerie engine, or the clocks to any other engine.
    pub(super) fn send_board(&self) {
        if !self.is_bughouse_board() {
            return;
        }
        let clocks = self.clocks_now();
        if self.partner.is_menagerie {
            let clocks = clocks.map_or("- -".to_owned(), |(white, black)| {
                format!("{} {}", white / 10, black / 10)
            });
            self.send_to_partner(&format!("board {} {clocks}", self.session.position().fen()));
        } else if self.partner.is_engine
            && let (Some(clocks), Some(side)) = (clocks, self.side())
        {
            self.send_to_partner(&format!("time {}", clock_of(side, clocks) / 10));
            self.send_to_partner(&format!("otim {}", clock_of(side.after(1, 2), clocks) / 10));
        }
    }

    /// Returns White's and Black's time now in milliseconds, if it is known.
    fn clocks_now(&self) -> Option<(i64, i64)> {
        let (mut own, mut opponent) = self.clocks.both()?;
        let mover = self.session.position().turn();
        let side = self.side().unwrap_or(mover);
        let elapsed = self.bughouse_turn.clocks_since.elapsed().as_millis() as i64;
        let running = if mover == side { &mut own } else { &mut opponent };
        *running = running.saturating_sub(elapsed);
        Some(if side == Side::WHITE { (own, opponent) } else { (opponent, own) })
    }

    /// Returns how much more time the engine has than the opponent of the same colour on the other board, in
    /// milliseconds. These two wait for each other if both sit.
    fn lead(&self) -> Option<i64> {
        let other = match self.partner_clocks() {
            Some(clocks) => clock_of(self.side()?, clocks),
            None => self.partner.opponent_time?,
        };
        Some(self.own_time()?.saturating_sub(other))
    }

    /// Returns the engine's time now in milliseconds, if it is known.
    fn own_time(&self) -> Option<i64> {
        Some(clock_of(self.side()?, self.clocks_now()?))
    }

    /// Returns White's and Black's time now on the partner's board in milliseconds, if it has sent them.
    fn partner_clocks(&self) -> Option<(i64, i64)> {
        self.partner.board.as_ref().and_then(PartnerBoard::clocks_now)
    }

    /// Returns the partner's time now in milliseconds, if it is known.
    fn partner_time(&self) -> Option<i64> {
        match self.partner_clocks() {
            // The partner has the other colour.
            Some(clocks) => Some(clock_of(self.side()?.after(1, 2), clocks)),
            None => self.partner.time,
        }
    }

    /// `holding [WHITE] [BLACK] BN`: the pockets, and the new piece. If there is a new piece, the pockets are
    /// ignored, as they may not contain the latest moves.
    pub(super) fn holding(&mut self, text: &str, line: &str) {
        if !self.is_bughouse_board() {
            return;
        }
        let Some((white, black, new_piece)) = parse_holding(text) else {
            return self.error("holding must be [WHITE] [BLACK] and a piece", line);
        };
        let was_own_turn = self.cancel_search();
        let result = match new_piece {
            Some((color, letter)) => self.session.add_to_pocket(color, letter),
            None => self.session.set_pockets(white, black),
        };
        match result {
            Ok(()) => self.excluded.clear(),
            Err(error) => self.error(&error.to_string(), line),
        }
        self.send_board();
        self.restart_search(was_own_turn);
    }

    /// `ptell TEXT`: handles a message of the partner.
    pub(super) fn on_partner_message(&mut self, text: &str) {
        if !self.is_bughouse_board() {
            return;
        }
        let Some(message) = PartnerMessage::parse(text) else { return };
        match message {
            PartnerMessage::Hello { is_menagerie } => {
                self.partner.is_engine = true;
                if is_menagerie && !std::mem::replace(&mut self.partner.is_menagerie, true) {
                    self.send_board();
                }
            }
            PartnerMessage::Board(board) => self.set_partner_board(board),
            PartnerMessage::Drawn => {
                if let Some(board) = &mut self.partner.board {
                    board.drawn = true;
                }
            }
            PartnerMessage::Help => self.send_to_partner(HELP),
            PartnerMessage::Sit => {
                let own = self.clocks.both().map_or(0, |(own, _)| own);
                self.partner.sit_requested_at = Some(own);
                self.send_to_human("sitting while the clock allows it; send 'go' to continue");
            }
            PartnerMessage::Go => {
                self.partner.sit_requested_at = None;
                self.hurry();
            }
            PartnerMessage::Move(None) => self.hurry(),
            PartnerMessage::Move(Some(turn)) => self.play_for_partner(turn),
            PartnerMessage::Fast(fast) => {
                self.partner.fast = fast;
                self.send_to_human(if fast { "playing fast" } else { "playing at normal speed" });
            }
            PartnerMessage::Dead(dead) => {
                self.partner.dead = dead;
                if !dead {
                    self.partner.sit_requested_at = None;
                }
            }
            PartnerMessage::Time(time) => self.partner.time = Some(time),
            PartnerMessage::OpponentTime(time) => self.partner.opponent_time = Some(time),
            PartnerMessage::Abort => self.print("tellics abort"),
            PartnerMessage::Flag => self.print("tellics flag"),
            PartnerMessage::Piece { letter, wanted } => self.partner.set_wanted(letter, wanted),
            PartnerMessage::Trades(_) => self.send_to_human("trades are up to the search"),
            PartnerMessage::Formula => self.send_to_human("no formula"),
        }
    }

    fn set_partner_board(&mut self, board: PartnerBoard) {
        self.partner.is_engine = true;
        self.partner.is_menagerie = true;
        let is_new_fen = self.partner.board.as_ref().is_none_or(|old| old.fen != board.fen);
        let is_first = self.partner.board.replace(board).is_none();
        if is_first {
            self.send_board();
        }
        if is_new_fen && self.shares_boards() && self.search_kind.is_own_turn() {
            let was_own_turn = self.cancel_search();
            self.restart_search(was_own_turn);
        }
    }

    /// Plays the turn that the partner asks for, if it is legal.
    fn play_for_partner(&mut self, turn: &str) {
        let was_own_turn = self.cancel_search();
        let is_to_move =
            self.side() == Some(self.session.position().turn()) && !self.position_refused;
        let text = legs::to_xboard(turn);
        if is_to_move && self.session.play(turn).is_ok() {
            self.after_bughouse_turn(&text);
        } else {
            self.send_to_human("sorry, that move is not possible");
            self.restart_search(was_own_turn);
        }
    }

    /// Prints the turn that the engine has just played, and continues.
    pub(super) fn after_bughouse_turn(&mut self, text: &str) {
        self.clocks.end_turn(self.bughouse_turn.clocks_since.elapsed());
        self.bughouse_turn = BughouseTurn::new();
        self.after_own_turn(text);
        self.send_board();
    }

    /// Informs another Menagerie engine that the game on the engine's board is drawn.
    pub(super) fn send_drawn(&self) {
        if self.partner.is_menagerie && self.is_bughouse_board() {
            self.send_to_partner("board drawn");
        }
    }

    /// Moves at once if it is the engine's turn.
    pub(super) fn hurry(&mut self) {
        self.bughouse_turn.hurried |= self.search_kind.is_own_turn();
        match self.search_kind {
            SearchKind::Play => self.move_now(),
            SearchKind::Sit => {
                self.cancel_search();
                self.search_turn();
            }
            _ => {}
        }
    }

    /// Ends the search in progress, whose result is ignored. Returns `true` if it was for the engine's turn.
    pub(super) fn cancel_search(&mut self) -> bool {
        let was_own_turn = self.search_kind.is_own_turn();
        self.search_kind = SearchKind::None;
        self.searching_session().stop();
        self.session.wait();
        if let Some(team_session) = &mut self.team_session {
            team_session.wait();
        }
        was_own_turn
    }

    /// Searches the engine's turn after a change on either board, even if there was no move before.
    pub(super) fn restart_search(&mut self, was_own_turn: bool) {
        let position = self.session.position();
        let is_to_move = self.mode == Mode::Play(position.turn()) && self.may_search();
        if is_to_move && position.outcome().is_none() {
            self.bughouse_turn.restarts += u32::from(was_own_turn);
            self.search_turn();
        }
    }

    /// Subtracts the elapsed time from the engine's clock.
    fn update_clock(&mut self) {
        self.clocks.spend(self.bughouse_turn.clocks_since.elapsed());
        self.bughouse_turn.clocks_since = Instant::now();
    }

    /// Returns the limits and the beginning of a search for the engine's turn. A search that was restarted
    /// has the rest of the turn's time, and at least a half, a quarter and so on of it.
    pub(super) fn bughouse_limits(&mut self, overhead: Duration) -> (Limits, Instant) {
        self.update_clock();
        let mover = self.session.position().turn();
        let mut clocks = self.clocks.clone();
        match self.partner_time() {
            // The partner sits, and loses when its time is up. The opponent spends about half of it.
            Some(time) if self.partner.dead => clocks.limit_remaining(time / 2),
            _ if self.partner.fast || self.partner.dead => clocks.hurry(FAST_DIVISOR),
            _ => {}
        }
        let mut limits = clocks.limits(mover, overhead);
        if self.bughouse_turn.hurried {
            limits.time =
                Some(limits.time.map_or(HURRIED_TURN_TIME, |time| time.min(HURRIED_TURN_TIME)));
        }
        let clock_time = limits.clocks[mover].map(|clock| clock.budget(overhead, None).soft);
        let time = limits.time.or(clock_time).unwrap_or_default();
        let restarts = self.bughouse_turn.restarts.min(MAX_RESTARTS);
        let minimum = time / 2u32.saturating_pow(restarts);
        let used = self.bughouse_turn.began.elapsed().min(time.saturating_sub(minimum));
        let now = Instant::now();
        (limits, now.checked_sub(used).unwrap_or(now))
    }

    /// Sets up both boards for a search of the team, and adds the moves to the limits: those on the engine's
    /// board, and sitting. Returns `true` if there is something to search.
    pub(super) fn set_up_team(&mut self, limits: &mut Limits) -> bool {
        let clocks = self.clocks_now();
        let (Some(board), Some(side)) = (&self.partner.board, self.side()) else { return false };
        if !self.shares_boards() {
            return false;
        }
        let partner_clocks = board.clocks_now();
        let drawn = if board.drawn { " B=" } else { "" };
        // The engine's board is the first. White's team is that of White on it.
        let (team, letter) = if side == Side::WHITE { ("white", 'w') } else { ("black", 'b') };
        let own_fen = self.session.position().fen();
        let fen = format!("{own_fen}|{}|{letter}{drawn}", board.fen);
        let session = self.team_session.get_or_insert_with(|| self.session.fork());
        let has_team = session.options().team == team || session.set_option("Team", team).is_ok();
        if !has_team || session.set_position(Some(&fen), &[]).is_err() {
            return false;
        }
        let mut position = session.position().clone();
        if position.outcome().is_some() || !position.set_side_to_move(side) {
            return false;
        }
        position.legal_moves(&mut limits.moves);
        limits.moves.retain(|&m| m != Move::Pass && m.board() == BoardId::A);
        if limits.moves.is_empty() {
            return false;
        }
        // The engine may sit only if all clocks are known; the search decides whether it is good.
        if let (Some(clocks), Some(partner_clocks)) = (clocks, partner_clocks) {
            let known = std::mem::replace(&mut limits.clocks, clock_limits(clocks));
            for side in Side::all(2) {
                if let (Some(clock), Some(known)) = (&mut limits.clocks[side], known[side]) {
                    clock.increment = known.increment;
                    clock.turns_to_go = known.turns_to_go;
                }
            }
            session.set_seat_clocks(SeatClocks([limits.clocks, clock_limits(partner_clocks)]));
            if limits.time.is_none() && !self.bughouse_turn.hurried {
                limits.moves.push(Move::Pass);
            }
        }
        true
    }

    /// Returns `true` if the engine should sit though it has found a move: its game is lost, or the partner asked for
    /// it and the opponent cannot wait longer. Never if there is nothing to wait for.
    pub(super) fn should_sit(&self) -> bool {
        let requested_at = self.partner.sit_requested_at;
        let is_lost = self.partner.sent.dead && !self.partner.dead;
        let is_other_drawn = self.partner.board.as_ref().is_some_and(|board| board.drawn);
        if self.bughouse_turn.hurried
            || !self.is_bughouse_board()
            || self.shares_boards()
            || is_other_drawn
            || requested_at.is_none() && !is_lost
            // Two partners that both win must not wait for each other.
            || matches!(self.last_score(), Some(Score::Won(_)))
        {
            return false;
        }
        let own = self.own_time();
        // Its moves change nothing, only a piece or the other board does.
        if is_lost && own.is_some_and(|own| own > LOST_SIT_RESERVE_MILLISECONDS) {
            return true;
        }
        if let Some(lead) = self.lead() {
            return lead > MIN_SIT_LEAD_MILLISECONDS;
        }
        // The other clock is not known: half of the engine's time is for the partner.
        match (own, requested_at) {
            (Some(own), Some(at_request)) => {
                own > MIN_SIT_LEAD_MILLISECONDS && own > at_request / 2
            }
            _ => false,
        }
    }

    /// Sits until something changes, or for [`SIT_INTERVAL`].
    pub(super) fn sit(&mut self) {
        if self.bughouse_turn.hurried {
            return self.search_turn();
        }
        self.update_clock();
        let limits = Limits { infinite: true, ..Limits::default() };
        self.start_search(SearchKind::Sit, limits, Instant::now());
    }

    /// Checks after [`SIT_INTERVAL`] whether to continue to sit.
    pub(super) fn check_sitting(&mut self) {
        if self.search_kind == SearchKind::Sit && self.search_begun.elapsed() >= SIT_INTERVAL {
            self.cancel_search();
            if self.should_sit() {
                return self.sit();
            }
            // The time of sitting does not count for the turn.
            self.bughouse_turn.began = Instant::now();
            self.bughouse_turn.restarts = 0;
            self.search_turn();
        }
    }

    /// Returns the score of the last search of the engine's turn.
    fn last_score(&self) -> Option<Score> {
        self.search_output.info().map(|info| info.score)
    }

    /// Sends what has changed of the engine's prospects to a partner with which it does not share its board.
    pub(super) fn send_prospects(&mut self) {
        if !self.is_bughouse_board() || self.shares_boards() || self.partner.name.is_none() {
            return;
        }
        let score = self.last_score();
        let opponent_time = self.clocks.both().map(|(_, opponent)| opponent);
        // The opponent cannot wait for longer than the partner.
        let partner_can_wait = match (opponent_time, self.partner_time()) {
            (Some(opponent), Some(partner)) => opponent < partner,
            _ => false,
        };
        let pieces = self.session.mating_drops();
        let prospects = Prospects {
            dead: matches!(score, Some(Score::Lost(_))),
            wins: matches!(score, Some(Score::Won(_))) && partner_can_wait,
            mating_pieces: pieces.iter().map(|role| role.char()).collect(),
        };
        let sent = std::mem::take(&mut self.partner.sent);
        if prospects.dead != sent.dead {
            self.send_to_partner(if prospects.dead { "dead" } else { "x" });
        }
        if prospects.wins != sent.wins {
            self.send_to_partner(if prospects.wins { "sit" } else { "go" });
        }
        for piece in prospects.mating_pieces.chars() {
            if !sent.mating_pieces.contains(piece) {
                self.send_to_partner(&format!("+{piece}"));
            }
        }
        self.partner.sent = prospects;
    }

    /// Returns a turn that is as good as the best and captures what the partner wants, or does not capture
    /// what it fears; `None` if the best turn will do.
    pub(super) fn preferred_turn(&self, result: &SearchResult) -> Option<String> {
        let wanted = roles(&self.partner.wanted);
        let feared = roles(&self.partner.feared);
        if wanted.is_empty() && feared.is_empty() {
            return None;
        }
        self.session.preferred_turn(result, &wanted, &feared)
    }
}

fn roles(letters: &[char]) -> Vec<Role> {
    letters.iter().filter_map(|&letter| Role::from_char(letter)).collect()
}

/// A piece that is new in a pocket, and its colour.
type NewPiece = (Color, char);

/// Parses `[WHITE] [BLACK] BN`: the pockets, and the new piece if there is one.
fn parse_holding(text: &str) -> Option<(&str, &str, Option<NewPiece>)> {
    let (white, rest) = text.trim().strip_prefix('[')?.split_once(']')?;
    let (black, rest) = rest.trim_start().strip_prefix('[')?.split_once(']')?;
    let mut letters = rest.chars().filter(|letter| !letter.is_whitespace());
    let new_piece = match (letters.next(), letters.next(), letters.next()) {
        (None, ..) => None,
        (Some(color), Some(piece), None) => match color.to_ascii_uppercase() {
            'W' => Some((Color::White, piece)),
            'B' => Some((Color::Black, piece)),
            _ => return None,
        },
        _ => return None,
    };
    Some((white, black, new_piece))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holdings_are_parsed() {
        assert_eq!(parse_holding("[PPN] [] BN"), Some(("PPN", "", Some((Color::Black, 'N')))));
        assert_eq!(parse_holding("[] [Q]"), Some(("", "Q", None)));
        assert_eq!(parse_holding("[][] w q"), Some(("", "", Some((Color::White, 'q')))));
        for nonsense in ["", "[P]", "[P] [", "P [P]", "[] [] N", "[] [] BNN", "[] [] XN"] {
            assert_eq!(parse_holding(nonsense), None, "{nonsense}");
        }
    }
}
