//! Games that a sparse network learns from: those of one variant, or those of all variants of a base.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use menagerie::encoding::sparse::IndexMap;
use menagerie::encoding::{SparseEncoding, SparseLayout};
use menagerie::variant::{BASE_NETWORK, Variant};

/// Name of a run that trains a base.
pub const BASE: &str = BASE_NETWORK;

/// Labelled games with the layout of the network that learns from them.
#[derive(Debug)]
pub struct Sources {
    name: String,
    layout: SparseLayout,
    pub(super) variants: Vec<VariantSource>,
}

/// Labelled games of one variant.
#[derive(Debug)]
pub(super) struct VariantSource {
    pub(super) variant: Arc<Variant>,
    /// Files of records.
    pub(super) files: Vec<PathBuf>,
    pub(super) encoding: SparseEncoding,
    /// The map from the variant's encoding to a base.
    pub(super) map: Option<IndexMap>,
}

impl Sources {
    /// Returns the games of a network for one variant.
    ///
    /// # Errors
    /// If the variant has no sparse encoding.
    pub fn of_variant(variant: &Arc<Variant>, files: &[PathBuf]) -> anyhow::Result<Sources> {
        let encoding = encoding_of(variant)?;
        let layout = SparseLayout::of(&encoding);
        let files = files.to_vec();
        let source = VariantSource { variant: Arc::clone(variant), files, encoding, map: None };
        Ok(Sources { name: variant.name().to_owned(), layout, variants: vec![source] })
    }

    /// Returns the games of a base. A variant may occur more than once; the order of the variants does not
    /// matter.
    ///
    /// # Errors
    /// If a variant has no sparse encoding, or there is no layout for all of them.
    pub fn of_base(games: &[(Arc<Variant>, Vec<PathBuf>)]) -> anyhow::Result<Sources> {
        anyhow::ensure!(!games.is_empty(), "no variants to train a base on");
        let mut by_name: BTreeMap<&str, (&Arc<Variant>, Vec<PathBuf>)> = BTreeMap::new();
        for (variant, files) in games {
            let (_, all) = by_name.entry(variant.name()).or_insert_with(|| (variant, Vec::new()));
            all.extend_from_slice(files);
        }
        let encodings: Vec<(&str, SparseEncoding)> = by_name
            .iter()
            .map(|(name, (variant, _))| Ok((*name, encoding_of(variant)?)))
            .collect::<anyhow::Result<_>>()?;
        let named: Vec<(&str, &SparseEncoding)> =
            encodings.iter().map(|(name, encoding)| (*name, encoding)).collect();
        let layout = SparseLayout::union(&named)?;
        let sources = by_name.values().zip(&encodings).map(|((variant, files), (_, encoding))| {
            VariantSource {
                variant: Arc::clone(variant),
                files: files.clone(),
                encoding: encoding.clone(),
                map: Some(IndexMap::new(&SparseLayout::of(encoding), &layout)),
            }
        });
        let variants = sources.collect();
        Ok(Sources { name: BASE.to_owned(), layout, variants })
    }

    /// Returns the name of the network: the variant, or [`BASE`].
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the layout of the network.
    pub fn layout(&self) -> &SparseLayout {
        &self.layout
    }

    /// Returns the encoding of the variant; `None` for a base.
    pub fn encoding(&self) -> Option<&SparseEncoding> {
        match &self.variants[..] {
            [source] if !self.layout.is_base() => Some(&source.encoding),
            _ => None,
        }
    }

    /// Returns a text that is the same for the same encodings of the same variants.
    pub(super) fn fingerprint(&self) -> String {
        if let Some(encoding) = self.encoding() {
            return encoding.layout();
        }
        let layouts: Vec<String> =
            self.variants.iter().map(|source| source.encoding.layout()).collect();
        format!("{} {:08x}", self.layout, crc32fast::hash(layouts.join("\n").as_bytes()))
    }
}

fn encoding_of(variant: &Variant) -> anyhow::Result<SparseEncoding> {
    let name = variant.name();
    SparseEncoding::new(&variant.start().game_spec())
        .ok_or_else(|| anyhow::anyhow!("{name} has no pieces that move"))
}
