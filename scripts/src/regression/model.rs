//! A regression that has been learnt, and its file.
//!
//! The file is a header of magic, version and checksum, then the model by postcard. A file from
//! anywhere is safe to read: whatever it says is checked before it is used.

use serde::{Deserialize, Serialize};

use super::planes::{NUMBERS, Numbers};
use super::principal::Principal;

/// What a regression has learnt.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum Model {
    /// A weight for each number, and what stands alone.
    Linear {
        /// The weights.
        weights: Vec<f32>,
        /// What is added.
        bias: f32,
    },
    /// The mean of trees over principal components.
    Trees {
        /// The components.
        principal: Principal,
        /// The trees.
        trees: Vec<Tree>,
    },
}

/// A tree of questions, the first of which is the first node.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Tree(pub Vec<Node>);

/// A question, or the answer.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub enum Node {
    /// Goes on at node `below` if the component is at most `at`, else at node `above`; both stand
    /// behind this one.
    Split {
        /// Which component.
        component: u16,
        /// The threshold.
        at: f32,
        /// The node for what is not greater.
        below: u32,
        /// The node for what is greater.
        above: u32,
    },
    /// The value.
    Leaf(f32),
}

const MAGIC: &[u8; 8] = b"MNGRREGR";
const VERSION: u32 = 1;
const HEADER: usize = 16;

impl Model {
    /// What a position with those numbers is worth.
    pub fn predict(&self, row: &Numbers) -> f32 {
        match self {
            Model::Linear { weights, bias } => {
                row.0.iter().fold(*bias, |sum, &(place, it)| sum + weights[usize::from(place)] * it)
            }
            Model::Trees { principal, trees } => {
                let row = principal.project(row);
                trees.iter().map(|tree| tree.answer(&row)).sum::<f32>() / trees.len() as f32
            }
        }
    }

    /// The bytes of its file.
    ///
    /// # Errors
    /// In words, if there is no form for it.
    pub fn bytes(&self) -> anyhow::Result<Vec<u8>> {
        let body = postcard::to_stdvec(self)?;
        let header = [&MAGIC[..], &VERSION.to_le_bytes(), &crc32fast::hash(&body).to_le_bytes()];
        Ok([&header.concat()[..], &body].concat())
    }

    /// Reads what [`Model::bytes`] made; `name` is for errors.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read(name: &str, bytes: &[u8]) -> anyhow::Result<Model> {
        Model::parse(bytes).map_err(|reason| anyhow::anyhow!("{name}: {reason}"))
    }

    fn parse(bytes: &[u8]) -> Result<Model, String> {
        let (header, body) = bytes.split_at_checked(HEADER).ok_or("it is cut short")?;
        let number = |at: usize| u32::from_le_bytes([0, 1, 2, 3].map(|nth| header[at + nth]));
        if &header[..8] != MAGIC {
            return Err("it holds no regression".to_owned());
        }
        if number(8) != VERSION {
            return Err(format!("it is of version {}; this trainer reads {VERSION}", number(8)));
        }
        if number(12) != crc32fast::hash(body) {
            return Err("its checksum is wrong".to_owned());
        }
        let (model, rest) = postcard::take_from_bytes::<Model>(body)
            .map_err(|error| format!("it is damaged: {error}"))?;
        model.check()?;
        if rest.is_empty() { Ok(model) } else { Err("there is more behind it".to_owned()) }
    }

    /// Whether every position can be asked.
    fn check(&self) -> Result<(), String> {
        match self {
            Model::Linear { weights, bias } => {
                let finite = weights.iter().chain([bias]).all(|it| it.is_finite());
                let fits = weights.len() == NUMBERS && finite;
                fits.then_some(()).ok_or_else(|| format!("its weights are not {NUMBERS} numbers"))
            }
            Model::Trees { principal, trees } => {
                if principal.width != NUMBERS || !principal.is_sound() {
                    return Err(format!("its components are not those of {NUMBERS} numbers"));
                }
                let sound = |tree: &Tree| tree.is_sound(principal.components);
                if trees.is_empty() || !trees.iter().all(sound) {
                    return Err("its trees lead nowhere".to_owned());
                }
                Ok(())
            }
        }
    }
}

impl Tree {
    pub(super) fn answer(&self, row: &[f32]) -> f32 {
        let mut place = 0;
        loop {
            match self.0[place] {
                Node::Leaf(value) => return value,
                Node::Split { component, at, below, above } => {
                    let next = if row[usize::from(component)] <= at { below } else { above };
                    place = next as usize;
                }
            }
        }
    }

    /// Whether every way through it ends.
    fn is_sound(&self, components: usize) -> bool {
        let leads_on = |(place, node): (usize, &Node)| match *node {
            Node::Leaf(value) => value.is_finite(),
            Node::Split { component, at, below, above } => {
                let behind = |next: u32| (place + 1..self.0.len()).contains(&(next as usize));
                !at.is_nan()
                    && usize::from(component) < components
                    && behind(below)
                    && behind(above)
            }
        };
        !self.0.is_empty() && self.0.iter().enumerate().all(leads_on)
    }
}
