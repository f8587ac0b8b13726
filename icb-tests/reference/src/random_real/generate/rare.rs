//! More random programs of few words, as in [`dense`], of what the other themes have nothing of: loops of waits for a time, what is
//! dropped and then looks, chooses, loops or waits for threads, channels that are made to get an answer, wakers of tasks, objects on
//! stacks of which the next one lies where the last one did.

use super::Random;
use super::dense::{self, Word, of_words};
use crate::random_real::language::Instruction::{self, *};
use crate::random_real::language::{Farewell, Handle, Kept, Order, Patience, Pause, Program, Span, Use};

/// Loops that sleep, or wait for a time, between two looks.
const PATIENT: &[Word] = &[
    &[AwaitNonZero { variable: 0, pause: Pause::Sleep }],
    &[AwaitNonZero { variable: 0, pause: Pause::Park }],
    &[AwaitNonZero { variable: 1, pause: Pause::Sleep }],
    &[AwaitEither(Pause::Park)],
    &[AwaitBoth(Pause::Sleep)],
    &[AwaitEnd(1, Pause::Sleep)],
    &[AwaitEnd(1, Pause::Park)],
    &[AwaitMessage(0, Pause::Sleep)],
    &[AwaitMessage(0, Pause::Park)],
    &[AwaitOwner(Pause::Sleep)],
    &[AwaitLock { object: 0, writes: false, pause: Pause::Sleep }],
    &[AwaitLock { object: 0, writes: true, pause: Pause::Park }],
    &[SpinLock { variable: 0, swaps: false, pause: Pause::Sleep }],
    &[SpinLock { variable: 0, swaps: true, pause: Pause::Park }],
    &[PollLocked { object: 0, reads: false, turns: 0, kept: Kept::Heap, pause: Pause::Sleep }],
    &[PollLocked { object: 0, reads: false, turns: 2, kept: Kept::Heap, pause: Pause::Park }],
    &[PollLocked { object: 0, reads: true, turns: 2, kept: Kept::Local, pause: Pause::Sleep }],
    &[SpinWhileZero { variable: 0, turns: 2, pause: Pause::Sleep }],
    &[SpinWhileZero { variable: 0, turns: 2, pause: Pause::Park }],
    &[GiveUpWaiting { variable: 0, turns: 2, kept: Kept::Heap, pause: Pause::Park }],
    &[GiveUpWaiting { variable: 0, turns: 2, kept: Kept::Pauses, pause: Pause::Sleep }],
    &[Lock(0), WaitAgain { mutex: 0, variable: 0, turns: 0 }],
    &[Lock(0), WaitAgain { mutex: 0, variable: 0, turns: 0 }, Unlock(0)],
    &[Lock(0), WaitAgain { mutex: 0, variable: 0, turns: 2 }, Unlock(0)],
    &[ReceiveAgain(0, 0)],
    &[ReceiveAgain(0, 1)],
    &[ReceiveAgain(0, 2)],
];

/// What ends them, or is in between.
const ENDS_PATIENCE: &[Word] = &[
    &[Store(0, 1, Order::Synchronizing)],
    &[Store(0, 1, Order::Relaxed), NotifyOne(0)],
    &[Lock(0), Store(0, 1, Order::Relaxed), Unlock(0), NotifyAll(0)],
    &[Store(0, 1, Order::Relaxed), UnparkMain],
    &[Store(0, 1, Order::Relaxed), Unpark(1)],
    &[Store(0, 0, Order::Relaxed)],
    &[Store(1, 1, Order::Relaxed)],
    &[Add(0, Order::Synchronizing)],
    &[Max(0, 1, Order::Relaxed)],
    &[NotifyOne(0)],
    &[NotifyAll(0)],
    &[UnparkMain],
    &[Unpark(1)],
    &[UnparkSibling(1)],
    &[Send(0)],
    &[DropSender(0)],
    &[TurnLocked { object: 0, reads: false, times: 1, turns: 1, pause: Pause::Yield }],
    &[TurnLocked { object: 0, reads: true, times: 1, turns: 2, pause: Pause::Sleep }],
    &[Lock(0)],
    &[Lock(0), Unlock(0)],
    &[Unlock(0)],
    &[TryLock(0), SkipIfFailed, Store(0, 1, Order::Relaxed)],
    &[ArcDrop],
    &[ArcClone],
    &[Leave(Farewell::Adds(0))],
    &[AtEnd(Farewell::Adds(0))],
    &[Sleep],
    &[ParkTimeout],
    &[ParkFor(Span::Long)],
    &[Yield],
    &[Join(1)],
    &[IsFinished(1)],
    &[Choose(2)],
    &[Load(0, Order::Relaxed)],
    &[Lock(0), WaitFor(0, Span::Long), Unlock(0)],
    &[Panic],
];

/// What is done by what is dropped.
const LATE: &[Farewell] = &[
    Farewell::Loads(0),
    Farewell::Loads(1),
    Farewell::Exchanges(0),
    Farewell::Chooses,
    Farewell::Awaits(0),
    Farewell::Panics(0),
    Farewell::Leaves(0),
    Farewell::Scopes(1),
    Farewell::Scopes(2),
    Farewell::Arrives(0),
    Farewell::Reads(0),
    Farewell::Hears(0),
    Farewell::Pauses(Pause::Yield),
    Farewell::Pauses(Pause::Yield),
    Farewell::Pauses(Pause::Spin),
    Farewell::Pauses(Pause::Sleep),
];

/// Next to what the other themes have.
const OTHERWISE: &[Farewell] = &[
    Farewell::Adds(0),
    Farewell::Locks(0),
    Farewell::Tries(0),
    Farewell::Waits(0),
    Farewell::Notifies(0),
    Farewell::Unparks,
    Farewell::Parks,
    Farewell::Sends(0),
    Farewell::Writes(0),
    Farewell::Initialises(0),
    Farewell::Drops,
    Farewell::Joins(1),
    Farewell::Spawns(2),
];

/// Who meets that.
const MEETS: &[Word] = &[
    &[Load(0, Order::Relaxed)],
    &[Load(1, Order::Relaxed)],
    &[Store(0, 1, Order::Relaxed)],
    &[Store(0, 1, Order::Synchronizing)],
    &[Store(1, 1, Order::Relaxed)],
    &[Store(0, 0, Order::Relaxed)],
    &[Add(0, Order::Relaxed)],
    &[SkipIfZero(0, Order::Relaxed), Panic],
    &[Lock(0)],
    &[Lock(0), Unlock(0)],
    &[TryLock(0)],
    &[Write(0)],
    &[Write(0), WriteUnlock(0)],
    &[Read(0)],
    &[TryWrite(0)],
    &[Arrive(0)],
    &[Send(0)],
    &[TrySend(0)],
    &[DropSender(0)],
    &[NotifyOne(0)],
    &[Unpark(1)],
    &[UnparkMain],
    &[Park],
    &[IsFinished(1)],
    &[Join(1)],
    &[Detach(1)],
    &[Yield],
    &[OnceIsCompleted(0)],
    &[Choose(2)],
    &[Panic],
    &[Catch(1), Panic],
    &[ArcDrop],
    &[HandlePut(1)],
    &[HandleDrop],
    &[ReceiveParcel(0)],
    &[TryReceiveParcel(0)],
    &[DropParcelReceiver(0)],
    &[Fence(Order::Sequential)],
];

/// Who asks.
const ASKS: &[Word] = &[
    &[Ask(Patience::Endless)],
    &[Ask(Patience::Endless), Ask(Patience::Endless)],
    &[Ask(Patience::Timed)],
    &[Ask(Patience::Timed), Ask(Patience::Endless)],
    &[Ask(Patience::None)],
    &[DropAsking],
];

/// Who answers.
const ANSWERS: &[Word] = &[
    &[Answer(Patience::Endless)],
    &[Answer(Patience::Endless), Answer(Patience::Endless)],
    &[Answer(Patience::Timed)],
    &[Answer(Patience::None)],
    &[Refuse],
    &[DropAnswers],
];

/// What is beside them.
const BESIDE: &[Word] = &[
    &[Add(0, Order::Relaxed)],
    &[Load(0, Order::Relaxed)],
    &[Lock(0)],
    &[Lock(0), Unlock(0)],
    &[TryLock(0), SkipIfFailed, Unlock(0)],
    &[Lock(0), WaitTimeout(0), Unlock(0)],
    &[NotifyOne(0)],
    &[Choose(2)],
    &[Yield],
    &[Sleep],
    &[Join(1)],
    &[IsFinished(1)],
    &[Park],
    &[ParkTimeout],
    &[UnparkMain],
    &[Panic],
    &[Catch(1), Panic],
    &[Store(0, 1, Order::Relaxed)],
    &[AwaitNonZero { variable: 0, pause: Pause::Yield }],
    &[SkipIfEven],
    &[SkipIfFailed],
    &[Detach(1)],
    &[HandlePut(1)],
    &[HandleJoin],
];

/// Futures and their wakers.
const TASKS: &[Word] = &[
    &[Poll { variable: 0, turns: 2 }],
    &[Poll { variable: 0, turns: 3 }],
    &[Poll { variable: 1, turns: 2 }],
    &[WakeTask { variable: 0, by_ref: false }],
    &[WakeTask { variable: 0, by_ref: true }],
    &[WakeTask { variable: 1, by_ref: false }],
    &[WakeTask { variable: 1, by_ref: true }],
    &[DropWaker],
    &[Store(0, 1, Order::Relaxed)],
    &[Store(0, 0, Order::Relaxed)],
    &[UnparkMain],
    &[Unpark(1)],
    &[Park],
    &[ParkTimeout],
];

/// Cells that are accessed by whoever comes.
const CELLS: &[Word] = &[
    &[CellWrite(0)],
    &[CellRead(0)],
    &[CellWrite(0), Unlock(0)],
    &[Lock(0), CellWrite(0)],
    &[Lock(0), CellRead(0), Unlock(0)],
    &[SkipIfFailed, CellRead(0)],
    &[SkipIfEven, CellWrite(0)],
    &[CellRead(0), SkipIfEven, CellWrite(0)],
    &[Leave(Farewell::Changes(0))],
    &[Leave(Farewell::LooksAt(0))],
    &[AtEnd(Farewell::Changes(0))],
    &[AtEnd(Farewell::LooksAt(0)), Panic],
    &[Within(2), AtEnd(Farewell::Changes(0)), Panic],
    &[Within(2), AtEnd(Farewell::LooksAt(0)), Panic],
    &[Within(3), Lock(0), AtEnd(Farewell::Changes(0)), Panic],
    &[Return(Farewell::Changes(0))],
    &[ArcBurden(Farewell::Changes(0))],
    &[SendBurden(0, Farewell::Changes(0))],
    &[PanicWith(Farewell::Changes(0))],
    &[OnceAround { once: 0, count: 1 }, CellWrite(0)],
    &[InitAround { once: 0, count: 1 }, CellRead(0)],
    &[Join(1), CellRead(0)],
    &[Receive(0), CellRead(0)],
    &[CellWrite(0), Send(0)],
    &[ParkTimeout, CellWrite(0)],
    &[CellWrite(0), UnparkMain],
    &[Park, CellRead(0)],
    &[Lock(0), WaitTimeout(0), CellWrite(0), Unlock(0)],
    &[Write(0), CellWrite(0), Downgrade(0), CellRead(0)],
    &[TryRead(0), SkipIfFailed, CellRead(0)],
    &[AwaitNonZero { variable: 0, pause: Pause::Yield }, CellRead(0)],
    &[CellWrite(0), Store(0, 1, Order::Synchronizing)],
];

/// What lies on a stack.
const LOCALS: &[Word] = &[
    &[UseLocal(Use::Load)],
    &[UseLocal(Use::Add)],
    &[UseLocal(Use::Add), UseLocal(Use::Load)],
    &[UseLocal(Use::Await)],
    &[UseLocal(Use::Lock)],
    &[UseLocal(Use::Poison)],
    &[UseLocal(Use::WaitTimeout)],
    &[UseLocal(Use::Notify)],
    &[UseLocal(Use::CallOnce)],
    &[UseLocal(Use::OnceWait)],
];

/// A few words of each table.
pub(super) fn of_tables(mut random: Random, tables: &[&[Word]], most: usize) -> (Random, Vec<Word>) {
    let mut vocabulary: Vec<Word> = Vec::new();
    for table in tables {
        for _ in 0..1 + random.below(most) {
            vocabulary.push(random.pick(table));
        }
    }
    (random, vocabulary)
}

/// The program with the given seed, of loops of waits for a time.
#[must_use]
pub fn of_patience(seed: u64) -> Program {
    let random = Random::begin(seed, 0x3F84_D5B5_B547_0917, 0x4528_21E6_38D0_1377);
    let (random, vocabulary) = of_tables(random, &[PATIENT, ENDS_PATIENCE], 2);
    of_words(seed, random, &vocabulary)
}

/// The program with the given seed, of what looks, chooses, loops or waits when it is dropped.
#[must_use]
pub fn of_late(seed: u64) -> Program {
    let mut random = Random::begin(seed, 0x9216_D5D9_8979_FB1B, 0xD131_0BA6_98DF_B5AC);
    let mut vocabulary: Vec<Vec<Instruction>> = Vec::new();
    for turn in 0..1 + random.below(3) {
        let farewell =
            if turn > 0 && random.chance(1, 2) { random.pick(OTHERWISE) } else { random.pick(LATE) };
        vocabulary.push(match random.below(12) {
            0..3 => vec![Leave(farewell)],
            3 => vec![AtEnd(farewell)],
            4 => vec![PanicWith(farewell)],
            5 => vec![Catch(1), PanicWith(farewell)],
            6 => vec![Return(farewell)],
            7 => vec![ArcBurden(farewell)],
            8 => vec![SendBurden(0, farewell)],
            9 => vec![Within(2), AtEnd(farewell), Panic],
            10 => vec![Within(3), Lock(0), AtEnd(farewell), Panic],
            _ => vec![AtEnd(farewell), Panic],
        });
    }
    for _ in 0..1 + random.below(3) {
        vocabulary.push(random.pick(MEETS).to_vec());
    }
    let vocabulary: Vec<&[Instruction]> = vocabulary.iter().map(Vec::as_slice).collect();
    of_words(seed, random, &vocabulary)
}

/// The program with the given seed, of channels that are made to get an answer.
#[must_use]
pub fn of_answers(seed: u64) -> Program {
    let mut random = Random::begin(seed, 0x2FFD_72DB_D01A_DFB7, 0xB8E1_AFED_6A26_7E96);
    let besides: &[&[Word]] = if random.chance(2, 3) { &[BESIDE] } else { &[] };
    let (random, vocabulary) = of_tables(random, &[&[ASKS, ANSWERS], besides].concat(), 2);
    of_words(seed, random, &vocabulary)
}

/// The program with the given seed, of wakers.
#[must_use]
pub fn of_tasks(seed: u64) -> Program {
    let mut random = Random::begin(seed, 0xBA7C_9045_F12C_7F99, 0x24A1_9947_B391_6CF7);
    let besides: &[&[Word]] = if random.chance(1, 2) { &[BESIDE] } else { &[] };
    let first: &[Word] = &[&[Poll { variable: 0, turns: 2 }]];
    let (random, vocabulary) = of_tables(random, &[&[first, TASKS], besides].concat(), 3);
    of_words(seed, random, &vocabulary)
}

/// The program with the given seed, of what lies on a stack, two times where it lay before.
#[must_use]
pub fn of_stacks(seed: u64) -> Program {
    let mut random = Random::begin(seed, 0x0801_F2E2_858E_FC16, 0x6369_20D8_7157_4E69);
    let count = 2 + random.below(2);
    let besides: &[&[Word]] = if random.chance(1, 3) { &[BESIDE] } else { &[] };
    let (mut random, vocabulary) = of_tables(random, &[&[LOCALS], besides].concat(), 3);
    let mut program = of_words(seed, Random::begin(seed, 0x0801_F2E2, 0x6369_20D8), &vocabulary);
    let handles = [Handle::Dropped, Handle::Joined, Handle::Asked];
    let mut words = |most: usize| -> Vec<Instruction> {
        (0..random.below(most)).flat_map(|_| random.pick(&vocabulary).to_vec()).collect()
    };
    let inner = [words(2), words(2)];
    let mut main = words(2);
    let mut threads = vec![crate::random_real::language::Thread::default(); count + 1];
    for thread in &mut threads[1..] {
        thread.code = words(3);
    }
    let mut choose = Random::begin(seed, 0x0D95_748F, 0x728E_B658);
    let first = 1 + choose.below(count - 1);
    for (number, (begin, count)) in [(1, first), (1 + first, count - first)].into_iter().enumerate() {
        let inside = &inner[number];
        main.push(Scope { first: begin, count, inner: inside.len(), handle: choose.pick(&handles) });
        main.extend(inside);
    }
    threads[0].code = main;
    program.threads = threads;
    program
}

/// The program with the given seed, of cells, and anything else.
#[must_use]
pub fn of_cells(seed: u64) -> Program {
    let mut random = Random::begin(seed, 0x7137_4491_B5C0_FBCF, 0x3956_C25B_59F1_11F1);
    let mut vocabulary: Vec<Word> = vec![random.pick(CELLS)];
    for _ in 0..1 + random.below(3) {
        let words = match random.below(4) {
            0 => random.pick(dense::SUBJECTS),
            1 => random.pick(&[BESIDE, MEETS, ENDS_PATIENCE]),
            _ => CELLS,
        };
        vocabulary.push(random.pick(words));
    }
    of_words(seed, random, &vocabulary)
}

/// The program with the given seed, of threads that spawn others in the scope that they belong to.
#[must_use]
pub fn of_scopes(seed: u64) -> Program {
    let mut random = Random::begin(seed, 0x923F_82A4_AB1C_5ED5, 0xD807_AA98_1283_5B01);
    let mut vocabulary: Vec<Word> = Vec::new();
    for _ in 0..2 + random.below(3) {
        let words = match random.below(3) {
            0 => random.pick(dense::SUBJECTS),
            1 => IN_SCOPES,
            _ => random.pick(&[BESIDE, MEETS]),
        };
        vocabulary.push(random.pick(words));
    }
    let mut program = of_words(seed, random, &vocabulary);
    let mut choose = Random::begin(seed, 0x2431_85BE, 0x550C_7DC3);
    let spawns = |instruction: &Instruction| {
        matches!(instruction, Spawn(_) | Scope { .. })
            || matches!(instruction.farewell(), Some(Farewell::Spawns(_) | Farewell::Scopes(_)))
    };
    for thread in &mut program.threads {
        thread.code.retain(|instruction| !spawns(instruction));
        thread.keeps = false;
    }
    let count = program.threads.len();
    let first = 1 + choose.below(count - 1);
    for child in 1 + first..count {
        let parent = 1 + choose.below(child - 1);
        let code = &mut program.threads[parent].code;
        let at = choose.below(code.len() + 1);
        code.insert(at, SpawnInScope(child));
    }
    let handle = choose.pick(&[Handle::Dropped, Handle::Joined, Handle::PassedOn, Handle::Asked]);
    let code = &mut program.threads[0].code;
    let at = choose.below(code.len() + 1);
    let inner = choose.below(code.len() - at + 1);
    code.insert(at, Scope { first: 1, count: first, inner, handle });
    program
}

/// What threads of a scope do, and who waits for it.
const IN_SCOPES: &[Word] = &[
    &[Panic],
    &[Assert(0)],
    &[Leave(Farewell::Adds(0))],
    &[Leave(Farewell::Unparks)],
    &[Leave(Farewell::Locks(0))],
    &[AtEnd(Farewell::Unparks)],
    &[AtEnd(Farewell::Pauses(Pause::Yield)), Panic],
    &[Return(Farewell::Adds(0))],
    &[Park],
    &[ParkTimeout],
    &[UnparkMain],
    &[Unpark(1)],
    &[Store(0, 1, Order::Relaxed)],
    &[Load(0, Order::Relaxed)],
    &[Lock(0)],
    &[Lock(0), WaitTimeout(0)],
    &[NotifyOne(0)],
    &[Catch(1), Panic],
    &[Yield],
    &[AwaitNonZero { variable: 0, pause: Pause::Yield }],
];
