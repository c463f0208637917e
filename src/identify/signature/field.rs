//! Structured fields (RFC 9651) as this module reads them: dictionaries, with what stands twice in them.
//!
//! RFC 9651 has the last of two equal keys win. What is signed must not depend on that, so repetitions are noted.
//! Reading stops where a field holds more than anybody signs, since keys are compared with all before them.
//! Beside the preferences of a robots.txt the only file that names sfv.

use super::fault::SignatureFault;
use sfv::visitor::{DictionaryVisitor, EntryVisitor, InnerListVisitor, ItemVisitor, ParameterVisitor};
use sfv::{BareItemFromInput, ItemSerializer, KeyRef, Parser};

/// Longer fields are not read.
const LONGEST: usize = 8 * 1_024;

/// Nor are those with more members of a dictionary, parameters of one thing, or items of a list.
const MOST_MEMBERS: usize = 16;
const MOST_PARAMETERS: usize = 16;
const MOST_ITEMS: usize = 32;

/// A value without parameters.
pub(super) type BareValue<'a> = BareItemFromInput<'a>;

/// Parameters in their order.
#[derive(Debug, Default)]
pub(super) struct ItemParameters<'a> {
    pub(super) list: Vec<(&'a str, BareValue<'a>)>,
    /// Whether one stands twice.
    pub(super) is_repeated: bool,
}

/// A value and its parameters.
#[derive(Debug)]
pub(super) struct FieldItem<'a> {
    pub(super) value: BareValue<'a>,
    pub(super) parameters: ItemParameters<'a>,
}

/// What stands under one key: an item, or an inner list with parameters of its own.
#[derive(Debug)]
pub(super) struct DictionaryMember<'a> {
    pub(super) label: &'a str,
    pub(super) is_list: bool,
    pub(super) items: Vec<FieldItem<'a>>,
    /// Those of the list.
    pub(super) parameters: ItemParameters<'a>,
    /// Whether the label stands twice.
    pub(super) is_repeated: bool,
}

/// A dictionary in its order.
#[derive(Debug, Default)]
pub(super) struct FieldDictionary<'a>(pub(super) Vec<DictionaryMember<'a>>);

impl<'a> FieldDictionary<'a> {
    /// Reads all lines of a field, joined by commas.
    pub(super) fn parse(field: &'a [u8]) -> Result<Self, SignatureFault> {
        if field.len() > LONGEST {
            return Err(SignatureFault::TooLong);
        }
        let mut dictionary = Self::default();
        match Parser::new(field).parse_dictionary_with_visitor(&mut dictionary) {
            Ok(()) => Ok(dictionary),
            Err(error) => Err(fault(&error)),
        }
    }

    pub(super) fn get(&self, label: &str) -> Option<&DictionaryMember<'a>> {
        self.0.iter().find(|member| member.label == label)
    }
}

impl<'a> FieldItem<'a> {
    /// Reads a field that is one item.
    pub(super) fn parse(field: &'a [u8]) -> Result<Self, SignatureFault> {
        if field.len() > LONGEST {
            return Err(SignatureFault::TooLong);
        }
        let mut items = Vec::new();
        match Parser::new(field).parse_item_with_visitor(NextItem(&mut items)) {
            Ok(()) => items.pop().ok_or(SignatureFault::Unreadable),
            Err(error) => Err(fault(&error)),
        }
    }

    /// As it is written in its strict form (RFC 9651 §4.1.3).
    pub(super) fn write(&self, out: &mut String) {
        write_value(&self.value, out);
        self.parameters.write(out);
    }

    /// Its value, where that is a string.
    pub(super) fn text(&self) -> Option<&str> {
        match &self.value {
            BareItemFromInput::String(text) => Some(text.as_str()),
            _ => None,
        }
    }
}

impl<'a> ItemParameters<'a> {
    pub(super) fn get(&self, name: &str) -> Option<&BareValue<'a>> {
        self.list.iter().find(|(key, _)| *key == name).map(|(_, value)| value)
    }

    fn write(&self, out: &mut String) {
        for (key, value) in &self.list {
            out.push(';');
            out.push_str(key);
            if !matches!(value, BareItemFromInput::Boolean(true)) {
                out.push('=');
                write_value(value, out);
            }
        }
    }
}

impl DictionaryMember<'_> {
    /// As it is written in its strict form (RFC 9651 §4.1.1.1, §4.1.3).
    pub(super) fn write(&self, out: &mut String) {
        if self.is_list {
            out.push('(');
        }
        for (place, item) in self.items.iter().enumerate() {
            if place > 0 {
                out.push(' ');
            }
            item.write(out);
        }
        if self.is_list {
            out.push(')');
        }
        self.parameters.write(out);
    }

    /// Its one item, where it is no list.
    pub(super) fn item(&self) -> Option<&FieldItem<'_>> {
        self.items.first().filter(|_| !self.is_list)
    }
}

fn write_value(value: &BareValue<'_>, out: &mut String) {
    out.push_str(&ItemSerializer::new().bare_item(value).finish());
}

/// A field has more members, parameters or items than are read.
#[derive(Debug, thiserror::Error)]
#[error("it holds too much")]
pub(super) struct FieldBound;

/// Only what a visitor refuses has no place in the field.
fn fault(error: &sfv::Error) -> SignatureFault {
    if error.index().is_none() { SignatureFault::TooMany } else { SignatureFault::Unreadable }
}

/// Puts `item` behind the others, where there is room for it.
fn push<T>(list: &mut Vec<T>, most: usize, item: T) -> Result<Option<&mut T>, FieldBound> {
    if list.len() >= most {
        return Err(FieldBound);
    }
    list.push(item);
    Ok(list.last_mut())
}

impl<'a> DictionaryVisitor<'a> for FieldDictionary<'a> {
    type Error = FieldBound;

    fn entry(&mut self, key: &'a KeyRef) -> Result<impl EntryVisitor<'a>, FieldBound> {
        let label = key.as_str();
        if let Some(known) = self.0.iter_mut().find(|member| member.label == label) {
            known.is_repeated = true;
            return Ok(None);
        }
        let (items, parameters) = (Vec::new(), ItemParameters::default());
        let member = DictionaryMember { label, is_list: false, items, parameters, is_repeated: false };
        Ok(push(&mut self.0, MOST_MEMBERS, member)?.map(NextMember))
    }
}

struct NextMember<'v, 'a>(&'v mut DictionaryMember<'a>);

impl<'a> ItemVisitor<'a> for NextMember<'_, 'a> {
    type Error = FieldBound;

    fn bare_item(self, value: BareValue<'a>) -> Result<impl ParameterVisitor<'a>, FieldBound> {
        NextItem(&mut self.0.items).bare_item(value)
    }
}

impl<'a> EntryVisitor<'a> for NextMember<'_, 'a> {
    fn inner_list(self) -> Result<impl InnerListVisitor<'a>, FieldBound> {
        self.0.is_list = true;
        Ok(self)
    }
}

impl<'a> InnerListVisitor<'a> for NextMember<'_, 'a> {
    type Error = FieldBound;

    fn item(&mut self) -> Result<impl ItemVisitor<'a>, FieldBound> {
        Ok(NextItem(&mut self.0.items))
    }

    fn finish(self) -> Result<impl ParameterVisitor<'a>, FieldBound> {
        Ok(NextParameter(&mut self.0.parameters))
    }
}

struct NextItem<'v, 'a>(&'v mut Vec<FieldItem<'a>>);

impl<'a> ItemVisitor<'a> for NextItem<'_, 'a> {
    type Error = FieldBound;

    fn bare_item(self, value: BareValue<'a>) -> Result<impl ParameterVisitor<'a>, FieldBound> {
        let item = FieldItem { value, parameters: ItemParameters::default() };
        Ok(push(self.0, MOST_ITEMS, item)?.map(|item| NextParameter(&mut item.parameters)))
    }
}

struct NextParameter<'v, 'a>(&'v mut ItemParameters<'a>);

impl<'a> ParameterVisitor<'a> for NextParameter<'_, 'a> {
    type Error = FieldBound;

    fn parameter(&mut self, key: &'a KeyRef, value: BareValue<'a>) -> Result<(), FieldBound> {
        if self.0.get(key.as_str()).is_some() {
            self.0.is_repeated = true;
        } else {
            push(&mut self.0.list, MOST_PARAMETERS, (key.as_str(), value))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(field: &str) -> Vec<String> {
        let dictionary = FieldDictionary::parse(field.as_bytes()).unwrap();
        let write = |member: &DictionaryMember<'_>| {
            let mut out = String::new();
            member.write(&mut out);
            format!("{}={out}", member.label)
        };
        dictionary.0.iter().map(write).collect()
    }

    #[test]
    fn members_are_written_in_their_strict_form() {
        let field = "a=(  \"x\";y;z=1   \"w\" );b=tok;c=:AAE=: ,b=\"q\\\"\";k=?0, c, d=2.50";
        let expected = ["a=(\"x\";y;z=1 \"w\");b=tok;c=:AAE=:", "b=\"q\\\"\";k=?0", "c=?1", "d=2.5"];
        assert_eq!(written(field), expected);
    }

    #[test]
    fn what_stands_twice_is_noted() {
        let dictionary = FieldDictionary::parse(b"a=(\"x\";y;y);z=1;z=2, b=1;c;c, a=2").unwrap();
        let [a, b] = &dictionary.0[..] else { panic!("{dictionary:?}") };
        assert!(a.is_repeated && a.parameters.is_repeated && a.items[0].parameters.is_repeated);
        assert!(!b.is_repeated && b.items[0].parameters.is_repeated);
    }

    /// Each key is compared with all before it, so their number bounds the work.
    #[test]
    fn reading_stops_where_a_field_holds_too_much() {
        let keys =
            |count: usize, sign: &str| (0..count).map(|n| format!("a{n}")).collect::<Vec<_>>().join(sign);
        let items = |count| format!("a=({})", "1 ".repeat(count));
        let fields = |more: usize| {
            [
                keys(MOST_MEMBERS + more, ","),
                format!("a;{}", keys(MOST_PARAMETERS + more, ";")),
                format!("a=(1);{}", keys(MOST_PARAMETERS + more, ";")),
                format!("a=(1;{})", keys(MOST_PARAMETERS + more, ";")),
                items(MOST_ITEMS + more),
            ]
        };
        for field in fields(0) {
            assert!(FieldDictionary::parse(field.as_bytes()).is_ok(), "{field}");
        }
        for field in fields(1).into_iter().chain(fields(1_000)) {
            let fault = FieldDictionary::parse(field.as_bytes()).unwrap_err();
            assert_eq!(fault, SignatureFault::TooMany, "{field}");
        }
        // What follows is not looked at.
        let mut dictionary = FieldDictionary::default();
        let broken = format!("{}, (((", keys(1_000, ","));
        assert!(Parser::new(broken.as_bytes()).parse_dictionary_with_visitor(&mut dictionary).is_err());
        assert_eq!(dictionary.0.len(), MOST_MEMBERS);
        assert_eq!(FieldDictionary::parse(broken.as_bytes()).unwrap_err(), SignatureFault::TooMany);
    }

    #[test]
    fn what_is_no_dictionary_is_refused() {
        for field in ["a=(", "a=\"x", "A=1", "a=1,", "a=:!:", "a b", "\u{e9}=1"] {
            assert!(FieldDictionary::parse(field.as_bytes()).is_err(), "{field}");
        }
        let long = "a=1, ".repeat(LONGEST);
        assert_eq!(FieldDictionary::parse(long.as_bytes()).unwrap_err(), SignatureFault::TooLong);
    }
}
