//! From one game's planes to a network that was made for another.

use crate::encoding::{Layout, Shape};

/// Lets a network read positions, and choose among moves, of a game that is written in other
/// planes than those it was trained with. Planes are the same if they have the same name.
#[derive(Clone, Debug)]
pub(super) struct PlaneAdapter {
    /// The sizes of the game.
    game: Shape,
    /// The sizes of the network.
    network: Shape,
    /// The game's plane for each of the network's. Where there is none the network sees zeros: no
    /// men in hand, no duck.
    planes: Vec<Option<usize>>,
    /// The network's policy plane for each of the game's.
    policy: Vec<usize>,
    /// The game's planes that the network has not.
    unseen: Vec<String>,
    crossed: Vec<f32>,
}

impl PlaneAdapter {
    /// The plane_adapter between the layouts of a network and of a game whose sizes are `shape`; `None` if
    /// the network has another board, or no policy for some of the game's moves.
    pub(super) fn new(network: &str, game: &str, shape: Shape) -> Option<PlaneAdapter> {
        let (known, written) = (Layout::read(network)?, Layout::read(game)?);
        let inputs = known.places_in(&written)?;
        let outputs = written.places_in(&known)?;
        let unseen = written.planes().iter().zip(&outputs.planes);
        let unseen = unseen.filter(|(_, place)| place.is_none()).map(|(name, _)| name.to_string());
        let (planes, policy_planes) = (known.planes().len(), known.policy().len());
        Some(PlaneAdapter {
            game: shape,
            network: Shape { planes, policy_planes, ..shape },
            planes: inputs.planes,
            policy: outputs.policy.into_iter().collect::<Option<_>>()?,
            unseen: unseen.collect(),
            crossed: Vec::new(),
        })
    }

    /// The sizes of the network's tensors.
    pub(super) fn shape(&self) -> Shape {
        self.network
    }

    /// Whether what belongs to one of two tables stays at that table, and at the same place of both: what a
    /// network needs that sees them one by one.
    pub(super) fn keeps_tables(&self) -> bool {
        let sizes = [self.network, self.game];
        if sizes.iter().any(|shape| shape.planes % 2 + shape.policy_planes % 2 > 0) {
            return false;
        }
        let [known, written] = sizes.map(|shape| shape.policy_planes / 2);
        let (white, black) = self.policy.split_at(written);
        let moves = white.iter().zip(black).all(|(&w, &b)| w < known && b == w + known);
        // Before the tables' own planes there are two of both.
        let [known, written] = sizes.map(|shape| shape.of_table().planes.saturating_sub(1));
        let Some(own) = self.planes.get(2..2 + 2 * known) else { return false };
        let (white, black) = own.split_at(known);
        let same = |(white, black): (&Option<usize>, &Option<usize>)| {
            let at_white = white.is_none_or(|white| (2..2 + written).contains(&white));
            at_white && white.map(|white| white + written) == *black
        };
        moves && white.iter().zip(black).all(same)
    }

    /// What of the game's positions the network does not see, in words.
    pub(super) fn unseen(&self) -> Option<String> {
        (!self.unseen.is_empty()).then(|| self.unseen.join(", "))
    }

    /// The network's planes of all rows from the game's.
    pub(super) fn cross(&mut self, rows: &[f32]) -> &[f32] {
        let squares = self.game.squares();
        self.crossed.clear();
        for row in rows.chunks_exact(self.game.input()) {
            for plane in &self.planes {
                match plane {
                    Some(nth) => self.crossed.extend_from_slice(&row[nth * squares..][..squares]),
                    None => self.crossed.resize(self.crossed.len() + squares, 0.0),
                }
            }
        }
        &self.crossed
    }

    /// Where the network's policy has a move of the game.
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
    fn planes_and_moves_cross_by_name() {
        let network = "2x1 planes: A B C D; policy: X Y Z";
        let mut plane_adapter =
            PlaneAdapter::new(network, "2x1 planes: D New B; policy: Z X", GAME).expect("one");
        assert_eq!(plane_adapter.shape(), Shape { planes: 4, policy_planes: 3, ..GAME });
        assert_eq!(plane_adapter.unseen().as_deref(), Some("New"));
        let rows = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0];
        let crossed =
            [0.0, 0.0, 5.0, 6.0, 0.0, 0.0, 1.0, 2.0, 0.0, 0.0, 50.0, 60.0, 0.0, 0.0, 10.0, 20.0];
        assert_eq!(plane_adapter.cross(&rows), crossed);
        assert_eq!(plane_adapter.cross(&rows[..6]), &crossed[..8]);
        let indices = (0..4).map(|index| plane_adapter.index(index));
        assert_eq!(indices.collect::<Vec<_>>(), [4, 5, 0, 1]);
        let same = PlaneAdapter::new(network, "2x1 planes: A B C; policy: X Z", GAME).expect("one");
        assert_eq!(same.unseen(), None);
    }

    #[test]
    fn a_bridge_of_two_tables_may_cross_them() {
        let shape = Shape { planes: 6, policy_planes: 4, ..GAME };
        let game = "2x1 planes: A B W.M W.N B.M B.N; policy: W.X W.Y B.X B.Y";
        let keeps = |network| PlaneAdapter::new(network, game, shape).expect("one").keeps_tables();
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
    fn no_bridge_leads_to_another_board_or_past_moves() {
        let network = "2x1 planes: A B C D; policy: X Y Z";
        assert!(PlaneAdapter::new(network, "1x2 planes: A B C; policy: X Y", GAME).is_none());
        assert!(PlaneAdapter::new(network, "2x1 planes: A B C; policy: X Duck", GAME).is_none());
        assert!(PlaneAdapter::new("anything", "2x1 planes: A B C; policy: X Y", GAME).is_none());
    }
}
