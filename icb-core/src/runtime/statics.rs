//! Statics of the program under test that an execution has used, and how they come back to what they were: every
//! execution is to begin with the same program.

use super::accesses::{self, GRANULE};
use super::image;

/// Variables that are larger are kept in pieces.
const MAX_WHOLE: usize = 1 << 20;
/// The same where what uses them is not told.
const MAX_WHOLE_UNTOLD: usize = 256 << 20;

/// The size of a piece.
const PIECE: usize = 1 << 16;

type Action = Box<dyn FnOnce()>;

/// What is done when the execution has ended, the latest first.
#[derive(Default)]
pub(super) struct AtEnd {
    /// Values that come and go.
    first: Vec<Action>,
    /// Everything else. A value that is made once has its address here.
    then: Vec<(Option<usize>, Action)>,
}

impl AtEnd {
    pub(super) fn is_empty(&self) -> bool {
        self.first.is_empty() && self.then.is_empty()
    }

    pub(super) fn push_first(&mut self, action: Action) {
        self.first.push(action);
    }

    pub(super) fn push(&mut self, value: Option<usize>, action: Action) {
        self.then.push((value, action));
    }

    /// The value is the latest.
    pub(super) fn renew(&mut self, value: usize) {
        if let Some(place) = self.then.iter().position(|(known, _)| *known == Some(value)) {
            self.then[place..].rotate_left(1);
        }
    }

    pub(super) fn run(self) {
        let first = self.first.into_iter().rev();
        first.chain(self.then.into_iter().rev().map(|(_, action)| action)).for_each(|action| action());
    }
}

/// What is kept of a variable when something at this address in it is used: all of it, or a piece of a large one, where all that uses the others is told (or would take too long to compare).
fn piece((start, size): (usize, usize), address: usize) -> (usize, usize) {
    let most = if accesses::instrumented() { MAX_WHOLE } else { MAX_WHOLE_UNTOLD };
    if size <= most {
        return (start, size);
    }
    let offset = (address - start) / PIECE * PIECE;
    (start + offset, PIECE.min(size - offset))
}

/// What is put back when the execution has ended.
#[derive(Debug, Default)]
pub(super) struct Statics {
    /// Atomics: address, size, and the value before the first use.
    atomics: Vec<(*mut u8, usize, [u8; 16])>,
    /// Values of mirrored objects, by address and size, that these put back themselves: what was made inside is gone then.
    values: Vec<(usize, usize)>,
    /// Whole variables that held their initial bytes when the execution first used something in them.
    variables: Vec<(usize, &'static [u8])>,
    /// Variables that held something else.
    changed: Vec<(usize, &'static [u8])>,
    /// Granules of plain memory that belong to several variables and have been used.
    crowded: Vec<usize>,
}

impl Statics {
    /// Remembers the value of a static atomic, and the variable that it is a part of.
    pub(super) fn keep_atomic(&mut self, address: *const (), size: usize) {
        if self.values.iter().any(|&(start, size)| (start..start + size).contains(&address.addr())) {
            return;
        }
        self.keep_variable(address);
        if accesses::instrumented() {
            // It may be known from now on as a granule that has been used.
            self.note_granule(address.addr());
        }
        let mut bytes = [0; 16];
        let size = size.min(bytes.len());
        let address = address.cast_mut().cast::<u8>();
        // SAFETY: the mirrored atomic at this address is `size` bytes large, and no other OS thread uses it while an
        // exploration runs.
        unsafe { std::ptr::copy_nonoverlapping(address, bytes.as_mut_ptr(), size) };
        self.atomics.push((address, size, bytes));
    }

    /// Leaves a value to the object that it is in.
    pub(super) fn leave_value(&mut self, address: *const (), size: usize) {
        self.values.push((address.addr(), size));
    }

    /// Remembers the variable around an object, if it is as it was when the program began: what has been made by a
    /// constant expression owns nothing, so its bytes may be written again. The values that the execution has put
    /// there are forgotten, not dropped: a lazily initialised static of somebody else's keeps its secrets.
    pub(super) fn keep_variable(&mut self, address: *const ()) {
        let address = address.addr();
        let inside = |&(start, initial): &(usize, &[u8])| (start..start + initial.len()).contains(&address);
        if self.variables.iter().chain(&self.changed).any(inside) {
            return;
        }
        let kept = image::variable(address).map(|variable| piece(variable, address));
        let initial = kept.and_then(|(start, size)| Some((start, image::initial_bytes(start, size)?)));
        let Some((start, initial)) = initial else { return };
        // SAFETY: the variable is mapped memory of the image, `initial` is as long, and both are read as bytes.
        let same = unsafe { libc::memcmp(start as *const _, initial.as_ptr().cast(), initial.len()) == 0 };
        let list = if same { &mut self.variables } else { &mut self.changed };
        list.push((start, initial));
    }

    /// Remembers the variable around data that is about to be used, if it is a static.
    pub(super) fn keep_data(&mut self, address: *const ()) {
        if image::contains(address) {
            self.keep_variable(address);
        }
    }

    /// The same for plain memory, of which a part is used for the first time.
    pub(super) fn keep_memory(&mut self, address: usize, size: usize) {
        let at = |address: usize| -> *const () { std::ptr::without_provenance(address) };
        if !image::contains(at(address)) {
            return;
        }
        self.keep_variable(at(address));
        // From now on the granules count as used, as far as they go.
        let start = address / GRANULE * GRANULE;
        let end = (address + size.max(1)).next_multiple_of(GRANULE);
        for further in (start..end).step_by(PIECE).chain([end - 1]) {
            self.keep_data(at(further));
        }
        self.note_granule(address);
    }

    /// A granule is used for the first time.
    fn note_granule(&mut self, address: usize) {
        let granule = address / GRANULE;
        if image::holds_several(granule * GRANULE, (granule + 1) * GRANULE)
            && !self.crowded.contains(&granule)
        {
            self.crowded.push(granule);
        }
    }

    /// Whether variables in this granule may have been used while others were not: an access there is told by
    /// [`keep_data`](Self::keep_data).
    #[inline(always)]
    pub(super) fn is_crowded(&self, address: usize) -> bool {
        !self.crowded.is_empty() && self.crowded.contains(&(address / GRANULE))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.atomics.is_empty() && self.variables.is_empty()
    }

    /// The execution has ended: every static is what it was.
    pub(super) fn put_back(self) {
        for (address, size, bytes) in self.atomics {
            // SAFETY: `keep_atomic` read these bytes from the same static, which lives for ever and which no other
            // thread uses while an exploration runs.
            unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), address, size) };
        }
        for (start, initial) in self.variables {
            // SAFETY: as above; these are the bytes with which the program began.
            unsafe { std::ptr::copy_nonoverlapping(initial.as_ptr(), start as *mut u8, initial.len()) };
        }
    }
}
