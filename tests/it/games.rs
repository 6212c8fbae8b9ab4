//! Games of reference programs: all moves are legal and the games end with the same outcome.

use crate::support::golden;

use menagerie::rules::Position;
use menagerie::variant::Catalogue;

#[test]
fn games_replay_to_their_end() {
    let games = golden::rows::<4>(include_str!("../golden/games.tsv"));
    let ends = golden::rows::<6>(include_str!("../golden/games_reason.tsv"));
    let mut wrong = Vec::new();
    let mut replayed = 0;
    for ([name, fen, _, moves], [_, _, result, reason, _, final_fen]) in games.zip(ends) {
        let (name, chess960) = golden::variant(name);
        let variant = Catalogue::shipped().get(name).expect("in the catalogue");
        replayed += 1;
        let start = variant.position(fen, chess960).expect("a valid FEN");
        let final_position = replay(start, moves).and_then(|end| {
            let found = end.result().map_or("*".to_owned(), |outcome| outcome.to_string());
            if found == format!("{result} {reason}") {
                Ok(end.fen())
            } else {
                Err(format!("result {found}, expected {result} {reason}"))
            }
        });
        match final_position {
            Err(error) => wrong.push(format!("{name} \"{fen}\": {error}")),
            Ok(end) if end != final_fen => {
                wrong.push(format!("{name}: {end}, expected {final_fen}"))
            }
            Ok(_) => {}
        }
    }
    assert!(wrong.is_empty(), "{} of {replayed} differ:\n{}", wrong.len(), wrong.join("\n"));
    assert!(replayed >= 160);
}

fn replay(mut position: Position, moves: &str) -> Result<Position, String> {
    for text in moves.split_ascii_whitespace() {
        if let Some(outcome) = position.result() {
            return Err(format!("ended before {text}: {outcome}"));
        }
        let plies =
            position.parse_turn(text).ok_or_else(|| format!("{text} in {}", position.fen()))?;
        for ply in plies {
            position.play_unchecked(ply);
        }
    }
    Ok(position)
}
