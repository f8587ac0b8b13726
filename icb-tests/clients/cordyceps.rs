//! Two push nodes into a queue, and one takes them.
//!
//! ```toml
//! cordyceps = "0.3"
//! ```

use cordyceps::{Linked, MpscQueue, mpsc_queue};
use std::pin::Pin;
use std::ptr::NonNull;

#[derive(Default)]
struct Entry {
    links: mpsc_queue::Links<Entry>,
    number: u32,
}

// SAFETY: a node is boxed and pinned while it is linked, and `links` is where the queue keeps its pointers.
unsafe impl Linked<mpsc_queue::Links<Entry>> for Entry {
    type Handle = Pin<Box<Entry>>;

    fn into_ptr(handle: Pin<Box<Entry>>) -> NonNull<Entry> {
        // SAFETY: the node is not moved by whoever has the pointer.
        unsafe { NonNull::from(Box::leak(Pin::into_inner_unchecked(handle))) }
    }

    unsafe fn from_ptr(pointer: NonNull<Entry>) -> Pin<Box<Entry>> {
        // SAFETY: the pointer is one that `into_ptr` has made.
        unsafe { Pin::new_unchecked(Box::from_raw(pointer.as_ptr())) }
    }

    unsafe fn links(pointer: NonNull<Entry>) -> NonNull<mpsc_queue::Links<Entry>> {
        // SAFETY: the pointer is one to a node.
        unsafe { NonNull::new_unchecked(&raw mut (*pointer.as_ptr()).links) }
    }
}

#[test]
fn each_is_taken_once() {
    let entry = |number| Box::pin(Entry { number, ..Entry::default() });
    let queue = MpscQueue::<Entry>::new_with_stub(entry(0));
    let mut sum = std::thread::scope(|scope| {
        scope.spawn(|| queue.enqueue(entry(1)));
        queue.enqueue(entry(2));
        queue.dequeue().map_or(0, |entry| entry.number)
    });
    while let Some(entry) = queue.dequeue() {
        sum += entry.number;
    }
    assert_eq!(sum, 3);
}
