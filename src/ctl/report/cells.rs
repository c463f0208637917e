//! Cells of a table: how wide they are on a terminal, and how they are cut and set.

use crate::ctl::output::escape_harmful;
use console::{Alignment, measure_text_width, pad_str, truncate_str};

/// Lines of prose in a letter; mail is read at 80 columns.
pub(super) const LETTER_WIDTH: usize = 76;

/// Text made harmless, at most `width` columns of a terminal wide.
pub(super) fn truncate(text: &str, width: usize) -> String {
    truncate_str(&escape_harmful(text), width, "…").into_owned()
}

/// What the templates of reports set.
#[expect(clippy::inline_always, clippy::unnecessary_wraps, unreachable_pub, reason = "what a filter is made")]
pub(super) mod filters {
    use askama::Values;
    use askama::filters::Safe;
    use std::fmt::Display;

    /// A paragraph in lines of at most `width` characters; those behind the first begin with so many blanks.
    #[askama::filter_fn]
    pub(in crate::ctl::report) fn wrapped(
        text: impl Display,
        _: &dyn Values,
        width: usize,
        indent: usize,
    ) -> askama::Result<Safe<String>> {
        let (mut lines, mut room) = (String::new(), width);
        for word in text.to_string().split_whitespace() {
            let length = word.chars().count();
            if !lines.is_empty() && length >= room {
                lines.extend(["\n", &" ".repeat(indent)]);
                room = width.saturating_sub(indent);
            } else if !lines.is_empty() {
                lines.push(' ');
                room -= 1;
            }
            lines.push_str(word);
            room = room.saturating_sub(length);
        }
        Ok(Safe(lines))
    }
}

/// A column of a table.
#[derive(Clone, Debug)]
pub(super) struct TableColumn {
    pub(super) head: &'static str,
    pub(super) is_number: bool,
    /// Which columns go first when a line is too short for all: 0 stays.
    pub(super) goes: u8,
    pub(super) cells: Vec<String>,
}

impl TableColumn {
    pub(super) fn width(&self) -> usize {
        let cells = self.cells.iter().map(|cell| measure_text_width(cell)).max();
        cells.unwrap_or_default().max(self.head.len())
    }
}

/// The least room for names, in the first column.
const LEAST_NAME: usize = 16;

/// Leaves out what does not fit into `width`, and cuts the first column to what is left.
pub(super) fn fit(mut columns: Vec<TableColumn>, width: usize) -> Vec<TableColumn> {
    let others =
        |columns: &[TableColumn]| -> usize { columns.iter().skip(1).map(|column| column.width() + 2).sum() };
    let wanted = columns.first().map_or(0, TableColumn::width).min(LEAST_NAME);
    while others(&columns) + wanted > width {
        let next = columns.iter().enumerate().filter(|(_, column)| column.goes > 0);
        let Some((at, _)) = next.max_by_key(|(_, column)| column.goes) else { break };
        columns.remove(at);
    }
    let room = width.saturating_sub(others(&columns)).max(wanted.min(8));
    if let Some(first) = columns.first_mut() {
        first.cells.iter_mut().for_each(|cell| *cell = truncate(cell, room));
    }
    columns
}

/// The lines of a table, its head first. Without blanks at their ends.
pub(super) fn lines(columns: &[TableColumn]) -> Vec<String> {
    let padded = columns.iter().map(|column| {
        let alignment = if column.is_number { Alignment::Right } else { Alignment::Left };
        let (width, cells) = (column.width(), column.cells.iter().map(String::as_str));
        let cells = std::iter::once(column.head).chain(cells);
        cells.map(|cell| pad_str(cell, width, alignment, None).into_owned()).collect()
    });
    let padded: Vec<Vec<String>> = padded.collect();
    let row = |row: usize| {
        padded.iter().filter_map(|column| Some(&**column.get(row)?)).collect::<Vec<_>>().join("  ")
    };
    (0..padded.first().map_or(0, Vec::len)).map(|at| row(at).trim_end().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_cut_by_what_a_terminal_shows() {
        assert_eq!(truncate("GPTBot", 6), "GPTBot");
        assert_eq!(truncate("GPTBot", 5), "GPTB…");
        assert_eq!(truncate("百度蜘蛛", 6), "百度…");
        assert_eq!(truncate("a\u{1b}[31m", 40), "a\\u{1b}[31m");
        for width in 1..12 {
            assert!(measure_text_width(&truncate("百度spider蜘蛛", width)) <= width, "{width}");
        }
    }

    #[test]
    fn what_does_not_fit_goes() {
        let column = |head, goes, cell: &str| TableColumn {
            head,
            is_number: goes > 0,
            goes,
            cells: vec![cell.to_owned()],
        };
        let columns =
            vec![column("crawler", 0, &"x".repeat(40)), column("requests", 0, "1"), column("stale", 1, "2")];
        let wide = lines(&fit(columns.clone(), 80));
        assert!(wide[0].ends_with("stale") && wide[1].contains(&"x".repeat(40)), "{wide:?}");
        for width in [24, 30, 40] {
            let narrow = lines(&fit(columns.clone(), width));
            assert!(narrow.iter().all(|line| measure_text_width(line) <= width), "{narrow:?}");
        }
        assert!(!lines(&fit(columns, 30))[0].contains("stale"));
    }
}
