//! Every bound that `conf/gateway.toml` and the guide promise has a test that reaches it. This is the list of them.

use crate::{path, text};

/// A bound, and the test that reaches it: its file and its name.
const BOUNDS: [(&str, &str, &str); 44] = [
    ("journal_max_size", "tests/gateway/bounds.rs", "journal_and_access_log_are_rotated_and_the_oldest_go"),
    ("journal_keep", "tests/gateway/bounds.rs", "journal_and_access_log_are_rotated_and_the_oldest_go"),
    ("access_log", "tests/gateway/bounds.rs", "journal_and_access_log_are_rotated_and_the_oldest_go"),
    ("journal_rate", "tests/gateway/bounds.rs", "lines_of_one_sender_have_a_rate"),
    (
        "2,048 bytes of a field",
        "tests/gateway/bounds.rs",
        "fields_that_a_client_fills_are_cut_in_the_journal",
    ),
    ("mode 0640", "tests/gateway/bounds.rs", "files_of_state_are_not_for_everybody"),
    ("retention", "src/record/store/housekeeping/tests.rs", "retention_takes_what_is_old_and_nothing_else"),
    (
        "store_max_size",
        "src/record/store/housekeeping/tests.rs",
        "the_cap_takes_the_oldest_details_first_and_tells",
    ),
    (
        "1,000 targets of a day",
        "src/record/store/tests/bounds.rs",
        "the_first_thousand_targets_of_a_day_are_exact",
    ),
    (
        "1,000 names of a day",
        "src/record/store/tests/bounds.rs",
        "a_thousand_made_up_names_of_a_day_are_exact",
    ),
    (
        "50 of one network",
        "src/record/store/tests/bounds.rs",
        "a_network_brings_fifty_made_up_names_of_a_day",
    ),
    (
        "a 64th and a 32nd of one network",
        "src/record/store/tests/bounds.rs",
        "one_network_can_neither_fill_the_store_nor_take_what_it_knows_of_others",
    ),
    (
        "within 10 % of store_max_size",
        "src/record/store/tests/bounds.rs",
        "the_cap_holds_over_one_batch_of_many_networks",
    ),
    ("20 events in full", "src/record/store/tests/bounds.rs", "events_in_full_are_few_and_hold_their_line"),
    (
        "the first 10 of them",
        "src/record/store/tests/bounds.rs",
        "the_first_ten_events_and_the_last_ten_are_kept_in_full",
    ),
    (
        "1,000 readers",
        "src/record/store/tests/bounds.rs",
        "readers_beyond_the_first_thousand_are_counted_together",
    ),
    ("robots_max_size", "tests/gateway/bounds.rs", "what_lies_beyond_the_size_of_a_robots_txt_is_no_rule"),
    ("2,048 bytes of a User-Agent", "src/identify/header.rs", "of_a_long_header_both_ends_are_looked_at"),
    ("grace", "tests/gateway/shutdown.rs", "the_grace_period_is_the_limit"),
    ("keepalive", "tests/gateway/limits.rs", "silence_has_an_end_before_the_first_request_and_after_it"),
    (
        "client_header",
        "tests/gateway/limits.rs",
        "a_head_that_drips_has_an_end_on_the_first_request_and_on_the_next",
    ),
    (
        "tls_handshake",
        "tests/gateway/tls.rs",
        "garbage_and_silence_instead_of_a_handshake_have_an_end_and_are_counted",
    ),
    ("client_read", "tests/gateway/http2.rs", "a_body_that_never_comes_has_an_end"),
    ("client_write", "tests/gateway/undelivered.rs", "refusals_that_nobody_takes_end_the_connection"),
    ("origin_connect", "tests/origins/failures.rs", "refused_reset_and_frozen_are_told_apart"),
    ("origin_read", "tests/origins/failures.rs", "refused_reset_and_frozen_are_told_apart"),
    (
        "origin_write",
        "tests/rightness/bodies.rs",
        "an_early_answer_arrives_though_the_origin_does_not_read_on",
    ),
    ("tunnel", "tests/rightness/lenient.rs", "a_websocket_may_be_idle_and_ends_without_a_fault"),
    ("origin_idle", "tests/gateway/bounds.rs", "an_idle_connection_to_the_origin_has_an_end"),
    ("connections", "tests/gateway/limits.rs", "a_crowd_of_idle_connections_makes_room_within_seconds"),
    (
        "connections_per_address",
        "tests/gateway/limits.rs",
        "one_address_has_its_limit_and_the_next_one_has_its_own",
    ),
    (
        "requests_per_connection",
        "tests/gateway/limits.rs",
        "a_connection_carries_so_many_requests_and_says_which_is_the_last",
    ),
    ("header_size", "tests/gateway/limits.rs", "heads_have_a_size_and_a_number_of_fields"),
    ("header_fields", "tests/gateway/limits.rs", "heads_have_a_size_and_a_number_of_fields"),
    ("body_size", "tests/gateway/limits.rs", "bodies_have_a_size_whether_they_announce_it_or_not"),
    ("body_rate", "tests/gateway/limits.rs", "a_body_that_drips_has_an_end_and_a_steady_one_is_let_through"),
    ("h2_streams", "tests/gateway/http2.rs", "more_streams_than_announced_are_refused_one_by_one"),
    (
        "h2_requests",
        "tests/gateway/http2_places.rs",
        "all_together_have_so_many_and_what_is_cancelled_gives_its_place_back",
    ),
    (
        "h2_requests_per_address",
        "tests/gateway/http2_places.rs",
        "one_address_has_so_many_and_robots_txt_is_answered_still",
    ),
    (
        "h2_resets",
        "tests/gateway/http2.rs",
        "requests_that_are_opened_and_cancelled_without_end_cost_the_connection",
    ),
    ("h2_control_frames", "tests/gateway/http2.rs", "floods_of_pings_and_settings_cost_the_connection"),
    ("timeout", "tests/proof/outages.rs", "silent"),
    ("cache", "tests/proof/names.rs", "answers_are_remembered_as_long_as_the_operator_says"),
    ("cache_negative", "tests/proof/names.rs", "answers_are_remembered_as_long_as_the_operator_says"),
];

#[test]
fn every_bound_has_a_test_that_is_there() {
    for (bound, file, test) in BOUNDS {
        let source = std::fs::read_to_string(path(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
        assert!(
            source.contains(&format!("#[test]\nfn {test}()"))
                || source.contains(&format!("#[test]\n    fn {test}()")),
            "{bound}: {file} has no test `{test}`"
        );
    }
}

/// The keys of whole tables that hold nothing but bounds, and those outside of them that are bounds by their name.
#[test]
fn every_key_that_is_a_bound_is_in_the_list() {
    let shipped = text("conf/gateway.toml");
    let (mut table, mut missing) = (String::new(), Vec::new());
    for line in shipped.lines() {
        let line = line.trim_start_matches(['#', '~', ' ']);
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
            name.clone_into(&mut table);
        }
        let Some((key, _)) = line.split_once(" = ") else { continue };
        let is_key = !key.is_empty()
            && key.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_' || byte.is_ascii_digit());
        let is_bound = matches!(&*table, "limits" | "timeouts")
            || ["_size", "_keep", "_rate", "retention", "grace"].iter().any(|end| key.ends_with(end));
        if is_key && is_bound && !BOUNDS.iter().any(|(bound, ..)| *bound == key) {
            missing.push(key);
        }
    }
    assert!(missing.is_empty(), "no test is named for {missing:?}");
}
