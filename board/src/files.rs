//! The files of the page.

use std::env::current_exe;
use std::io;
use std::path::{Path, PathBuf};

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};

use crate::limits::{MAX_FILE_BYTES, MAX_PATH_BYTES};

/// The folder of the bundled page in a checkout.
const PAGE_FOLDER: &str = "board/web/dist";
/// The folder of the page next to the executable.
const ADJACENT_FOLDER: &str = "dist";
/// The file of the path `/`.
const INDEX_FILE: &str = "index.html";

/// The types of files by their extensions. Other files are not served.
const MEDIA_TYPES: [(&str, &str); 14] = [
    ("html", "text/html; charset=utf-8"),
    ("js", "text/javascript; charset=utf-8"),
    ("css", "text/css; charset=utf-8"),
    ("json", "application/json"),
    ("map", "application/json"),
    ("webmanifest", "application/manifest+json"),
    ("svg", "image/svg+xml"),
    ("png", "image/png"),
    ("ico", "image/x-icon"),
    ("webp", "image/webp"),
    ("woff2", "font/woff2"),
    ("mp3", "audio/mpeg"),
    ("ogg", "audio/ogg"),
    ("txt", "text/plain; charset=utf-8"),
];

/// The page is not there.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("no page in {0}, run scripts/get-board to build it")]
pub struct MissingPage(String);

/// Returns the folder of the page: next to the executable, in the working directory, or in the folder of the
/// source code.
///
/// # Errors
/// If none of them has an index.
pub fn locate_page() -> Result<PathBuf, MissingPage> {
    let executable = current_exe().ok();
    let adjacent = executable.as_deref().and_then(Path::parent).map(|it| it.join(ADJACENT_FOLDER));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("web/dist");
    let folders: Vec<PathBuf> =
        adjacent.into_iter().chain([PathBuf::from(PAGE_FOLDER), source]).collect();
    let found = folders.iter().find(|folder| folder.join(INDEX_FILE).is_file());
    found.cloned().ok_or_else(|| {
        let names: Vec<_> = folders.iter().map(|it| it.display().to_string()).collect();
        MissingPage(names.join(", "))
    })
}

/// Returns the file of the page at the path of a request. Blocks.
pub(crate) fn read_file(folder: &Path, path: &str) -> Response {
    let Some((file, media_type)) = resolve(path) else {
        return (StatusCode::NOT_FOUND, "not found").into_response();
    };
    match read_within(folder, file) {
        Ok(Some(bytes)) => {
            let headers = [(header::CONTENT_TYPE, media_type), (header::CACHE_CONTROL, "no-cache")];
            (headers, bytes).into_response()
        }
        Ok(None) => (StatusCode::NOT_FOUND, "not found").into_response(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            (StatusCode::NOT_FOUND, "not found").into_response()
        }
        Err(error) => {
            log::warn!("cannot read {}: {error}", folder.join(file).display());
            (StatusCode::INTERNAL_SERVER_ERROR, "cannot read the file").into_response()
        }
    }
}

/// Returns the relative path of the file for the path of a request, and its type. Only plain names are
/// accepted: no `..`, no hidden files, no escapes.
fn resolve(path: &str) -> Option<(&str, &'static str)> {
    let file = match path.strip_prefix('/')? {
        "" => INDEX_FILE,
        file => file,
    };
    let is_plain = |name: &str| {
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        !name.is_empty() && !name.starts_with('.') && name.bytes().all(is_allowed)
    };
    if file.len() > MAX_PATH_BYTES || !file.split('/').all(is_plain) {
        return None;
    }
    let extension = file.rsplit_once('.')?.1;
    let (_, media_type) = MEDIA_TYPES.iter().find(|(known, _)| *known == extension)?;
    Some((file, media_type))
}

/// Returns the contents of a file; `None` if it is outside the folder, too large, or not a file.
fn read_within(folder: &Path, file: &str) -> io::Result<Option<Vec<u8>>> {
    let folder = folder.canonicalize()?;
    let path = folder.join(file).canonicalize()?;
    // A link can lead out of the folder.
    if !path.starts_with(&folder) {
        return Ok(None);
    }
    let metadata = path.metadata()?;
    if !metadata.is_file() || metadata.len() > MAX_FILE_BYTES {
        return Ok(None);
    }
    std::fs::read(path).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_plain_names() {
        assert_eq!(resolve("/").map(|(file, _)| file), Some("index.html"));
        assert_eq!(resolve("/assets/page-1.js").map(|(file, _)| file), Some("assets/page-1.js"));
        for path in [
            "",
            "index.html",
            "/../Cargo.toml",
            "/a/../b.js",
            "//etc/passwd.txt",
            "/%2e%2e/a.js",
            "/a\\b.js",
            "/.git/config.txt",
            "/a/.js",
            "/a.rs",
            "/a",
            "/a/",
            "/a\0.js",
            "/ä.js",
        ] {
            assert_eq!(resolve(path), None, "{path}");
        }
        assert_eq!(resolve(&format!("/{}.js", "a".repeat(300))), None);
    }
}
