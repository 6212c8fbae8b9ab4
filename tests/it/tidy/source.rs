//! Source files as tokens with line numbers, without comments, and optionally without test code.

use std::fs;
use std::path::Path;
use std::str::FromStr;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// A token: an identifier, a literal, a bracket, `::`, or a single punctuation character.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Word {
    pub(crate) text: String,
    pub(crate) line: usize,
}

/// A path in a source, such as `super::node::Node`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Written {
    pub(crate) segments: Vec<String>,
    pub(crate) line: usize,
    /// The name that a `use` imports, `*` for a glob, or `None` outside `use`.
    pub(crate) name: Option<String>,
}

/// A Rust source file.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    /// The path relative to the root of the checkout, with `/`.
    pub(crate) path: String,
    pub(crate) text: String,
    /// All tokens, without comments and documentation.
    pub(crate) all: Vec<Word>,
    /// The tokens that are not under `#[cfg(test)]`.
    pub(crate) words: Vec<Word>,
    pub(crate) paths: Vec<Written>,
}

impl Source {
    pub(crate) fn new(path: &str, text: &str) -> Source {
        let stream = TokenStream::from_str(text).unwrap_or_else(|error| panic!("{path}: {error}"));
        let mut all = Vec::new();
        let mut words = Vec::new();
        flatten(stream.clone(), false, &mut all);
        flatten(stream, true, &mut words);
        let paths = written(&words);
        Source { path: path.to_owned(), text: text.to_owned(), all, words, paths }
    }

    /// Returns `true` if the file is that of a module or of its descendants.
    pub(crate) fn is_within(&self, module: &str) -> bool {
        let rest = self.path.strip_prefix(module);
        rest.is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
    }

    /// Returns the tokens, each with those before and after it. Beyond the ends they are empty.
    pub(crate) fn neighbours(&self) -> impl Iterator<Item = (&str, &Word, &str)> {
        let text = |at: Option<usize>| {
            at.and_then(|at| self.words.get(at)).map_or("", |word| word.text.as_str())
        };
        let each = self.words.iter().enumerate();
        each.map(move |(at, word)| (text(at.checked_sub(1)), word, text(Some(at + 1))))
    }
}

/// Returns all Rust files in folders of the checkout at `root`.
pub(crate) fn read(root: &Path, folders: &[&str]) -> Vec<Source> {
    let mut found = Vec::new();
    for folder in folders {
        collect(root, folder, &mut found);
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

fn collect(root: &Path, folder: &str, found: &mut Vec<Source>) {
    let Ok(entries) = fs::read_dir(root.join(folder)) else { return };
    for entry in entries {
        let entry = entry.expect("the folder can be read");
        let name = entry.file_name().into_string().expect("names are UTF-8");
        let path = format!("{folder}/{name}");
        if entry.file_type().expect("it has a type").is_dir() {
            if name != "target" && !name.starts_with('.') {
                collect(root, &path, found);
            }
        } else if name.ends_with(".rs") {
            let text = fs::read_to_string(entry.path()).expect("sources are UTF-8");
            found.push(Source::new(&path, &text));
        }
    }
}

/// Appends the tokens of a stream. `skip_tests` omits those under `#[cfg(test)]`.
fn flatten(stream: TokenStream, skip_tests: bool, words: &mut Vec<Word>) {
    let trees: Vec<TokenTree> = stream.into_iter().collect();
    let mut at = 0;
    while let Some(tree) = trees.get(at) {
        if let Some((length, attribute)) = attribute(&trees[at..]) {
            if attribute.starts_with("doc ") {
                at += length;
                continue;
            }
            if skip_tests && attribute == "cfg (test)" {
                at += length + item_length(&trees[at + length..]);
                continue;
            }
        }
        let line = tree.span().start().line;
        match tree {
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::None => ("", ""),
                };
                words.push(Word { text: open.to_owned(), line });
                flatten(group.stream(), skip_tests, words);
                let line = group.span_close().start().line;
                words.push(Word { text: close.to_owned(), line });
            }
            TokenTree::Punct(_) if is_colon(tree) && trees.get(at + 1).is_some_and(is_colon) => {
                words.push(Word { text: "::".to_owned(), line });
                at += 1;
            }
            other => words.push(Word { text: other.to_string(), line }),
        }
        at += 1;
    }
}

fn is_colon(tree: &TokenTree) -> bool {
    matches!(tree, TokenTree::Punct(sign) if sign.as_char() == ':')
}

/// Returns the number of trees of an attribute at the front, and the text in its brackets.
fn attribute(trees: &[TokenTree]) -> Option<(usize, String)> {
    let sign = |at: usize, wanted: char| matches!(trees.get(at), Some(TokenTree::Punct(sign)) if sign.as_char() == wanted);
    let at = 1 + usize::from(sign(1, '!'));
    match trees.get(at) {
        Some(TokenTree::Group(group)) if sign(0, '#') => Some((at + 1, group.stream().to_string())),
        _ => None,
    }
}

/// Returns the number of trees of the item at the front, up to its braces or a semicolon.
fn item_length(trees: &[TokenTree]) -> usize {
    let end = trees.iter().position(|tree| match tree {
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
        TokenTree::Punct(sign) => sign.as_char() == ';',
        _ => false,
    });
    end.map_or(trees.len(), |end| end + 1)
}

fn is_name(word: &str) -> bool {
    word.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// Returns all paths of more than one segment, and all paths in `use`.
fn written(words: &[Word]) -> Vec<Written> {
    let text = |at: usize| words.get(at).map_or("", |word| word.text.as_str());
    let mut paths = Vec::new();
    let mut at = 0;
    while at < words.len() {
        if text(at) == "use" && text(at + 1) != "<" {
            at = use_tree(words, at + 1, &[], &mut paths);
        } else if is_name(text(at)) && text(at + 1) == "::" {
            let line = words[at].line;
            let mut segments = vec![text(at).to_owned()];
            while text(at + 1) == "::" && is_name(text(at + 2)) {
                segments.push(text(at + 2).to_owned());
                at += 2;
            }
            paths.push(Written { segments, line, name: None });
        }
        at += 1;
    }
    paths
}

/// Reads a `use` tree from `at` on. Returns the index after it.
fn use_tree(words: &[Word], mut at: usize, prefix: &[String], paths: &mut Vec<Written>) -> usize {
    let text = |at: usize| words.get(at).map_or("", |word| word.text.as_str());
    let mut segments = prefix.to_vec();
    let line = words.get(at).map_or(0, |word| word.line);
    loop {
        match text(at) {
            "::" => at += 1,
            "{" => {
                at += 1;
                while text(at) != "}" && at < words.len() {
                    at = use_tree(words, at, &segments, paths);
                    at += usize::from(text(at) == ",");
                }
                return at + 1;
            }
            "*" => {
                paths.push(Written { segments, line, name: Some("*".to_owned()) });
                return at + 1;
            }
            "as" => {
                paths.push(Written { segments, line, name: Some(text(at + 1).to_owned()) });
                return at + 2;
            }
            "self" if !segments.is_empty() => at += 1,
            name if is_name(name) => {
                segments.push(name.to_owned());
                at += 1;
            }
            _ => {
                let name = segments.last().cloned();
                paths.push(Written { segments, line, name });
                return at;
            }
        }
    }
}
