//! Decides whether the harness can be compiled: it stands on the unstable crate `test`, and so needs
//! `RUSTC_BOOTSTRAP=icb_harness` on a stable compiler. Without it the crate is empty.

fn main() {
    println!("cargo::rustc-check-cfg=cfg(icb_harness, icb_system_dates)");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=RUSTC_BOOTSTRAP");
    let bootstrap = std::env::var("RUSTC_BOOTSTRAP").unwrap_or_default();
    if bootstrap == "1" || bootstrap.split(',').any(|name| name == "icb_harness") {
        println!("cargo::rustc-cfg=icb_harness");
    }
}
