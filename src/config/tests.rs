//! The JSON schema that editors read, made of the types of the configuration.
//!
//! `GOLDEN=write cargo test --lib config::tests` writes it anew.

use super::modes::PageUrl;
use super::robots::{RobotsHost, RobotsUrl};
use super::robots_tags::{TagPath, TagRule};
use super::site::RefusalForm;
use super::values::{
    AdminValue, DurationValue, Ed25519Value, FieldToKeep, FieldToRemove, ListedAs, ListenValue, MemorySize,
    NetworkValue, RateValue, SizeValue, TextOrTable, WrittenAs,
};
use super::verify::{MirrorValue, RefreshValue, ResolverValue};
use super::{Config, HostPattern, OriginUrl};
use crate::enforce::Mode;
use crate::identify::{Purpose, PurposeSet};
use crate::request::forwarded::ForwardedField;
use crate::request::target::PathParameters;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serializer;
use serde::ser::Error as _;
use serde_json::Value;
use std::borrow::Cow;
use std::path::Path;
use strum::VariantArray;

impl<V: JsonSchema> JsonSchema for WrittenAs<V> {
    fn inline_schema() -> bool {
        V::inline_schema()
    }

    fn schema_name() -> Cow<'static, str> {
        V::schema_name()
    }

    fn schema_id() -> Cow<'static, str> {
        V::schema_id()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        V::json_schema(generator)
    }
}

impl<V: JsonSchema> JsonSchema for ListedAs<V> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        Vec::<V>::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Vec::<V>::json_schema(generator)
    }
}

impl<T: JsonSchema> JsonSchema for TextOrTable<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let table = generator.subschema_for::<T>();
        json_schema!({ "anyOf": [{ "type": "string" }, table] })
    }
}

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

/// Defaults stand in the shipped file, which a test compares with them: none is written into the schema.
macro_rules! never_written {
    ($($form:ty $(: $value:ident)?),*) => {$(
        impl $(<$value>)? $form {
            pub(super) fn serialize<T, S: Serializer>(_: &T, _: S) -> Result<S::Ok, S::Error> {
                Err(S::Error::custom("it is only read"))
            }
        }
    )*};
}

never_written!(WrittenAs<V>: V, ListedAs<V>: V, RefusalForm);

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
    NetworkValue = { "title": "network" },
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
    schema
}

#[test]
fn the_schema_for_editors_is_that_of_the_types() {
    assert_is(SCHEMA, &(serde_json::to_string_pretty(&schema()).unwrap() + "\n"));
}
