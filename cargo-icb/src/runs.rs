//! Runs on disk: each leaves the lines that it told, so that it can be shown again without running.
//!
//! `<target>/icb/runs/<number>.jsonl`. The latest are kept, the others removed.

use crate::exit_code::Error;
use crate::kind::{Kind, of_another};
use crate::report::json::{self, Line};
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// Runs that are kept.
const KEPT: usize = 20;

/// Writes the lines of a run. A run that cannot be stored is run all the same.
#[derive(Debug)]
pub(crate) struct Recorder {
    file: Option<BufWriter<File>>,
    path: PathBuf,
    number: u64,
}

impl Recorder {
    /// Begins a new run in the directory `<target>/icb`.
    pub(crate) fn new(icb_directory: &Path) -> Recorder {
        let directory = icb_directory.join("runs");
        let known = numbers(&directory);
        let number = known.last().map_or(1, |(number, _)| number + 1);
        for (_, path) in known.iter().rev().skip(KEPT - 1) {
            // A run that cannot be removed is there a little longer.
            let _ = fs::remove_file(path);
        }
        let _ = fs::create_dir_all(&directory);
        let path = directory.join(format!("{number}.jsonl"));
        let file = File::create(&path).ok().map(BufWriter::new);
        Recorder { file, path, number }
    }

    /// Number of the run, if all of it so far is stored.
    pub(crate) fn number(&self) -> Option<u64> {
        self.file.as_ref().map(|_| self.number)
    }

    /// Adds a line.
    pub(crate) fn add(&mut self, line: &Line) {
        if !matches!(line, Line::Progress { .. })
            && let Some(file) = &mut self.file
        {
            let written = writeln!(file, "{}", json::encode(line)).and_then(|()| file.flush());
            if written.is_err() {
                // Half a run would be told as one that was killed.
                self.file = None;
                let _ = fs::remove_file(&self.path);
            }
        }
    }
}

/// The lines of a run: a number, `last`, or the path of a file.
pub(crate) fn read(icb_directory: &Path, run: &str) -> Result<Vec<Line>, Error> {
    let directory = icb_directory.join("runs");
    let known = numbers(&directory);
    let stored = match run {
        "last" => known.last(),
        number => known.iter().find(|(known, _)| known.to_string() == number),
    };
    let path = match stored {
        Some((_, path)) => path.clone(),
        None if Path::new(run).is_file() => PathBuf::from(run),
        None => {
            let have: Vec<String> = known.iter().map(|(number, _)| number.to_string()).collect();
            let remedy = if have.is_empty() {
                "run `cargo icb test` first".to_owned()
            } else {
                format!("give `last`, or one of {}", have.join(", "))
            };
            return Err(Error::NotStored(format!(
                "no run `{run}` is stored in {}; {remedy}",
                directory.display()
            )));
        }
    };
    read_file(&path)
}

/// The lines of a run in a file.
pub(crate) fn read_file(path: &Path) -> Result<Vec<Line>, Error> {
    read_lines(path).map_err(|error| of_another(path, Kind::Run).unwrap_or(error))
}

fn read_lines(path: &Path) -> Result<Vec<Line>, Error> {
    let remedy = "show another one, or run `cargo icb test` again";
    let damaged = |reason: String| Error::Damaged { what: "run", remedy, path: path.to_path_buf(), reason };
    let text = fs::read_to_string(path).map_err(|error| damaged(error.to_string()))?;
    // A run that was killed may have been in the middle of its last line.
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    let lines = whole.lines().enumerate();
    let lines: Vec<Line> = lines
        .map(|(number, line)| {
            json::decode(line).map_err(|error| damaged(format!("line {}: {error}", number + 1)))
        })
        .collect::<Result<_, _>>()?;
    match lines.first() {
        Some(Line::RunStarted { .. }) => Ok(lines),
        Some(_) => Err(damaged("its beginning is missing".to_owned())),
        None => Err(damaged("there is not one line in it".to_owned())),
    }
}

/// The number of the latest run; 0 if there is none.
pub(crate) fn latest(icb_directory: &Path) -> u64 {
    numbers(&icb_directory.join("runs")).last().map_or(0, |(number, _)| *number)
}

/// The stored runs, oldest first.
fn numbers(directory: &Path) -> Vec<(u64, PathBuf)> {
    let mut runs: Vec<(u64, PathBuf)> = fs::read_dir(directory)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| Some((entry.path().file_stem()?.to_str()?.parse().ok()?, entry.path())))
        .collect();
    runs.sort();
    runs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Bound;

    fn begins() -> Line {
        let (version, root) = ("0.1.0".to_owned(), "/r".to_owned());
        let max_bound = Bound::Limited(2);
        Line::RunStarted { version, root, tests: Vec::new(), max_bound, not_instrumented: Vec::new() }
    }

    #[test]
    fn runs_are_kept_and_read_again() {
        let directory = tempfile::tempdir().unwrap();
        for number in 1..=25 {
            let mut recorder = Recorder::new(directory.path());
            assert_eq!(recorder.number(), Some(number));
            recorder.add(&begins());
            recorder.add(&Line::RunFinished { exit: 0, seconds: number as f64 });
        }
        assert_eq!(numbers(&directory.path().join("runs")).len(), KEPT);
        for (name, seconds) in [("last", 25.0), ("7", 7.0)] {
            let ends = Line::RunFinished { exit: 0, seconds };
            assert_eq!(read(directory.path(), name).unwrap(), [begins(), ends]);
        }
        let missing = read(directory.path(), "3").unwrap_err().to_string();
        assert!(missing.contains("no run `3`") && missing.ends_with("24, 25"), "{missing}");
        let path = directory.path().join("runs/25.jsonl");
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, &text[..text.len() - 5]).unwrap();
        assert_eq!(read(directory.path(), "last").unwrap(), [begins()]);
        let ends = text.lines().last().unwrap().to_owned() + "\n";
        for (damage, named) in [
            ("", "there is not one line in it"),
            ("{\"icb\":9}\n", "line 1: "),
            (&ends, "its beginning is missing"),
        ] {
            fs::write(&path, damage).unwrap();
            let error = read(directory.path(), "last").unwrap_err();
            assert_eq!(error.exit(), crate::exit_code::Exit::Stored);
            assert!(
                error.to_string().starts_with("the stored run /") && error.to_string().contains(named),
                "{error}"
            );
        }
    }
}
