//! The benchmark programs: which there are, and the bug in each version.

use icb_core::model::StateSearch;
use icb_std::model::{Builder, Failure};
use icb_tests::models::transaction_manager::{Action, TransactionManager, Version};
use icb_tests::programs::{ape, bluetooth, dryad, file_system, work_stealing_queue as queue};

/// A benchmark that is right, with the text of its program.
pub(crate) struct Benchmark {
    pub(crate) name: &'static str,
    pub(crate) text: &'static str,
    pub(crate) run: fn(),
}

/// The programs of Table 1, in its order.
pub(crate) const PROGRAMS: [Benchmark; 5] = [
    Benchmark {
        name: "Bluetooth",
        text: include_str!("../../programs/bluetooth.rs"),
        run: || bluetooth::run(bluetooth::Version::Fixed, 2),
    },
    Benchmark {
        name: "File System Model",
        text: include_str!("../../programs/file_system.rs"),
        run: || file_system::run(file_system::Version::Correct, 3, 3, 2),
    },
    Benchmark {
        name: "Work Stealing Queue",
        text: include_str!("../../programs/work_stealing_queue.rs"),
        run: || queue::run(queue::Version::Correct),
    },
    Benchmark {
        name: "APE (stand-in)",
        text: include_str!("../../programs/ape.rs"),
        run: || ape::run(ape::Version::Correct),
    },
    Benchmark {
        name: "Dryad Channels (stand-in)",
        text: include_str!("../../programs/dryad.rs"),
        run: || dryad::run(dryad::Version::Correct),
    },
];

/// A seeded bug.
pub(crate) struct Bug {
    pub(crate) program: &'static str,
    pub(crate) version: String,
    /// The bound that it must be found at.
    pub(crate) bound: u32,
    /// Searches up to a bound: the failure.
    pub(crate) search: Box<dyn Fn(u32) -> Option<Failure>>,
}

/// A program without its bugs.
pub(crate) struct Fixed {
    pub(crate) program: &'static str,
    /// One more than the dearest bug takes.
    pub(crate) bound: u32,
    /// Whether there is no failure up to a bound, everything searched.
    pub(crate) passes: Box<dyn Fn(u32) -> bool>,
}

fn program_bug(
    program: &'static str,
    version: impl std::fmt::Debug,
    bound: u32,
    run: impl Fn() + Send + Sync + Clone + 'static,
) -> Bug {
    let search = move |bound| Builder::new().max_bound(bound).explore(run.clone()).failure;
    Bug { program, version: format!("{version:?}"), bound, search: Box::new(search) }
}

fn fixed_program(program: &'static str, bound: u32, run: fn()) -> Fixed {
    let passes = move |bound| {
        let report = Builder::new().max_bound(bound).explore(run);
        report.failure.is_none() && report.proved_bound() == Some(bound)
    };
    Fixed { program, bound, passes: Box::new(passes) }
}

/// The bugs of Table 2, in its order.
pub(crate) fn bugs() -> Vec<Bug> {
    let mut bugs = vec![program_bug("Bluetooth", bluetooth::Version::Published, 1, || {
        bluetooth::run(bluetooth::Version::Published, 2);
    })];
    for (version, bound) in [
        (queue::Version::LooksBeforeAnnouncing, 1),
        (queue::Version::StealsWithoutLock, 2),
        (queue::Version::NoSpareSlot, 2),
    ] {
        bugs.push(program_bug("Work Stealing Queue", version, bound, move || queue::run(version)));
    }
    for (version, action, bound) in [
        (Version::AbortsCommitted, Action::Commit, 2),
        (Version::NoReference, Action::Delete, 2),
        (Version::AbortsActive, Action::Create, 3),
    ] {
        let model = TransactionManager { version, action, rounds: 2 };
        let search = move |bound| StateSearch::new(&model).max_bound(bound).run().failure;
        let version = format!("{version:?}");
        bugs.push(Bug { program: "Transaction Manager", version, bound, search: Box::new(search) });
    }
    for (version, bound) in [
        (ape::Version::WakesOne, 0),
        (ape::Version::ForgetsSignals, 0),
        (ape::Version::CancelsLate, 1),
        (ape::Version::BorrowsWithoutLock, 2),
    ] {
        bugs.push(program_bug("APE (stand-in)", version, bound, move || ape::run(version)));
    }
    for (version, bound) in [
        (dryad::Version::WaitsUnasked, 0),
        (dryad::Version::FreesEarly, 1),
        (dryad::Version::Overfills, 1),
        (dryad::Version::LosesBytes, 1),
        (dryad::Version::LocksBothWays, 1),
    ] {
        bugs.push(program_bug("Dryad Channels (stand-in)", version, bound, move || dryad::run(version)));
    }
    bugs
}

/// What is right, and must pass one bound further than its dearest bug takes.
pub(crate) fn fixed() -> Vec<Fixed> {
    let mut fixed = vec![
        fixed_program("Bluetooth", 2, PROGRAMS[0].run),
        fixed_program("Work Stealing Queue", 3, PROGRAMS[2].run),
        fixed_program("APE (stand-in)", 3, PROGRAMS[3].run),
        fixed_program("Dryad Channels (stand-in)", 2, PROGRAMS[4].run),
    ];
    let passes = |bound| {
        [Action::Create, Action::Commit, Action::Delete].into_iter().all(|action| {
            let model = TransactionManager { version: Version::Correct, action, rounds: 2 };
            let report = StateSearch::new(&model).max_bound(bound).run();
            report.complete && report.failure.is_none()
        })
    };
    fixed.insert(2, Fixed { program: "Transaction Manager", bound: 4, passes: Box::new(passes) });
    fixed
}
