//! What all connections share.

use menagerie::variant::Catalogue;
use serde::Serialize;

use crate::hidden::HiddenGames;
use crate::limits::DEFAULT_HASH_MB;
use crate::variants::{VariantInfo, variant_list};

/// What all connections share.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) catalogue: &'static Catalogue,
    pub(crate) hello: HelloBody,
    pub(crate) hidden: HiddenGames,
}

/// The reply to `hello`.
#[derive(Debug, Serialize)]
pub(crate) struct HelloBody {
    version: &'static str,
    variants: Vec<VariantInfo>,
    engine: EngineDefaults,
}

#[derive(Debug, Serialize)]
struct EngineDefaults {
    hash: i64,
    threads: usize,
    #[serde(rename = "maxThreads")]
    max_threads: usize,
}

impl Context {
    /// Creates the context of a server of the variants of `catalogue`.
    ///
    /// # Errors
    /// If the players of RBC cannot be set up.
    pub(crate) fn new(
        catalogue: &'static Catalogue,
    ) -> Result<Context, menagerie_rbc::OptionsError> {
        let max_threads = std::thread::available_parallelism().map_or(1, |cores| cores.get());
        let hello = HelloBody {
            version: env!("CARGO_PKG_VERSION"),
            variants: variant_list(catalogue),
            engine: EngineDefaults { hash: DEFAULT_HASH_MB, threads: 1, max_threads },
        };
        Ok(Context { catalogue, hello, hidden: HiddenGames::new()? })
    }
}
