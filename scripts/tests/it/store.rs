//! Folders and buckets behave alike, also when requests fail.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use hyper::Method;
use trainer::store::Store;

use crate::support::s3_server::{Fault, FaultKind, S3Server};
use crate::support::storage::TestPlace;

#[test]
fn store_contract_holds_for_folders_and_buckets() {
    for place in TestPlace::all() {
        let store = place.store();
        assert_eq!(store.find("games/1").expect("no error"), None);
        assert_eq!(store.list("games").expect("no error"), Vec::<String>::new());
        assert!(store.create("claims/1", b"one".into()).expect("created"));
        assert!(store.create("claims/1", b"one".into()).expect("repeated"));
        assert!(!store.create("claims/1", b"two".into()).expect("refused"));
        assert_eq!(store.read("claims/1").expect("read"), b"one");
        // More objects than a page of the server has.
        let names: Vec<String> = (0..30).map(|number| format!("{number:02}")).collect();
        for name in &names {
            store.write(&format!("games/{name}"), name.clone().into()).expect("written");
        }
        store.write("games/parts/1", vec![1]).expect("written");
        assert_eq!(store.list("games").expect("listed"), names);
        if let Some(server) = place.server() {
            assert!(server.requests("GET", "list-type=2") > 31_usize.div_ceil(7));
        }
        store.remove("games/parts/1").expect("removed");
        let late = store.list_after("games", "19", usize::MAX).expect("listed");
        assert_eq!(late, names[20..]);
        assert_eq!(store.list_after("games", "", 9).expect("listed").len(), 9);
        let wanted = ["games/03", "games/none", "games/29"].map(str::to_owned);
        let found = store.find_all(&wanted).expect("read");
        assert_eq!(found, [Some(b"03".to_vec()), None, Some(b"29".to_vec())]);
        store.remove_others("games/07").expect("removed");
        assert_eq!(store.list("games").expect("listed"), ["07"]);
        store.remove("games/07").expect("removed");
        store.remove("games/07").expect("nothing to remove");
        let error = store.read("games/07").expect_err("removed").to_string();
        assert!(error.contains(&format!("{}/games/07", place.name())), "{error}");
        let traffic = store.traffic();
        assert_eq!((traffic.writes, traffic.bytes_written), (34, 70));
    }
}

#[test]
fn store_upload_that_is_cut_leaves_no_object() {
    let server = S3Server::start(10);
    let store = Store::open_with("s3://bucket/run", server.settings()).expect("a store");
    let content = vec![7; 300_000];
    // As many times as the client repeats it by itself, and more.
    let cut = Fault { method: Method::PUT, path: "games/1", kind: FaultKind::CutBody, count: 99 };
    server.add_fault(cut.clone());
    let error = store.write("games/1", content.clone()).expect_err("cut").to_string();
    assert!(error.contains("s3://bucket/run/games/1"), "{error}");
    assert_eq!(store.find("games/1").expect("no error"), None);
    assert!(store.list("games").expect("listed").is_empty());
    server.clear_faults();
    server.add_fault(Fault { count: 2, ..cut });
    store.write("games/1", content.clone()).expect("repeated");
    assert_eq!(store.read("games/1").expect("read"), content);
    // In a folder, the file of a write that a kill has ended.
    let place = TestPlace::folder();
    let store = place.store();
    store.write("games/1", vec![1]).expect("written");
    fs::write(format!("{}/games/2#1", place.name()), b"half").expect("written");
    assert_eq!(store.list("games").expect("listed"), ["1"]);
    store.write("games/2", vec![2]).expect("written");
    assert_eq!(store.list("games").expect("listed"), ["1", "2"]);
}

#[test]
fn store_create_succeeds_if_only_the_answer_is_lost() {
    let server = S3Server::start(10);
    let store = Store::open_with("s3://bucket/run", server.settings()).expect("a store");
    let stop = Arc::default();
    let patient = store.patient(Duration::from_secs(30), &stop);
    let fault =
        Fault { method: Method::PUT, path: "claims", kind: FaultKind::LoseAnswer, count: 1 };
    server.add_fault(fault.clone());
    assert!(patient.create("claims/1", b"first".into()).expect("created"));
    server.add_fault(fault);
    assert!(!patient.create("claims/1", b"second".into()).expect("refused"));
    assert_eq!(store.read("claims/1").expect("read"), b"first");
}

#[test]
fn store_waits_for_expired_credentials_to_be_renewed() {
    let server = S3Server::start(10);
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("credentials");
    let write_key = |key: &str| {
        let text = format!("[work]\naws_access_key_id = {key}\naws_secret_access_key = secret\n");
        fs::write(&file, text).expect("written");
    };
    write_key("key");
    let mut settings = server.settings();
    settings.retain(|(key, _)| !key.contains("ACCESS_KEY"));
    settings.push(("AWS_SHARED_CREDENTIALS_FILE".to_owned(), file.display().to_string()));
    settings.push(("AWS_PROFILE".to_owned(), "work".to_owned()));
    let store = Store::open_with("s3://bucket/run", settings).expect("a store");
    store.write("games/1", vec![1]).expect("written");
    server.set_key("renewed");
    let error = store.write("games/2", vec![2]).expect_err("expired");
    assert!(error.is_refused(), "{error}");
    let text = error.to_string();
    assert!(text.contains("s3://bucket/run/games/2") && text.contains("ExpiredToken"), "{text}");
    for (status, code) in [(403, "AccessDenied"), (401, "Unauthorized")] {
        let kind = FaultKind::Status(status, code);
        server.add_fault(Fault { method: Method::PUT, path: "games/2", kind, count: 1 });
        let error = store.write("games/2", vec![2]).expect_err("refused");
        assert!(error.is_refused() && error.to_string().contains("games/2"), "{error}");
    }
    let stop = Arc::new(AtomicBool::new(false));
    let patient = store.patient(Duration::from_secs(60), &stop);
    let is_written = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            patient.write("games/2", vec![2]).expect("written at last");
            is_written.store(true, Ordering::Relaxed);
        });
        thread::sleep(Duration::from_millis(700));
        assert!(!is_written.load(Ordering::Relaxed));
        write_key("renewed");
    });
    assert_eq!(store.read("games/2").expect("read"), [2]);
    // A request that fails is not repeated once the process is to stop.
    server.set_key("another");
    stop.store(true, Ordering::Relaxed);
    assert!(patient.write("games/3", vec![3]).is_err());
}
