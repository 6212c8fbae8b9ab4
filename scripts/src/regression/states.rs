//! Positions of recorded games, and what they are worth by how the games ended:
//! V(s) = 0.99^(n - i) R after i of a game's n moves, with R = 1 if side 0 won and -1 if side 1 did;
//! and V = 0 where the game began (Bug0, section III.C).

use menagerie::rules::PackedMove;
use menagerie::variant::Variant;
use rand::seq::{SliceRandom, index};
use rand::{Rng, SeedableRng, rngs::ChaCha8Rng};

use super::planes::{Next, Numbers};
use crate::record::GameRecord;

/// How much less a position is worth for each move until the end.
const DISCOUNT: f64 = 0.99;

/// One game of so many is held back, and as many positions for each that is learnt from.
const HELD_BACK: usize = 10;

/// Positions and their values.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct States {
    /// The planes of each.
    pub rows: Vec<Numbers>,
    /// V of each.
    pub values: Vec<f32>,
}

/// What a position is worth to side 0 after `i` of the `n` moves of a game that side `winner` won.
pub fn value(i: usize, n: usize, winner: u8) -> f32 {
    let result = if winner == 0 { 1.0 } else { -1.0 };
    let left = n.saturating_sub(i).min(i32::MAX as usize) as i32;
    if i == 0 { 0.0 } else { (result * DISCOUNT.powi(left)) as f32 }
}

/// Draws `count` positions from games that somebody won, and a tenth as many more from a tenth of the
/// games, which are held back. The same seed draws the same from the same games.
///
/// # Errors
/// If there are no such games, or one does not replay.
pub fn draw(
    games: &[GameRecord],
    variant: &Variant,
    count: usize,
    seed: u64,
) -> anyhow::Result<[States; 2]> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let won = |game: &&GameRecord| game.winner().is_some() && !game.plies.is_empty();
    let mut games: Vec<&GameRecord> = games.iter().filter(won).collect();
    anyhow::ensure!(
        games.len() >= HELD_BACK,
        "{} games that somebody won are not enough",
        games.len()
    );
    games.shuffle(&mut rng);
    let (held_back, learnt) = games.split_at(games.len() / HELD_BACK);
    Ok([
        some(learnt, variant, count, &mut rng)?,
        some(held_back, variant, count / HELD_BACK, &mut rng)?,
    ])
}

/// So many positions of `games`, each as likely as any other, or all if there are fewer.
fn some(
    games: &[&GameRecord],
    variant: &Variant,
    count: usize,
    rng: &mut impl Rng,
) -> anyhow::Result<States> {
    // The first position of each game and that after each of its moves.
    let total = games.iter().map(|game| game.plies.len() + 1).sum();
    let mut chosen = index::sample(rng, total, count.min(total)).into_vec();
    chosen.sort_unstable();
    let mut chosen = chosen.into_iter().peekable();
    let (mut states, mut first) = (States::default(), 0);
    for game in games {
        let last = first + game.plies.len();
        let wanted = std::iter::from_fn(|| chosen.next_if(|&at| at <= last)).map(|at| at - first);
        add(game, variant, wanted.collect(), &mut states)
            .ok_or_else(|| anyhow::anyhow!("the game from \"{}\" does not replay", game.start))?;
        first = last + 1;
    }
    Ok(states)
}

/// Adds the positions of a game after so many moves each, numbers that rise; `None` if it does not
/// replay.
fn add(
    game: &GameRecord,
    variant: &Variant,
    wanted: Vec<usize>,
    states: &mut States,
) -> Option<()> {
    let winner = game.winner()?;
    let mut position = variant.position(&game.start, true).ok()?;
    let mut played = 0;
    for i in wanted {
        for ply in &game.plies[played..i] {
            position.play(PackedMove(ply.played).unpack()?).then_some(())?;
        }
        played = i;
        let next = match game.plies.get(i) {
            Some(ply) => {
                let m = PackedMove(ply.played).unpack()?;
                position.admit(m).then(|| Next::to_play(&position, m))?
            }
            None => Next::of(&position),
        };
        states.rows.push(Numbers::of(&position, next));
        states.values.push(value(i, game.plies.len(), winner));
    }
    Some(())
}
