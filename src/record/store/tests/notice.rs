//! Versions and reads, which fair notice rests on (RFC 9309 §2.4).

use super::*;
use crate::record::instant;

#[test]
fn reads_versions_and_presence_are_kept() {
    let folder = StoreFolder::new();
    let recorder = Recorder::start(&folder.options()).unwrap();
    recorder.in_force("example.org", Some(b"old"), noon());
    recorder.in_force("example.org", Some(b"old"), noon() + Duration::from_secs(5));
    recorder.in_force("example.org", Some(b"new"), noon() + Duration::from_secs(60));
    recorder.in_force("other.example", None, noon());
    let who = identity("GPTBot", Basis::Catalogue);
    let address = "198.51.100.7".parse().ok();
    let reader = ReaderId::new("www.example.org", &who, Proof::Unchecked, address);
    for second in [70, 90, 80] {
        recorder.read(&CompleteRead {
            chosen: "*".into(),
            site: "example.org".into(),
            identity: Arc::new(who.clone()),
            reader: reader.clone().into_owned(),
            version: VersionId::of(b"new"),
            in_force: noon() + Duration::from_secs(60),
            time: noon() + Duration::from_secs(second),
            read: some_read(),
            addresses: AddressDetail::Full,
        });
    }
    recorder.close();
    let store = StoreReader::open(&folder.store()).unwrap();
    let versions = store.versions(Some("example.org")).unwrap();
    let told: Vec<_> =
        versions.iter().map(|version| (version.bytes.as_deref().unwrap(), version.until)).collect();
    assert_eq!(told, [(&b"old"[..], Some(noon() + Duration::from_secs(60))), (&b"new"[..], None)]);
    assert_eq!(versions[0].id, Some(VersionId::of(b"old")));
    assert_eq!(versions[0].from, noon());
    let other = store.versions(Some("other.example")).unwrap();
    assert_eq!((other.len(), other[0].sha256, other[0].bytes.as_ref()), (1, None, None));
    let reads = store.reads(&Filter::default()).unwrap();
    assert_eq!((reads.len(), reads[0].sum.seen.count, &*reads[0].key.host), (1, 3, "www.example.org"));
    assert_eq!(reads[0].key.network.as_deref(), Some("198.51.100.0/24"));
    assert_eq!(
        (instant(reads[0].sum.seen.first), instant(reads[0].sum.seen.last)),
        (noon() + Duration::from_secs(70), noon() + Duration::from_secs(90))
    );
    let window = Window { from: noon(), to: noon() + Duration::from_secs(600) };
    let all = store.activities(&window, &Filter::default(), Some(9)).unwrap();
    let last = all.values().map(|activity| instant(activity.seen.unwrap().last));
    assert_eq!(last.collect::<Vec<_>>(), [noon() + Duration::from_secs(90)]);

    let remembered = store.reads(&Filter::default()).unwrap();
    let book = crate::record::ReadBook::default();
    book.restore(&remembered);
    assert_eq!(book.of(&reader), [some_read()]);
}

#[test]
fn where_addresses_are_not_kept_no_network_is() {
    let folder = StoreFolder::new();
    let recorder = Recorder::start(&folder.options()).unwrap();
    let who = identity("GPTBot", Basis::Catalogue);
    let reader = ReaderId::new("h", &who, Proof::Unchecked, "198.51.100.7".parse().ok());
    let version = VersionId::of(b"a");
    let addresses = AddressDetail::None;
    recorder.read(&CompleteRead {
        chosen: "*".into(),
        site: "example.org".into(),
        identity: Arc::new(who.clone()),
        reader: reader.clone().into_owned(),
        version,
        in_force: noon(),
        time: noon(),
        read: some_read(),
        addresses,
    });
    recorder.close();
    let store = StoreReader::open(&folder.store()).unwrap();
    let reads = store.reads(&Filter::default()).unwrap();
    assert_eq!((reads.len(), reads[0].key.network.as_deref()), (1, None));
    let book = crate::record::ReadBook::default();
    book.restore(&reads);
    assert!(book.of(&reader).is_empty(), "nobody can be told from anybody");
}

#[test]
fn reads_that_may_have_gone_unseen_are_told_of_the_time_they_concern() {
    let folder = StoreFolder::new();
    let recorder = Recorder::start(&folder.options()).unwrap();
    SampleRequest::of("GPTBot", "/").record(&recorder);
    recorder.flush();
    let around = |from: SystemTime| Window { from, to: from + Duration::from_secs(60) };
    let past = around(SystemTime::now() - Duration::from_secs(30));
    let unseen = |window: &Window| StoreReader::open(&folder.store()).unwrap().missing(window).unwrap();
    let is_partial = |window: &Window| !unseen(window).is_empty();
    assert!(!is_partial(&past));
    let now = SystemTime::now();
    for hours in [30, 1, 0] {
        // Noted at most once an hour, and as one stretch where it is noted once a day at least.
        recorder.reads_go_unseen("example.org", "CF-Ray", now - Duration::from_secs(hours * 3_600));
    }
    recorder.close();
    let found = unseen(&past);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((&*found[0].site, &*found[0].reason), ("example.org", "CF-Ray"));
    let is_near =
        |one: SystemTime, other: SystemTime| one.duration_since(other).is_ok_and(|off| off.as_millis() < 2);
    assert!(
        is_near(now, instant(found[0].to))
            && is_near(now - Duration::from_secs(3_600), instant(found[0].from)),
        "{found:?}"
    );
    // What was read through a cache up to now may be gone by for 24 hours (RFC 9309 §2.4).
    let hours = |hours: u64| around(SystemTime::now() + Duration::from_secs(hours * 3_600));
    for (later, wanted) in [(1, true), (23, true), (25, false)] {
        assert_eq!(is_partial(&hours(later)), wanted, "{later} hours later");
    }
}
