//! Which crawler an address belongs to by what its operator publishes, whatever the header says.

use super::evidence::Methods;
use super::range_list::RangeList;
use crate::identify::{Catalogue, ClientKind};
use crate::request::prefixes::{PrefixMap, Prefixes};
use hashbrown::HashMap;
use std::cmp::Reverse;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::SystemTime;

/// The addresses of crawlers, as far as nobody else is behind them.
#[derive(Debug, Default)]
pub struct OwnAddresses {
    networks: PrefixMap<(Arc<str>, Arc<RangeList>)>,
    /// Where people may be, too: behind the operator's cloud or VPN, or behind a fetcher that works for one.
    shared: Prefixes,
}

impl OwnAddresses {
    /// The addresses in the lists that are there. Where several crawlers have a list, it is told of the shortest name, which
    /// is the one that the operator's crawlers have in common.
    pub(super) fn new(catalogue: &Catalogue, methods: &HashMap<Arc<str>, Methods>) -> Self {
        let (mut own, mut shared) = (Vec::new(), Vec::new());
        for crawler in catalogue.crawlers().iter().rev() {
            // What an agent says of itself in a card tells nothing of others.
            let is_of_card = crawler.card.as_ref().is_some_and(|card| card.fields.contains(&"ranges"));
            let Some(methods) = methods.get(&crawler.name).filter(|_| !is_of_card) else { continue };
            let is_crawler = matches!(crawler.client, ClientKind::Crawler | ClientKind::SpecialCase);
            for list in &methods.lists {
                let networks = list.networks_of(&methods.names);
                // A person may come from there as well.
                if crawler.verify.shared || !is_crawler {
                    shared.extend(networks);
                } else {
                    own.extend(
                        networks.map(|network| (network, (Arc::clone(&crawler.name), Arc::clone(list)))),
                    );
                }
            }
        }
        // Of several for one network the last counts.
        own.sort_by_key(|(_, (name, _))| Reverse(name.len()));
        Self { networks: own.into_iter().collect(), shared: shared.into_iter().collect() }
    }

    /// The crawler that has `address` to itself, by a list that is young enough to say so.
    pub fn crawler_at(&self, address: IpAddr, now: SystemTime) -> Option<&Arc<str>> {
        let (name, list) = self.networks.longest(address)?;
        (list.is_recent(now) && !self.shared.contains(address)).then_some(name)
    }
}
