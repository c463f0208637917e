//! Findings about the file as a whole, and about lines beside each other.

use super::Robots;
use super::index::Shadow;
use super::parse::Findings;

pub(super) fn add(_robots: &Robots, _size: usize, _shadow: &Shadow, _findings: &mut Findings) {}
