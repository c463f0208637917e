//! The gateway's own proxy without its judgement: accepting, limits, time limits, routing, forwarding headers and
//! answers are the daemon's code; nothing is recognised, judged or recorded. It refuses as applications of pingora do, from
//! a callback; the daemon refuses plain requests before pingora begins them.

use crate::peers::{Addresses, Gateway};
use crate::scenario::REFUSED_CRAWLER;
use robots_gateway::config::{Arguments, Config, ListenerConfig};
use robots_gateway::enforce::{Refusal, Reply};
use robots_gateway::identify::Proof;
use robots_gateway::policy::{self, CurrentPolicy, History, Policy, Prover, Reloader, judge_as};
use robots_gateway::proxy::{self, BindError, Heritage, Pages, Server, Workers};
use robots_gateway::record::{ConnectionTotals, Journal, ReadBook, Recorder, Totals};
use robots_gateway::request::target::{PathParameters, Target};
use robots_gateway::request::{RequestFacts, Scheme};
use std::borrow::Cow;
use std::error::Error;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

/// Serves until the process is ended.
pub(crate) fn serve(addresses: Addresses, origin: SocketAddr, folder: &Path) -> Result<(), Box<dyn Error>> {
    let config = Gateway::default().configuration(addresses, origin, folder)?;
    let arguments = Arguments { config: Some(config), ..Arguments::default() };
    let config = Config::load(&arguments)?;
    let workers = Workers::start(config.threads)?;
    let current = Arc::new(CurrentPolicy::new(policy::check(config, SystemTime::now())?));
    let config = Arc::clone(&current.get().config);
    let refusal = refusal(&current.get())?;
    let journal = Arc::new(Journal::open(&config.journal)?);
    let recorder = Arc::new(Recorder::start(&config.store)?);
    let (totals, reads) = (Arc::new(Totals::default()), Arc::new(ReadBook::default()));
    let history = Arc::new(History::open(&config));
    let reloader = Arc::new(Reloader::new(
        Arc::clone(&current),
        arguments,
        Arc::clone(&reads),
        Arc::clone(&recorder),
        history,
    ));
    let gateway = proxy::Gateway::new(current, journal, recorder, totals, reads, Arc::new(Prover::start()?));
    let server = Server {
        gateway: gateway.bare(REFUSED_CRAWLER, refusal),
        listeners: config.all_listeners().map(bound).collect::<Result<_, _>>()?,
        connections: Arc::new(ConnectionTotals::default()),
        heritage: Heritage::default(),
        admin: None,
        control: (config.control.clone(), Pages::new(|_| http::Response::new(Vec::new()))),
        demo: None,
        reloader,
    };
    Ok(server.run(workers)?)
}

fn bound(listener: ListenerConfig) -> Result<(TcpListener, ListenerConfig), BindError> {
    Ok((proxy::bind(listener.address)?, listener))
}

/// What the gateway itself answers the crawler, octet for octet.
fn refusal(policy: &Policy) -> Result<Reply, Box<dyn Error>> {
    let site = policy.site("").ok_or("the configuration has no default site")?;
    let facts = RequestFacts {
        scheme: Scheme::Http,
        method: "GET",
        host: Cow::Borrowed(""),
        target: Cow::Borrowed(b"/"),
        user_agent: None,
        address: None,
    };
    let target = Target::new(&facts.target, PathParameters::Keep);
    let identity = policy.identifier.by_token(REFUSED_CRAWLER);
    let judged = judge_as(policy, site, &site.rules, &facts, &target, &identity, Proof::Unchecked);
    let robots = site.robots_url("http");
    let refusal = Refusal::new(&judged.verdict, Some(REFUSED_CRAWLER), &robots, None);
    Ok(refusal.reply(&site.config.refusal, None))
}
