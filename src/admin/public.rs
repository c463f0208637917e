//! Writes the public page into the folder of `[public]`, now and then, on a thread of its own. What is wrong with it is wrong
//! with nothing else: it is logged, and tried again the next time.

use super::Admin;
use crate::config::PublicConfig;
use crate::policy::Policy;
use crate::record::{StoreReader, publish_file};
use crate::report::public_page;
use std::error::Error;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

/// How often the thread has a turn.
const TURN: Duration = Duration::from_secs(1);

/// How long reading the store may take.
const LIMIT: Duration = Duration::from_secs(60);

/// Starts the thread. Without `[public]` in the policy in force it does nothing.
///
/// # Errors
/// When the system gives no thread.
pub fn publish(admin: Arc<Admin>) -> io::Result<()> {
    let turns = move || {
        let (mut written, mut last_error) = (None::<(PublicConfig, Instant)>, String::new());
        loop {
            let policy = admin.reloader.current();
            let is_due = |options: &&PublicConfig| {
                written.as_ref().is_none_or(|(of, at)| of != *options || at.elapsed() >= *options.every)
            };
            if let Some(options) = policy.config.public.as_ref().filter(is_due) {
                written = Some((options.clone(), Instant::now()));
                let result = write(&admin, &policy, options);
                let error = result.err().map(|error| error.to_string()).unwrap_or_default();
                if !error.is_empty() && error != last_error {
                    tracing::warn!(
                        "the public page cannot be written to {}: {error}",
                        options.folder.display()
                    );
                }
                last_error = error;
            }
            std::thread::sleep(TURN);
        }
    };
    std::thread::Builder::new().name("public".to_owned()).spawn(turns).map(drop)
}

fn write(admin: &Admin, policy: &Policy, options: &PublicConfig) -> Result<(), Box<dyn Error>> {
    let store = StoreReader::open(&admin.page.store)?;
    store.give_up_after(LIMIT)?;
    let site = policy.sites().iter().find_map(|site| site.config.exact_host()).unwrap_or("this site");
    for (name, text) in public_page(&[store], policy.identifier.catalogue(), site, SystemTime::now())? {
        publish_file(&options.folder.join(name), text.as_bytes())?;
    }
    Ok(())
}
