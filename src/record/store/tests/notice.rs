//! Versions and reads, which fair notice rests on (RFC 9309 §2.4).

use super::*;

#[test]
fn reads_versions_and_presence_are_kept() {
    let folder = Folder::new();
    let recorder = Recorder::start(&folder.options()).unwrap();
    recorder.in_force("example.org", Some(b"old"), noon());
    recorder.in_force("example.org", Some(b"old"), noon() + Duration::from_secs(5));
    recorder.in_force("example.org", Some(b"new"), noon() + Duration::from_secs(60));
    recorder.in_force("other.example", None, noon());
    let who = identity("GPTBot", Basis::Catalogue);
    let address = "198.51.100.7".parse().ok();
    let reader = Reader::new("example.org", "www.example.org", &who, Proof::Unchecked, address);
    for second in [70, 90, 80] {
        recorder.read(&CompleteRead {
            identity: &who,
            reader: &reader,
            version: VersionId::of(b"new"),
            in_force: noon() + Duration::from_secs(60),
            at: noon() + Duration::from_secs(second),
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
    assert_eq!((reads.len(), reads[0].count, &*reads[0].host), (1, 3, "www.example.org"));
    assert_eq!(reads[0].network.as_deref(), Some("198.51.100.0/24"));
    assert_eq!(
        (reads[0].first, reads[0].last),
        (noon() + Duration::from_secs(70), noon() + Duration::from_secs(90))
    );
    let presence = store.presence(&Filter::default()).unwrap();
    assert_eq!((presence.len(), presence[0].last), (1, noon() + Duration::from_secs(90)));

    let remembered = store.remembered(noon() + Duration::from_secs(61)).unwrap();
    assert_eq!(remembered.versions.len(), 2, "the version in force of each site");
    let book = crate::record::ReadBook::default();
    book.take_up(&remembered.reads);
    let read = crate::decide::Read { version: VersionId::of(b"new"), at: noon() + Duration::from_secs(70) };
    assert_eq!(book.of(&reader), [read]);
}

#[test]
fn where_addresses_are_not_kept_no_network_is() {
    let folder = Folder::new();
    let recorder = Recorder::start(&folder.options()).unwrap();
    let who = identity("GPTBot", Basis::Catalogue);
    let reader = Reader::new("s", "h", &who, Proof::Unchecked, "198.51.100.7".parse().ok());
    let version = VersionId::of(b"a");
    let (identity, addresses) = (&who, AddressDetail::None);
    recorder.read(&CompleteRead {
        identity,
        reader: &reader,
        version,
        in_force: noon(),
        at: noon(),
        addresses,
    });
    recorder.close();
    let store = StoreReader::open(&folder.store()).unwrap();
    let reads = store.reads(&Filter::default()).unwrap();
    assert_eq!((reads.len(), reads[0].network.as_deref()), (1, None));
    let book = crate::record::ReadBook::default();
    book.take_up(&reads);
    assert!(book.of(&reader).is_empty(), "nobody can be told from anybody");
}

#[test]
fn reads_that_may_have_gone_unseen_are_told_of_the_time_they_concern() {
    let folder = Folder::new();
    let recorder = Recorder::start(&folder.options()).unwrap();
    Request::of("GPTBot", "/").record(&recorder);
    recorder.flush();
    let around = |from: SystemTime| Window { from, to: from + Duration::from_secs(60) };
    let past = around(SystemTime::now() - Duration::from_secs(30));
    let is_partial = |window| StoreReader::open(&folder.store()).unwrap().reads_are_partial(window).unwrap();
    assert!(!is_partial(&past));
    recorder.set_partial_reads(true);
    Request::of("GPTBot", "/").record(&recorder);
    recorder.close();
    assert!(is_partial(&past));
    assert!(!is_partial(&around(SystemTime::now() + Duration::from_secs(1))));
}
