//! Random identities of processes that share a store.

use std::fmt;

use rand::TryRng;
use rand::rngs::SysRng;

/// A random number of 128 bits, new for each process, so that no two processes have the same one. Its text is 32
/// hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ProcessIdentity(u128);

impl ProcessIdentity {
    /// Returns a new identity.
    ///
    /// # Errors
    /// If the system has no random numbers.
    pub fn random() -> anyhow::Result<ProcessIdentity> {
        let mut bytes = [0; 16];
        SysRng.try_fill_bytes(&mut bytes)?;
        Ok(ProcessIdentity(u128::from_le_bytes(bytes)))
    }

    /// The seed of random numbers: the upper half.
    pub fn seed(self) -> u64 {
        (self.0 >> 64) as u64
    }

    /// The number of the first game: the lower half. With the seed, games of two processes are never equal.
    pub fn first_game(self) -> u64 {
        self.0 as u64
    }
}

impl fmt::Display for ProcessIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// Returns the name of this machine, for messages; empty if it is unknown.
pub fn host_name() -> String {
    let file = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    file.trim().to_owned()
}
