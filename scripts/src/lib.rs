//! The trainer of Menagerie: self-play, learning and export, over the library's public API only.
