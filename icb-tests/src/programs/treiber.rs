//! Treiber's stack with indices for pointers, and nodes that are used again: the ABA problem.
//!
//! A thread that pops reads the head and its successor, then swings the head with a compare-and-exchange. If others
//! meanwhile pop both nodes and push the first one back, the exchange succeeds and puts a node into the stack that
//! someone else holds. A tag that counts the exchanges makes the heads different.

use icb_std::sync::Arc;
use icb_std::sync::atomic::{AtomicU64, Ordering};
use icb_std::thread;

/// What the head consists of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Version {
    /// The index of the top node.
    Plain,
    /// The index and the number of changes so far.
    Tagged,
}

/// Not a node.
const NONE: u64 = 0xFFFF_FFFF;

/// A stack of the nodes `0..n`.
#[derive(Debug)]
pub struct Stack {
    version: Version,
    /// The top node in the low half, the tag in the high half.
    head: AtomicU64,
    next: Vec<AtomicU64>,
}

impl Stack {
    /// A full stack, 0 on top.
    #[must_use]
    pub fn full(version: Version, size: u64) -> Self {
        let next = (1..=size).map(|index| AtomicU64::new(if index < size { index } else { NONE })).collect();
        Stack { version, head: AtomicU64::new(0), next }
    }

    fn replace(&self, head: u64, node: u64) -> bool {
        let tag = match self.version {
            Version::Plain => 0,
            Version::Tagged => (head >> 32) + 1,
        };
        self.head.compare_exchange(head, tag << 32 | node, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// Puts a node of the caller's on top.
    pub fn push(&self, node: u64) {
        loop {
            let head = self.head.load(Ordering::Acquire);
            self.next[node as usize].store(head & NONE, Ordering::Relaxed);
            if self.replace(head, node) {
                return;
            }
        }
    }

    /// Takes the top node, which is then the caller's.
    pub fn pop(&self) -> Option<u64> {
        loop {
            let head = self.head.load(Ordering::Acquire);
            let node = head & NONE;
            if node == NONE {
                return None;
            }
            let next = self.next[node as usize].load(Ordering::Relaxed);
            if self.replace(head, next) {
                return Some(node);
            }
        }
    }
}

/// The caller pops one node; another thread pops two and pushes the first one back. In the end each node is in one place.
pub fn run(version: Version) {
    let stack = Arc::new(Stack::full(version, 3));
    let theirs = stack.clone();
    let thread = thread::spawn(move || {
        let first = theirs.pop().expect("there are three nodes, and the others take one");
        let second = theirs.pop();
        theirs.push(first);
        second
    });
    let mine = stack.pop();
    let mut nodes: Vec<u64> = [mine, thread.join().unwrap()].into_iter().flatten().collect();
    while let Some(node) = stack.pop() {
        nodes.push(node);
        assert!(nodes.len() <= 3, "a node is in two places: {nodes:?}");
    }
    nodes.sort_unstable();
    assert_eq!(nodes, [0, 1, 2], "each node is in one place");
}
