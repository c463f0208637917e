//! Questions to name servers: the names of an address (RFC 1035 §3.5), and whether they lead back to it.
//!
//! The only file that names hickory. An answer counts as "no" only where a name server says so itself: a
//! name that does not exist, or an empty answer with the SOA record that RFC 2308 §2.2 asks for. Time
//! over, refused, failed, cut short and not to be had whole, or about another question: nobody knows.

use super::answer::{MOST_NAMES, ProofAnswer, Reverse, ReverseName, is_below};
use crate::config::NameServers;
use hickory_resolver::TokioResolver;
use hickory_resolver::config::{NameServerConfig, ResolveHosts, ResolverConfig};
use hickory_resolver::lookup::Lookup;
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::net::{DnsError, NetError};
use hickory_resolver::proto::op::ResponseCode;
use hickory_resolver::proto::rr::{Name, RData, RecordType};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

/// An address whose name all name servers know: the first of those that Google publishes for Googlebot.
pub(super) const WELL_KNOWN: IpAddr = IpAddr::V4(Ipv4Addr::new(66, 249, 64, 1));

/// Someone to ask.
#[derive(Clone, Debug)]
pub(super) struct DnsClient {
    resolver: TokioResolver,
    timeout: Duration,
}

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
            let addresses = servers.addresses.iter().map(|address| name_server(*address)).collect();
            let config = ResolverConfig::from_parts(None, Vec::new(), addresses);
            TokioResolver::builder_with_config(config, TokioRuntimeProvider::default())
        };
        let options = builder.options_mut();
        (options.timeout, options.attempts) = (servers.timeout, 1);
        // Remembered by whom it was asked for, not by its name; and this machine's own file proves nothing.
        (options.cache_size, options.use_hosts_file) = (0, ResolveHosts::Never);
        let resolver = builder.build().map_err(unusable)?;
        Ok(Self { resolver, timeout: servers.timeout })
    }

    /// Asks for the names of `address`, and for the addresses of those below one of `suffixes`: at most
    /// three, one after the other. Takes at most four times the time limit.
    pub(super) async fn ask(&self, address: IpAddr, suffixes: &[Box<str>]) -> Reverse {
        let lookup = match self.question(Name::from(address), RecordType::PTR).await {
            Ok(lookup) => lookup,
            Err(ProofAnswer::No) => return Reverse::Names(Vec::new()),
            Err(_) => return Reverse::Unknown,
        };
        let found = lookup.answers().iter().filter_map(|record| match &record.data {
            RData::PTR(name) => Some(&name.0),
            _ => None,
        });
        let mut hosts: Vec<Box<str>> = found.filter_map(host).collect();
        // Those that can prove something first; whatever else the address is called proves nothing. A crawler's address has
        // one name. Who gives his a dozen of them gains nothing by it.
        hosts.sort_by_key(|host| !is_below(host, suffixes));
        hosts.truncate(MOST_NAMES);
        let mut names: Vec<ReverseName> = Vec::new();
        for host in hosts {
            let is_wanted = is_below(&host, suffixes);
            let leads_back = if is_wanted { self.leads_back(&host, address).await } else { ProofAnswer::No };
            names.push(ReverseName { host, leads_back });
        }
        Reverse::Names(names)
    }

    /// Why a denial of these name servers means nothing: a resolver that denies everything, as one without a way to the
    /// internet may, would make an impersonator of every crawler.
    pub(super) async fn doubt(&self) -> Option<&'static str> {
        match self.ask(WELL_KNOWN, &[".googlebot.com".into()]).await {
            Reverse::Unknown => Some(
                "the name servers do not answer for 66.249.64.1, which is Googlebot's; until they do, reverse DNS \
                 contradicts no name",
            ),
            Reverse::Names(names) if names.iter().any(|name| name.leads_back == ProofAnswer::Yes) => None,
            Reverse::Names(_) => Some(
                "the name servers do not know that 66.249.64.1 is Googlebot's, so reverse DNS contradicts no name; set \
                 `[verify] resolvers` to name servers that ask the internet",
            ),
        }
    }

    async fn leads_back(&self, host: &str, address: IpAddr) -> ProofAnswer {
        let kind = if address.is_ipv4() { RecordType::A } else { RecordType::AAAA };
        let Ok(name) = Name::from_ascii(host) else { return ProofAnswer::No };
        match self.question(name, kind).await {
            Ok(lookup) => {
                let is_it = lookup.answers().iter().any(|record| match &record.data {
                    RData::A(found) => IpAddr::V4(found.0) == address,
                    RData::AAAA(found) => IpAddr::V6(found.0) == address,
                    _ => false,
                });
                if is_it { ProofAnswer::Yes } else { ProofAnswer::No }
            }
            Err(answer) => answer,
        }
    }

    /// Records, or what it means that there are none.
    async fn question(&self, mut name: Name, kind: RecordType) -> Result<Lookup, ProofAnswer> {
        name.set_fqdn(true);
        match tokio::time::timeout(self.timeout, self.resolver.lookup(name, kind)).await {
            Ok(Ok(lookup)) if lookup.answers().iter().any(|record| record.record_type() == kind) => {
                Ok(lookup)
            }
            Ok(Err(error)) if is_denial(&error) => Err(ProofAnswer::No),
            Ok(_) | Err(_) => Err(ProofAnswer::Unknown),
        }
    }
}

fn name_server(address: SocketAddr) -> NameServerConfig {
    let mut server = NameServerConfig::udp_and_tcp(address.ip());
    for connection in &mut server.connections {
        connection.port = address.port();
    }
    server
}

/// Whether a name server said itself that there is no such record.
fn is_denial(error: &NetError) -> bool {
    let NetError::Dns(DnsError::NoRecordsFound(denial)) = error else { return false };
    match denial.response_code {
        ResponseCode::NXDomain => true,
        ResponseCode::NoError => denial.soa.is_some(),
        _ => false,
    }
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
