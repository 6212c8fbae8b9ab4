//! The modules of a crate, and the uses among them.

use std::collections::{BTreeMap, BTreeSet};

use super::source::{Source, Written};

/// The path of a module. That of the crate's root is empty.
type Module = Vec<String>;

/// The modules of a crate, and the names that they import.
pub(crate) struct Modules<'a> {
    files: BTreeMap<Module, &'a Source>,
    /// By module and imported name, the path of the `use`.
    names: BTreeMap<(Module, &'a str), &'a Written>,
}

/// The use of an item of another module in a file.
#[derive(Clone, Debug)]
pub(crate) struct Use<'a> {
    pub(crate) from: Module,
    pub(crate) to: Module,
    pub(crate) file: &'a Source,
    pub(crate) line: usize,
}

impl<'a> Modules<'a> {
    /// Returns the modules of the crate whose root is `lib.rs` in `folder`.
    pub(crate) fn new(sources: &'a [Source], folder: &str) -> Modules<'a> {
        let mut files = BTreeMap::new();
        let mut names = BTreeMap::new();
        for file in sources {
            let Some(module) = module(&file.path, folder) else { continue };
            for written in &file.paths {
                if let Some(name) = &written.name {
                    names.insert((module.clone(), name.as_str()), written);
                }
            }
            files.insert(module, file);
        }
        Modules { files, names }
    }

    /// Returns all paths to other modules of the crate, each with the module that defines the item.
    pub(crate) fn uses(&self) -> Vec<Use<'a>> {
        let mut uses = Vec::new();
        for (from, file) in &self.files {
            for written in &file.paths {
                if let Some(to) = self.target(from, written, 0).filter(|to| to != from) {
                    uses.push(Use { from: from.clone(), to, file, line: written.line });
                }
            }
        }
        uses
    }

    /// Returns the module that defines the item of a path in `from`, or `None` if it is in another crate.
    fn target(&self, from: &Module, written: &Written, depth: usize) -> Option<Module> {
        let mut base = from.clone();
        let mut rest = &written.segments[..];
        let first = rest.first()?;
        match first.as_str() {
            "crate" => base.clear(),
            "self" => {}
            "super" => drop(base.pop()),
            // A child of the module. Anything else is an extern crate or an imported name.
            name => {
                let child = [&from[..], &[name.to_owned()]].concat();
                return self
                    .files
                    .contains_key(&child)
                    .then(|| self.find(child, &rest[1..], depth))?;
            }
        }
        rest = &rest[1..];
        while rest.first().is_some_and(|segment| segment == "super") {
            base.pop();
            rest = &rest[1..];
        }
        self.find(base, rest, depth)
    }

    /// Returns the module that defines `rest` as seen from the module `base`.
    fn find(&self, mut base: Module, mut rest: &[String], depth: usize) -> Option<Module> {
        while let Some((name, after)) = rest.split_first() {
            let child = [&base[..], std::slice::from_ref(name)].concat();
            if self.files.contains_key(&child) {
                (base, rest) = (child, after);
                continue;
            }
            // A name that the module imports. The limit stops a `use` of itself.
            return match self.names.get(&(base.clone(), name.as_str())) {
                Some(written) if depth < 8 => self.target(&base, written, depth + 1),
                _ => Some(base),
            };
        }
        Some(base)
    }
}

/// Returns the module of a file: `a::b` for `src/a/b.rs`.
fn module(path: &str, folder: &str) -> Option<Module> {
    let inner = path.strip_prefix(folder)?.strip_prefix('/')?.strip_suffix(".rs")?;
    match inner {
        "lib" => Some(Vec::new()),
        "main" => None,
        _ if inner.starts_with("bin/") => None,
        _ => Some(inner.split('/').map(str::to_owned).collect()),
    }
}

/// Returns the cycles of modules, each as its uses.
///
/// The use of a child module is not an edge, because a parent declares, re-exports and delegates to its
/// children. The use of a parent is an edge.
pub(crate) fn cycles<'a>(uses: &[Use<'a>]) -> Vec<Vec<Use<'a>>> {
    let mut edges: BTreeMap<&Module, Vec<&Use<'a>>> = BTreeMap::new();
    for edge in uses.iter().filter(|edge| !edge.to.starts_with(&edge.from)) {
        let known = edges.entry(&edge.from).or_default();
        if known.iter().all(|other| other.to != edge.to) {
            known.push(edge);
        }
    }
    let mut cycles = Vec::new();
    let mut done = BTreeSet::new();
    for &start in edges.keys() {
        walk(start, &edges, &mut Vec::new(), &mut done, &mut cycles);
    }
    cycles
}

fn walk<'u, 'a>(
    module: &'u Module,
    edges: &BTreeMap<&'u Module, Vec<&'u Use<'a>>>,
    path: &mut Vec<&'u Use<'a>>,
    done: &mut BTreeSet<&'u Module>,
    cycles: &mut Vec<Vec<Use<'a>>>,
) {
    if let Some(start) = path.iter().position(|edge| edge.from == *module) {
        cycles.push(path[start..].iter().map(|&edge| edge.clone()).collect());
        return;
    }
    if done.contains(module) {
        return;
    }
    for &edge in edges.get(module).into_iter().flatten() {
        path.push(edge);
        walk(&edge.to, edges, path, done, cycles);
        path.pop();
    }
    done.insert(module);
}
