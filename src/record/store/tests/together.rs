//! Several writers and readers of one store, and no store at all.

use super::*;

#[test]
fn two_writers_of_one_store_lose_nothing_and_count_nothing_twice() {
    let folder = StoreFolder::new();
    std::thread::scope(|scope| {
        for writer in 0..2 {
            let options = folder.options();
            scope.spawn(move || {
                let recorder = Recorder::start(&options).unwrap();
                for number in 0..5_000 {
                    let (crawler, target) = (format!("bot{}", number % 20), format!("/{}", number % 150));
                    SampleRequest { at: noon(), ..SampleRequest::of(&crawler, &target) }.record(&recorder);
                    if number % (700 + 300 * writer) == 0 {
                        recorder.flush();
                    }
                }
                recorder.close();
                assert_eq!(recorder.status().counts_lost, 0);
            });
        }
    });
    let reader = StoreReader::open(&folder.store()).unwrap();
    let sums = by_crawler(&reader);
    assert_eq!(sums.len(), 20);
    assert!(sums.values().all(|sum| *sum == 500), "{sums:?}");
    let paths = paths(&reader, usize::MAX);
    assert_eq!(paths.iter().map(|path| path.counts.refused).sum::<u64>(), 10_000);
}

#[test]
fn a_reader_sees_one_moment_while_writing_goes_on() {
    let folder = StoreFolder::new();
    let recorder = Recorder::start(&folder.options()).unwrap();
    SampleRequest::of("GPTBot", "/").record(&recorder);
    recorder.flush();
    let reader = StoreReader::open(&folder.store()).unwrap();
    SampleRequest::of("GPTBot", "/").record(&recorder);
    recorder.flush();
    assert_eq!(by_crawler(&reader)["GPTBot"], 1);
    assert_eq!(by_crawler(&StoreReader::open(&folder.store()).unwrap())["GPTBot"], 2);
    recorder.close();
}

#[test]
fn where_there_is_no_store_it_is_said() {
    let folder = StoreFolder::new();
    let error = StoreReader::open(&folder.store()).unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Missing);
    std::fs::write(folder.store(), "not a database, whatever its name says").unwrap();
    assert_eq!(StoreReader::open(&folder.store()).unwrap_err().kind(), StoreErrorKind::Corrupt);
}
