//! The partner on the other board of bughouse, and its messages: those of Fairy-Stockfish
//! and of Sjeng, and between two Menagerie engines the whole board with its clocks.

use std::time::Instant;

/// The name by which two Menagerie engines identify each other.
const OWN_NAME: &str = "Menagerie";

/// The first message to a partner.
pub(super) const HELLO: &str =
    "partner Menagerie is an engine. Ask it 'help' for supported commands.";
/// The answer to `help`.
pub(super) const HELP: &str = "commands: help, sit, go, move, move e2e4, fast, slow, dead, x, time, otim (centiseconds), \
     abort, flag, +n, -q and the like.";

/// The partner's board, as another Menagerie engine sends it.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct PartnerBoard {
    /// The FEN.
    pub(super) fen: String,
    /// White's and Black's time at `since`, in milliseconds, if it is known.
    pub(super) clocks: Option<(i64, i64)>,
    /// When the message was received.
    pub(super) since: Instant,
    /// Whether the game there is drawn.
    pub(super) drawn: bool,
}

impl PartnerBoard {
    /// Returns White's and Black's time now. The clock of the side to move runs.
    pub(super) fn clocks_now(&self) -> Option<(i64, i64)> {
        let (white, black) = self.clocks?;
        let elapsed = if self.drawn { 0 } else { self.since.elapsed().as_millis() as i64 };
        let black_moves = self.fen.split_whitespace().nth(1) == Some("b");
        Some(if black_moves {
            (white, black.saturating_sub(elapsed))
        } else {
            (white.saturating_sub(elapsed), black)
        })
    }
}

/// A message of a partner.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum PartnerMessage<'a> {
    /// It is an engine.
    Hello {
        /// Whether it is Menagerie.
        is_menagerie: bool,
    },
    /// Its board.
    Board(PartnerBoard),
    /// The game on its board is drawn.
    Drawn,
    Help,
    Sit,
    Go,
    /// A request to move at once, perhaps this move.
    Move(Option<&'a str>),
    Fast(bool),
    /// Whether its game is lost.
    Dead(bool),
    /// Its time, in milliseconds.
    Time(i64),
    /// Its opponent's time, in milliseconds.
    OpponentTime(i64),
    Abort,
    Flag,
    /// It wants a piece, or wants that its opponent does not get it.
    Piece {
        letter: char,
        wanted: bool,
    },
    /// Whether it wants any exchanges.
    Trades(bool),
    Formula,
}

impl PartnerMessage<'_> {
    /// Parses a message; `None` if it is for humans.
    pub(super) fn parse(text: &str) -> Option<PartnerMessage<'_>> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let (&first, rest) = words.split_first()?;
        let second = rest.first().copied();
        let time = || parse_centiseconds(second?);
        Some(match first {
            "partner" => PartnerMessage::Hello { is_menagerie: second? == OWN_NAME },
            "board" if rest == ["drawn"] => PartnerMessage::Drawn,
            "board" => {
                let [fen @ .., white, black] = rest else { return None };
                PartnerMessage::Board(PartnerBoard {
                    fen: fen.join(" "),
                    clocks: parse_centiseconds(white).zip(parse_centiseconds(black)),
                    since: Instant::now(),
                    drawn: false,
                })
            }
            "help" => PartnerMessage::Help,
            "sit" => PartnerMessage::Sit,
            "go" => PartnerMessage::Go,
            "move" => PartnerMessage::Move(second),
            "fast" => PartnerMessage::Fast(true),
            "slow" => PartnerMessage::Fast(false),
            "dead" => PartnerMessage::Dead(true),
            "x" => PartnerMessage::Dead(false),
            "time" => PartnerMessage::Time(time()?),
            "otim" => PartnerMessage::OpponentTime(time()?),
            "abort" => PartnerMessage::Abort,
            "flag" => PartnerMessage::Flag,
            "trades" => PartnerMessage::Trades(second? != "bad"),
            "formula" => PartnerMessage::Formula,
            _ => {
                // One or more signs show how much it is wanted.
                let letter = first.trim_start_matches(['+', '-']);
                let wanted = first.starts_with('+');
                let mut letters = letter.chars();
                match (letters.next(), letters.next()) {
                    (Some(piece), None) if letter != first && "pnbrqPNBRQ".contains(piece) => {
                        PartnerMessage::Piece { letter: piece.to_ascii_lowercase(), wanted }
                    }
                    _ => return None,
                }
            }
        })
    }
}

/// Parses centiseconds. Returns milliseconds.
fn parse_centiseconds(text: &str) -> Option<i64> {
    Some(text.parse::<i64>().ok()?.saturating_mul(10))
}

/// The state of the partner.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Partner {
    /// Its name, if there is a partner.
    pub(super) name: Option<String>,
    /// Whether it is Menagerie.
    pub(super) is_menagerie: bool,
    /// Whether it is an engine, which gets no messages for humans.
    pub(super) is_engine: bool,
    /// Its board, if it has sent that.
    pub(super) board: Option<PartnerBoard>,
    /// The engine's clock in milliseconds when the partner asked it to sit, if it did.
    pub(super) sit_requested_at: Option<i64>,
    pub(super) fast: bool,
    pub(super) dead: bool,
    /// Its time in milliseconds, if it has sent that.
    pub(super) time: Option<i64>,
    /// Its opponent's time in milliseconds, if it has sent that.
    pub(super) opponent_time: Option<i64>,
    /// Pieces that it wants.
    pub(super) wanted: Vec<char>,
    /// Pieces that its opponent must not get.
    pub(super) feared: Vec<char>,
    /// The prospects that were sent to it last.
    pub(super) sent: Prospects,
}

/// The prospects on the engine's board.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Prospects {
    /// Whether the engine is going to be mated.
    pub(super) dead: bool,
    /// Whether the engine wins if the partner sits.
    pub(super) wins: bool,
    /// Pieces that would mate if they were in hand.
    pub(super) mating_pieces: String,
}

impl Partner {
    /// Sets the partner's name; none if it is empty.
    pub(super) fn set_name(&mut self, name: &str) {
        let name = if name.is_empty() { None } else { Some(name.to_owned()) };
        // What it sent before it was named is kept.
        if name.is_none() || self.name.is_some() && self.name != name {
            *self = Partner::default();
        }
        self.name = name;
    }

    /// Starts another game with the same partner.
    pub(super) fn new_game(&mut self) {
        let Partner { name, is_menagerie, is_engine, .. } = std::mem::take(self);
        *self = Partner { name, is_menagerie, is_engine, ..Partner::default() };
    }

    /// Adds a piece that it wants or fears.
    pub(super) fn set_wanted(&mut self, letter: char, wanted: bool) {
        self.wanted.retain(|&other| other != letter);
        self.feared.retain(|&other| other != letter);
        if wanted { &mut self.wanted } else { &mut self.feared }.push(letter);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_both_kinds_are_parsed() {
        let fen = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR[Qp] b KQkq - 0 1";
        for (text, message) in [
            (
                "partner Fairy-Stockfish is an engine. Ask it 'help'",
                PartnerMessage::Hello { is_menagerie: false },
            ),
            (HELLO, PartnerMessage::Hello { is_menagerie: true }),
            ("sit", PartnerMessage::Sit),
            ("go", PartnerMessage::Go),
            ("move", PartnerMessage::Move(None)),
            ("move e2e4", PartnerMessage::Move(Some("e2e4"))),
            ("fast", PartnerMessage::Fast(true)),
            ("slow", PartnerMessage::Fast(false)),
            ("dead", PartnerMessage::Dead(true)),
            ("x", PartnerMessage::Dead(false)),
            ("time 1000", PartnerMessage::Time(10_000)),
            ("otim -5", PartnerMessage::OpponentTime(-50)),
            ("++n", PartnerMessage::Piece { letter: 'n', wanted: true }),
            ("-Q", PartnerMessage::Piece { letter: 'q', wanted: false }),
            ("trades bad", PartnerMessage::Trades(false)),
            ("board drawn", PartnerMessage::Drawn),
        ] {
            assert_eq!(PartnerMessage::parse(text), Some(message), "{text}");
        }
        for (clocks, parsed) in [("5900 6000", Some((59_000, 60_000))), ("- -", None)] {
            let text = format!("board {fen} {clocks}");
            let Some(PartnerMessage::Board(board)) = PartnerMessage::parse(&text) else {
                panic!("{text}")
            };
            assert_eq!((board.fen.as_str(), board.clocks), (fen, parsed));
        }
        for nonsense in [
            "",
            "hello",
            "I sit, send 'go' to continue",
            "time",
            "time soon",
            "+",
            "+x",
            "+nn",
            "-",
            "board",
            "partner",
            "trades",
        ] {
            assert_eq!(PartnerMessage::parse(nonsense), None, "{nonsense}");
        }
    }

    #[test]
    fn new_partner_has_no_state() {
        let mut partner = Partner { is_menagerie: true, ..Partner::default() };
        partner.set_name("first");
        assert!(partner.is_menagerie);
        partner.sit_requested_at = Some(5);
        partner.new_game();
        assert!(partner.is_menagerie && partner.sit_requested_at.is_none());
        partner.set_name("second");
        assert_eq!(partner, Partner { name: Some("second".into()), ..Partner::default() });
        partner.set_name("");
        assert_eq!(partner, Partner::default());
    }
}
