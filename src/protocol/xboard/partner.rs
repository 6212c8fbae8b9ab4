//! The partner at the other table of bughouse, and what it may tell: the words of Fairy-Stockfish
//! and of sjeng, and between two of ours the whole board with its clocks.

use std::time::Instant;

/// By this name an engine of ours is known to another.
const KIN: &str = "Menagerie";

/// What is said to a partner at first.
pub(super) const HELLO: &str =
    "partner Menagerie is an engine. Ask it 'help' for what it understands.";
/// What is said to one that asks for help.
pub(super) const HELP: &str = "I listen to help, sit, go, move, move e2e4, fast, slow, dead, x, time, otim (centiseconds), \
     abort, flag, +n, -q and the like.";

/// The partner's board, as another engine of ours tells it.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Beside {
    /// Its FEN.
    pub(super) fen: String,
    /// White's and Black's time, in milliseconds, if they are known ..
    pub(super) clocks: Option<(i64, i64)>,
    /// .. and when they were right.
    pub(super) since: Instant,
    /// Its game is drawn.
    pub(super) drawn: bool,
}

impl Beside {
    /// White's and Black's time now: that of whoever is on turn runs.
    pub(super) fn now(&self) -> Option<(i64, i64)> {
        let (white, black) = self.clocks?;
        let passed = if self.drawn { 0 } else { self.since.elapsed().as_millis() as i64 };
        let black_moves = self.fen.split_whitespace().nth(1) == Some("b");
        Some(if black_moves { (white, black - passed) } else { (white - passed, black) })
    }
}

/// What a partner tells.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Word<'a> {
    /// It is an engine, one of ours or another.
    Hello {
        kin: bool,
    },
    /// Its board, as another of ours tells it.
    Board(Beside),
    /// Its board is drawn.
    Drawn,
    Help,
    Sit,
    Go,
    /// Move at once, if need be this move.
    Move(Option<&'a str>),
    Fast(bool),
    /// It is lost, or not any more.
    Dead(bool),
    /// Its own time or its opponent's, in milliseconds.
    Time(i64),
    OpponentsTime(i64),
    Abort,
    Flag,
    /// It wants a man, or wants the opponent there not to get it.
    Man {
        letter: char,
        wanted: bool,
    },
    /// Whether it likes that men are exchanged: any.
    Trades(bool),
    Formula,
}

impl Word<'_> {
    /// Reads what is told; `None` if it is meant for people.
    pub(super) fn read(text: &str) -> Option<Word<'_>> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let (&first, rest) = words.split_first()?;
        let second = rest.first().copied();
        let time = || Some(second?.parse::<i64>().ok()?.saturating_mul(10));
        Some(match first {
            "partner" => Word::Hello { kin: second? == KIN },
            "board" if rest == ["drawn"] => Word::Drawn,
            "board" => {
                let [fen @ .., white, black] = rest else { return None };
                let clock = |text: &&str| Some(text.parse::<i64>().ok()?.saturating_mul(10));
                let (fen, clocks) = (fen.join(" "), clock(white).zip(clock(black)));
                Word::Board(Beside { fen, clocks, since: Instant::now(), drawn: false })
            }
            "help" => Word::Help,
            "sit" => Word::Sit,
            "go" => Word::Go,
            "move" => Word::Move(second),
            "fast" => Word::Fast(true),
            "slow" => Word::Fast(false),
            "dead" => Word::Dead(true),
            "x" => Word::Dead(false),
            "time" => Word::Time(time()?),
            "otim" => Word::OpponentsTime(time()?),
            "abort" => Word::Abort,
            "flag" => Word::Flag,
            "trades" => Word::Trades(second? != "bad"),
            "formula" => Word::Formula,
            _ => {
                // One sign or more: how much it is wanted.
                let letter = first.trim_start_matches(['+', '-']);
                let wanted = first.starts_with('+');
                let mut letters = letter.chars();
                match (letters.next(), letters.next()) {
                    (Some(man), None) if letter != first && "pnbrqPNBRQ".contains(man) => {
                        Word::Man { letter: man.to_ascii_lowercase(), wanted }
                    }
                    _ => return None,
                }
            }
        })
    }
}

/// What is known of the partner.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Partner {
    /// Its name, if there is one.
    pub(super) name: Option<String>,
    /// It is one of ours.
    pub(super) kin: bool,
    /// It is an engine, to which no sentences are said.
    pub(super) engine: bool,
    /// Its board, if it tells that.
    pub(super) board: Option<Beside>,
    /// It asked to sit, when the own clock showed so many milliseconds.
    pub(super) sit: Option<i64>,
    pub(super) fast: bool,
    pub(super) dead: bool,
    /// Its time and its opponent's, in milliseconds, as far as it told them.
    pub(super) time: Option<i64>,
    pub(super) opponents_time: Option<i64>,
    /// Men that it wants, and men that it does not want the opponents to have.
    pub(super) wanted: Vec<char>,
    pub(super) feared: Vec<char>,
    /// What it was told last.
    pub(super) told: Told,
}

/// What the partner was told last about the own board.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Told {
    /// The own side is mated anyhow.
    pub(super) dead: bool,
    /// It wins anyhow, and the partner is to sit.
    pub(super) wins: bool,
    /// Men that would mate.
    pub(super) men: String,
}

impl Partner {
    /// A partner of that name; none if it is empty.
    pub(super) fn meet(&mut self, name: &str) {
        let name = (!name.is_empty()).then(|| name.to_owned());
        // What came from it before it was named is kept.
        if name.is_none() || self.name.is_some() && self.name != name {
            *self = Partner::default();
        }
        self.name = name;
    }

    /// Another game with the same partner.
    pub(super) fn new_game(&mut self) {
        let Partner { name, kin, engine, .. } = std::mem::take(self);
        *self = Partner { name, kin, engine, ..Partner::default() };
    }

    /// Notes that it wants a man, or fears it.
    pub(super) fn wants(&mut self, letter: char, wanted: bool) {
        self.wanted.retain(|&man| man != letter);
        self.feared.retain(|&man| man != letter);
        if wanted { &mut self.wanted } else { &mut self.feared }.push(letter);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_vocabularies_are_read() {
        let fen = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR[Qp] b KQkq - 0 1";
        for (text, word) in [
            ("partner Fairy-Stockfish is an engine. Ask it 'help'", Word::Hello { kin: false }),
            (HELLO, Word::Hello { kin: true }),
            ("sit", Word::Sit),
            ("go", Word::Go),
            ("move", Word::Move(None)),
            ("move e2e4", Word::Move(Some("e2e4"))),
            ("fast", Word::Fast(true)),
            ("slow", Word::Fast(false)),
            ("dead", Word::Dead(true)),
            ("x", Word::Dead(false)),
            ("time 1000", Word::Time(10_000)),
            ("otim -5", Word::OpponentsTime(-50)),
            ("++n", Word::Man { letter: 'n', wanted: true }),
            ("-Q", Word::Man { letter: 'q', wanted: false }),
            ("trades bad", Word::Trades(false)),
            ("board drawn", Word::Drawn),
        ] {
            assert_eq!(Word::read(text), Some(word), "{text}");
        }
        for (clocks, told) in [("5900 6000", Some((59_000, 60_000))), ("- -", None)] {
            let text = format!("board {fen} {clocks}");
            let Some(Word::Board(board)) = Word::read(&text) else { panic!("{text}") };
            assert_eq!((board.fen.as_str(), board.clocks), (fen, told));
        }
        for nonsense in [
            "",
            "hello",
            "I sit, tell me 'go' to continue",
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
            assert_eq!(Word::read(nonsense), None, "{nonsense}");
        }
    }

    #[test]
    fn another_partner_is_another() {
        let mut partner = Partner { kin: true, ..Partner::default() };
        partner.meet("first");
        assert!(partner.kin);
        partner.sit = Some(5);
        partner.new_game();
        assert!(partner.kin && partner.sit.is_none());
        partner.meet("second");
        assert_eq!(partner, Partner { name: Some("second".into()), ..Partner::default() });
        partner.meet("");
        assert_eq!(partner, Partner::default());
    }
}
