//! The options of the command line, laid over what the file says.

use super::arguments::Arguments;
use super::faults::Faults;
use super::origin::Origin;
use super::origin_url::OriginUrl;
use super::site::SiteConfig;
use super::{AuthorizeConfig, Config};
use std::path::Path;

fn set<T: Clone>(own: &mut T, option: Option<&T>) {
    if let Some(value) = option {
        own.clone_from(value);
    }
}

impl Config {
    pub(super) fn overlay(&mut self, arguments: &Arguments, faults: &mut Faults<'_>) {
        if !arguments.listen.is_empty() {
            self.listen = arguments.listen.iter().map(|value| value.0).collect();
        }
        set(&mut self.mode, arguments.mode.as_ref());
        set(&mut self.notice, arguments.notice.map(|notice| notice.0).as_ref());
        set(&mut self.admin, arguments.admin.map(|admin| admin.0).as_ref());
        set(&mut self.threads, arguments.threads.as_ref());
        set(&mut self.state_dir, arguments.state_dir.as_ref());
        set(&mut self.control, arguments.control.as_ref());
        // In a file it is relative to the state folder, and here to where the command was typed.
        if let Some(journal) = &arguments.journal {
            let is_file = journal != "-";
            let here = std::path::absolute(journal).ok().filter(|_| is_file);
            self.journal = here.unwrap_or_else(|| journal.into());
        }
        self.trusted_proxies.extend(arguments.trusted_proxy.iter().map(|value| value.0));
        if let Some(listen) = arguments.authorize {
            let written = self.authorize.take().unwrap_or_default();
            self.authorize = Some(AuthorizeConfig { listen: listen.0, ..written });
        }
        let origin = arguments.origin.as_deref().map(str::parse::<OriginUrl>).transpose();
        match origin {
            Ok(url) => {
                self.overlay_site(url.map(Origin::single).as_ref(), arguments.robots.as_deref(), faults);
            }
            Err(error) => faults.push_at(None, format!("--origin: {error}"), None),
        }
    }

    /// `--origin` and `--robots` speak of the default site, or of the only one.
    fn overlay_site(&mut self, origin: Option<&Origin>, robots: Option<&Path>, faults: &mut Faults<'_>) {
        if origin.is_none() && robots.is_none() {
            return;
        }
        let only = self.sites.len() == 1;
        if !self.sites.iter().any(|site| only || site.hosts.is_empty()) {
            if origin.is_none() && self.authorize.is_none() {
                return faults.push_whole("--robots without an origin", "add --origin http://127.0.0.1:3000");
            }
            self.sites.push(SiteConfig::of_origin(Origin::default()));
        }
        let Some(site) = self.sites.iter_mut().find(|site| only || site.hosts.is_empty()) else { return };
        set(&mut site.origin, origin);
        if let Some(robots) = robots {
            site.robots.file = Some(robots.to_owned());
        }
    }
}
