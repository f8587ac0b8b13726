//! The default search of one `model`, in parts: who does them.

use super::builder::OnRace;
use super::journal::{Journal, checksum};
use super::process::{Closure, Worker};
use super::strategies::partial_order;
use super::watchdog::Watchdog;
use crate::explore::Explorer;
use crate::recording::Tape;
use crate::reduction::{Crew, Doing, SplitSearch};
use crate::runtime::CoroutineProgram;
use crate::trace::{Message, Report};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl Worker {
    /// Searches with as many processes as the settings say.
    pub(super) fn search_in_parts(
        &self,
        f: &Closure,
        explorer: &mut Explorer<'_>,
        program: &mut CoroutineProgram,
        watchdog: &Watchdog,
    ) -> Report {
        let mut search = SplitSearch::new(partial_order(&self.settings));
        #[cfg(unix)]
        let mut team = self.team(f, watchdog);
        #[cfg(unix)]
        let crew = team.as_mut().map(|team| team as &mut dyn Crew);
        #[cfg(not(unix))]
        let crew = None;
        let Some((path, key)) = self.journal() else {
            if let Some(crew) = crew {
                search = search.with_crew(crew);
            }
            return explorer.run(&mut search, program);
        };
        let mut journal = Journal::open(&path, key, crew).unwrap_or_else(|message| {
            self.channel.send(&Message::Refused { message: message.clone() });
            panic!("icb: {message}");
        });
        explorer.run(&mut search.with_crew(&mut journal), program)
    }

    /// Where the journal of the bound is, and the key of what it belongs to; none where nobody wants to go on with it. What is
    /// promoted is not in it.
    fn journal(&self) -> Option<(PathBuf, u64)> {
        let settings = &self.settings;
        let one_bound = settings.max_bound == Some(settings.min_bound);
        let alone =
            settings.on_race == OnRace::Promote || settings.keep_going || settings.measured_executions > 0;
        let path = self.file(&format!("journal-{}", settings.min_bound)).filter(|_| one_bound && !alone)?;
        let text =
            format!("{} {:?} {:?}", settings.journal_key.as_ref()?, settings.granularity, settings.max_steps);
        Some((path, checksum(text.as_bytes())))
    }

    /// The processes that share the search; none where it is not shared.
    #[cfg(unix)]
    fn team<'a>(&'a self, f: &'a Closure, watchdog: &Watchdog) -> Option<super::team::Team<'a>> {
        use super::team::{Team, Tokens, serve};
        use super::tokens::Pipe;
        let settings = &self.settings;
        // What is promoted, and what failures there are, is found by one.
        let alone =
            settings.on_race == OnRace::Promote || settings.keep_going || settings.measured_executions > 0;
        if settings.workers < 2 || alone {
            return None;
        }
        let tokens = settings.tokens.as_deref().and_then(Pipe::open);
        let tokens = tokens.map(|pipe| Arc::new(pipe) as Arc<dyn Tokens>);
        let work = move |stream| {
            let capacity = (settings.max_steps as usize).saturating_mul(2).clamp(1024, 1 << 28);
            let mut program = CoroutineProgram::new(f.clone(), self.runtime_settings(), Tape::new(capacity));
            // Its parent does the item again, and tells.
            // SAFETY: ends the process; nothing of the parent's is to be run down here.
            let end = |_| unsafe { libc::_exit(1) };
            let watchdog = Watchdog::start_for(program.heartbeat(), settings.watchdog, end);
            let resting = watchdog.resting();
            resting.store(true, Ordering::Relaxed);
            let mut doing = Doing::new(partial_order(settings));
            // The parent has hung up, or sees that this process has.
            let _ = serve(stream, &mut doing, &mut program, &resting);
        };
        Some(Team::new(settings.workers, tokens, watchdog.resting(), Box::new(work)))
    }
}
