//! A server whose certificate only an extra authority vouches for.

use std::sync::Arc;

use ona_provider::scripted::{Reply, Server};
use ona_provider::{AskError, FailureWord, Live, ProviderKind, Transport};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_util::sync::CancellationToken;

use crate::{client_by, quick, request};

const AUTHORITY: &[u8] = include_bytes!("../../fixtures/ca.pem");

/// Takes the encryption off what comes in and passes it on to the server; its address.
async fn secured(server: &Server) -> String {
    let chain = CertificateDer::from_pem_slice(include_bytes!("../../fixtures/server.pem"));
    let key = PrivateKeyDer::from_pem_slice(include_bytes!("../../fixtures/server.key"));
    let config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![chain.unwrap()], key.unwrap())
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let target = server.base_url().trim_start_matches("http://").to_owned();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            // A client that does not trust us is gone by now.
            let Ok(mut stream) = acceptor.accept(stream).await else { continue };
            let mut server = TcpStream::connect(&target).await.unwrap();
            let _ = tokio::io::copy_bidirectional(&mut stream, &mut server).await;
        }
    });
    format!("https://{address}")
}

#[tokio::test]
async fn an_extra_authority_is_trusted_and_a_stranger_is_not() {
    let provider = ProviderKind::ClaudeCodeSubscription;
    let server = Server::start([Reply::say("in private")]).unwrap();
    let base_url = secured(&server).await;
    let cancel = CancellationToken::new();

    let stranger = client_by(provider, &Transport::to(&base_url), quick());
    let mut retries = 0;
    let mut on = |live: Live<'_>| retries += u32::from(matches!(live, Live::Retry { .. }));
    let error = stranger.ask(&request(provider), &mut on, &cancel).await.unwrap_err();
    let AskError::Failed(failure) = error else { panic!("{error:?}") };
    assert_eq!((failure.word, retries), (FailureWord::Unknown, 0));
    assert!(failure.message.contains("certificate"), "{failure}");

    let trusting = Transport { extra_ca: Some(AUTHORITY.to_vec()), ..Transport::to(&base_url) };
    let client = client_by(provider, &trusting, quick());
    let answer = client.ask(&request(provider), &mut |_| (), &cancel).await.unwrap();
    assert_eq!(answer.text(), "in private");
}
