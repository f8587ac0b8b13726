//! Decides what `icb_std` is compiled to: the mirror (`icb`) or plain `std`, and whether the mirrored `Arc`
//! coerces (`icb_coerce`), which needs unstable features and therefore `RUSTC_BOOTSTRAP=icb_std` on stable.

mod probe;

use std::env;

fn main() {
    println!("cargo::rustc-check-cfg=cfg(icb, icb_coerce, icb_pin_coerce_unsized, icb_system_dates)");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=probe.rs");
    println!("cargo::rerun-if-env-changed=RUSTC_BOOTSTRAP");
    if env::var_os("CARGO_FEATURE_ALWAYS").is_some() {
        println!("cargo::rustc-cfg=icb");
    }
    let bootstrap = env::var("RUSTC_BOOTSTRAP").unwrap_or_default();
    if bootstrap == "1" || bootstrap.split(',').any(|name| name == "icb_std") {
        println!("cargo::rustc-cfg=icb_coerce");
        if probe::compiles("#![feature(pin_coerce_unsized_trait)] pub use std::pin::PinCoerceUnsized;") {
            println!("cargo::rustc-cfg=icb_pin_coerce_unsized");
        }
    }
}
