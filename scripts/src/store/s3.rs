//! Buckets of S3 and compatible stores, and their credentials.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use ini_core::{Item, Parser};
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey, AwsCredential};
use object_store::{ClientOptions, CredentialProvider, Error, ObjectStore, RetryConfig};
use url::Url;

/// The time limit of a request; a network has to be uploaded within it.
const REQUEST_LIMIT: Duration = Duration::from_secs(600);

/// The time limit of a connection.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);

/// The number of times that a request is repeated by itself after an error of the server or the connection.
const RETRIES: usize = 4;

/// The time after which a request is not repeated.
const RETRY_LIMIT: Duration = Duration::from_secs(60);

/// Settings by which credentials are found without a file.
const OTHER_CREDENTIALS: [&str; 5] = [
    "aws_access_key_id",
    "aws_secret_access_key",
    "aws_web_identity_token_file",
    "aws_container_credentials_relative_uri",
    "aws_container_credentials_full_uri",
];

/// Opens the bucket of a URL. `settings` are pairs such as `AWS_REGION` and `eu-central-1`; others are ignored.
pub(super) fn open_bucket(
    url: &Url,
    settings: impl IntoIterator<Item = (String, String)>,
) -> Result<Arc<dyn ObjectStore>, Error> {
    // Fails if the process has a provider already, which is then used.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let settings: BTreeMap<String, String> =
        settings.into_iter().map(|(key, value)| (key.to_lowercase(), value)).collect();
    let options =
        ClientOptions::new().with_timeout(REQUEST_LIMIT).with_connect_timeout(CONNECT_LIMIT);
    let mut builder = AmazonS3Builder::new().with_client_options(options).with_url(url.as_str());
    for (key, value) in &settings {
        if let Some(key) = config_key(key) {
            builder = builder.with_config(key, value);
        }
    }
    if let Some(file) = CredentialsFile::find(&settings) {
        builder = builder.with_credentials(Arc::new(file));
    }
    let retries =
        RetryConfig { max_retries: RETRIES, retry_timeout: RETRY_LIMIT, ..RetryConfig::default() };
    Ok(Arc::new(builder.with_retry(retries).build()?))
}

/// Returns the setting of the name of an environment variable in lower case.
fn config_key(name: &str) -> Option<AmazonS3ConfigKey> {
    if name.starts_with("aws_") { name.parse().ok() } else { None }
}

/// The credentials of a profile in a file as `~/.aws/credentials`. It is read for each request, so that it may be
/// renewed while a process runs.
#[derive(Debug)]
struct CredentialsFile {
    path: PathBuf,
    profile: String,
}

impl CredentialsFile {
    /// Returns the file, if the settings have no other credentials and there is one.
    fn find(settings: &BTreeMap<String, String>) -> Option<CredentialsFile> {
        if OTHER_CREDENTIALS.iter().any(|key| settings.contains_key(*key)) {
            return None;
        }
        let path = match (settings.get("aws_shared_credentials_file"), settings.get("home")) {
            (Some(path), _) => PathBuf::from(path),
            (None, Some(home)) => Path::new(home).join(".aws/credentials"),
            (None, None) => return None,
        };
        let profile = settings.get("aws_profile").map_or("default", String::as_str).to_owned();
        if path.exists() { Some(CredentialsFile { path, profile }) } else { None }
    }

    fn read(&self) -> Result<AwsCredential, String> {
        let text = fs::read_to_string(&self.path).map_err(|error| error.to_string())?;
        parse_profile(&text, &self.profile)
    }
}

#[async_trait]
impl CredentialProvider for CredentialsFile {
    type Credential = AwsCredential;

    async fn get_credential(&self) -> Result<Arc<AwsCredential>, Error> {
        let credential = self.read().map_err(|reason| Error::Generic {
            store: "S3",
            source: format!("{}: {reason}", self.path.display()).into(),
        });
        credential.map(Arc::new)
    }
}

/// Returns the credentials of a profile.
fn parse_profile(text: &str, profile: &str) -> Result<AwsCredential, String> {
    let mut keys = BTreeMap::new();
    let mut inside = false;
    // The parser does not count a last line without a line end.
    let text = format!("{text}\n");
    for item in Parser::new(&text).comment_char(b'#').auto_trim(true) {
        match item {
            Item::Section(name) => inside = name == profile,
            Item::Property(key, Some(value)) if inside => {
                keys.insert(key.to_lowercase(), value.to_owned());
            }
            _ => {}
        }
    }
    let mut take = |key: &str| {
        keys.remove(key).ok_or_else(|| format!("the profile \"{profile}\" has no {key}"))
    };
    let key_id = take("aws_access_key_id")?;
    let secret_key = take("aws_secret_access_key")?;
    Ok(AwsCredential { key_id, secret_key, token: keys.remove("aws_session_token") })
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "[default]\naws_access_key_id = one\naws_secret_access_key=1\n# comment\n\
                        [other]\nAWS_ACCESS_KEY_ID = two\naws_secret_access_key = 2\n\
                        aws_session_token = t\n[none]\nregion = x";

    #[test]
    fn credentials_are_those_of_the_profile() {
        let one = parse_profile(FILE, "default").expect("credentials");
        assert_eq!((one.key_id.as_str(), one.secret_key.as_str(), one.token), ("one", "1", None));
        let two = parse_profile(FILE, "other").expect("credentials");
        assert_eq!((two.key_id.as_str(), two.token.as_deref()), ("two", Some("t")));
        for profile in ["none", "no such"] {
            let error = parse_profile(FILE, profile).expect_err("no key");
            assert!(error.contains(&format!("\"{profile}\" has no aws_access_key_id")), "{error}");
        }
    }
}
