//! The default search of one `model`, in parts: who does them.

use super::builder::OnRace;
use super::isolated::Knowledge;
use super::journal::Journal;
use super::process::{Closure, Worker};
use super::records::checksum;
use super::settings::Settings;
use super::strategies::partial_order;
use super::watchdog::Watchdog;
use crate::explore::Explorer;
use crate::program::{Program, Strategy};
use crate::reduction::{Crew, Doing, SplitSearch};
use crate::trace::{Message, Report, journal_name};
use std::path::PathBuf;
use std::rc::Rc;

/// Executions after which an item is cut up, where each takes the time of a fork.
const MAX_ISOLATED_EXECUTIONS: u64 = 64;

impl Worker {
    /// Searches with as many processes as the settings say.
    pub(super) fn search_in_parts(
        &self,
        f: &Closure,
        explorer: &mut Explorer<'_>,
        program: &mut dyn Program,
        watchdog: &Watchdog,
        knowledge: &Rc<Knowledge>,
    ) -> Report {
        let mut search = SplitSearch::of_items(doing(&self.settings));
        if let Some(shard) = self.settings.shard {
            search = search.shard(shard);
        }
        #[cfg(unix)]
        let mut team = self.team(f, watchdog, knowledge);
        #[cfg(unix)]
        let crew = team.as_mut().map(|team| team as &mut dyn Crew);
        #[cfg(not(unix))]
        let crew: Option<&mut dyn Crew> = {
            // Whoever else would do items is a fork of this process.
            let _ = f;
            None
        };
        let Some((path, key)) = self.journal() else {
            if let Some(crew) = crew {
                search = search.with_crew(crew);
            }
            let report = explorer.run(&mut search, program);
            self.tell_part(&search, explorer, &report);
            return report;
        };
        let refuse = |message: &str| self.channel.send(&Message::Refused { message: message.to_owned() });
        let mut journal =
            Journal::open(&path, key, crew, &refuse, watchdog.resting()).unwrap_or_else(|message| {
                refuse(&message);
                panic!("icb: {message}");
            });
        search = search.with_crew(&mut journal);
        let report = explorer.run(&mut search, program);
        self.tell_part(&search, explorer, &report);
        report
    }

    /// Tells what was done of the bound, if it is one part of several.
    fn tell_part(&self, search: &SplitSearch<'_>, explorer: &Explorer<'_>, report: &Report) {
        let bound = search.bound();
        let path = self.file(&format!("states-{bound}"));
        if let (Some(part), Some(path), None) = (search.shard_part(), path, report.stopped) {
            let states: Vec<u8> = explorer.states().iter().flat_map(|state| state.to_le_bytes()).collect();
            if std::fs::write(&path, states).is_ok() {
                let states = path.display().to_string();
                self.channel.send(&Message::Shard { model: self.model, bound, part, states });
            }
        }
    }

    /// Where the journal of the bound is, and the key of what it belongs to; none where nobody wants to go on with it. What is
    /// promoted is not in it.
    pub(super) fn journal(&self) -> Option<(PathBuf, u64)> {
        let settings = &self.settings;
        let is_one_task = settings.max_bound.map_or(settings.at_once, |bound| bound == settings.min_bound);
        let alone =
            settings.on_race == OnRace::Promote || settings.keep_going || settings.measured_executions > 0;
        // That of a search that has diverged before its executions had processes of their own may be there.
        let kind = if settings.isolated { "-isolated" } else { "" };
        let name = journal_name(settings.max_bound) + kind;
        let path = self.file(&name).filter(|_| is_one_task && !alone)?;
        let key = settings.journal_key.as_ref()?;
        let text = format!(
            "{key} {:?} {} {:?} {} {} {} {} {} {}",
            settings.granularity,
            settings.max_steps,
            settings.shard,
            settings.spurious,
            settings.auto_advance,
            settings.weak_memory,
            settings.random_seed,
            settings.isolated,
            settings.reuse_addresses
        );
        Some((path, checksum(text.as_bytes())))
    }

    /// The processes that share the search; none where it is not shared.
    #[cfg(unix)]
    fn team<'a>(
        &'a self,
        f: &'a Closure,
        watchdog: &Watchdog,
        knowledge: &'a Rc<Knowledge>,
    ) -> Option<super::team::Team<'a>> {
        use super::forking::Forking;
        use super::line::{Here, serve};
        use super::team::{Team, Tokens};
        use super::tokens::Pipe;
        use crate::recording::Tape;
        use crate::runtime::CoroutineProgram;
        use std::sync::Arc;
        use std::sync::atomic::{AtomicBool, Ordering};
        let settings = &self.settings;
        // What is promoted, and what failures there are, is found by one.
        let alone =
            settings.on_race == OnRace::Promote || settings.keep_going || settings.measured_executions > 0;
        // A single one only takes over from this process when that has become too large. A process that is not `cargo icb`'s has threads of its own,
        // and is not forked unless that is asked for.
        if alone || (settings.workers < 2 && !self.channel.is_open() && !settings.isolated) {
            return None;
        }
        let tokens = settings.tokens.as_deref().and_then(Pipe::open);
        let tokens = tokens.map(|pipe| Arc::new(pipe) as Arc<dyn Tokens>);
        let work = move |stream| {
            let capacity = (settings.max_steps as usize).saturating_mul(2).clamp(1024, 1 << 28);
            let mut program = CoroutineProgram::new(f.clone(), self.runtime_settings(), Tape::new(capacity));
            if settings.isolated {
                program.set_isolated();
                knowledge.teach(&mut program);
                let mut hand = Forking::new(doing(settings), &mut program, knowledge, self.fork_patience());
                let _ = serve(stream, &mut hand, &AtomicBool::new(false));
                return;
            }
            // Its parent does the item again, and tells.
            // SAFETY: ends the process; nothing of the parent's is to be run down here.
            let end = |_| unsafe { libc::_exit(1) };
            let watchdog = Watchdog::start_for(program.heartbeat(), settings.watchdog, end);
            let resting = watchdog.resting();
            resting.store(true, Ordering::Relaxed);
            // The parent has hung up, or sees that this process has.
            let _ = serve(stream, &mut Here::new(doing(settings), &mut program, knowledge), &resting);
        };
        let team = Team::new(settings.workers, tokens, watchdog.resting(), Box::new(work));
        Some(if settings.isolated { team.isolated(knowledge.clone()) } else { team })
    }
}

/// How items are done.
fn doing(settings: &Settings) -> Doing {
    let doing = Doing::new(partial_order(settings));
    if settings.isolated { doing.max_executions(MAX_ISOLATED_EXECUTIONS) } else { doing }
}
