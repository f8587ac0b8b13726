//! Rust's own test harness, with one difference: the body of each test runs under the explorer.
//!
//! A test target that is compiled with `--extern test=libicb_harness.rlib` calls `test_main_static`, or in newer releases
//! `test_main_env_args`, here instead of the harness's own. Arguments, filters, listing, `#[ignore]` and output are the real harness's work. `#[should_panic]`
//! is decided here: every execution has to panic as expected. A test that returns an error fails like one that panics.
//!
//! With `ICB_ONCE` in the environment tests run as they are, once, outside any model.

#![cfg_attr(icb_harness, feature(test))]

#[cfg(icb_harness)]
extern crate test as real;

#[cfg(all(icb_harness, icb_system_dates))]
mod clock;

#[cfg(icb_harness)]
pub use explored::*;

/// What an execution frees is used again only after its end.
#[cfg(all(icb_harness, feature = "allocator"))]
#[global_allocator]
static ALLOCATOR: icb_core::runtime::Allocator = icb_core::runtime::Allocator;

#[cfg(icb_harness)]
mod explored {
    use icb_std::model::Builder;
    use std::any::Any;
    use std::panic::{catch_unwind, resume_unwind};

    pub use ::real::*;

    /// The body of a test, as the compiler makes it.
    type Body = fn() -> Result<(), String>;

    /// What keeps the body of a test that is made here.
    #[cfg(not(icb_harness_slices))]
    use std::boxed::Box as Keeper;
    #[cfg(icb_harness_slices)]
    use std::sync::Arc as Keeper;

    /// Mirrors `test::test_main_static`, which the `main` of a test target calls: runs the tests that the command line
    /// selects, each under the explorer.
    #[cfg(not(icb_harness_slices))]
    pub fn test_main_static(tests: &[&TestDescAndFn]) {
        test_main(&arguments(), wrapped(tests), None);
    }

    /// Mirrors `test::test_main_env_args`, which the `main` of a test target calls: runs the tests that the command line
    /// selects, each under the explorer.
    #[cfg(icb_harness_slices)]
    pub fn test_main_env_args(tests: &[&TestDescAndFn]) -> std::process::ExitCode {
        let tests = wrapped(tests);
        test_main(&arguments(), &tests.iter().collect::<Vec<_>>())
    }

    fn arguments() -> Vec<String> {
        std::env::args().collect()
    }

    fn wrapped(tests: &[&TestDescAndFn]) -> Vec<TestDescAndFn> {
        let once = std::env::var_os("ICB_ONCE").is_some();
        tests.iter().map(|test| if once { as_it_is(test) } else { explored(test) }).collect()
    }

    /// Of a test that the compiler has made; it makes no others.
    fn body(test: &TestDescAndFn) -> Body {
        match test.testfn {
            StaticTestFn(body) => body,
            _ => {
                panic!("the test {} is no function; cargo icb runs functions marked #[test]", test.desc.name)
            }
        }
    }

    fn is_bench(test: &TestDescAndFn) -> bool {
        matches!(test.testfn, StaticBenchFn(_))
    }

    fn as_it_is(test: &TestDescAndFn) -> TestDescAndFn {
        let testfn = match test.testfn {
            StaticBenchFn(bench) => StaticBenchFn(bench),
            _ => StaticTestFn(body(test)),
        };
        TestDescAndFn { desc: test.desc.clone(), testfn }
    }

    fn explored(test: &TestDescAndFn) -> TestDescAndFn {
        if is_bench(test) {
            return as_it_is(test);
        }
        let (body, expected) = (body(test), test.desc.should_panic);
        let mut desc = test.desc.clone();
        desc.should_panic = ShouldPanic::No;
        let name = desc.name.to_string();
        let explore = move || {
            icb_std::model::name_first_thread(&name);
            // Where a panic is expected, that of another thread may be what it comes of.
            let builder = match expected {
                ShouldPanic::No => Builder::new(),
                _ => Builder::new().allow_unjoined_panics(true),
            };
            builder.check(move || execution(body, expected));
            Ok(())
        };
        TestDescAndFn { desc, testfn: DynTestFn(Keeper::new(explore)) }
    }

    /// One execution: panics if the test fails in it.
    fn execution(body: Body, expected: ShouldPanic) {
        if expected == ShouldPanic::No {
            if let Err(message) = body() {
                panic!("{message}");
            }
            return;
        }
        match (catch_unwind(body), expected) {
            (Ok(_), _) => panic!("test did not panic as expected"),
            (Err(panic), ShouldPanic::YesWithMessage(words)) => match text(&*panic) {
                Some(message) if message.contains(words) => {}
                Some(message) => {
                    panic!("the test panicked with {message:?}, which does not contain {words:?} as expected")
                }
                None => resume_unwind(panic),
            },
            (Err(_), _) => {}
        }
    }

    fn text(panic: &(dyn Any + Send)) -> Option<&str> {
        let text = panic.downcast_ref::<&'static str>().copied();
        text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
    }
}
