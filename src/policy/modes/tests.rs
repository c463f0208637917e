//! Which mode wins, what is told of it, and what is kept.

use super::*;
use crate::config::Arguments;
use crate::identify::Basis;

const CONFIG: &str = "\
    [crawlers.GPTBot]\nmode = \"off\"\n[purposes.ai-train]\nmode = \"enforce\"\n[clients]\ntool = \"off\"\n\
    [[sites]]\nhosts = [\"a.example\"]\norigin = \"http://127.0.0.1:9\"\n\
    [[sites]]\nhosts = [\"b.example\"]\nmode = \"off\"\norigin = \"http://127.0.0.1:9\"\n";

/// The modes of each site.
fn modes(overrides: &Overrides) -> [Modes; 2] {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gateway.toml");
    fs::write(&path, CONFIG).unwrap();
    let config = Config::load(&Arguments { config: Some(path), ..Arguments::default() }).unwrap();
    let (catalogue, by_hand) =
        (crate::config::catalogue::bundled().catalogue, overrides.in_force(&Overrides::default()));
    [0, 1].map(|index| modes_of(&config, &config.sites[index], &catalogue, &by_hand))
}

fn scope(crawler: Option<&str>, site: Option<&str>) -> Scope {
    let (crawler, site) = (crawler.map(str::to_owned), site.map(str::to_owned));
    Scope { crawler, site, ..Scope::default() }
}

fn everybody() -> Scope {
    Scope { all: true, ..Scope::default() }
}

fn set(crawler: Option<&str>, mode: Mode, persists: bool) -> Override {
    Override { scope: scope(crawler, None), mode, persists, fleet: false }
}

fn alone(overrides: &Overrides) -> Vec<Override> {
    overrides.in_force(&Overrides::default())
}

/// The mode of the site, of GPTBot and of what trains models, at each site.
fn shown(overrides: &Overrides) -> [(Mode, Mode, Mode); 2] {
    modes(overrides).map(|modes| {
        let mode = |whom: &ModeScope| modes.0.iter().find(|one| one.whom == *whom).unwrap().mode;
        let crawler = mode(&ModeScope::Crawler("GPTBot".to_owned()));
        (modes.general(), crawler, mode(&ModeScope::Purpose(Purpose::AiTrain)))
    })
}

#[test]
fn the_most_specific_wins() {
    use Mode::{Audit, Enforce, Off};
    let none = Overrides::default();
    assert_eq!(shown(&none), [(Audit, Off, Enforce), (Off, Off, Enforce)]);
    let all = none.changed(&Scope::default(), Some(Enforce), false);
    assert_eq!(shown(&all), [(Enforce, Off, Enforce), (Off, Off, Enforce)], "a site's own mode stays");
    let one = all.changed(&scope(None, Some("b.example")), Some(Audit), false);
    assert_eq!(shown(&one), [(Enforce, Off, Enforce), (Audit, Off, Enforce)]);
    let crawler = one.changed(&scope(Some("GPTBot"), Some("a.example")), Some(Audit), false);
    assert_eq!(shown(&crawler), [(Enforce, Audit, Enforce), (Audit, Off, Enforce)]);
    let everywhere = crawler.changed(&scope(Some("gptbot"), None), Some(Enforce), false);
    assert_eq!(shown(&everywhere), [(Enforce, Audit, Enforce), (Audit, Enforce, Enforce)]);
    let train = Scope { purpose: Some(Purpose::AiTrain), ..Scope::default() };
    let purpose = everywhere.changed(&train, Some(Off), false);
    assert_eq!(shown(&purpose), [(Enforce, Audit, Off), (Audit, Enforce, Off)]);
    let all = purpose.changed(&everybody(), Some(Off), false);
    assert_eq!(shown(&all).map(|(general, ..)| general), [Off, Off]);
    assert_eq!(all.changed(&everybody(), None, false), Overrides::default());
}

#[test]
fn it_is_told_who_or_what_says_so() {
    let overrides = Overrides::default()
        .changed(&scope(Some("BINGBOT"), None), Some(Mode::Enforce), false)
        .changed(&scope(Some("Nobody"), None), Some(Mode::Enforce), false)
        .changed(&everybody(), Some(Mode::Off), true);
    let [_, told] = modes(&overrides);
    let told: Vec<_> =
        told.0.into_iter().map(|one| (one.whom, one.mode.as_str(), one.because, one.persists)).collect();
    let client = |client, mode, because| (ModeScope::Client(client), mode, because, None);
    let crawler = |name: &str| ModeScope::Crawler(name.to_owned());
    assert_eq!(
        told,
        [
            (ModeScope::Everybody, "off", ModeSource::ByHand, Some(true)),
            (crawler("bingbot"), "enforce", ModeSource::ByHand, Some(false)),
            (crawler("GPTBot"), "off", ModeSource::Crawlers, None),
            (crawler("nobody"), "enforce", ModeSource::ByHand, Some(false)),
            (ModeScope::Purpose(Purpose::AiTrain), "enforce", ModeSource::Purposes, None),
            client(ClientKind::Fetcher, "audit", ModeSource::Default),
            client(ClientKind::Tool, "off", ModeSource::Clients),
            client(ClientKind::Monitor, "audit", ModeSource::Default),
            client(ClientKind::Unnamed, "audit", ModeSource::Default),
            (ModeScope::Others, "off", ModeSource::Site, None),
        ]
    );
}

fn mode(modes: &Modes, client: ClientKind, crawler: Option<&str>, purpose: Option<Purpose>) -> Mode {
    let (crawler, tokens) = (crawler.map(Arc::from), Arc::new([]));
    modes.of(&Identity { client, crawler, purpose, tokens, star: true, basis: Basis::Catalogue })
}

#[test]
fn the_first_that_means_a_client_applies_to_it_and_none_to_a_person() {
    let [_, of_site] = modes(&Overrides::default());
    let train = Some(Purpose::AiTrain);
    assert_eq!(mode(&of_site, ClientKind::Crawler, Some("GPTBot"), train), Mode::Off);
    assert_eq!(mode(&of_site, ClientKind::Crawler, Some("CCBot"), train), Mode::Enforce);
    assert_eq!(
        mode(&of_site, ClientKind::Fetcher, None, train),
        Mode::Enforce,
        "a purpose is stronger than a kind"
    );
    assert_eq!(mode(&of_site, ClientKind::Fetcher, None, None), Mode::Audit);
    assert_eq!(mode(&of_site, ClientKind::Crawler, Some("bingbot"), None), Mode::Off, "the site's own");
    let [_, beaten] = modes(&Overrides::default().changed(&everybody(), Some(Mode::Enforce), false));
    assert_eq!(mode(&beaten, ClientKind::Crawler, Some("GPTBot"), train), Mode::Enforce);
    assert_eq!(
        (beaten.general(), mode(&beaten, ClientKind::Tool, None, None)),
        (Mode::Enforce, Mode::Enforce)
    );
    for person in [ClientKind::Browser, ClientKind::App] {
        assert_eq!(mode(&beaten, person, None, None), Mode::Off);
    }
}

#[test]
fn a_passing_one_hides_a_kept_one_until_it_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let kept = Overrides::default().changed(&Scope::default(), Some(Mode::Enforce), true);
    kept.save(folder.path()).unwrap();
    for passing in [Mode::Off, Mode::Audit, Mode::Enforce] {
        let both = kept.clone().changed(&Scope::default(), Some(passing), false);
        assert_eq!(alone(&both), [set(None, passing, false)]);
        assert!(both.kept().eq(kept.kept()));
        both.save(folder.path()).unwrap();
        assert_eq!(alone(&Overrides::load(folder.path()).unwrap()), [set(None, Mode::Enforce, true)]);
    }
    kept.changed(&Scope::default(), None, false).save(folder.path()).unwrap();
    assert_eq!(Overrides::load(folder.path()).unwrap(), Overrides::default());
}

#[test]
fn what_is_set_here_hides_what_a_fleet_published_and_what_beats_all_comes_last() {
    let published = Overrides::default().changed(&everybody(), Some(Mode::Audit), true).changed(
        &scope(Some("gptbot"), None),
        Some(Mode::Off),
        true,
    );
    let own = Overrides::default().changed(&scope(Some("GPTBot"), None), Some(Mode::Enforce), false);
    let of_fleet = Override { scope: everybody(), mode: Mode::Audit, persists: true, fleet: true };
    assert_eq!(own.in_force(&published), [set(Some("gptbot"), Mode::Enforce, false), of_fleet]);
}

#[test]
fn a_broken_file_is_an_error_and_no_panic() {
    let folder = tempfile::tempdir().unwrap();
    for text in ["{", "[{\"mode\":\"loud\"}]", "\u{0}"] {
        fs::write(folder.path().join(FILE), text).unwrap();
        assert!(Overrides::load(folder.path()).is_err(), "{text}");
    }
}

#[test]
fn a_file_of_an_older_gateway_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let text = r#"[{"crawler":"gptbot","site":null,"mode":"enforce","persists":true}]"#;
    fs::write(folder.path().join(FILE), text).unwrap();
    let kept = Overrides::load(folder.path()).unwrap();
    assert_eq!(alone(&kept), [set(Some("gptbot"), Mode::Enforce, true)]);
}

#[test]
fn to_clear_what_is_for_nobody_in_particular_clears_what_is_for_everybody() {
    let both = Overrides::default().changed(&everybody(), Some(Mode::Off), false).changed(
        &scope(Some("gptbot"), None),
        Some(Mode::Audit),
        false,
    );
    assert_eq!(
        alone(&both.changed(&Scope::default(), None, false)),
        [set(Some("gptbot"), Mode::Audit, false)]
    );
}
