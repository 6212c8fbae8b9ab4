//! Networks that play a variant, their own or that of another variant, as in the engine.

use menagerie::encoding::Encoding;
use menagerie::engine::network_fit;
use menagerie::nn::network::Backend;
use menagerie::nn::{Opened, UnfitNetwork, Weights};
use menagerie::variant::Variant;

/// Opens a network to play a variant, on one thread: one of the variant, a base network, or one of the variant whose
/// network plays it ([`Variant::network`]).
///
/// # Errors
/// [`UnfitNetwork`] if it is another network, is invalid, does not fit, or cannot be run.
pub fn open_to_play<'a>(
    weights: &'a Weights,
    variant: &Variant,
    backend: Backend,
) -> Result<Opened<'a>, UnfitNetwork> {
    let encoding = Encoding::of(&variant.start());
    let open = |made_for| {
        weights.open_related(&encoding, made_for, network_fit(variant, made_for), backend)
    };
    match (open(variant.name()), variant.network()) {
        (Err(UnfitNetwork::Variant { .. }), Some(related)) => open(related),
        (own, _) => own,
    }
}
