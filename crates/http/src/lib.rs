//! What every HTTP client of ona shares: the TLS library behind it, the reader of event streams, the addresses that may be
//! asked, and the page that a browser comes back to after a sign-in.
//!
//! [`client`] is the only way to a `reqwest` client: the library panics if no TLS provider was chosen, so the
//! choice is made here, and clippy rejects `reqwest::Client::builder` elsewhere.

pub mod callback;
pub mod link;
pub mod private_host;
pub mod sse;

use reqwest::ClientBuilder;
use rustls::crypto::{CryptoProvider, ring};

/// A client to configure.
#[allow(clippy::disallowed_methods, reason = "this is the one place that makes clients")]
pub fn client() -> ClientBuilder {
    install_tls();
    reqwest::Client::builder()
}

/// Chooses the TLS provider of this process. Call it before a library makes a client of its own.
pub fn install_tls() {
    if CryptoProvider::get_default().is_none() {
        // It fails only if another thread was faster, with the same provider.
        let _ = ring::default_provider().install_default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_has_a_tls_provider() {
        assert!(client().build().is_ok());
        assert!(client().tls_certs_only([]).build().is_ok());
    }
}
