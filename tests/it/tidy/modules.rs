//! The modules of a crate, and which uses which.

use std::collections::{BTreeMap, BTreeSet};

use super::source::{Source, Written};

/// A module by the names of the modules that lead to it; the crate's root has none.
type Module = Vec<String>;

/// The modules of one crate and the names that they give to things by `use`.
pub(crate) struct Modules<'a> {
    files: BTreeMap<Module, &'a Source>,
    /// What a `use` in a module calls by a name: the path, as written there.
    names: BTreeMap<(Module, &'a str), &'a Written>,
}

/// That a file uses something of another module.
#[derive(Clone, Debug)]
pub(crate) struct Use<'a> {
    pub(crate) from: Module,
    pub(crate) to: Module,
    pub(crate) file: &'a Source,
    pub(crate) line: usize,
}

impl<'a> Modules<'a> {
    /// The modules of the crate whose root is `folder`'s `lib.rs`.
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

    /// Every path that leads into another module of the crate, with the module that defines what
    /// it names, whoever re-exports it.
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

    /// The module that defines what a path in `from` names; `None` if it is of another crate.
    fn target(&self, from: &Module, written: &Written, depth: usize) -> Option<Module> {
        let mut base = from.clone();
        let mut rest = &written.segments[..];
        let first = rest.first()?;
        match first.as_str() {
            "crate" => base.clear(),
            "self" => {}
            "super" => drop(base.pop()),
            // A child of the module that says so; all else is an extern crate or was imported.
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

    /// The module that defines `rest` as seen in the module `base`.
    fn find(&self, mut base: Module, mut rest: &[String], depth: usize) -> Option<Module> {
        while let Some((name, after)) = rest.split_first() {
            let child = [&base[..], std::slice::from_ref(name)].concat();
            if self.files.contains_key(&child) {
                (base, rest) = (child, after);
                continue;
            }
            // A name that the module has from elsewhere. The limit ends a `use` of itself.
            return match self.names.get(&(base.clone(), name.as_str())) {
                Some(written) if depth < 8 => self.target(&base, written, depth + 1),
                _ => Some(base),
            };
        }
        Some(base)
    }
}

/// The module of a file: `src/a/b.rs` is `a::b`.
fn module(path: &str, folder: &str) -> Option<Module> {
    let inner = path.strip_prefix(folder)?.strip_prefix('/')?.strip_suffix(".rs")?;
    match inner {
        "lib" => Some(Vec::new()),
        "main" => None,
        _ if inner.starts_with("bin/") => None,
        _ => Some(inner.split('/').map(str::to_owned).collect()),
    }
}

/// The circles among modules, each as the uses that make it.
///
/// A module whose file declares, re-exports and delegates to the modules below it is one thing with
/// them: that it uses them is no edge. That they use what its own file defines is one.
pub(crate) fn circles<'a>(uses: &[Use<'a>]) -> Vec<Vec<Use<'a>>> {
    let mut edges: BTreeMap<&Module, Vec<&Use<'a>>> = BTreeMap::new();
    for edge in uses.iter().filter(|edge| !edge.to.starts_with(&edge.from)) {
        let known = edges.entry(&edge.from).or_default();
        if known.iter().all(|other| other.to != edge.to) {
            known.push(edge);
        }
    }
    let mut circles = Vec::new();
    let mut done = BTreeSet::new();
    for &start in edges.keys() {
        walk(start, &edges, &mut Vec::new(), &mut done, &mut circles);
    }
    circles
}

fn walk<'u, 'a>(
    module: &'u Module,
    edges: &BTreeMap<&'u Module, Vec<&'u Use<'a>>>,
    way: &mut Vec<&'u Use<'a>>,
    done: &mut BTreeSet<&'u Module>,
    circles: &mut Vec<Vec<Use<'a>>>,
) {
    if let Some(start) = way.iter().position(|edge| edge.from == *module) {
        circles.push(way[start..].iter().map(|&edge| edge.clone()).collect());
        return;
    }
    if done.contains(module) {
        return;
    }
    for &edge in edges.get(module).into_iter().flatten() {
        way.push(edge);
        walk(&edge.to, edges, way, done, circles);
        way.pop();
    }
    done.insert(module);
}
