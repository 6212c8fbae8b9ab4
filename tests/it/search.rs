//! The search on explicit game trees, compared with exhaustive solutions.

use menagerie::encoding::{Encoding, Shape};
use menagerie::nn::{Batch, EvalError, Evaluator, Uniform};
use menagerie::rules::{Move, MoveList, PerSide, Position, ProvenValue, Side};
use menagerie::search::{GumbelParams, Params, Proof, Searcher, Tree, improved_policy};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

fn search(position: &Position, visits: u32, batch: usize) -> Tree {
    let mut tree = Tree::new(position.clone(), Params::default(), 1 << 20);
    let mut evaluator = Uniform::new(Encoding::of(position).shape());
    run_search(&mut tree, &mut evaluator, visits, batch);
    tree
}

fn run_search(tree: &mut Tree, evaluator: &mut dyn Evaluator, visits: u32, batch: usize) {
    let mut searcher = Searcher::new(tree, evaluator, batch);
    let mut spent = 0;
    while spent < visits && !searcher.tree().is_proven() {
        let step = searcher.step(visits - spent).expect("Uniform never fails");
        assert!(step.visits > 0 && !step.full);
        spent += step.visits;
    }
}

fn test_tree(text: &str, sides: usize) -> Position {
    Position::test_tree(text, sides).expect("a game tree")
}

/// Returns the score of each side and the number of turns to the end, if each side maximises its own score,
/// the winner shortens the game and the losers lengthen it. With several sides, all results of breaking ties
/// are returned.
fn solve(position: &Position, sides: usize) -> Vec<(PerSide<i8>, u32)> {
    let mut legal = MoveList::new();
    position.legal_moves(&mut legal);
    if let Some(outcome) = position.outcome_given(&legal) {
        let scores = PerSide::from_fn(|s| if s.index() < sides { outcome.score(s) } else { 0 });
        return vec![(scores, 0)];
    }
    let mover = position.turn();
    let solutions: Vec<_> = legal
        .iter()
        .map(|&m| {
            let mut child = position.clone();
            child.play_unchecked(m);
            let ended = u32::from(!child.mid_turn() || child.outcome().is_some());
            let mut found = solve(&child, sides);
            found.iter_mut().for_each(|(_, turns)| *turns += ended);
            found
        })
        .collect();
    // However ties are broken, the mover gets at least the maximum of the minima.
    let worst = |found: &Vec<(PerSide<i8>, u32)>| found.iter().map(|(s, _)| s[mover]).min();
    let guaranteed = solutions.iter().filter_map(worst).max().expect("a legal move");
    let mut all: Vec<_> = solutions.concat();
    all.retain(|(scores, _)| scores[mover] >= guaranteed);
    if sides == 2 {
        // With two sides, only the length under best play.
        let best = all.iter().map(|(scores, _)| scores[mover]).max().expect("one is left");
        all.retain(|(scores, _)| scores[mover] == best);
        all.sort_by_key(|&(_, turns)| if best == 1 { i64::from(turns) } else { -i64::from(turns) });
        all.truncate(1);
    }
    all
}

/// Returns a random tree of at most `depth` plies, with turns of several plies.
fn random_tree(rng: &mut SmallRng, sides: usize, depth: usize) -> String {
    let side = |rng: &mut SmallRng| char::from(b'a' + rng.random_range(0..sides) as u8);
    if depth == 0 || rng.random_bool(0.15) {
        return if rng.random_bool(0.3) { "=".to_owned() } else { side(rng).to_string() };
    }
    let children: String = (0..rng.random_range(1..=4))
        .map(|_| {
            let open = if rng.random_bool(0.15) { "+" } else { "" };
            format!("{open}{}", random_tree(rng, sides, depth - 1))
        })
        .collect();
    format!("{}({children})", side(rng))
}

#[test]
fn proofs_are_true_and_small_trees_are_proven() {
    let mut rng = SmallRng::seed_from_u64(1);
    let mut proofs = 0;
    for case in 0..3000 {
        let sides = 2 + case % 3;
        let tree =
            format!("a({}{})", random_tree(&mut rng, sides, 4), random_tree(&mut rng, sides, 4));
        let position = test_tree(&tree, sides);
        let truth = solve(&position, sides);
        let mover = position.turn();
        for visits in [10, 3000] {
            let found = search(&position, visits, 1 + case % 4).proof();
            let scores = || truth.iter().map(|(scores, _)| scores[mover]);
            match found {
                Proof::Open if visits == 10 => continue,
                // With several sides, ties may leave the outcome open.
                Proof::Open => assert!(sides > 2, "{tree}"),
                Proof::Won(turns) => {
                    assert!(scores().all(|score| score == 1), "{tree}");
                    let solved = search(&position, 3000, 1);
                    if sides == 2 {
                        assert!(u32::from(turns) >= truth[0].1, "{tree}");
                        assert_eq!(solved.proof(), Proof::Won(truth[0].1 as u8), "{tree}");
                    }
                }
                Proof::Drawn => assert!(scores().all(|score| score == 0), "{tree}"),
                Proof::Lost(turns) => {
                    assert!(scores().all(|score| score == -1), "{tree}");
                    if sides == 2 && visits == 3000 {
                        assert_eq!(turns, Some(truth[0].1 as u8), "{tree}");
                    }
                }
            }
            proofs += 1;
        }
    }
    assert!(proofs > 3000, "{proofs}");
}

#[test]
fn chosen_move_keeps_the_proven_result() {
    let mut rng = SmallRng::seed_from_u64(2);
    let mut kept = 0;
    for _ in 0..1000 {
        let tree = format!("a({}{})", random_tree(&mut rng, 2, 5), random_tree(&mut rng, 2, 5));
        let position = test_tree(&tree, 2);
        let truth = solve(&position, 2)[0].0;
        for visits in [3, 10, 30, 100] {
            let searched = search(&position, visits, 2);
            if searched.proof() == Proof::Open {
                continue;
            }
            let mut next = position.clone();
            next.play_unchecked(searched.root_moves()[0].m);
            assert_eq!(solve(&next, 2)[0].0, truth, "{tree} {visits}");
            kept += 1;
        }
    }
    assert!(kept > 1000, "{kept}");
}

#[test]
fn chosen_move_is_the_quickest_win_or_the_slowest_loss() {
    // Three moves win, in 5, 1 and 3 turns.
    let tree = search(&test_tree("a(b(a(b(aa)))ab(a(a)))", 2), 200, 1);
    assert_eq!(tree.proof(), Proof::Won(1));
    assert_eq!(tree.root_moves()[0].proof, Proof::Won(1));
    let tree = search(&test_tree("a(bb(a(b))b(a(b(a(b)))))", 2), 200, 1);
    assert_eq!(tree.proof(), Proof::Lost(Some(5)));
    assert_eq!(tree.root_moves()[0].proof, Proof::Lost(Some(5)));
}

#[test]
fn win_length_is_searched_until_exact() {
    // The long win is found first; the short one is behind the second move.
    let position = test_tree("a(b(a(b(a(a))))b(a(a)))", 2);
    let tree = search(&position, 1000, 1);
    assert_eq!(tree.proof(), Proof::Won(3));
    assert!(tree.is_proven());
}

#[test]
fn win_length_ignores_repetitions() {
    let variant = menagerie::variant::Catalogue::shipped().get("3x3").expect("3x3 is shipped");
    let position = variant.position("k2/3/1RK w - - 0 1", false).expect("a position");
    for batch in [1, 4] {
        let tree = search(&position, 500, batch);
        assert_eq!(tree.proof(), Proof::Won(5));
        assert!(tree.is_proven());
    }
}

#[test]
fn lengths_count_whole_turns() {
    // a moves twice, then b is to move and the game ends: two turns.
    let tree = search(&test_tree("a(+a(b(aa)))", 2), 100, 1);
    assert_eq!(tree.proof(), Proof::Won(2));
    let line = &tree.lines(1)[0];
    assert_eq!(
        tree.root().split_turns(&line.moves).iter().map(Vec::len).collect::<Vec<_>>(),
        [2, 1]
    );
}

#[test]
fn whole_turn_completes_a_partial_turn() {
    let position = test_tree("a(+a(+a(b(ab)b(ba)))+a(b(ab)))", 2);
    let mut tree = Tree::new(position.clone(), Params::default(), 1 << 20);
    let mut evaluator = Uniform::new(Encoding::of(&position).shape());
    let mut searcher = Searcher::new(&mut tree, &mut evaluator, 1);
    searcher.step(1).expect("Uniform never fails");
    let line = searcher.tree().lines(1).remove(0);
    assert_eq!(line.moves.len(), 1);
    let turn = searcher.whole_turn(&line).expect("Uniform never fails");
    assert_eq!(position.parse_turn(&position.turn_text(&turn)), Some(turn));
}

#[test]
fn only_moves_are_played_before_a_position_is_evaluated() {
    let variant = menagerie::variant::Catalogue::shipped().get("antichess").expect("shipped");
    // After b2-b4 Black must take in passing, and White must take back. Then Black has two moves.
    let position = variant.position("8/7p/8/8/2p5/8/PP6/8 w - - 0 1", false).expect("a position");
    let b4 = position.parse_turn("b2b4").expect("legal")[0];
    for (only_moves, turns) in [(0.0, 1), (1.0, 2), (16.0, 3)] {
        let params = Params { only_moves, ..Params::default() };
        let mut tree = Tree::new(position.clone(), params, 1 << 20);
        tree.restrict(&[b4]);
        let mut evaluator = Uniform::new(Encoding::of(&position).shape());
        run_search(&mut tree, &mut evaluator, 1, 1);
        run_search(&mut tree, &mut evaluator, 1, 1);
        assert_eq!((tree.visits(), tree.deepest()), (2, turns), "{only_moves}");
    }
}

#[test]
fn sides_maximise_their_own_score() {
    // b prefers its own win to a draw, and a prefers a draw to c's win.
    let tree = search(&test_tree("a(b(=bc)c(=c))", 3), 500, 1);
    assert_eq!(tree.proof(), Proof::Lost(None));
    let tree = search(&test_tree("a(b(==c)c(=c))", 3), 500, 1);
    assert_eq!(tree.proof(), Proof::Drawn);
    assert_eq!(tree.value()[Side::new(2)], 0.0);
}

#[test]
fn advance_keeps_the_subtree() {
    let variant = menagerie::variant::Catalogue::shipped().get("3x3").expect("3x3 is shipped");
    let position = variant.position("kqr/3/KQR w - - 0 1", false).expect("a position");
    let mut tree = search(&position, 2000, 4);
    for _ in 0..6 {
        let Some(best) = tree.root_moves().first().cloned() else { break };
        tree.advance(best.m);
        assert!(tree.visits() <= best.visits && tree.visits() + 50 > best.visits);
        let fresh = search(tree.root(), 4000, 1).proof();
        let mut evaluator = Uniform::new(Encoding::of(&position).shape());
        run_search(&mut tree, &mut evaluator, 4000, 4);
        if let (Proof::Won(_), Proof::Drawn | Proof::Lost(_)) = (tree.proof(), fresh) {
            panic!("{:?} is not {fresh:?} in {}", tree.proof(), tree.root().fen());
        }
    }
}

#[test]
fn reclaim_prefers_least_visited() {
    let variant = menagerie::variant::Catalogue::shipped().get("crazyhouse").expect("shipped");
    let fen = "r3kb1r/ppp2ppp/2n1bn2/3qp3/8/2NPBN2/PPP1BPPP/R2QK2R[Pp] w KQkq - 0 9";
    let position = variant.position(fen, false).expect("a position");
    let mut evaluator = Uniform::new(Encoding::of(&position).shape());
    let mut tree = Tree::new(position.clone(), Params::default(), 1 << 20);
    let (mut visits, mut favourite) = (0, None);
    for round in 0..10 {
        run_search(&mut tree, &mut evaluator, 4000, 1 + round % 5);
        let memory = tree.memory();
        assert!(memory.bytes <= 1 << 20, "{memory:?}");
        assert!(tree.permille() > 400 || round < 3, "{memory:?}");
        // The values of the root and its moves stay.
        visits += 4000;
        assert_eq!(tree.visits(), visits);
        let choices = tree.root_moves();
        let below: u32 = choices.iter().map(|choice| choice.visits).sum();
        assert_eq!(below + 1, visits);
        favourite = favourite.max(choices.iter().map(|choice| choice.visits).max());
        assert_eq!(favourite, choices.iter().map(|choice| choice.visits).max());
    }
}

#[test]
fn mate_is_found_in_little_memory() {
    let variant = menagerie::variant::Catalogue::shipped().get("chess").expect("shipped");
    let position =
        variant.position("kbK5/pp6/1P6/8/8/8/8/R7 w - - 0 1", false).expect("a position");
    let mut evaluator = Uniform::new(Encoding::of(&position).shape());
    let mut tree = Tree::new(position, Params::default(), 1 << 16);
    run_search(&mut tree, &mut evaluator, 20_000, 1);
    // Mate in two: three turns.
    assert_eq!(tree.proof(), Proof::Won(3));
    assert!(tree.memory().bytes <= 1 << 16);
}

#[test]
fn draw_score_decides_whether_a_draw_is_played() {
    // The first move draws. The result of the second, which is deep, is unknown.
    let mut deep = "=".to_owned();
    for side in ["a", "b"].repeat(6) {
        deep = format!("{side}({deep}{deep})").replace("==", "=b");
    }
    let position = test_tree(&format!("a(={deep})"), 2);
    let to_draw = |worth: f32| {
        let mut tree = Tree::new(position.clone(), Params::default(), 1 << 20);
        assert_eq!(tree.params_mut().set("draw_score", worth), Ok(()));
        let uniform = Uniform::new(Encoding::of(&position).shape());
        run_search(&mut tree, &mut Decisive { uniform, win: |_| 0.5 }, 40, 1);
        let choices = tree.root_moves();
        let drawn = choices.iter().find(|choice| choice.proof == Proof::Drawn).expect("a draw");
        (drawn.visits, choices[0].proof == Proof::Drawn)
    };
    let (wanted, unwanted) = (to_draw(0.9), to_draw(-0.9));
    assert!(wanted.0 > 20 && wanted.1, "{wanted:?}");
    assert!(unwanted.0 < 10 && !unwanted.1, "{unwanted:?}");
}

/// Evaluates positions by their key, without draws.
struct Decisive {
    uniform: Uniform,
    win: fn(u64) -> f32,
}

impl Evaluator for Decisive {
    fn shape(&self) -> Shape {
        self.uniform.shape()
    }

    fn preferred_batch(&self) -> usize {
        1
    }

    fn evaluate(&mut self, batch: &mut Batch) -> Result<(), EvalError> {
        for row in 0..batch.len() {
            let win = (self.win)(batch.key(row).0);
            batch.fill(row, &[win, 1.0 - win, 0.0], 30.0, |nth| nth as f32 * win);
        }
        Ok(())
    }
}

#[test]
fn lower_confidence_bound_orders_root_moves() {
    let variant = menagerie::variant::Catalogue::shipped().get("chess").expect("shipped");
    let mut differ = 0;
    let mut position = variant.start();
    for turn in 0..12 {
        let by_visits = Params { lcb: 0.0, ..Params::default() };
        let mut tree = Tree::new(position.clone(), by_visits, 1 << 22);
        let uniform = Uniform::new(Encoding::of(&position).shape());
        let mut evaluator = Decisive { uniform, win: |key| (key % 1000) as f32 / 1000.0 };
        run_search(&mut tree, &mut evaluator, 300, 1);
        let by_visits = tree.root_moves();
        assert!(by_visits.is_sorted_by(|a, b| a.visits >= b.visits));
        assert_eq!(tree.params_mut().set("lcb", 1.5), Ok(()));
        let by_bound = tree.root_moves();
        let most = by_visits[0].visits;
        let mover = position.turn();
        let bound = |choice: &menagerie::search::RootMove| {
            let mean = choice.value[mover];
            mean - 1.5 * ((1.0 - mean * mean) / choice.visits as f32).sqrt()
        };
        let known: Vec<_> = by_bound.iter().filter(|c| c.visits > most / 8).map(bound).collect();
        assert!(known.is_sorted_by(|a, b| *a >= b - 1e-4), "{turn}: {known:?}");
        assert!(by_bound[0].visits > most / 8);
        differ += u32::from(by_bound[0].m != by_visits[0].m);
        position.play_unchecked(by_bound[0].m);
    }
    assert!(differ > 0);
}

#[test]
fn sequential_halving_halves_the_root_moves() {
    let variant = menagerie::variant::Catalogue::shipped().get("chess").expect("shipped");
    let position = variant.start();
    let uniform = Uniform::new(Encoding::of(&position).shape());
    let mut evaluator = Decisive { uniform, win: |key| (key % 1000) as f32 / 1000.0 };
    let mut tree = Tree::new(position, Params::default(), 1 << 22);
    let plan = GumbelParams { considered: 8, ..GumbelParams::default() };
    tree.begin_halving(plan);
    run_search(&mut tree, &mut evaluator, 1, 1);
    let mut before: Vec<(Move, u32)> = Vec::new();
    // Three phases of equal length, the last in two steps.
    for (fraction, considered) in [(0.0, 8), (0.34, 4), (0.67, 2), (0.9, 2)] {
        tree.continue_halving(fraction);
        run_search(&mut tree, &mut evaluator, 240, 3);
        let choices = tree.root_moves();
        let visits = |m| before.iter().find(|(was, _)| *was == m).map_or(0, |(_, visits)| *visits);
        let more: Vec<_> = choices.iter().map(|c| c.visits - visits(c.m)).collect();
        assert!(more[considered..].iter().all(|&visits| visits == 0), "{fraction}: {more:?}");
        assert!(more[..considered].iter().all(|&visits| visits == 240 / considered as u32));
        before = choices.iter().map(|choice| (choice.m, choice.visits)).collect();
    }
    tree.continue_halving(1.0);
    let left = tree.root_moves();
    let policy = improved_policy(&tree, plan);
    let probability =
        |m: Move| policy.iter().find(|(other, _)| *other == m).map(|&(_, probability)| probability);
    let best = before[..2]
        .iter()
        .map(|&(m, _)| m)
        .max_by(|&a, &b| probability(a).partial_cmp(&probability(b)).expect("numbers"));
    assert_eq!(Some(left[0].m), best);
    // The next search uses PUCT: its visits are not distributed evenly.
    tree.advance(left[0].m);
    let most = |tree: &Tree| tree.root_moves().iter().map(|choice| choice.visits).max();
    let before = most(&tree);
    tree.continue_halving(0.5);
    run_search(&mut tree, &mut evaluator, 800, 1);
    assert!(most(&tree) > before.map(|visits| visits + 200), "{before:?} {:?}", most(&tree));
}

#[test]
fn restricted_root_searches_only_the_given_moves() {
    let position = test_tree("a(b(a)ab(b)=)", 2);
    let mut tree = Tree::new(position.clone(), Params::default(), 1 << 20);
    let mut legal = MoveList::new();
    position.legal_moves(&mut legal);
    tree.restrict(&legal[2..]);
    let mut evaluator = Uniform::new(Encoding::of(&position).shape());
    let mut searcher = Searcher::new(&mut tree, &mut evaluator, 2);
    for _ in 0..20 {
        searcher.step(10).expect("Uniform never fails");
    }
    let choices = tree.root_moves();
    assert_eq!(choices.len(), 2);
    assert_eq!(choices[0].m, legal[3]);
    assert_eq!(choices[0].proof, Proof::Drawn);
}

/// An evaluator with proven values of all positions of a game of two sides, or of a third of them.
struct Oracle {
    uniform: Uniform,
    all: bool,
    /// Whether the length of wins is unknown.
    no_lengths: bool,
}

impl Evaluator for Oracle {
    fn shape(&self) -> Shape {
        self.uniform.shape()
    }

    fn preferred_batch(&self) -> usize {
        self.uniform.preferred_batch()
    }

    fn evaluate(&mut self, batch: &mut Batch) -> Result<(), EvalError> {
        self.uniform.evaluate(batch)
    }

    fn proven_value(&self, position: &Position) -> Option<ProvenValue> {
        let (scores, turns) = solve(position, 2)[0];
        let score = scores[position.turn()];
        let plies = if score != 0 && !self.no_lengths { Some(turns) } else { None };
        let is_known = self.all || position.key().0.is_multiple_of(3);
        is_known.then_some(ProvenValue { score, plies })
    }
}

#[test]
fn proven_values_of_the_evaluator_are_used() {
    let proof = |position: &Position, side: Side| {
        let (scores, turns) = solve(position, 2)[0];
        match scores[side] {
            1 => Proof::Won(turns as u8),
            0 => Proof::Drawn,
            _ => Proof::Lost(Some(turns as u8)),
        }
    };
    let mut rng = SmallRng::seed_from_u64(9);
    for case in 0..1000 {
        let tree = format!("a({}{})", random_tree(&mut rng, 2, 4), random_tree(&mut rng, 2, 4));
        let position = test_tree(&tree, 2);
        let uniform = Uniform::new(Encoding::of(&position).shape());
        let mut oracle = Oracle { uniform, all: case % 2 == 0, no_lengths: false };
        let mut search = Tree::new(position.clone(), Params::default(), 1 << 20);
        // With the values of all positions, one visit proves the root.
        let visits = if oracle.all { 1 } else { 3000 };
        run_search(&mut search, &mut oracle, visits, 1 + case % 3);
        assert_eq!(search.proof(), proof(&position, position.turn()), "{tree}");
        if !oracle.all {
            continue;
        }
        for choice in search.root_moves() {
            let mut next = position.clone();
            next.play_unchecked(choice.m);
            let turns = u8::from(!next.mid_turn() || next.outcome().is_some());
            let expected = match proof(&next, position.turn()) {
                Proof::Won(left) => Proof::Won(left + turns),
                Proof::Lost(left) => Proof::Lost(left.map(|left| left + turns)),
                other => other,
            };
            assert_eq!(choice.proof, expected, "{tree}");
        }
    }
}

#[test]
fn proven_wins_without_length_are_used() {
    let mut rng = SmallRng::seed_from_u64(10);
    for case in 0..1000 {
        let tree = format!("a({}{})", random_tree(&mut rng, 2, 4), random_tree(&mut rng, 2, 4));
        let position = test_tree(&tree, 2);
        let mover = position.turn();
        let (scores, shortest) = solve(&position, 2)[0];
        let uniform = Uniform::new(Encoding::of(&position).shape());
        let mut oracle = Oracle { uniform, all: case % 2 == 0, no_lengths: true };
        let mut search = Tree::new(position.clone(), Params::default(), 1 << 20);
        let visits = if oracle.all { 1 } else { 3000 };
        run_search(&mut search, &mut oracle, visits, 1 + case % 3);
        assert_eq!(search.value()[mover], f32::from(scores[mover]), "{tree}");
        match search.proof() {
            Proof::Won(turns) => assert!(scores[mover] == 1 && u32::from(turns) >= shortest),
            Proof::Lost(_) => assert_eq!(scores[mover], -1, "{tree}"),
            Proof::Drawn => assert_eq!(scores[mover], 0, "{tree}"),
            // A win of unknown length.
            Proof::Open => assert_eq!(scores[mover], 1, "{tree}"),
        }
        let best = search.root_moves()[0].m;
        let mut next = position.clone();
        next.play_unchecked(best);
        assert_eq!(solve(&next, 2)[0].0[mover], scores[mover], "{tree}");
    }
}
