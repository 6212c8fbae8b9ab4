//! The reader of BPGN: the moves of both boards as they were played, and the winners.

use std::fs;
use std::path::Path;

use menagerie::rules::{BoardId, Color, Outcome, PackedMove, Reason, Side};
use menagerie::variant::Catalogue;
use proptest::prelude::*;
use tempfile::TempDir;
use trainer::readers;
use trainer::readers::bpgn::{self, BoardsGames, Seat};

const FILES: [&str; 4] = [
    include_str!("../golden/bpgn/1283326.bpgn"),
    include_str!("../golden/bpgn/1934301.bpgn"),
    include_str!("../golden/bpgn/1934461.bpgn"),
    include_str!("../golden/bpgn/bugaboo_test.bpgn"),
];

fn read(bytes: &[u8]) -> BoardsGames {
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join("some.bpgn");
    fs::write(&path, bytes).expect("written");
    bpgn::read(&path).expect("read")
}

#[test]
fn bpgn_files_are_read() {
    for (text, moves, ending, result, winner) in [
        (FILES[0], 8, "Game aborted on move 1", "*", None),
        // Board B's Black was mated there: White's result, and White of B is of team two.
        (FILES[1], 110, "BobBughouse checkmated", "1-0", Some(Side::BLACK)),
        (FILES[2], 125, "Giomaxxim forfeits on time", "0-1", Some(Side::WHITE)),
        (FILES[3], 139, "makaka checkmated", "1-0", Some(Side::BLACK)),
    ] {
        let found = read(text.as_bytes());
        assert_eq!(found.errors, []);
        let game = &found.games[0];
        assert_eq!((game.ending.as_str(), game.result.as_str()), (ending, result));
        assert_eq!((game.moves.len(), game.winner()), (moves, winner), "{ending}");
        // Time runs down.
        for (board, color) in
            [BoardId::A, BoardId::B].into_iter().flat_map(|b| Color::ALL.map(|c| (b, c)))
        {
            let own = game.moves.iter().filter(|it| it.seat == Seat { board, color });
            let clocks: Vec<f64> = own.map(|it| it.clock.expect("a clock")).collect();
            assert!(clocks.is_sorted_by(|a, b| a >= b), "{ending} {board:?} {color}: {clocks:?}");
        }
    }
    let found = read(FILES.concat().as_bytes());
    assert_eq!((found.games.len(), found.errors.len()), (4, 0));
}

#[test]
fn bpgn_games_replay_to_their_ends() {
    let variant = Catalogue::shipped().get("bughouse2").expect("it is shipped");
    for (text, winner, mated) in [
        (FILES[0], None, false),
        (FILES[1], Some(Side::BLACK), true),
        (FILES[2], Some(Side::WHITE), false),
        (FILES[3], Some(Side::BLACK), true),
    ] {
        let found = read(text.as_bytes());
        let record = found.games[0].record(&variant).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(record.winner().map(usize::from), winner.map(Side::index));
        assert_eq!(record.clocks.len(), record.plies.len());
        let end = record.position(&variant, record.plies.len()).expect("it replays");
        let outcome = winner.filter(|_| mated).map(|side| Outcome::win(side, Reason::Checkmate));
        assert_eq!(end.outcome(), outcome, "{}", end.fen());
        // The position of each ply has its mover to move, and the clocks of that time.
        for (nth, m) in found.games[0].moves.iter().enumerate() {
            let position = record.position(&variant, nth).expect("it replays");
            assert_eq!(position.turn(), m.seat.team());
            let played = PackedMove(record.plies[nth].played).unpack().expect("a move");
            assert_eq!(played.board(), m.seat.board);
            let clock = position.clocks().expect("two boards").at(m.seat.board, m.seat.color);
            let left = (m.clock.expect("a clock") * 1000.0) as u32;
            // Clocks on the server run with the network's lag taken off.
            assert!(clock + 5000 >= left, "{m:?}: {clock}");
        }
    }
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join("some.bpgn");
    fs::write(&path, FILES.concat()).expect("written");
    let games = readers::read_all(&[&path], &variant).expect("read");
    assert_eq!((games.games.len(), games.errors.len()), (4, 0));
    // Games of one board are none of them.
    let one = Catalogue::shipped().get("bughouse").expect("it is shipped");
    assert_eq!(readers::read_all(&[&path], &one).expect("read").errors.len(), 4);
}

#[test]
fn bpgn_games_have_tags_and_moves() {
    let game = &read(FILES[0].as_bytes()).games[0];
    assert_eq!((game.line, game.tags.len()), (1, 15));
    assert_eq!((game.tag("WhiteAElo"), game.tag("BlackB")), (Some("2051"), Some("JKiller")));
    let third = &game.moves[2];
    assert_eq!(third.seat, Seat { board: BoardId::A, color: Color::Black });
    assert_eq!((third.san.as_str(), third.clock, third.line), ("Nf6", Some(118.687), 13));
}

#[test]
fn bpgn_errors_quote_the_text_and_keep_other_games() {
    let seats = "[WhiteA \"a\"][BlackA \"b\"]\n[WhiteB \"c\"][BlackB \"d\"]\n";
    let good = format!("{seats}1A. e4{{1.5}} 1a. e5 {{d resigns}} 1-0\n");
    for (bad, line, reason) in [
        (format!("{seats}1A. e4 2A. d4 *\n"), 6, "2A."),
        (format!("{seats}1A. e4 1A. d4 *\n"), 6, "1A."),
        (format!("{seats}1a. e4 *\n"), 6, "1a."),
        (format!("{seats}1A. e4 e5 *\n"), 6, "e5"),
        (format!("{seats}1C. e4 *\n"), 6, "1C."),
        (format!("{seats}1A. e4 1a. *\n"), 4, "last move"),
        (format!("{seats}1A. e4\n"), 4, "no result"),
        (format!("{seats}1A. e4 (1A. d4) *\n"), 6, "variations are not supported"),
        ("1A. e4 *\n".to_owned(), 4, "no tags"),
        (format!("[WhiteA a]\n{seats}1A. e4 *\n"), 4, "invalid tag pair"),
    ] {
        let found = read(format!("{good}{bad}{good}").as_bytes());
        assert_eq!((found.games.len(), found.errors.len()), (2, 1), "{bad}: {:?}", found.errors);
        let message = found.errors[0].to_string();
        assert!(message.contains(&format!("some.bpgn, line {line}:")), "{bad}: {message}");
        assert!(message.contains(reason), "{bad}: {message}");
    }
    assert!(bpgn::read(Path::new("/no/such.bpgn")).is_err());
}

#[test]
fn bpgn_winner_needs_a_known_loser() {
    let game = |names: [&str; 4], ending: &str| {
        let [a, b, c, d] = names;
        let text = format!(
            "[WhiteA \"{a}\"][BlackA \"{b}\"][WhiteB \"{c}\"][BlackB \"{d}\"]\n1A. e4 {{{ending}}} 1-0"
        );
        read(text.as_bytes()).games[0].winner()
    };
    assert_eq!(game(["a", "b", "c", "d"], "d resigns"), Some(Side::BLACK));
    assert_eq!(game(["a", "b", "c", "d"], "c forfeits on time"), Some(Side::WHITE));
    assert_eq!(game(["a", "b", "c", "a"], "a checkmated"), Some(Side::BLACK));
    assert_eq!(game(["a", "b", "a", "d"], "a checkmated"), None);
    assert_eq!(game(["a", "b", "c", "d"], "e checkmated"), None);
    assert_eq!(game(["a", "b", "c", "d"], "Game drawn by agreement"), None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn bpgn_reader_survives_random_bytes(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        prop_assert!(read(&bytes).games.is_empty());
    }

    #[test]
    fn bpgn_reader_survives_damaged_games(
        file in 0..FILES.len(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
    ) {
        let mut bytes = FILES[file].as_bytes().to_vec();
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        for game in read(&bytes).games {
            game.winner();
        }
    }
}
