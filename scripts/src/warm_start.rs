//! Weights to learn on from.

use menagerie::encoding::Encoding;
use menagerie::evaluation::Passport;

use crate::network::Network;
use crate::onnx;

/// The network in an ONNX file that the trainer wrote, of floats, called `name` in errors, for
/// games of this encoding.
///
/// It may have learnt another game on the same board: what the two have in common, by the names of
/// their planes, is carried over, and the rest begins at zero. So chess helps a game with drops,
/// and crazyhouse any game that is played with the same men.
///
/// # Errors
/// What is wrong with the file, or with it for this encoding.
pub fn network(name: &str, bytes: &[u8], encoding: &Encoding) -> anyhow::Result<Network> {
    let fault = |error: String| anyhow::anyhow!("{name}: {error}");
    let (network, entries) = onnx::read(bytes).map_err(|error| fault(error.to_string()))?;
    let get =
        |key: &str| entries.iter().find(|(known, _)| known == key).map(|(_, value)| value.clone());
    let passport = Passport::read(get).map_err(|error| fault(error.to_string()))?;
    let (found, wanted) = (passport.layout, encoding.layout());
    if found == wanted {
        return Ok(network);
    }
    let (known, new) = (Layout::read(&found), Layout::read(&wanted));
    let fits = |(known, new): &(Layout<'_>, Layout<'_>)| {
        let outcomes = network.shape().outcomes == encoding.shape().outcomes;
        let told = [known.planes.len(), known.policy.len()];
        let has = [network.shape().planes, network.shape().policy_planes];
        outcomes && told == has && known.board == new.board && known.shares_moves(new)
    };
    let Some((known, new)) = known.zip(new).filter(fits) else {
        return Err(fault(format!("its layout is \"{found}\", not \"{wanted}\"")));
    };
    let planes = places(&new.planes, &known.planes);
    let policy = places(&new.policy, &known.policy);
    network.adapted(encoding.shape(), &planes, &policy).map_err(|error| fault(error.to_string()))
}

/// [`Encoding::layout`], taken apart.
struct Layout<'a> {
    board: &'a str,
    planes: Vec<&'a str>,
    policy: Vec<&'a str>,
}

impl Layout<'_> {
    fn read(text: &str) -> Option<Layout<'_>> {
        let (board, rest) = text.split_once(" planes: ")?;
        let (planes, policy) = rest.split_once("; policy: ")?;
        Some(Layout { board, planes: names(planes), policy: names(policy) })
    }

    fn shares_moves(&self, other: &Layout<'_>) -> bool {
        self.policy.iter().any(|name| other.policy.contains(name))
    }
}

/// The names of planes, between which there are spaces. Within a name a space follows a comma.
fn names(text: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let mut start = 0;
    for (at, _) in text.match_indices(' ').filter(|(at, _)| !text[..*at].ends_with(',')) {
        names.push(&text[start..at]);
        start = at + 1;
    }
    names.push(&text[start..]);
    names
}

/// Where each of some names stands among others.
fn places(names: &[&str], among: &[&str]) -> Vec<Option<usize>> {
    names.iter().map(|name| among.iter().position(|known| known == name)).collect()
}
