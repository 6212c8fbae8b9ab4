//! Adapts the planes of a game to a network that was trained with another layout.

use crate::encoding::{Layout, Shape};

/// Maps planes and policy indices between a game and a network with another layout. Planes correspond by
/// name.
#[derive(Clone, Debug)]
pub(super) struct PlaneAdapter {
    /// The sizes of the game's tensors.
    game: Shape,
    /// The sizes of the network's tensors.
    network: Shape,
    /// The game's plane for each plane of the network. A missing one is zero: no pieces in hand, no duck.
    planes: Vec<Option<usize>>,
    /// The network's policy plane for each policy plane of the game.
    policy: Vec<usize>,
    /// The game's planes that the network does not have.
    unseen: Vec<String>,
    /// A buffer for the network's planes.
    converted: Vec<f32>,
}

impl PlaneAdapter {
    /// Returns the adapter between the layouts of a network and of a game with tensors of `shape`. `None` if
    /// the network has another board, or no policy for some moves of the game.
    pub(super) fn new(network: &str, game: &str, shape: Shape) -> Option<PlaneAdapter> {
        let network = Layout::read(network)?;
        let game = Layout::read(game)?;
        let inputs = network.indices_in(&game)?;
        let outputs = game.indices_in(&network)?;
        let unseen = game.planes().iter().zip(&outputs.planes);
        let unseen = unseen.filter(|(_, plane)| plane.is_none()).map(|(name, _)| name.to_string());
        let planes = network.planes().len();
        let policy_planes = network.policy().len();
        Some(PlaneAdapter {
            game: shape,
            network: Shape { planes, policy_planes, ..shape },
            planes: inputs.planes,
            policy: outputs.policy.into_iter().collect::<Option<_>>()?,
            unseen: unseen.collect(),
            converted: Vec::new(),
        })
    }

    /// Returns the sizes of the network's tensors.
    pub(super) fn shape(&self) -> Shape {
        self.network
    }

    /// Returns `true` if planes and moves of each board map to the same board, in the same order for both
    /// boards. A two-board network needs that.
    pub(super) fn keeps_boards(&self) -> bool {
        let sizes = [self.network, self.game];
        if sizes.iter().any(|shape| shape.planes % 2 + shape.policy_planes % 2 > 0) {
            return false;
        }
        let [network, game] = sizes.map(|shape| shape.policy_planes / 2);
        let (white, black) = self.policy.split_at(game);
        if !white.iter().zip(black).all(|(&w, &b)| w < network && b == w + network) {
            return false;
        }
        // The first two planes are of both boards.
        let [network, game] = sizes.map(|shape| shape.of_board().planes.saturating_sub(1));
        let Some(own) = self.planes.get(2..2 + 2 * network) else { return false };
        let (white, black) = own.split_at(network);
        white.iter().zip(black).all(|(white, black)| {
            let is_white = white.is_none_or(|white| (2..2 + game).contains(&white));
            is_white && white.map(|white| white + game) == *black
        })
    }

    /// Returns the names of the planes that the network does not see, separated by commas.
    pub(super) fn unseen(&self) -> Option<String> {
        (!self.unseen.is_empty()).then(|| self.unseen.join(", "))
    }

    /// Converts planes of the game to planes of the network, for all rows.
    pub(super) fn convert(&mut self, rows: &[f32]) -> &[f32] {
        let squares = self.game.squares();
        self.converted.clear();
        for row in rows.chunks_exact(self.game.input()) {
            for plane in &self.planes {
                match plane {
                    Some(nth) => self.converted.extend_from_slice(&row[nth * squares..][..squares]),
                    None => self.converted.resize(self.converted.len() + squares, 0.0),
                }
            }
        }
        &self.converted
    }

    /// Returns the policy index of the network for a policy index of the game.
    pub(super) fn index(&self, index: usize) -> usize {
        let squares = self.game.squares();
        self.policy[index / squares] * squares + index % squares
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GAME: Shape = Shape { planes: 3, height: 1, width: 2, policy_planes: 2, outcomes: 3 };

    #[test]
    fn adapter_maps_planes_and_moves_by_name() {
        let network = "2x1 planes: A B C D; policy: X Y Z";
        let game = "2x1 planes: D New B; policy: Z X";
        let mut adapter = PlaneAdapter::new(network, game, GAME).expect("an adapter");
        assert_eq!(adapter.shape(), Shape { planes: 4, policy_planes: 3, ..GAME });
        assert_eq!(adapter.unseen().as_deref(), Some("New"));
        let rows = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0];
        let converted =
            [0.0, 0.0, 5.0, 6.0, 0.0, 0.0, 1.0, 2.0, 0.0, 0.0, 50.0, 60.0, 0.0, 0.0, 10.0, 20.0];
        assert_eq!(adapter.convert(&rows), converted);
        assert_eq!(adapter.convert(&rows[..6]), &converted[..8]);
        let indices = (0..4).map(|index| adapter.index(index));
        assert_eq!(indices.collect::<Vec<_>>(), [4, 5, 0, 1]);
        let same =
            PlaneAdapter::new(network, "2x1 planes: A B C; policy: X Z", GAME).expect("an adapter");
        assert_eq!(same.unseen(), None);
    }

    #[test]
    fn adapter_reports_whether_boards_are_kept() {
        let shape = Shape { planes: 6, policy_planes: 4, ..GAME };
        let game = "2x1 planes: A B W.M W.N B.M B.N; policy: W.X W.Y B.X B.Y";
        let keeps =
            |network| PlaneAdapter::new(network, game, shape).expect("an adapter").keeps_boards();
        assert!(keeps(game));
        assert!(keeps("2x1 planes: A B W.N W.K W.M B.N B.K B.M; policy: W.Y W.Z W.X B.Y B.Z B.X"));
        for crossed in [
            "2x1 planes: A B W.M W.N B.M B.N; policy: B.X B.Y W.X W.Y",
            "2x1 planes: A B W.M W.N B.M B.N; policy: W.X W.Y B.Y B.X",
            "2x1 planes: A B W.M W.N B.M B.N; policy: W.X B.X W.Y B.Y",
            "2x1 planes: A B W.M W.N B.M B.N; policy: W.X W.Y Z B.X B.Y",
            "2x1 planes: A B B.M B.N W.M W.N; policy: W.X W.Y B.X B.Y",
            "2x1 planes: A B W.M W.N B.N B.M; policy: W.X W.Y B.X B.Y",
            "2x1 planes: A W.M W.N B B.M B.N; policy: W.X W.Y B.X B.Y",
            "2x1 planes: A B W.M W.N B.M; policy: W.X W.Y B.X B.Y",
            "2x1 planes: ; policy: W.X W.Y B.X B.Y",
        ] {
            assert!(!keeps(crossed), "{crossed}");
        }
    }

    #[test]
    fn adapter_needs_the_board_and_all_moves() {
        let network = "2x1 planes: A B C D; policy: X Y Z";
        assert!(PlaneAdapter::new(network, "1x2 planes: A B C; policy: X Y", GAME).is_none());
        assert!(PlaneAdapter::new(network, "2x1 planes: A B C; policy: X Duck", GAME).is_none());
        assert!(PlaneAdapter::new("anything", "2x1 planes: A B C; policy: X Y", GAME).is_none());
    }
}
