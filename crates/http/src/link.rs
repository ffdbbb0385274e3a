//! Checks a URL from the user or the model: whether it may be fetched, and which host it names.

use url::{Host, Url};

/// The limit for a URL, in bytes.
const MAX_URL: usize = 8192;

/// Why a URL cannot be fetched. A possible password in it is not repeated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LinkError {
    /// It cannot be parsed.
    #[error("it is not a valid URL ({0}); write the full URL, such as https://example.com/page")]
    NotAUrl(String),
    /// It is too long.
    #[error("it is longer than {MAX_URL} bytes")]
    TooLong,
    /// Another scheme.
    #[error("`{0}:` is not supported, only http: and https: are")]
    Scheme(String),
    /// It contains credentials.
    #[error(
        "it contains a user name or a password; remove them: credentials do not belong in URLs"
    )]
    Credentials,
    /// It has no host.
    #[error("it has no host")]
    NoHost,
}

/// Reads an address. Numbers in all the forms that an IPv4 address can be written in are one address afterwards.
pub fn parse(text: &str) -> Result<Url, LinkError> {
    let url = Url::parse(text.trim()).map_err(|error| LinkError::NotAUrl(error.to_string()))?;
    check(&url)?;
    Ok(url)
}

/// Whether an address can be asked.
pub fn check(url: &Url) -> Result<(), LinkError> {
    if url.as_str().len() > MAX_URL {
        return Err(LinkError::TooLong);
    }
    if !matches!(url.scheme(), "http" | "https") {
        return Err(LinkError::Scheme(url.scheme().to_owned()));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(LinkError::Credentials);
    }
    if host(url).is_empty() {
        return Err(LinkError::NoHost);
    }
    Ok(())
}

/// The host, in small letters and without the dot that some write at its end.
pub fn host(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase()
}

/// The URL that is fetched: with https, except for hosts that the operator has allowed, and without the fragment.
pub fn asked(mut url: Url, is_private: bool) -> Url {
    url.set_fragment(None);
    if url.scheme() == "http" && !is_private {
        // It cannot fail: both schemes are alike.
        let _ = url.set_scheme("https");
    }
    url
}

/// Whether traffic to an address is protected from eavesdropping: https, or this machine.
pub fn is_protected(url: &Url) -> bool {
    let here = match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    url.scheme() == "https" || url.scheme() == "http" && here
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_asked_is_named() {
        for (text, expected) in [
            ("", "it is not a valid URL"),
            ("example.com", "it is not a valid URL"),
            ("http://", "it is not a valid URL"),
            ("http://a b/", "it is not a valid URL"),
            ("ftp://example.com/", "`ftp:` is not supported"),
            ("file:///etc/passwd", "`file:` is not supported"),
            ("data:text/html,x", "`data:` is not supported"),
            ("https://me@example.com/", "credentials do not belong in URLs"),
            ("https://me:hunter22@example.com/", "credentials do not belong in URLs"),
            ("https://:hunter22@example.com/", "credentials do not belong in URLs"),
            ("https://./", "it has no host"),
        ] {
            let message = parse(text).unwrap_err().to_string();
            assert!(message.starts_with(expected) || message.ends_with(expected), "{message}");
            assert!(!message.contains("hunter22"));
        }
        let long = format!("https://example.com/{}", "a".repeat(MAX_URL));
        assert_eq!(parse(&long), Err(LinkError::TooLong));
    }

    #[test]
    fn however_it_is_written_it_is_one_host() {
        for (text, expected) in [
            ("https://EXAMPLE.com./a", "example.com"),
            (" https://example.com ", "example.com"),
            ("http://2130706433/", "127.0.0.1"),
            ("http://0x7f000001/", "127.0.0.1"),
            ("http://0177.0.0.01/", "127.0.0.1"),
            ("http://127.1/", "127.0.0.1"),
            ("http://0/", "0.0.0.0"),
            ("http://[0:0:0:0:0:0:0:1]:80/", "[::1]"),
            ("http://１２７.0.0.1/", "127.0.0.1"),
            ("https://bücher.example/", "xn--bcher-kva.example"),
        ] {
            assert_eq!(host(&parse(text).unwrap()), expected, "{text}");
        }
    }

    #[test]
    fn others_are_asked_by_https() {
        let link = |text: &str| parse(text).unwrap();
        assert_eq!(asked(link("http://a.example/x#y"), false).as_str(), "https://a.example/x");
        assert_eq!(asked(link("http://a.example:80/"), false).as_str(), "https://a.example/");
        assert_eq!(asked(link("http://a.example:81/"), false).as_str(), "https://a.example:81/");
        assert_eq!(asked(link("http://a.example/"), true).as_str(), "http://a.example/");
        assert_eq!(asked(link("https://a.example/"), true).as_str(), "https://a.example/");
    }
}
