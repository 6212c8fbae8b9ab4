//! Measures sets of possible boards: `cargo bench -p menagerie-rbc --bench belief -- [GAMES] [HISTORIES..]`.
//! With 0 random games neither speed nor sizes are measured.
//!
//! Prints the number of moves followed per CPU second as sets grow, the sizes of sets before and after a
//! sense by each policy, the weight of the true board by each way of weighting (`--network FILE` replaces
//! the shipped network), and how often the true board was lost in GAMES random games. Sizes and weights are
//! those of the histories, or of the games of reconchess in tests/golden/rbc.

use std::collections::BTreeMap;

use cpu_time::{ProcessTime, ThreadTime};
use menagerie::rbc::{
    Belief, Certainty, DEFAULT_CAPACITY, Habits, OpponentModel, Player, RequestValues, SensePolicy,
    UniformOpponent,
};
use menagerie::rules::rbc::{Army, Played, Request, Truth, generate_steps};
use menagerie::rules::{Bitboard, Color, Square};
use menagerie_rbc::{GameHistory, PlayerOptions};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

const DEFAULT_GAMES: u64 = 1000;
/// The maximum number of boards where their weights are measured.
const MAX_WEIGHTED_BOARDS: &str = "100000";
/// Sets with fewer moves are too fast to be measured.
const MIN_MOVES_MEASURED: usize = 50_000;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let games = words.iter().find_map(|word| word.parse().ok()).unwrap_or(DEFAULT_GAMES);
    let mut files: Vec<String> =
        words.iter().filter(|word| word.ends_with(".json")).cloned().collect();
    if files.is_empty() {
        files = golden_files();
    }
    let network_flag = words.iter().position(|word| word == "--network");
    let network = network_flag.and_then(|index| words.get(index + 1)).map(String::as_str);
    let histories: Vec<GameHistory> = files.iter().filter_map(|file| read_history(file)).collect();

    if games > 0 {
        measure_speed();
        println!(
            "\nboards before and after a sense, and after a move, over {} games, both sides",
            histories.len()
        );
        for (name, policy) in SensePolicy::ALL {
            // The value of a request is not known here.
            if policy != SensePolicy::Gain {
                measure_sizes(name, policy, &histories);
            }
        }
    }
    println!("\nbits of the true board before a sense, by the other side's name: mean and median");
    for weights in ["even", "habits", "network"] {
        measure_weights(weights, network, &histories);
    }
    if games > 0 {
        count_lost_boards(games);
    }
}

fn golden_files() -> Vec<String> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/golden/rbc");
    let entries = std::fs::read_dir(folder).expect("the folder can be read");
    let mut files: Vec<_> =
        entries.map(|entry| entry.expect("an entry").path().display().to_string()).collect();
    files.sort();
    files
}

/// Returns `None` for a file that is not a history.
fn read_history(file: &str) -> Option<GameHistory> {
    let text = std::fs::read_to_string(file).expect("it can be read");
    GameHistory::from_json(&serde_json::from_str(&text).ok()?).ok()
}

fn random_request(truth: &Truth, rng: &mut StdRng) -> Option<Request> {
    let requests = truth.requests();
    requests.get(rng.random_range(0..=requests.len())).copied()
}

/// Counts the moves of the other side that capture nothing, including passes.
fn count_quiet_moves(belief: &Belief) -> usize {
    let own = belief.own();
    let other = !belief.color();
    let mut moves = Vec::new();
    let mut count = 0;
    for army in belief.armies() {
        moves.clear();
        let en_passant = own.en_passant(!other);
        generate_steps(army, other, own.occupied(), en_passant, Bitboard::FULL, &mut moves);
        count += moves.iter().filter(|step| step.capture.is_none()).count() + 1;
    }
    count
}

/// Returns the CPU seconds of a move of the other side, and the set after it.
fn time_opponent_move(belief: &Belief, model: &impl OpponentModel) -> (f64, Belief) {
    let mut belief = belief.clone();
    let clock = ThreadTime::now();
    belief.opponent_moved(None, model);
    (clock.elapsed().as_secs_f64(), belief)
}

fn measure_speed() {
    let mut rng = StdRng::seed_from_u64(3);
    println!("boards before, boards after, moves followed, millions per CPU second: even, habits");
    for _ in 0..4 {
        measure_speed_in_game(&mut rng);
    }
}

/// Follows a random game from White's side, with next to no information from senses.
fn measure_speed_in_game(rng: &mut StdRng) {
    let mut truth = Truth::default();
    let mut belief = Belief::new(&truth, Color::White, DEFAULT_CAPACITY, 1);
    while truth.end().is_none() {
        let color = truth.turn();
        let request = random_request(&truth, rng);
        let played = truth.play(request).expect("one of the requests");
        if color == Color::White {
            belief.moved(request, played.taken, played.capture);
            continue;
        }
        if played.capture.is_some() {
            belief.opponent_moved(played.capture, &UniformOpponent);
            continue;
        }
        let moves = count_quiet_moves(&belief);
        let boards_before = belief.armies().len();
        let (habits_seconds, _) = time_opponent_move(&belief, &Habits);
        let (even_seconds, after) = time_opponent_move(&belief, &UniformOpponent);
        belief = after;
        let boards = belief.armies().len();
        if moves > MIN_MOVES_MEASURED {
            let even_speed = moves as f64 / even_seconds / 1e6;
            let habits_speed = moves as f64 / habits_seconds / 1e6;
            println!("{boards_before:8} {boards:8} {moves:9} {even_speed:6.1} {habits_speed:6.1}");
        }
        if boards >= DEFAULT_CAPACITY {
            return;
        }
        let square =
            belief.best_sense(SensePolicy::Naive, &RequestValues::default(), boards as u32);
        belief.sensed(&truth.sense(Some(square)));
    }
}

/// What happens to one side in a game.
enum Event<'a> {
    /// Its turn begins, in this position; the square that it sensed.
    Turn(&'a Truth, Option<Square>),
    /// The result of its move.
    MoveResult(&'a Played),
    /// The other side has moved, and captured a piece on this square.
    OpponentMove(Option<Square>),
}

/// Calls `handle` with the events of one side in a game, in order.
fn replay(history: &GameHistory, color: Color, mut handle: impl FnMut(Event<'_>)) {
    let mut truth = Truth::default();
    for ply in 0..history.sides.white.moves.len() * 2 {
        let mover = truth.turn();
        let side = &history.sides[mover];
        let Some(played) = side.moves.get(ply / 2) else { break };
        if mover == color {
            handle(Event::Turn(&truth, side.senses.get(ply / 2).copied().flatten()));
        }
        truth.play(played.requested).expect("it was requested");
        if truth.end().is_some() {
            break;
        }
        if mover == color {
            handle(Event::MoveResult(played));
        } else {
            handle(Event::OpponentMove(played.capture));
        }
    }
}

/// Prints the sizes of sets in the games if both sides had sensed by `policy`.
fn measure_sizes(name: &str, policy: SensePolicy, histories: &[GameHistory]) {
    let mut before = Vec::new();
    let mut after = Vec::new();
    let mut moved = Vec::new();
    let mut sampled = 0;
    for history in histories {
        for color in Color::ALL {
            let mut belief = Belief::new(&Truth::default(), color, DEFAULT_CAPACITY, 2);
            let mut seed = 0;
            replay(history, color, |event| match event {
                Event::Turn(truth, _) => {
                    before.push(belief.armies().len());
                    let square = belief.best_sense(policy, &RequestValues::default(), seed);
                    belief.sensed(&truth.sense(Some(square)));
                    after.push(belief.armies().len());
                    seed += 2;
                }
                Event::MoveResult(played) => {
                    belief.moved(played.requested, played.taken, played.capture);
                    moved.push(belief.armies().len());
                }
                Event::OpponentMove(capture) => belief.opponent_moved(capture, &UniformOpponent),
            });
            sampled += usize::from(belief.certainty() != Certainty::Exact);
        }
    }
    for (time, mut sizes) in [("before", before), ("after", after), ("moved", moved)] {
        sizes.sort_unstable();
        println!(
            "{name:10} {time:7} median {:6} p90 {:7} p99 {:8} max {:8}; {} turns, sampled in \
             {sampled} of {}",
            quantile(&sizes, 0.5),
            quantile(&sizes, 0.9),
            quantile(&sizes, 0.99),
            quantile(&sizes, 1.0),
            sizes.len(),
            histories.len() * 2,
        );
    }
}

fn quantile(sorted: &[usize], share: f64) -> usize {
    sorted[((sorted.len() - 1) as f64 * share) as usize]
}

/// The weights of the true boards of one opponent.
#[derive(Default)]
struct TrueBoards {
    /// Minus the binary logarithm of each weight.
    bits: Vec<f32>,
    /// The number of turns without the true board in the set.
    lost: usize,
}

/// Prints how improbable the true board is in the games as they were played.
fn measure_weights(weights: &str, network: Option<&str>, histories: &[GameHistory]) {
    let mut options = vec![("weights", weights), ("boards", MAX_WEIGHTED_BOARDS)];
    options.extend(network.map(|file| ("network", file)));
    let players = PlayerOptions::from_pairs(options).expect("valid options").players();
    for note in players.notes() {
        println!("{note}");
    }
    let mut opponents: BTreeMap<&str, TrueBoards> = BTreeMap::new();
    let clock = ProcessTime::now();
    for history in histories {
        for color in Color::ALL {
            let opponent = history.names[!color].as_deref().unwrap_or("?");
            let player = players.create_player(&Truth::default(), color, 0);
            weigh_true_boards(history, color, player, opponents.entry(opponent).or_default());
        }
    }
    println!("{weights}: {:.1} CPU seconds", clock.elapsed().as_secs_f64());
    for (opponent, TrueBoards { mut bits, lost }) in opponents {
        bits.sort_unstable_by(f32::total_cmp);
        let turns = bits.len();
        let mean = bits.iter().sum::<f32>() / turns as f32;
        let median = bits.get(turns / 2).copied().unwrap_or_default();
        println!("  {opponent:16} {mean:6.3} {median:6.3}; {turns} turns, lost in {lost} more");
    }
}

fn weigh_true_boards(
    history: &GameHistory,
    color: Color,
    mut player: Player,
    boards: &mut TrueBoards,
) {
    replay(history, color, |event| match event {
        Event::Turn(truth, square) => {
            let belief = player.belief();
            match find_true_board(belief, truth) {
                Some(index) => boards.bits.push(-belief.weights()[index].log2()),
                None => boards.lost += 1,
            }
            player.sensed(&truth.sense(square));
        }
        Event::MoveResult(played) => {
            player.moved(played.requested, played.taken, played.capture);
        }
        Event::OpponentMove(capture) => player.opponent_moved(capture),
    });
}

/// Returns the index of the true board. A double step that no pawn can capture is not distinguished.
fn find_true_board(belief: &Belief, truth: &Truth) -> Option<usize> {
    let other = !belief.color();
    let true_army = truth.army(other);
    belief.armies().iter().position(|army: &Army| {
        army.planes() == true_army.planes()
            && army.castling_rooks(other) == true_army.castling_rooks(other)
    })
}

fn count_lost_boards(games: u64) {
    let mut sets = 0;
    let mut lost = 0;
    let mut sampled = 0;
    for seed in 0..games {
        let mut rng = StdRng::seed_from_u64(seed);
        let mut truth = Truth::default();
        let mut beliefs = Color::ALL.map(|color| Belief::new(&truth, color, DEFAULT_CAPACITY, 1));
        while truth.end().is_none() {
            let mover = truth.turn();
            for belief in beliefs.iter_mut().filter(|belief| belief.color() == mover) {
                let square = belief.best_sense(SensePolicy::Entropy, &RequestValues::default(), 0);
                belief.sensed(&truth.sense(Some(square)));
            }
            let request = random_request(&truth, &mut rng);
            let played = truth.play(request).expect("one of the requests");
            if truth.end().is_some() {
                break;
            }
            for belief in &mut beliefs {
                if belief.color() == mover {
                    belief.moved(request, played.taken, played.capture);
                } else {
                    belief.opponent_moved(played.capture, &Habits);
                }
                sets += 1;
                lost += u32::from(find_true_board(belief, &truth).is_none());
                sampled += u32::from(belief.certainty() != Certainty::Exact);
            }
        }
    }
    println!(
        "\n{games} random games, {sets} sets: the true board was lost in {lost}, {sampled} were samples"
    );
}
