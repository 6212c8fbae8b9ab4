//! Names of the rules of a chess variant, for networks that play several variants.

use shakmaty::{Bitboard, Color, Role};

use super::variant_rules::{DrawOdds, EndValue, VariantRules, Walling};

impl VariantRules {
    /// Returns the names of the rules that the pieces on the board and the legal moves do not show, such as
    /// `blast`, without spaces, colons and semicolons. Variants have a name in common if they have the rule in
    /// common. Rules of standard chess have no names but that of royal kings.
    pub(super) fn rule_names(&self) -> Vec<String> {
        let flags = [
            ("royal-king", self.royal),
            ("no-checks", !self.checks.allowed),
            ("must-capture", self.must_capture),
            ("captures-to-hand", self.returns_captures()),
            ("captures-to-partner", self.drops.is_some_and(|drops| drops.two_boards)),
            ("must-drop", self.drops.is_some_and(|drops| drops.must.is_some())),
            ("fewer-pieces-win-stalemate", self.ends.stalemate_piece_count),
        ];
        let flags = flags.into_iter().filter(|&(_, applies)| applies);
        let mut names: Vec<String> = flags.map(|(name, _)| name.to_owned()).collect();
        let ends = [
            ("checkmate", self.ends.checkmate, EndValue::Loss),
            ("stalemate", self.ends.stalemate, EndValue::Draw),
        ];
        for (end, value, usual) in ends {
            if value != usual {
                names.push(format!("{end}({})", value_name(value)));
            }
        }
        if let Some(odds) = self.ends.draw_odds {
            names.push(format!("draw-odds({})", odds_name(odds)));
        }
        if let Some(immune) = &self.blast {
            names.push("blast".to_owned());
            if !immune.is_empty() {
                names.push(format!("blast-immune({})", role_letters(immune)));
            }
        }
        if !self.mutually_immune.is_empty() {
            names.push(format!("mutually-immune({})", role_letters(&self.mutually_immune)));
        }
        if let Some(walls) = self.walls {
            names.push(format!("walls({})", walling_name(walls.rule)));
        }
        names.extend(self.extinction_names());
        names.extend(self.flag_name());
        names
    }

    fn extinction_names(&self) -> Vec<String> {
        let Some(extinction) = &self.extinction else { return Vec::new() };
        let value = value_name(extinction.value);
        let count = extinction.piece_count;
        let name = |pieces: &str| format!("extinction({pieces},{count},{value})");
        let letters = role_letters(&extinction.roles);
        let mut names: Vec<String> =
            letters.chars().map(|letter| name(&letter.to_string())).collect();
        if extinction.all {
            names.push(name("all"));
        }
        if extinction.pseudo_royal {
            names.push("pseudo-royal".to_owned());
        }
        names
    }

    fn flag_name(&self) -> Option<String> {
        let flag = self.flag?;
        let piece = |color: Color| flag.piece[color].map_or('*', |role| role.upper_char());
        let region = |color: Color| square_names(flag.region[color]);
        let [white, black] = Color::ALL.map(|color| format!("{}-{}", piece(color), region(color)));
        Some(format!("flag({white},{black})"))
    }
}

fn value_name(value: EndValue) -> &'static str {
    match value {
        EndValue::Win => "win",
        EndValue::Draw => "draw",
        EndValue::Loss => "loss",
    }
}

fn odds_name(odds: DrawOdds) -> &'static str {
    match odds {
        DrawOdds::To(Color::White) => "white",
        DrawOdds::To(Color::Black) => "black",
        DrawOdds::MorePieces => "more-pieces",
    }
}

fn walling_name(rule: Walling) -> &'static str {
    match rule {
        Walling::Duck => "duck",
        Walling::Arrow => "arrow",
        Walling::Past => "past",
        Walling::Edge => "edge",
        Walling::Static => "static",
    }
}

/// Returns the letters of roles, each once and always in the same order, however a section lists them.
fn role_letters(roles: &[Role]) -> String {
    let listed = Role::ALL.into_iter().filter(|role| roles.contains(role));
    listed.map(|role| role.upper_char()).collect()
}

fn square_names(region: Bitboard) -> String {
    region.into_iter().map(|square| square.to_string()).collect()
}
