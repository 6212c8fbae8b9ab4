//! Accuracy of any networks on the games that sparse networks hold out.

use std::path::PathBuf;

use menagerie::encoding::{Encoding, SparseEncoding};
use menagerie::nn::{Evaluator, Query};
use menagerie::rules::{MoveList, Position};
use menagerie::variant::Variant;

use super::cache::is_held_out;
use super::labels::{Labeler, ValueTarget};
use super::loss::{self, Measures, Sums};
use crate::readers::{SkipReport, stream_scored};
use crate::record::Targets;

/// Positions evaluated at once.
const BATCH: usize = 64;

/// Games read at once.
const GAMES: usize = 1024;

/// A position with its targets.
#[derive(Debug)]
struct HeldOutPosition {
    position: Position,
    policy: Vec<(u16, f32)>,
    value: ValueTarget,
}

/// Labelled positions of games that were held out from training.
#[derive(Debug)]
pub struct HeldOut {
    encoding: Encoding,
    positions: Vec<HeldOutPosition>,
    bad_games: usize,
}

impl HeldOut {
    /// Reads the positions that a training run on `files` with `held_out_of` holds out; at most `most` of
    /// them, evenly spread. The errors of games that are skipped are printed.
    ///
    /// # Errors
    /// If a file cannot be read, or the variant has no sparse encoding.
    pub fn read(
        variant: &Variant,
        files: &[PathBuf],
        held_out_of: u32,
        most: usize,
    ) -> anyhow::Result<HeldOut> {
        let start = variant.start();
        let encoding = SparseEncoding::new(&start.game_spec())
            .ok_or_else(|| anyhow::anyhow!("{} has no pieces that move", variant.name()))?;
        let mut labeler = Labeler::new(variant, &encoding, Targets::default());
        let mut all = Vec::new();
        let mut bad_games = 0;
        for path in files {
            let mut skipped = SkipReport::new(path);
            stream_scored(path, variant, GAMES, |games| {
                for game in &games {
                    let records = match game.records(variant) {
                        Ok(records) => records,
                        Err(error) => {
                            skipped.add(&error);
                            continue;
                        }
                    };
                    for record in records.iter().filter(|it| is_held_out(it, held_out_of)) {
                        labeler.visit(record, &mut |position, _, policy, value| {
                            let (position, policy) = (position.clone(), policy.to_vec());
                            all.push(HeldOutPosition { position, policy, value });
                        });
                    }
                }
                Ok(())
            })?;
            bad_games += skipped.finish();
        }
        let chosen = most.min(all.len());
        let count = all.len();
        let mut all = all.into_iter();
        let mut positions = Vec::with_capacity(chosen);
        let mut taken = 0;
        for nth in 0..chosen {
            let place = nth * count / chosen;
            positions.extend(all.nth(place - taken));
            taken = place + 1;
        }
        Ok(HeldOut { encoding: Encoding::of(&start), positions, bad_games })
    }

    /// Returns the number of games that could not be read, or are none of the variant.
    pub fn bad_games(&self) -> usize {
        self.bad_games
    }

    /// Returns the number of positions.
    pub fn len(&self) -> usize {
        self.positions.len()
    }

    /// Returns `true` if there is no position.
    pub fn is_empty(&self) -> bool {
        self.positions.is_empty()
    }

    /// Returns how a network does on the positions. The cross-entropy of the value is that with the results
    /// of the games.
    ///
    /// # Errors
    /// If the network fails.
    pub fn measure(&self, evaluator: &mut dyn Evaluator) -> anyhow::Result<Measures> {
        let mut batch = evaluator.new_batch();
        let mut legal = MoveList::new();
        let mut sums = Sums::default();
        for part in self.positions.chunks(BATCH) {
            batch.clear();
            for HeldOutPosition { position, .. } in part {
                position.legal_moves(&mut legal);
                batch.push(Query { encoding: &self.encoding, position, legal: &legal });
            }
            evaluator.evaluate(&mut batch)?;
            for (row, HeldOutPosition { policy, value, .. }) in part.iter().enumerate() {
                let evaluation = batch.evaluation(row);
                let mut logits = evaluation.logits.to_vec();
                loss::policy(&mut logits, policy, 0.0, &mut sums);
                let &[won, lost, drawn] = evaluation.outcome else {
                    anyhow::bail!("{} outcomes instead of 3", evaluation.outcome.len());
                };
                let mut outcome = [won, lost, drawn].map(|share: f32| share.max(1e-9).ln());
                loss::outcome(&mut outcome, *value, 0.0, &mut sums);
            }
        }
        Ok(sums.measures())
    }
}
