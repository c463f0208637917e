//! The operator's tool; everything it does is in [`robots_gateway::ctl`].

use std::process::ExitCode;

fn main() -> ExitCode {
    robots_gateway::ctl::main()
}
