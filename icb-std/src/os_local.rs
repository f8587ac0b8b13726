//! Values that the system keeps for each thread (`pthread_key_create` and its kin): in an execution each thread of the model has its own, which the key's
//! destructor gets when the thread ends, as values of `thread_local!` are dropped, up to four times if it sets one anew. Accesses are no steps.
//! A key that is made outside an execution is the system's, and its values are shared by all threads of an execution, which are one there; one that
//! is made in an execution goes with it, and there are at most [`MAX_KEYS`].

use crate::c_library::Real;
use crate::door::{self, OwnLock};
use ::std::cell::{Cell, RefCell};
use ::std::ffi::{c_int, c_uint, c_void};
use ::std::mem::transmute;
use ::std::ptr::{null_mut, without_provenance};

const MAX_KEYS: usize = 64;
/// Numbers of the system's keys are less.
const FIRST: c_uint = 1 << 30;
const EAGAIN: c_int = 11;
const EINVAL: c_int = 22;
/// How often the destructor of a key is called for one thread.
const MAX_ROUNDS: u32 = 4;

type Destructor = unsafe extern "C" fn(*mut c_void);

/// A key of the running execution.
#[derive(Clone, Copy)]
struct Key {
    number: c_uint,
    /// Tells a key from one that had its number before.
    generation: u64,
    destructor: Option<Destructor>,
}

struct Keys {
    keys: [Option<Key>; MAX_KEYS],
    /// How many have been made.
    made: u64,
}

static KEYS: OwnLock<Keys> = OwnLock::new(Keys { keys: [None; MAX_KEYS], made: 0 });

/// A thread's value.
struct Slot {
    number: c_uint,
    generation: Cell<u64>,
    value: Cell<*mut c_void>,
    /// How often the destructor has been called before.
    rounds: Cell<u32>,
}

::std::thread_local! {
    /// Values under keys of executions that are over, which a library's own statics may have kept.
    static LEFT: RefCell<Vec<(c_uint, *mut c_void)>> = const { RefCell::new(Vec::new()) };
}

/// Keeps the functions below in every program that is linked with this crate.
#[used]
static KEEP: unsafe extern "C" fn(c_uint) -> *mut c_void = pthread_getspecific;

fn with_keys<R>(f: impl FnOnce(&mut Keys) -> R) -> R {
    f(&mut KEYS.lock())
}

/// The key of the running execution that has this number.
fn key(number: c_uint) -> Option<Key> {
    with_keys(|keys| keys.keys.iter().flatten().find(|key| key.number == number).copied())
}

/// The calling thread's place for a value.
fn slot(number: c_uint) -> Option<&'static Slot> {
    // SAFETY: under such a key there is what `set` has made, which goes at the end of the thread; nobody here keeps it longer than for a moment.
    door::local(without_provenance(number as usize)).map(|slot| unsafe { &*slot.cast::<Slot>() })
}

/// The C function of this name.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_key_create(place: *mut c_uint, destructor: Option<Destructor>) -> c_int {
    static REAL: Real = Real::new(c"pthread_key_create");
    if !door::is_modelled() {
        let Some(real) = REAL.get() else { return EAGAIN };
        // SAFETY: the C library's function of this name, and the caller's promise.
        return unsafe {
            transmute::<*mut c_void, unsafe extern "C" fn(*mut c_uint, Option<Destructor>) -> c_int>(real)(
                place, destructor,
            )
        };
    }
    let thread = door::thread_key();
    let (number, is_first) = with_keys(|keys| {
        let is_taken = |number| keys.keys.iter().flatten().any(|key: &Key| key.number == number);
        // The same in every execution, whatever others do.
        let mut numbers = (0..).map(|index| FIRST | (door::mixed(thread ^ index) as c_uint % FIRST));
        let number = numbers.find(|&number| !is_taken(number));
        let free = keys.keys.iter_mut().find(|key| key.is_none());
        let number = number.zip(free).map(|(number, free)| {
            *free = Some(Key { number, generation: keys.made, destructor });
            number
        });
        keys.made += 1;
        (number, keys.made == 1)
    });
    if is_first {
        door::on_execution_end(Box::new(|| {
            with_keys(|keys| *keys = Keys { keys: [None; MAX_KEYS], made: 0 });
        }));
    }
    let Some(number) = number else { return EAGAIN };
    // SAFETY: the caller's promise.
    unsafe { place.write(number) };
    0
}

/// The C function of this name.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_key_delete(number: c_uint) -> c_int {
    static REAL: Real = Real::new(c"pthread_key_delete");
    if number < FIRST {
        let Some(real) = REAL.get() else { return EINVAL };
        // SAFETY: the C library's function of this name, and the caller's promise.
        return unsafe { transmute::<*mut c_void, unsafe extern "C" fn(c_uint) -> c_int>(real)(number) };
    }
    let deleted = with_keys(|keys| {
        let place = keys.keys.iter_mut().find(|key| key.is_some_and(|key| key.number == number));
        place.and_then(Option::take)
    });
    if deleted.is_some() { 0 } else { EINVAL }
}

/// The C function of this name.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_getspecific(number: c_uint) -> *mut c_void {
    static REAL: Real = Real::new(c"pthread_getspecific");
    if number < FIRST {
        let Some(real) = REAL.get() else { return null_mut() };
        // SAFETY: the C library's function of this name, and the caller's promise.
        return unsafe {
            transmute::<*mut c_void, unsafe extern "C" fn(c_uint) -> *mut c_void>(real)(number)
        };
    }
    match key(number).filter(|_| door::is_modelled()) {
        Some(key) => slot(number)
            .filter(|slot| slot.generation.get() == key.generation)
            .map_or(null_mut(), |slot| slot.value.get()),
        None => LEFT.with_borrow(|left| {
            left.iter().find(|(left, _)| *left == number).map_or(null_mut(), |(_, value)| *value)
        }),
    }
}

/// The C function of this name.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_setspecific(number: c_uint, value: *mut c_void) -> c_int {
    static REAL: Real = Real::new(c"pthread_setspecific");
    if number < FIRST {
        let Some(real) = REAL.get() else { return EINVAL };
        // SAFETY: the C library's function of this name, and the caller's promise.
        return unsafe {
            transmute::<*mut c_void, unsafe extern "C" fn(c_uint, *mut c_void) -> c_int>(real)(number, value)
        };
    }
    match key(number).filter(|_| door::is_modelled()) {
        Some(key) => set(key, value),
        None => LEFT.with_borrow_mut(|left| {
            left.retain(|(left, _)| *left != number);
            left.push((number, value));
        }),
    }
    0
}

fn set(key: Key, value: *mut c_void) {
    if let Some(slot) = slot(key.number) {
        slot.generation.set(key.generation);
        slot.value.set(value);
    } else if !value.is_null() {
        let slot = Slot {
            number: key.number,
            generation: Cell::new(key.generation),
            value: Cell::new(value),
            rounds: Cell::new(0),
        };
        door::set_local(
            without_provenance(key.number as usize),
            Box::into_raw(Box::new(slot)).cast(),
            end,
            key.destructor.is_some(),
        );
    }
}

/// A thread with a value ends.
///
/// # Safety
/// The slot was made by [`set`], and is owned.
unsafe fn end(ended: *mut ()) {
    // SAFETY: the caller's promise.
    let ended = unsafe { Box::from_raw(ended.cast::<Slot>()) };
    let (value, rounds) = (ended.value.get(), ended.rounds.get() + 1);
    let key = key(ended.number).filter(|key| key.generation == ended.generation.get());
    if let Some(destructor) = key.and_then(|key| key.destructor)
        && !value.is_null()
        && rounds <= MAX_ROUNDS
    {
        // SAFETY: who has made the key promises that it takes the values that are set.
        unsafe { destructor(value) };
        if let Some(anew) = slot(ended.number) {
            anew.rounds.set(rounds);
        }
    }
}
