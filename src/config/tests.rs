//! The JSON schema that editors read, made of the types of the configuration.
//!
//! `GOLDEN=write cargo test --lib config::tests` writes it anew.

use super::modes::PageUrl;
use super::robots::{RobotsHost, RobotsUrl, TagPath, TagRule};
use super::site::RefusalForm;
use super::values::{
    AdminValue, DurationValue, Ed25519Value, FieldToKeep, FieldToRemove, ListenValue, MemorySize, RateValue,
    SizeValue,
};
use super::{Config, HostPattern, MirrorValue, OriginUrl, RefreshValue, ResolverValue};
use crate::enforce::Mode;
use crate::identify::{Purpose, PurposeSet};
use crate::request::address::Network;
use crate::request::forwarded::ForwardedField;
use crate::request::prefixes::Prefixes;
use crate::request::target::PathParameters;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serializer;
use serde::ser::Error as _;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::path::Path;
use strum::VariantArray;

impl JsonSchema for Mode {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Mode".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "enum": ["off", "audit", "enforce"] })
    }
}

impl JsonSchema for Prefixes {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        Vec::<Network>::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Vec::<Network>::json_schema(generator)
    }
}

/// Defaults stand in the shipped file, which a test compares with them: none is written into the schema.
impl RefusalForm {
    pub(super) fn serialize<T, S: Serializer>(_: &T, _: S) -> Result<S::Ok, S::Error> {
        Err(S::Error::custom("it is only read"))
    }
}

/// A date of TOML, without quotes.
pub(super) struct LocalDate;

/// Values that have a form of their own, with what the guide calls them.
macro_rules! forms {
    ($($name:ident = $schema:tt),* $(,)?) => {$(
        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                let mut schema = json_schema!($schema);
                schema.insert("type".to_owned(), "string".into());
                schema
            }
        }
    )*};
}

forms! {
    AdminValue = { "title": "IP address and port, or `off`" },
    DurationValue = { "title": "duration", "pattern": "^[0-9]+(ms|s|m|h|d|w)$" },
    Ed25519Value = { "title": "public key" },
    FieldToKeep = { "title": "name of a field" },
    FieldToRemove = { "title": "name of a field" },
    ForwardedField = { "enum": words::<ForwardedField>() },
    HostPattern = { "title": "host" },
    ListenValue = { "title": "IP address and port" },
    LocalDate = { "title": "date", "format": "date" },
    MemorySize = { "title": "size", "pattern": "^[0-9]+(B|KiB|MiB|GiB)$" },
    MirrorValue = { "title": "URL" },
    Network = { "title": "network" },
    OriginUrl = { "title": "URL" },
    PageUrl = { "title": "URL" },
    PathParameters = { "enum": words::<PathParameters>() },
    PurposeSet = { "title": "purpose", "enum": purposes() },
    RateValue = { "title": "rate, or `off`", "pattern": "^([0-9]+/[smh]|off)$" },
    RefreshValue = { "title": "duration, or `off`", "pattern": "^([0-9]+(ms|s|m|h|d|w)|off)$" },
    ResolverValue = { "title": "IP address, or one and a port" },
    RobotsHost = { "title": "host" },
    RobotsUrl = { "title": "URL" },
    SizeValue = { "title": "size", "pattern": "^[0-9]+(B|KiB|MiB|GiB)$" },
    TagPath = { "title": "pattern of paths" },
    TagRule = { "title": "rule" },
}

fn words<T: VariantArray + Copy + Into<&'static str>>() -> Vec<&'static str> {
    T::VARIANTS.iter().map(|one| (*one).into()).collect()
}

fn purposes() -> Vec<&'static str> {
    ["ai"].into_iter().chain(words::<Purpose>()).collect()
}

const SCHEMA: &str = "conf/gateway.schema.json";
pub(crate) fn text(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

/// Whether the file at `path` is `expected`, or made so.
#[track_caller]
pub(crate) fn assert_is(path: &str, expected: &str) {
    if std::env::var_os("GOLDEN").is_some_and(|word| word == "write") {
        std::fs::write(Path::new(env!("CARGO_MANIFEST_DIR")).join(path), expected).unwrap();
    }
    let how = "is out of date: run this test with GOLDEN=write";
    assert!(text(path) == expected, "{path} {how}");
}

pub(crate) fn schema() -> Value {
    let mut schema = SchemaSettings::draft07().into_generator().into_root_schema_for::<Config>();
    schema.insert("title".to_owned(), "gateway.toml of robots-gateway".into());
    let mut schema = schema.to_value();
    // The default is the name of the machine, which differs on each.
    schema["definitions"]["FleetConfig"]["properties"]["name"].as_object_mut().unwrap().remove("default");
    // A default that is written as a duration of `serde` is none of the file's.
    schema["definitions"]["RefusalPolicy"]["properties"]["retry_after"] =
        json!({ "$ref": "#/definitions/DurationValue" });
    as_written(&mut schema);
    schema
}

/// Tables that may be written as a text, too.
const TEXTS: [&str; 5] = ["CatalogueConfig", "Exception", "Origin", "OriginServer", "RobotsConfig"];

/// Values that a key has or has not: TOML has no `null` to write in place of one.
const FORMS: [&str; 5] = ["DurationValue", "Ed25519Value", "MirrorValue", "Network", "SizeValue"];

/// Has a schema say what is written of these.
fn as_written(schema: &mut Value) {
    let place = |name: &&str| json!({ "$ref": format!("#/definitions/{name}") });
    if let Some(table) = TEXTS.iter().map(place).find(|table| table == schema) {
        *schema = json!({ "anyOf": [{ "type": "string" }, table] });
        return;
    }
    if let Value::Array(all) = schema {
        all.iter_mut().for_each(as_written);
    }
    let Value::Object(keys) = schema else { return };
    keys.values_mut().for_each(as_written);
    if let Some(ways) = keys.get("allOf").and_then(|all| all[0].get("anyOf")).cloned() {
        keys.shift_remove("allOf");
        keys.shift_insert(0, "anyOf".to_owned(), ways);
    }
    let is_form = |form: &Value| keys.get("anyOf") == Some(&json!([form, { "type": "null" }]));
    if let Some(form) = FORMS.iter().map(place).find(is_form) {
        keys.shift_remove("anyOf");
        keys.insert("allOf".to_owned(), json!([form]));
    }
}

#[test]
fn the_schema_for_editors_is_that_of_the_types() {
    assert_is(SCHEMA, &(serde_json::to_string_pretty(&schema()).unwrap() + "\n"));
}
