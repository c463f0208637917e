//! What is kept comes back as it was, or not at all.

use super::*;
use crate::decide::{RobotsVersion, Ruling, Verdict, VerdictOutcome, VerdictReason, VersionId};
use crate::enforce::Action;
use crate::identify::{ClientKind, Proof, Purpose};
use crate::record::event::EventKind;
use crate::record::network::NetworkId;
use crate::record::store::tests::StoreFolder;
use crate::record::tally::{
    CountedDecision, CountedRequest, DecisionRef, InForce, KeptEvent, Losses, ReadKey, SeenInstants,
    SeenRead, SubjectRef, Tally, WAITING,
};
use crate::robots::{Rule, RuleKind};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Targets as clients send them, and as nobody ought to.
const TARGETS: [&[u8]; 5] = [b"/", b"/caf\xc3\xa9", b"/\xff\xfe", b"/\\xFF", b"/\"\n{}"];

/// A batch that has something of everything.
fn batch() -> CountBatch {
    let rule = Rule {
        kind: RuleKind::Disallow,
        line: 2,
        text: b"Disallow: /\xe9",
        marked: b"Disallow: /\xe9",
        pattern: b"/",
        bytes: 1,
    };
    let ruling = Some(Ruling { group: vec!["GPTBot", "*"], token: "*", rule: Some(rule) });
    let outcome = VerdictOutcome::Violation(crate::decide::Notice::Lapsed);
    let verdict =
        Verdict { outcome, reason: VerdictReason::Rule, ruling, version: Some(VersionId::of(b"a")) };
    let decision =
        DecisionRef::new(EventKind::of(&verdict, Proof::Unchecked), Action::Refuse, &verdict, None);
    let tally = Tally::default();
    for (number, crawler) in [Some("GPTBot"), Some("Made \"up\""), None].into_iter().enumerate() {
        let purpose = Some(Purpose::AiTrain).filter(|_| number == 0);
        let subject = SubjectRef {
            site: "example.org",
            client: ClientKind::Crawler,
            crawler,
            purpose,
            proof: Proof::Unchecked,
        };
        let network = NetworkId::of(Some([192, 0, 2, 1].into()));
        for (at, target) in (0..).step_by(70_000_000).zip(TARGETS.iter().cycle().take(9)) {
            tally.shard(subject).count(&CountedRequest {
                subject,
                is_known: number != 1,
                decision,
                target,
                at,
                network,
            });
        }
        let line = "{\"event\":\"violation\"}\n".into();
        let event = KeptEvent { decision: CountedDecision::from(&decision), at: 7, line, network };
        tally.shard(subject).keep(subject, number != 1, event);
        let key = ReadKey {
            version: VersionId::of(b"a"),
            rules: RobotsVersion::allowing_everything().rules,
            in_force: 5,
            sequence: 3,
            host: "h".into(),
            network: (number == 0).then(|| "192.0.2.0/24".into()),
            chosen: (number == 0).then(|| "*".into()),
        };
        let read = SeenRead { seen: SeenInstants { first: 8, last: 9, count: 2 }, at: 4 };
        tally.shard(subject).read(subject, number != 1, key, read);
        tally.shard(subject).sent(subject, number != 1, 70_000_000, 4_096);
    }
    for bytes in [None, Some(Arc::from(&b"User-agent: *\n"[..])), Some(Arc::from(&b"# \xff\n"[..]))] {
        tally.versions().in_force(InForce { site: "example.org".into(), bytes, since: 11, until: 12 });
    }
    tally.unseen.note("example.org", "CDN-Loop", 12);
    tally.ledger_entry.fetch_max(13, Ordering::Relaxed);
    let mut batch = tally.take();
    batch.lose(Losses { details_dropped: 14, reads_lost: 15, counts_lost: 16 });
    batch
}

/// All that a batch holds, in an order of its own.
fn contents(batch: &CountBatch) -> Vec<String> {
    let mut all = vec![format!("{:?} {:?} {}", batch.versions, batch.unseen, batch.ledger_entry)];
    for (subject, account) in &batch.accounts {
        let mut add = |entry: &dyn std::fmt::Debug| all.push(format!("{subject:?} {entry:?}"));
        add(&(account.is_known, account.network, &account.other_paths));
        account.presence.iter().for_each(|(day, seen)| add(&(day, seen.first, seen.last)));
        account.decisions.iter().for_each(|(decision, uses)| add(&(decision, &uses.periods)));
        add(&account.sent);
        account.paths.iter().for_each(|(target, uses)| add(&(target, uses.network, &uses.days)));
        account.events.iter().for_each(|event| add(event));
        account.reads.iter().for_each(|read| add(&read));
    }
    all.sort_unstable();
    all
}

fn only(folder: &StoreFolder, looking: SpillReader) -> Other {
    let mut all = others(&folder.store(), looking).unwrap();
    assert_eq!(all.len(), 1, "{all:?}");
    all.remove(0)
}

#[test]
fn what_is_kept_comes_back_whole() {
    let (folder, batch) = (StoreFolder::new(), batch());
    assert_eq!(batch.requests(), 27);
    let mut spill = Spill::new(&folder.store(), "1-2-a");
    spill.put(&[(7, &batch), (8, &CountBatch::new(WAITING))], true, 99).unwrap();
    drop(spill);
    let other = only(&folder, SpillReader::ToTakeUp);
    other.read().unwrap();
    let kept = other.read().expect("it is read as often as one likes");
    assert_eq!((kept.at, kept.is_all, other.process.as_str()), (99, true, "1-2-a"));
    let [(7, whole), (8, empty)] = &kept.batches[..] else { panic!("{:?}", kept.batches) };
    assert_eq!(contents(whole), contents(&batch));
    assert_eq!((whole.losses(), whole.requests(), empty.is_empty()), (batch.losses(), 27, true));
    other.clear();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// Its lines are written by the types that count. Where this fails because a type has changed, [`FORM`] has to change,
/// too, and then `GOLDEN=write` writes the file anew.
#[test]
fn a_file_of_this_form_that_an_earlier_build_wrote_is_read() {
    let (folder, batch) = (StoreFolder::new(), batch());
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/record/store/spill/form-3.jsonl");
    let mut spill = Spill::new(&folder.store(), "1-2-a");
    spill.put(&[(7, &batch)], true, 99).unwrap();
    let path = spill.path().to_owned();
    drop(spill);
    if std::env::var_os("GOLDEN").is_some_and(|mode| mode == "write") {
        std::fs::copy(&path, &golden).unwrap();
    }
    std::fs::copy(&golden, &path).unwrap();
    let kept = only(&folder, SpillReader::ToRead).read().unwrap();
    assert_eq!(contents(&kept.batches[0].1), contents(&batch));
}

#[test]
fn a_file_that_is_not_as_it_was_written_is_not_counted() {
    let folder = StoreFolder::new();
    let mut spill = Spill::new(&folder.store(), "1");
    spill.put(&[(7, &batch())], false, 99).unwrap();
    let path = spill.path().to_owned();
    drop(spill);
    let whole = std::fs::read(&path).unwrap();
    let read = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        only(&folder, SpillReader::ToRead).read()
    };
    assert!(read(&whole).is_ok());
    for at in 0..whole.len() {
        let mut changed = whole.clone();
        changed[at] ^= 1;
        assert!(read(&changed).is_err(), "byte {at} of {} was changed", whole.len());
        assert!(matches!(read(&whole[..at]), Err(UnreadableSpill::Damaged(_))), "cut at {at}");
    }
    assert!(read(&[&whole[..], &whole[..]].concat()).is_err());
    let other = others(&folder.store(), SpillReader::ToTakeUp).unwrap().remove(0);
    let aside = other.set_aside(&folder.store()).unwrap();
    assert_eq!(std::fs::read(aside).unwrap().len(), 2 * whole.len());
    assert!(others(&folder.store(), SpillReader::ToRead).unwrap().is_empty(), "it is not found again");
}

#[test]
fn the_file_of_another_process_or_of_a_later_program_is_not_taken_for_ones_own() {
    let folder = StoreFolder::new();
    let mut spill = Spill::new(&folder.store(), "1");
    spill.put(&[(7, &batch())], false, 99).unwrap();
    let renamed = beside(&folder.store(), ".unwritten-2");
    std::fs::rename(spill.path(), &renamed).unwrap();
    drop(spill);
    assert!(matches!(only(&folder, SpillReader::ToRead).read(), Err(UnreadableSpill::Damaged(_))));
    let text = std::fs::read_to_string(&renamed).unwrap();
    let of_form = |form| {
        std::fs::write(&renamed, text.replacen("\"form\":3", &format!("\"form\":{form}"), 1)).unwrap();
        only(&folder, SpillReader::ToRead).read().unwrap_err()
    };
    assert!(matches!(of_form(4), UnreadableSpill::Later));
    assert!(matches!(of_form(1), UnreadableSpill::Damaged(why) if why.contains("earlier version")));
}

#[test]
fn who_holds_its_lock_is_alive_whoever_looks() {
    let folder = StoreFolder::new();
    let mut spill = Spill::new(&folder.store(), "1");
    spill.mark(1).unwrap();
    for looking in [SpillReader::ToRead, SpillReader::ToTakeUp] {
        assert!(only(&folder, looking).is_alive);
    }
    spill.put(&[(1, &batch())], false, 2).unwrap();
    assert!(only(&folder, SpillReader::ToRead).is_alive, "a new file is in its place");
    spill.clear(3).unwrap();
    assert!(only(&folder, SpillReader::ToRead).read().unwrap().batches.is_empty());
    // Put back where it was taken away.
    std::fs::remove_file(spill.path()).unwrap();
    spill.mark(4).unwrap();
    assert!(only(&folder, SpillReader::ToRead).is_alive);
    drop(spill);
    let reading = only(&folder, SpillReader::ToRead);
    let taking = only(&folder, SpillReader::ToTakeUp);
    assert!(!reading.is_alive && !taking.is_alive, "a reader holds no lock");
    assert!(only(&folder, SpillReader::ToTakeUp).is_alive, "one takes it up, and no other");
}

#[test]
fn where_room_runs_out_details_go_before_counts_and_what_was_kept_stays() {
    let (folder, batch) = (StoreFolder::new(), batch());
    let mut spill = Spill::new(&folder.store(), "1");
    spill.put(&[(7, &batch)], false, 1).unwrap();
    let size = |spill: &Spill| std::fs::metadata(spill.path()).unwrap().len();
    let full = size(&spill);
    spill.most = full - 200;
    spill.put(&[(7, &batch)], false, 2).unwrap();
    assert!(size(&spill) < full);
    let read = || only(&folder, SpillReader::ToRead).read().unwrap();
    let (_, counts) = read().batches.remove(0);
    assert_eq!(counts.requests(), 27);
    assert_eq!(counts.losses(), Losses { details_dropped: 14 + 27 + 3, ..batch.losses() });
    for account in counts.accounts.values() {
        let rest: u64 = account.other_paths.iter().map(|(_, counts)| counts.requests()).sum();
        assert_eq!((account.paths.len(), account.events.len(), account.reads.len(), rest), (0, 0, 1, 9));
    }
    spill.most = 100;
    assert!(spill.put(&[(7, &batch)], false, 3).is_err());
    assert_eq!(read().at, 2, "what was kept before");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "no part of a file stays");
}
