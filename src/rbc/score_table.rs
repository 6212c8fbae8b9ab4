//! The expected scores of requests on possible boards, and how they are combined.

use std::thread;

use super::tactics::PossibleBoard;

/// How the values of a request on many boards are combined.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Combination {
    /// The weighted mean and a lower quantile.
    MeanAndQuantile,
    /// The request that is best on most boards, as in the paper.
    Vote,
}

/// The quantile of [`Combination::MeanAndQuantile`], and its share of the combined value.
const QUANTILE: f64 = 0.1;
const QUANTILE_SHARE: f64 = 0.4;

/// The expected scores of requests on boards.
pub(super) struct ScoreTable {
    /// The number of requests.
    requests: usize,
    /// A row for each board, which is empty if the board has not been searched. A request that was not searched
    /// has the score -1.
    rows: Vec<Vec<f32>>,
    /// One for each board.
    weights: Vec<f32>,
}

impl ScoreTable {
    /// Returns a table without scores of a number of requests on one board for each weight.
    pub(super) fn new(requests: usize, weights: Vec<f32>) -> ScoreTable {
        ScoreTable { requests, rows: vec![Vec::new(); weights.len()], weights }
    }

    /// Returns `true` if no board has been searched.
    pub(super) fn is_empty(&self) -> bool {
        self.rows.iter().all(Vec::is_empty)
    }

    /// Writes the scores of the requests with the indices `candidates` on the first boards, which are `boards`.
    /// `score_board` returns the scores of a board in the order of the candidates, or `None` if the time is over; its
    /// last argument is `true` for the first board of all. Each worker has a thread. Returns `false` if the time was
    /// over before the end.
    ///
    /// # Errors
    /// The error of `score_board`. Boards that were searched before have their scores.
    pub(super) fn fill<W: Send, E: Send>(
        &mut self,
        boards: &[PossibleBoard],
        candidates: &[usize],
        workers: &mut [W],
        score_board: impl Fn(&mut W, &PossibleBoard, bool) -> Result<Option<Vec<f32>>, E> + Sync,
    ) -> Result<bool, E> {
        let requests = self.requests;
        let fill_rows =
            |worker: &mut W, boards: &[PossibleBoard], rows: &mut [Vec<f32>], is_first| {
                for (nth, (board, row)) in boards.iter().zip(rows).enumerate() {
                    // An incomplete board does not count.
                    let Some(scores) = score_board(worker, board, is_first && nth == 0)? else {
                        return Ok(false);
                    };
                    if row.is_empty() {
                        *row = vec![-1.0; requests];
                    }
                    for (&request, score) in candidates.iter().zip(scores) {
                        row[request] = score;
                    }
                }
                Ok(true)
            };
        if let [worker] = workers {
            return fill_rows(worker, boards, &mut self.rows, true);
        }
        let share = boards.len().div_ceil(workers.len().max(1)).max(1);
        thread::scope(|scope| {
            let parts = boards.chunks(share).zip(self.rows.chunks_mut(share)).zip(workers);
            let mut running = Vec::new();
            for (nth, ((boards, rows), worker)) in parts.enumerate() {
                let fill_rows = &fill_rows;
                running.push(scope.spawn(move || fill_rows(worker, boards, rows, nth == 0)));
            }
            let mut is_complete = true;
            for worker in running {
                is_complete &= worker.join().unwrap_or(Ok(false))?;
            }
            Ok(is_complete)
        })
    }

    /// Combines the scores of a request on all boards.
    pub(super) fn combine(&self, request: usize, combination: Combination) -> f64 {
        let mut values: Vec<(f32, f64)> = Vec::with_capacity(self.rows.len());
        for (row, &weight) in self.rows.iter().zip(&self.weights) {
            if !row.is_empty() {
                values.push((row[request], f64::from(weight)));
            }
        }
        let sum: f64 = values.iter().map(|value| value.1).sum();
        let sum = if sum > 0.0 { sum } else { 1.0 };
        let weighted = values.iter().map(|&(value, weight)| f64::from(value) * weight);
        let mean = weighted.sum::<f64>() / sum;
        if combination == Combination::Vote {
            return mean;
        }
        values.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut below = 0.0;
        let quantile = values.iter().find(|value| {
            below += value.1;
            below >= QUANTILE * sum
        });
        let quantile = quantile.map_or(mean, |value| f64::from(value.0));
        (1.0 - QUANTILE_SHARE) * mean + QUANTILE_SHARE * quantile
    }

    /// Returns the request that is best on most boards.
    pub(super) fn vote(&self) -> Option<usize> {
        let mut votes = vec![0_u32; self.requests];
        for row in self.rows.iter().filter(|row| !row.is_empty()) {
            if let Some(best) = (0..self.requests).max_by(|&a, &b| row[a].total_cmp(&row[b])) {
                votes[best] += 1;
            }
        }
        (0..self.requests).max_by_key(|&request| votes[request])
    }
}
