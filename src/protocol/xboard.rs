//! The protocol of XBoard and WinBoard, version 2, also called CECP.

mod bughouse;
mod clock;
mod features;
mod games;
pub mod legs;
mod lift_put;
mod partner;
mod report;
mod search;

use std::sync::Arc;
use std::time::Instant;

use bughouse::Turn;
use clock::Clocks;
use lift_put::LiftPut;
use partner::Partner;
use search::{Kind, Told};

use super::handler::{Ended, Next, ProtocolHandler};
use super::line::Line;
use super::output::{Output, one_line};
use super::setting;
use super::variant_info;
use crate::engine::{Score, Session};
use crate::rules::{Move, Outcome, Reason, Side, Square};

/// What ends a search for the engine's own turn without a turn.
const ABORTING: [&str; 11] = [
    "analyze", "exit", "force", "new", "pause", "quit", "remove", "result", "setboard", "undo",
    "variant",
];

/// What is obeyed in the middle of any search.
const AT_ONCE: [&str; 22] = [
    "?", ".", "accepted", "bk", "black", "computer", "draw", "hard", "hint", "hover", "ics",
    "lift", "name", "nopost", "post", "put", "quit", "random", "rating", "rejected", "white",
    "xboard",
];

/// What sets up another position, so that the rest of a turn is awaited no more.
const ELSEWHERE: [&str; 5] = ["new", "remove", "setboard", "undo", "variant"];

/// What comes from the other table in bughouse, or tells how late it is there; it is obeyed in the
/// middle of a search, which may begin anew.
const FROM_BESIDE: [&str; 5] = ["holding", "otim", "partner", "ptell", "time"];

/// What else is obeyed in the middle of a search that is not for the engine's turn.
const IN_OTHERS_TIME: [&str; 3] = ["ping", "time", "otim"];

/// A conversation in the protocol of XBoard.
pub(super) struct XBoard {
    session: Session,
    output: Arc<Output>,
    /// To be called with the number of a search when it has ended.
    ended: Ended,
    /// How many searches have begun.
    searches: u64,
    /// What the search in progress is for.
    kind: Kind,
    /// What searches have told.
    told: Arc<Told>,
    /// The side that the engine plays; none in force mode.
    side: Option<Side>,
    clocks: Clocks,
    /// When the search in progress began.
    begun: Instant,
    analyzing: bool,
    ponders: bool,
    posts: bool,
    paused: bool,
    /// A new game has not had a turn of the engine yet: no thoughts on the opponent's first.
    fresh: bool,
    /// First plies that an analysis leaves out.
    excluded: Vec<Move>,
    /// The position that the user sees could not be set up: nothing is played until another one is.
    refused: bool,
    /// The first legs of a turn whose rest comes in another line.
    begun_turn: Option<String>,
    picked: LiftPut,
    /// The partner at the other table of bughouse.
    partner: Partner,
    /// The game at both tables, if the partner is another engine of ours.
    team: Option<Session>,
    /// Whether the search in progress is of both tables.
    teamed: bool,
    /// The engine's turn in bughouse.
    turn: Turn,
}

impl XBoard {
    pub(super) fn new(session: Session, output: Arc<Output>, ended: Ended) -> XBoard {
        XBoard {
            session,
            output,
            ended,
            searches: 0,
            kind: Kind::None,
            told: Arc::default(),
            side: Some(Side::BLACK),
            clocks: Clocks::new(),
            begun: Instant::now(),
            analyzing: false,
            ponders: false,
            posts: false,
            paused: false,
            fresh: true,
            excluded: Vec::new(),
            refused: false,
            begun_turn: None,
            picked: LiftPut::default(),
            partner: Partner::default(),
            team: None,
            teamed: false,
            turn: Turn::new(),
        }
    }

    /// Whether nothing is to be thought about now, whoever is on turn.
    fn rests(&self) -> bool {
        self.paused || self.refused
    }

    /// The session whose search is in progress.
    fn thinker(&self) -> &Session {
        self.team.as_ref().filter(|_| self.teamed).unwrap_or(&self.session)
    }

    fn say(&self, text: &str) {
        self.output.say(&one_line(text));
    }

    fn note(&self, text: &str) {
        self.say(&format!("# {text}"));
    }

    fn error(&self, reason: &str, line: &str) {
        // Some read the reason up to the first bracket.
        let reason = reason.replace(['(', ')'], "\"");
        self.say(&format!("Error ({reason}): {line}"));
    }

    fn new_game(&mut self) {
        self.session.new_game();
        self.choose("normal");
        // An analysis goes on, of the new game.
        self.side = (!self.analyzing).then_some(Side::BLACK);
        (self.fresh, self.paused) = (true, false);
        self.clocks.reset();
        self.told.forget();
        self.partner.new_game();
        self.turn = Turn::new();
        if let Some(team) = &mut self.team {
            team.new_game();
        }
    }

    /// Begins a game by XBoard's name for it; says whether there is one.
    fn choose(&mut self, name: &str) -> bool {
        let Some((name, chess960)) = variant_info::find(self.session.catalogue(), name) else {
            return false;
        };
        let chess960 = if chess960 { "true" } else { "false" };
        let set = [("UCI_Variant", name), ("UCI_Chess960", chess960)].into_iter().all(
            |(option, value)| setting::set(&mut self.session, &self.output, option, value).is_ok(),
        );
        self.excluded.clear();
        self.refused = false;
        set && self.session.set_position(None, &[]).is_ok()
    }

    fn variant(&mut self, name: &str, line: &str) {
        if !self.choose(name) {
            return self.error("no such variant", line);
        }
        self.tell_board();
        let lines = games::description(self.session.variant());
        if !lines.is_empty() {
            self.output.say(&lines.join("\n"));
        }
    }

    fn set_board(&mut self, fen: &str) {
        let set = self.session.set_position(Some(fen), &[]);
        self.refused = set.is_err();
        match set {
            Ok(repairs) => {
                repairs.iter().for_each(|repair| self.note(&repair.to_string()));
                self.clocks.set_up();
                self.excluded.clear();
                self.tell_board();
            }
            Err(error) => self.say(&format!("tellusererror Illegal position: {error}")),
        }
    }

    /// Plays a turn of the opponent, or of anybody in force mode.
    fn user_move(&mut self, text: &str) {
        if self.refused {
            return self.say(&format!("Illegal move (the position was refused): {text}"));
        }
        if self.kind == Kind::Sit {
            self.break_off();
        }
        let whole = match self.begun_turn.take() {
            Some(first) => format!("{first},{text}"),
            None => text.to_owned(),
        };
        // Clicks on the board and some engines write what a pawn becomes as a capital.
        let small = if whole.contains(['@', 'O']) { whole.clone() } else { whole.to_lowercase() };
        let begins = |turn: &String| legs::written(turn).starts_with(&small);
        let played = match small.strip_suffix(',') {
            Some(first) if self.session.turns().iter().any(begins) => {
                self.begun_turn = Some(first.to_owned());
                return;
            }
            Some(_) => false,
            None => {
                let ways = [&whole, &small, &legs::read(&small)];
                ways.into_iter().any(|way| self.session.play(way).is_ok())
            }
        };
        if !played {
            let reason = self.session.position().outcome().map(|outcome| outcome.reason);
            let reason = reason.map_or(String::new(), |reason| {
                format!(" (the game is over by {})", reason_text(reason))
            });
            return self.say(&format!("Illegal move{reason}: {whole}"));
        }
        self.clocks.turned();
        self.excluded.clear();
        self.turn = Turn::new();
        self.tell_board();
        let mover = self.session.position().turn();
        if self.analyzing || self.side.is_none() {
            return;
        }
        let over = self.claim();
        if self.side == Some(mover) && !over && !self.rests() {
            self.think();
        }
    }

    /// States the result if the rules say that the game is over, and returns whether they do. A
    /// draw that is only to be claimed is offered: whoever watches grants it if it is one to them,
    /// while a result that they do not see would lose the game.
    fn claim(&self) -> bool {
        let position = self.session.position();
        let outcome = position.outcome();
        match outcome {
            // A man may come from the other table.
            Some(Outcome { reason: Reason::Stalemate, .. }) if self.has_partner() => {}
            Some(outcome) => self.say(&result_text(outcome)),
            None if position.claim().is_some() => self.say("offer draw"),
            None => {}
        }
        outcome.is_some()
    }

    fn go(&mut self) {
        let mover = self.session.position().turn();
        (self.side, self.analyzing) = (Some(mover), false);
        self.turn = Turn::new();
        if self.refused {
            return self.error("the position was refused", "go");
        }
        if !self.claim() && !self.rests() {
            self.think();
        }
    }

    /// The engine plays the side that is not to move.
    fn play_other(&mut self) {
        let mover = self.session.position().turn();
        let sides = self.session.position().game_spec().sides;
        self.side = Side::all(sides).find(|&side| side != mover);
        self.analyzing = false;
    }

    fn take_back(&mut self, turns: usize, line: &str) {
        if !self.session.take_back(turns) {
            return self.error("there are not so many turns to take back", line);
        }
        self.clocks.taken_back(turns);
        self.excluded.clear();
    }

    fn set(&mut self, name: &str, value: &str, line: &str) {
        // Who sits is still on turn.
        let own = self.kind == Kind::Sit && self.break_off();
        match setting::set(&mut self.session, &self.output, name, value) {
            Ok(notes) => notes.iter().for_each(|note| self.note(note)),
            Err(error) => self.error(&error, line),
        }
        // The game at both tables follows when it is set up again.
        self.part();
        // Other files, other games to choose from.
        if name == "VariantPath" {
            self.output.say(&features::variants(self.session.catalogue()));
        }
        if own {
            self.go_on(own);
        }
    }

    fn option(&mut self, text: &str, line: &str) {
        let declarations = self.session.declarations();
        match features::assignment(&declarations, text) {
            Some((name, value)) => self.set(name, &value, line),
            None => self.error("no such option", line),
        }
    }

    fn ping(&mut self, rest: &str) {
        if !self.thinker().is_thinking() {
            let notes = self.session.ready();
            notes.iter().for_each(|note| self.note(note));
        }
        self.say(format!("pong {rest}").trim_end());
    }

    /// Takes a draw that is offered where it is to be had anyway, or better than what is
    /// expected.
    fn draw(&self) {
        let expected = self.told.report().map(|report| report.score);
        let worse = match expected {
            Some(Score::Lost(_)) => true,
            Some(Score::Expected(score)) => score < -0.1,
            _ => false,
        };
        if worse || self.session.position().claim().is_some() {
            self.say("offer draw");
        }
    }

    fn stat(&self) {
        if self.kind == Kind::Analyze
            && let Some(report) = self.told.report()
        {
            let mut legal = Vec::new();
            self.session.position().legal_moves(&mut legal);
            self.say(&report::stat(&report, legal.len() - self.excluded.len().min(legal.len())));
        }
    }

    /// `exclude` or `include` a turn of an analysis, or `all`.
    fn exclude(&mut self, exclude: bool, text: &str, line: &str) {
        let mut legal = Vec::new();
        self.session.position().legal_moves(&mut legal);
        let plies = if text == "all" { legal } else { self.session.first_plies(&[text]).0 };
        if plies.is_empty() {
            return self.error("no legal move", line);
        }
        self.excluded.retain(|ply| !plies.contains(ply));
        if exclude {
            self.excluded.extend(plies);
        }
    }

    /// `lift`, `hover` and `put`: the user's fingers on a square.
    fn touch(&mut self, how: &str, square: &str, line: &str) {
        // Some mark a square with a comma if the user holds a key down.
        let (square, position) = (square.trim_end_matches(','), self.session.position());
        if let Some((color, role)) = lift_put::in_hand(&position.game_spec(), square) {
            if how == "lift" {
                self.say(&lift_put::lift_from_hand(position, color, role));
            }
            return;
        }
        let Ok(square) = square.parse::<Square>() else {
            return self.error("no such square", line);
        };
        let answer = match how {
            "lift" => Some(self.picked.lift(position, square)),
            "hover" => self.picked.hover(position, square),
            _ => self.picked.put(position, square),
        };
        answer.iter().for_each(|answer| self.say(answer));
    }

    fn resume(&mut self) {
        let mover = self.session.position().turn();
        let paused = std::mem::take(&mut self.paused);
        if paused && !self.rests() && self.side == Some(mover) && !self.claim() {
            self.think();
        }
    }

    fn bare(&mut self, word: &str, line: &str) {
        if is_move(word) {
            self.user_move(word);
        } else {
            self.say(&format!("Error (unknown command): {line}"));
        }
    }

    /// A command and what follows it; `line` is all of it.
    fn command(&mut self, first: &str, rest: &str, line: &str) -> Next {
        let words: Vec<&str> = rest.split_whitespace().collect();
        let timed = match first {
            "level" => self.clocks.level(&words),
            "st" => self.clocks.turn(&words),
            "sd" => self.clocks.depth(&words),
            "nps" => self.clocks.rate(&words),
            "time" => self.clocks.left(true, &words),
            "otim" => self.clocks.left(false, &words),
            _ => Ok(()),
        };
        if matches!(first, "level" | "time" | "otim") {
            self.turn.since = Instant::now();
        }
        if let Err(reason) = timed {
            self.error(reason, line);
        }
        if ELSEWHERE.contains(&first) {
            self.begun_turn = None;
        }
        match first {
            "level" | "st" | "sd" | "nps" | "time" | "otim" => {}
            "xboard" | "accepted" | "rejected" | "random" | "white" | "black" | "computer"
            | "name" | "rating" | "ics" => {}
            "protover" => {
                let declarations = self.session.declarations();
                self.output.say(&features::lines(self.session.catalogue(), &declarations));
            }
            "quit" => return Next::Quit,
            "new" => self.new_game(),
            "variant" => self.variant(rest, line),
            "force" | "result" => {
                (self.side, self.analyzing) = (None, false);
                if first == "result" && rest.starts_with("1/2-1/2") {
                    self.table_is_drawn();
                }
            }
            "partner" => self.meet(rest),
            "ptell" => self.hear_partner(rest),
            "holding" => self.holding(rest, line),
            "go" => self.go(),
            "playother" => self.play_other(),
            "usermove" if rest.is_empty() => self.error("usermove takes a move", line),
            "usermove" => self.user_move(rest),
            "?" => self.hurry(),
            "ping" => self.ping(rest),
            "draw" => self.draw(),
            "setboard" => self.set_board(rest),
            "undo" => self.take_back(1, line),
            "remove" => self.take_back(2, line),
            "hard" => self.ponders = true,
            "easy" => self.ponders = false,
            "post" => self.post(true),
            "nopost" => self.post(false),
            "analyze" => (self.side, self.analyzing) = (None, true),
            "exit" => self.analyzing = false,
            "." => self.stat(),
            "hint" => self.hint(),
            // What follows is for people, up to an empty line.
            "bk" => self.output.say(" There is no book of openings.\n "),
            "memory" => self.set("Hash", rest, line),
            "cores" => self.set("Threads", rest, line),
            "egtpath" => match rest.split_once(' ') {
                Some(("syzygy", path)) => self.set("SyzygyPath", path.trim(), line),
                _ => self.error("no such tables of endings", line),
            },
            "option" => self.option(rest, line),
            "exclude" => self.exclude(true, rest, line),
            "include" => self.exclude(false, rest, line),
            "lift" | "hover" | "put" => self.touch(first, rest, line),
            "pause" => self.paused = true,
            "resume" => self.resume(),
            "setscore" => self.error("scores cannot be set", line),
            _ => self.bare(first, line),
        }
        Next::Line
    }
}

impl ProtocolHandler for XBoard {
    fn session(&mut self) -> &mut Session {
        self.team.as_mut().filter(|_| self.teamed).unwrap_or(&mut self.session)
    }

    fn searches(&self) -> u64 {
        self.searches
    }

    fn on_line(&mut self, line: &Line) {
        let first = line.words().first().copied();
        let aborts = match self.kind {
            Kind::Play | Kind::Sit => first.is_some_and(|first| ABORTING.contains(&first)),
            Kind::Hint => self.blocks_on_search(line),
            _ => false,
        };
        if first == Some("?") && self.kind == Kind::Play {
            self.hurry();
        } else if aborts {
            self.abort();
        }
    }

    fn blocks_on_search(&self, line: &Line) -> bool {
        match line.words().first() {
            None => false,
            // Who sits has nothing to do that could be waited for.
            Some(_) if self.kind == Kind::Sit => false,
            Some(first) if FROM_BESIDE.contains(first) && self.has_partner() => false,
            Some(first) if IN_OTHERS_TIME.contains(first) => self.kind == Kind::Play,
            Some(first) => !AT_ONCE.contains(first),
        }
    }

    fn handle(&mut self, line: &Line) -> Next {
        let Line::Text(text) = line else {
            self.error("longer than any command", "a line that is not kept");
            return Next::Line;
        };
        self.output.on_line(text);
        let text = text.trim();
        let (first, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        if first.is_empty() {
            return Next::Line;
        }
        let next = self.command(first, rest.trim(), text);
        self.think_on();
        next
    }

    fn tick(&mut self) {
        self.look_up();
    }

    fn finish(&mut self) {
        self.session().wait();
        self.conclude();
    }
}

/// Whether a word is meant as a move, be it legal or not.
fn is_move(word: &str) -> bool {
    let square = |at: usize| {
        let bytes = word.as_bytes().get(at..at + 2);
        bytes.is_some_and(|b| b[0].is_ascii_lowercase() && b[1].is_ascii_digit())
    };
    let castling = ["O-O", "o-o", "0-0"].iter().any(|castling| word.starts_with(castling));
    square(0) && square(2) || word.as_bytes().get(1) == Some(&b'@') && square(2) || castling
}

fn reason_text(reason: Reason) -> &'static str {
    match reason {
        Reason::Checkmate => "checkmate",
        Reason::Stalemate => "stalemate",
        Reason::Repetition => "repetition",
        Reason::FiftyMoves => "the 50 moves rule",
        Reason::InsufficientMaterial => "insufficient material",
        Reason::Variant => "the rule of the variant",
    }
}

/// The end of a game as XBoard has it.
fn result_text(outcome: Outcome) -> String {
    let (result, who) = match outcome.winner {
        None => ("1/2-1/2", "Draw"),
        Some(Side::WHITE) => ("1-0", "White wins"),
        Some(_) => ("0-1", "Black wins"),
    };
    format!("{result} {{{who} by {}}}", reason_text(outcome.reason))
}
