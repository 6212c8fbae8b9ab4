//! The protocol of XBoard and WinBoard, version 2, also called CECP.

mod bughouse;
mod clock;
mod features;
mod info;
pub mod legs;
mod lift_put;
mod partner;
mod search;

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;

use bughouse::BughouseTurn;
use clock::EngineClocks;
use lift_put::LiftPut;
use partner::Partner;
use search::{SearchKind, SearchOutput};

use super::lines::{InputLine, LineWriter, one_line};
use super::variant_info;
use super::{OnSearchEnd, ProtocolHandler, set_option};
use crate::engine::{Score, Session};
use crate::rules::{Move, Outcome, Reason, Side, Square};

/// Commands that end a search for the engine's turn without a move.
const ABORTING_COMMANDS: [&str; 11] = [
    "analyze", "exit", "force", "new", "pause", "quit", "remove", "result", "setboard", "undo",
    "variant",
];

/// Commands that are handled during any search.
const IMMEDIATE_COMMANDS: [&str; 22] = [
    "?", ".", "accepted", "bk", "black", "computer", "draw", "hard", "hint", "hover", "ics",
    "lift", "name", "nopost", "post", "put", "quit", "random", "rating", "rejected", "white",
    "xboard",
];

/// Commands that set up another position, so that a partial turn is dropped.
const POSITION_COMMANDS: [&str; 5] = ["new", "remove", "setboard", "undo", "variant"];

/// Commands with changes on the other board of bughouse or with its clocks. They are handled during a search, which
/// may be restarted.
const BUGHOUSE_COMMANDS: [&str; 5] = ["holding", "otim", "partner", "ptell", "time"];

/// Commands that are also handled during a search that is not for the engine's turn.
const BACKGROUND_COMMANDS: [&str; 3] = ["ping", "time", "otim"];

/// The expected score below which the engine accepts a draw.
const DRAW_SCORE: f32 = -0.1;

/// What the engine does with the position.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mode {
    /// It plays neither side.
    Force,
    /// It plays a side.
    Play(Side),
    /// It analyses the position.
    Analyze,
}

/// The state of the XBoard protocol.
pub(super) struct XBoard {
    session: Session,
    output: Arc<LineWriter>,
    on_search_end: OnSearchEnd,
    /// The number of searches that were started.
    searches: u64,
    /// The purpose of the search in progress.
    search_kind: SearchKind,
    /// When the search in progress began.
    search_begun: Instant,
    search_output: Arc<SearchOutput>,
    mode: Mode,
    clocks: EngineClocks,
    /// Whether the engine searches in the opponent's time.
    ponders: bool,
    /// Whether reports are printed while the engine plays.
    posts: bool,
    paused: bool,
    /// Whether the engine has not moved in this game yet. It does not ponder before its first move.
    is_new_game: bool,
    /// First plies that an analysis leaves out.
    excluded: Vec<Move>,
    /// Whether the last position was refused. Nothing is played until one is accepted.
    position_refused: bool,
    /// The first legs of a turn whose other legs come in further lines.
    partial_turn: Option<String>,
    lift_put: LiftPut,
    /// The partner on the other board of bughouse.
    partner: Partner,
    /// The game on both boards, if the partner is another Menagerie engine.
    team_session: Option<Session>,
    /// Whether the search in progress is of both boards.
    searches_team: bool,
    /// The engine's turn in bughouse.
    bughouse_turn: BughouseTurn,
}

impl XBoard {
    pub(super) fn new(
        session: Session,
        output: Arc<LineWriter>,
        on_search_end: OnSearchEnd,
    ) -> XBoard {
        XBoard {
            session,
            output,
            on_search_end,
            searches: 0,
            search_kind: SearchKind::None,
            search_begun: Instant::now(),
            search_output: Arc::default(),
            mode: Mode::Play(Side::BLACK),
            clocks: EngineClocks::new(),
            ponders: false,
            posts: false,
            paused: false,
            is_new_game: true,
            excluded: Vec::new(),
            position_refused: false,
            partial_turn: None,
            lift_put: LiftPut::default(),
            partner: Partner::default(),
            team_session: None,
            searches_team: false,
            bughouse_turn: BughouseTurn::new(),
        }
    }

    /// Returns the side that the engine plays; `None` in other modes.
    fn side(&self) -> Option<Side> {
        match self.mode {
            Mode::Play(side) => Some(side),
            Mode::Force | Mode::Analyze => None,
        }
    }

    /// Returns `true` if the engine may search: it is not paused, and there is a position.
    fn may_search(&self) -> bool {
        !self.paused && !self.position_refused
    }

    fn print(&self, text: &str) {
        self.output.print(&one_line(text));
    }

    fn notes<T: ToString>(&self, notes: &[T]) {
        for note in notes {
            self.print(&format!("# {}", note.to_string()));
        }
    }

    fn error(&self, reason: &str, line: &str) {
        // Some GUIs read the reason up to the first parenthesis.
        let reason = reason.replace(['(', ')'], "\"");
        self.print(&format!("Error ({reason}): {line}"));
    }

    fn new_game(&mut self) {
        self.session.new_game();
        self.set_variant("normal");
        // An analysis continues with the new game.
        if self.mode != Mode::Analyze {
            self.mode = Mode::Play(Side::BLACK);
        }
        self.is_new_game = true;
        self.paused = false;
        self.clocks.reset();
        self.search_output.clear();
        self.partner.new_game();
        self.bughouse_turn = BughouseTurn::new();
        if let Some(team_session) = &mut self.team_session {
            team_session.new_game();
        }
    }

    /// Starts a game of the variant that XBoard calls `name`. Returns `false` if there is none.
    fn set_variant(&mut self, name: &str) -> bool {
        let found = variant_info::find_xboard_name(self.session.catalogue(), name);
        let Some((name, chess960)) = found else { return false };
        let options =
            [("UCI_Variant", name), ("UCI_Chess960", if chess960 { "true" } else { "false" })];
        let is_set = options.into_iter().all(|(option, value)| {
            set_option(&mut self.session, &self.output, option, value).is_ok()
        });
        self.excluded.clear();
        self.position_refused = false;
        is_set && self.session.set_position(None, &[]).is_ok()
    }

    fn variant(&mut self, name: &str, line: &str) {
        if !self.set_variant(name) {
            return self.error("unknown variant", line);
        }
        self.send_board();
        let lines = variant_info::xboard_lines(self.session.variant());
        if !lines.is_empty() {
            self.output.print(&lines.join("\n"));
        }
    }

    fn set_board(&mut self, fen: &str) {
        let result = self.session.set_position(Some(fen), &[]);
        self.position_refused = result.is_err();
        match result {
            Ok(repairs) => {
                self.notes(&repairs);
                self.clocks.restart_count();
                self.excluded.clear();
                // An offer of a draw is not answered by the score of another position.
                self.search_output.clear();
                self.send_board();
            }
            Err(error) => self.print(&format!("tellusererror Illegal position: {error}")),
        }
    }

    /// Plays a turn of the opponent, or of either side in force mode.
    fn user_move(&mut self, text: &str) {
        if self.position_refused {
            return self.print(&format!("Illegal move (the position was refused): {text}"));
        }
        if self.search_kind == SearchKind::Sit {
            self.cancel_search();
        }
        let turn = match self.partial_turn.take() {
            Some(first) => format!("{first},{text}"),
            None => text.to_owned(),
        };
        // Clicks on the board and some engines write promotions in upper case.
        let lower_case = if turn.contains(['@', 'O']) { turn.clone() } else { turn.to_lowercase() };
        let is_legal = match lower_case.strip_suffix(',') {
            Some(first) if self.begins_legal_turn(&lower_case) => {
                self.partial_turn = Some(first.to_owned());
                return;
            }
            Some(_) => false,
            None => {
                let notations = [&turn, &lower_case, &legs::from_xboard(&lower_case)];
                notations.into_iter().any(|notation| self.session.play(notation).is_ok())
            }
        };
        if !is_legal {
            let reason = match self.session.position().outcome() {
                Some(outcome) => format!(" (the game is over by {})", reason_text(outcome.reason)),
                None => String::new(),
            };
            return self.print(&format!("Illegal move{reason}: {turn}"));
        }
        self.clocks.count_turn();
        self.excluded.clear();
        self.bughouse_turn = BughouseTurn::new();
        self.send_board();
        let mover = self.session.position().turn();
        let Mode::Play(side) = self.mode else { return };
        let is_over = self.claim_result();
        if side == mover && !is_over && self.may_search() {
            self.search_turn();
        }
    }

    fn begins_legal_turn(&self, legs: &str) -> bool {
        self.session.legal_turns().iter().any(|turn| legs::to_xboard(turn).starts_with(legs))
    }

    /// Prints the result if the game is over by the rules, and returns `true` if it is. A draw that must be
    /// claimed is offered: the GUI accepts it if it agrees, while a wrong result would lose the game.
    fn claim_result(&self) -> bool {
        let position = self.session.position();
        let outcome = position.outcome();
        match outcome {
            // A piece may come from the other board.
            Some(Outcome { reason: Reason::Stalemate, .. }) if self.is_bughouse_board() => {}
            Some(outcome) => self.print(&result_text(outcome)),
            None if position.claimable_outcome().is_some() => self.print("offer draw"),
            None => {}
        }
        outcome.is_some()
    }

    /// `go`: the engine plays the side to move.
    fn go(&mut self) {
        self.mode = Mode::Play(self.session.position().turn());
        self.bughouse_turn = BughouseTurn::new();
        if self.position_refused {
            return self.error("the position was refused", "go");
        }
        if !self.claim_result() && self.may_search() {
            self.search_turn();
        }
    }

    /// `playother`: the engine plays the side that is not to move.
    fn play_other(&mut self) {
        let mover = self.session.position().turn();
        let sides = self.session.position().game_spec().sides;
        let other = Side::all(sides).find(|&side| side != mover);
        self.mode = other.map_or(Mode::Force, Mode::Play);
    }

    fn take_back(&mut self, turns: usize, line: &str) {
        if !self.session.take_back(turns) {
            return self.error("not enough moves to take back", line);
        }
        self.clocks.take_back(turns);
        self.excluded.clear();
    }

    fn set_option(&mut self, name: &str, value: &str, line: &str) {
        // An engine that sits is still to move.
        let was_own_turn = self.search_kind == SearchKind::Sit && self.cancel_search();
        match set_option(&mut self.session, &self.output, name, value) {
            Ok(notes) => self.notes(&notes),
            Err(error) => self.error(&error.to_string(), line),
        }
        // The session of the team takes the options when it is set up again.
        self.close_team_session();
        // Other files have other variants to choose from.
        if name == "VariantPath" {
            self.output.print(&features::variants(self.session.catalogue()));
        }
        if was_own_turn {
            self.restart_search(was_own_turn);
        }
    }

    fn option(&mut self, text: &str, line: &str) {
        let declarations = self.session.declarations();
        match features::parse_option(&declarations, text) {
            Some((name, value)) => self.set_option(name, &value, line),
            None => self.error("unknown option", line),
        }
    }

    fn ping(&mut self, rest: &str) {
        if !self.searching_session().is_searching() {
            let notes = self.session.ready();
            self.notes(&notes);
        }
        self.print(format!("pong {rest}").trim_end());
    }

    /// `draw`: accepts a draw if it can be claimed anyway, or if it is better than the expected score.
    fn draw(&self) {
        let is_worse = match self.search_output.info().map(|info| info.score) {
            Some(Score::Lost(_)) => true,
            Some(Score::Expected(score)) => score < DRAW_SCORE,
            _ => false,
        };
        if is_worse || self.session.position().claimable_outcome().is_some() {
            self.print("offer draw");
        }
    }

    fn stat(&self) {
        if self.search_kind == SearchKind::Analyze
            && let Some(search_info) = self.search_output.info()
        {
            let mut legal = Vec::new();
            self.session.position().legal_moves(&mut legal);
            let turns = legal.len().saturating_sub(self.excluded.len());
            self.print(&info::stat_line(&search_info, turns));
        }
    }

    /// `exclude` and `include`: excludes or includes a turn of an analysis, or `all`.
    fn exclude(&mut self, exclude: bool, text: &str, line: &str) {
        let mut legal = Vec::new();
        self.session.position().legal_moves(&mut legal);
        let plies = match text {
            "all" => legal,
            _ => self.session.first_plies(&[&legs::from_xboard(text)]).0,
        };
        if plies.is_empty() {
            return self.error("no legal move", line);
        }
        self.excluded.retain(|ply| !plies.contains(ply));
        if exclude {
            self.excluded.extend(plies);
        }
    }

    /// `lift`, `hover` and `put`: the user moves a piece.
    fn lift_put(&mut self, command: &str, square: &str, line: &str) {
        // Some GUIs add a comma if the user holds a key down.
        let square = square.trim_end_matches(',');
        let position = self.session.position();
        if let Some((color, role)) = lift_put::pocket_piece(&position.game_spec(), square) {
            if command == "lift" {
                self.print(&lift_put::lift_from_pocket(position, color, role));
            }
            return;
        }
        let Ok(square) = square.parse::<Square>() else {
            return self.error("invalid square", line);
        };
        let answer = match command {
            "lift" => Some(self.lift_put.lift(position, square)),
            "hover" => self.lift_put.hover(position, square),
            _ => self.lift_put.put(position, square),
        };
        if let Some(answer) = answer {
            self.print(&answer);
        }
    }

    fn resume(&mut self) {
        let mover = self.session.position().turn();
        let was_paused = std::mem::take(&mut self.paused);
        let is_own_turn = self.side() == Some(mover);
        if was_paused && self.may_search() && is_own_turn && !self.claim_result() {
            self.search_turn();
        }
    }

    /// Handles a line that is no command: a move, or an error.
    fn bare_move(&mut self, word: &str, line: &str) {
        if is_move(word) {
            self.user_move(word);
        } else {
            self.print(&format!("Error (unknown command): {line}"));
        }
    }

    /// Handles the commands of the time control, and ignores all others.
    fn clock_command(&mut self, command: &str, arguments: &str, line: &str) {
        let words: Vec<&str> = arguments.split_whitespace().collect();
        let result = match command {
            "level" => self.clocks.set_level(&words),
            "st" => self.clocks.set_turn_time(&words),
            "sd" => self.clocks.set_depth(&words),
            "nps" => self.clocks.set_nps(&words),
            "time" => self.clocks.set_remaining(true, &words),
            "otim" => self.clocks.set_remaining(false, &words),
            _ => Ok(()),
        };
        if matches!(command, "level" | "time" | "otim") {
            self.bughouse_turn.clocks_since = Instant::now();
        }
        if let Err(reason) = result {
            self.error(reason, line);
        }
    }

    /// Handles a command. `line` is the whole line.
    fn command(&mut self, command: &str, arguments: &str, line: &str) -> ControlFlow<()> {
        self.clock_command(command, arguments, line);
        if POSITION_COMMANDS.contains(&command) {
            self.partial_turn = None;
        }
        match command {
            "level" | "st" | "sd" | "nps" | "time" | "otim" => {}
            "xboard" | "accepted" | "rejected" | "random" | "white" | "black" | "computer"
            | "name" | "rating" | "ics" => {}
            "protover" => {
                let declarations = self.session.declarations();
                self.output.print(&features::lines(self.session.catalogue(), &declarations));
            }
            "quit" => return ControlFlow::Break(()),
            "new" => self.new_game(),
            "variant" => self.variant(arguments, line),
            "force" => self.mode = Mode::Force,
            "result" => {
                self.mode = Mode::Force;
                if arguments.starts_with("1/2-1/2") {
                    self.send_drawn();
                }
            }
            "partner" => self.set_partner(arguments),
            "ptell" => self.on_partner_message(arguments),
            "holding" => self.holding(arguments, line),
            "go" => self.go(),
            "playother" => self.play_other(),
            "usermove" if arguments.is_empty() => self.error("usermove needs a move", line),
            "usermove" => self.user_move(arguments),
            "?" => self.hurry(),
            "ping" => self.ping(arguments),
            "draw" => self.draw(),
            "setboard" => self.set_board(arguments),
            "undo" => self.take_back(1, line),
            "remove" => self.take_back(2, line),
            "hard" => self.ponders = true,
            "easy" => self.ponders = false,
            "post" => self.set_posts(true),
            "nopost" => self.set_posts(false),
            "analyze" => self.mode = Mode::Analyze,
            "exit" if self.mode == Mode::Analyze => self.mode = Mode::Force,
            "exit" => {}
            "." => self.stat(),
            "hint" => self.hint(),
            // The GUI shows the lines after `bk` to the user, up to an empty line.
            "bk" => self.output.print(" no opening book\n "),
            "memory" => self.set_option("Hash", arguments, line),
            "cores" => self.set_option("Threads", arguments, line),
            "egtpath" => match arguments.split_once(' ') {
                Some(("syzygy", path)) => self.set_option("SyzygyPath", path.trim(), line),
                _ => self.error("egtpath must be syzygy PATH", line),
            },
            "option" => self.option(arguments, line),
            "exclude" => self.exclude(true, arguments, line),
            "include" => self.exclude(false, arguments, line),
            "lift" | "hover" | "put" => self.lift_put(command, arguments, line),
            "pause" => self.paused = true,
            "resume" => self.resume(),
            "setscore" => self.error("setscore is not supported", line),
            _ => self.bare_move(command, line),
        }
        ControlFlow::Continue(())
    }
}

impl ProtocolHandler for XBoard {
    fn session(&mut self) -> &mut Session {
        self.searching_session_mut()
    }

    fn searches(&self) -> u64 {
        self.searches
    }

    fn on_line(&mut self, line: &InputLine) {
        let command = line.words().first().copied();
        let aborts = match self.search_kind {
            SearchKind::Play | SearchKind::Sit => {
                command.is_some_and(|command| ABORTING_COMMANDS.contains(&command))
            }
            SearchKind::Hint => self.blocks_on_search(line),
            _ => false,
        };
        if command == Some("?") && self.search_kind == SearchKind::Play {
            self.hurry();
        } else if aborts {
            self.abort();
        }
    }

    fn blocks_on_search(&self, line: &InputLine) -> bool {
        match line.words().first() {
            None => false,
            // Sitting has no result to wait for.
            Some(_) if self.search_kind == SearchKind::Sit => false,
            Some(command) if BUGHOUSE_COMMANDS.contains(command) && self.is_bughouse_board() => {
                false
            }
            Some(command) if BACKGROUND_COMMANDS.contains(command) => {
                self.search_kind == SearchKind::Play
            }
            Some(command) => !IMMEDIATE_COMMANDS.contains(command),
        }
    }

    fn handle(&mut self, line: &InputLine) -> ControlFlow<()> {
        let InputLine::Text(text) = line else {
            self.error("input line too long", "ignored");
            return ControlFlow::Continue(());
        };
        self.output.log_input(text);
        let text = text.trim();
        let (command, arguments) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        if command.is_empty() {
            return ControlFlow::Continue(());
        }
        let flow = self.command(command, arguments.trim(), text);
        self.search_in_background();
        flow
    }

    fn tick(&mut self) {
        self.check_sitting();
    }

    fn finish(&mut self) {
        self.searching_session_mut().wait();
        self.handle_search_end();
    }
}

/// Returns `true` if a word is in the notation of a move, legal or not.
fn is_move(word: &str) -> bool {
    let square = |at: usize| {
        let bytes = word.as_bytes().get(at..at + 2);
        bytes.is_some_and(|bytes| bytes[0].is_ascii_lowercase() && bytes[1].is_ascii_digit())
    };
    let castling = ["O-O", "o-o", "0-0"].iter().any(|castling| word.starts_with(castling));
    square(0) && square(2) || word.as_bytes().get(1) == Some(&b'@') && square(2) || castling
}

fn reason_text(reason: Reason) -> &'static str {
    match reason {
        Reason::Checkmate => "checkmate",
        Reason::Stalemate => "stalemate",
        Reason::Repetition => "repetition",
        Reason::FiftyMoves => "the 50-move rule",
        Reason::InsufficientMaterial => "insufficient material",
        Reason::Variant => "a rule of the variant",
    }
}

/// Returns the result of a game in the notation of XBoard.
fn result_text(outcome: Outcome) -> String {
    let (result, winner) = match outcome.winner {
        None => ("1/2-1/2", "Draw"),
        Some(Side::WHITE) => ("1-0", "White wins"),
        Some(_) => ("0-1", "Black wins"),
    };
    format!("{result} {{{winner} by {}}}", reason_text(outcome.reason))
}
