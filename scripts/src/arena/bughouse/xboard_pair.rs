//! A team of two processes, one for each board, which speak XBoard's protocol as on a chess server. Each of them
//! sees its own board, receives the pieces that its partner has captured (`holding`), and the messages of its
//! partner (`ptell`).

use std::path::{Path, PathBuf};
use std::time::Instant;

use menagerie::rules::{BoardId, ByRole, Color, Role, Side};

use super::team::{BughouseGame, PlayedPly, Team, TeamEvent};
use super::{WakeSender, crash};
use crate::arena::spec::PlayerSpec;
use crate::engine_process::{EngineError, EngineProcess, REPLY_TIMEOUT};
use crate::readers::bpgn::Seat;
use crate::xboard_engine::{NewGame, Reply, XboardEngine, parse_reply};

/// A team of two processes.
pub(super) struct XboardPair {
    /// The variant of a single board, by its name in XBoard's protocol.
    variant: String,
    spec: PlayerSpec,
    wake: WakeSender,
    side: Side,
    partners: [Partner; 2],
    /// The game is new: the side to move of each board has to be started.
    is_new_game: bool,
}

/// The process of one board.
struct Partner {
    file: PathBuf,
    engine: Option<XboardEngine>,
    failure: Option<EngineError>,
    /// The board is drawn: the process receives no more messages.
    retired: bool,
}

impl Partner {
    /// Calls `send` with the engine, unless it is retired, and notes its first failure.
    fn send(&mut self, send: impl FnOnce(&mut XboardEngine) -> Result<(), EngineError>) {
        if self.retired {
            return;
        }
        let Some(engine) = &mut self.engine else { return };
        if let Err(error) = send(engine) {
            self.failure.get_or_insert(error);
        }
    }
}

impl XboardPair {
    /// Returns a team; `variant` is the variant of a single board.
    pub(super) fn new(variant: &str, spec: &PlayerSpec, wake: WakeSender) -> XboardPair {
        let first = spec.file.clone().unwrap_or_default();
        let second = spec.partner.clone().unwrap_or_else(|| first.clone());
        let partner = |file| Partner { file, engine: None, failure: None, retired: false };
        XboardPair {
            variant: variant.to_owned(),
            spec: spec.clone(),
            wake,
            side: Side::WHITE,
            partners: [first, second].map(partner),
            is_new_game: true,
        }
    }

    fn start(&self, file: &Path) -> anyhow::Result<XboardEngine> {
        let arguments = self.spec.args.iter().flat_map(|text| text.split_whitespace());
        let process = EngineProcess::start_with_callback(file, arguments, self.wake.callback())?;
        let name = process.executable().to_owned();
        let mut engine = XboardEngine::connect(process, REPLY_TIMEOUT)?;
        for (option, value) in &self.spec.options {
            engine.set_option(option, value)?;
        }
        let variant = &self.variant;
        anyhow::ensure!(engine.plays(variant), "the engine {name} does not play {variant}");
        Ok(engine)
    }

    /// Prepares the process of a board for a game, and starts it if necessary.
    fn begin_board(&mut self, board: BoardId, game: &NewGame<'_>) -> anyhow::Result<()> {
        let nth = board as usize;
        let mut just_started = false;
        loop {
            let partner = &mut self.partners[nth];
            let mut running = partner.engine.take();
            if partner.failure.is_some() {
                running = None;
            }
            let mut engine = match running {
                Some(engine) => engine,
                None => {
                    just_started = true;
                    self.start(&self.partners[nth].file)?
                }
            };
            let partner = &mut self.partners[nth];
            partner.failure = None;
            partner.retired = false;
            match engine.new_game(game) {
                Ok(()) => {
                    partner.engine = Some(engine);
                    return Ok(());
                }
                // An engine that ended since its last game is started again.
                Err(_) if !just_started => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Returns the milliseconds left to this team and to its opponent on a board.
    fn clocks(&self, board: BoardId, game: &BughouseGame, now: Instant) -> (u64, u64) {
        let own = Seat::of(self.side, board);
        let other = Seat { color: !own.color, ..own };
        (game.clocks.left(own, now), game.clocks.left(other, now))
    }

    /// Lets the process of a board move after `turns`.
    fn start_search(
        &mut self,
        board: BoardId,
        turns: &[String],
        game: &BughouseGame,
        now: Instant,
    ) {
        let clocks = Some(self.clocks(board, game, now));
        self.partners[board as usize].send(|engine| engine.start_search(turns, clocks));
    }

    /// Returns the event of a line of a process, if it is one. Messages for the partner are forwarded.
    fn parse_line(&mut self, board: BoardId, line: &str) -> Option<TeamEvent> {
        if let Some(text) = line.trim().strip_prefix("tellics ptell ") {
            let other = &mut self.partners[board.other() as usize];
            other.send(|engine| engine.send(&format!("ptell {text}")));
            return None;
        }
        match parse_reply(line)? {
            Reply::Move(text) => Some(TeamEvent::Moves(vec![(board, text)])),
            Reply::Resigns => Some(TeamEvent::Fault("resignation", String::new(), Some(board))),
            Reply::Protests(line) if line.starts_with("Illegal") => {
                Some(TeamEvent::Fault("illegal move", format!("\"{line}\""), Some(board)))
            }
            // The game continues after a claim of mate when a captured piece arrives, and an engine may
            // reject messages of its partner.
            Reply::Claims(_) | Reply::Protests(_) => None,
        }
    }
}

/// Returns the pieces of a pocket in the form of XBoard.
fn pocket_letters(pocket: &ByRole<u8>) -> String {
    let roles = [Role::Queen, Role::Rook, Role::Bishop, Role::Knight, Role::Pawn];
    roles.map(|role| role.upper_char().to_string().repeat(usize::from(pocket[role]))).concat()
}

/// Returns `holding [WHITE] [BLACK] BN` for a piece that has been added to a pocket of a board.
fn holding(game: &BughouseGame, board: BoardId, color: Color, role: Role) -> Option<String> {
    let pockets = game.board(board).position.board().hands?;
    let white = pocket_letters(&pockets.white);
    let black = pocket_letters(&pockets.black);
    let piece = role.upper_char();
    Some(format!("holding [{white}] [{black}] {}{piece}", color.fold_wb('W', 'B')))
}

impl Team for XboardPair {
    fn begin(&mut self, side: Side, game: &BughouseGame) -> anyhow::Result<()> {
        self.side = side;
        self.is_new_game = true;
        let limits = self.spec.xboard_limits();
        let variant = self.variant.clone();
        for board in BoardId::ALL {
            let fen = game.board(board).position.fen();
            self.begin_board(board, &NewGame { variant: &variant, fen: &fen, limits: &limits })?;
        }
        for board in BoardId::ALL {
            // The board is part of the name, since both may be the same executable.
            let name = self.spec.name().replace(' ', "");
            let partner = format!("partner {name}{:?}", board.other());
            self.partners[board as usize].send(|engine| engine.send(&partner));
        }
        Ok(())
    }

    fn on_ply(&mut self, ply: PlayedPly<'_>, game: &BughouseGame, now: Instant) {
        let board = ply.seat.board;
        if game.board(board).drawn {
            let partner = &mut self.partners[board as usize];
            partner.send(|engine| engine.end_game("1/2-1/2", "this board is drawn"));
            partner.retired = true;
        } else if ply.seat.team() != self.side {
            let turn = ply.before.turn_text_with_castling(&[ply.m]);
            self.start_search(board, &[turn], game, now);
        }
        let Some((color, role)) = ply.captured else { return };
        let other = board.other();
        let Some(line) = holding(game, other, color, role) else { return };
        let is_to_move = game.may_move(self.side, other);
        let clocks = if is_to_move { Some(self.clocks(other, game, now)) } else { None };
        self.partners[other as usize].send(|engine| {
            // The engine may start to think again, so it gets the current clocks.
            if let Some(clocks) = clocks {
                engine.send_clocks(clocks)?;
            }
            engine.send(&line)
        });
    }

    fn update(&mut self, game: &BughouseGame, now: Instant) {
        if !std::mem::take(&mut self.is_new_game) {
            return;
        }
        for board in BoardId::ALL {
            if game.board(board).color == Seat::of(self.side, board).color {
                self.start_search(board, &[], game, now);
            }
        }
    }

    fn events(&mut self) -> Vec<(Instant, TeamEvent)> {
        let mut events = Vec::new();
        for board in BoardId::ALL {
            let nth = board as usize;
            while let Some(engine) = &mut self.partners[nth].engine {
                match engine.poll() {
                    Ok(Some((at, line))) => {
                        events.extend(self.parse_line(board, &line).map(|event| (at, event)));
                    }
                    Ok(None) => break,
                    Err(error) => {
                        self.partners[nth].failure.get_or_insert(error);
                        break;
                    }
                }
            }
            if let Some(error) = &self.partners[nth].failure {
                events.push((Instant::now(), crash(error, Some(board))));
            }
        }
        events
    }

    fn end(&mut self, results: [&str; 2], reason: &str) {
        for (partner, result) in self.partners.iter_mut().zip(results) {
            partner.send(|engine| engine.end_game(result, reason));
            let plays_once = |engine: &XboardEngine| engine.feature("reuse") == "0";
            if partner.engine.as_ref().is_some_and(plays_once) {
                partner.engine = None;
            }
        }
    }
}
