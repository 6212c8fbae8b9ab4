//! What the engine tells of itself at `protover`.

use crate::engine::{Kind, OptionInfo};
use crate::protocol::variant_info;
use crate::variant::Catalogue;

/// Options that XBoard sets by commands of their own, and the one that is for who plays both seats of a
/// team: XBoard has a board each.
const BY_COMMAND: [&str; 9] = [
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

/// All feature lines. The last says that there are no more.
pub(super) fn lines(catalogue: &Catalogue, declarations: &[OptionInfo]) -> String {
    let mut lines = vec![
        "feature done=0".to_owned(),
        "feature ping=1 setboard=1 usermove=1 san=0 colors=0 sigint=0 sigterm=0 reuse=1".to_owned(),
        "feature time=1 draw=1 nps=1 playother=1 pause=1 analyze=1 exclude=1 setscore=0".to_owned(),
        "feature memory=1 smp=1 egt=\"syzygy\" debug=1 name=1 ics=1 highlight=1".to_owned(),
        variants(catalogue),
    ];
    let options = declarations.iter().filter(|option| !BY_COMMAND.contains(&option.name));
    lines.extend(options.map(|option| format!("feature option=\"{}\"", declare(option))));
    lines.push(format!("feature myname=\"Menagerie {}\" done=1", env!("CARGO_PKG_VERSION")));
    lines.join("\n")
}

/// The feature line that names the games.
pub(super) fn variants(catalogue: &Catalogue) -> String {
    format!("feature variants=\"{}\"", variant_info::xboard_names(catalogue).join(","))
}

fn declare(OptionInfo { name, kind }: &OptionInfo) -> String {
    match kind {
        Kind::Check { default } => format!("{name} -check {}", u8::from(*default)),
        Kind::Spin { default, min, max } => format!("{name} -spin {default} {min} {max}"),
        Kind::Combo { default, choices } => {
            let choices = choices.iter().map(|choice| {
                if choice == default { format!("*{choice}") } else { choice.clone() }
            });
            format!("{name} -combo {}", choices.collect::<Vec<_>>().join(" /// "))
        }
        Kind::Button => format!("{name} -button"),
        Kind::Text => format!("{name} -string "),
    }
}

/// What `option TEXT` sets, and to what, in the words of the engine's own options. `None` if no
/// such option may be set so.
pub(super) fn assignment(
    declarations: &[OptionInfo],
    text: &str,
) -> Option<(&'static str, String)> {
    let (name, value) = text.split_once('=').unwrap_or((text, ""));
    let (name, value) = (name.trim(), value.trim());
    let option = declarations.iter().find(|option| option.name.eq_ignore_ascii_case(name))?;
    let value = match (&option.kind, value) {
        _ if BY_COMMAND.contains(&option.name) => return None,
        (Kind::Check { .. }, "0") => "false",
        (Kind::Check { .. }, "1") => "true",
        (_, value) => value,
    };
    Some((option.name, value.to_owned()))
}
