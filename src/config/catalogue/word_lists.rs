//! The word lists: one sign a line in `rules/*.txt`, `#` opens a comment; and
//! the `[words]` table of an operator's own file, which adds to them.

use super::reader::CatalogueReader;
use crate::config::error::ConfigError;
use crate::identify::{Guard, Sign, SignError, Words};
use std::path::Path;
use toml::de::DeTable;

/// The lists, each by its key in `[words]`, with the file that is part of the program.
const LISTS: [(&str, &str, &str); 11] = [
    ("crawler_signs", "rules/crawler-signs.txt", include_str!("../../../rules/crawler-signs.txt")),
    ("tool_signs", "rules/tool-signs.txt", include_str!("../../../rules/tool-signs.txt")),
    ("guards", "rules/human-guards.txt", include_str!("../../../rules/human-guards.txt")),
    ("app_marks", "rules/app-marks.txt", include_str!("../../../rules/app-marks.txt")),
    ("device_marks", "rules/device-marks.txt", include_str!("../../../rules/device-marks.txt")),
    ("handhelds", "rules/handhelds.txt", include_str!("../../../rules/handhelds.txt")),
    ("desktops", "rules/desktops.txt", include_str!("../../../rules/desktops.txt")),
    ("engines", "rules/engines.txt", include_str!("../../../rules/engines.txt")),
    ("platforms", "rules/platforms.txt", include_str!("../../../rules/platforms.txt")),
    ("compatible", "rules/compatible.txt", include_str!("../../../rules/compatible.txt")),
    ("human_words", "rules/human-words.txt", include_str!("../../../rules/human-words.txt")),
];

/// The lists whose words turn a header into that of an automated client.
const CONVICTING: [&str; 2] = ["crawler_signs", "tool_signs"];

/// Adds one written word to the list of this key.
fn add(words: &mut Words, key: &str, written: &str) -> Result<(), SignError> {
    let list = match key {
        "crawler_signs" => &mut words.crawler_signs,
        "tool_signs" => &mut words.tool_signs,
        "app_marks" => &mut words.app_marks,
        "device_marks" => &mut words.device_marks,
        "handhelds" => &mut words.handhelds,
        "desktops" => &mut words.desktops,
        "engines" => &mut words.engines,
        "platforms" => &mut words.platforms,
        "compatible" => &mut words.compatible,
        "guards" => {
            let (whole_header, sign) = match written.strip_prefix("all ") {
                Some(sign) => (true, sign.trim_start()),
                None => (false, written),
            };
            words.guards.push(Guard { sign: Sign::parse(sign)?, whole_header });
            return Ok(());
        }
        _ => {
            words.human_words.insert(written.to_lowercase().into());
            return Ok(());
        }
    };
    list.push(Sign::parse(written)?);
    Ok(())
}

/// Reads the lists that are part of the program.
pub(super) fn read_bundled(words: &mut Words, errors: &mut Vec<ConfigError>) {
    for (key, path, text) in LISTS {
        read_list(words, key, Path::new(path), text, errors);
    }
}

fn read_list(words: &mut Words, key: &str, path: &Path, text: &str, errors: &mut Vec<ConfigError>) {
    for (i, line) in text.lines().enumerate() {
        let word = line.split('#').next().unwrap_or_default().trim_end();
        if word.is_empty() {
            continue;
        }
        if let Err(error) = add(words, key, word) {
            let fault = ConfigError::whole(path, format!("`{word}`: {error}"));
            errors.push(ConfigError { position: Some((i + 1, 1)), ..fault });
        }
    }
}

/// Reads the `[words]` table.
pub(super) fn read_table(reader: &mut CatalogueReader<'_>, document: &DeTable<'_>, words: &mut Words) {
    let Some(value) = document.get("words") else {
        return;
    };
    let Some(table) = value.get_ref().as_table() else {
        reader.refuse(value.span(), "`words` is written `[words]`".into());
        return;
    };
    let keys = LISTS.map(|(key, ..)| key);
    reader.known_keys(table, &keys);
    for key in keys {
        for written in reader.texts(table, key).unwrap_or_default() {
            if let Err(error) = add(words, key, written.get_ref()) {
                reader.refuse(written.span(), format!("`{}`: {error}", written.get_ref()));
            } else if CONVICTING.contains(&key)
                && let Ok(sign) = Sign::parse(written.get_ref())
            {
                reader.refuse_if_ordinary(written.span(), &sign);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_has_comments_guards_and_errors_with_lines() {
        let mut words = Words::default();
        let mut errors = Vec::new();
        read_list(
            &mut words,
            "guards",
            Path::new("g"),
            "# x\n\ncubot  # a phone\nall instapaper/\nx\n",
            &mut errors,
        );
        assert_eq!(words.guards.len(), 2);
        assert!(!words.guards[0].whole_header && words.guards[1].whole_header);
        assert_eq!((errors.len(), errors[0].position), (1, Some((5, 1))));
        read_list(&mut words, "human_words", Path::new("h"), "Silk\n", &mut errors);
        assert!(words.human_words.contains("silk"));
    }
}
