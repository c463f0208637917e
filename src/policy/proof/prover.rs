//! Proof for requests: at once from what is known, and from name servers beside them.
//!
//! No request waits. What has to be asked is asked on a thread of its own, and remembered for the requests that follow. Where
//! too many questions are open it is left for a later request. One address is asked about once at a time.

use super::answer::{KnownNames, ProofAnswer, ReverseName, answer, combine, is_below};
use super::dns::{DnsClient, WELL_KNOWN};
use super::evidence::Methods;
use super::memory::{ProofMemory, QuestionCounts};
use super::signatures::SignatureMemory;
use crate::config::{Config, NameServers, VerifyOptions};
use crate::identify::signature::{
    SignatureFault, SignatureOutcomeKind, SignedMessage, VerifiedSignature, verify_signature,
};
use crate::identify::{Identity, KnownProof, NoTrace, Proof, Trace};
use crate::policy::Policy;
use crate::request::address::is_public;
use parking_lot::Mutex;
use smart_default::SmartDefault;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};
use tokio::runtime::Handle;
use tokio::sync::{Mutex as AsyncMutex, Semaphore, oneshot};

/// How many are asked about at once.
const AT_ONCE: usize = 16;

/// How long to believe name servers that know what all others know, before they are asked for it again.
const BELIEVED: Duration = Duration::from_secs(60);

/// The same of those that do not know it, or did not answer a question: it may be the trouble of somebody's own name server,
/// or an outage.
const DOUBTED: Duration = Duration::from_secs(5);

/// Who a request says it is from, and where it came from.
#[derive(Clone, Copy, Debug)]
pub struct Claim<'a> {
    /// Who it says it is.
    pub identity: &'a Identity,
    /// The client's address.
    pub address: Option<IpAddr>,
    /// Whether it shows that the client is a proxy for somebody else. Then its address is no evidence
    /// against whom it speaks for: it was only forgotten in `trusted_proxies`.
    pub is_relayed: bool,
}

/// Answers for requests, and remembers across generations of the policy.
#[derive(Debug)]
pub struct Prover {
    asker: Arc<NameAsker>,
    /// Where questions are asked, on a thread that ends with the prover.
    runtime: Handle,
    _life: oneshot::Sender<()>,
    signatures: SignatureMemory,
}

impl Prover {
    /// Starts the thread that asks name servers; it ends with the prover. At once it finds out whether a denial of `servers`
    /// means anything.
    ///
    /// # Errors
    /// When there is no thread to be had.
    pub fn start(servers: Option<NameServers>) -> io::Result<Self> {
        let (asker, (life, ended)) = (Arc::new(NameAsker::default()), oneshot::channel());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (handle, first) = (runtime.handle().clone(), Arc::clone(&asker));
        let run = async move {
            if let Some(servers) = servers {
                first.is_doubted(&servers, true).await;
            }
            // Nothing is ever sent.
            let _ = ended.await;
        };
        std::thread::Builder::new().name("proof".to_owned()).spawn(move || runtime.block_on(run))?;
        Ok(Self { asker, runtime: handle, _life: life, signatures: SignatureMemory::default() })
    }

    /// Why denials of the name servers mean nothing, where they were asked about anybody.
    pub fn doubt(&self) -> Option<String> {
        let memory = self.asker.memory.lock();
        memory.doubt.clone().filter(|_| memory.counts.answered + memory.counts.failed > 0)
    }

    /// What became of the questions to name servers.
    pub fn questions(&self) -> QuestionCounts {
        self.asker.memory.lock().counts
    }

    /// How many requests were signed, by what came of it.
    pub fn signatures(&self) -> impl Iterator<Item = (SignatureOutcomeKind, u64)> {
        self.signatures.counts.all()
    }

    /// Who signed a request from `address`, where that is beyond doubt. `is_new` says whether it is seen for the first time:
    /// then it counts.
    pub fn signature(
        &self,
        policy: &Policy,
        message: &SignedMessage<'_>,
        address: Option<IpAddr>,
        is_new: bool,
        now: SystemTime,
    ) -> Option<VerifiedSignature> {
        let keys = |agent: &_| policy.evidence.keys(agent);
        let outcome =
            verify_signature(message, now, keys, |statement| self.signatures.check(statement, address));
        // Signatures with other tags, and with none, are for others.
        if is_new && outcome != Err(SignatureFault::WrongTag) {
            let kind = outcome.as_ref().err().map_or(SignatureOutcomeKind::Verified, |fault| fault.kind());
            self.signatures.counts.count(kind);
        }
        outcome.ok()
    }

    /// What supports a claim, as far as is known now. Never waits for a name server.
    pub fn proof(&self, policy: &Policy, claim: &Claim<'_>, now: SystemTime) -> KnownProof {
        let names = |address| self.names(policy, address).ok_or_else(String::new);
        prove(policy, claim, now, names, &mut NoTrace)
    }

    fn names(&self, policy: &Policy, address: IpAddr) -> Option<KnownNames> {
        let servers = policy.config.verify.name_servers()?;
        let (known, place) = self.asker.memory.lock().find(&(address, servers.addresses), Instant::now());
        if let Some(place) = place {
            let (asker, config) = (Arc::clone(&self.asker), Arc::clone(&policy.config));
            let suffixes = Arc::clone(&policy.evidence.suffixes);
            self.runtime.spawn(async move {
                asker.ask(address, &suffixes, &config.verify).await;
                drop(place);
            });
        }
        known
    }
}

/// What an address proves of a claim. `names` is asked for the names of an address, or why they are not known, and
/// only where ranges have not settled it.
fn prove(
    policy: &Policy,
    claim: &Claim<'_>,
    now: SystemTime,
    names: impl FnOnce(IpAddr) -> Result<KnownNames, String>,
    trace: &mut impl Trace,
) -> KnownProof {
    let Some(address) = claim.address else { return Proof::Unchecked.into() };
    let Some(methods) = policy.evidence.methods(claim.identity) else {
        trace.note(|| format!("nothing is known by which {address} could prove this client"));
        return Proof::Unchecked.into();
    };
    if !is_public(address) {
        trace.note(|| format!("{address} is no public address, and proves nothing"));
        return Proof::Unchecked.into();
    }
    if policy.config.trusted_proxies.contains(address) {
        trace.note(|| format!("{address} is a trusted proxy's, and proves nothing"));
        return Proof::Unchecked.into();
    }
    let by_ranges = methods.by_ranges(address, now);
    trace.notes(|| methods.range_steps(address, now));
    let has_names = !methods.suffixes.is_empty();
    if has_names && !policy.config.verify.dns {
        trace.note(|| "its names are not asked for: `dns = false`".to_owned());
    }
    let asks_names = policy.config.verify.dns && has_names && by_ranges != Some(ProofAnswer::Yes);
    let by_name = asks_names.then(|| match names(address) {
        Ok(names) => {
            trace.notes(|| name_steps(methods, address, &names));
            answer(&names, &methods.suffixes, methods.forward)
        }
        Err(reason) => {
            trace.note(|| reason);
            ProofAnswer::Unknown
        }
    });
    combine([by_ranges, by_name], !claim.is_relayed)
}

/// Asks name servers, and keeps what they said.
#[derive(Debug, SmartDefault)]
struct NameAsker {
    memory: Mutex<ProofMemory>,
    /// Who was asked last for what all others know, and when.
    tried: AsyncMutex<Option<(NameServers, Instant)>>,
    #[default(Semaphore::new(AT_ONCE))]
    slots: Semaphore,
}

impl NameAsker {
    /// Asks about an address, and has it remembered, if that is an answer. What is no proof counts only where name servers
    /// can be believed.
    async fn ask(&self, address: IpAddr, suffixes: &[Box<str>], options: &VerifyOptions) {
        let Some(servers) = options.name_servers() else { return };
        let _slot = self.slots.acquire().await;
        let names = match DnsClient::new(&servers) {
            Ok(client) => client.ask(address, suffixes).await,
            Err(_) => None,
        };
        match (&names, &mut self.memory.lock().counts) {
            (None, counts) => counts.failed += 1,
            (Some(_), counts) => counts.answered += 1,
        }
        let is_proof = names.as_ref().is_some_and(|names| answer(names, suffixes, true) == ProofAnswer::Yes);
        if !is_proof && (self.is_doubted(&servers, names.is_none()).await || names.is_none()) {
            return;
        }
        let lifetime = if is_proof { options.cache } else { options.cache_negative };
        let (question, names) = ((address, servers.addresses), names.unwrap_or_default());
        self.memory.lock().store(question, names, *lifetime, Instant::now());
    }

    /// Whether denials of these name servers mean nothing: then that is told once, and once that they do again.
    async fn is_doubted(&self, servers: &NameServers, are_silent: bool) -> bool {
        let mut tried = self.tried.lock().await;
        let before = self.memory.lock().doubt.clone();
        let lasts = if are_silent || before.is_some() { DOUBTED } else { BELIEVED };
        if tried.as_ref().is_some_and(|(whom, at)| whom == servers && at.elapsed() < lasts) {
            return before.is_some();
        }
        let doubt = match DnsClient::new(servers) {
            Ok(client) => client.doubt().await.map(str::to_owned),
            Err(error) => Some(error),
        };
        match (&before, &doubt) {
            (None, Some(doubt)) => tracing::warn!("{doubt}"),
            (Some(_), None) => tracing::info!("the name servers answer correctly again"),
            _ => {}
        }
        *tried = Some((servers.clone(), Instant::now()));
        self.memory.lock().doubt.clone_from(&doubt);
        doubt.is_some()
    }
}

/// Examines a claim for `gatewayctl explain --address`, by the same function as for a request: what supports the name, and one
/// sentence for each step, lower case and without a full stop. The one difference is that this waits for an answer of
/// name servers, where the configuration says so.
pub fn explain_proof(policy: &Policy, identity: &Identity, address: IpAddr) -> (Proof, Vec<String>) {
    // As for a request: a mapped address is the IPv4 address in it.
    let claim = Claim { identity, address: Some(address.to_canonical()), is_relayed: false };
    let ask = |address| {
        let servers = policy.config.verify.name_servers().ok_or("no name server is configured")?;
        let names = ask_now(&servers, address, &policy.evidence.suffixes)?;
        names.ok_or_else(|| format!("no name server answered for {address}"))
    };
    let mut steps = Vec::new();
    let proof = prove(policy, &claim, SystemTime::now(), ask, &mut steps).proof;
    steps.push(format!("proof: {proof}"));
    (proof, steps)
}

/// What its names say.
fn name_steps(methods: &Methods, address: IpAddr, names: &[ReverseName]) -> Vec<String> {
    if names.is_empty() {
        return vec![format!("{address} has no name")];
    }
    let tell = |name: &ReverseName| {
        let what = match name.leads_back {
            _ if !is_below(&name.host, &methods.suffixes) => {
                format!("which does not end in {}", methods.suffixes.join(" or "))
            }
            _ if !methods.forward => "and that name alone proves this crawler".to_owned(),
            ProofAnswer::Yes => "which leads back to it".to_owned(),
            ProofAnswer::No => "which does not lead back to it".to_owned(),
            ProofAnswer::Unknown => "and no name server answered for that name".to_owned(),
        };
        format!("{address} is called {}, {what}", name.host)
    };
    names.iter().map(tell).collect()
}

/// Asks now and waits, for a tool that has one question.
fn ask_now(
    servers: &NameServers,
    address: IpAddr,
    suffixes: &[Box<str>],
) -> Result<Option<KnownNames>, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    runtime.block_on(async {
        let client = DnsClient::new(servers)?;
        let names = client.ask(address, suffixes).await;
        if names.as_ref().is_none_or(|names| answer(names, suffixes, true) == ProofAnswer::Yes) {
            return Ok(names);
        }
        client.doubt().await.map_or(Ok(names), |doubt| Err(doubt.to_owned()))
    })
}

/// Why a denial of the configured name servers means nothing; `None` where it means something, or nobody is asked.
pub fn name_server_doubt(config: &Config) -> Option<String> {
    let servers = config.verify.name_servers()?;
    ask_now(&servers, WELL_KNOWN, &[]).err()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ranges::file_name;
    use crate::config::{Arguments, Config};
    use std::net::{SocketAddr, UdpSocket};
    use std::path::Path;

    const LIST: &str = "https://developers.google.com/static/crawling/ipranges/common-crawlers.json";
    const DAY: Duration = Duration::from_secs(86_400);

    fn policy(state_dir: &Path, trusted: &[&str]) -> Policy {
        let arguments = Arguments {
            origin: Some("http://127.0.0.1:9".to_owned()),
            state_dir: Some(state_dir.to_owned()),
            trusted_proxy: trusted.iter().map(|network| network.parse().unwrap()).collect(),
            ..Arguments::default()
        };
        crate::policy::check(Config::load(&arguments).unwrap(), SystemTime::now()).unwrap()
    }

    /// A state folder whose list for Googlebot was written so long ago.
    fn with_list(text: &str, age: Duration) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let ranges = folder.path().join("ranges");
        std::fs::create_dir(&ranges).unwrap();
        let path = ranges.join(file_name(LIST));
        std::fs::write(&path, text).unwrap();
        let file = std::fs::File::options().append(true).open(&path).unwrap();
        file.set_modified(SystemTime::now() - age).unwrap();
        folder
    }

    fn named(leads_back: ProofAnswer) -> KnownNames {
        let host = "crawl-1.googlebot.com".into();
        Arc::new(vec![ReverseName { host, leads_back }])
    }

    fn proof(policy: &Policy, address: &str, is_relayed: bool, names: Option<KnownNames>) -> Proof {
        let identity = policy.identifier.by_token("Googlebot");
        let claim = Claim { identity: &identity, address: address.parse().ok(), is_relayed };
        prove(policy, &claim, SystemTime::now(), |_| names.ok_or_else(String::new), &mut NoTrace).proof
    }

    /// A name server that knows Googlebot, and of all others a name, but fails where that is to lead back.
    fn half_a_name_server() -> SocketAddr {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = socket.local_addr().unwrap();
        std::thread::spawn(move || {
            let mut bytes = [0; 1_024];
            while let Ok((_, client)) = socket.recv_from(&mut bytes) {
                let mut end = 12;
                while bytes[end] != 0 {
                    end += 1 + usize::from(bytes[end]);
                }
                let (name, is_address) = (&bytes[12..end], bytes[end + 2] == 1);
                let is_google = name == b"\x05crawl\x09googlebot\x03com";
                let data: &[u8] = match (is_address, name.starts_with(b"\x011\x0264\x03249")) {
                    (true, _) if is_google => &[66, 249, 64, 1],
                    (true, _) => &[],
                    (false, true) => b"\x05crawl\x09googlebot\x03com\0",
                    (false, false) => b"\x05crawl\x05baidu\x03com\0",
                };
                let code = if data.is_empty() { 2 } else { 0 };
                let count = u8::from(!data.is_empty());
                let mut answer = [&bytes[..2], &[0x81, 0x80 | code, 0, 1, 0, count, 0, 0, 0, 0]].concat();
                answer.extend_from_slice(&bytes[12..end + 5]);
                if count > 0 {
                    answer.extend_from_slice(&[0xc0, 12, 0, bytes[end + 2], 0, 1, 0, 0, 0, 60, 0]);
                    answer.push(data.len().try_into().unwrap());
                    answer.extend_from_slice(data);
                }
                socket.send_to(&answer, client).unwrap();
            }
        });
        address
    }

    /// Its names alone prove Baiduspider.
    #[test]
    fn names_count_though_nobody_could_tell_whether_they_lead_back() {
        let server = half_a_name_server();
        let resolvers = vec![server.to_string().parse().unwrap()];
        let options = VerifyOptions { resolvers, ..VerifyOptions::default() };
        let (asker, suffixes) = (NameAsker::default(), [Box::from(".baidu.com")]);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let known = |address: &str| {
            let address = address.parse().unwrap();
            runtime.block_on(asker.ask(address, &suffixes, &options));
            asker.memory.lock().find(&(address, vec![server]), Instant::now()).0
        };
        let names = known("220.181.108.75").unwrap();
        assert_eq!(answer(&names, &suffixes, false), ProofAnswer::Yes);
        assert_eq!(answer(&names, &suffixes, true), ProofAnswer::Unknown);
        asker.memory.lock().doubt = Some("they deny everything".to_owned());
        assert_eq!(known("220.181.108.76"), None);
    }

    #[test]
    fn name_servers_are_believed_for_a_minute_and_doubted_for_seconds() {
        // Nobody listens there: whoever asks doubts it.
        let addresses = vec!["127.0.0.1:9".parse().unwrap()];
        let servers = NameServers { addresses, timeout: Duration::from_millis(100) };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        for (seconds, are_silent, is_doubted) in
            [(50, false, false), (70, false, true), (1, true, false), (10, true, true)]
        {
            let tried = Instant::now().checked_sub(Duration::from_secs(seconds)).unwrap();
            let asker =
                NameAsker { tried: AsyncMutex::new(Some((servers.clone(), tried))), ..NameAsker::default() };
            let found = runtime.block_on(asker.is_doubted(&servers, are_silent));
            assert_eq!(found, is_doubted, "after {seconds} s, {are_silent}");
        }
    }

    #[test]
    fn names_decide_where_no_list_was_ever_fetched() {
        let folder = tempfile::tempdir().unwrap();
        let policy = policy(folder.path(), &[]);
        for (names, expected) in [
            (Some(named(ProofAnswer::Yes)), Proof::Confirmed),
            (Some(named(ProofAnswer::No)), Proof::Contradicted),
            (Some(named(ProofAnswer::Unknown)), Proof::Unchecked),
            (Some(Arc::default()), Proof::Contradicted),
            (None, Proof::Unchecked),
        ] {
            assert_eq!(proof(&policy, "66.249.66.1", false, names.clone()), expected, "{names:?}");
        }
    }

    #[test]
    fn lists_and_names_must_agree_to_contradict() {
        let text = "66.249.64.0/19\n2001:4860:4801::/48\n";
        let (inside, outside) = ("66.249.66.1", "95.216.227.158");
        let fresh = with_list(text, DAY);
        let fresh = policy(fresh.path(), &[]);
        assert_eq!(proof(&fresh, inside, false, None), Proof::Confirmed);
        assert_eq!(proof(&fresh, "2001:4860:4801:10::1", false, None), Proof::Confirmed);
        assert_eq!(proof(&fresh, outside, false, None), Proof::Unchecked);
        assert_eq!(proof(&fresh, outside, false, Some(named(ProofAnswer::No))), Proof::Contradicted);
        assert_eq!(proof(&fresh, outside, false, Some(named(ProofAnswer::Yes))), Proof::Confirmed);
        let stale = with_list(text, DAY * 8);
        let stale = policy(stale.path(), &[]);
        assert_eq!(proof(&stale, outside, false, Some(named(ProofAnswer::No))), Proof::Unchecked);
        assert_eq!(proof(&stale, inside, false, Some(named(ProofAnswer::No))), Proof::Confirmed);
        let broken = with_list("oops\n", DAY);
        let broken = policy(broken.path(), &[]);
        assert_eq!(broken.evidence.faults.len(), 1);
        assert_eq!(proof(&broken, outside, false, Some(named(ProofAnswer::No))), Proof::Unchecked);
    }

    #[test]
    fn a_forgotten_proxy_does_not_turn_a_true_crawler_into_a_spoof() {
        let folder = tempfile::tempdir().unwrap();
        let plain = policy(folder.path(), &[]);
        let not_google = || Some(Arc::default());
        assert_eq!(proof(&plain, "104.16.0.1", false, not_google()), Proof::Contradicted);
        assert_eq!(proof(&plain, "104.16.0.1", true, not_google()), Proof::Unchecked);
        assert_eq!(proof(&plain, "66.249.66.1", true, Some(named(ProofAnswer::Yes))), Proof::Confirmed);
        let trusting = policy(folder.path(), &["104.16.0.0/13"]);
        assert_eq!(proof(&trusting, "104.16.0.1", false, not_google()), Proof::Unchecked);
        assert_eq!(proof(&trusting, "104.32.0.1", false, not_google()), Proof::Contradicted);
        for private in ["127.0.0.1", "10.0.0.1", "100.64.0.1", "192.0.2.1", "fd00::1", "::1", "fe80::1"] {
            let asked = |_| panic!("{private} was asked about");
            let identity = plain.identifier.by_token("Googlebot");
            let claim = Claim { identity: &identity, address: private.parse().ok(), is_relayed: false };
            assert_eq!(prove(&plain, &claim, SystemTime::now(), asked, &mut NoTrace).proof, Proof::Unchecked);
        }
    }

    #[test]
    fn what_nothing_is_known_of_is_not_asked_about() {
        let folder = tempfile::tempdir().unwrap();
        let policy = policy(folder.path(), &[]);
        for header in [
            "curl/8.5.0",
            "SomeBot/1.0",
            "Mozilla/5.0 (X11; Linux x86_64; rv:143.0) Gecko/20100101 Firefox/143.0",
        ] {
            let identity = policy.identifier.recognise(Some(header.as_bytes()));
            let claim = Claim { identity: &identity, address: "66.249.66.1".parse().ok(), is_relayed: false };
            let asked = |_| panic!("{header} was asked about");
            let proof = prove(&policy, &claim, SystemTime::now(), asked, &mut NoTrace);
            assert_eq!(proof.proof, Proof::Unchecked);
        }
    }
}
