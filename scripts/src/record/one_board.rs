//! Games of bughouse as positions of single boards, from which a network learns that sees one board.

use menagerie::rules::{BoardId, Move, PackedMove};
use menagerie::variant::Variant;

use super::{End, GameRecord, PlyRecord};

impl GameRecord {
    /// Returns `true` if this is a game on two boards, whose FEN has both.
    pub(crate) fn has_two_boards(&self) -> bool {
        self.start.contains('|')
    }

    /// Returns the positions of a game on two boards, each as a game of one ply on the board of the player who moved:
    /// pieces arrive from the other board, so that those of a board are no game. `variant` is that of two boards.
    /// The result is that of the team, and unknown before the last move that the reference engine did not choose.
    /// Plies in which a player sat are left out. `None` if the game does not replay.
    pub(crate) fn single_boards(&self, variant: &Variant) -> Option<Vec<GameRecord>> {
        let mut position = self.position(variant, 0)?;
        let last_mistake = self.plies.iter().rposition(PlyRecord::mistaken);
        let fingerprint = self.fingerprint();
        let mut games = Vec::with_capacity(self.plies.len());
        for (nth, ply) in self.plies.iter().enumerate() {
            let played = PackedMove(ply.played).unpack()?;
            let board = played.board();
            position.select_side_to_move(played);
            let start = position.board_position(board)?.fen();
            position.play(played).then_some(())?;
            // The best move is the target. The one that was played would be a mistake that ends the game's value.
            let on_board = |&(m, share): &(u16, u16)| {
                let m =
                    PackedMove(m).unpack().filter(|m| m.board() == board && *m != Move::Pass)?;
                Some((m.on(BoardId::A).pack().0, share))
            };
            let policy: Vec<(u16, u16)> = ply.policy.iter().filter_map(on_board).collect();
            let Some(&(best, _)) = policy.iter().max_by_key(|(_, share)| *share) else { continue };
            let is_known = last_mistake.is_none_or(|last| last < nth);
            let end = self.end.filter(|_| is_known).map(|end| End {
                // Side 1 has White on board B.
                winner: end.winner.map(|side| if board == BoardId::A { side } else { side ^ 1 }),
                ..end
            });
            games.push(GameRecord {
                start,
                plies: vec![PlyRecord { played: best, policy, ..ply.clone() }],
                end,
                part_of: Some(fingerprint),
                ..GameRecord::default()
            });
        }
        Some(games)
    }
}

#[cfg(test)]
mod tests {
    use menagerie::variant::Catalogue;

    use super::*;
    use crate::readers::parse_labelled_game;

    #[test]
    fn games_on_two_boards_are_positions_of_one() {
        let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR[] w KQkq - 0 1";
        let plies = "1e2e4:10:179 1d7d5:0:179 2e2e4:5:179/a2a3 1e4d5:50:178 2P@e6:7:178/d7d6 2e2e4:8:178 1d8d5:-9:177";
        let line = format!("bughouse\t{start}|{start}\t1-0\t{plies}");
        let board = Catalogue::shipped().get("bughouse").expect("shipped");
        let two = board.on_two_boards().expect("two boards");
        let game = parse_labelled_game(&line, &two).expect("a game");
        assert!(game.has_two_boards());
        let games = game.single_boards(&two).expect("it replays");
        let texts: Vec<(String, String, Option<u8>)> = games
            .iter()
            .map(|game| {
                let m = PackedMove(game.plies[0].played).unpack().expect("a move");
                let position = board.position(&game.start, true).expect("a position");
                (game.start.clone(), position.turn_text(&[m]), game.winner())
            })
            .collect();
        let expected = [
            ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR[] w HAha - 0 1", "e2e4", None),
            ("rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR[] b HAha - 0 1", "d7d5", None),
            ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR[] w HAha - 0 1", "e2e4", None),
            ("rnbqkbnr/ppp1pppp/8/3p4/4P3/8/PPPP1PPP/RNBQKBNR[] w HAha - 0 2", "e4d5", None),
            // The pawn captured on board A arrives on board B, as one of the same colour.
            ("rnbqkbnr/pppppppp/8/8/8/P7/1PPPPPPP/RNBQKBNR[p] b HAha - 0 1", "P@e6", None),
            // Team 1 won, which has Black on board B and White on board A.
            ("rnbqkbnr/ppp1pppp/3p4/8/8/P7/1PPPPPPP/RNBQKBNR[p] w HAha - 0 2", "e2e4", Some(1)),
            ("rnbqkbnr/ppp1pppp/8/3P4/8/8/PPPP1PPP/RNBQKBNR[] b HAha - 0 2", "d8d5", Some(0)),
        ];
        let expected = expected.map(|(fen, m, winner)| (fen.to_owned(), m.to_owned(), winner));
        assert_eq!(texts, expected);
        let whole = Some(game.fingerprint());
        assert!(games.iter().all(|part| part.part_of == whole && part.plies.len() == 1));
        assert!((games[3].plies[0].score.expect("a score") - 0.0918).abs() < 0.001);
        // A player who should sit has no move to learn, and a side that no game has is no panic.
        let mut sat = game;
        sat.plies[0].policy = vec![(Move::Pass.pack().0, 1)];
        sat.end = Some(End { winner: Some(7), turns: 0 });
        assert_eq!(sat.single_boards(&two).expect("it replays").len(), 6);
    }
}
