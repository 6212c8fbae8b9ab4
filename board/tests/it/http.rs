//! Files of the page, headers, hosts and origins.

use std::io::{Read, Write};
use std::net::TcpStream;

use crate::client::TestServer;

/// Sends a request with these header lines and returns the head and the body of the response.
fn get(server: &TestServer, path: &str, headers: &[&str]) -> (String, String) {
    let mut stream = TcpStream::connect(server.address).expect("a connection");
    let headers: String = headers.iter().map(|line| format!("{line}\r\n")).collect();
    let request = format!("GET {path} HTTP/1.1\r\n{headers}connection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("an open connection");
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).expect("a response");
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    (head.to_owned(), body.to_owned())
}

fn status(head: &str) -> &str {
    head.split(' ').nth(1).unwrap_or_default()
}

#[test]
fn page_is_served_with_security_headers() {
    let server = TestServer::start();
    let host = format!("host: {}", server.address);
    let (head, body) = get(&server, "/", &[&host]);
    assert_eq!(status(&head), "200", "{head}");
    assert!(body.contains("<title>board</title>"), "{body}");
    for header in [
        "content-type: text/html; charset=utf-8",
        "content-security-policy: default-src 'self'; script-src 'self';",
        "frame-ancestors 'none'",
        "x-content-type-options: nosniff",
        "referrer-policy: no-referrer",
        "cross-origin-opener-policy: same-origin",
    ] {
        assert!(head.contains(header), "{header} in {head}");
    }
    assert!(head.contains(&format!("connect-src 'self' ws://{};", server.address)), "{head}");
    let (head, body) = get(&server, "/page.js?version=1", &[&host]);
    assert!(head.contains("content-type: text/javascript"), "{head}");
    assert_eq!(body, "// page");
    let (head, _) = get(&server, "/none.js", &[&host]);
    assert_eq!(status(&head), "404");
    assert!(head.contains("x-content-type-options: nosniff"), "{head}");
}

#[test]
fn files_outside_the_page_are_not_served() {
    let server = TestServer::start();
    let host = format!("host: {}", server.address);
    #[cfg(unix)]
    std::os::unix::fs::symlink("../secret.txt", server.page().join("link.txt")).expect("a link");
    for path in [
        "/../secret.txt",
        "/%2e%2e/secret.txt",
        "/..%2fsecret.txt",
        "/a/../../secret.txt",
        "//secret.txt",
        "/link.txt",
        "/.hidden.txt",
        "/..\\secret.txt",
        "/%00.js",
    ] {
        let (head, body) = get(&server, path, &[&host]);
        assert!(["400", "404"].contains(&status(&head)), "{path}: {head}");
        assert!(!body.contains("secret"), "{path}: {body}");
    }
}

#[test]
fn other_hosts_and_origins_are_refused() {
    let server = TestServer::start();
    let host = format!("host: {}", server.address);
    let port = server.address.port();
    let upgrade = [
        "upgrade: websocket",
        "connection: Upgrade",
        "sec-websocket-version: 13",
        "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==",
    ];
    for headers in [
        &["host: evil.example"][..],
        &[&*format!("host: evil.example:{port}")],
        &["host: "],
        &[&*host, "origin: http://evil.example"],
        &[&*host, "origin: null"],
        &[&*host, &*format!("origin: https://{}", server.address)],
        &[&*host, &*format!("origin: http://localhost:{port}")],
        &[&*host, &*format!("origin: http://{}", server.address), "origin: http://evil.example"],
    ] {
        for path in ["/", "/ws"] {
            let mut headers = headers.to_vec();
            if path == "/ws" {
                headers.extend(upgrade);
            }
            let (head, body) = get(&server, path, &headers);
            assert_eq!(status(&head), "403", "{headers:?} {head}");
            assert!(!body.contains("title"), "{body}");
        }
    }
    let (head, _) = get(&server, "/ws", &[&[&*host][..], &upgrade].concat());
    assert_eq!(status(&head), "403", "a socket without an origin: {head}");
    let (head, _) = get(&server, "/", &[&format!("host: localhost:{port}")]);
    assert_eq!(status(&head), "200");
    let local = [&*host, &*format!("origin: http://{}", server.address)];
    let (head, _) = get(&server, "/", &local);
    assert_eq!(status(&head), "200");
}
