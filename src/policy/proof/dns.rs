//! Questions to name servers: the names of an address (RFC 1035 §3.5), and whether they lead back to it.
//!
//! The only file that names hickory. An answer counts as "no" only where a name server says so itself: a
//! name that does not exist, or an empty answer with the SOA record that RFC 2308 §2.2 asks for. Time
//! over, refused, failed, cut short and not to be had whole, or about another question: nobody knows.

use super::answer::{KnownNames, MOST_NAMES, ProofAnswer, ReverseName, is_below};
use crate::config::NameServers;
use hickory_resolver::TokioResolver;
use hickory_resolver::config::{NameServerConfig, ResolveHosts, ResolverConfig};
use hickory_resolver::lookup::Lookup;
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::net::{DnsError, NetError};
use hickory_resolver::proto::op::ResponseCode;
use hickory_resolver::proto::rr::{Name, RData, Record, RecordType};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

/// An address whose name all name servers know: the first of those that Google publishes for Googlebot.
pub(super) const WELL_KNOWN: IpAddr = IpAddr::V4(Ipv4Addr::new(66, 249, 64, 1));

/// Someone to ask.
#[derive(Clone, Debug)]
pub(super) struct DnsClient(TokioResolver);

impl DnsClient {
    /// Asks the configured name servers, or those of the system.
    ///
    /// # Errors
    /// When the system's cannot be told.
    pub(super) fn new(servers: &NameServers) -> Result<Self, String> {
        let unusable =
            |error: NetError| format!("crawlers cannot be verified by reverse DNS: no name servers: {error}");
        let mut builder = if servers.addresses.is_empty() {
            TokioResolver::builder_tokio().map_err(unusable)?
        } else {
            let name_server = |address: &SocketAddr| {
                let mut server = NameServerConfig::udp_and_tcp(address.ip());
                server.connections.iter_mut().for_each(|connection| connection.port = address.port());
                server
            };
            let addresses = servers.addresses.iter().map(name_server).collect();
            let config = ResolverConfig::from_parts(None, Vec::new(), addresses);
            TokioResolver::builder_with_config(config, TokioRuntimeProvider::default())
        };
        let options = builder.options_mut();
        (options.timeout, options.attempts) = (servers.timeout, 1);
        // Remembered by whom it was asked for, not by its name; and this machine's own file proves nothing.
        (options.cache_size, options.use_hosts_file) = (0, ResolveHosts::Never);
        builder.build().map(Self).map_err(unusable)
    }

    /// Asks for the names of `address`, and for the addresses of those below one of `suffixes`: at most
    /// three, one after the other. Takes at most four times the time limit. No names where the reverse zone says that there
    /// are none; `None` where nobody told: no answer, or one that is no answer to the question.
    pub(super) async fn ask(&self, address: IpAddr, suffixes: &[Box<str>]) -> Option<KnownNames> {
        let lookup = match self.question(Name::from(address), RecordType::PTR).await {
            Ok(lookup) => lookup,
            Err(ProofAnswer::No) => return Some(Arc::default()),
            Err(_) => return None,
        };
        let name = |record: &Record| {
            let RData::PTR(name) = &record.data else { return None };
            Some(ReverseName { host: host(name)?, leads_back: ProofAnswer::No })
        };
        let mut names: Vec<ReverseName> = lookup.answers().iter().filter_map(name).collect();
        // Those that can prove something first; whatever else the address is called proves nothing. A crawler's address has
        // one name. Who gives his a dozen of them gains nothing by it.
        names.sort_by_key(|name| !is_below(&name.host, suffixes));
        names.truncate(MOST_NAMES);
        for name in names.iter_mut().filter(|name| is_below(&name.host, suffixes)) {
            name.leads_back = self.leads_back(&name.host, address).await;
        }
        Some(Arc::new(names))
    }

    /// Why a denial of these name servers means nothing: a resolver that denies everything, as one without a way to the
    /// internet may, would make an impersonator of every crawler.
    pub(super) async fn doubt(&self) -> Option<&'static str> {
        match self.ask(WELL_KNOWN, &[".googlebot.com".into()]).await {
            None => Some(
                "the name servers do not answer for 66.249.64.1, which is Googlebot's; until they do, reverse DNS \
                 contradicts no name",
            ),
            Some(names) if names.iter().any(|name| name.leads_back == ProofAnswer::Yes) => None,
            Some(_) => Some(
                "the name servers do not know that 66.249.64.1 is Googlebot's, so reverse DNS contradicts no name; set \
                 `[verify] resolvers` to name servers that ask the internet",
            ),
        }
    }

    async fn leads_back(&self, host: &str, address: IpAddr) -> ProofAnswer {
        let kind = if address.is_ipv4() { RecordType::A } else { RecordType::AAAA };
        let Ok(name) = Name::from_ascii(host) else { return ProofAnswer::No };
        match self.question(name, kind).await {
            Ok(lookup) if lookup.answers().iter().any(|record| record.data.ip_addr() == Some(address)) => {
                ProofAnswer::Yes
            }
            Ok(_) => ProofAnswer::No,
            Err(answer) => answer,
        }
    }

    /// Records, or what it means that there are none.
    async fn question(&self, mut name: Name, kind: RecordType) -> Result<Lookup, ProofAnswer> {
        name.set_fqdn(true);
        match tokio::time::timeout(self.0.options().timeout, self.0.lookup(name, kind)).await {
            Ok(Ok(lookup)) if lookup.answers().iter().any(|record| record.record_type() == kind) => {
                Ok(lookup)
            }
            Ok(Err(error)) if is_denial(&error) => Err(ProofAnswer::No),
            Ok(_) | Err(_) => Err(ProofAnswer::Unknown),
        }
    }
}

/// Whether a name server said itself that there is no such record.
fn is_denial(error: &NetError) -> bool {
    let NetError::Dns(DnsError::NoRecordsFound(denial)) = error else { return false };
    let code = denial.response_code;
    code == ResponseCode::NXDomain || (code == ResponseCode::NoError && denial.soa.is_some())
}

/// A name as a host name. A label may hold any byte, a dot too (RFC 2181 §11); one that holds such is no
/// host's, and could pass for another name if it were written out.
fn host(name: &Name) -> Option<Box<str>> {
    // Every byte that could mean something else is written behind a backslash here.
    let host = name.to_ascii().trim_end_matches('.').to_ascii_lowercase();
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    (!host.is_empty() && host.bytes().all(is_plain)).then(|| host.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_cannot_pass_for_two() {
        let name = |labels: &[&[u8]]| Name::from_labels(labels.iter().copied()).unwrap();
        assert_eq!(
            host(&name(&[b"Crawl-1", b"GoogleBot", b"com"])).as_deref(),
            Some("crawl-1.googlebot.com")
        );
        assert_eq!(host(&name(&[b"crawl-1.googlebot.com", b"evil", b"example"])), None);
        assert_eq!(host(&name(&[b"evil.googlebot", b"com"])), None);
        assert_eq!(host(&name(&[b"crawl 1", b"googlebot", b"com"])), None);
        assert_eq!(host(&Name::root()), None);
    }
}
