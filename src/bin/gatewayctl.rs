//! The operator's tool: `robots-gateway`, which stands beside it, under this name. Both programs are one, and it is linked once.

use std::env::{args_os, current_exe};
use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    let error = match current_exe() {
        // It takes this one's place, and does not come back.
        Ok(own) => {
            let program = own.with_file_name("robots-gateway");
            let error = Command::new(&program).arg0("gatewayctl").args(args_os().skip(1)).exec();
            format!("cannot start {}, which has to be in the same folder: {error}", program.display())
        }
        Err(error) => format!("cannot find out where it is installed: {error}"),
    };
    // Without standard error there is nobody to tell.
    let _ = writeln!(std::io::stderr(), "gatewayctl: error: {error}");
    ExitCode::from(2)
}
