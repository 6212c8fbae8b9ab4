//! A network of one game as the start of another's.

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

/// A network of a game as it was drawn, and its file.
fn network(game: &str) -> (Network, Vec<u8>) {
    let (encoding, seed) = (encoding(game), 1);
    let network = Network::new(encoding.shape(), &ARCHITECTURE, seed).expect("a network");
    let entries = NetworkMetadata::new(&encoding, game, "a test").entries();
    let file = onnx::export(network.shape(), &ARCHITECTURE, &network.tensors(), &entries);
    (network, append_checksum(file.expect("a file")))
}

fn tensor(network: &Network, name: &str) -> NamedTensor {
    network.tensors().into_iter().find(|tensor| tensor.name == name).expect("a tensor")
}

#[test]
fn what_two_games_have_in_common_is_carried_over_by_name() {
    let (given, file) = network("crazyhouse");
    let begun = |game: &str| warm_start::network("FILE", &file, &encoding(game));
    assert_eq!(begun("crazyhouse").expect("the same game").tensors(), given.tensors());
    let stem = tensor(&given, "stem.weight");
    for game in ["chess", "3check", "duck", "racingkings"] {
        let begun = begun(game).expect("it begins");
        let own = tensor(&begun, "stem.weight");
        let (old, new) = (encoding("crazyhouse").plane_names(), encoding(game).plane_names());
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
        assert_eq!(tensor(&begun, inner), tensor(&given, inner), "{game}");
    }
}

#[test]
fn a_game_with_no_move_in_common_is_refused() {
    let (_, file) = network("crazyhouse");
    // Another board, and more sides.
    for game in ["gardner", "connect3"] {
        let error = warm_start::network("FILE", &file, &encoding(game)).expect_err("refused");
        assert!(error.to_string().contains("FILE: its layout is"), "{game}: {error}");
    }
}

#[test]
fn a_game_of_one_table_is_the_start_of_one_of_two() {
    let (given, file) = network("crazyhouse");
    let twin = warm_start::network("FILE", &file, &encoding("bughouse2")).expect("it begins");
    assert_eq!(twin.architecture(), &Architecture::Twin { blocks: 1, channels: 4, squeeze: 0 });
    let inner = "block0.first.weight";
    assert_eq!(tensor(&twin, inner), tensor(&given, inner));
    // Men, hands, rights, clocks: what crazyhouse has not is who is on turn, may move, is drawn, and
    // who has more time. A table is not that of a team.
    let stem = tensor(&twin, "stem.weight");
    let known = stem.data.chunks(9).filter(|weights| weights.iter().any(|&w| w != 0.0)).count();
    let planes = encoding("crazyhouse").plane_names().len();
    assert_eq!(stem.shape[..2], [4, planes - 1 + 5]);
    assert_eq!(known, 4 * (planes - 1));
    // Back to one table there is no way, and not from every kind of network to two.
    let entries = NetworkMetadata::new(&encoding("bughouse2"), "bughouse2", "a test").entries();
    let file = onnx::export(twin.shape(), twin.architecture(), &twin.tensors(), &entries);
    let file = append_checksum(file.expect("a file"));
    let again = warm_start::network("FILE", &file, &encoding("bughouse2")).expect("the same");
    assert_eq!(again.tensors(), twin.tensors());
    let error = warm_start::network("FILE", &file, &encoding("crazyhouse")).expect_err("refused");
    assert!(error.to_string().contains("FILE: its layout is"), "{error}");
}

#[test]
fn a_twin_that_says_it_is_of_one_table_is_refused() {
    let twin = Architecture::Twin { blocks: 1, channels: 4, squeeze: 0 };
    let two = encoding("bughouse2");
    let network = Network::new(two.shape(), &twin, 1).expect("a network");
    let entries = NetworkMetadata::new(&two, "bughouse2", "a test").entries();
    // As many planes, of a game of one table, or all of one of the two.
    for (prefix, instead) in [("White.", "Red."), ("Black.", "White.")] {
        let changed =
            |(key, value): &(String, String)| (key.clone(), value.replace(prefix, instead));
        let entries: Vec<_> = entries.iter().map(changed).collect();
        let file = onnx::export(network.shape(), &twin, &network.tensors(), &entries);
        let file = append_checksum(file.expect("a file"));
        for game in ["bughouse2", "crazyhouse"] {
            let refused = warm_start::network("FILE", &file, &encoding(game));
            assert!(refused.is_err(), "{prefix} {game}");
        }
    }
}
