//! A team of two processes, one at each table, which speak the protocol of XBoard as at a chess
//! server: each sees its own board, is told what its partner has taken (`holding`), and what the
//! partner tells it (`ptell`).

use std::path::{Path, PathBuf};
use std::time::Instant;

use menagerie::rules::{ByRole, Color, Role, Side, Table};

use super::team::{Ply, Said, Situation, Team};
use super::{Wake, broken};
use crate::arena::spec::PlayerSpec;
use crate::engine_process::{EngineError, EngineProcess, PATIENCE};
use crate::readers::bpgn::Seat;
use crate::xboard_engine::{Beginning, Reply, XboardEngine, reply};

/// Both processes.
pub(super) struct XboardPair {
    /// The game of one table, as XBoard calls it.
    variant: String,
    spec: PlayerSpec,
    wake: Wake,
    side: Side,
    partners: [Partner; 2],
    /// Nobody has been told to play yet.
    fresh: bool,
}

/// The process at one table.
struct Partner {
    file: PathBuf,
    engine: Option<XboardEngine>,
    failure: Option<EngineError>,
    /// Its table's game is drawn: it is told nothing more.
    retired: bool,
}

impl Partner {
    fn tell(&mut self, say: impl FnOnce(&mut XboardEngine) -> Result<(), EngineError>) {
        let Some(engine) = self.engine.as_mut().filter(|_| !self.retired) else { return };
        if let Err(error) = say(engine) {
            self.failure.get_or_insert(error);
        }
    }
}

impl XboardPair {
    /// `variant` is the game of one table.
    pub(super) fn new(variant: &str, spec: &PlayerSpec, wake: Wake) -> XboardPair {
        let first = spec.file.clone().unwrap_or_default();
        let second = spec.partner.clone().unwrap_or_else(|| first.clone());
        let partner = |file| Partner { file, engine: None, failure: None, retired: false };
        XboardPair {
            variant: variant.to_owned(),
            spec: spec.clone(),
            wake,
            side: Side::WHITE,
            partners: [first, second].map(partner),
            fresh: true,
        }
    }

    fn start(&self, file: &Path) -> anyhow::Result<XboardEngine> {
        let arguments = self.spec.args.iter().flat_map(|text| text.split_whitespace());
        let process = EngineProcess::start_heard(file, arguments, self.wake.caller())?;
        let name = process.executable().to_owned();
        let mut engine = XboardEngine::shaken(process, PATIENCE)?;
        for (option, value) in &self.spec.options {
            engine.set(option, value)?;
        }
        let variant = &self.variant;
        anyhow::ensure!(engine.plays(variant), "{name} does not say that it plays {variant}");
        Ok(engine)
    }

    /// Gets the process of a table ready for a game, started if need be.
    fn ready(&mut self, table: Table, game: &Beginning<'_>) -> anyhow::Result<()> {
        let nth = table as usize;
        let mut fresh = false;
        loop {
            let partner = &mut self.partners[nth];
            let known = partner.engine.take().filter(|_| partner.failure.is_none());
            let mut engine = match known {
                Some(engine) => engine,
                None => {
                    fresh = true;
                    self.start(&self.partners[nth].file)?
                }
            };
            let partner = &mut self.partners[nth];
            (partner.failure, partner.retired) = (None, false);
            match engine.begin(game) {
                Ok(()) => {
                    partner.engine = Some(engine);
                    return Ok(());
                }
                // One that died since its last game is started again.
                Err(_) if !fresh => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// What the seat of this team at a table and its opponent there have left.
    fn clocks(&self, table: Table, game: &Situation, now: Instant) -> (u64, u64) {
        let own = Seat::of(self.side, table);
        let other = Seat { color: !own.color, ..own };
        (game.watch.left(own, now), game.watch.left(other, now))
    }

    /// Lets the process of a table play after `turns`.
    fn go(&mut self, table: Table, turns: &[String], game: &Situation, now: Instant) {
        let clocks = Some(self.clocks(table, game, now));
        self.partners[table as usize].tell(|engine| engine.ask(turns, clocks));
    }

    /// What a line of the process at a table says about the game, and what it tells its partner.
    fn understand(&mut self, table: Table, line: &str) -> Option<Said> {
        if let Some(text) = line.trim().strip_prefix("tellics ptell ") {
            let other = &mut self.partners[table.other() as usize];
            other.tell(|engine| engine.say(&format!("ptell {text}")));
            return None;
        }
        match reply(line)? {
            Reply::Move(text) => Some(Said::Moves(vec![(table, text)])),
            Reply::Resigns => Some(Said::Fails("resignation", String::new(), Some(table))),
            Reply::Protests(line) if line.starts_with("Illegal") => {
                Some(Said::Fails("illegal move", format!("\"{line}\""), Some(table)))
            }
            // Whoever takes the game for over may learn that it goes on, when a man comes; and what
            // a partner tells need not be understood.
            Reply::Claims(_) | Reply::Protests(_) => None,
        }
    }
}

/// The men in hand as XBoard writes them.
fn letters(hand: &ByRole<u8>) -> String {
    let roles = [Role::Queen, Role::Rook, Role::Bishop, Role::Knight, Role::Pawn];
    let men = roles.map(|role| role.upper_char().to_string().repeat(usize::from(hand[role])));
    men.concat()
}

/// `holding [WHITE] [BLACK] BN` after a man has come to a hand at a table.
fn holding(game: &Situation, table: Table, color: Color, man: Role) -> Option<String> {
    let hands = game.board(table).position.view().hands?;
    let (white, black) = (letters(&hands.white), letters(&hands.black));
    let man = man.upper_char();
    Some(format!("holding [{white}] [{black}] {}{man}", color.fold_wb('W', 'B')))
}

impl Team for XboardPair {
    fn begin(&mut self, side: Side, game: &Situation) -> anyhow::Result<()> {
        (self.side, self.fresh) = (side, true);
        let limits = self.spec.xboard_limits();
        let variant = self.variant.clone();
        for table in Table::ALL {
            let fen = game.board(table).position.fen();
            self.ready(table, &Beginning { variant: &variant, fen: &fen, limits: &limits })?;
        }
        for table in Table::ALL {
            // By their table, as both may be the same executable.
            let partner =
                format!("partner {}{:?}", self.spec.name().replace(' ', ""), table.other());
            self.partners[table as usize].tell(|engine| engine.say(&partner));
        }
        Ok(())
    }

    fn played(&mut self, ply: Ply<'_>, game: &Situation, now: Instant) {
        let table = ply.seat.board;
        if game.board(table).drawn {
            let partner = &mut self.partners[table as usize];
            partner.tell(|engine| engine.end("1/2-1/2", "the game at this table is drawn"));
            partner.retired = true;
        } else if ply.seat.team() != self.side {
            let turn = ply.before.turn_text_with_castling(&[ply.m]);
            self.go(table, &[turn], game, now);
        }
        // What was taken goes to the other table.
        if let Some((color, man)) = ply.gives {
            let other = table.other();
            let thinks = game.may_move(self.side, other).then(|| self.clocks(other, game, now));
            if let Some(line) = holding(game, other, color, man) {
                self.partners[other as usize].tell(|engine| {
                    // Whoever begins to think anew should know how late it is.
                    thinks.map_or(Ok(()), |clocks| engine.tell_clocks(clocks))?;
                    engine.say(&line)
                });
            }
        }
    }

    fn ask(&mut self, game: &Situation, now: Instant) {
        if !std::mem::take(&mut self.fresh) {
            return;
        }
        for table in Table::ALL {
            if game.board(table).color == Seat::of(self.side, table).color {
                self.go(table, &[], game, now);
            }
        }
    }

    fn hear(&mut self) -> Vec<(Instant, Said)> {
        let mut said = Vec::new();
        for table in Table::ALL {
            let nth = table as usize;
            while let Some(engine) = &mut self.partners[nth].engine {
                match engine.poll() {
                    Ok(Some((at, line))) => {
                        said.extend(self.understand(table, &line).map(|said| (at, said)));
                    }
                    Ok(None) => break,
                    Err(error) => {
                        self.partners[nth].failure.get_or_insert(error);
                        break;
                    }
                }
            }
            if let Some(error) = &self.partners[nth].failure {
                said.push((Instant::now(), broken(error, Some(table))));
            }
        }
        said
    }

    fn end(&mut self, results: [&str; 2], why: &str) {
        for (partner, result) in self.partners.iter_mut().zip(results) {
            partner.tell(|engine| engine.end(result, why));
            let once = |engine: &XboardEngine| engine.feature("reuse") == "0";
            if partner.engine.as_ref().is_some_and(once) {
                partner.engine = None;
            }
        }
    }
}
