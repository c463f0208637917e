//! How much the writer sustains, and how fast a season is read.

use super::*;

/// The writer keeps up with many more requests a second than a gateway on this machine could answer.
#[test]
fn the_writer_sustains_a_heavy_crawl() {
    let folder = StoreFolder::new();
    let recorder = Recorder::start(&folder.options()).unwrap();
    let crawlers: Vec<_> = (0..50).map(|number| format!("bot{number}")).collect();
    let targets: Vec<_> = (0..200).map(|number| format!("/{number}")).collect();
    let begun = std::time::Instant::now();
    let sent = 200_000_u32;
    for number in 0..sent as usize {
        SampleRequest {
            at: noon(),
            ..SampleRequest::of(&crawlers[number % 50], &targets[number / 50 % 200])
        }
        .record(&recorder);
    }
    let counting = begun.elapsed();
    recorder.close();
    let written = begun.elapsed();
    let rate = f64::from(sent) / written.as_secs_f64();
    println!("{sent} violations recorded in {counting:.2?}, written in {written:.2?}: {rate:.0} a second");
    let reader = StoreReader::open(&folder.store()).unwrap();
    assert_eq!(by_crawler(&reader).values().sum::<u64>(), u64::from(sent));
    let paths = paths(&reader, usize::MAX);
    assert!(paths.len() == 10_000 && paths.iter().all(|path| path.counts.refused == 20));
}

/// `cargo test --release --lib season -- --ignored --nocapture`
#[test]
#[ignore = "fills a store of 90 days; run it with --release"]
fn a_season_of_three_hundred_crawlers_is_read_in_a_second() {
    let folder = StoreFolder::new();
    let recorder = Recorder::start(&folder.options()).unwrap();
    let crawlers: Vec<_> = (0..300).map(|number| format!("bot{number}")).collect();
    let targets: Vec<_> = (0..100).map(|number| format!("/section/{number}")).collect();
    // Every crawler once an hour for 90 days, by minute for the last two: ten million violations.
    let (now, mut sent) = (SystemTime::now(), 0_u64);
    for hour in 0..90 * 24 {
        for (number, crawler) in crawlers.iter().enumerate() {
            for times in 0..16_u8 {
                let at = now - Duration::from_secs(hour * 3_600 + u64::from(times) * 60 + 60);
                SampleRequest {
                    at,
                    ..SampleRequest::of(crawler, &targets[(number + usize::from(times)) % 100])
                }
                .record(&recorder);
                sent += 1;
            }
        }
        if hour % 24 == 23 {
            recorder.flush();
        }
    }
    recorder.close();
    while !recorder_is_tidy(&folder) {}
    let size = std::fs::metadata(folder.store()).unwrap().len();
    let begun = std::time::Instant::now();
    let reader = StoreReader::open(&folder.store()).unwrap();
    let window = everything(&reader);
    assert_eq!(requests(&reader, &window), sent);
    let read = begun.elapsed();
    let all = reader.activities(&window, &Filter::default(), Some(10)).unwrap();
    println!(
        "{sent} violations, {size} bytes: counts in {read:.2?}, with all else in {:.2?} ({} subjects)",
        begun.elapsed(),
        all.len(),
    );
    assert!(begun.elapsed() < Duration::from_secs(2));
}

fn recorder_is_tidy(folder: &StoreFolder) -> bool {
    let database = StoreFile::new(folder.store()).open(false).unwrap().database;
    let now = crate::record::tally::micros(SystemTime::now());
    (0..1_000).any(|_| !housekeeping::step(&database, &folder.options(), now).unwrap())
}
