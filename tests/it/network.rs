//! Networks in ONNX Runtime. Run `scripts/get-onnxruntime` first.

use std::path::Path;

use crate::support::model::{
    DOUBLE, FLOAT, Model, OUTCOMES, PLANES, POLICY, network, numbers, reference,
};
use menagerie::nn::network::{
    Backend, CHECKSUM_KEY, HEAD, NetworkError, PlaneSession, Sizes, append_checksum,
};
use menagerie::nn::runtime::{CudaBuild, Runtime, RuntimeError};

/// Returns the runtime of the checkout, unless the environment names another.
fn runtime() -> &'static Runtime {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("runtime");
    let named = std::env::var_os("ORT_DYLIB_PATH").is_some();
    Runtime::load(if named { None } else { Some(&folder) })
        .unwrap_or_else(|error| panic!("{error}"))
}

fn open(model: Model) -> Result<PlaneSession, NetworkError> {
    runtime();
    PlaneSession::open(&append_checksum(model.finish()), Backend::Auto, 1)
}

/// Returns the error message of opening `model`.
fn open_error(model: Model) -> String {
    match open(model) {
        Ok(session) => panic!("{session:?} was opened"),
        Err(error) => {
            let text = error.to_string();
            assert!(!text.contains('\n') && text.len() < 600, "{text}");
            text
        }
    }
}

/// Returns a model that flattens its input, `planes` of `shape`.
fn identity(shape: &[i64]) -> Model {
    Model::default().input("planes", FLOAT, shape).node("Flatten", &["planes"], "flat", &[])
}

#[test]
fn session_computes_the_model() {
    let mut session = open(network(-1)).unwrap();
    let sizes = session.sizes();
    assert_eq!(
        sizes,
        Sizes { batch: None, channels: 3, height: 4, width: 4, policy: POLICY, outcomes: OUTCOMES }
    );
    assert_eq!(sizes.planes(), PLANES);
    for rows in [1, 8, 3] {
        let planes = numbers(rows as u64 + 10, rows * PLANES);
        let mut policy = vec![0.0; rows * POLICY];
        let mut outcome = vec![0.0; rows * OUTCOMES];
        let mut moves_left = vec![0.0; rows];
        session.run(&planes, rows, &mut [&mut policy, &mut outcome, &mut moves_left]).unwrap();
        let mut wanted = (Vec::new(), Vec::new(), Vec::new());
        for position in planes.chunks_exact(PLANES) {
            let (policy, outcome, moves_left) = reference(position);
            wanted.0.extend(policy);
            wanted.1.extend(outcome);
            wanted.2.extend(moves_left);
        }
        for (found, wanted) in [(policy, wanted.0), (outcome, wanted.1), (moves_left, wanted.2)] {
            assert_eq!(found.len(), wanted.len());
            for (found, wanted) in found.iter().zip(wanted) {
                assert!((found - wanted).abs() < 1e-5, "{found} instead of {wanted}");
            }
        }
    }
}

#[test]
fn metadata_is_read() {
    let session = open(network(-1)).unwrap();
    assert_eq!(session.get("encoding").as_deref(), Some("toy 1"));
    assert_eq!(session.get("variants").as_deref(), Some("chess duck"));
    assert_eq!(session.get(CHECKSUM_KEY).map(|sum| sum.len()), Some(64));
    for key in ["", "none", "a\0b"] {
        assert_eq!(session.get(key), None);
    }
}

#[test]
fn buffers_must_fit() {
    let mut session = open(network(-1)).unwrap();
    let mut run = |planes: usize, rows, policy: usize, outcome: usize, left: usize| {
        let error = session.run(
            &vec![0.0; planes],
            rows,
            &mut [&mut vec![0.0; policy], &mut vec![0.0; outcome], &mut vec![0.0; left]],
        );
        error.map_err(|error| error.to_string())
    };
    assert_eq!(run(0, 0, 0, 0, 0), Ok(()));
    assert_eq!(run(PLANES, 1, POLICY, OUTCOMES, 1), Ok(()));
    let short = run(PLANES, 2, POLICY, OUTCOMES, 1).unwrap_err();
    assert_eq!(short, r#""planes" of 2 rows needs 96 numbers, got 48"#);
    let short = run(PLANES, 1, POLICY - 1, OUTCOMES, 1).unwrap_err();
    assert_eq!(short, r#""policy" of 1 rows needs 20 numbers, got 19"#);
    assert!(run(PLANES, 1, POLICY, OUTCOMES + 1, 1).is_err());
    assert!(run(PLANES, 1, POLICY, OUTCOMES, 0).is_err());
    assert!(run(PLANES, usize::MAX, POLICY, OUTCOMES, 1).is_err());
}

#[test]
fn batch_of_fixed_size_is_checked() {
    let mut session = open(network(2)).unwrap();
    assert_eq!(session.sizes().batch, Some(2));
    let mut policy = vec![0.0; 2 * POLICY];
    let mut outcome = vec![0.0; 2 * OUTCOMES];
    let planes = numbers(5, 2 * PLANES);
    assert_eq!(session.run(&planes, 2, &mut [&mut policy, &mut outcome, &mut [0.0; 2]]), Ok(()));
    let error = session
        .run(
            &planes[..PLANES],
            1,
            &mut [&mut policy[..POLICY], &mut outcome[..OUTCOMES], &mut [0.0]],
        )
        .unwrap_err();
    assert_eq!(error, NetworkError::Batch { wanted: 2, found: 1 });
}

#[test]
fn outputs_that_are_not_finite_are_an_error() {
    let mut session = open(network(-1)).unwrap();
    let mut policy = vec![0.0; 2 * POLICY];
    let mut outcome = vec![0.0; 2 * OUTCOMES];
    let mut planes = numbers(5, 2 * PLANES);
    planes[PLANES] = f32::INFINITY;
    let error =
        session.run(&planes, 2, &mut [&mut policy, &mut outcome, &mut [0.0; 2]]).unwrap_err();
    assert!(matches!(error, NetworkError::NotFinite { name: "policy", row: 1, .. }), "{error}");
}

#[test]
fn models_that_do_not_fit_are_described() {
    let open_batch = [-1, 3, 4, 4];
    let flat = |name| {
        identity(&open_batch).node("Identity", &["flat"], name, &[]).output(name, FLOAT, &[-1, 48])
    };
    assert_eq!(open_error(flat("logits")), r#"the network has no output "policy", only "logits""#);
    assert_eq!(open_error(flat("policy")), r#"the network has no output "outcome", only "policy""#);
    let all = |model: Model, left: &str| {
        model
            .node("Identity", &["flat"], "policy", &[])
            .output("policy", FLOAT, &[-1, 48])
            .node("Identity", &["flat"], "outcome", &[])
            .output("outcome", FLOAT, &[-1, 48])
            .node("Identity", &[left], "moves_left", &[])
    };
    let wide = all(identity(&open_batch), "flat").output("moves_left", FLOAT, &[-1, 48]);
    assert_eq!(
        open_error(wide),
        r#"the network's "moves_left" should be floats of shape [batch, 1], but is Tensor<f32>(batch, 48)"#
    );
    let square = all(identity(&open_batch), "planes").output("moves_left", FLOAT, &open_batch);
    assert_eq!(
        open_error(square),
        r#"the network's "moves_left" should be floats of shape [batch, a fixed number], but is Tensor<f32>(batch, 3, 4, 4)"#
    );
    let double = identity(&open_batch).node("Cast", &["flat"], "policy", &[("to", &[DOUBLE])]);
    assert_eq!(
        open_error(double.output("policy", DOUBLE, &[-1, 48])),
        r#"the network's "policy" should be floats of shape [batch, a fixed number], but is Tensor<f64>(batch, 48)"#
    );
    for shape in [&[-1, 48][..], &[-1, -1, 4, 4], &[-1, 3, 4, 4, 1], &[48], &[]] {
        let text = open_error(
            Model::default()
                .input("planes", FLOAT, shape)
                .node("Identity", &["planes"], "policy", &[])
                .output("policy", FLOAT, shape),
        );
        assert!(text.contains(r#""planes" should be floats of shape [batch, channels,"#), "{text}");
    }
    let renamed = Model::default()
        .input("board", FLOAT, &open_batch)
        .node("Flatten", &["board"], "policy", &[])
        .output("policy", FLOAT, &[-1, 48]);
    assert_eq!(open_error(renamed), r#"the network has no input "planes", only "board""#);
    let second = network(-1).input("clock", FLOAT, &[-1, 1]);
    assert_eq!(open_error(second), r#"the network has an unknown input "clock""#);
    let batches = network(-1).node("Flatten", &["planes"], "x", &[]);
    assert!(open(batches).is_ok(), "an unused node is not an error");
}

#[test]
fn two_board_network_has_an_open_batch() {
    let two_board_network = |batch: i64| {
        let head = HEAD.into_iter().zip([&[24_usize][..], &[24, 3], &[3], &[24, 1], &[1]]);
        let model = identity(&[batch, 3, 4, 4])
            .node("Identity", &["flat"], "policy", &[])
            .output("policy", FLOAT, &[batch, 48])
            .node("Identity", &["flat"], "halves", &[])
            .output("halves", FLOAT, &[batch, 48]);
        head.fold(model, |model, (name, shape)| {
            let dimensions: Vec<i64> = shape.iter().map(|&size| size as i64).collect();
            let weights = numbers(7, shape.iter().product());
            model.weights(name, shape, &weights).output(name, FLOAT, &dimensions)
        })
    };
    let session = open(two_board_network(-1)).unwrap();
    let head = session.head().expect("a head");
    assert_eq!((head.units(), head.outcomes(), session.sizes().outcomes), (24, 3, 3));
    for batch in [1, i64::MAX] {
        let text = open_error(two_board_network(batch));
        assert!(
            text.contains("any number of boards") && text.contains(&batch.to_string()),
            "{text}"
        );
    }
}

#[test]
fn outputs_that_are_unknown_are_ignored() {
    let model = network(-1).node("Log", &["d"], "extra", &[]).output("extra", FLOAT, &[-1, 3]);
    let mut session = open(model).unwrap();
    let mut policy = vec![0.0; POLICY];
    let mut outcome = vec![0.0; OUTCOMES];
    session.run(&numbers(5, PLANES), 1, &mut [&mut policy, &mut outcome, &mut [0.0]]).unwrap();
}

#[test]
fn files_without_a_checksum_are_refused() {
    let file = append_checksum(network(-1).finish());
    for damaged in [&file[..file.len() - 1], &file[1..], b"", b"\x08\x08", &file[..100]] {
        let error = PlaneSession::open(damaged, Backend::Cpu, 1).unwrap_err();
        assert!(
            matches!(error, NetworkError::MissingChecksum | NetworkError::Damaged { .. }),
            "{error}"
        );
    }
    runtime();
    for nonsense in [&b""[..], b"no model", &file[..500], &[0xff; 300]] {
        let error =
            PlaneSession::open(&append_checksum(nonsense.to_vec()), Backend::Cpu, 1).unwrap_err();
        let text = error.to_string();
        assert!(text.starts_with("ONNX Runtime rejects the network: "), "{text}");
    }
    let unknown = network(-1).node("Teleport", &["d"], "x", &[]).output("x", FLOAT, &[-1, 3]);
    assert!(open_error(unknown).contains("Teleport"));
}

#[test]
fn damage_is_detected() {
    let whole = append_checksum(network(-1).finish());
    let mut random = numbers(1, 4000).into_iter().map(|number| f64::from(number + 0.5));
    let mut below = |limit: usize| (random.next().unwrap() * limit as f64) as usize;
    for round in 0..2000 {
        let mut file = whole.clone();
        if round % 2 == 0 {
            file.truncate(below(whole.len()));
        } else {
            let bit = below(whole.len() * 8);
            file[bit / 8] ^= 1 << (bit % 8);
        }
        let error = PlaneSession::open(&file, Backend::Cpu, 1).unwrap_err();
        assert!(
            matches!(error, NetworkError::MissingChecksum | NetworkError::Damaged { .. }),
            "{error}"
        );
    }
}

#[test]
fn damage_with_a_valid_checksum_does_not_panic() {
    // The nodes of the graph are at the beginning, its inputs, outputs and metadata at the end.
    let whole = network(-1).finish();
    let ends = (0..200).chain(whole.len() - 250..whole.len());
    runtime();
    for place in ends {
        let mut file = whole.clone();
        file[place] ^= 1 << (place % 8);
        // Some changes are harmless, as in an unused name. The others are errors.
        let Ok(mut session) = PlaneSession::open(&append_checksum(file), Backend::Cpu, 1) else {
            continue;
        };
        let sizes = session.sizes();
        let mut policy = vec![0.0; sizes.policy];
        let mut outcome = vec![0.0; sizes.outcomes];
        let planes = vec![0.0; sizes.planes()];
        let _ = session.run(&planes, 1, &mut [&mut policy, &mut outcome, &mut [0.0]]);
    }
}

#[test]
fn backend_falls_back_to_the_cpu() {
    let file = append_checksum(network(-1).finish());
    let runtime = runtime();
    let session = |backend| PlaneSession::open(&file, backend, 1).unwrap();
    let cpu = session(Backend::Cpu);
    assert_eq!((cpu.backend(), cpu.note()), (Backend::Cpu, None));
    let auto = session(Backend::Auto);
    let cuda = session(Backend::Cuda);
    if *runtime.cuda() == CudaBuild::Absent {
        assert_eq!((auto.backend(), auto.note()), (Backend::Cpu, None));
    }
    for session in [auto, cuda].iter().filter(|session| session.backend() == Backend::Cpu) {
        let note = session.note().unwrap_or("no GPU");
        assert!(note.starts_with("no GPU") && !note.contains('\n'), "{note}");
        println!("{note}");
    }
    assert!(
        session(Backend::Cuda).backend() == Backend::Cuda
            || session(Backend::Cuda).note().is_some()
    );
}

#[test]
fn process_has_one_runtime() {
    let first = runtime();
    assert!(std::ptr::eq(first, Runtime::load(None).unwrap()));
    assert!(std::ptr::eq(first, Runtime::load(Some(first.path())).unwrap()));
    assert!(first.skipped().is_empty());
    let other = Path::new("/another/libonnxruntime.so");
    let error = Runtime::load(Some(other)).unwrap_err();
    assert!(matches!(&error, RuntimeError::Taken { requested, .. } if requested == other));
    assert!(error.to_string().contains("stays until this process ends; /another/lib"), "{error}");
}

#[test]
fn sessions_move_between_threads() {
    let file = append_checksum(network(-1).finish());
    runtime();
    let work = |seed| {
        let mut session = PlaneSession::open(&file, Backend::Cpu, 1).unwrap();
        let mut policy = vec![0.0; POLICY];
        let mut outcome = vec![0.0; OUTCOMES];
        for _ in 0..50 {
            let planes = numbers(seed, PLANES);
            session.run(&planes, 1, &mut [&mut policy, &mut outcome, &mut [0.0]]).unwrap();
        }
        policy
    };
    let results = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| work(7))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    assert!(results.windows(2).all(|pair| pair[0] == pair[1]));
}
