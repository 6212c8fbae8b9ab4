//! Learners: training steps and checkpoints.

use menagerie::encoding::Shape;
use trainer::learner::{CheckpointError, Learner, LearnerConfig, LearnerError, TrainingSample};
use trainer::network::{Architecture, Network, NetworkError};
use trainer::store::Store;

const SHAPE: Shape = Shape { planes: 4, height: 4, width: 4, policy_planes: 4, outcomes: 3 };

fn architectures() -> [Architecture; 4] {
    [
        Architecture::Residual { blocks: 2, channels: 16, squeeze: 0 },
        Architecture::TwoBoards { blocks: 2, channels: 16, squeeze: 0 },
        Architecture::Mlp { widths: vec![64, 64], policy_channels: 0 },
        Architecture::Mlp { widths: vec![64, 64], policy_channels: 8 },
    ]
}

fn config() -> LearnerConfig {
    LearnerConfig { learning_rate: 3e-3, warm_up_steps: 10, ..LearnerConfig::default() }
}

fn store() -> (tempfile::TempDir, Store) {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path().to_str().unwrap()).unwrap();
    (dir, store)
}

/// Pseudo-random positions and targets; each target is one move and one outcome.
fn samples(count: usize) -> Vec<TrainingSample> {
    let noise = |seed: usize| ((seed * 7919 % 1009) as f32 * 0.618_034).fract();
    let sample = |number: usize| {
        let mut legal: Vec<u16> = (0..5).map(|at| ((number * 13 + at * 9) % 48) as u16).collect();
        legal.sort_unstable();
        let pick = |choices: usize| (noise(number * 31 + choices) * choices as f32) as usize;
        let one_hot =
            |len: usize| (0..len).map(|at| f32::from(at == pick(len))).collect::<Vec<f32>>();
        TrainingSample {
            planes: (0..SHAPE.input()).map(|at| noise(number * 997 + at).round()).collect(),
            policy: one_hot(legal.len()),
            legal,
            outcome: one_hot(SHAPE.outcomes),
            moves_left: Some(noise(number) * 40.0),
            weight: 1.0,
        }
    };
    (0..count).map(sample).collect()
}

#[test]
fn learner_overfits_32_samples() {
    let samples = samples(32);
    for architecture in architectures() {
        let mut learner = Learner::new(SHAPE, &architecture, config(), 1).unwrap();
        let before = learner.measure(&samples).unwrap();
        assert!((before.policy - 5f32.ln()).abs() < 1e-3, "a new policy is uniform: {before:?}");
        assert!((before.outcome - 3f32.ln()).abs() < 1e-3, "and the outcome: {before:?}");
        for _ in 0..300 {
            learner.step(&samples).unwrap();
        }
        let after = learner.measure(&samples).unwrap();
        assert!(after.policy < 0.05 && after.outcome < 0.05, "{architecture:?}: {after:?}");
        assert!(after.moves_left < 0.05, "{architecture:?}: {after:?}");
        assert_eq!((after.policy_accuracy, after.outcome_accuracy), (1.0, 1.0));

        let averaged = learner.averaged_tensors();
        let averaged = Learner::with_tensors(SHAPE, &architecture, config(), &averaged).unwrap();
        let averaged = averaged.measure(&samples).unwrap();
        assert!(averaged.total < 0.5 * before.total, "{architecture:?}: {averaged:?}");
    }
}

#[test]
fn threads_find_the_same_losses() {
    let samples = samples(33);
    for architecture in architectures() {
        let run = |threads| {
            let config = LearnerConfig { threads, ..config() };
            let mut learner = Learner::new(SHAPE, &architecture, config, 1).unwrap();
            (0..5).map(|_| learner.step(&samples).unwrap().total).collect::<Vec<f32>>()
        };
        for (one, three) in run(1).iter().zip(run(3)) {
            assert!((one - three).abs() < 1e-4, "{architecture:?}: {one} against {three}");
        }
    }
}

#[test]
fn saved_learner_continues_exactly() {
    let samples = samples(16);
    for architecture in architectures() {
        let (_dir, store) = store();
        let mut learner = Learner::new(SHAPE, &architecture, config(), 1).unwrap();
        for _ in 0..4 {
            learner.step(&samples).unwrap();
        }
        learner.save(&store, "saved/learner").unwrap();
        learner.save(&store, "saved/learner").unwrap();
        let mut resumed =
            Learner::load(&store, "saved/learner", SHAPE, &architecture, config()).unwrap();
        assert_eq!(resumed.steps(), 4);
        for _ in 0..3 {
            assert_eq!(learner.step(&samples).unwrap(), resumed.step(&samples).unwrap());
        }
        assert_eq!(learner.tensors(), resumed.tensors());
        assert_eq!(learner.averaged_tensors(), resumed.averaged_tensors());
        assert_eq!(store.list("saved").unwrap(), ["learner"], "nothing temporary is left");
    }
}

fn soft() -> LearnerConfig {
    LearnerConfig { soft_policy_weight: 2.0, ..config() }
}

#[test]
fn soft_policy_is_trained_and_not_exported() {
    let samples = samples(32);
    for architecture in architectures() {
        let plain = Network::new(SHAPE, &architecture, 1).unwrap().tensors();
        let mut learner = Learner::new(SHAPE, &architecture, soft(), 1).unwrap();
        assert_eq!(learner.tensors(), plain, "the same initial weights");
        let first = learner.step(&samples).unwrap();
        assert!((first.soft_policy - 5f32.ln()).abs() < 1e-3, "{first:?}");
        for _ in 0..200 {
            learner.step(&samples).unwrap();
        }
        // The target is even over the moves that were not played.
        let last = learner.measure(&samples).unwrap();
        let shares = [1.0, 1e-7f32.powf(0.25)];
        let sum = shares[0] + 4.0 * shares[1];
        let entropy = |share: f32| -share / sum * (share / sum).ln();
        let floor = entropy(shares[0]) + 4.0 * entropy(shares[1]);
        assert!((last.soft_policy - floor).abs() < 0.05, "{last:?} against {floor}");
        assert!(last.policy < 0.1, "{last:?}");
        for tensors in [learner.tensors(), learner.averaged_tensors()] {
            Network::with_tensors(SHAPE, &architecture, &tensors)
                .expect("the tensors of a network");
        }

        // A checkpoint has the soft policy, and continues exactly.
        let (_dir, store) = store();
        learner.save(&store, "learner").unwrap();
        let load = |config| Learner::load(&store, "learner", SHAPE, &architecture, config);
        let mut resumed = load(soft()).unwrap();
        assert_eq!(learner.step(&samples).unwrap(), resumed.step(&samples).unwrap());
        assert_eq!(learner.tensors(), resumed.tensors());
        let without = load(config()).map(drop).unwrap_err();
        let mismatch =
            matches!(without, LearnerError::Checkpoint(CheckpointError::Mismatch { .. }));
        assert!(mismatch && without.to_string().contains("soft_policy.weight"), "{without}");

        // A network without a soft policy is a start for a learner with one.
        let warm = Learner::with_tensors(SHAPE, &architecture, soft(), &learner.tensors()).unwrap();
        assert_eq!(warm.tensors(), learner.tensors());
    }
}

#[test]
fn damaged_checkpoints_are_refused() {
    let [residual, .., mlp] = architectures();
    let (_dir, store) = store();
    let load = |shape, architecture: &Architecture| {
        Learner::load(&store, "learner", shape, architecture, config()).map(drop)
    };
    assert!(matches!(load(SHAPE, &mlp).unwrap_err(), LearnerError::Store(_)));

    Learner::new(SHAPE, &mlp, config(), 1).unwrap().save(&store, "learner").unwrap();
    let whole = store.read("learner").unwrap();
    load(SHAPE, &mlp).unwrap();

    for (shape, architecture) in [(SHAPE, residual), (Shape { planes: 5, ..SHAPE }, mlp.clone())] {
        let error = load(shape, &architecture).unwrap_err();
        let mismatch = matches!(error, LearnerError::Checkpoint(CheckpointError::Mismatch { .. }));
        assert!(mismatch && error.to_string().contains("expected"), "{error}");
    }
    let mut damages: Vec<Vec<u8>> = [0, 1, 15, 16, 23, 24, 30, 200, whole.len() - 1]
        .into_iter()
        .map(|len| whole[..len].to_vec())
        .collect();
    for at in [0, 17, 40, whole.len() / 2, whole.len() - 3] {
        let mut flipped = whole.clone();
        flipped[at] ^= 0x10;
        damages.push(flipped);
    }
    damages.push([whole.as_slice(), &[0; 8]].concat());
    for damaged in damages {
        store.write("learner", damaged).unwrap();
        let error = load(SHAPE, &mlp).unwrap_err();
        let named = error.to_string().contains(&format!("{}/learner", store.place()));
        let damage = matches!(error, LearnerError::Checkpoint(CheckpointError::Damaged { .. }));
        assert!(damage && named, "{error}");
    }
}

#[test]
fn invalid_settings_and_samples_are_refused() {
    let [.., mlp] = architectures();
    let new_learner = |config| Learner::new(SHAPE, &mlp, config, 1);
    for wrong in [
        LearnerConfig { learning_rate: -1.0, ..config() },
        LearnerConfig { learning_rate: f32::NAN, ..config() },
        LearnerConfig { gradient_clip: 0.0, ..config() },
        LearnerConfig { average_decay: 1.0, ..config() },
        LearnerConfig { threads: 0, ..config() },
    ] {
        assert!(matches!(new_learner(wrong), Err(LearnerError::Config(_))));
    }
    let mut learner = new_learner(config()).unwrap();
    let before = learner.tensors();
    let mut batch = samples(3);
    batch[2].planes.pop();
    assert!(matches!(learner.step(&batch), Err(LearnerError::Sample { index: 2, .. })));
    assert!(matches!(learner.step::<TrainingSample>(&[]), Err(LearnerError::Empty)));
    batch.truncate(1);
    batch[0].weight = 0.0;
    assert!(matches!(learner.step(&batch), Err(LearnerError::Empty)));
    batch[0] =
        TrainingSample { weight: 1.0, planes: vec![1e38; SHAPE.input()], ..samples(1).remove(0) };
    for _ in 0..20 {
        let weights = learner.tensors();
        if let Err(error) = learner.step(&batch) {
            assert!(matches!(error, LearnerError::Diverged { .. }), "{error}");
            assert_eq!(learner.tensors(), weights);
        }
    }
    assert_eq!(before.len(), learner.tensors().len());
    let missing = Network::with_tensors(SHAPE, &mlp, &before[1..]).unwrap_err();
    assert!(matches!(missing, NetworkError::Missing(_)));
}
