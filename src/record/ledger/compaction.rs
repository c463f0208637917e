//! What of a ledger somebody can still need.

use super::entry::{FileDigest, LedgerChange, LedgerEntry};
use crate::decide::NoticeTime;
use std::collections::{BTreeMap, HashSet};

/// The processes that serve something, as far as `entries` say.
pub(super) fn open_processes(entries: &[LedgerEntry]) -> Vec<Box<str>> {
    let mut open: Vec<Box<str>> = Vec::new();
    for entry in entries {
        match &entry.change {
            LedgerChange::Serving { .. } if !open.contains(&entry.process) => {
                open.push(entry.process.clone());
            }
            LedgerChange::Stopped { who } => open.retain(|process| process != who),
            _ => {}
        }
    }
    open
}

/// The entries after `from`, and before them what was being served then: one entry for each process, and the files
/// that any of these name.
pub fn compacted(entries: &[LedgerEntry], from: NoticeTime) -> Vec<LedgerEntry> {
    let cut = entries.partition_point(|entry| entry.at() <= from);
    let (old, recent) = entries.split_at(cut);
    let open: HashSet<Box<str>> = open_processes(old).into_iter().collect();
    let mut serving: BTreeMap<&str, (&LedgerEntry, BTreeMap<Box<str>, FileDigest>)> = BTreeMap::new();
    for entry in old.iter().filter(|entry| open.contains(&entry.process)) {
        if let LedgerChange::Serving { hosts, gone } = &entry.change {
            let (last, table) = serving.entry(&entry.process).or_insert((entry, BTreeMap::new()));
            *last = entry;
            table.retain(|host, _| !gone.contains(host));
            table.extend(hosts.clone());
        }
    }
    let serving = serving.into_values().map(|(last, hosts)| LedgerEntry {
        change: LedgerChange::Serving { hosts, gone: Vec::new() },
        ..last.clone()
    });
    let is_begun = |entry: &&LedgerEntry| matches!(entry.change, LedgerChange::Begun { .. });
    let begun = old.iter().rev().find(is_begun).cloned().map(|entry| {
        // What was lost then nobody can hold any more.
        LedgerEntry { change: LedgerChange::Begun { after_loss: false }, ..entry }
    });
    let mut kept: Vec<LedgerEntry> = serving.chain(begun).collect();
    kept.extend(fleet_of(old));
    kept.extend(recent.iter().filter(|entry| !is_file(entry)).cloned());
    let named: HashSet<Box<str>> = kept.iter().flat_map(|entry| files(&entry.change)).collect();
    let mut missing = named;
    let is_missing = |entry: &&LedgerEntry| matches!(&entry.change, LedgerChange::File { sha256, .. } if missing.remove(sha256));
    kept.extend(entries.iter().filter(is_missing).cloned());
    kept.sort_by_key(|entry| entry.sequence);
    kept
}

/// What the other members of the fleet served at the end of `entries`, as one of them.
fn fleet_of(entries: &[LedgerEntry]) -> Option<LedgerEntry> {
    let mut all = BTreeMap::new();
    let mut last = None;
    for entry in entries {
        if let LedgerChange::Fleet { stamp, covers, members } = &entry.change {
            all.extend(members.iter().map(|(member, files)| (member.clone(), files.clone())));
            last = Some((entry, *stamp, *covers));
        }
    }
    all.retain(|_, files| !files.is_empty());
    let (entry, stamp, covers) = last?;
    Some(LedgerEntry { change: LedgerChange::Fleet { stamp, covers, members: all }, ..entry.clone() })
}

const fn is_file(entry: &LedgerEntry) -> bool {
    matches!(entry.change, LedgerChange::File { .. })
}

fn files(change: &LedgerChange) -> Vec<Box<str>> {
    match change {
        LedgerChange::Serving { hosts, .. } => hosts.values().flatten().cloned().collect(),
        LedgerChange::Fleet { members, .. } => {
            members.values().flat_map(BTreeMap::values).flatten().flatten().cloned().collect()
        }
        _ => Vec::new(),
    }
}
