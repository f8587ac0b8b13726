//! One test process: starts it, follows its messages and its output, and notes how it ended.

use crate::cargo::tests::Test;
use crate::environment::PREFIX;
use crate::exit_code::unwritable;
use icb_core::trace::{
    BoundReport, CANNOT_TELL, CANNOT_TELL_EXIT, Failure, Message, Report, ShardPart, Stopped, Trace, decode,
};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// For so long nothing comes from a process that has ended before it is taken to be all: on a busy machine, what has been printed is read late.
const SILENCE: Duration = Duration::from_secs(1);
/// How often the channel is looked at.
const POLL: Duration = Duration::from_millis(50);
/// How long what has been printed is taken in when the process has ended.
const MAX_REST: Duration = Duration::from_secs(2);
/// Pieces of output that may wait to be taken in; then who prints waits.
const WAITING_PIECES: usize = 64;
/// How much of a process's output is kept: its end.
const MAX_OUTPUT: usize = 256 * 1024;
/// After this many times the watchdog's time without a message, the watchdog itself is taken for dead.
const PATIENCE: f64 = 6.0;
/// So many seconds more than its limit a process may be silent, in the middle of an execution.
const MAX_LATE: f64 = 5.0;
/// The watchdog's time where no other is set.
pub(crate) const DEFAULT_WATCHDOG: f64 = 10.0;

/// What to run.
pub(crate) struct Launch<'a> {
    /// The test.
    pub(crate) test: &'a Test<'a>,
    /// Where the process keeps its files.
    pub(crate) directory: PathBuf,
    /// `ICB_*` variables.
    pub(crate) environment: Vec<(&'static str, String)>,
    /// The watchdog's time in seconds, if one is set.
    pub(crate) watchdog: Option<f64>,
    /// For so many seconds it searches, if there is a limit. It looks at the clock between executions.
    pub(crate) limit: Option<f64>,
    /// Says why the process is to be ended, once it is.
    pub(crate) stop: Stop<'a>,
}

/// Asked again and again while a process runs.
pub(crate) type Stop<'a> = &'a (dyn Fn() -> Option<String> + Sync);

/// What one call of `model` has told.
#[derive(Default, Debug)]
pub(crate) struct ModelOutcome {
    /// Bounds that are over.
    pub(crate) bounds: Vec<BoundReport>,
    /// Figures of the bound at work.
    pub(crate) progress: Option<BoundReport>,
    /// The failure.
    pub(crate) failure: Option<Failure>,
    /// What a replay has done so far.
    pub(crate) traced: Trace,
    /// The replayed schedule passed.
    pub(crate) passed: Option<Failure>,
    /// The end.
    pub(crate) finished: Option<Report>,
    /// What was done of a bound, where it is one part of several, and the file of the states.
    pub(crate) part: Option<(ShardPart, PathBuf)>,
}

/// How a process ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum End {
    /// With an exit code.
    Code(i32),
    /// By a signal.
    #[cfg_attr(not(unix), expect(dead_code, reason = "there are no signals"))]
    Signal(i32),
    /// We ended it: it had not said anything for too long.
    Silent,
    /// We ended it, because we were asked to.
    Stopped,
}

/// What a process has done.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// How it ended.
    pub(crate) end: End,
    /// What each call of `model` has told.
    pub(crate) models: BTreeMap<u32, ModelOutcome>,
    /// The settings were refused.
    pub(crate) refused: Option<String>,
    /// A line that could not be understood.
    pub(crate) misunderstood: Option<String>,
    /// The end of what it printed.
    pub(crate) output: String,
    /// Why it was ended.
    pub(crate) stopped: Option<String>,
}

impl Outcome {
    /// Whether a search has come to its limit on executions.
    pub(crate) fn has_stopped_by_executions(&self) -> bool {
        let mut reports = self.models.values().filter_map(|told| told.finished.as_ref());
        reports.any(|report| report.stopped == Some(Stopped::Executions))
    }

    fn note(&mut self, message: Message) {
        match message {
            Message::Started { model, .. } => drop(self.models.entry(model).or_default()),
            Message::Progress { model, bound, .. } => {
                self.models.entry(model).or_default().progress = Some(bound);
            }
            Message::Bound { model, bound, .. } => {
                let model = self.models.entry(model).or_default();
                model.progress = None;
                model.bounds.push(bound);
            }
            Message::Failure { model, failure } => {
                // What a replay goes on to do after its failure can fail in other ways.
                self.models.entry(model).or_default().failure.get_or_insert(*failure);
            }
            Message::Explained { model, failure } => {
                self.models.entry(model).or_default().failure = Some(*failure);
            }
            Message::Traced { model, piece } => {
                piece.add_to(&mut self.models.entry(model).or_default().traced)
            }
            Message::ReplayPassed { model, failure } => {
                self.models.entry(model).or_default().passed = Some(*failure);
            }
            Message::Finished { model, report } => {
                let model = self.models.entry(model).or_default();
                // What is found out last of all.
                for bound in &mut model.bounds {
                    report.bounds.iter().for_each(|other| bound.restrict_as(other));
                }
                model.finished = Some(*report);
            }
            Message::Shard { model, part, states, .. } => {
                self.models.entry(model).or_default().part = Some((part, states.into()));
            }
            Message::Refused { message } => self.refused = Some(message),
            _ => {}
        }
    }
}

/// Runs the process to its end; `on_message` sees each message as it arrives.
pub(crate) fn run(launch: &Launch<'_>, on_message: &mut dyn FnMut(&Message)) -> io::Result<Outcome> {
    let channel_path = launch.directory.join("channel");
    let created = fs::create_dir_all(&launch.directory).and_then(|()| Channel::create(&channel_path));
    let mut outcome = Outcome {
        end: End::Silent,
        models: BTreeMap::new(),
        refused: None,
        misunderstood: None,
        output: String::new(),
        stopped: None,
    };
    let mut channel = match created {
        Ok(channel) => channel,
        Err(error) => {
            outcome.refused = Some(unwritable(&channel_path, error));
            return Ok(outcome);
        }
    };
    let temporary = Temporary::new(launch);
    let (mut child, mut output) = spawn(command(launch, &channel_path, temporary.as_ref()))?;
    let patience = launch.watchdog.unwrap_or(DEFAULT_WATCHDOG) * PATIENCE;
    let mut heard = Instant::now();
    loop {
        if output.wait(POLL) {
            // The process has ended, or soon will.
            std::thread::sleep(Duration::from_millis(1));
        }
        let status = child.try_wait()?;
        for line in channel.lines()? {
            heard = Instant::now();
            match decode(&line) {
                Ok(message) => {
                    on_message(&message);
                    outcome.note(message);
                }
                Err(error) => outcome.misunderstood = Some(error.to_string()),
            }
        }
        if let Some(status) = status {
            outcome.end = end_of(status);
            break;
        }
        if let Some(reason) = (launch.stop)() {
            child.kill()?;
            child.wait()?;
            (outcome.end, outcome.stopped) = (End::Stopped, Some(reason));
            break;
        }
        let silence = heard.elapsed().as_secs_f64();
        let is_late = launch.limit.is_some_and(|limit| silence > limit + MAX_LATE);
        if is_inside_model(&outcome) && (is_late || silence > patience) {
            child.kill()?;
            child.wait()?;
            if is_late {
                let reason = "stopped by the limit on time in the middle of an execution".to_owned();
                (outcome.end, outcome.stopped) = (End::Stopped, Some(reason));
            }
            break;
        }
    }
    outcome.output = output.finish();
    if outcome.end == End::Code(CANNOT_TELL_EXIT) {
        outcome.refused = cannot_tell(&outcome.output).or(outcome.refused);
    }
    Ok(outcome)
}

/// A directory for the temporary files of one test, the same in each of its processes, which run one after the other: names that are drawn at random are
/// the same in all processes, and would meet in one that all tests have. It is emptied before and goes afterwards.
struct Temporary(PathBuf);

impl Temporary {
    /// `None`: there can be none, and the test has the one that all have.
    fn new(launch: &Launch<'_>) -> Option<Temporary> {
        let test = launch.test;
        // Shards run beside each other.
        let shard = launch.environment.iter().find(|(name, _)| *name == "ICB_SHARD");
        let mut hasher = DefaultHasher::new();
        (&test.executable.path, test.id.to_string(), shard).hash(&mut hasher);
        let path = std::env::temp_dir().join(format!("icb-{:016x}", hasher.finish()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir(&path).ok().map(|()| Temporary(path))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Why a process could not go on telling, if that is what has ended it.
fn cannot_tell(output: &str) -> Option<String> {
    let why = output.lines().rev().find_map(|line| line.strip_prefix(CANNOT_TELL))?;
    Some(format!(
        "the test process cannot write its messages to {why}; make room there, or name another directory with --target-dir"
    ))
}

/// Whether a call of `model` has begun and not ended. Outside, a test may take as long as it likes.
fn is_inside_model(outcome: &Outcome) -> bool {
    outcome
        .models
        .values()
        .any(|model| model.finished.is_none() && model.failure.is_none() && model.passed.is_none())
}

/// What a test executable is called with to run one test.
pub(crate) fn test_arguments(test: &Test<'_>) -> Vec<String> {
    let mut arguments =
        ["--exact", &test.id.name, "--nocapture", "--test-threads=1"].map(str::to_owned).to_vec();
    if test.ignored {
        arguments.push("--include-ignored".to_owned());
    }
    arguments
}

/// By which proptest is told to keep no failures in files.
const UNREMEMBERED: &str = "PROPTEST_DISABLE_FAILURE_PERSISTENCE";

fn command(launch: &Launch<'_>, channel: &Path, temporary: Option<&Temporary>) -> Command {
    let test = launch.test;
    let mut command = test.executable.command();
    command.args(test_arguments(test));
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with(PREFIX)) {
        command.env_remove(name);
    }
    // A failure that it remembers is tried first in the next execution, which is another one then.
    if std::env::var_os(UNREMEMBERED).is_none() {
        command.env(UNREMEMBERED, "1");
    }
    if let Some(Temporary(path)) = temporary.filter(|_| cfg!(unix)) {
        command.env("TMPDIR", path);
    }
    command
        .current_dir(&test.executable.directory)
        .envs(test.executable.environment.iter().map(|(name, value)| (name, value)))
        .envs(launch.environment.iter().map(|(name, value)| (name, value)))
        .env("ICB_CHANNEL", channel)
        .env("ICB_DIRECTORY", &launch.directory)
        .stdin(Stdio::null());
    before_it_begins(&mut command);
    command
}

/// Ctrl-C is for us alone; and when we are killed, the process is. Its program lies where it lies in the others: a replay is to find
/// the same addresses as the search. (Some containers refuse that: what depends on the address of a `static` then diverges.)
fn before_it_begins(command: &mut Command) {
    #[cfg(not(unix))]
    let _ = command;
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    #[cfg(target_os = "linux")]
    {
        let parent = std::process::id();
        let tie = move || {
            // SAFETY: plain system calls, allowed between fork and exec.
            let orphaned = unsafe {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                let persona = libc::personality(0xFFFF_FFFF);
                if persona >= 0 {
                    libc::personality((persona | libc::ADDR_NO_RANDOMIZE) as _);
                }
                libc::getppid() as u32 != parent
            };
            if orphaned { Err(io::ErrorKind::BrokenPipe.into()) } else { Ok(()) }
        };
        // SAFETY: the closure allocates nothing and takes no lock.
        unsafe { std::os::unix::process::CommandExt::pre_exec(command, tie) };
    }
}

fn end_of(status: ExitStatus) -> End {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return End::Signal(signal);
    }
    End::Code(status.code().unwrap_or(-1))
}

/// The file to which the process appends its messages.
struct Channel {
    file: File,
    position: u64,
    /// The beginning of a line whose end has not been written yet.
    rest: Vec<u8>,
}

impl Channel {
    fn create(path: &Path) -> io::Result<Channel> {
        File::create(path)?;
        Ok(Channel { file: File::open(path)?, position: 0, rest: Vec::new() })
    }

    /// The lines that have been completed since the last call.
    fn lines(&mut self) -> io::Result<Vec<String>> {
        self.file.seek(SeekFrom::Start(self.position))?;
        self.position += self.file.read_to_end(&mut self.rest)? as u64;
        let Some(end) = self.rest.iter().rposition(|byte| *byte == b'\n') else { return Ok(Vec::new()) };
        let whole: Vec<u8> = self.rest.drain(..=end).collect();
        let text = String::from_utf8_lossy(&whole);
        Ok(text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect())
    }
}

/// Starts the process. Both of its streams are one pipe, so that what it prints keeps its order.
fn spawn(mut command: Command) -> io::Result<(Child, Output)> {
    let (reader, writer) = io::pipe()?;
    let child = command.stdout(writer.try_clone()?).stderr(writer).spawn()?;
    Ok((child, Output::follow(reader)))
}

/// The end of what a process prints.
struct Output {
    pieces: Receiver<Vec<u8>>,
    kept: Vec<u8>,
}

impl Output {
    fn follow(mut stream: impl Read + Send + 'static) -> Output {
        let (sender, pieces) = mpsc::sync_channel(WAITING_PIECES);
        std::thread::spawn(move || {
            let mut buffer = [0; 8192];
            while let Ok(count @ 1..) = stream.read(&mut buffer) {
                if sender.send(buffer[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        Output { pieces, kept: Vec::new() }
    }

    /// Takes in what is printed, for so long or until its streams are closed; then it is true. Some print without end.
    fn wait(&mut self, time: Duration) -> bool {
        let end = Instant::now() + time;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            match self.pieces.recv_timeout(left) {
                Ok(piece) => self.keep(&piece),
                Err(RecvTimeoutError::Timeout) => return false,
                Err(RecvTimeoutError::Disconnected) => return true,
            }
            if left.is_zero() {
                return false;
            }
        }
    }

    fn keep(&mut self, piece: &[u8]) {
        self.kept.extend_from_slice(piece);
        if self.kept.len() > 2 * MAX_OUTPUT {
            let surplus = self.kept.len() - MAX_OUTPUT;
            self.kept.drain(..surplus);
        }
    }

    /// What has been printed. A grandchild may hold the streams open, and print on; it is not waited for.
    fn finish(mut self) -> String {
        let end = Instant::now() + MAX_REST;
        while let Ok(piece) = self.pieces.recv_timeout(SILENCE) {
            self.keep(&piece);
            if Instant::now() >= end {
                break;
            }
        }
        let kept = self.kept;
        String::from_utf8_lossy(&kept[kept.len().saturating_sub(MAX_OUTPUT)..]).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn the_channel_gives_whole_lines_only() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("channel");
        let mut channel = Channel::create(&path).unwrap();
        let mut writer = File::options().append(true).open(&path).unwrap();
        assert!(channel.lines().unwrap().is_empty());
        writer.write_all(b"one\ntw").unwrap();
        assert_eq!(channel.lines().unwrap(), ["one"]);
        writer.write_all(b"o\nthree\n").unwrap();
        assert_eq!(channel.lines().unwrap(), ["two", "three"]);
        writer.write_all(b"half").unwrap();
        assert!(channel.lines().unwrap().is_empty());
    }

    #[test]
    #[cfg(unix)]
    fn who_prints_without_end_does_not_hold_up() {
        let (mut child, mut output) = spawn(Command::new("yes")).unwrap();
        assert!(!output.wait(POLL));
        assert!(output.finish().contains("y\ny\n"));
        child.kill().and_then(|()| child.wait()).unwrap();
    }

    #[test]
    #[cfg(unix)]
    fn what_is_printed_on_two_streams_keeps_its_order() {
        let mut shell = Command::new("sh");
        shell.args(["-c", "for n in 1 2 3 4 5 6 7 8 9; do echo out $n; echo error $n >&2; done"]);
        let (mut child, output) = spawn(shell).unwrap();
        let expected: String = (1..10).map(|n| format!("out {n}\nerror {n}\n")).collect();
        assert_eq!(output.finish(), expected);
        child.wait().unwrap();
    }
}
