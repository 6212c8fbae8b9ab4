//! Damaged networks and libraries in the engine's executable: each gets an error message, and the session
//! continues.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use menagerie::nn::NetworkMetadata;
use menagerie::nn::network::{append_checksum, verify};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use crate::support::talk::executable;

const NETWORK: &[u8] = include_bytes!("../../nets/3x3.onnx");

/// Returns an empty folder for a test.
fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder for the test");
    folder
}

fn library() -> PathBuf {
    let library = Path::new(env!("CARGO_MANIFEST_DIR")).join("runtime/libonnxruntime.so");
    assert!(library.exists(), "scripts/get-onnxruntime has not been run");
    library
}

/// Returns the engine's output for `input`. It must exit at `quit` without an error.
fn session(executable: &Path, input: &str) -> String {
    let mut engine = Command::new(executable)
        .env_remove("ORT_DYLIB_PATH")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the engine starts");
    let mut pipe = engine.stdin.take().expect("a pipe");
    let input = format!("uci\nsetoption name UCI_Variant value 3x3\n{input}quit\n");
    let writer = std::thread::spawn(move || pipe.write_all(input.as_bytes()));
    let output = engine.wait_with_output().expect("the engine ends");
    writer.join().expect("a writer").expect("the engine reads to the end");
    assert!(output.status.success(), "{:?}", output.status);
    String::from_utf8(output.stdout).expect("text")
}

const PLAY: &str = "isready\nposition startpos\ngo nodes 20\nisready\n";

/// Loads `file` as a network and plays. Returns the lines with `info string`.
fn load(file: &Path) -> String {
    let engine = &executable();
    let library = format!("setoption name RuntimeLibrary value {}\n", library().display());
    let network = format!("setoption name WeightsFile value {}\n", file.display());
    let output = session(engine, &format!("{library}{network}{PLAY}"));
    assert_eq!(output.matches("bestmove").count(), 1, "{output}");
    output.lines().filter(|line| line.starts_with("info string")).collect::<Vec<_>>().join("\n")
}

#[test]
fn network_that_is_intact_is_used() {
    let file = folder("intact").join("3x3.onnx");
    fs::write(&file, NETWORK).expect("a file");
    let output = load(&file);
    assert!(output.contains("ONNX Runtime cpu") && output.contains("learn 3x3"), "{output}");
}

#[test]
fn network_that_is_damaged_is_refused() {
    let folder = folder("damaged");
    let mut rng = SmallRng::seed_from_u64(3);
    let mut files: Vec<(String, Vec<u8>)> = (0..100)
        .map(|nth| {
            let at = rng.random_range(0..NETWORK.len());
            let mut bytes = NETWORK.to_vec();
            if nth % 2 == 0 {
                bytes.truncate(at);
            } else {
                bytes[at] ^= 1 << rng.random_range(0..8);
            }
            (format!("{nth}.onnx"), bytes)
        })
        .collect();
    files.push(("empty.onnx".to_owned(), Vec::new()));
    files.push(("text.onnx".to_owned(), b"not a network\n".repeat(1000)));
    for (name, bytes) in files {
        let file = folder.join(name);
        fs::write(&file, bytes).expect("a file");
        let output = load(&file);
        let name = file.display().to_string();
        let is_reported =
            output.lines().any(|line| line.contains(&name) && !line.contains("ONNX Runtime cpu"));
        assert!(is_reported, "{name}: {output}");
    }
    assert!(load(&folder.join("missing.onnx")).contains("missing.onnx"));
    assert!(load(&folder).contains(&folder.display().to_string()));
}

/// Returns a network whose metadata names `from` as the checksum of the file that it was quantised from.
fn quantised(from: &str) -> Vec<u8> {
    let field = |tag: u8, bytes: &[u8]| [&[tag, bytes.len() as u8], bytes].concat();
    let key = field(0x0a, NetworkMetadata::QUANTISED_FROM.as_bytes());
    let entry = field(0x72, &[key, field(0x12, from.as_bytes())].concat());
    append_checksum([NETWORK, &entry].concat())
}

#[test]
fn quantised_network_in_the_same_folder_is_used() {
    let folder = folder("quantised");
    let file = folder.join("3x3.onnx");
    fs::write(&file, NETWORK).expect("a file");
    let int8 = folder.join("3x3.int8.onnx");
    fs::write(&int8, quantised(verify(NETWORK).expect("a checksum"))).expect("a file");
    let used = format!("network {} (learn 3x3", int8.display());
    for file in [&file, &int8] {
        let output = load(file);
        assert!(output.contains(&used) && !output.contains("is not used"), "{output}");
    }
    fs::remove_file(&int8).expect("it was there");
    assert!(!load(&file).contains("int8"));
}

#[test]
fn quantised_network_that_does_not_fit_is_reported_in_one_line() {
    let folder = folder("unfit");
    let file = folder.join("3x3.onnx");
    fs::write(&file, NETWORK).expect("a file");
    let int8 = folder.join("3x3.int8.onnx");
    let fitting = quantised(verify(NETWORK).expect("a checksum"));
    let mut flipped = fitting.clone();
    flipped[fitting.len() / 2] ^= 4;
    let cases: [(&[u8], &str); 7] = [
        (&quantised(&"0".repeat(64)), "it was not quantised from"),
        (&quantised(""), "it was not quantised from"),
        (NETWORK, "it was not quantised from"),
        (&fitting[..fitting.len() - 1], "no checksum"),
        (&flipped, "damaged"),
        (b"", "no checksum"),
        (&append_checksum(b"no model".to_vec()), "ONNX Runtime rejects"),
    ];
    let check_unused = |reason: &str| {
        let output = load(&file);
        let mut lines = output.lines().filter(|line| line.contains("3x3.int8.onnx"));
        let line = lines.next().unwrap_or_default();
        assert!(line.contains(reason) && lines.next().is_none(), "{reason}: {output}");
        assert!(output.contains(&format!("network {} (learn 3x3", file.display())), "{output}");
    };
    for (bytes, reason) in cases {
        fs::write(&int8, bytes).expect("a file");
        check_unused(reason);
    }
    fs::remove_file(&int8).expect("it was there");
    fs::create_dir(&int8).expect("a folder");
    check_unused("cannot read");
}

#[test]
fn network_of_another_variant_is_refused() {
    let engine = &executable();
    let file = folder("other").join("3x3.onnx");
    fs::write(&file, NETWORK).expect("a file");
    let library = format!("setoption name RuntimeLibrary value {}\n", library().display());
    let input = format!("{library}setoption name WeightsFile value {}\n", file.display());
    let output =
        session(engine, &format!("{input}setoption name UCI_Variant value crazyhouse\n{PLAY}"));
    assert!(output.contains("trained for \"3x3\", not for crazyhouse"), "{output}");
    assert_eq!(output.matches("bestmove").count(), 1, "{output}");
}

#[test]
fn library_that_is_damaged_is_refused() {
    let intact = fs::read(library()).expect("the library");
    let cut = intact[..intact.len() / 2].to_vec();
    let mut flipped = intact.clone();
    flipped[intact.len() / 3] ^= 1;
    let cases: [(&str, Option<&[u8]>); 5] = [
        ("absent", None),
        ("cut", Some(&cut)),
        ("text", Some(b"not a library")),
        ("empty", Some(b"")),
        ("flipped", Some(&flipped)),
    ];
    for (name, bytes) in cases {
        // With a copy of the executable, and the library in the folder of get-onnxruntime.
        let folder = folder(&format!("library-{name}"));
        let engine = folder.join("menagerie");
        // A hard link, because a new process of another test may inherit an open handle of a copy.
        fs::hard_link(executable(), &engine).expect("a second name");
        fs::create_dir_all(folder.join("runtime")).expect("a folder");
        let path = folder.join("runtime/libonnxruntime.so");
        if let Some(bytes) = bytes {
            fs::write(&path, bytes).expect("a file");
        }
        // The path is explicit, so that no other library is found.
        let named = format!("setoption name RuntimeLibrary value {}\n", path.display());
        let output = session(&engine, &format!("{named}{PLAY}"));
        assert!(output.contains("get-onnxruntime"), "{name}: {output}");
        assert_eq!(output.matches("bestmove").count(), 1, "{name}: {output}");
    }
}
