//! Labelled positions: encoded once, kept as 16-bit words.

use menagerie::encoding::sparse::IndexMap;
use menagerie::encoding::{SparseEncoding, SparseInput};
use menagerie::rules::{ByColor, Clocks, MoveList, PackedMove, Position, Side};
use menagerie::variant::Variant;

use crate::record::{GameRecord, PlyRecord, Targets};

/// Words before the inputs of a position.
const HEADER_WORDS: usize = 8;

/// Stands for a number that is not known.
const UNKNOWN: u16 = u16::MAX;

/// The largest word that stands for an expected score of 1.
const WHOLE: f32 = (u16::MAX - 1) as f32;

/// What became of a position.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Outcome {
    /// The game's result by class: the mover won, the other side won, draw.
    Result(usize),
    /// Score, 0 to 1 for the mover, that the reference engine expected where the game left its moves.
    Score(f32),
    /// Neither a result nor a later score is known.
    Unknown,
}

/// Target of the policy: numbers of legal moves with their shares, all above 0, with a sum of 1. Empty if there
/// is none.
pub(super) type PolicyTarget = [(u16, f32)];

/// Target of the value head.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ValueTarget {
    /// Expected score of the mover, 0 to 1, by the search of the records.
    pub(super) score: Option<f32>,
    pub(super) outcome: Outcome,
    /// Probability of a draw where the expected score is 1/2; see [`Targets::draws`].
    pub(super) draws: f32,
    /// Turns until the game ended.
    pub(super) turns_left: Option<f32>,
}

/// Receives a position, its legal moves and its targets.
type Visitor<'a> = dyn FnMut(&Position, &MoveList, &PolicyTarget, ValueTarget) + 'a;

/// One labelled position.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Labelled<'a> {
    /// Active inputs.
    pub inputs: &'a [u16],
    /// Move rows, `rows_per_move` a legal move.
    pub move_rows: &'a [u16],
    /// Policy of the search, in pairs of words: the number of a legal move, and its share in units of the
    /// records. Empty if there is none.
    pub policy: &'a [u16],
    /// Expected score of the mover by the search, 0 to 1.
    pub score: Option<f32>,
    /// What became of the position.
    pub outcome: Outcome,
    /// Probability of a draw where the expected score is 1/2; see [`Targets::draws`].
    pub draws: f32,
    /// Turns until the game ended.
    pub turns_left: Option<f32>,
}

impl<'a> Labelled<'a> {
    /// Adds the words of the position to `words`.
    pub fn write(&self, words: &mut Vec<u16>) {
        let share = |score: f32| (score.clamp(0.0, 1.0) * WHOLE).round() as u16;
        let (kind, end) = match self.outcome {
            Outcome::Result(class) => (class as u16, 0),
            Outcome::Score(score) => (3, share(score)),
            Outcome::Unknown => (UNKNOWN, 0),
        };
        words.extend([
            self.inputs.len() as u16,
            self.move_rows.len() as u16,
            self.policy.len() as u16,
            self.score.map_or(UNKNOWN, share),
            kind,
            end,
            share(self.draws),
            self.turns_left.map_or(UNKNOWN, |turns| turns as u16),
        ]);
        words.extend_from_slice(self.inputs);
        words.extend_from_slice(self.move_rows);
        words.extend_from_slice(self.policy);
    }

    /// Returns the position whose words begin `words`, and the number of its words; `None` if they are
    /// cut short or no position's.
    pub fn read(words: &'a [u16]) -> Option<(Labelled<'a>, usize)> {
        let (&[inputs, rows, policy, score, kind, end, draws, turns], rest) =
            words.split_first_chunk::<HEADER_WORDS>()?;
        let (inputs, rest) = rest.split_at_checked(usize::from(inputs))?;
        let (move_rows, rest) = rest.split_at_checked(usize::from(rows))?;
        let policy = rest.get(..usize::from(policy))?;
        let known = |word: u16| (word != UNKNOWN).then_some(word);
        let share = |word: u16| f32::from(word) / WHOLE;
        let outcome = match kind {
            0..=2 => Outcome::Result(usize::from(kind)),
            3 => Outcome::Score(share(end)),
            UNKNOWN => Outcome::Unknown,
            _ => return None,
        };
        let position = Labelled {
            inputs,
            move_rows,
            policy,
            score: known(score).map(share),
            outcome,
            draws: share(draws),
            turns_left: known(turns).map(f32::from),
        };
        Some((position, HEADER_WORDS + inputs.len() + move_rows.len() + policy.len()))
    }
}

/// Labels the positions of games and encodes them.
#[derive(Debug)]
pub struct Labeler<'a> {
    variant: &'a Variant,
    encoding: &'a SparseEncoding,
    targets: Targets,
    legal: MoveList,
    input: SparseInput,
}

impl<'a> Labeler<'a> {
    /// Returns a labeler of games of `variant`. `targets` says how recorded scores foretell the results of this
    /// variant, by [`Targets::steepness`] and [`Targets::draws`].
    pub fn new(variant: &'a Variant, encoding: &'a SparseEncoding, targets: Targets) -> Self {
        Labeler { variant, encoding, targets, legal: vec![], input: SparseInput::default() }
    }

    /// Adds the words of every position of `game` from which something can be learned, with the indices that
    /// `map` gives to those of the encoding. Returns the number of positions, or `None` if the game does not
    /// replay; `words` is then as it was.
    pub fn label(
        &mut self,
        game: &GameRecord,
        map: Option<&IndexMap>,
        words: &mut Vec<u16>,
    ) -> Option<usize> {
        let before = words.len();
        let count = self.label_plies(game, map, words);
        if count.is_none() {
            words.truncate(before);
        }
        count
    }

    fn label_plies(
        &mut self,
        game: &GameRecord,
        map: Option<&IndexMap>,
        words: &mut Vec<u16>,
    ) -> Option<usize> {
        let mut input = std::mem::take(&mut self.input);
        let encoding = self.encoding;
        let mut policy_words = Vec::new();
        let count = self.visit(game, &mut |position, legal, policy, target| {
            encoding.write(position, legal, &mut input);
            if let Some(map) = map {
                map.apply(&mut input);
            }
            policy_words.clear();
            for &(m, share) in policy {
                policy_words.extend([m, (share * WHOLE).round() as u16]);
            }
            let ValueTarget { score, outcome, draws, turns_left } = target;
            let SparseInput { inputs, move_rows } = &input;
            let policy = &policy_words;
            Labelled { inputs, move_rows, policy, score, outcome, draws, turns_left }.write(words);
        });
        self.input = input;
        count
    }

    /// Calls `each` with every position of `game` that has a target. Returns the number of positions, or `None`
    /// if the game does not replay.
    pub(super) fn visit(&mut self, game: &GameRecord, each: &mut Visitor<'_>) -> Option<usize> {
        let mut position = game.position(self.variant, 0)?;
        let mut movers = Vec::with_capacity(game.plies.len());
        let mut ends_turn = Vec::with_capacity(game.plies.len());
        let mut replay = position.clone();
        for nth in 0..game.plies.len() {
            let m = prepare(&mut replay, game, nth)?;
            movers.push(replay.turn());
            replay.play(m).then_some(())?;
            ends_turn.push(!replay.mid_turn());
        }
        let outcomes = self.outcomes(game, &movers);
        let turns = turns_left(game, &ends_turn);
        let draws = self.targets.draws;
        let mut policy = Vec::new();
        let mut count = 0;
        let mut side_positions = game.side_positions.iter().peekable();
        for (nth, ply) in game.plies.iter().enumerate() {
            let m = prepare(&mut position, game, nth)?;
            position.legal_moves(&mut self.legal);
            policy_target(ply, &self.legal, &mut policy);
            let score = ply.score.map(|score| self.expected(score));
            let outcome = outcomes[nth];
            let labelled = !policy.is_empty() || score.is_some() || outcome != Outcome::Unknown;
            if labelled && !self.legal.is_empty() {
                let target = ValueTarget { score, outcome, draws, turns_left: turns[nth] };
                each(&position, &self.legal, &policy, target);
                count += 1;
            }
            while let Some(side) = side_positions.next_if(|side| side.ply as usize == nth) {
                let reached = side.position(&position)?;
                reached.legal_moves(&mut self.legal);
                if !self.legal.is_empty() {
                    let score = Some(self.expected(side.score));
                    let outcome = Outcome::Unknown;
                    let target = ValueTarget { score, outcome, draws, turns_left: None };
                    each(&reached, &self.legal, &[], target);
                    count += 1;
                }
            }
            position.play_unchecked(m);
        }
        // Those of plies out of order, or that the game does not have.
        side_positions.next().is_none().then_some(count)
    }

    /// Returns what became of each ply: the score where the next move was played that the reference engine
    /// did not choose, else the game's result.
    fn outcomes(&self, game: &GameRecord, movers: &[Side]) -> Vec<Outcome> {
        let mut outcomes = vec![Outcome::Unknown; game.plies.len()];
        let mut later_score = None;
        let mut left_line = false;
        for (nth, ply) in game.plies.iter().enumerate().rev() {
            if ply.mistaken() {
                left_line = true;
                later_score = ply.score.map(|score| (self.expected(score), movers[nth]));
            }
            outcomes[nth] = match (left_line, later_score, game.end) {
                (true, Some((score, mover)), _) => {
                    Outcome::Score(if mover == movers[nth] { score } else { 1.0 - score })
                }
                (false, _, Some(end)) => Outcome::Result(match end.winner {
                    None => 2,
                    Some(winner) => usize::from(usize::from(winner) != movers[nth].index()),
                }),
                _ => Outcome::Unknown,
            };
        }
        outcomes
    }

    /// Returns the expected score, 0 to 1, of a recorded one, -1 to 1.
    fn expected(&self, score: f32) -> f32 {
        (1.0 + self.targets.expected(score)) / 2.0
    }
}

/// Returns the move of ply `nth` and lets its player be the one to move, with the clocks that it had.
fn prepare(
    position: &mut Position,
    game: &GameRecord,
    nth: usize,
) -> Option<menagerie::rules::Move> {
    let m = PackedMove(game.plies[nth].played).unpack()?;
    if position.clocks().is_some() {
        if let Some(&[white_a, black_a, white_b, black_b]) = game.clocks.get(nth) {
            let clock = |white, black| ByColor { white, black };
            position.set_clocks(Clocks([clock(white_a, black_a), clock(white_b, black_b)]));
        }
        position.select_side_to_move(m).then_some(())?;
    }
    Some(m)
}

/// Shares below this are left out of the target of the policy.
const LEAST_SHARE: f32 = 1e-3;

/// Replaces `target` by the policy of a ply.
fn policy_target(ply: &PlyRecord, legal: &MoveList, target: &mut Vec<(u16, f32)>) {
    target.clear();
    let total: f32 = ply.policy.iter().map(|&(_, share)| f32::from(share)).sum();
    for &(m, share) in &ply.policy {
        let share = f32::from(share) / total;
        let m = PackedMove(m).unpack();
        if share >= LEAST_SHARE
            && let Some(nth) = legal.iter().position(|&other| m == Some(other))
        {
            target.push((nth as u16, share));
        }
    }
    let kept: f32 = target.iter().map(|(_, share)| share).sum();
    for (_, share) in target {
        *share /= kept;
    }
}

/// Returns the turns until the end of the game, where every later move was the reference engine's.
fn turns_left(game: &GameRecord, ends_turn: &[bool]) -> Vec<Option<f32>> {
    let mut left = vec![None; game.plies.len()];
    let Some(end) = game.end else { return left };
    let mut turns = f32::from(end.turns);
    for (nth, ply) in game.plies.iter().enumerate().rev() {
        if ply.mistaken() {
            break;
        }
        turns += f32::from(u8::from(ends_turn[nth]));
        left[nth] = Some(turns);
    }
    left
}

#[cfg(test)]
mod tests {
    use menagerie::variant::Catalogue;

    use super::*;
    use crate::record::SidePosition;

    /// Policy, score, outcome, turns left, and number of legal moves.
    type Labels = (Vec<u16>, Option<f32>, Outcome, Option<f32>, usize);

    fn labels(line: &str) -> Vec<Labels> {
        let variant = Catalogue::shipped().get("crazyhouse").expect("it is shipped");
        labels_of(&crate::readers::parse_labelled_game(line, &variant).expect("a game"))
    }

    fn labels_of(game: &GameRecord) -> Vec<Labels> {
        let variant = Catalogue::shipped().get("crazyhouse").expect("it is shipped");
        let encoding = SparseEncoding::new(&variant.start().game_spec()).expect("it has pieces");
        let mut words = Vec::new();
        let mut labeler = Labeler::new(&variant, &encoding, Targets::default());
        let count = labeler.label(game, None, &mut words).expect("it replays");
        let mut found = Vec::new();
        let mut rest = &words[..];
        while let Some((position, length)) = Labelled::read(rest) {
            let moves = position.move_rows.len() / encoding.shape().rows_per_move;
            let Labelled { policy, score, outcome, turns_left, .. } = position;
            found.push((policy.to_vec(), score, outcome, turns_left, moves));
            rest = &rest[length..];
        }
        assert!(rest.is_empty());
        assert_eq!(found.len(), count);
        found
    }

    #[test]
    fn labels_before_a_random_move_have_the_score_at_that_move() {
        let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR[] w KQkq - 0 1";
        let line = format!(
            "crazyhouse\t{start}\t1-0\te2e4:0 e7e5:0 g1f3:100/f1c4 b8c6:0 d1f3:m2 d7d6:m-1"
        );
        let found = labels(&line);
        assert_eq!(found.len(), 6);
        assert!(
            found
                .iter()
                .all(|(policy, ..)| matches!(policy[..], [_, share] if f32::from(share) == WHOLE))
        );
        assert_eq!(found[0].4, 20);
        let score = found[2].1.expect("a score");
        assert!((score - 0.591).abs() < 1e-3, "{score}");
        let close = |outcome: Outcome, wanted: f32| matches!(outcome, Outcome::Score(score) if (score - wanted).abs() < 1e-4);
        assert!(close(found[0].2, score) && close(found[1].2, 1.0 - score));
        assert_eq!([found[3].2, found[4].2], [Outcome::Result(1), Outcome::Result(0)]);
        assert_eq!([found[2].3, found[3].3, found[5].3], [None, Some(3.0), Some(1.0)]);
        assert_eq!(found[4].1, Some(1.0));
    }

    #[test]
    fn policies_of_self_play_are_shares_of_legal_moves() {
        let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR[] w KQkq - 0 1";
        let line = format!("crazyhouse\t{start}\t1-0\te2e4:0 e7e5:0");
        let variant = Catalogue::shipped().get("crazyhouse").expect("it is shipped");
        let mut game = crate::readers::parse_labelled_game(&line, &variant).expect("a game");
        let position = game.position(&variant, 0).expect("it replays");
        let mut legal = MoveList::new();
        position.legal_moves(&mut legal);
        let packed = |nth: usize| legal[nth].pack().0;
        // The last share is too small, and a king's move is not legal.
        let illegal = position.parse_turn("e2e4").expect("legal")[0].pack().0 ^ 1;
        game.plies[0].policy =
            vec![(packed(3), 40_000), (packed(5), 10_000), (illegal, 65_535), (packed(7), 30)];
        game.plies[0].surprise = Some(0.5);
        game.plies[1].policy.clear();
        let found = labels_of(&game);
        let share = |share: f32| (share * WHOLE).round() as u16;
        assert_eq!(found[0].0, [3, share(0.8), 5, share(0.2)]);
        assert_eq!(found[0].2, Outcome::Result(0));
        assert!(found[1].0.is_empty());
    }

    #[test]
    fn positions_beside_the_game_have_a_score_alone() {
        let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR[] w KQkq - 0 1";
        let line = format!("crazyhouse\t{start}\t1-0\te2e4:0 e7e5:0");
        let variant = Catalogue::shipped().get("crazyhouse").expect("it is shipped");
        let mut game = crate::readers::parse_labelled_game(&line, &variant).expect("a game");
        let plain = labels_of(&game);
        let e5 = game.plies[1].played;
        let d4 = variant.start().parse_turn("d2d4").expect("legal")[0].pack().0;
        let side = |ply, moves: &[u16]| SidePosition { ply, moves: moves.to_vec(), score: 0.6 };
        game.side_positions = vec![side(0, &[d4]), side(0, &[d4, e5]), side(1, &[e5])];
        let found = labels_of(&game);
        assert_eq!([&found[0], &found[3]], [&plain[0], &plain[1]]);
        for (nth, moves) in [(1, 20), (2, 29), (4, 29)] {
            let (policy, score, outcome, turns, legal) = &found[nth];
            assert!(policy.is_empty() && (score.expect("a score") - 0.8).abs() < 1e-3);
            assert_eq!((*outcome, *turns, *legal), (Outcome::Unknown, None, moves), "{nth}");
        }
        // An illegal move, and a ply that the game does not have.
        for bad in [side(0, &[e5]), side(2, &[])] {
            game.side_positions = vec![bad];
            let encoding =
                SparseEncoding::new(&variant.start().game_spec()).expect("it has pieces");
            let mut words = vec![];
            let mut labeler = Labeler::new(&variant, &encoding, Targets::default());
            assert_eq!(labeler.label(&game, None, &mut words), None);
            assert!(words.is_empty());
        }
    }
}
