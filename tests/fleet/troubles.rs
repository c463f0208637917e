//! What goes wrong in a random course of a fleet, and until when.

use crate::engine::clock_library;
use crate::oracle::{Members, NAMES, OracleDice};
use crate::relay::RelayState;
use crate::scene::Scene;
use crate::support::folder::rename_over;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// The shortest trouble and the longest; a lease is ten seconds.
const SPAN: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(14));

/// What is wrong at the moment.
#[derive(Default)]
pub(crate) struct Troubles {
    frozen: Option<(usize, Instant)>,
    apart: Option<(usize, Instant)>,
    engine: Option<Instant>,
    /// When the next one comes.
    next: Option<Instant>,
    /// When the last one ended.
    pub(crate) last: Option<Instant>,
    pub(crate) counts: BTreeMap<&'static str, u32>,
}

impl Troubles {
    pub(crate) fn go_on(&mut self, scene: &mut Scene, members: &mut Members, dice: &mut OracleDice) {
        self.end_what_is_over(scene, members, Instant::now());
        let now = Instant::now();
        if self.next.is_some_and(|next| next > now) {
            return;
        }
        self.next = Some(now + dice.span(Duration::from_millis(200), Duration::from_secs(7)));
        let (member, until) = (dice.below(3), now + dice.span(SPAN.0, SPAN.1));
        match dice.below(12) {
            0..3 if self.frozen.is_none() => {
                self.count("members frozen");
                members.running[member].signal("STOP");
                self.frozen = Some((member, until));
            }
            3..6 if self.apart.is_none() => {
                self.count("members cut off");
                let state = [RelayState::Silent, RelayState::Cut][dice.below(2)];
                members.relays[member].set(state);
                self.apart = Some((member, until));
            }
            6 if self.engine.is_none() => {
                self.count("databases frozen");
                scene.engine.freeze();
                self.engine = Some(until);
            }
            7 if self.engine.is_none() => {
                self.count("databases killed");
                scene.engine.kill();
                scene.engine.resume();
                self.last = Some(Instant::now());
            }
            8 if self.spares(member) => {
                self.count("members killed");
                members.restart(scene, member);
                self.last = Some(Instant::now());
            }
            9..12 if clock_library().is_some() => {
                self.count("clocks stepped");
                let (sign, minutes) = (["-", "+"][dice.below(2)], dice.below(20));
                rename_over(&members.clocks[member], format!("{sign}{minutes}m"));
            }
            _ => {}
        }
    }

    fn count(&mut self, what: &'static str) {
        *self.counts.entry(what).or_default() += 1;
    }

    fn end_what_is_over(&mut self, scene: &Scene, members: &Members, now: Instant) {
        if let Some((member, _)) = self.frozen.take_if(|(_, until)| *until < now) {
            members.running[member].signal("CONT");
            self.last = Some(now);
        }
        if let Some((member, _)) = self.apart.take_if(|(_, until)| *until < now) {
            members.relays[member].set(RelayState::Open);
            self.last = Some(now);
        }
        if self.engine.take_if(|until| *until < now).is_some() {
            scene.engine.thaw();
            self.last = Some(now);
        }
    }

    /// Ends all of them.
    pub(crate) fn end(&mut self, scene: &Scene, members: &Members) {
        let later = Instant::now() + SPAN.1;
        self.end_what_is_over(scene, members, later + SPAN.1);
        if clock_library().is_none() {
            eprintln!("libfaketime is not installed: all {} clocks were right", NAMES.len());
        }
    }

    pub(crate) const fn are_on(&self) -> bool {
        self.frozen.is_some() || self.apart.is_some() || self.engine.is_some()
    }

    /// Whether a member can be asked.
    pub(crate) fn spares(&self, member: usize) -> bool {
        self.frozen.is_none_or(|(frozen, _)| frozen != member)
    }
}
