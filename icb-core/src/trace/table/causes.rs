//! What lies behind a failure, in sentences: the orders that it takes, the edge that a data race lacks, who holds what
//! in a deadlock, the loop of a livelock.

use super::frames::{self, Sources, backtrace, endless_backtrace, short_place};
use super::missing::missing;
use super::selection::{cycle, selection, taking};
use super::words::{Detail, Names};
use super::{Line, Rendered, Style, count_of, site, thread_name};
use crate::trace::{
    Action, DeadlockEntry, Explanation, Failure, FailureKind, Frame, MemoryEventKind, RaceAccess,
    SourceLocation, Step, ThreadId, Trace,
};

/// Orders that are listed, at most.
const MAX_ORDERS: usize = 12;

/// The orders that the failure takes.
pub(super) fn orders(out: &mut Rendered, failure: &Failure, names: &Names<'_>, full: bool) {
    let Some(explanation) = &failure.trace.explanation else { return };
    if explanation.executions > 0 {
        out.blank();
        let count = explanation.orders.len();
        let tried = count_of(explanation.executions, "execution");
        match count {
            0 if failure.trace.threads.len() < 2 => {
                out.line("One thread alone fails like this.", Style::Bold)
            }
            0 if failure.trace.steps.iter().all(|step| step.thread == failure.trace.steps[0].thread) => {
                out.line("It fails before any other thread has taken a step.", Style::Bold)
            }
            // A lower bound has passed, so there is one.
            0 if failure.bound > 0 => out.line(
                format!("Which orders it takes cannot be told by exchanging two steps ({tried} tried)."),
                Style::Bold,
            ),
            // How long times are makes no difference to who comes first.
            0 if failure.trace.steps.iter().any(|step| step.operation.action.is_timed()) => out.line(
                format!("It fails whichever two of its steps are exchanged ({tried} tried)."),
                Style::Bold,
            ),
            0 => out.line(
                format!("It fails in whatever order the threads take their steps ({tried} tried)."),
                Style::Bold,
            ),
            1 => out.line(
                format!("It takes this order: without it, it need not fail like this ({tried} tried):"),
                Style::Bold,
            ),
            _ => out.line(
                format!("It takes these orders: with all but one of them, it need not fail like this ({tried} tried):"),
                Style::Bold,
            ),
        }
        let steps = &failure.trace.steps;
        for order in explanation.orders.iter().take(MAX_ORDERS) {
            let Some(before) = steps.get(order.before) else { continue };
            let mut line = Line::of("  ", Style::Plain);
            ordered_step(&mut line, before, names);
            line.push(" before ", Style::Bold);
            match steps.get(order.after) {
                Some(after) => ordered_step(&mut line, after, names),
                None => {
                    let Some(entry) = failure.waiting.get(order.after - steps.len()) else { continue };
                    let thread = entry.thread;
                    line.push(thread.to_string(), Style::Thread(thread.index()));
                    line.push(format!(" {}", names.operation(entry.operation, Detail::Full)), Style::Plain);
                    line.push(" (waits)", Style::Dim);
                }
            }
            if order.without.is_none() {
                line.push(" (not tried)", Style::Dim);
            }
            out.lines.push(line);
        }
        if count > MAX_ORDERS {
            out.line(format!("  … and {} more", count - MAX_ORDERS), Style::Dim);
        }
        if !explanation.complete {
            out.line("  There was no time to try all of them; more with ICB_EXPLAIN_SECONDS.", Style::Dim);
        }
    }
    if let Some(shown) = selection(failure).filter(|_| !full) {
        let (all, shown) = (failure.trace.steps.len(), shown.len());
        if shown < all {
            out.line(
                format!(
                    "Folded: {} of {all} steps, whose order makes no difference; --full shows them.",
                    all - shown
                ),
                Style::Dim,
            );
        }
    }
    simplified(out, explanation);
}

fn ordered_step(line: &mut Line, step: &Step, names: &Names<'_>) {
    line.push(step.thread.to_string(), Style::Thread(step.thread.index()));
    line.push(format!(" {}", names.step(step, Detail::Full)), Style::Plain);
    line.push(format!(" ({})", step.index), Style::Dim);
}

fn simplified(out: &mut Rendered, explanation: &Explanation) {
    let Some(simplified) = &explanation.simplified else { return };
    let ((switches_before, switches), (steps_before, steps)) = (simplified.switches, simplified.steps);
    let reached = if (switches, steps) == (switches_before, steps_before) {
        "No simpler failure was found".to_owned()
    } else {
        format!(
            "Simplified from {switches_before} switches and {steps_before} steps to {switches} and {steps}"
        )
    };
    let effort = if simplified.exhausted {
        format!("no execution with as few preemptions is simpler ({} tried)", simplified.executions)
    } else if simplified.moves_only {
        let tried = count_of(simplified.executions, "execution");
        format!("only moves of steps were tried ({tried}), as each such failure ends its process")
    } else {
        format!("the time was over after {}", count_of(simplified.executions, "execution"))
    };
    out.line(format!("{reached}; {effort}."), Style::Dim);
}

/// That a sleep orders nothing, where somebody seems to have relied on it: a thread that has slept is too early all the same.
pub(super) fn sleep(out: &mut Rendered, failure: &Failure, names: &Names<'_>, sources: &Sources<'_>) {
    let Some(step) = sleep_in_vain(failure) else { return };
    let place =
        step.location.as_ref().map_or(String::new(), |at| format!(" at {}", short_place(at, sources)));
    let mut line = Line::of("A sleep orders nothing: ", Style::Bold);
    thread_name(&mut line, step.thread, names);
    line.push(
        format!(
            " has slept{place}, and the others need not have got anywhere meanwhile. To wait for them: join, or a channel, a \
             Condvar, a Barrier. (--auto-advance: every sleep is long enough.)"
        ),
        Style::Plain,
    );
    out.lines.push(line);
}

/// That a timeout may be over whatever its length, where one is over although others could go on; and the same of a loop that sleeps.
pub(super) fn timeout(out: &mut Rendered, failure: &Failure) {
    let steps = &failure.trace.steps;
    let sleeps = |step: &Step| matches!(step.operation.action, Action::Sleep | Action::SleepUntil);
    let text = if steps.iter().any(|step| step.expires_early() || step.late_count() > 0) {
        "a wait with one may be over while others could go on, whatever its length."
    } else if steps.iter().any(|step| step.spins_on() && sleeps(step)) {
        "a loop that sleeps may go round once more before what it waits for is there, whatever the length of its sleep."
    } else if several_wait_for_a_time(steps) {
        "of several waits for a time, any may be over first where nobody can go on, whatever their lengths."
    } else {
        return;
    };
    let mut line = Line::of("A timeout is an order like others: ", Style::Bold);
    line.push(format!("{text} (--auto-advance: time passes only when nobody can go on.)"), Style::Plain);
    out.lines.push(line);
}

/// Whether a wait of one thread was over in time, and others waited for a time as well.
fn several_wait_for_a_time(steps: &[Step]) -> bool {
    let is_over = |step: &&Step| step.note.as_deref() == Some("timed out");
    let waits = |step: &&Step| step.operation.action.is_timed();
    let Some(first) = steps.iter().find(is_over) else { return false };
    steps.iter().filter(waits).any(|step| step.thread != first.thread)
}

/// The sleep of a thread that came too early after it, while others were there.
fn sleep_in_vain(failure: &Failure) -> Option<&Step> {
    let steps = &failure.trace.steps;
    let is_pair = |step: &Step, other: &Step| {
        step.thread == other.thread && step.location == other.location && step.index != other.index
    };
    let sleeps = || steps.iter().enumerate().filter(|(_, step)| step.operation.action == Action::Sleep);
    // Who sleeps again and again at one place looks whether it has to wait any longer.
    let once = |step: &Step| !sleeps().any(|(_, other)| is_pair(step, other));
    let before =
        |end: usize, thread: ThreadId| sleeps().rfind(|&(at, step)| at < end && step.thread == thread);
    let orders = failure.trace.explanation.iter().flat_map(|explanation| &explanation.orders);
    let mut early: Vec<(usize, ThreadId)> =
        orders.filter_map(|order| Some((order.before, steps.get(order.before)?.thread))).collect();
    if let Some(race) = &failure.race {
        early.extend(race.iter().map(|access| (steps.len(), access.thread)));
    } else if early.is_empty() {
        early.extend(failure.thread.map(|thread| (steps.len(), thread)));
    }
    let mut slept = early.into_iter().filter_map(|(end, thread)| before(end, thread));
    let in_vain = |&(at, step): &(usize, &Step)| once(step) && had_others(steps, at);
    // Where no order is told, whoever has slept may have come too early.
    let any = || sleeps().rev().filter(|_| failure.race.is_none() && !has_orders(failure)).find(in_vain);
    slept.find(in_vain).or_else(any).map(|(_, step)| step)
}

fn has_orders(failure: &Failure) -> bool {
    failure.trace.explanation.iter().any(|explanation| !explanation.orders.is_empty())
}

/// Whether there are more threads at this step than have been joined.
fn had_others(steps: &[Step], at: usize) -> bool {
    let count = |counted: fn(&Action) -> bool| {
        steps[..at].iter().filter(|step| counted(&step.operation.action)).count()
    };
    let spawned = count(|action| matches!(action, Action::Spawn));
    spawned > count(|action| matches!(action, Action::Join))
}

/// Both accesses of a data race, and what is missing between them.
pub(super) fn race(out: &mut Rendered, failure: &Failure, names: &Names<'_>, sources: &Sources<'_>) {
    let Some(race) = &failure.race else { return };
    out.blank();
    let title = match failure.kind {
        FailureKind::UseAfterFree if race[0].frees => "Its end, and its use after that:",
        FailureKind::UseAfterFree => "Its use, and its end, which nothing orders:",
        _ => "The two accesses, which nothing orders:",
    };
    out.line(title, Style::Bold);
    for access in race.iter() {
        let mut line = Line::of("  ", Style::Plain);
        thread_name(&mut line, access.thread, names);
        let verb = match access {
            RaceAccess { ends: true, .. } => " ends, on whose stack it is",
            RaceAccess { frees: true, .. } => " frees it",
            RaceAccess { write: true, .. } => " writes",
            _ if failure.kind == FailureKind::UseAfterFree => " uses it",
            _ => " reads",
        };
        line.push(verb, Style::Plain);
        out.lines.push(line);
        site(out, access.location.as_ref(), &access.backtrace, sources);
    }
    if !race[0].frees && !failure.trace.steps.is_empty() {
        out.blank();
        out.line("What is missing:", Style::Bold);
        for text in missing(failure, race, names, sources) {
            out.line(format!("  {text}"), Style::Plain);
        }
        if let Some(access) = race.iter().find(|access| frames::is_volatile(&access.backtrace)) {
            out.line(
                format!(
                    "  the access of {} is volatile, which orders nothing, and races like any other: a sequence lock that reads first and \
                     validates afterwards is reported too (the manual, Limits); keep in relaxed atomics what it guards, or see with \
                     --on-race promote what the race leads to",
                    access.thread
                ),
                Style::Plain,
            );
        }
    }
}

/// What became of the block of memory.
pub(super) fn memory(out: &mut Rendered, failure: &Failure, names: &Names<'_>, sources: &Sources<'_>) {
    if failure.memory.is_empty() {
        return;
    }
    out.blank();
    out.line("The block of memory:", Style::Bold);
    for event in &failure.memory {
        let words = match event.kind {
            MemoryEventKind::Allocated => " allocates it",
            MemoryEventKind::UsedLast => " uses it for the last time",
            MemoryEventKind::Lost => " frees the last memory known to have held a pointer to it",
            MemoryEventKind::Freed => " frees it",
            MemoryEventKind::FreedAgain => " frees it again",
        };
        let mut line = Line::of("  ", Style::Plain);
        thread_name(&mut line, event.thread, names);
        line.push(words, Style::Plain);
        // What a thread is made of goes as it ends: the tool's frames would say nothing about that.
        let is_outside = !event.backtrace.is_empty() && !event.backtrace.iter().any(frames::is_of_program);
        let shown = if is_outside { &[][..] } else { &event.backtrace };
        if is_outside {
            line.push(", outside the program's own code", Style::Plain);
        }
        out.lines.push(line);
        site(out, event.location.as_ref(), shown, sources);
    }
}

/// Who waits for what, and what the others do with it; the cycle, if it is one.
pub(super) fn waiting(out: &mut Rendered, failure: &Failure, names: &Names<'_>, sources: &Sources<'_>) {
    if failure.waiting.is_empty() {
        return;
    }
    out.blank();
    let cycle = wait_cycle(&failure.waiting);
    if cycle.is_empty() {
        out.line("Who waits for what:", Style::Bold);
    } else {
        let mut line = Line::of("A cycle: ", Style::Bold);
        for thread in &cycle {
            thread_name(&mut line, *thread, names);
            line.push(" → ", Style::Plain);
        }
        thread_name(&mut line, cycle[0], names);
        out.lines.push(line);
    }
    for entry in &failure.waiting {
        let mut line = Line::of("  ", Style::Plain);
        thread_name(&mut line, entry.thread, names);
        line.push(format!(" {}", names.waits(entry)), Style::Plain);
        out.lines.push(line);
        for holder in &entry.held_by {
            if let Some(at) = taking(failure, *holder, entry.operation.object) {
                let step = &failure.trace.steps[at];
                let place = step
                    .location
                    .as_ref()
                    .map_or(String::new(), |at| format!(" at {}", short_place(at, sources)));
                out.line(format!("    {holder} has held it since step {}{place}", step.index), Style::Dim);
            }
        }
        site(out, entry.location.as_ref(), &entry.backtrace, sources);
        if failure.kind == FailureKind::Livelock {
            loop_of(out, failure, entry.thread, names, sources);
        }
    }
}

/// Threads each of which waits for what the next one holds, the last one for the first.
fn wait_cycle(waiting: &[DeadlockEntry]) -> Vec<ThreadId> {
    waiting.iter().find_map(|entry| back_to_first(waiting, &mut vec![entry.thread])).unwrap_or_default()
}

/// The path, gone on with until it would come back to where it has begun.
fn back_to_first(waiting: &[DeadlockEntry], path: &mut Vec<ThreadId>) -> Option<Vec<ThreadId>> {
    let last = *path.last()?;
    let entry = waiting.iter().find(|entry| entry.thread == last)?;
    // Who reads and wants to read once more does not wait for itself.
    for next in entry.behind.into_iter().chain(entry.held_by.iter().copied()) {
        if next == path[0] {
            return Some(path.clone());
        }
        if !path.contains(&next) {
            path.push(next);
            let found = back_to_first(waiting, path);
            if found.is_some() {
                return found;
            }
            path.pop();
        }
    }
    None
}

fn loop_of(
    out: &mut Rendered,
    failure: &Failure,
    thread: ThreadId,
    names: &Names<'_>,
    sources: &Sources<'_>,
) {
    let Some(positions) = cycle(failure, thread) else { return };
    out.line("    again and again:", Style::Dim);
    for position in positions {
        let step = &failure.trace.steps[position];
        let place =
            step.location.as_ref().map_or(String::new(), |at| format!("  {}", short_place(at, sources)));
        let line = Line::of(format!("      {}", names.step(step, Detail::Full)), Style::Plain);
        out.lines.push(line.and(place, Style::Dim));
    }
}

/// Says what to turn on where backtraces have no names or no lines.
pub(super) fn debug_information(out: &mut Rendered, trace: &Trace) {
    let preempted = trace.steps.iter().filter_map(|step| step.preempted.as_deref());
    let all: Vec<&Frame> = preempted.flatten().chain(&trace.failure_backtrace).chain(&trace.frames).collect();
    let named = |frame: &&Frame| frame.function != "<unknown>" && !frame.function.is_empty();
    let located = |frame: &&Frame| {
        let place = |at: &SourceLocation| at.line > 0 && !frames::is_machinery_file(&at.file);
        frame.location.as_ref().is_some_and(place)
    };
    let has_names = all.iter().any(named);
    // Of a test that is to panic and does not, there may be no frame of the program at all.
    let of_program = || all.iter().any(|frame| named(frame) && frames::is_of_program(frame));
    if all.is_empty() || all.iter().any(located) || has_names && !of_program() {
        return;
    }
    out.blank();
    let text = if has_names {
        "The backtraces have no source lines: the test was built without debug information. Set debug = \
         \"line-tables-only\" (or true) in the profile it is built with."
    } else {
        "The backtraces have no names: the test's symbols were stripped. Set strip = false and debug = \
         \"line-tables-only\" (or true) in the profile it is built with."
    };
    out.line(text, Style::Bold);
}

/// The backtrace of the thread that failed.
pub(super) fn failing_thread(
    out: &mut Rendered,
    failure: &Failure,
    names: &Names<'_>,
    sources: &Sources<'_>,
) {
    if failure.trace.failure_backtrace.is_empty() || failure.race.is_some() || !failure.memory.is_empty() {
        return;
    }
    let frames = match failure.kind {
        FailureKind::StackOverflow => endless_backtrace(&failure.trace.failure_backtrace, sources),
        _ => backtrace(&failure.trace.failure_backtrace, sources),
    };
    if frames.is_empty() {
        return;
    }
    out.blank();
    let mut line = Line::of("The failure", Style::Error);
    if let Some(thread) = failure.thread {
        line.push(", in ", Style::Plain);
        thread_name(&mut line, thread, names);
    }
    line.push(":", Style::Plain);
    out.lines.push(line);
    out.lines.extend(frames);
}
