//! Sets of boards in blind chess: `cargo bench --bench belief [GAMES] [HISTORIES..]`.
//!
//! How many moves a CPU second are followed, doubles removed, as sets grow in games where next to
//! nothing is seen; how large sets are before and after sensing by each policy, over the games of
//! the reference program in tests/golden/rbc or those given; and whether the true board was ever
//! lost in GAMES random ones.

use cpu_time::ThreadTime;
use menagerie::belief::{
    Belief, CAPACITY, Certainty, Habits, OpponentModel, SensePolicy, Uniform, Values,
};
use menagerie::protocol::rbc::GameHistory;
use menagerie::rules::blind::{Army, Truth, steps};
use menagerie::rules::{Bitboard, Color};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

/// Random games, unless told otherwise.
const GAMES: u64 = 1000;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let games = words.iter().find_map(|word| word.parse().ok()).unwrap_or(GAMES);
    let files: Vec<String> = words.into_iter().filter(|word| word.ends_with(".json")).collect();
    speed();
    let files = if files.is_empty() { golden() } else { files };
    let histories: Vec<GameHistory> = files.iter().filter_map(|file| read(file)).collect();
    println!(
        "\nboards before and after sensing, and after moving, over {} games, both sides",
        histories.len()
    );
    for (name, policy) in SensePolicy::ALL {
        sizes(name, policy, &histories);
    }
    lost(games);
}

fn golden() -> Vec<String> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/rbc");
    let entries = std::fs::read_dir(folder).expect("the folder can be read");
    let mut files: Vec<_> =
        entries.map(|entry| entry.expect("an entry").path().display().to_string()).collect();
    files.sort();
    files
}

fn read(file: &str) -> Option<GameHistory> {
    let text = std::fs::read_to_string(file).expect("it can be read");
    GameHistory::from_json(&serde_json::from_str(&text).ok()?).ok()
}

/// The moves that follow a set if nothing is taken, doubles counted.
fn moves(belief: &Belief) -> usize {
    let (own, theirs) = (belief.own(), !belief.color());
    let (mut all, mut sum) = (Vec::new(), 0);
    for army in belief.armies() {
        all.clear();
        steps(army, theirs, own.occupied(), own.passed(!theirs), Bitboard::FULL, &mut all);
        sum += all.iter().filter(|step| step.capture.is_none()).count() + 1;
    }
    sum
}

fn timed(belief: &Belief, model: &impl OpponentModel) -> (f64, Belief) {
    let mut belief = belief.clone();
    let clock = ThreadTime::now();
    belief.heard(None, model);
    (clock.elapsed().as_secs_f64(), belief)
}

fn speed() {
    let mut rng = StdRng::seed_from_u64(3);
    println!(
        "boards before, boards after, moves followed, and millions of these a CPU second: even, habits"
    );
    for _ in 0..4 {
        let (mut truth, mut belief) = (Truth::default(), None::<Belief>);
        while truth.end().is_none() {
            let color = truth.turn();
            let requests = truth.requests();
            let request = requests.get(rng.random_range(0..=requests.len())).copied();
            let mut next = truth.clone();
            let played = next.play(request).expect("it may be requested");
            let known =
                belief.get_or_insert_with(|| Belief::new(&truth, Color::White, CAPACITY, 1));
            if color == Color::White {
                known.moved(request, played.taken, played.capture);
            } else if played.capture.is_some() {
                known.heard(played.capture, &Uniform);
            } else {
                let (count, before) = (moves(known), known.armies().len());
                let (habits, _) = timed(known, &Habits);
                let (even, after) = timed(known, &Uniform);
                if count > 50_000 {
                    let speed = |seconds: f64| count as f64 / seconds / 1e6;
                    let boards = after.armies().len();
                    println!(
                        "{before:8} {boards:8} {count:9} {:6.1} {:6.1}",
                        speed(even),
                        speed(habits)
                    );
                }
                *known = after;
                if known.armies().len() >= CAPACITY {
                    break;
                }
                let naive = known.best_sense(
                    SensePolicy::Naive,
                    &Values::default(),
                    known.armies().len() as u32,
                );
                known.sensed(&next.sense(Some(naive)));
            }
            truth = next;
        }
    }
}

/// Follows the games from both sides, looking by a policy where the players looked by their own.
fn sizes(name: &str, policy: SensePolicy, histories: &[GameHistory]) {
    if policy == SensePolicy::Gain {
        return;
    }
    let mut counted: [Vec<usize>; 3] = Default::default();
    let mut sampled = 0;
    for history in histories {
        for color in Color::ALL {
            let mut truth = Truth::default();
            let mut belief = Belief::new(&truth, color, CAPACITY, 2);
            for turn in 0..history.sides.white.moves.len() * 2 {
                let mover = truth.turn();
                let Some(played) = history.sides[mover].moves.get(turn / 2) else { break };
                if mover == color {
                    counted[0].push(belief.armies().len());
                    let center = belief.best_sense(policy, &Values::default(), turn as u32);
                    belief.sensed(&truth.sense(Some(center)));
                    counted[1].push(belief.armies().len());
                }
                truth.play(played.requested).expect("it was requested");
                if truth.end().is_some() {
                    break;
                }
                if mover == color {
                    belief.moved(played.requested, played.taken, played.capture);
                    counted[2].push(belief.armies().len());
                } else {
                    belief.heard(played.capture, &Uniform);
                }
            }
            sampled += usize::from(belief.certainty() != Certainty::Exact);
        }
    }
    for (when, mut sizes) in ["before", "after", "moved"].into_iter().zip(counted) {
        sizes.sort_unstable();
        let at = |share: f64| sizes[((sizes.len() - 1) as f64 * share) as usize];
        println!(
            "{name:10} {when:7} median {:6} p90 {:7} p99 {:8} max {:8}; {} turns, sampled in {sampled} of {}",
            at(0.5),
            at(0.9),
            at(0.99),
            at(1.0),
            sizes.len(),
            histories.len() * 2,
        );
    }
}

/// Whether the true men are among the boards; a double step that nobody can take on is not told
/// apart.
fn knows(belief: &Belief, truth: &Truth) -> bool {
    let theirs = truth.army(!belief.color());
    let same = |army: &Army| {
        let color = !belief.color();
        army.planes() == theirs.planes() && army.castling(color) == theirs.castling(color)
    };
    belief.armies().iter().any(same)
}

fn lost(games: u64) {
    let (mut turns, mut lost, mut sampled) = (0, 0, 0);
    for seed in 0..games {
        let mut rng = StdRng::seed_from_u64(seed);
        let mut truth = Truth::default();
        let mut beliefs = Color::ALL.map(|color| Belief::new(&truth, color, CAPACITY, 1));
        while truth.end().is_none() {
            let mover = truth.turn();
            for belief in beliefs.iter_mut().filter(|belief| belief.color() == mover) {
                let center = belief.best_sense(SensePolicy::Entropy, &Values::default(), 0);
                belief.sensed(&truth.sense(Some(center)));
            }
            let requests = truth.requests();
            let request = requests.get(rng.random_range(0..=requests.len())).copied();
            let played = truth.play(request).expect("it may be requested");
            if truth.end().is_some() {
                break;
            }
            for belief in &mut beliefs {
                if belief.color() == mover {
                    belief.moved(request, played.taken, played.capture);
                } else {
                    belief.heard(played.capture, &Habits);
                }
                turns += 1;
                lost += u32::from(!knows(belief, &truth));
                sampled += u32::from(belief.certainty() != Certainty::Exact);
            }
        }
    }
    println!(
        "\n{games} random games, {turns} sets: the true board was lost in {lost}, {sampled} were samples"
    );
}
