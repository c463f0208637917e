//! A line of memory over time as one SVG.

use crate::figures::mebibytes;
use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;

const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 320.0;
const MARGIN: f64 = 60.0;

/// Writes `samples`, seconds and bytes, to `path`.
pub(crate) fn write(path: &Path, samples: &[(f64, u64)]) -> Result<(), Box<dyn Error>> {
    let end = samples.last().map_or(1.0, |(second, _)| second.max(1.0));
    let most = samples.iter().map(|(_, bytes)| mebibytes(*bytes)).fold(1.0, f64::max) * 1.1;
    let x = |second: f64| MARGIN + second / end * (WIDTH - 2.0 * MARGIN);
    let y = |value: f64| HEIGHT - MARGIN - value / most * (HEIGHT - 2.0 * MARGIN);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"{MARGIN}\" y=\"30\">resident memory of robots-gateway, MiB, by minute</text>\n"
    );
    for step in 0..=4 {
        let share = f64::from(step) / 4.0;
        let (value, minute) = (most * share, end / 60.0 * share);
        writeln!(
            svg,
            "<path d=\"M{MARGIN} {0:.1}H{1:.1}\" stroke=\"#ddd\"/><text x=\"8\" y=\"{0:.1}\">{value:.0}</text>\
             <text x=\"{2:.1}\" y=\"{3:.1}\">{minute:.1}</text>",
            y(value),
            WIDTH - MARGIN,
            x(minute * 60.0),
            HEIGHT - MARGIN + 20.0
        )?;
    }
    let points: Vec<String> = samples
        .iter()
        .map(|(second, bytes)| format!("{:.1},{:.1}", x(*second), y(mebibytes(*bytes))))
        .collect();
    writeln!(
        svg,
        "<polyline fill=\"none\" stroke=\"#246\" stroke-width=\"1.5\" points=\"{}\"/>\n</svg>",
        points.join(" ")
    )?;
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    Ok(std::fs::write(path, svg)?)
}
