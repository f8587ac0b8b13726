//! `cargo icb coverage`: one test under several strategies; how many distinct states each has reached after so many
//! executions, as a table, as CSV and as a plot.

use super::select;
use crate::cargo::build;
use crate::cargo::metadata::Workspace;
use crate::cargo::tests::Test;
use crate::cli::CoverageArgs;
use crate::environment;
use crate::exit_code::{Error, Exit};
use crate::report::console::Console;
use crate::report::coverage::{self, Measured};
use crate::settings::{Reduction, Search};
use crate::store::test_path;
use crate::worker::process::{self, Launch};
use icb_core::trace::coverage::{Curve, to_csv};
use icb_core::trace::plot::Plot;
use icb_core::trace::{Report, StrategyKind};
use std::path::Path;

/// Executions of each strategy, unless set.
const EXECUTIONS: u64 = 1_000;
/// Executions of each bound whose blocking steps are counted, for Theorem 1.
const MEASURED: u64 = 100;
/// Ends the name of a strategy that leaves out equivalent executions.
const REDUCED: &str = "+por";

/// Runs the command.
pub(crate) fn run(arguments: &CoverageArgs) -> Result<Exit, Error> {
    check(&arguments.search, |variable| std::env::var_os(variable).is_some())?;
    let strategies: Vec<(&str, Search)> = arguments
        .strategies
        .iter()
        .map(|name| Ok((name.as_str(), search(name, arguments)?)))
        .collect::<Result<_, _>>()?;
    if let Some((first, second)) = twice(&strategies) {
        return Err(Error::Usage(format!(
            "--strategies: {second} is {first} once more, and there would be two columns that are equal; leave one out"
        )));
    }
    let workspace = Workspace::load(&arguments.build)?;
    let _lock = workspace.lock()?;
    let build = build::build(&workspace, &arguments.targets, &arguments.build)?;
    let tests = select(
        &workspace,
        &build,
        &arguments.build,
        std::slice::from_ref(&arguments.test),
        &arguments.filter,
    )?;
    let [test] = tests.as_slice() else {
        let names: Vec<String> = tests.iter().map(|test| test.id.to_string()).collect();
        let message = format!(
            "coverage is of one test, and these match: {}; give a whole name with --exact",
            names.join(", ")
        );
        return Err(Error::Usage(message));
    };
    let mut console = Console::new(Vec::new());
    console.line(&format!("    Coverage of {}", test.id));
    let directory = workspace.directory.join("work").join(test_path(&test.id)).join("coverage");
    let mut measured = Vec::new();
    for (name, search) in strategies {
        let report = report(test, &search, arguments, &directory)?;
        console.line(&coverage::strategy_line(name, &report));
        measured.push(Measured { name: name.to_owned(), report });
    }
    console.line("");
    coverage::tables(&measured).iter().for_each(|line| console.line(line));
    let into = arguments.output.clone().unwrap_or_else(|| workspace.directory.join("coverage"));
    for path in write(&into, test, &measured)? {
        console.line(&format!("     Written {path}"));
    }
    console.finish(Exit::Passed)
}

/// Refuses options that a comparison has no use for. Of variables, which may be meant for other subcommands, it is told elsewhere.
fn check(search: &Search, is_set: impl Fn(&str) -> bool) -> Result<(), Error> {
    let named = "the strategies that are compared, and their reduction, are those of --strategies";
    let unexplained = "it counts failures, and explains none";
    for (option, variable, is_given, why) in [
        ("--strategy", "ICB_STRATEGY", search.strategy.is_some(), named),
        ("--reduction", "ICB_REDUCTION", search.reduction.is_some(), named),
        ("--spurious", "ICB_SPURIOUS", search.spurious == Some(true), environment::NEVER_SPURIOUS),
        ("--simplify", "ICB_SIMPLIFY_SECONDS", search.simplify.is_some(), unexplained),
        ("--explain", "ICB_EXPLAIN_SECONDS", search.explain.is_some(), unexplained),
    ] {
        if is_given && !is_set(variable) {
            return Err(Error::Usage(format!("{option} has no effect on coverage: {why}; leave it out")));
        }
    }
    Ok(())
}

/// Two names of one search.
fn twice<'a>(strategies: &[(&'a str, Search)]) -> Option<(&'a str, &'a str)> {
    let mut numbered = strategies.iter().enumerate();
    numbered.find_map(|(number, (name, search))| {
        let (first, _) = strategies[..number].iter().find(|(_, other)| other == search)?;
        Some((*first, *name))
    })
}

/// The search that a name on the command line stands for.
fn search(name: &str, arguments: &CoverageArgs) -> Result<Search, Error> {
    let (plain, reduction) = match name.strip_suffix(REDUCED) {
        Some(plain) => (plain, Reduction::PartialOrder),
        None => (name, Reduction::None),
    };
    let strategy: StrategyKind = plain.parse().map_err(Error::Usage)?;
    if reduction == Reduction::PartialOrder && !strategy.is_by_preemptions() {
        return Err(Error::Usage(format!("{name}: only icb has a reduction; write icb{REDUCED}")));
    }
    let max_executions = arguments.search.max_executions.or(Some(EXECUTIONS));
    let search = Search {
        strategy: Some(strategy),
        reduction: Some(reduction),
        max_executions,
        ..arguments.search.clone()
    };
    search.check()?;
    Ok(search)
}

/// Runs the test under one strategy, all bounds in one process.
fn report(
    test: &Test<'_>,
    search: &Search,
    arguments: &CoverageArgs,
    directory: &Path,
) -> Result<Report, Error> {
    let mut environment = search.environment();
    environment.push(("ICB_MAX_BOUND", arguments.max_bound.to_string()));
    environment.push(("ICB_KEEP_GOING", "1".to_owned()));
    environment.push(("ICB_MEASURED_EXECUTIONS", MEASURED.to_string()));
    // A loop around a wait that may wake for no reason has no end for a search without a bound.
    environment.push(("ICB_SPURIOUS", "0".to_owned()));
    // What an earlier search has left must not be taken for this one's. It may well not be there.
    let _ = std::fs::remove_dir_all(directory);
    let launch = Launch {
        test,
        directory: directory.to_owned(),
        environment,
        watchdog: arguments.search.watchdog,
        limit: None,
        stop: &|| None,
    };
    let mut outcome = process::run(&launch, &mut |_| {})
        .map_err(|error| Error::internal(format!("cannot run {}", test.id), error))?;
    if let Some(message) = outcome.refused {
        return Err(Error::Usage(message));
    }
    let model = outcome.models.remove(&0).ok_or_else(|| {
        Error::Usage(format!("{} calls no model, so it has one execution and nothing to cover", test.id))
    })?;
    model.finished.ok_or_else(|| {
        let output = outcome.output.trim_end();
        Error::Internal(format!("the process of {} ended before its search did: {output}", test.id))
    })
}

/// Writes the table and the plot; their paths.
fn write(into: &Path, test: &Test<'_>, measured: &[Measured]) -> Result<Vec<String>, Error> {
    let curves: Vec<Curve> = measured.iter().map(|m| Curve::growth(&m.name, &m.report.growth)).collect();
    let plot = Plot {
        title: format!("Coverage of {}", test.id.name),
        x: "executions".to_owned(),
        y: "distinct terminal states".to_owned(),
        log_y: true,
        log_x: false,
    };
    let bounds = coverage::bounds_csv(measured);
    let stem = into.join(test_path(&test.id));
    let mut paths = Vec::new();
    for (extension, text) in [
        ("growth.csv", to_csv("executions", "states", &curves)),
        ("bounds.csv", bounds),
        ("svg", plot.to_svg(&curves)),
    ] {
        // The name of a test may hold a dot, which is none of an extension.
        let mut name = stem.clone().into_os_string();
        name.push(format!(".{extension}"));
        let path = std::path::PathBuf::from(name);
        let written =
            path.parent().map_or(Ok(()), std::fs::create_dir_all).and_then(|()| std::fs::write(&path, text));
        written.map_err(|error| {
            Error::Usage(format!(
                "cannot write {}: {error}; name another directory with --output",
                path.display()
            ))
        })?;
        paths.push(path.display().to_string());
    }
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_without_effect_are_refused() {
        let limited = Search { max_executions: Some(5), spurious: Some(false), ..Search::default() };
        check(&limited, |_| false).unwrap();
        let dfs = Search { strategy: "dfs".parse().ok(), ..Search::default() };
        assert!(check(&dfs, |_| false).unwrap_err().to_string().starts_with("--strategy has no effect on "));
        check(&dfs, |variable| variable == "ICB_STRATEGY").unwrap();
        let explained = Search { explain: Some(1.0), ..Search::default() };
        assert_eq!(check(&explained, |_| false).unwrap_err().exit(), Exit::Usage);
    }

    #[test]
    fn a_search_under_two_names_is_found() {
        let search = |strategy: &str, reduction| Search {
            strategy: strategy.parse().ok(),
            reduction: Some(reduction),
            ..Search::default()
        };
        let named = |names: &[&'static str]| -> Vec<(&'static str, Search)> {
            let plain = |name: &&'static str| match name.strip_suffix(REDUCED) {
                Some(plain) => (*name, search(plain, Reduction::PartialOrder)),
                None => (*name, search(name, Reduction::None)),
            };
            names.iter().map(plain).collect()
        };
        assert_eq!(twice(&named(&["icb", "icb+por", "dfs", "random", "random:1"])), None);
        assert_eq!(twice(&named(&["icb", "dfs", "icb"])), Some(("icb", "icb")));
        assert_eq!(twice(&named(&["random", "random:0"])), Some(("random", "random:0")));
    }
}
