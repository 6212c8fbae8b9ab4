//! The features and options that are sent at `protover`.

use crate::engine::{OptionInfo, OptionKind};
use crate::protocol::variant_info;
use crate::variant::Catalogue;

/// Options that XBoard sets by other commands, and `Team`, which is for engines that play both seats of a
/// team: with XBoard, each engine plays one board.
const HIDDEN_OPTIONS: [&str; 9] = [
    "UCI_Variant",
    "UCI_Chess960",
    "UCI_AnalyseMode",
    "UCI_ShowWDL",
    "Threads",
    "Hash",
    "Ponder",
    "SyzygyPath",
    "Team",
];

/// Returns all feature lines.
pub(super) fn lines(catalogue: &Catalogue, declarations: &[OptionInfo]) -> String {
    let mut lines = vec![
        "feature done=0".to_owned(),
        "feature ping=1 setboard=1 usermove=1 san=0 colors=0 sigint=0 sigterm=0 reuse=1".to_owned(),
        "feature time=1 draw=1 nps=1 playother=1 pause=1 analyze=1 exclude=1 setscore=0".to_owned(),
        "feature memory=1 smp=1 egt=\"syzygy\" debug=1 name=1 ics=1 highlight=1".to_owned(),
        variants(catalogue),
    ];
    let options = declarations.iter().filter(|option| !HIDDEN_OPTIONS.contains(&option.name));
    lines.extend(options.map(|option| format!("feature option=\"{}\"", declare(option))));
    lines.push(format!("feature myname=\"Menagerie {}\" done=1", env!("CARGO_PKG_VERSION")));
    lines.join("\n")
}

/// Returns the feature line with the variants.
pub(super) fn variants(catalogue: &Catalogue) -> String {
    format!("feature variants=\"{}\"", variant_info::xboard_names(catalogue).join(","))
}

/// Returns the declaration of an option.
fn declare(OptionInfo { name, kind, .. }: &OptionInfo) -> String {
    match kind {
        OptionKind::Check { default } => format!("{name} -check {}", u8::from(*default)),
        OptionKind::Spin { default, min, max } => format!("{name} -spin {default} {min} {max}"),
        OptionKind::Combo { default, choices } => {
            let choices = choices.iter().map(|choice| {
                if choice == default { format!("*{choice}") } else { choice.clone() }
            });
            format!("{name} -combo {}", choices.collect::<Vec<_>>().join(" /// "))
        }
        OptionKind::Button => format!("{name} -button"),
        OptionKind::Text => format!("{name} -string "),
    }
}

/// Parses `option TEXT` into the name and the value of an option of the engine; `None` if there is no such option
/// or it is hidden.
pub(super) fn parse_option(
    declarations: &[OptionInfo],
    text: &str,
) -> Option<(&'static str, String)> {
    let (name, value) = text.split_once('=').unwrap_or((text, ""));
    let name = name.trim();
    let value = value.trim();
    let option = declarations.iter().find(|option| option.name.eq_ignore_ascii_case(name))?;
    let value = match (&option.kind, value) {
        _ if HIDDEN_OPTIONS.contains(&option.name) => return None,
        (OptionKind::Check { .. }, "0") => "false",
        (OptionKind::Check { .. }, "1") => "true",
        (_, value) => value,
    };
    Some((option.name, value.to_owned()))
}
