//! What is kept by name and in full, and what is counted together.

use super::*;

#[test]
fn the_first_thousand_targets_of_a_day_are_exact() {
    let folder = StoreFolder::new();
    let recorder = Recorder::start(&folder.options()).unwrap();
    for round in 0..2 {
        for number in 0..1_500 {
            let outcome =
                if round == 0 { VerdictOutcome::Allow } else { VerdictOutcome::Violation(Notice::Lapsed) };
            let target = format!("/{number}");
            SampleRequest { outcome, at: noon(), ..SampleRequest::of("GPTBot", &target) }.record(&recorder);
            if number == 999 {
                recorder.flush();
            }
        }
    }
    SampleRequest { at: noon(), ..SampleRequest::of("bingbot", "/caf\u{e9}?a=b") }.record(&recorder);
    recorder.close();
    let reader = StoreReader::open(&folder.store()).unwrap();
    let paths = reader.paths(&everything(&reader), &Filter::default(), usize::MAX).unwrap();
    let of = |crawler: &str| -> Vec<_> {
        paths.iter().filter(|path| path.subject.crawler.as_deref() == Some(crawler)).collect()
    };
    let named = of("GPTBot");
    assert_eq!(named.len(), 1_001);
    for path in &named {
        let each = if path.target == OTHER_PATHS { 500 } else { 1 };
        assert_eq!((path.counts.allowed, path.counts.refused), (each, each), "{path:?}");
    }
    assert_eq!(named.iter().map(|path| path.counts.requests()).sum::<u64>(), 3_000);
    assert_eq!(of("bingbot")[0].target, "/caf\u{e9}?a=b", "its own thousand");
    let top = reader.paths(&everything(&reader), &Filter::default(), 3).unwrap();
    assert_eq!(top.len(), 3 + 1 + 1);
}

/// Half of the places of a day are for the first that come; a name that comes again, and is not only one sender's, has one
/// of the others, also after any flood.
#[test]
fn a_flood_of_made_up_names_leaves_places_to_others() {
    let folder = StoreFolder::new();
    let recorder = Recorder::start(&folder.options()).unwrap();
    let stranger = |crawler: &str, network: u8, minutes: u64| {
        let at = noon() + Duration::from_secs(60 * minutes);
        SampleRequest { at, basis: Basis::Sign, network, ..SampleRequest::of(crawler, "/") }
            .record(&recorder);
    };
    for number in 0..5_000 {
        stranger(&format!("made-up-{number}"), 1, 0);
    }
    recorder.flush();
    stranger("of-two-networks", 2, 1);
    stranger("over-time", 3, 1);
    stranger("of-one-network-at-once", 4, 1);
    recorder.flush();
    stranger("of-two-networks", 5, 2);
    stranger("over-time", 3, 12);
    stranger("of-one-network-at-once", 4, 2);
    recorder.close();
    let sums = by_crawler(&StoreReader::open(&folder.store()).unwrap());
    let of = |name: &str| sums.get(name).copied().unwrap_or_default();
    assert_eq!((of("of-two-networks"), of("over-time"), of("of-one-network-at-once")), (1, 1, 0));
    assert_eq!(sums.len(), 500 + 2 + 1);
    assert_eq!(sums.values().sum::<u64>(), 5_006, "totals are exact");
}

#[test]
fn a_thousand_made_up_names_of_a_day_are_exact() {
    let (folder, begun) = (StoreFolder::new(), std::time::Instant::now());
    let recorder = Recorder::start(&folder.options()).unwrap();
    for number in 0..1_700 {
        let (known, made_up) = (format!("known-{}", number % 40), format!("made-up-{number}"));
        SampleRequest { at: noon(), ..SampleRequest::of(&known, "/") }.record(&recorder);
        // Each from two networks, and no network has many.
        for network in [number % 255, number % 254 + 1] {
            let network = u8::try_from(network).unwrap();
            SampleRequest { at: noon(), basis: Basis::Sign, network, ..SampleRequest::of(&made_up, "/") }
                .record(&recorder);
        }
        if number % 600 == 599 {
            recorder.flush();
        }
    }
    recorder.close();
    let sums = by_crawler(&StoreReader::open(&folder.store()).unwrap());
    assert_eq!(sums.len(), 40 + 1_000 + 1);
    // A write between the two requests of a name leaves the first among the others: one name for each write at most.
    let writes = u64::try_from(begun.elapsed().as_millis() / 250).unwrap() + 1;
    let split = sums.values().filter(|count| **count == 1).count() as u64;
    assert_eq!(sums[crate::record::OTHER_CRAWLERS], 1_400 + split);
    assert!(split <= writes, "{split} of {writes}");
    assert_eq!(sums.values().sum::<u64>(), 5_100);
}

#[test]
fn events_in_full_are_few_and_hold_their_line() {
    let folder = StoreFolder::new();
    let recorder = Recorder::start(&folder.options()).unwrap();
    for round in 0..12 {
        for number in 0..30 {
            SampleRequest::of("GPTBot", &format!("/{round}/{number}")).record(&recorder);
        }
        SampleRequest { outcome: VerdictOutcome::Allow, ..SampleRequest::of("GPTBot", "/") }
            .record(&recorder);
        recorder.flush();
    }
    recorder.close();
    let reader = StoreReader::open(&folder.store()).unwrap();
    let all = Window { from: UNIX_EPOCH, to: SystemTime::now() + Duration::from_secs(60) };
    let samples = reader.samples(&all, &Filter::default()).unwrap();
    assert_eq!(samples.len(), 20);
    let event: serde_json::Value = serde_json::from_str(&samples[0].event).unwrap();
    assert_eq!((event["crawler"].as_str(), event["line"].as_u64()), (Some("GPTBot"), Some(2)));
    assert!(samples.is_sorted_by(|newer, older| newer.time >= older.time));
}

/// Of the events that are kept in full, a sender that floods replaces its own.
#[test]
fn no_sender_washes_out_what_others_did() {
    let folder = StoreFolder::new();
    let recorder = Recorder::start(&folder.options()).unwrap();
    let asks = |network: u8, second: u64| {
        let at = noon() + Duration::from_secs(second);
        let target = format!("/{network}/{second}");
        SampleRequest { at, network, ..SampleRequest::of("GPTBot", &target) }.record(&recorder);
        recorder.flush();
    };
    // A flood takes all places.
    (0..40).for_each(|second| asks(1, second));
    // Others come, in the middle of it.
    for network in 2..=6 {
        let start = u64::from(network) * 300;
        for second in start..start + 60 {
            if second % 20 == 0 {
                asks(network, second);
            }
            asks(1, second);
        }
    }
    // And it goes on for an hour.
    (3_000..6_600).step_by(30).for_each(|second| asks(1, second));
    recorder.close();
    let reader = StoreReader::open(&folder.store()).unwrap();
    let samples = reader.samples(&everything(&reader), &Filter::default()).unwrap();
    let of = |network: u8| {
        let start = format!("\"target\":\"/{network}/");
        samples.iter().filter(|sample| sample.event.contains(&start)).count()
    };
    let kept: Vec<usize> = (1..=6).map(of).collect();
    println!("kept in full, by network: {kept:?}");
    assert_eq!(samples.len(), 20);
    assert!(kept.iter().skip(1).all(|count| *count >= 1), "{kept:?}");
    assert!(kept[0] <= 18, "{kept:?}");
}

#[test]
fn readers_beyond_the_first_thousand_are_counted_together() {
    let folder = StoreFolder::new();
    let recorder = Recorder::start(&folder.options()).unwrap();
    let who = identity("GPTBot", Basis::Catalogue);
    for number in 0..1_200_u32 {
        let address = std::net::Ipv4Addr::from(0xC633_0000 + number * 256).into();
        let reader = ReaderId::new("h", &who, Proof::Unchecked, Some(address));
        recorder.read(&CompleteRead {
            chosen: "*",
            site: "s",
            identity: &who,
            reader: &reader,
            version: VersionId::of(b"a"),
            in_force: noon(),
            time: noon(),
            read: some_read(),
            addresses: AddressDetail::Full,
        });
    }
    recorder.close();
    let reads = StoreReader::open(&folder.store()).unwrap().reads(&Filter::default()).unwrap();
    assert_eq!((reads.len(), reads.iter().map(|read| read.count).sum::<u64>()), (1_001, 1_200));
    assert!(reads.iter().any(|read| &*read.host == OTHER_PATHS && read.count == 200));
}
