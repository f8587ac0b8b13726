//! The recipes of the tutorial on more than one machine, as they stand there: their command lines are run with the variables that the
//! systems set, and what is merged is what one run comes to.
#![cfg(unix)]

use icb_tests::tool;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

const TUTORIAL: &str = include_str!("../../icb-std/tutorials/machines.md");

/// A directory where a recipe is tried, with a `cargo` that knows what there is to test, and to a low bound.
struct Place {
    directory: PathBuf,
}

impl Place {
    fn new(name: &str) -> Place {
        let directory = tool::target(env!("CARGO_TARGET_TMPDIR")).join("tmp/machines").join(name);
        let _ = fs::remove_dir_all(&directory);
        fs::create_dir_all(directory.join("bin")).unwrap();
        let place = Place { directory };
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("demo/Cargo.toml");
        let cargo = env!("CARGO");
        place.command(
            "cargo",
            &format!(
                "#!/bin/sh\n[ \"$1\" = icb ] || exec {cargo} \"$@\"\nshift\nif [ \"$1\" = test ]; then\n  shift\n  \
                 set -- test stack --ignored --manifest-path {} --target-dir {} --test long `echo \"$@\" | sed 's/--max-bound [34]/--max-bound 2/'`\n\
                 fi\nexec {} \"$@\"\n",
                manifest.display(),
                tool::target(env!("CARGO_TARGET_TMPDIR")).display(),
                tool::built(env!("CARGO_TARGET_TMPDIR")).display()
            ),
        );
        place
    }

    /// Writes a command that the recipe finds before others of that name.
    fn command(&self, name: &str, text: &str) {
        let path = self.directory.join("bin").join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Runs a script as the system would.
    fn run(&self, script: &str, variables: &[(&str, String)]) -> String {
        let path = format!("{}:{}", self.directory.join("bin").display(), std::env::var("PATH").unwrap());
        let mut command = Command::new("sh");
        command
            .args(["-e", "-c", script])
            .current_dir(&self.directory)
            .env("PATH", path)
            .env("COLUMNS", "120");
        tool::without_settings(&mut command);
        let output = command.envs(variables.iter().cloned()).output().unwrap();
        let text =
            String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{script}\n{text}");
        text
    }
}

/// The first block of code under a heading.
fn block(heading: &str) -> &'static str {
    let section = TUTORIAL.split(&format!("\n## {heading}\n")).nth(1).unwrap();
    let block = section.split("```").nth(1).unwrap();
    block.split_once('\n').unwrap().1
}

/// What is proved, without times.
fn proved(text: &str) -> Vec<String> {
    let lines = text
        .lines()
        .skip_while(|line| *line != "Summary")
        .filter(|line| line.trim_start().starts_with("bound "));
    lines.map(|line| line.split_whitespace().take(6).collect::<Vec<_>>().join(" ")).collect()
}

#[test]
fn recipes_do_what_one_run_does() {
    let whole = proved(&Place::new("whole").run("cargo icb test --max-bound 2", &[]));
    assert_eq!(whole.len(), 3);

    // GNU parallel, or a stand-in that does one after the other.
    let place = Place::new("parallel");
    let parallel =
        Command::new("parallel").arg("--version").output().is_ok_and(|output| output.status.success());
    if !parallel {
        let stand_in = "#!/bin/sh\nset -e\n[ \"$1\" = -j ] && shift 2\nline=''\nwhile [ \"$1\" != ::: ]; do line=\"$line $1\"; shift; done\nshift\n\
                        for word in \"$@\"; do sh -e -c \"`echo \"$line\" | sed \"s/{}/$word/g\"`\"; done\n";
        place.command("parallel", stand_in);
    }
    assert_eq!(proved(place.run(block("GNU parallel"), &[]).rsplit_once("Merging").unwrap().1), whole);

    // GitHub: each `run` of the jobs, but for the installation.
    let place = Place::new("github");
    let lines: Vec<&str> =
        block("GitHub Actions").lines().filter_map(|line| line.trim().strip_prefix("- run: ")).collect();
    let runs: Vec<&str> = lines.into_iter().filter(|line| !line.starts_with("cargo install")).collect();
    let [shard, merge] = runs[..] else { panic!("{runs:?}") };
    for number in 1..=8 {
        place.run(&shard.replace("${{ matrix.shard }}", &number.to_string()), &[]);
    }
    assert_eq!(proved(&place.run(merge, &[])), whole);

    // Kubernetes: the arguments of the shell, folded as YAML does.
    let place = Place::new("kubernetes");
    let arguments = block("Kubernetes").split("args:").nth(1).unwrap().split("volumeMounts:").next().unwrap();
    let line = arguments.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = line.strip_prefix("- ").unwrap().replace(" /results", " results");
    for index in 0..16 {
        place.run(&line, &[("JOB_COMPLETION_INDEX", index.to_string())]);
    }
    assert_eq!(proved(&place.run("cargo icb merge results", &[])), whole);

    // Slurm: the script, as a job of the array.
    let place = Place::new("slurm");
    for number in 1..=16 {
        let variables = [
            ("SLURM_SUBMIT_DIR", place.directory.display().to_string()),
            ("SLURM_CPUS_PER_TASK", "4".to_owned()),
            ("SLURM_ARRAY_TASK_ID", number.to_string()),
            ("SLURM_ARRAY_TASK_COUNT", "16".to_owned()),
        ];
        place.run(block("Slurm"), &variables);
    }
    assert_eq!(proved(&place.run("cargo icb merge results", &[])), whole);
}
