//! What a command line names and is not there: packages, targets, features, a profile, a triple. It is refused before anything is
//! built, with what there is instead. What depends on the versions of dependencies is left to cargo.

use super::build::rustc;
use super::config::Config;
use super::metadata::{Workspace, is_meant};
use super::{accesses, probe};
use crate::cli::{BuildArgs, TargetArgs};
use crate::exit_code::Error;
use crate::nearest::{did_you_mean, instead_of};
use cargo_metadata::{Package, Target};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};

/// Refuses what is not there.
///
/// # Errors
/// In one sentence, with what there is.
pub(super) fn check(workspace: &Workspace, targets: &TargetArgs, options: &BuildArgs) -> Result<(), Error> {
    check_packages(workspace, targets)?;
    let selected = workspace.selected(targets);
    check_targets(&selected, targets, options)?;
    check_features(workspace, &selected, options)?;
    let config = Config::here()?;
    if let Some(profile) = &options.profile {
        check_profile(profile, &workspace.root, &config)?;
    }
    check_triple(options, &config)?;
    check_wrapper(&config)
}

fn check_packages(workspace: &Workspace, targets: &TargetArgs) -> Result<(), Error> {
    let is_there = |spec: &&String| workspace.packages.iter().any(|package| is_meant(spec, package));
    match targets.package.iter().chain(&targets.exclude).find(|spec| !is_there(spec)) {
        None => Ok(()),
        Some(missing) => {
            let names: Vec<&str> = workspace.names().collect();
            Err(Error::Usage(format!(
                "there is no package `{missing}` in the workspace {}; it has {}",
                workspace.root.display(),
                instead_of(missing, &names)
            )))
        }
    }
}

/// An option that names targets.
struct Named<'a> {
    option: &'static str,
    what: &'static str,
    names: &'a [String],
    is_one: fn(&Target) -> bool,
}

/// The options that name targets.
fn named(targets: &TargetArgs) -> [Named<'_>; 4] {
    [
        Named { option: "--bin", what: "binary", names: &targets.bin, is_one: Target::is_bin },
        Named { option: "--test", what: "integration test", names: &targets.test, is_one: Target::is_test },
        Named { option: "--example", what: "example", names: &targets.example, is_one: Target::is_example },
        Named { option: "--bench", what: "bench", names: &targets.bench, is_one: Target::is_bench },
    ]
}

/// Whether a name on the command line, which may be a pattern, means a target.
fn means(name: &str, target: &Target) -> bool {
    glob::Pattern::new(name).map_or(name == target.name, |pattern| pattern.matches(&target.name))
}

fn is_library(target: &Target) -> bool {
    !(target.is_bin()
        || target.is_test()
        || target.is_example()
        || target.is_bench()
        || target.is_custom_build())
}

fn check_targets(selected: &[&Package], targets: &TargetArgs, options: &BuildArgs) -> Result<(), Error> {
    let all = || selected.iter().flat_map(|package| &package.targets);
    if targets.lib && !selected.is_empty() && !all().any(is_library) {
        return Err(Error::Usage(format!(
            "--lib: there is no library in {}; leave --lib out, or select another package with --package",
            packages(selected)
        )));
    }
    for Named { option, what, names, is_one } in named(targets) {
        let known: BTreeSet<&str> =
            all().filter(|target| is_one(target)).map(|target| target.name.as_str()).collect();
        let is_there = |name: &&String| all().any(|target| is_one(target) && means(name, target));
        if let Some(missing) = names.iter().find(|name| !is_there(name)) {
            let known: Vec<&str> = known.into_iter().collect();
            return Err(Error::Usage(format!(
                "{option} {missing}: there is no {what} of this name in {}; of its kind there is {}",
                packages(selected),
                instead_of(missing, &known)
            )));
        }
        for name in names {
            check_required(selected, &|target| is_one(target) && target.name == *name, options)
                .map_err(|lacks| Error::Usage(format!("{option} {name}: {lacks}")))?;
        }
    }
    Ok(())
}

/// Refuses a target that is named, and whose features are not turned on in any package that has it.
fn check_required(
    selected: &[&Package],
    is_named: &dyn Fn(&Target) -> bool,
    options: &BuildArgs,
) -> Result<(), String> {
    let mut lacking = None;
    for package in selected {
        let on = features_on(package, options);
        // Of a feature of a dependency, cargo knows.
        let lacks = |name: &&String| !name.contains('/') && !on.contains(name.as_str());
        for target in package.targets.iter().filter(|target| is_named(target)) {
            let Some(feature) = target.required_features.iter().find(lacks) else { return Ok(()) };
            lacking = Some(format!(
                "it needs the feature `{feature}` of the package {}, which is not turned on; add --features {feature}",
                package.name
            ));
        }
    }
    lacking.map_or(Ok(()), Err)
}

/// The features of a package that are on.
fn features_on<'a>(package: &'a Package, options: &BuildArgs) -> BTreeSet<&'a str> {
    let is_asked_for = |feature: &str| {
        options.all_features
            || feature == "default" && !options.no_default_features
            || feature_names(options).any(|name| {
                let (of, name) = name.split_once('/').unwrap_or((package.name.as_str(), name));
                of == package.name.as_str() && name == feature
            })
    };
    let known = package.features.keys().map(String::as_str);
    let mut open: Vec<&str> = known.filter(|feature| is_asked_for(feature)).collect();
    let mut on = BTreeSet::new();
    while let Some(feature) = open.pop() {
        if on.insert(feature) {
            open.extend(package.features.get(feature).into_iter().flatten().map(String::as_str));
        }
    }
    on
}

/// `the package a`, `the packages a, b`.
fn packages(selected: &[&Package]) -> String {
    let names: Vec<&str> = selected.iter().map(|package| package.name.as_str()).collect();
    format!("the package{} {}", if names.len() == 1 { "" } else { "s" }, names.join(", "))
}

/// The same selection in a part of its packages: without the targets that only others have. `None`: nothing is left.
pub(super) fn within(targets: &TargetArgs, packages: &[&Package]) -> Option<TargetArgs> {
    let all = || packages.iter().flat_map(|package| &package.targets);
    let kept = |list: &[String], is_one: fn(&Target) -> bool| -> Vec<String> {
        list.iter()
            .filter(|name| all().any(|target| is_one(target) && means(name, target)))
            .cloned()
            .collect()
    };
    let [bin, test, example, bench] = named(targets).map(|Named { names, is_one, .. }| kept(names, is_one));
    let kinds = [targets.bins, targets.all_targets, targets.tests, targets.examples, targets.benches];
    let lists = |targets: [&Vec<String>; 4]| targets.iter().any(|names| !names.is_empty());
    let lib = targets.lib && all().any(is_library);
    let asks = targets.lib || lists([&targets.bin, &targets.test, &targets.example, &targets.bench]);
    let has = lib || kinds.contains(&true) || lists([&bin, &test, &example, &bench]);
    (has || !asks).then(|| TargetArgs {
        package: packages.iter().map(|package| package.name.to_string()).collect(),
        workspace: false,
        exclude: Vec::new(),
        lib,
        bin,
        test,
        example,
        bench,
        ..targets.clone()
    })
}

/// The names in `--features a,b`.
fn feature_names(options: &BuildArgs) -> impl Iterator<Item = &str> {
    let lists = options.features.iter();
    lists.flat_map(|list| list.split([',', ' '])).filter(|name| !name.is_empty())
}

fn check_features(workspace: &Workspace, selected: &[&Package], options: &BuildArgs) -> Result<(), Error> {
    // Before there was a second resolver, features were those of the package in whose directory cargo is called.
    let here = workspace.packages.iter().filter(|package| workspace.is_default(package));
    let concerned: Vec<&Package> = selected.iter().copied().chain(here).collect();
    for name in feature_names(options) {
        let (of, feature) = match name.split_once('/') {
            Some((package, feature)) => (Some(package.trim_end_matches('?')), feature),
            None => (None, name),
        };
        let owners: Vec<&Package> = match of {
            None => concerned.clone(),
            // Of what is no member, cargo knows the features.
            Some(package) => match workspace.member(package) {
                Some(member) => vec![member],
                None => continue,
            },
        };
        if owners.iter().any(|package| package.features.contains_key(feature)) {
            continue;
        }
        let told = if of.is_some() { owners.as_slice() } else { selected };
        let known: BTreeSet<&str> =
            told.iter().flat_map(|package| package.features.keys()).map(String::as_str).collect();
        let known: Vec<&str> = known.into_iter().collect();
        return Err(Error::Usage(format!(
            "--features {name}: there is no feature `{feature}` in {}; there is {}",
            packages(told),
            instead_of(feature, &known)
        )));
    }
    Ok(())
}

/// The options in a part of the packages: without the features that only others have.
pub(super) fn features_within(options: &BuildArgs, packages: &[&Package]) -> BuildArgs {
    let is_here = |name: &&str| {
        name.contains('/') || packages.iter().any(|package| package.features.contains_key(*name))
    };
    let features = feature_names(options).filter(is_here).map(str::to_owned).collect();
    BuildArgs { features, ..options.clone() }
}

/// The profiles that cargo has by itself.
const PROFILES: [&str; 4] = ["bench", "dev", "release", "test"];

fn check_profile(profile: &str, root: &Path, config: &Config) -> Result<(), Error> {
    // A manifest that cannot be read is cargo's to tell.
    let manifest = std::fs::read_to_string(root.join("Cargo.toml")).unwrap_or_default();
    let manifest = manifest.parse::<toml::Table>().unwrap_or_default();
    let Some(configured) = config.profiles() else { return Ok(()) };
    let own = manifest.get("profile").and_then(toml::Value::as_table).into_iter().flat_map(toml::Table::keys);
    let mut known: BTreeSet<&str> = own.map(String::as_str).chain(PROFILES).collect();
    known.extend(configured.iter().map(String::as_str));
    let variable = format!("CARGO_PROFILE_{}_", profile.to_uppercase().replace('-', "_"));
    let is_set = std::env::vars_os().any(|(name, _)| name.to_string_lossy().starts_with(&variable));
    if known.contains(profile) || is_set {
        return Ok(());
    }
    let known: Vec<&str> = known.into_iter().collect();
    Err(Error::Usage(format!(
        "--profile {profile}: there is no such profile in {} or cargo's configuration; there is {}",
        root.join("Cargo.toml").display(),
        instead_of(profile, &known)
    )))
}

fn check_triple(options: &BuildArgs, config: &Config) -> Result<(), Error> {
    let (triple, said) = match &options.target {
        Some(triple) => (triple.clone(), "--target"),
        None => match config.chosen_target() {
            Some((triple, said)) => (triple, said),
            None => return Ok(()),
        },
    };
    // A description in a file is the compiler's to read; the other name means this machine.
    if triple.ends_with(".json") || triple == "host-tuple" {
        return Ok(());
    }
    let known = rustc(&["--print", "target-list"])?;
    // A compiler that names none has its reasons.
    if !known.trim().is_empty() && !known.lines().any(|known| known == triple) {
        return Err(Error::Usage(format!(
            "{said} {triple}: the compiler knows no such target{}; `rustc --print target-list` names all",
            did_you_mean(&triple, known.lines())
        )));
    }
    // No std would help.
    if let Some(reason) = probe::lacking_for(&triple).filter(|_| options.accesses) {
        return Err(accesses::refused(&reason));
    }
    let libraries = rustc(&["--print", "target-libdir", "--target", &triple])?;
    let libraries = libraries.trim();
    if !(libraries.is_empty() || config.brings_std() || Path::new(libraries).is_dir()) {
        return Err(Error::Usage(format!(
            "{said} {triple}: the toolchain has no std for this target ({libraries} is not there); install it, as with \
             `rustup target add {triple}`, or build for another one"
        )));
    }
    Ok(())
}

/// Cargo does so too, but only where the wrapper is the only one.
fn check_wrapper(config: &Config) -> Result<(), Error> {
    let Some(wrapper) = config.wrapper().filter(|wrapper| !wrapper.is_empty()) else { return Ok(()) };
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let tried = Command::new(&wrapper).arg(rustc).arg("-vV").stdin(Stdio::null()).output();
    tried.map(drop).map_err(|error| {
        Error::Usage(format!(
            "cannot run the compiler wrapper {}: {error}; see RUSTC_WRAPPER, and build.rustc-wrapper of cargo's configuration",
            wrapper.display()
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::TargetId;
    use super::*;
    use std::fs;

    const ONE: &str = "[features]\nquick = []\nslow = [\"quick\"]\n[[test]]\nname = \"strict\"\nrequired-features = [\"quick\"]\n";

    /// Two members: one with targets of all kinds and features, one without a library.
    fn workspace(directory: &Path) -> Workspace {
        let write = |path: &str, text: &str| {
            let path = directory.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write(
            "Cargo.toml",
            "[workspace]\nresolver = \"3\"\nmembers = [\"one\", \"two\"]\n[profile.fast]\ninherits = \"release\"\n",
        );
        for (name, more) in [("one", ONE), ("two", "[features]\nloud = []\n")] {
            let package = format!("[package]\nname = \"{name}\"\nversion = \"1.2.3\"\nedition = \"2024\"\n");
            write(&format!("{name}/Cargo.toml"), &(package + more));
        }
        write("one/src/lib.rs", "");
        for path in [
            "one/tests/strict.rs",
            "one/tests/holding.rs",
            "one/examples/demo.rs",
            "one/benches/speed.rs",
            "two/src/main.rs",
        ] {
            write(path, "fn main() {}");
        }
        let options = BuildArgs { manifest_path: Some(directory.join("Cargo.toml")), ..BuildArgs::default() };
        Workspace::load(&options).unwrap()
    }

    fn words(words: &str) -> Vec<String> {
        words.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn what_is_not_there_is_refused_with_what_there_is() {
        let directory = tempfile::tempdir().unwrap();
        let workspace = workspace(directory.path());
        let targets = TargetArgs::default;
        let options = BuildArgs::default;
        let one = || TargetArgs { package: words("one"), ..targets() };
        for (targets, options, expected) in [
            (
                TargetArgs { package: words("on"), ..targets() },
                options(),
                "it has one, two (did you mean `one`?)",
            ),
            (TargetArgs { package: words("one@2"), ..targets() }, options(), "there is no package `one@2`"),
            (TargetArgs { package: words("x*"), ..targets() }, options(), "there is no package `x*`"),
            (
                TargetArgs { exclude: words("three"), workspace: true, ..targets() },
                options(),
                "no package `three`",
            ),
            (
                TargetArgs { test: words("holdin"), ..targets() },
                options(),
                "--test holdin: there is no integration test of this name in the packages one, two; of its kind there is holding, strict (did you mean `holding`?)",
            ),
            (
                TargetArgs { bin: words("one"), ..one() },
                options(),
                "--bin one: there is no binary of this name in the package one; of its kind there is none",
            ),
            (TargetArgs { example: words("x"), ..targets() }, options(), "of its kind there is demo"),
            (TargetArgs { bench: words("demo"), ..targets() }, options(), "of its kind there is speed"),
            (
                TargetArgs { lib: true, package: words("two"), ..targets() },
                options(),
                "--lib: there is no library in the package two",
            ),
            (
                targets(),
                BuildArgs { features: words("quick,quik"), ..options() },
                "--features quik: there is no feature `quik` in the packages one, two; there is loud, quick, slow (did you mean `quick`?)",
            ),
            (
                targets(),
                BuildArgs { features: words("two/quick"), ..options() },
                "--features two/quick: there is no feature `quick` in the package two; there is loud",
            ),
            (
                targets(),
                BuildArgs { profile: Some("fats".to_owned()), ..options() },
                "there is bench, dev, fast, release, test (did you mean `fast`?)",
            ),
            (
                targets(),
                BuildArgs { target: Some("x86_64-unknown-linux-gun".to_owned()), ..options() },
                "--target x86_64-unknown-linux-gun: the compiler knows no such target (did you mean `x86_64-unknown-linux-gnu`?)",
            ),
            (
                targets(),
                BuildArgs { target: Some("avr-none".to_owned()), ..options() },
                "--target avr-none: the toolchain has no std for this target",
            ),
        ] {
            let error = check(&workspace, &targets, &options).unwrap_err();
            assert!(error.to_string().contains(expected), "{error}");
            assert_eq!(error.exit(), crate::exit_code::Exit::Usage);
        }
    }

    #[test]
    fn what_is_there_passes() {
        let directory = tempfile::tempdir().unwrap();
        let workspace = workspace(directory.path());
        let host = super::super::build::host().unwrap();
        let url = format!("file://{}/one", directory.path().canonicalize().unwrap().display());
        let targets = TargetArgs {
            package: vec!["one@1.2".to_owned(), "t*".to_owned(), url],
            test: words("hold*"),
            bin: words("two"),
            lib: true,
            ..TargetArgs::default()
        };
        assert_eq!(workspace.selected(&targets).len(), 2);
        for (package, label, is_there) in [
            ("one", "lib", true),
            ("one", "holding", true),
            ("two", "bin:two", true),
            ("two", "holding", false),
        ] {
            let id = TargetId { package: package.to_owned(), label: label.to_owned() };
            assert_eq!(workspace.has_target(&id), is_there, "{id}");
        }
        for profile in ["fast", "dev", "release"] {
            let options = BuildArgs {
                features: words("quick,loud two/loud serde/derive"),
                profile: Some(profile.to_owned()),
                target: Some(host.clone()),
                ..BuildArgs::default()
            };
            check(&workspace, &targets, &options).unwrap();
        }
    }

    #[test]
    fn a_target_that_needs_a_feature_says_so() {
        let directory = tempfile::tempdir().unwrap();
        let workspace = workspace(directory.path());
        let targets = TargetArgs { test: words("strict"), ..TargetArgs::default() };
        let error = check(&workspace, &targets, &BuildArgs::default()).unwrap_err().to_string();
        assert!(
            error.starts_with("--test strict: it needs the feature `quick` of the package one"),
            "{error}"
        );
        for features in ["quick", "slow", "one/quick"] {
            let options = BuildArgs { features: words(features), ..BuildArgs::default() };
            check(&workspace, &targets, &options).unwrap();
        }
        check(&workspace, &targets, &BuildArgs { all_features: true, ..BuildArgs::default() }).unwrap();
    }

    #[test]
    fn a_part_is_asked_for_what_it_has() {
        let directory = tempfile::tempdir().unwrap();
        let workspace = workspace(directory.path());
        let member = |name| workspace.member(name).unwrap();
        let targets = TargetArgs { test: words("holding"), bin: words("two"), ..TargetArgs::default() };
        let part = |name| within(&targets, &[member(name)]).map(|targets| targets.to_cargo().join(" "));
        assert_eq!(part("one").as_deref(), Some("--package one --test holding"));
        assert_eq!(part("two").as_deref(), Some("--package two --bin two"));
        let lib = TargetArgs { lib: true, ..TargetArgs::default() };
        assert!(within(&lib, &[member("two")]).is_none() && within(&lib, &[member("one")]).is_some());
        let options = BuildArgs { features: words("quick,loud,serde/derive"), ..BuildArgs::default() };
        assert_eq!(features_within(&options, &[member("two")]).features, ["loud", "serde/derive"]);
    }
}
