//! XBoard sessions with the executable.

use crate::support::talk;

use std::time::{Duration, Instant};

use crate::support::talk::Engine;
use menagerie::variant::Catalogue;

transcripts! { "xboard":
    analysis bad_input bughouse castling duck games handshake hints lift_put partners pinging playing results
    setboard settings texts unknown_commands
}

fn start() -> Engine {
    let mut engine = Engine::start();
    engine.say("xboard");
    engine.say("protover 2");
    engine.until("feature myname=*");
    engine
}

#[test]
fn go_plays_a_legal_turn_in_every_variant() {
    let mut engine = start();
    for variant in Catalogue::shipped().iter() {
        // XBoard displays variants with moving pieces on one board.
        let game_spec = variant.start().game_spec();
        if game_spec.places || game_spec.two_boards {
            continue;
        }
        let name = match variant.name() {
            "chess" => "normal",
            name => name,
        };
        engine.say("new");
        engine.say(&format!("variant {name}"));
        for limit in ["st 0.02", "level 0 0:01 0.01", "sd 1"] {
            engine.say("force");
            engine.say(&format!("setboard {}", variant.start_fen()));
            engine.say(limit);
            engine.say("go");
            let mut turn = String::new();
            // A comma at the end means that another leg follows.
            while turn.is_empty() || turn.ends_with(',') {
                turn += engine.until("move *").trim_start_matches("move ");
            }
            assert!(variant.start().parse_turn(&turn).is_some(), "{}: {turn}", variant.name());
        }
    }
    engine.end();
}

#[test]
fn wall_or_move_turns_are_played() {
    let file =
        talk::file("xboard.ini", b"[atlantis:chess]\nwallingRule = edge\nwallOrMove = true\n");
    let mut engine = start();
    engine.say(&format!("option VariantPath={}", file.display()));
    engine.say("variant atlantis");
    engine.until("setup *");
    engine.say("force");
    for turn in ["a2a3,a3a1", "b7b6", "a1a1,a1a4", "e7e5,"] {
        engine.say(&format!("usermove {turn}"));
    }
    engine.say("usermove e5a1");
    engine.say("usermove a3a4");
    engine.until("Illegal move: a3a4");
    engine.say("sd 1");
    engine.say("go");
    let first = engine.until("move *");
    let second = engine.until("move *");
    assert!(first.ends_with(','), "{first}");
    assert_eq!(second.len(), "move e5a1".len(), "{second}");
    engine.end();
}

#[test]
fn clocks_are_kept() {
    let mut engine = start();
    engine.say("ping 1");
    engine.until("pong 1");
    // Each from the start, where no proof would end the search early.
    let mut turn_time = |lines: &[&str]| {
        engine.say("new");
        engine.say("force");
        lines.iter().for_each(|line| engine.say(line));
        let begun = Instant::now();
        engine.say("go");
        engine.until("move *");
        begun.elapsed()
    };
    let second = Duration::from_secs(1);
    // Centiseconds, a tenth of the unit of UCI.
    assert!(turn_time(&["level 0 60 0", "time 60", "otim 6000"]) < second);
    assert!(turn_time(&["level 0 0:01 0"]) < second);
    assert!(turn_time(&["level 40 90 0", "st 0.5"]) < second);
    let nodes = turn_time(&["level 0 60 0", "nps 100", "st 2"]);
    assert!(nodes < 2 * second, "{nodes:?} for 200 nodes");
    let begun = turn_time(&["nps 0", "st 0.7"]);
    assert!(begun > second / 2, "{begun:?}");
    engine.end();
}

#[test]
fn input_may_be_any_bytes() {
    let mut engine = start();
    engine.bytes(b"force\r\n\r\nusermove e2e4\r\nusermove e7e5\r\nusermove e4e5\r\n");
    engine.next("Illegal move: e4e5");
    engine.bytes(b"\xff\xfe\x00 caf\xe9\r\n\n   \n");
    engine.until("Error (unknown command): \u{fffd}\u{fffd}* caf\u{fffd}");
    engine.bytes(&[b'x'; 1_000_000]);
    engine.bytes(b"\n");
    assert!(engine.until("Error (unknown command): xxx*").len() < 1100);
    engine.bytes(&[b'y'; 3_000_000]);
    engine.bytes(b"\nsetboard ");
    engine.until("Error (input line too long): *");
    engine.bytes(&[b'z'; 100_000]);
    engine.bytes(b"\nusermove \xff\nsetboard \xff\noption \xff\xff=\xff\nlift \xff\nlevel \xff\n");
    engine.next("tellusererror Illegal position: bad FEN \"zzz*");
    engine.next("Illegal move (the position was refused): \u{fffd}");
    engine.next("tellusererror Illegal position: bad FEN \"\u{fffd}\"*");
    engine.next("Error (unknown option): option \u{fffd}\u{fffd}=\u{fffd}");
    engine.next("Error (invalid square): lift \u{fffd}");
    engine.next("Error (level must be *): level \u{fffd}");
    engine.bytes(b"ping 7");
    engine.end();
    assert_eq!(engine.rest().pop().as_deref(), Some("pong 7"));
}

#[test]
fn end_of_input_quits_after_all_commands() {
    for (last, moves) in [("go", 1), ("analyze", 0), ("hard\ngo", 1), ("easy", 0)] {
        let mut engine = start();
        engine.say("st 0.1");
        engine.say(last);
        engine.end();
        let lines = engine.rest();
        assert_eq!(lines.iter().filter(|line| line.starts_with("move ")).count(), moves, "{last}");
    }
}

#[test]
fn quit_stops_a_search() {
    for last in ["go", "analyze", "st 0.05\nhard\ngo", "go\nping 1\nusermove e2e4"] {
        let mut engine = start();
        engine.say("level 0 90 0");
        engine.say(last);
        engine.say("quit");
        engine.ended();
    }
}
