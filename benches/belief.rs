//! Sets of boards in blind chess: `cargo bench --bench belief [GAMES] [HISTORIES..]`;
//! with 0 random games neither speed nor sizes are measured.
//!
//! How many moves a CPU second are followed, doubles removed, as sets grow in games where next to
//! nothing is seen; how large sets are before and after sensing by each policy, over the games of
//! the reference program in tests/golden/rbc or those given; how much weight the true board has there
//! by each way of weighing (`--network FILE` is that of `network`); and whether the true board was ever
//! lost in GAMES random ones.

use std::collections::BTreeMap;

use cpu_time::{ProcessTime, ThreadTime};
use menagerie::belief::{
    Belief, CAPACITY, Certainty, Habits, OpponentModel, SensePolicy, Uniform, Values,
};
use menagerie::protocol::rbc::{GameHistory, Players};
use menagerie::rules::blind::{Army, Played, Truth, steps};
use menagerie::rules::{Bitboard, Color, Square};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

/// Random games, unless told otherwise.
const GAMES: u64 = 1000;
/// So many boards are kept where their weights are looked at.
const BOARDS: &str = "100000";

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let games = words.iter().find_map(|word| word.parse().ok()).unwrap_or(GAMES);
    let files: Vec<String> = words.iter().filter(|word| word.ends_with(".json")).cloned().collect();
    let network = words.iter().position(|word| word == "--network");
    let network = network.and_then(|at| words.get(at + 1)).cloned();
    if games > 0 {
        speed();
    }
    let files = if files.is_empty() { golden() } else { files };
    let histories: Vec<GameHistory> = files.iter().filter_map(|file| read(file)).collect();
    if games > 0 {
        println!(
            "\nboards before and after sensing, and after moving, over {} games, both sides",
            histories.len()
        );
        for (name, policy) in SensePolicy::ALL {
            sizes(name, policy, &histories);
        }
    }
    println!(
        "\nbits that the true board is away before sensing, by who is looked at: mean and median"
    );
    for name in ["even", "habits", "network"] {
        bits(name, network.as_deref(), &histories);
    }
    if games > 0 {
        lost(games);
    }
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

/// What a side is told in a game.
enum Told<'a> {
    /// That it may look at this; where it did.
    Turn(&'a Truth, Option<Square>),
    /// What became of its request.
    Moved(&'a Played),
    /// Where one of its men was taken.
    Heard(Option<Square>),
}

/// Tells all that a side was told in a game, in order.
fn follow(history: &GameHistory, color: Color, mut tell: impl FnMut(Told<'_>)) {
    let mut truth = Truth::default();
    for turn in 0..history.sides.white.moves.len() * 2 {
        let mover = truth.turn();
        let side = &history.sides[mover];
        let Some(played) = side.moves.get(turn / 2) else { break };
        if mover == color {
            tell(Told::Turn(&truth, side.senses.get(turn / 2).copied().flatten()));
        }
        truth.play(played.requested).expect("it was requested");
        if truth.end().is_some() {
            break;
        }
        tell(if mover == color { Told::Moved(played) } else { Told::Heard(played.capture) });
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
            let mut belief = Belief::new(&Truth::default(), color, CAPACITY, 2);
            let mut turn = 0;
            follow(history, color, |told| match told {
                Told::Turn(truth, _) => {
                    counted[0].push(belief.armies().len());
                    let center = belief.best_sense(policy, &Values::default(), turn);
                    belief.sensed(&truth.sense(Some(center)));
                    counted[1].push(belief.armies().len());
                    turn += 2;
                }
                Told::Moved(played) => {
                    belief.moved(played.requested, played.taken, played.capture);
                    counted[2].push(belief.armies().len());
                }
                Told::Heard(capture) => belief.heard(capture, &Uniform),
            });
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

/// Follows the games from both sides as they were played, and tells how surprising the true board is
/// for who weighs boards so.
fn bits(name: &str, network: Option<&str>, histories: &[GameHistory]) {
    let option = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let network = network.map(|file| option("network", file));
    let options = [option("weights", name), option("boards", BOARDS)];
    let options: Vec<_> = options.into_iter().chain(network).collect();
    let players = Players::read(&options).expect("such options");
    players.notes().iter().for_each(|note| println!("{note}"));
    let mut found: BTreeMap<&str, (Vec<f32>, usize)> = BTreeMap::new();
    let clock = ProcessTime::now();
    for history in histories {
        for color in Color::ALL {
            let other = history.names[!color].as_deref().unwrap_or("?");
            let (bits, lost) = found.entry(other).or_default();
            let mut player = players.player(&Truth::default(), color, 0);
            follow(history, color, |told| match told {
                Told::Turn(truth, seen) => {
                    let belief = player.belief();
                    match place(belief, truth) {
                        Some(at) => bits.push(-belief.weights()[at].log2()),
                        None => *lost += 1,
                    }
                    player.sensed(&truth.sense(seen));
                }
                Told::Moved(played) => {
                    player.moved(played.requested, played.taken, played.capture);
                }
                Told::Heard(capture) => player.heard(capture),
            });
        }
    }
    println!("{name}: {:.1} CPU seconds", clock.elapsed().as_secs_f64());
    for (other, (mut bits, lost)) in found {
        bits.sort_unstable_by(f32::total_cmp);
        let mean = bits.iter().sum::<f32>() / bits.len() as f32;
        let median = bits.get(bits.len() / 2).copied().unwrap_or_default();
        let turns = bits.len();
        println!("  {other:16} {mean:6.3} {median:6.3}; {turns} turns, lost in {lost} more");
    }
}

/// Where the true men are among the boards; a double step that nobody can take on is not told
/// apart.
fn place(belief: &Belief, truth: &Truth) -> Option<usize> {
    let theirs = truth.army(!belief.color());
    let same = |army: &Army| {
        let color = !belief.color();
        army.planes() == theirs.planes() && army.castling(color) == theirs.castling(color)
    };
    belief.armies().iter().position(same)
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
                lost += u32::from(place(belief, &truth).is_none());
                sampled += u32::from(belief.certainty() != Certainty::Exact);
            }
        }
    }
    println!(
        "\n{games} random games, {turns} sets: the true board was lost in {lost}, {sampled} were samples"
    );
}
