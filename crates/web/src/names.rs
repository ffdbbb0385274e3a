//! Resolves names to addresses: resolved once, checked, and then connected to exactly.
//!
//! A name that is resolved again after the check can give another address (DNS rebinding). So the check
//! is in the client's own resolver: it returns only addresses that it has checked.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;

use ona_types::not_public;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::{Host, Url};

/// The addresses of a name, to be awaited.
pub(crate) type LookedUp = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>>;

/// Looks names up.
pub(crate) trait Names: Send + Sync {
    /// The addresses a name leads to.
    fn look_up(&self, name: &str) -> LookedUp;
}

/// As the system does.
pub(crate) struct SystemNames;

impl Names for SystemNames {
    fn look_up(&self, name: &str) -> LookedUp {
        let name = name.to_owned();
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }
}

/// A host that leads to an address which is not public.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum NotPublic {
    #[error(
        "{host} resolves to {address}, which is {what}: only public addresses are fetched. The operator can allow it \
         with the setting webFetch.allowPrivateHosts"
    )]
    Leads { host: String, address: IpAddr, what: &'static str },
    #[error(
        "{address} is {what}: only public addresses are fetched. The operator can allow it with the setting \
         webFetch.allowPrivateHosts"
    )]
    Is { address: IpAddr, what: &'static str },
}

/// Refuses a host that is written as an address, which no resolver gets to see.
pub fn check_literal(url: &Url) -> Result<(), NotPublic> {
    let address: IpAddr = match url.host() {
        Some(Host::Ipv4(address)) => address.into(),
        Some(Host::Ipv6(address)) => address.into(),
        Some(Host::Domain(_)) | None => return Ok(()),
    };
    match not_public(address) {
        Some(what) => Err(NotPublic::Is { address, what }),
        None => Ok(()),
    }
}

/// Hands over addresses that were checked.
pub(crate) struct Checked {
    pub(crate) names: Arc<dyn Names>,
    /// The operator has opened the host.
    pub(crate) is_private: bool,
}

impl Resolve for Checked {
    fn resolve(&self, name: Name) -> Resolving {
        let (host, is_private) = (name.as_str().to_owned(), self.is_private);
        let found = self.names.look_up(&host);
        Box::pin(async move {
            let found = found.await?;
            // One private address is enough to refuse the name: that is how rebinding attacks look.
            let closed = found.iter().find_map(|address| Some((*address, not_public(*address)?)));
            if let Some((address, what)) = closed.filter(|_| !is_private) {
                return Err(NotPublic::Leads { host, address, what }.into());
            }
            Ok(Box::new(found.into_iter().map(|address| SocketAddr::new(address, 0))) as Addrs)
        })
    }
}
