//! Decides whether the harness can be compiled: it stands on the unstable crate `test`, and so needs
//! `RUSTC_BOOTSTRAP=icb_harness` on a stable compiler. Without it the crate is empty.

#[path = "../probe.rs"]
mod probe;

/// Newer releases hand over their tests in another way.
const SLICES: &str = "#![feature(test)] extern crate test; pub use test::test_main_env_args;";

fn main() {
    println!("cargo::rustc-check-cfg=cfg(icb_harness, icb_harness_slices, icb_system_dates)");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=../probe.rs");
    println!("cargo::rerun-if-env-changed=RUSTC_BOOTSTRAP");
    let bootstrap = std::env::var("RUSTC_BOOTSTRAP").unwrap_or_default();
    if bootstrap == "1" || bootstrap.split(',').any(|name| name == "icb_harness") {
        println!("cargo::rustc-cfg=icb_harness");
        if probe::compiles(SLICES) {
            println!("cargo::rustc-cfg=icb_harness_slices");
        }
    }
}
