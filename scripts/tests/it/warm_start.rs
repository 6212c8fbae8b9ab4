//! Networks of one variant as the start of those of another.

use menagerie::encoding::Encoding;
use menagerie::nn::NetworkMetadata;
use menagerie::nn::network::append_checksum;
use menagerie::variant::Catalogue;
use trainer::network::{Architecture, NamedTensor, Network};
use trainer::{onnx, warm_start};

const ARCHITECTURE: Architecture = Architecture::Residual { blocks: 1, channels: 4, squeeze: 0 };

fn encoding(game: &str) -> Encoding {
    Encoding::of(&Catalogue::shipped().get(game).expect("it is shipped").start())
}

/// A random network of a variant, and its file.
fn network(game: &str) -> (Network, Vec<u8>) {
    let encoding = encoding(game);
    let network = Network::new(encoding.shape(), &ARCHITECTURE, 1).expect("a network");
    let entries = NetworkMetadata::new(&encoding, game, "a test").entries();
    let file = onnx::export(network.shape(), &ARCHITECTURE, &network.tensors(), &entries);
    (network, append_checksum(file.expect("a file")))
}

fn tensor(network: &Network, name: &str) -> NamedTensor {
    network.tensors().into_iter().find(|tensor| tensor.name == name).expect("a tensor")
}

#[test]
fn common_planes_are_transferred_by_name() {
    let (given, file) = network("crazyhouse");
    let transferred = |game: &str| warm_start::read_network("FILE", &file, &encoding(game));
    assert_eq!(transferred("crazyhouse").expect("the same game").tensors(), given.tensors());
    let stem = tensor(&given, "stem.weight");
    for game in ["chess", "3check", "duck", "racingkings"] {
        let network = transferred(game).expect("a network");
        let own = tensor(&network, "stem.weight");
        let old = encoding("crazyhouse").plane_names();
        let new = encoding(game).plane_names();
        assert_eq!(own.shape, [4, new.len(), 3, 3]);
        let weights = |tensor: &NamedTensor, place: usize| -> Vec<f32> {
            let channels = tensor.data.chunks(tensor.shape[1] * 9);
            channels.flat_map(|channel| channel[9 * place..][..9].to_vec()).collect()
        };
        for (place, plane) in new.iter().enumerate() {
            let known = old.iter().position(|known| known == plane);
            let expected = known.map_or(vec![0.0; 36], |known| weights(&stem, known));
            assert_eq!(weights(&own, place), expected, "{game}: {plane}");
        }
        let inner = "block0.first.weight";
        assert_eq!(tensor(&network, inner), tensor(&given, inner), "{game}");
    }
}

#[test]
fn games_without_a_common_move_are_refused() {
    let (_, file) = network("crazyhouse");
    // Another board, and more sides.
    for game in ["gardner", "connect3"] {
        let error = warm_start::read_network("FILE", &file, &encoding(game)).expect_err("refused");
        assert!(error.to_string().contains("FILE: its layout is"), "{game}: {error}");
    }
}

#[test]
fn network_of_one_board_becomes_one_of_two() {
    let (given, file) = network("crazyhouse");
    let two_boards =
        warm_start::read_network("FILE", &file, &encoding("bughouse2")).expect("a network");
    assert_eq!(
        two_boards.architecture(),
        &Architecture::TwoBoards { blocks: 1, channels: 4, squeeze: 0 }
    );
    let inner = "block0.first.weight";
    assert_eq!(tensor(&two_boards, inner), tensor(&given, inner));
    // Pieces, hands, rights and counters are common. Crazyhouse lacks the planes for the side to move, the seats
    // that may move, drawn boards and the lead in time; two-board networks lack the plane of the team.
    let stem = tensor(&two_boards, "stem.weight");
    let known = stem.data.chunks(9).filter(|weights| weights.iter().any(|&w| w != 0.0)).count();
    let planes = encoding("crazyhouse").plane_names().len();
    assert_eq!(stem.shape[..2], [4, planes - 1 + 5]);
    assert_eq!(known, 4 * (planes - 1));
    // A network of two boards does not become one of one board.
    let entries = NetworkMetadata::new(&encoding("bughouse2"), "bughouse2", "a test").entries();
    let file = onnx::export(
        two_boards.shape(),
        two_boards.architecture(),
        &two_boards.tensors(),
        &entries,
    );
    let file = append_checksum(file.expect("a file"));
    let again = warm_start::read_network("FILE", &file, &encoding("bughouse2")).expect("the same");
    assert_eq!(again.tensors(), two_boards.tensors());
    let error =
        warm_start::read_network("FILE", &file, &encoding("crazyhouse")).expect_err("refused");
    assert!(error.to_string().contains("FILE: its layout is"), "{error}");
}

#[test]
fn two_board_network_with_layout_of_one_board_is_refused() {
    let architecture = Architecture::TwoBoards { blocks: 1, channels: 4, squeeze: 0 };
    let two = encoding("bughouse2");
    let network = Network::new(two.shape(), &architecture, 1).expect("a network");
    let entries = NetworkMetadata::new(&two, "bughouse2", "a test").entries();
    // The number of planes is right, but the layout has one board, or both boards are White's.
    for (prefix, instead) in [("White.", "Red."), ("Black.", "White.")] {
        let changed =
            |(key, value): &(String, String)| (key.clone(), value.replace(prefix, instead));
        let entries: Vec<_> = entries.iter().map(changed).collect();
        let file = onnx::export(network.shape(), &architecture, &network.tensors(), &entries);
        let file = append_checksum(file.expect("a file"));
        for game in ["bughouse2", "crazyhouse"] {
            let refused = warm_start::read_network("FILE", &file, &encoding(game));
            assert!(refused.is_err(), "{prefix} {game}");
        }
    }
}
